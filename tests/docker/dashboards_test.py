#!/usr/bin/env python3
"""The dashboards and the rules, on a real Prometheus that scrapes a real run."""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

from live_prometheus import PROMTOOL, RULES, Prometheus, fetch
from stoker import SOURCE, Process, configuration, emulated, free_port, posix, read_summary

GRAFANA = SOURCE / "docker/grafana"
TOLERANCE = 0.02


def run_configuration(listen):
    # Reads of 4 ms hold the run up, whatever the machine; durability none, as fsync on a busy disk takes minutes.
    return configuration(
        tiers={"data": emulated(read_latency_ms=4), "fast": posix("fast"), "slow": emulated("slow", write_mb_per_s=10)},
        run="{name: dashboards, seed: 1}", decoder="{type: turbojpeg, size: 64, augment: {flip: true}}",
        loader="{type: device_prefetched, batch_size: 16, workers: 1, digest: true}",
        optimizer="{type: adam, lr: 0.001}", training="{epochs: 15, threads: 1}", evaluation="{every_epochs: 3}",
        checkpoint="{type: burst_buffer, fast: fast, slow: slow, every_steps: 45, keep_last: 2, snapshot: async, "
                   "durability: none, write: buffered}",
        metrics=f"{{every_steps: 5, sinks: [{{type: csv}}, {{type: prometheus, listen: '{listen}', linger: 30}}]}}")


PANEL_TYPES = {"timeseries", "stat", "gauge", "heatmap", "table", "row"}
UNITS = {"percentunit", "s", "short", "none", "Bps", "bytes", "ops", "watt"}


def dashboards():
    return {path.stem: json.loads(path.read_text()) for path in sorted((GRAFANA / "dashboards").glob("*.json"))}


def panels(dashboard):
    """All but the rows, with the inner ones of collapsed rows."""
    for panel in dashboard["panels"]:
        yield from panel["panels"] if panel["type"] == "row" and panel["panels"] else [panel]


def queries(dashboard):
    for panel in panels(dashboard):
        for target in panel.get("targets", []):
            yield panel, target


def needs_more(panel):
    return "Empty without" in panel["description"]


class Files(unittest.TestCase):
    def lint(self, check):
        """Collects what check(name, dashboard, complain) says of each dashboard."""
        found = []
        for name, dashboard in dashboards().items():
            check(name, dashboard, lambda text, at=name: found.append(f"{at}: {text}"))
        self.assertEqual(found, [])

    def test_the_json_is_what_the_generator_makes(self):
        command = [sys.executable, "-B", GRAFANA / "dashboard.py", "--check"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_dashboards_can_be_provisioned(self):
        def check(name, dashboard, complain):
            if "__inputs" in dashboard or "__requires" in dashboard or "id" in dashboard:
                complain("is an export for sharing")
            if dashboard["editable"] or not 0 < len(dashboard["uid"]) <= 40:
                complain("must not be editable, and needs a uid of at most 40 characters")
        self.lint(check)
        self.assertEqual(len({d["uid"] for d in dashboards().values()}), len(dashboards()))

    def test_variables(self):
        def check(name, dashboard, complain):
            known = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
            if known["datasource"]["type"] != "datasource" or known["datasource"]["query"] != "prometheus":
                complain("the first variable chooses the data source")
            for variable in known.values():
                if variable["type"] == "query" and variable["refresh"] != 2:
                    complain(f"{variable['name']} is not read again when the time range changes")
                if variable["name"] in ("job", "instance") and not (variable["multi"] and variable["includeAll"]):
                    complain(f"{variable['name']} has no All")
            used = set(re.findall(r"\$\{?(\w+)", json.dumps(dashboard["panels"]) + json.dumps(dashboard["templating"])))
            for name in used - set(known) - {"__rate_interval", "__range", "__value", "__url_time_range"}:
                complain(f"${name} is not defined")
            for name in set(known) - used:
                complain(f"${name} is not used")
        self.lint(check)

    def test_panels(self):
        def check(name, dashboard, complain):
            for panel in panels(dashboard):
                at, defaults = panel["title"], panel.get("fieldConfig", {}).get("defaults", {})
                if panel["type"] not in PANEL_TYPES:
                    complain(f"{at}: type {panel['type']}")
                if panel["type"] == "row":
                    continue
                if not panel["title"] or not panel["description"].rstrip().endswith("."):
                    complain(f"{at}: title and description")
                if defaults.get("unit") not in UNITS:
                    complain(f"{at}: unit {defaults.get('unit')}")
                if not panel["targets"] or panel["datasource"]["uid"] != "${datasource}":
                    complain(f"{at}: queries and their data source")
                if defaults["unit"] == "percentunit" and panel["type"] == "gauge" and defaults.get("max") != 1:
                    complain(f"{at}: a gauge without its end")
                if panel["type"] == "table":
                    continue
                for _, target in queries({"panels": [panel]}):
                    for metric in re.findall(r"\b(?:stoker_|DCGM_|process_|scrape_)\w+", target["expr"]):
                        metric = re.sub(r"_(bucket|sum|count)$", "", metric)
                        if metric not in panel["description"] and metric != "stoker_run_info":
                            complain(f"{at}: the description does not name {metric}")
        self.lint(check)

    def test_queries(self):
        def check(name, dashboard, complain):
            for panel, target in queries(dashboard):
                at, expr = f"{panel['title']} {target['refId']}", target["expr"]
                if target["datasource"]["uid"] != "${datasource}":
                    complain(f"{at}: data source")
                if re.search(r"\[[^\]]*:", expr):
                    complain(f"{at}: a subquery, which costs all of its steps over a week: make it a recording rule")
                if re.search(r"\b(rate|irate|increase|delta)\(", expr) and re.search(r"\[\d", expr):
                    complain(f"{at}: a fixed interval instead of $__rate_interval")
                if re.search(r"\b(rate|increase)\([^\[]*(?<!_total)(?<!_sum)(?<!_count)(?<!_bucket)\{", expr):
                    complain(f"{at}: the rate of what is no counter")
                for labels in re.findall(r"(?:stoker|process)_\w+(?::\w+)?\{([^}]*)\}", expr):
                    wanted = 'job=~"$job",instance=~"$instance"' if name == "overview" else 'job=~"$job"'
                    if not labels.startswith(wanted):
                        complain(f"{at}: {{{labels}}} does not choose job and instance")
                if re.search(r"\bstoker_\w+(?![\w{:])", expr):
                    complain(f"{at}: a series without a selector")
        self.lint(check)

    def test_layout(self):
        def check(name, dashboard, complain):
            ids = [p["id"] for top in dashboard["panels"] for p in (top, *top.get("panels", []))]
            if len(set(ids)) != len(ids):
                complain("two panels have one id")
            rows = [panel for panel in dashboard["panels"] if panel["type"] == "row"]
            if [row["collapsed"] for row in rows] != [False] + [True] * (len(rows) - 1):
                complain("only the first row is open")
            if any(row["collapsed"] != bool(row["panels"]) for row in rows):
                complain("panels of a collapsed row belong into it, those of an open one behind it")
            for group in [dashboard["panels"], *(row["panels"] for row in rows[1:])]:
                cells = [(x, y) for box in (panel["gridPos"] for panel in group)
                         for x in range(box["x"], box["x"] + box["w"]) for y in range(box["y"], box["y"] + box["h"])]
                if len(set(cells)) != len(cells) or max(cells)[0] > 23:
                    complain(f"panels behind {group[0]['title']} cover each other, or are too far right")
        self.lint(check)

    def test_every_alert_is_tested_both_ways(self):
        rules, tests = ((RULES / name).read_text() for name in ("rules.yml", "rules_test.yml"))
        alerts = re.findall(r"^ +- alert: (\w+)", rules, re.MULTILINE)
        self.assertGreater(len(alerts), 10)
        for alert in alerts:
            with self.subTest(alert):
                self.assertRegex(tests, rf"alertname: {alert}, eval_time: \w+, exp_alerts: \[\]")
                self.assertRegex(tests, rf"alertname: {alert}\n *eval_time: \w+\n *exp_alerts:\n")


class RuleFiles(unittest.TestCase):
    def promtool(self, *arguments):
        done = subprocess.run([PROMTOOL, *arguments], cwd=RULES, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_rules(self):
        self.promtool("check", "rules", "--lint=all", "--lint-fatal", "rules.yml")

    def test_alerts_fire_and_do_not(self):
        self.promtool("test", "rules", "rules_test.yml")


class Run:
    """One training run, scraped every second from before its begin until it has ended."""

    def __init__(self, folder):
        listen = f"127.0.0.1:{free_port()}"
        (folder / "run.yaml").write_text(run_configuration(listen))
        self.prometheus = Prometheus(folder, listen)
        try:
            self.begin = time.time()
            self.train(folder, listen)
            time.sleep(2)  # the scrape that finds nothing, and the rules after it
            self.end = time.time()
        except BaseException:
            self.prometheus.stop()
            raise
        self.summary = read_summary((folder / "runs/latest").resolve())

    def train(self, folder, listen):
        process = Process(["train", "run.yaml"], folder)
        try:
            def first_checkpoint():
                page = fetch(f"http://{listen}/metrics")
                return "stoker_checkpoints_saved_step" in page and page
            self.page = process.until(first_checkpoint)
            if process.wait() != 0:
                raise AssertionError(f"stoker train\n{process.log}")
        finally:
            process.kill()


def values_of(result):
    for series in result:
        for _, value in series.get("values") or [series["value"]]:
            if not math.isnan(float(value)):
                yield float(value)


class LiveRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="stoker-dashboards-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.run_ = Run(pathlib.Path(cls.folder.name))
        cls.prometheus = cls.run_.prometheus
        cls.addClassCleanup(cls.prometheus.stop)
        cls.chosen = {}
        for variable in dashboards()["overview"]["templating"]["list"]:
            if variable["type"] == "query":
                cls.chosen[variable["name"]] = "|".join(map(re.escape, cls.offered(variable)))

    @classmethod
    def filled_in(cls, expr, until=None):
        """As Grafana does it for a scrape interval and a step of 1 s; Python's escapes for Go's string literals."""
        for name, value in cls.chosen.items():
            expr = expr.replace(f"${name}", value.replace("\\", "\\\\"))
        seconds = math.ceil((until or cls.run_.end) - cls.run_.begin)
        return expr.replace("$__rate_interval", "4s").replace("$__range", f"{seconds}s")

    @classmethod
    def offered(cls, variable):
        """The values of label_values(match, label)."""
        match, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"]).groups()
        values = cls.prometheus.get(f"label/{label}/values", **{"match[]": cls.filled_in(match)},
                                    start=cls.run_.begin, end=cls.run_.end)
        if not values:
            raise AssertionError(f"nothing to choose for {variable['name']}")
        return values

    def ask(self, target):
        """What one sees who looks at the whole run once it is over."""
        expr = self.filled_in(target["expr"])
        if target["instant"] and "$__range" in target["expr"]:
            return self.prometheus.get("query", query=expr, time=self.run_.end)["result"]
        return self.over_the_run(expr, self.run_.end)

    def ask_during(self, target, now):
        """What one sees who looks at it then."""
        expr = self.filled_in(target["expr"], now)
        if target["instant"]:
            return self.prometheus.get("query", query=expr, time=now)["result"]
        return self.over_the_run(expr, now)

    def over_the_run(self, expr, until):
        return self.prometheus.get("query_range", query=expr, start=self.run_.begin, end=until, step=1)["result"]

    def test_metrics_page(self):
        done = subprocess.run([PROMTOOL, "check", "metrics"], input=self.run_.page, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_every_query_finds_what_it_should(self):
        for name, dashboard in dashboards().items():
            for panel, target in queries(dashboard):
                with self.subTest(dashboard=name, panel=panel["title"], query=target["refId"]):
                    self.assertTrue(self.prometheus.get("format_query", query=self.filled_in(target["expr"])))
                    if not needs_more(panel):
                        self.check(panel, target, self.ask(target))

    def test_no_panel_is_empty_while_the_run_lasts(self):
        (training,) = self.over_the_run('stoker_run_status{status="train"} == 1', self.run_.end)
        last = training["values"][-1][0]
        self.assertLess(last, self.run_.end)
        for name, dashboard in dashboards().items():
            for panel, target in queries(dashboard):
                if not needs_more(panel):
                    with self.subTest(dashboard=name, panel=panel["title"], query=target["refId"]):
                        self.check(panel, target, self.ask_during(target, last))

    def check(self, panel, target, result):
        values = list(values_of(result))
        self.assertTrue(values, "empty")
        for series in result:
            self.assertTrue(list(values_of([series])), f"nothing but NaN: {series['metric']}")
        self.assertTrue(all(map(math.isfinite, values)), values)
        self.assertGreaterEqual(min(values), 0)
        if panel["fieldConfig"]["defaults"]["unit"] == "percentunit":
            self.assertLessEqual(max(values), 1 + 1e-9)
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        if panel["type"] == "table" and target["refId"] == "A":
            renamed = panel["transformations"][-1]["options"]["renameByName"]
            shown = {field for field in renamed if not field.startswith("Value")}
        for series in result:
            if "or vector(0)" not in target["expr"]:
                self.assertEqual(shown - set(series["metric"]), set(), "labels that are shown and absent")

    def value(self, dashboard, title):
        """Of the one query of a panel with one value."""
        ((_, target),) = [found for found in queries(dashboards()[dashboard]) if found[0]["title"] == title]
        (value,) = values_of(self.ask(target))
        return value

    def test_whole_run_figures_equal_the_summary(self):
        summary = self.run_.summary
        device = summary["device"]
        stall = summary["segments_s"]["checkpoint_stall"] / summary["wall_s"]
        for dashboard, title, expected in (
                ("overview", "Exposed I/O share", summary["exposed_io_share"]), ("overview", "I/O share", summary["io_share"]),
                ("overview", "Device idle", device["idle_share"]),
                ("overview", "Checkpoint stall", stall), ("overview", "AU", device["au"]),
                ("overview", "Loop time", summary["wall_s"]), ("compare", "I/O share", summary["io_share"]),
                ("compare", "Device idle", device["idle_share"]),
                ("compare", "Images per second of the loop", summary["images_per_s"])):
            with self.subTest(dashboard=dashboard, panel=title):
                self.assertGreater(expected, 0)
                self.assertAlmostEqual(self.value(dashboard, title), expected, delta=TOLERANCE * expected)

    def test_rules_can_be_evaluated(self):
        groups = self.prometheus.get("rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertEqual([rule["name"] for rule in rules if rule["health"] != "ok"], [])
        for rule in rules:
            if rule["type"] == "recording":
                self.assertTrue(list(values_of(self.over_the_run(rule["name"], self.run_.end))), rule["name"])

    def test_the_page_cache_alert_is_silent_for_an_emulated_tier(self):
        rules = [rule for group in self.prometheus.get("rules")["groups"] for rule in group["rules"]]
        alert, = (rule["query"] for rule in rules if rule["name"] == "StokerPageCacheServed")
        every = alert.replace("< 0.05", ">= 0")  # whatever the page cache holds on this machine
        self.assertNotEqual(every, alert)
        self.assertTrue(self.over_the_run(every.partition(" unless ")[0], self.run_.end))
        self.assertEqual(self.over_the_run(every, self.run_.end), [])

    def test_prometheus_has_nothing_to_complain_about(self):
        self.assertNotRegex(self.prometheus.log.read_text(), "level=(warn|error)")


if __name__ == "__main__":
    unittest.main()
