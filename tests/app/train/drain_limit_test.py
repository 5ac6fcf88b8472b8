#!/usr/bin/env python3
"""A drain beside a training that reads from the same disk: what checkpoint.drain_limit does, and what is told of it."""
import csv
import re
import unittest

from stoker import StokerTest, configuration, emulated, posix, read_summary

SIZE = 128
CLASSES, IMAGES = 8, 20
BATCH = 16
STEP_MS = 20
SET_BYTES = 3 * 4 * CLASSES * (3 * SIZE * SIZE + 1)  # and a little more


class DrainLimitTest(StokerTest):
    """Training takes three quarters of what the disk can give."""
    CONFIG = configuration(
        tiers={"data": posix("unused"), "fast": posix("fast"), "disk": emulated("disk", read_mb_per_s=52, write_mb_per_s=52)},
        device=f"{{type: emulated, step_ms: {STEP_MS}}}",
        dataset="{type: image_folder, storage: disk, extensions: [.rgb]}",
        decoder=f"{{type: raw, height: {SIZE}, width: {SIZE}, size: {SIZE}}}",
        loader=f"{{type: prefetched, batch_size: {BATCH}, workers: 2, prefetch_batches: 4}}",
        optimizer="{type: adam, lr: 0.001}", training="{epochs: 100, max_steps: 100}", evaluation="{enabled: false}",
        checkpoint="{type: burst_buffer, fast: fast, slow: disk, every_steps: 50, snapshot: async, drain_limit: auto}",
        metrics="{every_steps: 10, sinks: [{type: timeline, seconds: 0.1}]}")

    def setUp(self):
        super().setUp()
        for label in range(CLASSES):
            folder = self.dir / "disk" / f"class-{label}"
            folder.mkdir(parents=True)
            for image in range(IMAGES):
                (folder / f"{image:02}.rgb").write_bytes(bytes([label, image, 7]) * SIZE * SIZE)

    def drains(self, log):
        return re.findall(r"step (\d+): drained to tier 'disk' in [\d.]+ s(.*)", log)

    def limits(self, run):
        rows = csv.DictReader((run / "timeline.csv").read_text().splitlines())
        return [float(row["checkpoints.drain_limit_bytes"]) for row in rows if row["checkpoints.drain_limit_bytes"]]

    def test_auto_follows_the_input(self):
        process = self.start("train", self.config)
        self.assertEqual(process.wait(), 0, process.log)
        checkpoints = read_summary(self.latest)["checkpoints"]
        self.assertEqual((checkpoints["saved"], checkpoints["drained"], checkpoints["durable_step"]), (2, 2, 100))
        decisions = checkpoints["drain_decisions"]
        self.assertEqual(sorted(decisions), ["held", "hurried", "lowered", "raised"])
        self.assertGreater(sum(decisions.values()), 0)
        self.assertGreaterEqual(checkpoints["drain_slowdown_share"], 0)
        drains = self.drains(process.log)
        self.assertEqual([step for step, _ in drains], ["50", "100"])
        self.assertRegex(drains[0][1], r"; at [\d.]+ to ([\d.]+|any) MB/s, \d+ times lowered.*; the input -?[\d.]+ % slower")
        self.assertGreater(max(self.limits(self.latest)), 0)
        self.json("checkpoint", "verify", self.config, "--all")

    def test_a_fixed_one_is_told_as_it_is(self):
        process = self.start("train", self.config, "checkpoint.drain_limit=20MiB", "checkpoint.every_steps=20",
                             "training.max_steps=40")
        self.assertEqual(process.wait(), 0, process.log)
        checkpoints = read_summary(self.latest)["checkpoints"]
        self.assertEqual(checkpoints["drain_limit_bytes"], 20 << 20)
        self.assertNotIn("drain_decisions", checkpoints)
        self.assertEqual(self.drains(process.log), [("20", ""), ("40", "")])
        self.assertEqual(set(self.limits(self.latest)), {20 << 20})
        # Copied and read back.
        self.assertGreater(checkpoints["drain_s"]["min"], 1.8 * SET_BYTES / (20 << 20))


if __name__ == "__main__":
    unittest.main(verbosity=2)
