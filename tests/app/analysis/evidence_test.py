#!/usr/bin/env python3
"""What a run says of its own conditions: cold or warm data, profiler windows, the cost of measuring.

STOKER names the binary.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

STOKER = os.environ.get("STOKER", "stoker")
MINI = pathlib.Path(__file__).resolve().parents[3] / "datasets" / "caltech101-mini"
CONFIG = """
run:        {name: evidence, seed: 1}
device:     {type: cpu}
storage:    {data: {type: posix, root: data}}
dataset:    {type: image_folder, storage: data, split: {train_per_class: 30, test_per_class: 5}}
decoder:    {type: jpeg, size: 32}
loader:     {type: prefetched, batch_size: 10, workers: 2}
model:      {type: linear}
training:   {epochs: 1}
metrics:    {every_steps: 5, sinks: []}
"""


class EvidenceTest(unittest.TestCase):
    def setUp(self):
        # Beside the sources: a temporary directory may lie in memory.
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(dir=os.getcwd())))
        (self.folder / "config.yaml").write_text(CONFIG)
        shutil.copytree(MINI, self.folder / "data")

    def train(self, *overrides, code=0):
        done = subprocess.run([STOKER, "train", "--json", "config.yaml", *overrides], cwd=self.folder,
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def evict(self):
        for path in (self.folder / "data").rglob("*.jpg"):
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def test_cold_and_warm_are_measured(self):
        self.evict()
        cold = self.train()["cache"]
        if cold.get("resident_before", 1) > 0.05 or "storage_bytes" not in cold:
            # A file system that keeps its pages, or a kernel that does not count: then nothing is called cold.
            self.assertNotEqual(cold["verdict"], "cold", cold)
            return
        self.assertEqual(cold["verdict"], "cold", cold)
        self.assertGreaterEqual(cold["storage_bytes"], 0.9 * cold["asked_bytes"])
        self.assertGreater(cold["resident_after"], 0.95)
        warm = self.train()["cache"]
        self.assertEqual(warm["verdict"], "warm", warm)
        self.assertGreater(warm["resident_before"], 0.95)
        self.assertLess(warm["storage_bytes"], 0.05 * warm["asked_bytes"])
        self.assertIn("does not measure the storage", warm["text"])

    def test_a_run_is_cold_or_warm_as_told(self):
        warm = self.train("run.page_cache=warm")["cache"]
        self.assertEqual(warm["wanted"], "warm")
        self.assertGreater(warm["resident_before"], 0.95)
        self.assertNotIn("missed", warm)
        self.assertGreater(self.train("run.page_cache=warm")["storage"]["data"]["reads"]["mb_per_s"], 0)
        cold = self.train("run.page_cache=cold")["cache"]
        if "missed" in cold:  # this file system does not let go of its pages: the run says so
            self.assertGreater(cold["resident_before"], 0.05)
        else:
            self.assertLessEqual(cold["resident_before"], 0.05)
            self.assertNotEqual(cold["verdict"], "warm")

    def test_a_run_that_cannot_be_cold_is_marked(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:  # a tmpfs has nowhere to evict to
            shutil.copytree(self.folder / "data", pathlib.Path(memory, "data"))
            summary = self.train("run.page_cache=cold", f"storage.data.root={memory}/data")
        cache, tier = summary["cache"], summary["storage"]["data"]
        self.assertNotIn("mb_per_s", tier["reads"])
        self.assertIn(cache["missed"], tier["conditions"])
        self.assertGreater(cache["resident_before"], 0.95)
        self.assertIn("run.page_cache is cold, but when the run began the page cache held ", cache["missed"])

    def test_checkpoints_read_back_are_no_data(self):
        self.train()  # warms the cache
        summary = self.train(
            "storage.fast={type: posix, root: fast}", "storage.slow={type: posix, root: slow}",
            "checkpoint={type: burst_buffer, fast: fast, slow: slow, every_steps: 10}")
        self.assertEqual(summary["checkpoints"]["drains_left"], 0)
        self.assertEqual(summary["cache"]["verdict"], "warm", summary["cache"])

    def test_a_profiler_window_leaves_its_trace(self):
        summary = self.train("metrics.profile={every_steps: 10, steps: 3}")
        found = sorted(path.name for path in pathlib.Path(self.folder, summary["run_directory"]).glob("profile-*"))
        self.assertEqual(found, ["profile-10.json", "profile-20.json"])
        trace = json.loads(pathlib.Path(self.folder, summary["run_directory"], found[0]).read_text())
        names = {event.get("name") for event in trace["traceEvents"]}
        self.assertIn("aten::addmm", names)
        self.assertIn("metrics.profile: 'every_steps' must be 0", self.train("metrics.profile={every_steps: 2, steps: 5}", code=2))

    def test_measuring_is_cheap_and_says_so(self):
        summary = self.train("training.epochs=5")
        self.assertGreater(summary["measuring_s"], 0)
        self.assertLess(summary["measuring_s"], 0.05 * summary["wall_s"])
        self.assertLessEqual(summary["closure_error"], 0.001)


if __name__ == "__main__":
    unittest.main(verbosity=2)
