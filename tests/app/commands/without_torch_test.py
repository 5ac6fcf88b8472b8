#!/usr/bin/env python3
"""The program where LibTorch and the library of the trainer are not: what works, and what the rest says."""
import subprocess
import unittest

from stoker import BUILD, StokerTest, configuration

LIGHT = ["bench", "bench_checkpoint", "checkpoint", "darshan", "data", "doctor", "emulated", "hdf5", "http", "jpeg", "lmdb", "mount", "profiler", "report", "tfrecord", "writers"]
TRAINER = ["train", "launch", "check", "environment", "headspace", "try", "sweep", "simulate", "size", "advise"]


class WithoutTorchTest(StokerTest):
    CONFIG = configuration(decoder="{type: jpeg, size: 32}", evaluation="{enabled: false}", loader="{workers: 2, batch_size: 16}")

    def setUp(self):
        super().setUp()
        self.lib = self.dir / "lib"
        (self.lib / "stoker").mkdir(parents=True)
        for name in ["libstoker_core.so", "libstoker_app.so"] + [f"stoker/stoker_{name}.so" for name in LIGHT]:
            (self.lib / name).symlink_to(BUILD / "lib" / name)

    def run_it(self, *arguments, code=0):
        return self.stoker(*arguments, code=code, env={"LD_LIBRARY_PATH": str(self.lib)})

    def test_program_and_tools_about_data_link_none(self):
        for file in [BUILD / "bin/stoker", *self.lib.glob("*.so"), *self.lib.glob("stoker/*.so")]:
            linked = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
            self.assertIn("libstdc++", linked, file)
            self.assertNotRegex(linked, r"libtorch|libc10|libstoker\.so", file)

    def test_data_are_inspected_read_and_loaded(self):
        self.assertIn("LibTorch", self.run_it("--version").stdout)
        self.assertIn('"classes"', self.run_it("dataset", "inspect", self.config, "--json").stdout)
        self.assertIn("images/s", self.run_it("bench", "read", self.config, "--page-cache", "as_is", "--threads", 1, "--repetitions", 2,
                                              "--loader").stdout)
        loaded = self.run_it("bench", "loader", self.config, "--epochs", 1, "--quick", "--json").stdout
        self.assertIn('"rates"', loaded)
        self.assertNotIn('"device"', loaded)
        self.assertIn("MB/s", self.run_it("bench", "storage", self.config, "data", "--op", "read", "--block-size", "1MiB", "--rounds", 1,
                                          "storage.data={type: memory}").stdout)

    def test_checkpoints_are_listed_measured_and_exchanged(self):
        (self.dir / "tier").mkdir()
        result = self.run_it("bench", "checkpoint", "tier", "--shape", "llama3-8b", "--scale", "1e-6", "--rounds", 1, "--json").stdout
        self.assertIn('"gib_per_s"', result)
        header = b'{"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}'
        (self.dir / "w.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"ab")
        self.run_it("checkpoint", "import", "w.safetensors", "sets")
        self.assertIn("intact", self.run_it("checkpoint", "verify", "sets").stdout)
        self.assertIn("bit-identical", self.run_it("checkpoint", "diff", "sets/step-0000000000", "w.safetensors").stdout)
        said = self.run_it("bench", "checkpoint", self.config, code=2).stderr
        self.assertIn("stoker_bench_train.so, which is not there", said)

    def test_components_and_keys_of_the_data_half_are_described(self):
        kinds = self.run_it("list").stdout
        self.assertRegex(kinds, r"(?m)^loader +.*\bprefetched\b")
        self.assertNotRegex(kinds, r"(?m)^(model|device) ")
        self.assertIn("stoker_train.so: cannot be read", kinds)
        self.assertIn("prefetch_batches", self.run_it("describe", "loader", "prefetched").stdout)
        self.assertIn("page_cache", self.run_it("describe").stdout)

    def test_a_command_that_needs_it_is_one_line_that_names_the_library(self):
        for command, library in [(["train", self.config], "stoker_train"), (["check", self.config], "stoker_train"),
                                 (["bench", "train", self.config], "stoker_bench_train"),
                                 (["headspace", self.config], "stoker_bench_train")]:
            said = self.run_it(*command, code=3).stderr
            self.assertEqual(len(said.splitlines()), 1, said)
            self.assertIn(f"is in the plug-in {self.lib}/stoker/{library}.so, which is not there: build the target {library}, or install it", said)
        said = self.run_it("bench", "loader", self.config, "loader.type=device_prefetched", code=2).stderr
        self.assertIn(f"loader 'device_prefetched' is in the plug-in {self.lib}/stoker/stoker_train.so, which is not there", said)

    def test_a_plug_in_that_needs_it_is_one_line_that_says_so(self):
        (self.lib / "stoker/stoker_train.so").symlink_to(BUILD / "lib/stoker/stoker_train.so")
        said = self.run_it("train", self.config, code=3).stderr
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertIn(f"it needs LibTorch and the library of the trainer: {self.lib}/libstoker.so: cannot open", said)

    def test_the_help_names_what_is_left_out(self):
        said = self.run_it("--help").stdout
        left_out = said[said.index("Not built here, or not usable: "):]
        for name in [*TRAINER, "bench train"]:
            self.assertIn(name, left_out)
        groups = self.run_it("bench", "--help").stdout
        self.assertRegex(groups, r"(?m)^ +loader ")
        self.assertNotRegex(groups, r"(?m)^ +train ")


if __name__ == "__main__":
    unittest.main()
