#!/usr/bin/env python3
"""The alert StokerRunLost, on a real Prometheus: not for a run that ended well or was preempted, with all defaults, but for one
that was killed."""
import pathlib
import signal
import tempfile
import unittest

from live_prometheus import Prometheus
from stoker import Process, configuration, free_port, until


class LostTest(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="stoker-lost-")))
        self.listen = f"127.0.0.1:{free_port()}"
        (self.dir / "run.yaml").write_text(configuration(
            device="{type: emulated, step_ms: 50}", loader="{type: prefetched, batch_size: 16, workers: 1}",
            decoder="{type: turbojpeg, size: 32}", training="{epochs: 100000, threads: 1}", evaluation="{enabled: false}",
            metrics=f"{{sinks: [{{type: prometheus, listen: '{self.listen}'}}]}}"))
        self.prometheus = Prometheus(self.dir, self.listen)
        self.addCleanup(self.prometheus.stop)

    def query(self, expr):
        return self.prometheus.get("query", query=expr)["result"]

    def seen_in_training(self, *overrides):
        """A run that Prometheus has scraped while it trained."""
        process = Process(["train", "run.yaml", *overrides], self.dir)
        self.addCleanup(process.kill)
        process.until(lambda: self.query('stoker_run_status{status="train"} == 1'))
        return process

    def lost(self):
        """The runs that the alert is about, once nobody answers any longer."""
        until(lambda: self.query('up{job="stoker"} == 0'), self.prometheus.log.read_text)
        rules = [rule for group in self.prometheus.get("rules")["groups"] for rule in group["rules"]]
        alert, = (rule for rule in rules if rule["name"] == "StokerRunLost")
        return [series["metric"]["status"] for series in self.query(alert["query"])]

    def test_a_run_that_ended_well_is_not_lost(self):
        process = self.seen_in_training("training.max_steps=200")
        self.assertEqual(process.wait(), 0, process.log)
        self.assertEqual(self.lost(), [])

    def test_a_run_that_was_preempted_is_not_lost(self):
        process = self.seen_in_training()
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 75, process.log)
        self.assertEqual(self.lost(), [])

    def test_a_run_that_was_killed_is_lost(self):
        self.seen_in_training().kill()
        self.assertEqual(self.lost(), ["train"])


if __name__ == "__main__":
    unittest.main()
