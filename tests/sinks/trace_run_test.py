#!/usr/bin/env python3
"""The sink `trace` of a real run: its rows, what is on them, and what a killed run leaves."""
import collections
import json
import unittest

from stoker import StokerTest, configuration, long, posix, read_summary


def load(text):
    """The events of a trace, of which the end may be missing."""
    if not text.endswith("]\n"):
        text = text[:text.rindex("\n") + 1] + "]"
    return json.loads(text)


class TraceTest(StokerTest):
    CONFIG = configuration(
        tiers={"fast": posix("fast"), "slow": posix("slow")}, device="{type: emulated, step_ms: 5}",
        decoder="{type: turbojpeg, size: 48}", loader="{type: device_prefetched, batch_size: 16, workers: 2}",
        training="{max_steps: 40, epochs: 9}", metrics="{sinks: [{type: trace}]}",
        checkpoint="{type: burst_buffer, fast: fast, slow: slow, every_steps: 10}")

    @staticmethod
    def rows(events):
        """{row: {name of an event: seconds of each}}"""
        names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
        rows = collections.defaultdict(lambda: collections.defaultdict(list))
        for event in events:
            if event["ph"] == "X":
                rows[names[event["tid"]]][event["name"]].append(1e-6 * event["dur"])
        return rows

    def assert_nested(self, events):
        """On each row, an event lies inside the one before or begins after its end."""
        rows = collections.defaultdict(list)
        for event in events:
            if event["ph"] == "X":
                begin = round(1000 * event["ts"])
                rows[event["tid"]].append((begin, -begin - round(1000 * event["dur"]), event["name"]))
        for row in rows.values():
            open_ends = []
            for begin, negative_end, name in sorted(row):
                while open_ends and open_ends[-1] <= begin:
                    open_ends.pop()
                if open_ends:
                    self.assertLessEqual(-negative_end, open_ends[-1], name)
                open_ends.append(-negative_end)

    def test_shows_the_way_of_a_batch(self):
        done = self.stoker("train", self.config)
        summary, events = read_summary(self.latest), load((self.latest / "trace.json").read_text())
        self.assert_nested(events)
        rows = self.rows(events)
        self.assertLessEqual({"trainer", "device", "load-0", "load-1", "copy-ahead"}, set(rows))
        self.assertEqual(len(rows["device"]["step"]), 40)
        for worker in ("load-0", "load-1"):
            self.assertLessEqual({"read", "decode", "data: read"}, set(rows[worker]))
        self.assertIn("copy", rows["copy-ahead"])
        everything = [name for row in rows.values() for name in row]
        self.assertLessEqual({"snapshot", "write", "drain", "fast: write", "fast: sync", "slow: write"},
                             set(everything))
        for segment, time_s in summary["segments_s"].items():
            self.assertAlmostEqual(sum(rows["trainer"].get(segment, [])), time_s, places=3, msg=segment)
        self.assertAlmostEqual(sum(rows["device"]["step"]), summary["device"]["busy_s"], places=3)
        self.assertIn("trace: ", done.stderr)

    def test_is_of_the_steps_that_were_asked_for(self):
        _, run = self.train("checkpoint={type: none}", "metrics.sinks=[{type: trace, first_step: 10, steps: 5}]")
        rows = self.rows(load((run / "trace.json").read_text()))
        self.assertEqual(len(rows["trainer"]["data_wait"]), 5)
        self.assertGreaterEqual(len(rows["device"]["step"]), 4)
        self.assertLessEqual(len(rows["device"]["step"]), 6)

    @long
    def test_a_killed_run_leaves_a_trace(self):
        process = self.start("train", self.config, "training.max_steps=100000", "training.epochs=100000",
                             "metrics.sinks=[{type: trace, steps: 100000}]")
        process.until(lambda: (self.latest / "trace.json").stat().st_size >= 200_000)
        process.kill()
        text = (self.latest / "trace.json").read_text()
        self.assertFalse(text.endswith("]\n"))
        self.assertGreater(len(self.rows(load(text))["trainer"]["data_wait"]), 5)


if __name__ == "__main__":
    unittest.main()
