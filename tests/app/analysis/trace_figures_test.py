#!/usr/bin/env python3
"""A run's figures out of its trace alone, and out of its TimeLogger records, against its summary.json.

STOKER names the binary.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

STOKER = os.environ.get("STOKER", "stoker")
MINI = pathlib.Path(__file__).resolve().parents[3] / "datasets" / "caltech101-mini"
TOLERANCE = 1  # percent
CONFIG = f"""
run:        {{name: traced, seed: 1}}
device:     {{type: emulated, step_ms: 25}}
storage:
  data: {{type: emulated, read_mb_per_s: 5, write_mb_per_s: 1e6, inner: {{type: posix, root: {MINI}}}}}
  fast: {{type: posix, root: fast}}
  slow: {{type: emulated, read_mb_per_s: 1e6, write_mb_per_s: 2, inner: {{type: posix, root: slow}}}}
dataset:    {{type: image_folder, storage: data, split: {{train_per_class: 40, test_per_class: 1}}}}
decoder:    {{type: turbojpeg, size: 32}}
loader:     {{type: prefetched, batch_size: 8, workers: 2}}
model:      {{type: linear}}
training:   {{epochs: 2}}
checkpoint: {{type: burst_buffer, fast: fast, slow: slow, every_steps: 20, durability: none}}
metrics:    {{every_steps: 10, sinks: [{{type: csv}}, {{type: trace, steps: 100000}}, {{type: timelogger}}]}}
"""
SHARED = {"steps", "wall_s", "io_share", "segments_s.compute", "segments_s.data_wait", "segments_s.checkpoint_stall",
          "device.observed_s", "device.busy_s", "device.idle_ratio", "loader.samples_read", "loader.bytes_read",
          "checkpoints.drained"}


class TraceFiguresTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "traced.yaml").write_text(CONFIG)

    def stoker(self, *words):
        return subprocess.run([STOKER, *words], cwd=self.folder, capture_output=True, text=True, timeout=300, check=False)

    def json(self, *words):
        done = self.stoker(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def train(self, *overrides):
        return self.folder / self.json("train", "--json", "traced.yaml", *overrides)["run_directory"]

    def assert_agree(self, run):
        found = self.json("trace", "--json", run)
        self.assertTrue(found["complete"], found)
        self.assertEqual(found["bad_lines"], 0)
        deviation = found["deviation_percent"]
        self.assertLessEqual(SHARED, deviation.keys())
        for name, percent in deviation.items():
            tiny = name.startswith("segments_s.") and found["summary"][name] < 0.01  # readings of the clock themselves
            if not tiny:
                self.assertLessEqual(abs(percent), TOLERANCE, f"{name}: {found['trace'][name]} against "
                                                              f"{found['summary'][name]}")
        return found

    def test_the_trace_alone_says_what_the_summary_says(self):
        run = self.train()
        found = self.assert_agree(run)
        self.assertGreater(found["trace"]["storage.data.reads.mb_per_s"], 0)
        self.assertGreater(found["trace"]["segments_s.checkpoint_stall"], 0)
        self.assertEqual(found["trace"]["checkpoints.drained"], 4 + 1)

    def test_input_bound_runs_agree_too(self):
        self.assert_agree(self.train("storage.data.read_mb_per_s=1.5", "training.epochs=1"))

    def test_what_is_not_whole_is_not_compared(self):
        run = self.train("training.max_steps=20", "metrics.sinks=[{type: trace, first_step: 5, steps: 10}]")
        found = self.json("trace", "--json", run)
        self.assertFalse(found["complete"])
        self.assertIn("shorter than the run", found["incomplete"])
        self.assertEqual(found["deviation_percent"], {})
        self.assertIn("not compared", self.stoker("trace", run).stdout)

    def test_a_killed_process_leaves_a_readable_trace(self):
        run = self.train("training.max_steps=20")
        trace = run / "trace.json"
        text = trace.read_text()
        trace.write_text(text[:len(text) * 2 // 3])
        found = self.json("trace", "--json", run)
        self.assertFalse(found["complete"])
        self.assertIn("not closed", found["incomplete"])
        self.assertLessEqual(found["bad_lines"], 1)
        self.assertGreater(found["trace"]["wall_s"], 0)
        (run / "summary.json").unlink()
        self.assertEqual(self.stoker("trace", run).returncode, 0)

    def test_time_logger_records_of_a_run(self):
        run = self.train()
        summary = json.loads((run / "summary.json").read_text())
        found = self.json("timelogger", "--json", run)
        self.assertEqual(found["bad_lines"], [])
        self.assertEqual(found["nodes"], 1)
        (overlap,) = found["overlap"]
        parts = sum(overlap[part] for part in ("hidden_s", "exposed_s", "checkpoint_s", "outside_s"))
        self.assertAlmostEqual(parts, overlap["read_s"], delta=1e-5)
        self.assertGreater(overlap["hidden_s"], overlap["exposed_s"])
        waits = [c for c in found["components"] if c["description"] == "Call to Next Batch"][0]
        self.assertEqual(waits["count"], summary["steps"])
        self.assertAlmostEqual(waits["sum_s"], summary["segments_s"]["data_wait"], delta=0.01)
        reads = [c for c in found["components"] if c["description"] == "Time to Read Single Image"][0]
        self.assertEqual(reads["count"], summary["loaders"]["train"]["stages"]["read"]["count"])
        self.assertAlmostEqual(found["read_mb_per_s"], 1e-6 * found["read_bytes"] / found["read_union_s"])
        self.assertAlmostEqual(found["cdb"]["read_s"], found["read_union_s"], delta=0.01)
        self.assertFalse(found["hepcnnb"]["nested"])

    def test_records_that_are_none(self):
        bad = self.folder / "bad.csv"
        bad.write_text("0,0,a,Training Iteration,1,2,1,1,1\nnothing\n")
        done = self.stoker("timelogger", bad)
        self.assertEqual(done.returncode, 4)
        self.assertIn("bad.csv:2", done.stderr)
        done = self.stoker("timelogger", "--max-bad", "0.5", bad)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bad.csv:2", done.stdout)
        self.assertEqual(self.stoker("timelogger", self.folder / "none").returncode, 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
