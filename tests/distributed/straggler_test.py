#!/usr/bin/env python3
"""One rank is slower than the others: all figures say which, and why."""
import json
import re
import signal
import unittest

from browser import Browser
from stoker import MINI, Process, StokerTest, configuration, free_port, posix, read_summary, until

STEPS = 40
LATE = 0.03  # s a step


class StragglerTest(StokerTest):
    CONFIG = configuration(
        device="{type: emulated, step_ms: 20, queue_depth: 0}", loader="{type: sync, batch_size: 3}", model="{type: linear}",
        decoder="{type: jpeg, size: 32}", training=f"{{epochs: 100, max_steps: {STEPS}, threads: 1}}",
        storage=f"{{data: {{type: emulated, read_mb_per_s: 1000, write_mb_per_s: 1000, read_latency_ms: 0.1, inner: {posix(MINI)}}}}}",
        metrics="{every_steps: 5}", distributed="{timeout: 30s}")

    def begin_ranks(self, slow, *overrides, sinks=None, steps=STEPS):
        """Three of them; rank `slow` has overrides of its own. Returns them and the run's directory."""
        port = free_port()
        world = {"WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        sinks = sinks or f"metrics.sinks=[{{type: csv}}, {{type: prometheus, listen: 127.0.0.1:{free_port()}, port: auto}}]"
        runs = self.dir / f"runs-{port}"
        ranks = [Process(["train", self.config, f"run.dir={runs}", sinks, f"training.max_steps={steps}",
                          *(overrides if rank == slow else ())], self.dir,
                         {**world, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(3)]
        return ranks, runs / "latest"

    def run_ranks(self, slow, *overrides, **options):
        ranks, run = self.begin_ranks(slow, *overrides, **options)
        self.assertEqual([rank.wait() for rank in ranks], [0, 0, 0], "".join(rank.log for rank in ranks))
        return run

    def assert_blamed(self, run, slow, cause):
        summary = read_summary(run)
        straggler = summary["all_ranks"]["straggler"]
        self.assertEqual((straggler["rank"], straggler["cause"]), (slow, cause), summary["ranks"])
        put_in = STEPS * LATE
        for rank, times in summary["ranks"].items():
            waited = times["device_idle_s"]["peers"]
            if int(rank) == slow:
                self.assertLess(waited, 0.5 * put_in)
            else:
                self.assertGreater(waited, 0.9 * put_in)
            self.assert_ledger_closes(read_summary(run if rank == "0" else run / f"rank-{rank}"))
        self.assertIn(f"Rank {slow} holds the others up, by its {cause}", summary["verdict"]["text"])
        told = json.loads(self.stoker("doctor", run, "--json").stdout)
        self.assertEqual(told["cause"], "rank")
        self.assertIn(f"Rank {slow}", told["text"])
        return summary

    def test_a_slower_device_is_named(self):
        self.assert_blamed(self.run_ranks(2, f"device.step_ms={20 + 1000 * LATE:.0f}"), 2, "compute")

    def test_the_page_names_it_while_it_runs_and_the_report_afterwards(self):
        ranks, run = self.begin_ranks(1, f"device.step_ms={20 + 1000 * LATE:.0f}", steps=10 * STEPS)
        ranks[0].wait_for("live metrics")
        address = re.search(r"http://\S+/", ranks[0].log)[0]
        words = "Rank 1 holds the others up, by its compute"
        with Browser() as browser:
            def shows(url, selector):
                """The text that a reader sees there."""
                seen = f"[...document.querySelectorAll('{selector}')].filter((e) => e.checkVisibility()).map((e) => e.innerText).join()"
                browser.call("Page.navigate", url=url)
                until(lambda: words in browser.call("Runtime.evaluate", expression=seen, returnByValue=True)["result"].get("value", ""),
                      lambda: f"{url} does not say it")
            shows(address, "#straggler")
            for rank in ranks:
                rank.send(signal.SIGTERM)
            self.assertEqual([rank.wait() for rank in ranks], [75, 75, 75])
            self.stoker("report", run, "--output", self.dir / "report.html")
            shows((self.dir / "report.html").as_uri(), ".warn")

    def test_a_slower_tier_is_named(self):
        run = self.run_ranks(1, f"storage.data.read_latency_ms={1000 * LATE:.0f}")  # one image a step
        self.assert_blamed(run, 1, "data")
        own = json.loads(self.stoker("doctor", run / "rank-1", "--json").stdout)
        self.assertIn(own["cause"], ["no_prefetch", "storage_latency"], own)

    def test_metrics_have_a_port_and_a_label_for_each_rank(self):
        run = self.run_ranks(None)
        targets = json.loads((run / "targets.json").read_text())
        ports = [int(target["targets"][0].rsplit(":", 1)[1]) for target in targets]
        self.assertEqual(len(set(ports)), 3)
        self.assertLess(ports[0], min(ports[1:]))
        self.assertEqual({target["labels"]["run"] for target in targets}, {run.resolve().name})
        for rank in range(3):
            text = ((run if rank == 0 else run / f"rank-{rank}") / "metrics.prom").read_text()
            series = [line for line in text.splitlines() if line.startswith("stoker_device_busy_seconds_total")]
            self.assertEqual(len(series), 1)
            self.assertIn(f'rank="{rank}"', series[0])
        self.assertNotIn("stoker_ranks_", (run / "rank-1" / "metrics.prom").read_text())

    def test_the_timeloggers_records_are_those_of_all_ranks(self):
        run = self.run_ranks(None, sinks="metrics.sinks=[{type: timelogger}]")
        told = json.loads(self.stoker("timelogger", run, "--json").stdout)
        self.assertEqual(told["nodes"], 3)
        self.assertEqual([row["rank"] for row in told["overlap"]], [0, 1, 2])
        self.assertGreater(told["hepcnnb"]["training_s"], 0)
        self.assertGreater(told["cdb"]["training_s"], 0)


if __name__ == "__main__":
    unittest.main()
