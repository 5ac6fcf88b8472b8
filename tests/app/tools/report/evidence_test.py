#!/usr/bin/env python3
"""What a run says of its own conditions: cold or warm data, profiler windows, the cost of measuring."""
import json
import os
import pathlib
import shutil
import tempfile
import unittest

from stoker import MINI, StokerTest, configuration, long, posix

COLD = 0.03  # io/metrics/verdict.h


class EvidenceTest(StokerTest):
    CONFIG = configuration(
        tiers={"data": posix("data")}, decoder="{type: jpeg, size: 32}",
        loader="{type: prefetched, batch_size: 10, workers: 2}", training="{epochs: 1}",
        metrics="{every_steps: 5, sinks: []}")
    BESIDE = os.getcwd()

    def setUp(self):
        super().setUp()
        shutil.copytree(MINI, self.dir / "data")

    def cache(self, *overrides):
        summary, _ = self.train(*overrides)
        return summary["page_cache"] | summary["loaders"]["train"]

    def evict(self):
        for path in (self.dir / "data").rglob("*.jpg"):
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def test_cold_and_warm_are_measured(self):
        self.evict()
        cold = self.cache()
        if cold.get("resident_before", 1) > COLD or "storage_bytes" not in cold:
            # A file system that keeps its pages, or a kernel that does not count: then nothing is called cold.
            self.assertNotEqual(cold["state"], "cold", cold)
            return
        self.assertEqual(cold["state"], "cold", cold)
        self.assertGreaterEqual(cold["storage_bytes"], 0.9 * cold["read_bytes"])
        self.assertGreater(cold["resident"], 0.95)
        warm = self.cache()
        self.assertEqual(warm["state"], "warm", warm)
        self.assertGreater(warm["resident_before"], 1 - COLD)
        self.assertLess(warm["storage_bytes"], 0.05 * warm["read_bytes"])
        self.assertIn("does not measure the storage", warm["text"])

    @long
    def test_a_run_is_cold_or_warm_as_told(self):
        warm = self.cache("run.page_cache=warm")
        self.assertEqual(warm["wanted"], "warm")
        self.assertGreater(warm["resident_before"], 1 - COLD)
        self.assertNotIn("missed", warm)
        self.assertGreater(self.train("run.page_cache=warm")[0]["tiers"]["data"]["read"]["busy_mb_per_s"], 0)
        cold = self.cache("run.page_cache=cold")
        if "missed" in cold:  # this file system does not let go of its pages: the run says so
            self.assertGreater(cold["resident_before"], COLD)
        else:
            self.assertLessEqual(cold["resident_before"], COLD)
            self.assertNotEqual(cold["state"], "warm")

    @long
    def test_a_run_that_cannot_be_cold_is_marked(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:  # a tmpfs has nowhere to evict to
            shutil.copytree(self.dir / "data", pathlib.Path(memory, "data"))
            summary, _ = self.train("run.page_cache=cold", f"storage.data.root={memory}/data")
        cache, tier = summary["page_cache"], summary["tiers"]["data"]
        self.assertNotIn("busy_mb_per_s", tier["read"])
        self.assertIn(cache["missed"], tier["conditions"])
        self.assertGreater(cache["resident_before"], 1 - COLD)
        self.assertIn("run.page_cache is cold, but when the run began the page cache held ", cache["missed"])

    @long
    def test_checkpoints_read_back_are_no_data(self):
        self.train()  # warms the cache
        summary, _ = self.train(
            f"storage.fast={posix('fast')}", f"storage.slow={posix('slow')}",
            "checkpoint={type: burst_buffer, fast: fast, slow: slow, every_steps: 10}")
        self.assertEqual(summary["checkpoints"]["drains_left"], 0)
        self.assertEqual(summary["page_cache"]["state"], "warm", summary["page_cache"])

    def test_a_profiler_window_leaves_its_trace(self):
        _, run = self.train("metrics.profile={every_steps: 10, steps: 3}")
        found = sorted(path.name for path in run.glob("profile-*"))
        self.assertEqual(found, ["profile-10.json", "profile-20.json"])
        trace = json.loads((run / found[0]).read_text())
        names = {event.get("name") for event in trace["traceEvents"]}
        self.assertIn("aten::addmm", names)
        self.assertIn("metrics.profile: 'every_steps' must be 0", self.stoker(
            "train", self.config, "metrics.profile={every_steps: 2, steps: 5}", code=2).stderr)

    @long
    def test_measuring_is_cheap_and_says_so(self):
        summary, _ = self.train("training.epochs=5")
        self.assertGreater(summary["overhead_share"], 0)
        self.assert_ledger_closes(summary)


if __name__ == "__main__":
    unittest.main(verbosity=2)
