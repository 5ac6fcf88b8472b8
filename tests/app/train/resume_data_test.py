#!/usr/bin/env python3
"""A resume says whether the data are others than those that the checkpoint was trained on."""
import hashlib
import json
import random
import shutil
import unittest

from checkpointed_run import CheckpointTest
from stoker import MINI, configuration, long, posix

OTHER_DATA = "resuming with other data than the checkpoint was trained on: "


class OtherData(CheckpointTest):
    def setUp(self):
        super().setUp()
        self.data = self.here / "data"
        shutil.copytree(MINI, self.data)
        self.trial = self.experiment(config=configuration(
            tiers={"data": posix(self.data), "ck": posix("ck")}, dataset="{type: image_folder, storage: data}",
            decoder="{type: jpeg, size: 32}", loader="{type: prefetched, batch_size: 16, workers: 2}",
            evaluation="{enabled: false}", training="{epochs: 3}",
            checkpoint="{type: direct, slow: ck, resume: latest}"))
        self.first = self.trial.train("training.max_steps=10")

    def resumed(self, *overrides, code=0):
        process = self.trial.train("training.max_steps=14", *overrides, code=code)
        return process.log

    def image(self, of="ketch", number=0):
        return sorted((self.data / of).glob("*.jpg"))[number]

    def test_that_are_the_same_say_nothing(self):
        self.assertNotIn("other data", self.resumed())

    def test_with_a_file_more(self):
        shutil.copy(self.image(), self.data / "ketch" / "zzz.jpg")
        log = self.resumed()
        self.assertIn(OTHER_DATA + "501 training samples instead of 500; in what is left of epoch 0 samples may come twice or not at all",
                      log)

    @long
    def test_with_files_less(self):
        for number in range(300):
            random.Random(number).choice(sorted(self.data.rglob("*.jpg"))).unlink()
        log = self.resumed()
        self.assertIn(OTHER_DATA + "200 training samples instead of 500", log)

    @long
    def test_with_fewer_files_than_the_epoch_had_used(self):
        """The epoch of the checkpoint has ended then. It was an endless loop."""
        for number in range(400):
            random.Random(number).choice(sorted(self.data.rglob("*.jpg"))).unlink()
        process = self.trial.train("training.max_steps=14")
        self.assertIn(OTHER_DATA + "100 training samples instead of 500", process.log)
        self.assertEqual(process.summary["steps"], 14)

    @long
    def test_with_a_file_replaced_or_moved(self):
        kept = self.image().read_bytes()
        others = "as many training samples, but other keys, sizes or labels"
        self.image().write_bytes(self.image(number=1).read_bytes())
        self.assertIn(OTHER_DATA + others, self.resumed())
        self.image().write_bytes(kept)
        self.trial.forget()
        shutil.rmtree(self.trial.dir / "ck")
        self.trial.train("training.max_steps=10")
        shutil.move(self.image(), self.data / "bonsai" / "moved.jpg")
        self.assertIn(OTHER_DATA + others, self.resumed())

    def test_with_a_class_renamed_is_refused(self):
        shutil.move(self.data / "airplanes", self.data / "planes")  # the labels of all between them change
        log = self.resumed(code=2)
        self.assertRegex(log, "error: checkpoint: the checkpoint was trained on other classes: class 3 was 'airplanes' and is 'bonsai': give the "
                              "data set its classes back, begin anew with checkpoint.resume=none, or, if every label means what it "
                              "did before, set checkpoint.renamed_classes=true")
        self.assertEqual(self.trial.stoker("checkpoint", "verify", self.trial.config, "--all").returncode, 0)
        log = self.resumed("checkpoint.renamed_classes=true")
        self.assertIn("the checkpoint was trained on other classes: class 3 was 'airplanes' and is 'bonsai'", log)

    @long
    def test_with_another_class_is_refused(self):
        shutil.copytree(self.data / "ketch", self.data / "zebra")
        self.assertIn("11 classes instead of 10: class 10, 'zebra', is new", self.resumed(code=2))

    @long
    def test_with_other_labels_of_the_same_files(self):
        names = sorted(path.name for path in self.data.iterdir() if path.is_dir())
        keys = sorted(path.relative_to(self.data).as_posix() for path in self.data.rglob("*.jpg"))
        rows = [[key, names.index(key.split("/")[0])] for key in keys]
        (self.data / "classes.txt").write_text("".join(f"{name}\n" for name in names))
        listed = ["dataset={type: file_list, storage: data}", "checkpoint.directory=listed"]
        for step, change in (5, 0), (8, 1):
            rows[3][1] += change
            (self.data / "train.csv").write_text("".join(f"{key},{label}\n" for key, label in rows))
            log = self.trial.train(f"training.max_steps={step}", *listed).log
            self.assertEqual(OTHER_DATA in log, change == 1, log)

    @long
    def test_of_a_set_that_is_older_than_this_says_nothing(self):
        manifest = self.trial.dir / "ck" / "trial" / "step-0000000010" / "MANIFEST.json"
        content = json.loads(manifest.read_text())
        del content["training"]["data"], content["sha256"]
        body = json.dumps(content, indent=2)[:-2] + ",\n"
        manifest.write_text(f'{body}  "sha256": "{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n')
        shutil.move(self.data / "airplanes", self.data / "planes")
        log = self.resumed()
        self.assertIn("resumed from", log)
        self.assertNotIn("trained on", log)


if __name__ == "__main__":
    unittest.main(verbosity=2)
