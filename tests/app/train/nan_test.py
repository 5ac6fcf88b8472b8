#!/usr/bin/env python3
"""A training whose loss or weights become NaN or infinite: it ends, says why, and leaves its last good checkpoint."""
import array
import json
import math
import unittest

from stoker import StokerTest, configuration, long, posix, read_summary

DIVERGES = "optimizer={type: sgd, lr: 1e6, weight_decay: 1e6}"  # a factor of 1e12 a step


def weights(file):
    """All float32 of a safetensors file."""
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    for tensor in header.values():
        if tensor.get("dtype") == "F32":
            begin, end = tensor["data_offsets"]
            yield from array.array("f", data[8 + size + begin:8 + size + end])


class NanTest(StokerTest):
    CONFIG = configuration(
        tiers={"slow": posix("checkpoints")}, optimizer="{type: sgd, lr: 0.01}", training="{epochs: 40, max_steps: 12}",
        checkpoint="{type: direct, slow: slow, every_steps: 1, keep_last: 1, resume: latest}",
        metrics="{every_steps: 5, sinks: [{type: csv}]}")

    def test_stops_and_keeps_the_last_finite_checkpoint(self):
        self.train()
        error = self.stoker("train", self.config, DIVERGES, "training.max_steps=40", code=7).stderr
        self.assertRegex(error, r"the (loss|largest weight) is -?(nan|inf) after step \d+: lower optimizer.lr, or go on "
                                r"with training.on_nan: warn")
        summary = read_summary(self.latest)
        self.assertEqual((summary["exit_code"], summary["status"]), (7, "failed"))
        # The set before the first bad step is there.
        [kept] = self.dir.glob("checkpoints/trial/step-*/state.safetensors")
        self.assertGreaterEqual(int(kept.parent.name.split("-")[1]), 12)
        self.assertTrue(all(map(math.isfinite, weights(kept))))

    @long
    def test_goes_on_where_it_is_told_to(self):
        summary, run = self.train(DIVERGES, "training.on_nan=warn", "checkpoint={type: none}")
        self.assertEqual(summary["steps"], 12)
        self.assertGreater(summary["nonfinite_losses"], 0)
        self.assertRegex((run / "log.txt").read_text(), r"the loss is -?nan after step 10: lower optimizer.lr")


if __name__ == "__main__":
    unittest.main(verbosity=2)
