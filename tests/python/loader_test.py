#!/usr/bin/env python3
"""stoker.Loader: epochs, positions, ranks, splits, errors, and of_folder."""
import json
import logging
import pathlib
import pickle
import shutil
import tempfile
import unittest

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
        self.assertEqual(state, {"epoch": 0, "batch": 5, "seed": 3, "batch_size": 16, "samples": 300,
                                 "skipped": {"by_reason": {}, "samples": {}}, "tolerated": 0})
        for overrides in (["loader.workers=1"], ["loader.workers=4"], ["loader.type=sync"], ["loader.type=threaded"]):
            with stoker.Loader(config(), overrides) as other:
                other.load_state_dict(state)
                self.assertEqual(other.state_dict(), state)
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
            with self.assertRaises(stoker.Error) as caught:
                loader.load_state_dict({**loader.state_dict(), "batch": 2, "seed": 4})
            self.assertEqual(caught.exception.code, 2)
            self.assertIn("of seed 4, and this one has 3", str(caught.exception))
            loader.load_state_dict({**loader.state_dict(), "epoch": 5, "seed": 4})
            self.assertEqual(next(iter(loader)).epoch, 5)
        with stoker.Loader(config(), ["loader.order=local_files"], world=2) as loader:
            with self.assertRaisesRegex(stoker.Error, "of world 1, and this one has 2"):
                loader.load_state_dict({**loader.state_dict(), "batch": 2, "world": 1})

    def test_two_ranks_make_up_the_whole_batch(self):
        parts = []
        for rank in range(2):
            with stoker.Loader(config(), rank=rank, world=2) as loader:
                parts.append([(batch.size, batch.whole, batch.digests) for batch in loader])
        with stoker.Loader(config()) as loader:
            whole = [batch.digests for batch in loader]
        self.assertEqual([a[2] + b[2] for a, b in zip(*parts)], whole)
        self.assertEqual(parts[0][0][:2], (8, 16))
        with self.assertRaisesRegex(stoker.Error, "rank 2 of 2 ranks"):
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

    def test_refuses_what_it_does_not_know(self):
        with self.assertRaisesRegex(stoker.Error, "augment must be None, flip or imagenet, got 'cutmix'"):
            stoker.Loader.of_folder(MINI, augment="cutmix")
        with self.assertRaisesRegex(stoker.Error, "'output' must be"):
            stoker.Loader.of_folder(MINI, output="bfloat16")


if __name__ == "__main__":
    unittest.main()
