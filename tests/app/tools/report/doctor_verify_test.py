#!/usr/bin/env python3
"""What the doctor proposes is tried by `--verify`, for each of its rules, on a machine made for it: emulated tiers and devices, decoders that
sleep, a second run on a tier, neighbours on the cores, a cgroup with half a core. One rule in three; all where STOKER_LONG is set.
"""
import contextlib
import multiprocessing
import os
import shutil
import unittest

from doctor_test import CASES, DoctorRuns, Others, decoder, tier
from shortages import Cgroup
from stoker import LONG

# cause: the case of doctor_test.py that has it, and whose first proposal has to help.
HELPED = {
    "decode": "one worker decodes",
    "storage_latency": "one worker, slow reads",
    "no_prefetch": "loading in the trainer's thread",
    "checkpoint_write": "checkpoints to a slow tier",
    "prefetch_depth": "bursts of short steps",
    "evaluation": "evaluation after every epoch",
    "host_overhead": "steps of nothing",
}
COSTLY = ["device={type: emulated, step_ms: 1}", "decoder={type: turbojpeg, size: 256, augment: {color_jitter: {hue: 0.1}}}",
          "training={epochs: 20, max_steps: 400}"]


def spin():
    while True:
        pass


class VerifyTest(DoctorRuns):
    @contextlib.contextmanager
    def neighbours(self):
        """Others have every core, with priority over this test's."""
        spinning = [multiprocessing.Process(target=spin) for _ in range(4 * os.cpu_count())]
        for process in spinning:
            process.start()
        try:
            yield
        finally:
            for process in spinning:
                process.kill()
                process.join()

    def verified(self, *overrides, rounds=2, steps=15):
        for sets in ("slow", "fast"):
            shutil.rmtree(self.dir / sets, ignore_errors=True)
        others = Others()
        _, run = self.train(*overrides)
        self.contended = others.share() > 0.1
        return self.json("doctor", run, "--verify", "--rounds", rounds, "--steps", steps)

    def assert_helped(self, told, cause):
        if self.contended and told["cause"] == "cpu_contention":
            return  # that is right, too
        self.assertEqual(told["cause"], cause, told)
        self.assertTrue(told["findings"][0]["overrides"], told)
        self.assertTrue(told["verified"]["helped"], told)

    def test_every_proposal_helps(self):
        for number, (cause, case) in enumerate(HELPED.items()):
            if not LONG and number % 3:
                continue
            with self.subTest(cause):
                self.assert_helped(self.verified(*CASES[case][1], steps=40 if cause == "prefetch_depth" else 15), cause)
                self.assertFalse([path for path in self.dir.rglob(".stoker-bench-*") if path.is_dir()], "sets of the trial are left")

    def test_a_tier_at_its_rate_wants_copies(self):
        told = self.verified(tier(read_mb_per_s=0.4), "loader.workers=8", "training={epochs: 3}", steps=60)
        self.assert_helped(told, "storage_bandwidth")

    def test_a_tier_that_another_run_uses_wants_one_of_its_own(self):
        shared = [tier(read_mb_per_s=1), "loader.workers=8"]
        other = self.start("train", self.config, *shared, "training={epochs: 100000, max_steps: 100000}", "run.name=other")
        other.wait_for("live|step")
        self.assert_helped(self.verified(*shared, "training.max_steps=40"), "shared_tier")

    def test_no_worker_is_proposed_where_others_have_the_cores(self):
        with self.neighbours():
            _, run = self.train(*COSTLY, "loader.workers=1")
        told = self.json("doctor", run)
        self.assertEqual((told["cause"], told["level"]), ("cpu_contention", "contended"), told)
        self.assertFalse(told["findings"][0]["overrides"], told)

    def test_no_worker_is_proposed_where_a_cgroup_allows_no_more_cores(self):
        group = Cgroup(self, "cpu")
        group.limit("50000 100000" if group.file.name == "cpu.max" else "50000")
        others = Others()
        _, run = self.train(*COSTLY, before=group.words)
        right = {"decode", "cpu_contention"} if others.share() > 0.1 else {"decode"}
        told = self.json("doctor", run)
        self.assertIn(told["cause"], right, told)
        self.assertNotIn("loader.workers", " ".join(told["findings"][0]["overrides"]), told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
