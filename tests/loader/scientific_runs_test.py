#!/usr/bin/env python3
"""Runs as of HEPCNNB and of the Climate Data Benchmark, on generated files of theirs: what h5py reads of the files, the same batches by every
loader and after a resume, and records for the study's two methods."""
import json
import unittest

from stoker import LOADERS, StokerTest, configuration, emulated, flow, long, posix, with_packages

with_packages("h5py", "numpy")
import h5py  # pylint: disable=wrong-import-position
import numpy as np  # pylint: disable=wrong-import-position

HEP = flow(type="hdf5", storage="data", images="data", labels="label", keys="''", samples="rows", access="whole", keep_shards=1)
CLIMATE = flow(type="hdf5", storage="data", train="'data-*.h5'", split="{train: 0.5, test: 0.25}", images="climate/data", labels="''",
               keys="''", target="climate/labels", samples="file", access="whole", keep_shards=4)
PLANES = "{type: planes, height: 16, width: 16}"
MAPS = ("{type: planes, height: 16, width: 24, channels: 16, select: [0, 1, 2, 10], "
        "normalise: [0, 60, -40, 40, -40, 40, 95000, 105000], target: true, classes: 3}")


class Scientific(StokerTest):
    CONFIG = configuration(dataset=HEP, decoder=PLANES, storage=flow(data=posix("hep")), metrics="{sinks: [{type: timelogger, reads: files}]}",
                           loader="{type: sync, batch_size: 20, order: local_files, digest: true}", evaluation="{enabled: false}")

    def synth(self, kind, *arguments, directory=None):
        directory = directory or kind
        return self.json("dataset", "synth", directory, "--kind", kind, "--size", 16, *arguments), self.dir / directory

    def hep(self):
        return self.synth("hep", "--samples", 6, "--per-file", 17, "--test-files", 2, "--per-test-file", 5)

    def digests(self, *overrides):
        self.stoker("train", self.config, *overrides)
        return (self.latest / "digests.csv").read_text()

    def time_log(self, run=None, *more):
        return json.loads(self.stoker("timelogger", run or self.latest, "--json", *more).stdout)

    def test_files_of_hepcnnb_are_what_h5py_reads_and_the_same_again(self):
        result, folder = self.hep()
        self.assertEqual(result["files"], 8)
        labels = []
        for name in ("train-00000.h5", "train-00005.h5", "test-00001.h5"):
            with h5py.File(folder / name) as file:
                count = 17 if name.startswith("train") else 5
                self.assertEqual(sorted(file), ["data", "label", "normweight", "psr", "weight"])
                self.assertEqual((file["data"].shape, file["data"].dtype, file["data"].chunks), ((count, 3, 16, 16), "<f4", None))
                self.assertEqual((file["label"].dtype, file["psr"].dtype), ("<i4", "<i4"))
                self.assertTrue((file["weight"][:] == 1).all() and (file["normweight"][:] == 1).all())
                self.assertTrue(np.isfinite(file["data"][:]).all() and file["data"][:].min() >= 0)
                labels += list(file["label"][:])
        self.assertEqual(set(labels), {0, 1})
        again = self.synth("hep", "--samples", 6, "--per-file", 17, "--test-files", 2, "--per-test-file", 5, directory="again")[1]
        self.assertEqual((folder / "train-00003.h5").read_bytes(), (again / "train-00003.h5").read_bytes())
        self.assertNotEqual((folder / "train-00003.h5").read_bytes(), (folder / "train-00004.h5").read_bytes())

    def test_files_of_cdb_have_one_chunk_and_say_what_is_in_it(self):
        result, folder = self.synth("climate", "--samples", 4)
        self.assertEqual(result["files"], 5)
        classes, whole = set(), []
        for path in sorted(folder.glob("data-*.h5")):
            with h5py.File(path) as file:
                group = file["climate"]
                data, labels, stats = group["data"], group["labels"][:], group["stats"][:]
                self.assertEqual((data.shape, data.dtype, data.chunks), ((16, 16, 24), "<f4", (16, 16, 24)))
                self.assertEqual((labels.shape, labels.dtype, stats.shape), ((16, 24), "<f4", (16, 4)))
                values = data[:].reshape(16, -1)
                np.testing.assert_allclose(stats[:, 0], values.min(1))
                np.testing.assert_allclose(stats[:, 1], values.max(1))
                np.testing.assert_allclose(stats[:, 2], values.mean(1, dtype="f8"), rtol=1e-4, atol=1e-3)
                np.testing.assert_allclose(stats[:, 3], values.std(1, dtype="f8"), rtol=1e-3)
                # The signal: a cyclone is low pressure, a river is moist.
                self.assertLess(data[10][labels == 1].mean(), data[10][labels == 0].mean())
                self.assertGreater(data[0][labels == 2].mean(), data[0][labels == 0].mean())
                classes |= set(labels.flatten())
                whole.append(stats)
        self.assertEqual(classes, {0, 1, 2})
        with h5py.File(folder / "stats.h5") as file:
            stats = file["climate/stats"][:]
        np.testing.assert_array_equal(stats[:, 0], np.min(whole, 0)[:, 0])
        np.testing.assert_array_equal(stats[:, 1], np.max(whole, 0)[:, 1])
        self.assertEqual((folder / "classes.txt").read_text().splitlines()[1], "tropical cyclone")

    @long
    def test_loaders_and_resumes_give_the_same_batches_of_hepcnnb(self):
        self.hep()
        for order in ("local_files", "global_files"):
            expected = self.digests("training.epochs=2", f"loader.order={order}")
            self.assertEqual(expected.count("\n"), 1 + 2 * (6 * 17 // 20))  # batches straddle files
            for loader in LOADERS[1:] if order == "global_files" else ["prefetched"]:
                found = self.digests("training.epochs=2", f"loader.order={order}", f"loader.type={loader}", "loader.workers=3")
                self.assertEqual(found, expected, (order, loader))
        checkpoints = [f"storage.slow={posix('sets')}", "checkpoint={type: direct, slow: slow, every_steps: 4}", "loader.order=global_files"]
        self.digests("training.max_steps=8", "training.epochs=2", *checkpoints)
        rest = self.digests("training.epochs=2", *checkpoints, "checkpoint.resume=latest", "loader.type=prefetched")
        self.assertEqual(rest.splitlines()[1:], expected.splitlines()[9:])

    @long
    def test_a_synchronous_run_has_nested_records_and_one_that_reads_ahead_says_so(self):
        self.hep()
        slow = f"storage.data={emulated('hep', read_latency_ms=20)}"
        self.digests("training.epochs=2", slow, "loader.order=global_files", "metrics.profile={every_steps: 4, steps: 4}")
        figures = self.time_log()
        counts = {of["description"]: of["count"] for of in figures["components"]}
        sums = {of["description"]: of["sum_s"] for of in figures["components"]}
        # Five of the six files' samples fill batches; the sixth is read for the last of them.
        self.assertEqual((counts["Load File"], counts["HDF5 File Read"], counts["Training Iteration"]), (12, 12, 10))
        nested, overlap = figures["hepcnnb"], figures["overlap"][0]
        self.assertTrue(nested["nested"])
        self.assertAlmostEqual(nested["read_s"], sums["HDF5 File Read"])
        self.assertGreater(nested["read_s"], 12 * 0.02 / 2)  # the tier gives back what a busy machine was late
        self.assertGreaterEqual(nested["training_s"], 0)
        self.assertAlmostEqual(overlap["exposed_s"], overlap["read_s"], places=3)
        self.assertGreaterEqual(overlap["waited_s"], overlap["exposed_s"] - 1e-3)
        self.assertEqual(figures["notes"], [])
        text = self.stoker("timelogger", self.latest).stdout
        self.assertIn("blocking share", text)
        self.assertIn("while no rank trained", text)
        # The trainer's thread either reads or computes, which two clocks have to agree on.
        joined = self.time_log(self.latest, "--timeline", self.latest / "profile-4.json")["joined"][0]
        self.assertEqual(joined["what"], "operators")
        self.stoker("timelogger", self.latest, "--timeline", self.latest / "profile-2.json", code=3)
        self.stoker("timelogger", self.latest, "--timeline", self.latest / "digests.csv", code=4)
        self.assertGreater(joined["read_s"], 0.02 / 2)
        self.assertLess(joined["hidden_s"], 1e-3)
        self.assertAlmostEqual(joined["exposed_s"] + joined["operations_s"] + joined["idle_s"], joined["window_s"], places=2)

        self.digests("training.epochs=2", slow, "loader.type=prefetched", "device={type: emulated, step_ms: 40}")
        ahead = self.time_log()
        self.assertGreater(ahead["overlap"][0]["hidden_s"], 0)
        self.assertTrue(any("beside the iterations" in note for note in ahead["notes"]), ahead["notes"])

    def test_a_run_of_cdb_reads_whole_files_by_a_split_of_its_own(self):
        self.synth("climate", "--samples", 12)
        cdb = [f"storage.data={emulated('climate', read_latency_ms=5)}", f"dataset={CLIMATE}", f"decoder={MAPS}", "device={type: emulated, step_ms: 5}",
               "loader={type: prefetched, batch_size: 1, order: local_window, window: 3, workers: 4, prefetch_batches: 16, digest: true}",
               "metrics.sinks=[{type: timelogger}]", "training.epochs=2"]
        expected = self.digests(*cdb)
        self.assertEqual(expected.count("\n"), 1 + 2 * 6)
        counts = {of["description"]: of["count"] for of in self.time_log()["components"]}
        self.assertGreaterEqual(counts["Time to Read Single Image"], 12)
        self.assertEqual(counts["Training Iteration"], 12)
        self.assertIn("cdb", self.time_log())
        # Parts in the place of whole files are the same samples.
        for other in ("loader.type=sync", "dataset.access=parts"):
            self.assertEqual(self.digests(*cdb, other), expected, other)


if __name__ == "__main__":
    unittest.main()
