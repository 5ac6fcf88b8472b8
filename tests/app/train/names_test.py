#!/usr/bin/env python3
"""Names that are not UTF-8, of folders, images, the data's root and the run directory: nothing is lost, and every
file that the program writes is text from which the name can be had back.
"""
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import unittest

from stoker import MINI, StokerTest, configuration, long, posix, read_summary


def bytes_of(text):
    """io/core/text/text.h, from_text()"""
    return re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m.group(1), 16)]), text.encode())


SINKS = "[{type: csv}, {type: jsonl}, {type: timeline}, {type: trace}, {type: tensorboard}, {type: prometheus, port: auto}]"


class NamesTest(StokerTest):
    CONFIG = configuration(
        tiers={"slow": posix("checkpoints")},
        dataset="{type: image_folder, storage: data, split: {train_per_class: 8, test_per_class: 2}, "
                "on_error: {policy: skip, budget: 3}}",
        loader="{type: prefetched, batch_size: 4, workers: 2, shuffle: true}",
        checkpoint="{type: direct, slow: slow, every_steps: 3, keep_last: 100, resume: latest}",
        metrics=f"{{every_steps: 2, sinks: {SINKS}}}", training="{epochs: 3}")

    def setUp(self):
        super().setUp()
        self.root = os.fsencode(self.dir) + b"/d\xe9j\xe0"
        for number, folder in enumerate(sorted(MINI.iterdir())[:3]):
            name = self.root + b"/caf\xe9-%d\xff" % number
            os.makedirs(name)
            for image in sorted(folder.iterdir())[:12]:
                shutil.copy(image, name + b"/\xc3" + os.fsencode(image.name))
        # The first image of a folder is one of its training samples.
        self.bad = name + b"/\xc3" + sorted(os.fsencode(f.name) for f in folder.iterdir())[0]
        with open(self.bad, "wb") as file:
            file.write(b"\xff\xd8\xff\xe0 no image")
        self.data = b"storage.data.root=" + self.root

    def run_program(self, *arguments, code=0):
        return self.stoker(*[a.decode(errors="surrogateescape") if isinstance(a, bytes) else a for a in arguments],
                           code=code)

    def test_a_run_loses_nothing(self):
        summary = json.loads(self.run_program("train", self.config, self.data, "--json").stdout)
        run = self.dir / summary["run_directory"]
        self.assertEqual(summary["checkpoints"]["failed"], 0)
        self.assertGreater(summary["checkpoints"]["saved"], 3)
        rows = list(csv.DictReader((run / "skipped.csv").open(encoding="utf-8")))
        self.assertEqual({self.root + b"/" + bytes_of(row["sample"]) for row in rows}, {self.bad}, rows)
        for sample in summary["slowest_samples"]["decode"]:
            self.assertTrue(os.path.exists(self.root + b"/" + bytes_of(sample["key"])), sample)
        for file in run.iterdir():
            if file.suffix in (".csv", ".json", ".jsonl", ".yaml"):
                file.read_text(encoding="utf-8")
        # What it was resolved to names the same data, and goes on from its last checkpoint.
        again = json.loads(self.run_program("train", run / "config.yaml", "training.epochs=4", "--json").stdout)
        self.assertEqual(again["resumed"]["step"], summary["steps"])
        for command in ("report", "trace", "doctor"):
            self.run_program(command, run)
        self.run_program("compare", run, self.dir / again["run_directory"])

    def test_inspect_lists_names(self):
        found = json.loads(self.run_program("dataset", "inspect", self.config, self.data, "--json").stdout)
        text = json.dumps(found)
        self.assertIn(json.dumps("caf\\xe9-0\\xff"), text)

    def test_no_name_controls_a_terminal(self):
        with open(os.path.dirname(self.bad) + b"/0\x1b[2J\n\xc2\x9b.jpg", "wb") as file:
            file.write(b"no image")
        shown = "/0\\x1b[2J\\x0a\\xc2\\x9b.jpg"
        done = self.run_program("dataset", "inspect", self.config, self.data)
        self.assertIn(f"{shown}: not_an_image", done.stdout)
        refused = self.run_program("train", self.config, self.data, "dataset.on_error={policy: fail}", code=4)
        for text in (done.stdout, done.stderr, refused.stderr):
            self.assertFalse({"\x1b", "\x9b"} & set(text), text)

    @long
    def test_a_run_directory_of_such_a_name(self):
        where = os.fsencode(self.dir) + b"/r\xfcns"
        summary = json.loads(self.run_program("train", self.config, self.data, b"run.dir=" + where, "--json").stdout)
        run = bytes_of(summary["run_directory"])
        self.assertTrue(run.startswith(where), run)
        self.assertEqual(json.loads(pathlib.Path(os.fsdecode(run), "summary.json").read_text())["steps"], summary["steps"])

    @long
    def test_exit_codes_stay_what_they_are(self):
        message = self.run_program("train", self.config, self.data, "dataset.on_error={policy: fail}", code=4).stderr
        self.assertIn("caf\\xe9-2\\xff/\\xc3", message)
        config = [self.data.decode(errors="surrogateescape"), "training.epochs=10000"]
        for number, code in ((signal.SIGTERM, 75), (signal.SIGINT, 130)):
            process = self.start("train", self.config, *config)
            self.assertTrue(process.wait_for("step"))
            process.send(number)
            self.assertEqual(process.wait(), code, process.log)
            self.assertEqual(read_summary(self.latest)["exit_code"], code)

    def test_a_configuration_that_is_no_text_says_how_to_write_it(self):
        self.config.write_bytes(self.CONFIG.encode() + b"# \xe9\nrun: {dir: r\xfcns}\n")
        message = self.run_program("check", self.config, code=2).stderr
        self.assertRegex(message, r"trial.yaml:\d+.*not UTF-8: write a byte")


if __name__ == "__main__":
    unittest.main(verbosity=2)
