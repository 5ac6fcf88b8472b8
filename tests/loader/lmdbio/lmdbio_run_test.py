#!/usr/bin/env python3
"""loader.type: lmdbio in a training of two ranks: the batches of one process, and errors that say what to do."""
import unittest

from stoker import LONG, MINI, StokerTest, configuration, emulated, flow, long, posix, read_summary

READERS = ("lmdb", "lmm", "lmm_dm", "lmm_dio", "prov", "coal", "stag", "indexed") if LONG else ("lmm", "indexed")


class Lmdbio(StokerTest):
    CONFIG = configuration(
        dataset=flow(type="image_folder", storage="data", split="{train_per_class: 10, test_per_class: 5}"),
        loader="{batch_size: 16, shuffle: false, digest: true}", training="{epochs: 2, threads: 1}", distributed="{timeout: 20s}")

    def converted(self):
        """The overrides that train on one database."""
        done = self.json("dataset", "convert", self.config, "train", "--format", "lmdb")
        tier, = done["experiment"].get("storage", {}).values()
        return [f"storage.{done['experiment']['dataset']['storage']}={flow(**tier)}", f"dataset={flow(**done['experiment']['dataset'])}"], tier

    def digests(self, *arguments):
        self.stoker(*arguments)
        return (self.latest / "digests.csv").read_text()

    def test_two_ranks_train_on_the_batches_of_one_process(self):
        data, _ = self.converted()
        expected = self.digests("train", self.config, *data, "loader.type=sync")
        self.assertGreater(expected.count("\n"), 10)
        for number, reader in enumerate(READERS):
            found = self.digests("launch", "--ranks", 2, self.config, *data, "loader.type=lmdbio", f"loader.reader={reader}",
                                 "loader.coalesce=1", f"loader.node_size={1 + number % 2}")
            self.assertEqual(found, expected, reader)
        summary = read_summary(self.latest)
        self.assertGreater(summary["evaluations"][0]["samples"], 0)

    @long
    def test_a_mapped_reader_is_refused_where_its_reads_would_not_be_seen(self):
        data, tier = self.converted()
        slow = emulated(tier["root"])
        name = data[0].split("=")[0]
        done = self.stoker("check", self.config, *data[1:], f"{name}={slow}", "loader.type=lmdbio", "loader.reader=lmm_dm", code=2)
        self.assertIn("must not map files (loader.reader: lmm_dm)", done.stderr)
        self.assertIn("stoker mount", done.stderr)
        self.stoker("check", self.config, *data[1:], f"{name}={slow}", "loader.type=lmdbio", "loader.reader=lmm_dio")

    def test_other_data_sets_are_refused(self):
        done = self.stoker("train", self.config, f"storage.data={posix(MINI)}", "loader.type=lmdbio", code=2)
        self.assertIn("set dataset.type=lmdb", done.stderr)


if __name__ == "__main__":
    unittest.main()
