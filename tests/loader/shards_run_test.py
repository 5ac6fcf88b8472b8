#!/usr/bin/env python3
"""loader.order: shards: the same batches by every loader, format of shards and number of workers, and after a resume in the middle of a shard."""
import unittest

from stoker import LOADERS, LONG, StokerTest, configuration, flow, long, posix

FORMATS = ("tar_shards", "tfrecord", "hdf5", "lmdb")
ORDER = ("loader.order=shards", "loader.window=40", "loader.cycle_length=2", "loader.digest=true")


class Shards(StokerTest):
    CONFIG = configuration(dataset=flow(type="image_folder", storage="data", split="{train_per_class: 30, test_per_class: 5}"))

    def converted(self, format):
        """The overrides that train on it: shards of about a hundred samples."""
        done = self.json("dataset", "convert", self.config, format, "--format", format, "--shard-size", "1500k")
        self.assertGreater(done["shards"], 2)
        experiment = done["experiment"]
        tier, = experiment.get("storage", {}).values()
        return [f"storage.{experiment['dataset']['storage']}={flow(**tier)}", f"dataset={flow(**experiment['dataset'])}"]

    def digests(self, *overrides):
        self.stoker("train", self.config, *ORDER, *overrides)
        return (self.latest / "digests.csv").read_text()

    @long
    def test_loaders_formats_and_workers_give_the_same_batches(self):
        data = {format: self.converted(format) for format in (FORMATS if LONG else FORMATS[:1])}
        expected = self.digests("training.epochs=2", *data["tar_shards"], "loader.type=sync")
        self.assertGreater(expected.count("\n"), 30)
        for number, loader in enumerate((*LOADERS, "device_resident") if LONG else ("prefetched",)):
            for workers in (1, 3):
                found = self.digests("training.epochs=2", *data[FORMATS[number % len(data)]], f"loader.type={loader}",
                                     f"loader.workers={workers}")
                self.assertEqual(found, expected, (loader, workers))

    @long
    def test_small_pieces_and_little_memory_change_nothing(self):
        data = self.converted("tar_shards")
        expected = self.digests("training.epochs=2", *data)
        for options in ("block=40k", "read_ahead=1k", "readers=3"):
            self.assertEqual(self.digests("training.epochs=2", *data, f"dataset.{options}"), expected, options)

    def test_a_resume_in_the_middle_of_a_shard_goes_on(self):
        data = self.converted("lmdb")
        whole = self.digests("training.max_steps=30", *data).splitlines()
        checkpoints = [f"storage.slow={posix('sets')}", "checkpoint={type: direct, slow: slow, every_steps: 7}"]
        first = self.digests("training.max_steps=14", *data, *checkpoints).splitlines()
        rest = self.digests("training.max_steps=30", *data, *checkpoints, "checkpoint.resume=latest", "loader.type=sync")
        self.assertEqual(first, whole[:15])
        self.assertEqual(rest.splitlines()[1:], whole[15:])


if __name__ == "__main__":
    unittest.main()
