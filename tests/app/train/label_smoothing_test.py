#!/usr/bin/env python3
"""training.label_smoothing: the loss is that of targets which give all classes a share."""
import csv
import math
import unittest

from stoker import StokerTest, configuration

CLASSES = 10


class LabelSmoothingTest(StokerTest):
    CONFIG = configuration(optimizer="{type: adam, lr: 0.01}", training="{epochs: 6, threads: 1}", evaluation="{enabled: false}",
                           metrics="{every_steps: 1, sinks: [{type: csv}]}")

    def losses(self, smoothing):
        _, run = self.train(f"training.label_smoothing={smoothing}")
        with open(run / "steps.csv", encoding="utf-8") as rows:
            return [float(row["loss"]) for row in csv.DictReader(rows)]

    def test_no_loss_is_below_the_entropy_of_its_targets(self):
        share = 0.9 / CLASSES
        targets = [1 - 0.9 + share] + [share] * (CLASSES - 1)
        least = -sum(target * math.log(target) for target in targets)
        self.assertGreaterEqual(min(self.losses(0.9)), least - 1e-5)
        self.assertLess(min(self.losses(0)), least)


if __name__ == "__main__":
    unittest.main()
