#!/usr/bin/env python3
"""`stoker bench train` as a user meets it."""
import json
import unittest

from stoker import StokerTest, configuration, long


class BenchTrain(StokerTest):
    CONFIG = configuration(
        decoder="{type: turbojpeg, size: 32}", loader="{type: prefetched, batch_size: 8, workers: 2, digest: true}",
        checkpoint="{type: direct, slow: data, every_steps: 1}", metrics="{every_steps: 2}")

    def bench(self, *arguments, code=0):
        (self.dir / "tmp").mkdir(exist_ok=True)
        done = self.stoker("bench", "train", self.config, *arguments, "--rounds=2", "--steps=4", code=code,
                           env={"TMPDIR": str(self.dir / "tmp")})
        # Neither run directories nor checkpoints stay behind.
        self.assertEqual(sorted(p.name for p in self.dir.rglob("*")), ["tmp", "trial.yaml"])
        return done

    def test_every_split_is_measured_and_the_best_one_is_named_as_overrides(self):
        result = json.loads(self.bench("--threads=1,2", "--workers=1,3", "--json").stdout)
        self.assertEqual([(s["threads"], s["workers"]) for s in result["splits"]],
                         [(1, 1), (1, 3), (2, 1), (2, 3)])
        for split in result["splits"]:
            self.assertEqual(split["steps"], 8)
            self.assertTrue(0 < split["step_s"]["min"] <= split["step_s"]["max"])
            self.assertTrue(0 <= split["data_wait_share"] < 1)
        best = max(result["splits"], key=lambda s: s["images_per_s"]["median"])
        self.assertEqual(result["best"], f"training.threads={best['threads']} loader.workers={best['workers']}")
        self.stoker("check", self.config, *result["best"].split())

    def test_the_table_says_what_was_measured_and_how(self):
        text = self.bench("--threads=1", "--workers=1").stdout
        self.assertIn("2 rounds of 4 steps of 8 images on ", text)
        self.assertIn("best: training.threads=1 loader.workers=1\n", text)

    @long
    def test_the_trainer_is_compared_with_a_bare_loop(self):
        result = json.loads(self.bench("--bare", "--json").stdout)
        self.assertEqual(result["trainer"]["steps"], result["bare"]["steps"])
        self.assertAlmostEqual(result["overhead"], result["trainer"]["step_s"]["median"] /
                               result["bare"]["step_s"]["median"] - 1)
        self.assertGreater(result["trainer"]["outside_compute_us"], 0)
        self.assertNotIn("outside_compute_us", result["bare"])

    def test_a_device_that_computes_nothing_is_refused(self):
        done = self.bench("device={type: emulated, step_ms: 1}", code=2)
        self.assertIn("bench train: an emulated device computes nothing", done.stderr)
        self.assertNotIn("round 1", done.stderr)

    def test_a_threshold_is_for_the_comparison_only(self):
        self.assertIn("--bare", self.bench("--at-most=1", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
