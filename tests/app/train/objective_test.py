#!/usr/bin/env python3
"""Losses, metrics and targets: what trains, what is measured, and what does not fit together."""
import csv
import json
import unittest

from stoker import StokerTest, configuration, flow, long, posix

MAPS = {"dataset": "{type: synthetic, samples: 32, test_samples: 16, unique: 16, classes: 3, "
                   "planes: {channels: 3, height: 32, width: 48, target: true}}",
        "decoder": "{type: planes, channels: 3, height: 32, width: 48, target: true, classes: 3}",
        "model": "{type: tiramisu, layers: [1, 1, 2], growth: 4, filters: 8, dropout: 0}",
        "loss": "{type: pixel_cross_entropy, weights: [0.1, 1, 1]}",
        "optimizer": "{type: larc, trust: 0.002, epsilon: 6.25e-5, inner: {type: adam, lr: 0.01}}",
        "loader": "{type: sync, batch_size: 8, digest: true}",
        "training": "{epochs: 6, threads: 1, deterministic: true}",
        "evaluation": "{every_epochs: 1, metric: {type: iou}}",
        "metrics": "{every_steps: 1, sinks: [{type: csv}]}"}


def rows(run):
    with open(run / "steps.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class MapsTest(StokerTest):
    CONFIG = configuration(**MAPS)

    def test_the_iou_of_maps_rises_and_is_a_figure_of_the_run(self):
        summary, run = self.train()
        measured = [evaluation["iou"] for evaluation in summary["evaluations"]]
        self.assertGreater(measured[-1], measured[0])
        self.assertGreater(measured[-1], 0.5)
        self.assertEqual(summary["evaluation"]["iou"], measured[-1])
        self.assertNotIn("auc", summary["evaluation"])
        self.assertNotIn("accuracy", summary["evaluation"])
        self.assertEqual([row["evaluation.iou"] for row in rows(run)][:4], [""] * 4)
        self.assertAlmostEqual(float(rows(run)[-1]["evaluation.iou"]), measured[-2])
        self.assertIn(f"iou {measured[-1]:.4f} on 16 test samples", (run / "log.txt").read_text())

    @long
    def test_any_loader_and_any_number_of_ranks_give_the_same(self):
        alone, run = self.train("training.epochs=1")
        losses = [float(row["loss"]) for row in rows(run)]
        for loader in "prefetched", "device_resident":
            other, there = self.train("training.epochs=1", f"loader.type={loader}")
            self.assertEqual((there / "digests.csv").read_text(), (run / "digests.csv").read_text())
            self.assertEqual([float(row["loss"]) for row in rows(there)], losses)
            self.assertEqual(other["evaluations"][0]["iou"], alone["evaluations"][0]["iou"])
        both = self.json("launch", "--ranks", 2, self.config, "training.epochs=1", "distributed={timeout: 20s}")
        for ours, theirs in zip(rows(self.dir / both["run_directory"]), losses, strict=True):
            self.assertAlmostEqual(float(ours["loss"]), theirs, delta=1e-4 * theirs)
        self.assertEqual(both["evaluations"][0]["samples"], 16)
        self.assertAlmostEqual(both["evaluations"][0]["iou"], alone["evaluations"][0]["iou"], delta=1e-3)

    @long
    def test_without_computing_all_batches_are_read_and_nothing_is_measured(self):
        summary, _ = self.train("training.compute=false", "training.epochs=1")
        self.assertEqual((summary["steps"], summary["images"], summary["evaluation"]["images"]), (4, 32, 16))
        self.assertEqual(summary["conditions"]["compute"], False)
        self.assertEqual(summary["evaluations"], [])
        self.assertNotIn("loss", summary)
        self.assertIn("COMPUTING NOTHING", self.stoker("train", self.config, "training.compute=false").stdout)

    def test_what_does_not_fit_together_is_refused_before_anything_is_opened(self):
        def error(*overrides):
            return self.stoker("check", self.config, *overrides, code=2).stderr

        self.assertIn("'loss' must not be of classes (cross_entropy) where model.type tiramisu answers maps: set "
                      "loss.type=pixel_cross_entropy", error("loss={type: cross_entropy}"))
        self.assertIn("'evaluation' must not be of classes (accuracy) where model.type tiramisu answers maps: set "
                      "evaluation.metric.type=iou", error("evaluation={metric: {type: accuracy}}"))
        self.assertIn("'loss' must not be of maps (pixel_cross_entropy) where model.type linear answers classes",
                      error("model={type: linear}"))
        self.assertIn("must not say compute: false where device.type is emulated",
                      error("training.compute=false", "device={type: emulated, step_ms: 1}"))
        self.stoker("check", self.config, "evaluation={enabled: false, metric: {type: accuracy}}")
        done = self.stoker("train", self.config, "decoder={type: planes, height: 32, width: 48}", "dataset.planes.target=false", code=2)
        self.assertIn("loss: pixel_cross_entropy is for maps, and the samples of decoder planes have no maps", done.stderr)


class ClassesTest(StokerTest):
    CONFIG = configuration({"slow": posix("checkpoints")},
                           dataset="{type: synthetic, samples: 64, test_samples: 64, unique: 64, classes: 2, "
                                   "planes: {height: 24, width: 24}}",
                           decoder="{type: planes, height: 24, width: 24}",
                           loader="{type: sync, batch_size: 16}",
                           model="{type: hepcnnb, dropout: 0.2}",
                           optimizer="{type: adam, lr: 0.001}", training="{epochs: 3, threads: 1}",
                           evaluation="{every_epochs: 1, metric: {type: auc}}",
                           checkpoint=flow(type="direct", slow="slow", every_epochs=1, keep_last=1, keep_best=1),
                           metrics="{every_steps: 2, sinks: []}")

    def test_the_auc_rises_and_decides_which_checkpoint_is_the_best(self):
        summary, _ = self.train()
        measured = [evaluation["auc"] for evaluation in summary["evaluations"]]
        self.assertGreater(measured[-1], 0.9)
        self.assertEqual(summary["evaluation"]["auc"], measured[-1])
        self.assertIn("top1", summary["evaluation"]["accuracy"])
        self.assertNotIn("iou", summary["evaluation"])
        manifests = [json.loads(path.read_text()) for path in (self.dir / "checkpoints").rglob("MANIFEST*")]
        scores = [manifest["training"]["score"] for manifest in manifests]
        self.assertEqual(max(scores), max(measured))

    @long
    def test_a_table_of_steps_has_the_same_columns_before_and_after_an_evaluation(self):
        _, run = self.train("metrics.sinks=[{type: csv}]", "training.epochs=2", "model={type: linear}", "checkpoint={type: none}")
        with open(run / "steps.csv", encoding="utf-8") as file:
            table = list(csv.reader(file))
        self.assertEqual({len(row) for row in table}, {len(table[0])})
        self.assertEqual(table[1][table[0].index("evaluation.auc")], "")
        self.assertNotEqual(table[-1][table[0].index("evaluation.auc")], "")


if __name__ == "__main__":
    unittest.main()
