#!/usr/bin/env python3
"""Batches in Python are those of the program, byte for byte: for each loader, order, format and number of ranks."""
import csv
import os
import pathlib
import subprocess
import tempfile
import unittest

import stoker
from engine import LONG, MINI, PATIENCE_S, PROGRAM, config

LOADERS = ("sync", "threaded", "prefetched")
ORDERS = ("permutation", "window", "local_files", "global_files", "local_window", "shards")
WHOLE = {"type": "image_folder", "storage": "data", "split": {"test_fraction": 0}}
FORMATS = ("image_folder", "file_list", "tar_shards", "tfrecord")


def program(*arguments, cwd):
    subprocess.run([PROGRAM, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=True, timeout=PATIENCE_S,
                   env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"})


@unittest.skipUnless(PROGRAM, "the program is not built here")
class DigestsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def write(self, sections):
        with stoker.Loader(sections) as loader:
            text = loader.yaml()
        path = self.folder / "data.yaml"
        path.write_text(text + "device: {type: cpu}\nmodel: {type: linear}\nevaluation: {enabled: false}\n"
                        "metrics: {sinks: []}\n")
        return path

    def trained(self, path, *overrides):
        """The digests of an epoch's batches, as the program writes them."""
        runs = tempfile.mkdtemp(dir=self.folder)
        program("train", path, f"run.dir={runs}", "training.epochs=1", "training.compute=false", *overrides, cwd=self.folder)
        return self.table(runs)

    @staticmethod
    def table(runs):
        (path,) = (path for path in pathlib.Path(runs).glob("*/digests.csv") if not path.parent.is_symlink())
        with path.open(encoding="utf-8") as file:
            return [row["digest"] for row in csv.DictReader(file)]

    def test_of_each_loader_and_order(self):
        path = self.write(config())
        for order in ORDERS if LONG else ORDERS[:1]:
            expected = self.trained(path, f"loader.order={order}")
            self.assertEqual(len(expected), 18)
            for loader in LOADERS:
                with self.subTest(order=order, loader=loader), \
                        stoker.Loader(path, [f"loader.order={order}", f"loader.type={loader}"]) as batches:
                    self.assertEqual([batch.digest for batch in batches], expected)

    def test_of_each_format_and_with_augmentation_and_of_floats(self):
        decoder = {"type": "jpeg", "size": 32, "output": "float32", "augment": {"flip": True, "random_resized_crop": {}}}
        path = self.write(config(decoder=decoder, dataset=WHOLE))
        expected = self.trained(path)
        for kind in FORMATS if LONG else FORMATS[2:3]:
            with self.subTest(kind):
                to = self.folder / kind
                if kind == "image_folder":
                    source = MINI
                else:
                    program("dataset", "convert", path, to, "--format", kind, cwd=self.folder)
                    source = to
                dataset = WHOLE if kind == "image_folder" else {"type": kind, "storage": "data"}
                sections = config(decoder=decoder, dataset=dataset,
                                  storage={"data": {"type": "posix", "root": source}})
                with stoker.Loader(sections) as loader:
                    self.assertEqual([batch.digest for batch in loader], expected)

    def test_of_decoded_pixels(self):
        path = self.write(config(dataset=WHOLE))
        program("dataset", "convert", path, self.folder / "packed", "--format", "packed", cwd=self.folder)
        sections = config(storage={"data": {"type": "posix", "root": self.folder / "packed"}},
                          dataset={"type": "packed", "storage": "data"},
                          decoder={"type": "raw", "height": 32, "width": 32, "size": 32})
        with stoker.Loader(sections) as loader:
            self.assertEqual([batch.digest for batch in loader], self.trained(path))

    def test_of_ranks(self):
        path = self.write(config())
        for order in ("permutation", "global_files")[:2 if LONG else 1]:
            parts = []
            for rank in range(2):
                with stoker.Loader(path, [f"loader.order={order}"], rank=rank, world=2) as loader:
                    parts.append([batch.digests for batch in loader])
            runs = tempfile.mkdtemp(dir=self.folder)
            program("launch", "--ranks=2", path, f"run.dir={runs}", "training.epochs=1", "training.compute=false",
                    f"loader.order={order}", "distributed={}", cwd=self.folder)
            expected = self.table(runs)
            self.assertEqual(len(expected), len(parts[0]))
            self.assertEqual([stoker._core.digest(a + b) for a, b in zip(*parts)], expected)


if __name__ == "__main__":
    unittest.main()
