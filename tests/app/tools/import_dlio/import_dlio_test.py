"""stoker import-dlio: workloads of DLIO and MLPerf Storage become experiments that are checked and trained."""
import pathlib
import struct
import subprocess
import unittest

from stoker import BUILD, LONG, SOURCE, StokerTest, long, with_packages

with_packages("numpy", "safetensors")  # which other tests have already
import numpy  # noqa: E402  pylint: disable=wrong-import-position

HERE = pathlib.Path(__file__).parent
# Writes files as DLIO's generator does: tests/dataset/parquet_files.cpp.
FILES = BUILD / "tests/parquet_files"
# A small workload of our own making, in the words of DLIO.
SMALL = """
model: {{name: small, type: cnn}}
framework: pytorch
workflow: {{generate_data: False, train: True}}
dataset:
  data_folder: data
  format: {format}
  num_files_train: {files}
  num_samples_per_file: {each}
  record_length_bytes: 4096
  record_length_bytes_stdev: {stdev}
  record_length_bytes_resize: 1024
reader: {{data_loader: pytorch, batch_size: 2, read_threads: 2, file_shuffle: seed, sample_shuffle: seed}}
train: {{epochs: 2, computation_time: 0.002, computation_time_stdev: 0.0005}}
metric: {{au: 0.9}}
"""


class ImportDlio(StokerTest):
    def small(self, kind, files=4, each=1, stdev=0):
        path = self.dir / f"{kind}.yaml"
        path.write_text(SMALL.format(format=kind, files=files, each=each, stdev=stdev))
        return path

    def imported(self, workload, *arguments):
        """The result, and the experiment as the program reads it."""
        result = self.json("import-dlio", workload, *arguments)
        (self.dir / "imported.yaml").write_text(result["experiment"])
        return result, self.json("check", "imported.yaml")

    def test_mlperfs_trainings(self):
        result, experiment = self.imported(HERE / "unet3d_h100.yaml", "--memory", "16")
        self.assertEqual(experiment["device"]["step_ms"], 323)
        self.assertEqual(experiment["storage"]["data"], experiment["storage"]["data"] | {"type": "posix", "root": "data/unet3d"})
        self.assertEqual(experiment["dataset"]["extensions"], [".npz"])
        self.assertEqual((experiment["decoder"]["type"], experiment["decoder"]["width"]), ("numpy", 1448))
        self.assertEqual((experiment["loader"]["workers"], experiment["loader"]["batch_size"]), (4, 7))
        self.assertEqual(experiment["loader"]["prefetch_batches"], 4)
        rules = {each["rule"]: each for each in result["rules"]}
        self.assertFalse(rules["five times memory"]["kept"])
        self.assertIn("585 files are needed", rules["five times memory"]["text"])
        self.assertIn("3500 files are needed", rules["500 steps in an epoch"]["text"])
        self.assertTrue(rules["closed"]["kept"])
        self.assertTrue(any("model_size_bytes" in line for line in result["otherwise"]))
        result, _ = self.imported(HERE / "unet3d_h100.yaml", "dataset.num_files_train=3500", "reader.batch_size=4")
        rules = {each["rule"]: each for each in result["rules"]}
        self.assertIn("reader.batch_size is 4, and has to be 7", rules["closed"]["text"])
        self.assertTrue(rules["500 steps in an epoch"]["kept"])
        _, experiment = self.imported(HERE / "cosmoflow_a100.yaml", "++workload.reader.read_threads=6")
        self.assertEqual(experiment["dataset"]["type"], "tfrecord")
        self.assertEqual(experiment["dataset"]["readers"], 6)
        self.assertEqual((experiment["loader"]["order"], experiment["loader"]["window"]), ("shards", 2))

    def test_an_experiment_of_ours_is_refused(self):
        for name in ("quickstart", "checkpoint"):
            said = self.stoker("import-dlio", SOURCE / f"configs/{name}.yaml", code=2).stderr
            self.assertIn("this is an experiment of Stoker, not a workload of DLIO", said)

    def test_checkpoints_become_a_command(self):
        text = self.stoker("import-dlio", HERE / "llama3_8b.yaml").stdout
        self.assertEqual(text.strip(), "stoker bench checkpoint checkpoints/llama_8b --shape llama3-8b --rounds 10 --rank 0")
        self.assertIn("LLaMA 3", self.stoker("import-dlio", HERE / "llama3_8b.yaml", "model.num_layers=31", code=2).stderr)

    def check_data(self, kind, folder):
        """The generated files as other programs read them."""
        if kind in ("npz", "npy"):
            path = folder / "train" / f"img_1_of_4.{kind}"
            read = numpy.load(path)
            array = read["x"] if kind == "npz" else read
            self.assertEqual((array.dtype, array.ndim, array.shape[2]), (numpy.uint8, 3, 1))
            self.assertGreater(len(set(array.flatten().tolist())), 200)
            if kind == "npz":
                self.assertEqual(read["y"].tolist(), [0])
        if kind == "indexed_binary":
            path = folder / "train" / "img_0_of_2.indexed_binary"
            sizes = path.with_name(path.name + ".sz.idx").read_bytes()
            offsets = path.with_name(path.name + ".off.idx").read_bytes()
            self.assertEqual(struct.unpack("<3Q", sizes), (4096,) * 3)
            self.assertEqual(struct.unpack("<3Q", offsets), (0, 4096, 8192))
            self.assertEqual(path.stat().st_size, 3 * 4096)

    def test_each_format_is_generated_and_trained(self):
        kinds = ("npz", "tfrecord", "npy", "jpeg", "hdf5", "indexed_binary", "mmap_indexed_binary")
        for kind in kinds if LONG else kinds[:2]:
            with self.subTest(kind):
                many = kind in ("hdf5", "tfrecord", "indexed_binary", "mmap_indexed_binary")
                workload = self.small(kind, 2 if many else 4, 3 if many else 1, 0 if many else 500)
                folder = self.dir / f"of {kind}"
                result, _ = self.imported(workload, "--generate", folder)
                self.assertEqual(result["generated"]["files"], 2 if many else 4)
                self.check_data(kind, folder)
                summary = self.json("train", "imported.yaml", "training.max_steps=2")
                self.assertEqual(summary["steps"], 2)
                self.assertIn("there are files already", self.stoker("import-dlio", workload, "--generate", folder, code=3).stderr)

    def test_parquet_files_of_dlios_form_are_trained_alike_by_every_loader(self):
        (self.dir / "data/train").mkdir(parents=True)
        subprocess.run([FILES, self.dir / "data/train", "3", "40", "4096", "16"], check=True)
        workload = self.small("parquet", 3, 40)
        result, experiment = self.imported(workload, "dataset.parquet.row_group_size=16")
        self.assertEqual(experiment["dataset"]["train"], "train/*.parquet")
        self.assertEqual((experiment["loader"]["order"], experiment["loader"]["window"]), ("shards", 1024))
        self.assertTrue(any(line.startswith("dataset.format parquet: ") for line in result["otherwise"]))
        digests = set()
        how = (["sync"], ["prefetched", "loader.workers=4"], ["threaded", "dataset.keep=1"])
        for overrides in how if LONG else how[:2]:
            loader, *others = overrides
            summary = self.json("train", "imported.yaml", "loader.digest=true", f"loader.type={loader}", *others)
            self.assertEqual(summary["steps"], 2 * 60)
            digests.add((self.latest / "digests.csv").read_text())
        self.assertEqual(len(digests), 1)
        self.assertEqual(digests.pop().count("\n"), 2 * 60 + 1)

    def test_au_as_dlio_computes_it(self):
        workload = self.small("npz", 8)
        self.stoker("import-dlio", workload, "--generate", "data", "--to", "small.yaml")
        self.stoker("train", "small.yaml")
        result = self.json("import-dlio", workload, "--run", "runs")
        self.assertEqual(len(result["au"]), 2)  # one of each epoch
        for au in result["au"]:
            self.assertTrue(0 < au <= 1.001, au)
        self.assertEqual(result["target"], 0.9)
        self.assertTrue(result["verdict"] and result["page_cache"])
        text = self.stoker("import-dlio", workload, "--run", "runs").stdout
        for words in ("AU as DLIO computes it", "what bounded it", "what was cold"):
            self.assertIn(words, text)
        self.stoker("train", "small.yaml", "metrics.every_steps=2")
        self.assertIn("metrics.every_steps=1", self.stoker("import-dlio", workload, "--run", "runs", code=2).stderr)

    @long
    def test_subfolders_are_dlios(self):
        workload = self.small("hdf5", 12)
        self.imported(workload, "dataset.num_subfolders_train=2", "--generate", "data")
        self.assertTrue((self.dir / "data/train/1/img_11_of_12.hdf5").is_file())
        self.assertTrue((self.dir / "data/train/0/img_02_of_12.hdf5").is_file())
        self.assertEqual(self.json("train", "imported.yaml", "training.epochs=1")["steps"], 6)

    def test_what_cannot_be_translated_is_refused_by_name(self):
        workload = self.small("npz")
        for override, words in (("dataset.format=csv", "csv"), ("dataset.format=webp", "webp"),
                                ("dataset.num_samples_per_file=4", "num_samples_per_file"), ("storage.storage_type=s3dlio", "s3dlio"),
                                ("reader.batch_size=${n}", "interpolation"), ("reader.batch_size=4503599627370496", "reader.batch_size"),
                                ("train.epochs=many", "train.epochs"),
                                ("train.computation_time.type=odd", "computation_time")):
            with self.subTest(override):
                said = self.stoker("import-dlio", workload, override, code=2).stderr
                self.assertIn(words, said)
                self.assertIn("error: ", said)
        for kind in ("png", "parquet"):
            said = self.stoker("import-dlio", workload, f"dataset.format={kind}", "--generate", "d", code=2).stderr
            self.assertIn(f"{kind}: such files are read, and not generated", said)
        for option in ("columns=[{name: vector, size: 3}]", "partition_by=day"):
            said = self.stoker("import-dlio", workload, "dataset.format=parquet", f"dataset.parquet.{option}", code=2).stderr
            self.assertIn("dataset.parquet.columns and partition_by", said)
        self.assertEqual(list(self.dir.glob("d/*")), [])

    @long
    def test_distributions(self):
        workload = self.small("npz")
        for kind, options, step, deviation in (("gamma", "shape: 4, scale: 0.5", 2000, 0.5), ("exponential", "scale: 0.1", 100, 1),
                                               ("uniform", "min: 0, max: 0.2", 100, 0.577)):
            _, experiment = self.imported(workload, f"train.computation_time={{type: {kind}, {options}}}")
            self.assertAlmostEqual(experiment["device"]["step_ms"], step, 3)
            self.assertAlmostEqual(experiment["device"]["distribution"]["relative_stdev"], deviation, 3)

    def test_secrets_stay_where_they_are(self):
        workload = self.dir / "s3.yaml"
        workload.write_text(SMALL.format(format="npz", files=4, each=1, stdev=0).replace("data_folder: data", "data_folder: s3://ours/deep") + """
storage:
  storage_type: s3
  storage_root: ours
  storage_options:
    access_key_id: AKIAHUSH
    secret_access_key: hushhush
    endpoint_url: http://hush:hush@hush@localhost:9020
""")
        process = self.stoker("import-dlio", workload, "--to", "bucket.yaml", "reader.session_token=hush")
        text = (self.dir / "bucket.yaml").read_text()
        self.assertNotIn("hush", (process.stdout + process.stderr + text).lower())
        self.assertIn("storage.storage_options.secret_access_key: a secret", process.stderr)
        tier = self.json("check", "bucket.yaml")["storage"]["data"]
        self.assertEqual((tier["type"], tier["bucket"], tier["prefix"], tier["endpoint"]), ("s3", "ours", "deep", "http://localhost:9020"))


if __name__ == "__main__":
    unittest.main()
