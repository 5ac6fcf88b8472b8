#!/usr/bin/env python3
"""The alerts' runbook_url, on a real Prometheus that is started with the flags of docker/compose.yaml."""
import http.server
import json
import pathlib
import re
import tempfile
import threading
import unittest

import yaml

from docker_test import DOCKER, read
from live_prometheus import RULES, Prometheus, fetch
from stoker import free_port, until

# Of a run whose ledger is open, which is an alert at once.
METRICS = b"# TYPE stoker_closure_error_ratio gauge\nstoker_closure_error_ratio 0.5\n"
PAGE = RULES / "user/alerts.html"


class Run(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(METRICS)

    def log_message(self, *_):
        pass


def alerts():
    """Name to the annotations."""
    groups = yaml.safe_load((RULES / "rules.yml").read_text())["groups"]
    return {rule["alert"]: rule["annotations"] for group in groups for rule in group["rules"] if "alert" in rule}


def headings(page):
    return dict(re.findall(r'<h2 id="(\w+)">(\w+)</h2>\n<p>', page))


class Page(unittest.TestCase):
    text = PAGE.read_text()

    def test_it_has_the_alerts_and_no_others(self):
        self.assertEqual(headings(self.text), {alert.lower(): alert for alert in alerts()})

    def test_panels_that_it_names_are_on_the_dashboard(self):
        def titles(panels):
            return {title for panel in panels for title in (panel["title"], *titles(panel.get("panels", [])))}
        panels = titles(json.loads((DOCKER / "grafana/dashboards/overview.json").read_text())["panels"])
        named = set(re.findall(r"<em>(.*?)</em>", self.text))
        self.assertTrue(named)
        self.assertEqual(named - panels, set())


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="stoker-runbook-"))
        run = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Run)
        thread = threading.Thread(target=run.serve_forever)
        thread.start()
        for step in (run.server_close, thread.join, run.shutdown):
            cls.addClassCleanup(step)
        # A port of its own, and the folder that is mounted as /etc/prometheus.
        service = read("compose.yaml")["services"]["prometheus"]
        cls.port = re.search(r"--web.external-url=http://127.0.0.1:(\d+)/'", str(service["command"])).group(1)
        cls.published = service["ports"]
        mounted, = (mount.split(":")[1] for mount in service["volumes"] if mount.startswith("./prometheus:"))
        flags = [flag.replace(mounted, str(RULES)) for flag in service["command"] if flag.startswith("--web.user-assets=")]
        own = f"http://127.0.0.1:{free_port()}/"
        cls.prometheus = Prometheus(pathlib.Path(folder), f"127.0.0.1:{run.server_port}", *flags, f"--web.external-url={own}")
        cls.addClassCleanup(cls.prometheus.stop)
        cls.external = own.rstrip("/")

    def resolved(self, address):
        """The page at an address that begins with the external one, and what stands behind `#`."""
        self.assertTrue(address.startswith(self.external + "/"), address)
        path, _, place = address.removeprefix(self.external).partition("#")
        return fetch(f"http://{self.prometheus.address}{path}"), place

    def test_the_external_address_is_the_published_port(self):
        self.assertEqual(self.published, [f"127.0.0.1:{self.port}:9090"])

    def test_the_address_of_every_alert_is_a_heading_of_a_page_that_prometheus_serves(self):
        for alert, annotations in alerts().items():
            with self.subTest(alert):
                page, place = self.resolved(annotations["runbook_url"].replace("{{ $externalURL }}", self.external))
                self.assertEqual(headings(page).get(place), alert)

    def test_an_alert_that_fires_bears_such_an_address(self):
        def firing():
            return [alert for alert in self.prometheus.get("alerts")["alerts"] if alert["state"] == "firing"]
        alert, = until(firing, self.prometheus.log.read_text)
        page, place = self.resolved(alert["annotations"]["runbook_url"])
        self.assertEqual(headings(page)[place], alert["labels"]["alertname"])


if __name__ == "__main__":
    unittest.main()
