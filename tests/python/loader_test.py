#!/usr/bin/env python3
"""stoker.Loader: epochs, positions, ranks, splits, errors, and of_folder."""
import json
import logging
import os
import pathlib
import pickle
import shutil
import tempfile
import unittest

import numpy
from PIL import Image

import stoker
from engine import MINI, config


def digests(loader):
    return [batch.digest for batch in loader]


class LoaderTest(unittest.TestCase):

    def test_iterating_gives_one_epoch_after_the_other(self):
        with stoker.Loader(config()) as loader:
            self.assertEqual((len(loader), loader.samples, loader.batch_size), (18, 300, 16))
            self.assertEqual(len(loader.classes), 10)
            first, second = digests(loader), digests(loader)
            self.assertEqual(loader.epoch, 2)
            self.assertEqual(len(set(first + second)), 36)
            loader.set_epoch(0)
            self.assertEqual(digests(loader), first)
            self.assertEqual(loader.epoch, 1)

    def test_an_epoch_that_is_left_early_comes_again(self):
        with stoker.Loader(config()) as loader:
            first = [batch.digest for batch, _ in zip(loader, range(3))]
            self.assertEqual(loader.epoch, 0)
            again = digests(loader)
            self.assertEqual(again[:3], first)
            self.assertEqual(len(again), 18)

    def test_an_iteration_ends_where_another_one_begins(self):
        with stoker.Loader(config()) as loader:
            first = iter(loader)
            next(first)
            second = iter(loader)
            self.assertEqual(next(second).index, 0)
            with self.assertRaisesRegex(RuntimeError, "another iteration of this loader has begun"):
                next(first)
            self.assertEqual(len(list(second)), 17)
            with self.assertRaises(StopIteration):
                next(second)

    def test_a_state_goes_on_with_other_workers_loaders_and_ranks(self):
        with stoker.Loader(config()) as loader:
            expected = digests(loader) + digests(loader)
            loader.set_epoch(0)
            iteration = iter(loader)
            for _ in range(5):
                next(iteration)
            state = loader.state_dict()
        batches = state["batches"]
        self.assertEqual(state, {"epoch": 0, "batch": 5, "batches": batches,
                                 "skipped": {"by_reason": {}, "samples": {}}, "tolerated": 0})
        self.assertEqual((batches["options"]["run.seed"], batches["data"]["train"]["count"]), ("3", 300))
        for overrides in (["loader.workers=1"], ["loader.workers=4"], ["loader.type=sync"], ["loader.type=threaded"]):
            with stoker.Loader(config(), overrides) as other:
                other.load_state_dict(state)
                self.assertEqual(other.state_dict()["batch"], 5)
                self.assertEqual(digests(other) + digests(other), expected[5:])
        parts = []
        for rank in range(2):
            with stoker.Loader(config(), rank=rank, world=2) as other:
                other.load_state_dict(state)
                parts.append([batch.digests for batch in other])
        with stoker.Loader(config()) as whole:
            whole.load_state_dict(state)
            self.assertEqual([a + b for a, b in zip(*parts)], [batch.digests for batch in whole])

    def test_a_state_of_other_batches_is_refused_but_at_the_begin_of_an_epoch(self):
        with stoker.Loader(config()) as loader:
            state = {**loader.state_dict(), "batch": 2}
            for keywords, text in (({"overrides": ["run.seed=4"]}, "run.seed: 3 -> 4"),
                                   ({"overrides": ["loader.shuffle=false"]}, "loader.shuffle: true -> false"),
                                   ({"overrides": ["loader.order=window"]}, "loader.order: permutation -> window"),
                                   ({"overrides": ["loader.drop_last=false"]}, "loader.drop_last: true -> false"),
                                   ({"overrides": ["loader.batch_size=8"]}, "loader.batch_size: 16 -> 8"),
                                   ({"overrides": ["decoder.augment={flip: true}"]}, "decoder.augment"),
                                   ({"overrides": ["dataset.exclude=[ketch]"]}, "9 classes instead of 10"),
                                   ({"split": "test"}, "split: train -> test")):
                with self.subTest(text), stoker.Loader(config(), **keywords) as other:
                    with self.assertRaises(stoker.Error) as caught:
                        other.load_state_dict(state)
                    self.assertEqual(caught.exception.code, 2)
                    self.assertIn(text, str(caught.exception))
                    with self.assertLogs("stoker", logging.INFO) as logs:
                        other.load_state_dict({**state, "epoch": 5, "batch": 0})
                    self.assertIn(text, logs.output[0])
                    self.assertEqual(next(iter(other)).epoch, 5)
            del state["batches"]
            with self.assertRaisesRegex(stoker.Error, "does not say of which batches it is"):
                loader.load_state_dict(state)
        with stoker.Loader(config(), ["loader.order=local_files"], world=2) as loader, \
                stoker.Loader(config(), ["loader.order=local_files"]) as other:
            with self.assertRaisesRegex(stoker.Error, "world: 2 -> 1"):
                other.load_state_dict({**loader.state_dict(), "batch": 2})

    def test_a_place_that_is_none_is_refused(self):
        with stoker.Loader(config()) as loader:
            state = loader.state_dict()
            for wrong in (-1, 1.5, "1", None, True, 1 << 70):
                with self.subTest(wrong):
                    with self.assertRaisesRegex(stoker.Error, "epoch must be a whole number from 0 on"):
                        loader.set_epoch(wrong)
                    for key in ("epoch", "batch"):
                        with self.assertRaisesRegex(stoker.Error, f"state's {key} must be a whole number from 0 on"):
                            loader.load_state_dict({**state, key: wrong})
            with self.assertRaisesRegex(stoker.Error, "a loader's state has 'epoch' and 'batch'"):
                loader.load_state_dict({})
            self.assertEqual(next(iter(loader)).index, 0)

    def test_two_ranks_make_up_the_whole_batch(self):
        parts = []
        for rank in range(2):
            with stoker.Loader(config(), rank=rank, world=2) as loader:
                parts.append([(batch.size, batch.whole, batch.digests) for batch in loader])
        with stoker.Loader(config()) as loader:
            whole = [batch.digests for batch in loader]
        self.assertEqual([a[2] + b[2] for a, b in zip(*parts)], whole)
        self.assertEqual(parts[0][0][:2], (8, 16))
        with self.assertRaisesRegex(stoker.Error, "rank of 2 ranks must be a whole number from 0 to 1, got 2"):
            stoker.Loader(config(), rank=2, world=2)

    def test_the_test_split_is_in_order_and_whole(self):
        with stoker.Loader(config(), split="test") as loader:
            labels = [int(label) for batch in loader for label in memoryview(batch.labels._view)]
            self.assertEqual(labels, sorted(labels))
            self.assertEqual(len(labels), loader.samples)
        with self.assertRaisesRegex(stoker.Error, "split must be train or test, got 'val'"):
            stoker.Loader(config(), split="val")

    def test_a_yaml_file_is_what_its_dict_is(self):
        with tempfile.TemporaryDirectory() as folder, stoker.Loader(config()) as loader:
            path = pathlib.Path(folder) / "data.yaml"
            path.write_text(loader.yaml())
            with stoker.Loader(path) as other:
                self.assertEqual(other.yaml(), loader.yaml())
                self.assertEqual(digests(other), digests(loader))

    def test_errors_are_those_of_the_program(self):
        cases = [
            ((config(), ["loader.worker=3"]), 2,
             "override 'loader.worker=3': loader: unknown key 'worker' (did you mean 'workers'?)"),
            ((config(loader={"type": "prefetched", "batch_size": "3"}),), 2,
             "configuration: loader: 'batch_size' must be an integer, got the text \"3\""),
            ((config(lodaer={}),), 2, "unknown key 'lodaer' (did you mean 'loader'?)"),
            (("/nowhere/at/all.yaml",), 3, "/nowhere/at/all.yaml"),
            ((config(storage={"data": {"type": "posix", "root": "/nowhere"}}),), 3, "/nowhere"),
            ((config(decoder={"type": "jpeg", "on_device": "decode"}),), 2, "decoder.on_device=nothing"),
            ((config(storage={"data": {"type": "posix", "root": object()}}),), 2, "storage.data.root must be"),
            ((config(loader={3: 4}),), 2, "keys of loader must be text, got 3"),
            ((7,), 2, "path of a YAML file"),
        ]
        for arguments, code, text in cases:
            with self.subTest(text):
                with self.assertRaises((stoker.Error, TypeError)) as caught:
                    stoker.Loader(*arguments)
                if isinstance(caught.exception, stoker.Error):
                    self.assertIn(text, str(caught.exception))
                    self.assertEqual(caught.exception.code, code)

    def test_a_closed_loader_says_so_and_its_arrays_stay(self):
        loader = stoker.Loader(config())
        batch = next(iter(loader))
        before = bytes(memoryview(batch.images._view))
        loader.close()
        loader.close()
        with self.assertRaisesRegex(stoker.Error, "closed"):
            next(iter(loader))
        self.assertEqual(bytes(memoryview(batch.images._view)), before)

    def test_a_loader_is_not_sent_to_another_process(self):
        with stoker.Loader(config()) as loader, self.assertRaisesRegex(TypeError, "make one there"):
            pickle.dumps(loader)

    def test_remarks_go_to_logging(self):
        with self.assertLogs("stoker", logging.INFO) as logs:
            stoker.Loader(config(), ["loader.type=device_prefetched"]).close()
        self.assertIn("loader.type is prefetched here", logs.output[0])


class BadSamplesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("a", "b"):
            (self.root / name).mkdir()
            source = sorted(path for path in MINI.iterdir() if path.is_dir())[0]
            for image in sorted(source.glob("*.jpg"))[:10]:
                shutil.copy(image, self.root / name)
        self.bad = sorted((self.root / "a").iterdir())[0]
        self.bad.write_bytes(b"no image")

    def config(self, **on_error):
        return config(storage={"data": {"type": "posix", "root": self.root}},
                      dataset={"type": "image_folder", "storage": "data", "on_error": on_error},
                      loader={"type": "prefetched", "batch_size": 5, "workers": 2})

    def test_that_are_skipped_are_named(self):
        with stoker.Loader(self.config(policy="skip")) as loader:
            skipped = [row for batch in loader for row in batch.skipped]
        self.assertEqual([(row.key, row.reason) for row in skipped], [(f"a/{self.bad.name}", "not_an_image")])
        self.assertNotEqual(skipped[0].replaced_by, skipped[0].key)

    def test_are_counted_on_by_who_resumes(self):
        with stoker.Loader(self.config(policy="skip", budget=1)) as loader:
            list(loader)
            state = json.loads(json.dumps(loader.state_dict()))
        self.assertEqual(state["skipped"], {"by_reason": {"not_an_image": 1}, "samples": {f"a/{self.bad.name}": "not_an_image"}})
        other = sorted((self.root / "b").iterdir())[0]
        other.write_bytes(b"no image, too")
        self.bad.write_bytes(sorted((self.root / "b").iterdir())[1].read_bytes())
        with stoker.Loader(self.config(policy="skip", budget=1)) as loader:
            list(loader)  # a single bad sample is within the budget
            loader.load_state_dict(state)
            with self.assertRaisesRegex(stoker.Error, f"(?s)2 bad samples.*a/{self.bad.name}.*b/{other.name}"):
                list(loader)
            for wrong in ({"samples": {}}, {"by_reason": {"empty": "x"}, "samples": {}}):
                with self.assertRaisesRegex(stoker.Error, "counts of bad samples are not ours"):
                    loader.load_state_dict(state | {"skipped": wrong})

    def test_beyond_the_budget_and_without_one_are_errors_and_the_loader_goes_on(self):
        for on_error in ({"policy": "skip", "budget": 0}, {}):
            with stoker.Loader(self.config(**on_error)) as loader:
                with self.assertRaises(stoker.Error) as caught:
                    list(loader)
                self.assertEqual(caught.exception.code, 4)
                self.assertIn(self.bad.name, str(caught.exception))
                loader.load_state_dict({**loader.state_dict(), "batch": 3})
                self.assertEqual(loader.state_dict()["batch"], 3)


class FolderTest(unittest.TestCase):

    def test_stands_for_a_yaml_file(self):
        with stoker.Loader.of_folder(MINI, size=24, batch_size=8, num_workers=1, seed=5, augment="imagenet") as loader:
            batch = next(iter(loader))
            self.assertEqual((batch.images.shape, batch.images.dtype), ((8, 3, 24, 24), "float32"))
            text = loader.yaml()
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "data.yaml"
                path.write_text(text)
                with stoker.Loader(path) as other:
                    self.assertEqual(bytes(memoryview(next(iter(other)).images._view)),
                                     bytes(memoryview(batch.images._view)))
        for part in ("seed: 5", "resize: antialias", "random_resized_crop", "workers: 1", "output: float32"):
            self.assertIn(part, text)

    def test_takes_the_folders_of_imagenet(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for split, count in (("train", 6), ("val", 4)):
                for source in sorted(path for path in MINI.iterdir() if path.is_dir())[:2]:
                    (root / split / source.name).mkdir(parents=True)
                    for image in sorted(source.glob("*.jpg"))[:count]:
                        shutil.copy(image, root / split / source.name)
            with stoker.Loader.of_folder(root, batch_size=4, size=16) as loader:
                self.assertEqual(loader.samples, 12)
            with stoker.Loader.of_folder(root, batch_size=4, size=16, split="test", output="uint8") as loader:
                self.assertEqual(loader.samples, 8)
                self.assertEqual(next(iter(loader)).images.shape, (4, 16, 16, 3))

    def folder(self, *parts, images=3):
        """Folders, or for names that end in a slash folders without classes, with images."""
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        for part in parts:
            for name in ("",) if part.endswith("/") else ("ketch", "watch"):
                folder = pathlib.Path(made.name, part, name)
                folder.mkdir(parents=True, exist_ok=True)
                for image in sorted((MINI / (name or "bonsai")).glob("*.jpg"))[:images]:
                    shutil.copy(image, folder)
        return pathlib.Path(made.name)

    def test_knows_the_parts_of_a_data_set(self):
        for parts, classes, train, test in ((("train", "valid"), 2, 6, 6), (("train", "validation", "test/"), 2, 6, 6),
                                            (("train", "test/"), 2, 6, 0), (("train/", "bus/"), 2, 6, 0), ((".",), 2, 6, 0),
                                            (("Train", "Test", "val"), 2, 6, 6)):
            with self.subTest(parts):
                root = self.folder(*parts)
                with stoker.Loader.of_folder(root, size=16, batch_size=2) as loader:
                    self.assertEqual((len(loader.classes), loader.samples), (classes, train))
                with stoker.Loader.of_folder(root, size=16, batch_size=2, split="test") as loader:
                    self.assertEqual((loader.samples, len(loader), sum(1 for _ in loader)), (test, (test + 1) // 2, (test + 1) // 2))

    def test_is_imagefolder_and_dataloader_argument_by_argument(self):
        """ImageFolder sorts classes and files; DataLoader cuts that into batches. No argument is taken in another sense."""
        root = self.folder(".", images=5)
        files = [(label, path) for label, name in enumerate(sorted(path.name for path in root.iterdir()))
                 for path in sorted((root / name).iterdir())]
        for workers in (0, 1, numpy.int64(2), None):
            for size in (1, 3, numpy.int32(4), 10):
                for drop_last in (False, True, numpy.bool_(True)):
                    with stoker.Loader.of_folder(str(root), size=numpy.int16(16), batch_size=size, shuffle=False,
                                                 num_workers=workers, drop_last=drop_last) as loader:
                        labels = [label for label, _ in files]
                        batches = [labels[at:at + size] for at in range(0, len(labels), size)]
                        if drop_last and len(batches[-1]) < size:
                            batches.pop()
                        self.assertEqual(len(loader), len(batches))
                        self.assertEqual([numpy.asarray(batch.labels).tolist() for batch in loader], batches)
        with stoker.Loader.of_folder(root, size=16, batch_size=10) as shuffled:
            self.assertEqual(sorted(numpy.asarray(next(iter(shuffled)).labels).tolist()), [label for label, _ in files])
        for keywords, text in (({"batch_size": 0}, "batch_size must be a whole number from 1 on, got 0"),
                               ({"batch_size": 2.0}, "batch_size must be a whole number"),
                               ({"num_workers": -1}, "num_workers must be a whole number from 0 on"),
                               ({"size": None}, "size must be a whole number"), ({"seed": -1}, "seed must be"),
                               ({"world": 0}, "world must be"), ({"max_held": -1}, "max_held must be")):
            with self.subTest(text), self.assertRaisesRegex(stoker.Error, text):
                stoker.Loader.of_folder(root, **keywords)
        for name, text in (("batchsize", "did you mean 'batch_size'"), ("sampler", "of_folder\\(\\) has no argument 'sampler'")):
            with self.assertRaisesRegex(TypeError, text):
                stoker.Loader.of_folder(root, **{name: 3})

    def test_answers_in_the_words_of_its_caller(self):
        flat = self.folder("./")
        for root, text in ((flat, "images without classes, and no folder of images for each class"),
                           (flat / "none", "can't be listed: No such file")):
            with self.assertRaisesRegex(stoker.Error, text) as caught:
                stoker.Loader.of_folder(root)
            self.assertEqual(caught.exception.code, 3)
            self.assertNotIn("dataset.", str(caught.exception))

    def test_takes_a_root_that_is_no_utf8(self):
        root = self.folder(".").parent / os.fsdecode(b"stoker-\xff-" + os.urandom(4).hex().encode())
        shutil.copytree(self.folder("."), root)
        self.addCleanup(shutil.rmtree, root)
        for name in (root, str(root), os.fsencode(root)):
            with stoker.Loader.of_folder(name, size=16, batch_size=2) as loader:
                self.assertEqual(len(list(loader)), 3)
        with self.assertRaisesRegex(stoker.Error, "stoker-"):
            stoker.Loader(config(storage={"data": {"type": "posix", "root": root / "none"}}))

    def test_antialias_is_pillows(self):
        root = self.folder(".", images=1)
        with stoker.Loader.of_folder(root, size=40, batch_size=2, shuffle=False, output="uint8") as loader:
            images = numpy.asarray(next(iter(loader)).images)
        for image, path in zip(images, sorted(root.glob("*/*.jpg"))):
            expected = numpy.asarray(Image.open(path).convert("RGB").resize((40, 40), Image.BILINEAR))
            self.assertLessEqual(numpy.abs(image.astype(int) - expected).max(), 4)

    def test_an_alpha_darkens_no_image_of_any_format(self):
        root = pathlib.Path(self.folder(), "in")
        (root / "a").mkdir(parents=True)
        picture = Image.new("RGBA", (16, 16), (200, 100, 50, 64))
        for name, more in (("0.png", {}), ("1.tif", {}), ("2.webp", {"lossless": True, "exact": True}), ("3.bmp", {})):
            picture.save(root / "a" / name, **more)
        with stoker.Loader.of_folder(root, size=16, batch_size=4, shuffle=False, output="uint8", num_workers=0) as loader:
            for image in numpy.asarray(next(iter(loader)).images):
                self.assertLessEqual(numpy.abs(image.astype(int) - (200, 100, 50)).max(), 2)

    def test_refuses_what_it_does_not_know(self):
        with self.assertRaisesRegex(stoker.Error, "augment must be one of None, 'flip', 'imagenet', got 'cutmix'"):
            stoker.Loader.of_folder(MINI, augment="cutmix")
        with self.assertRaisesRegex(stoker.Error, "output must be one of 'float32', 'uint8'"):
            stoker.Loader.of_folder(MINI, output="bfloat16")


if __name__ == "__main__":
    unittest.main()
