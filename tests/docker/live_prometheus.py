"""A real Prometheus with the project's rules."""
import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from stoker import SOURCE, free_port, needed, until

RULES = SOURCE / "docker/prometheus"
PROMETHEUS, PROMTOOL = (needed(program, package="prometheus") for program in ("prometheus", "promtool"))

SCRAPES = """
global: {{scrape_interval: 1s, scrape_timeout: 900ms, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - {{job_name: stoker, static_configs: [{{targets: ["{listen}"]}}]}}
"""


def fetch(url, timeout=10):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


class Prometheus:
    def __init__(self, folder, target, *flags):
        self.address = f"127.0.0.1:{free_port()}"
        config = folder / "prometheus.yml"
        config.write_text(SCRAPES.format(rules=RULES / "rules.yml", listen=target))
        self.log = folder / "prometheus.log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [PROMETHEUS, f"--config.file={config}", f"--storage.tsdb.path={folder / 'prometheus'}",
                 f"--web.listen-address={self.address}", *flags], stdout=log, stderr=log)
        until(lambda: fetch(f"http://{self.address}/-/ready"), self.log.read_text, 30)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)

    def get(self, path, **parameters):
        try:
            text = fetch(f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters, doseq=True)}", 60)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error
        return json.loads(text)["data"]
