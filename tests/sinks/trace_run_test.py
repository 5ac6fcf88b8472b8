#!/usr/bin/env python3
"""The sink `trace` of a real run: its rows, what is on them, and what a killed run leaves.

STOKER names the binary.
"""
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

STOKER = os.environ.get("STOKER", "stoker")
MINI = pathlib.Path(__file__).resolve().parents[2] / "datasets" / "caltech101-mini"
CONFIG = f"""
run:        {{name: traced, seed: 1}}
device:     {{type: emulated, step_ms: 5}}
storage:
  data: {{type: posix, root: {MINI}}}
  fast: {{type: posix, root: fast}}
  slow: {{type: posix, root: slow}}
dataset:    {{type: image_folder, storage: data, split: {{train_per_class: 30, test_per_class: 5}}}}
decoder:    {{type: turbojpeg, size: 48}}
loader:     {{type: device_prefetched, batch_size: 16, workers: 2}}
model:      {{type: linear}}
optimizer:  {{type: sgd, lr: 0.001}}
training:   {{max_steps: 40, epochs: 9}}
checkpoint: {{type: burst_buffer, fast: fast, slow: slow, every_steps: 10}}
"""


def load(text):
    """The events of a trace, of which the end may be missing."""
    if not text.endswith("]\n"):
        text = text[:text.rindex("\n") + 1] + "]"
    return json.loads(text)


class TraceTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "run.yaml").write_text(CONFIG)

    def command(self, *overrides, sink="{type: trace}"):
        return [STOKER, "train", "run.yaml", f"metrics.sinks=[{sink}]", *overrides]

    def run_directory(self):
        return self.folder / "runs" / "latest"

    def train(self, *overrides, **options):
        done = subprocess.run(self.command(*overrides, **options), cwd=self.folder, capture_output=True, text=True,
                              timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.log = done.stderr
        return load((self.run_directory() / "trace.json").read_text())

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
        events = self.train()
        summary = json.loads((self.run_directory() / "summary.json").read_text())
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
        self.assertIn("trace: ", self.log)

    def test_is_of_the_steps_that_were_asked_for(self):
        rows = self.rows(self.train("checkpoint={type: none}", sink="{type: trace, first_step: 10, steps: 5}"))
        self.assertEqual(len(rows["trainer"]["data_wait"]), 5)
        self.assertGreaterEqual(len(rows["device"]["step"]), 4)
        self.assertLessEqual(len(rows["device"]["step"]), 6)

    def test_a_killed_run_leaves_a_trace(self):
        with subprocess.Popen(self.command("training.max_steps=100000", "training.epochs=100000",
                                           sink="{type: trace, steps: 100000}"),
                              cwd=self.folder, stderr=subprocess.DEVNULL) as process:
            path = self.run_directory() / "trace.json"
            end = time.monotonic() + 120
            while not path.exists() or path.stat().st_size < 200_000:
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
            process.kill()
        text = path.read_text()
        self.assertFalse(text.endswith("]\n"))
        self.assertGreater(len(self.rows(load(text))["trainer"]["data_wait"]), 5)


if __name__ == "__main__":
    unittest.main()
