#!/usr/bin/env python3
"""A run's figures out of its trace alone, and out of its TimeLogger records, against its summary.json."""
import unittest

from stoker import StokerTest, configuration, emulated, long, posix, read_summary

TOLERANCE = 1  # percent
SHARED = {"steps", "wall_s", "io_share", "segments_s.compute", "segments_s.data_wait", "segments_s.checkpoint_stall",
          "device.observed_s", "device.busy_s", "device.idle_share", "loaders.samples_read", "loaders.read_bytes",
          "checkpoints.drained"}


class TraceFiguresTest(StokerTest):
    CONFIG = configuration(
        tiers={"data": emulated(read_mb_per_s=5), "fast": posix("fast"), "slow": emulated("slow", write_mb_per_s=2)},
        device="{type: emulated, step_ms: 25}",
        dataset="{type: image_folder, storage: data, split: {train_per_class: 40, test_per_class: 1}}",
        decoder="{type: turbojpeg, size: 32}", loader="{type: prefetched, batch_size: 8, workers: 2}",
        training="{epochs: 2}",
        checkpoint="{type: burst_buffer, fast: fast, slow: slow, every_steps: 20, durability: none}",
        metrics="{every_steps: 10, sinks: [{type: csv}, {type: trace, steps: 100000}, {type: timelogger}]}")

    def assert_agree(self, run):
        found = self.json("trace", run)
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
        _, run = self.train()
        found = self.assert_agree(run)
        self.assertGreater(found["trace"]["tiers.data.read.busy_mb_per_s"], 0)
        self.assertGreater(found["trace"]["segments_s.checkpoint_stall"], 0)
        self.assertEqual(found["trace"]["checkpoints.drained"], 4 + 1)

    @long
    def test_input_bound_runs_agree_too(self):
        self.assert_agree(self.train("storage.data.read_mb_per_s=1.5", "training.epochs=1")[1])

    @long
    def test_what_is_not_whole_is_not_compared(self):
        _, run = self.train("training.max_steps=20", "metrics.sinks=[{type: trace, first_step: 5, steps: 10}]")
        found = self.json("trace", run)
        self.assertFalse(found["complete"])
        self.assertIn("shorter than the run", found["incomplete"])
        self.assertEqual(found["deviation_percent"], {})
        self.assertIn("not compared", self.stoker("trace", run).stdout)

    def test_a_killed_process_leaves_a_readable_trace(self):
        _, run = self.train("training.max_steps=20")
        trace = run / "trace.json"
        text = trace.read_text()
        trace.write_text(text[:len(text) * 2 // 3])
        found = self.json("trace", run)
        self.assertFalse(found["complete"])
        self.assertIn("not closed", found["incomplete"])
        self.assertLessEqual(found["bad_lines"], 1)
        self.assertGreater(found["trace"]["wall_s"], 0)
        (run / "summary.json").unlink()
        self.stoker("trace", run)

    def test_time_logger_records_of_a_run(self):
        _, run = self.train()
        summary = read_summary(run)
        found = self.json("timelogger", run)
        self.assertEqual(found["bad_lines"], [])
        self.assertEqual(found["nodes"], 1)
        (overlap,) = found["overlap"]
        parts = sum(overlap[part] for part in ("hidden_s", "exposed_s", "checkpoint_s", "outside_s"))
        self.assertAlmostEqual(parts, overlap["read_s"], delta=1e-5)
        self.assertGreater(overlap["hidden_s"], 0)
        waits = [c for c in found["components"] if c["description"] == "Call to Next Batch"][0]
        self.assertEqual(waits["count"], summary["steps"])
        self.assertAlmostEqual(waits["sum_s"], summary["segments_s"]["data_wait"], delta=0.01)
        reads = [c for c in found["components"] if c["description"] == "Time to Read Single Image"][0]
        self.assertEqual(reads["count"], summary["loaders"]["train"]["stages"]["read"]["duration_s"]["count"])
        self.assertAlmostEqual(found["read_mb_per_s"], 1e-6 * found["read_bytes"] / found["read_union_s"])
        self.assertAlmostEqual(found["cdb"]["read_s"], found["read_union_s"], delta=0.01)
        self.assertFalse(found["hepcnnb"]["nested"])

    def test_records_that_are_none(self):
        bad = self.dir / "bad.csv"
        bad.write_text("0,0,a,Training Iteration,1,2,1,1,1\nnothing\n")
        self.assertIn("bad.csv:2", self.stoker("timelogger", bad, code=4).stderr)
        self.assertIn("bad.csv:2", self.stoker("timelogger", "--max-bad", "0.5", bad).stdout)
        self.stoker("timelogger", self.dir / "none", code=3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
