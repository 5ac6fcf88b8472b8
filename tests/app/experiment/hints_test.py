"""What the program says of slips, as a user meets it. mutation_test.cpp tries every word of every configuration."""
import unittest

from stoker import LONG, SOURCE, StokerTest, posix

SWEEP = """name: trial
base:
  storage: {data: {type: memory}}
  dataset: {type: image_folder, storage: data}
  loader: {type: sync, batch_siz: 3}
matrix:
  loader.workers: [1, 2]
"""


class Hints(StokerTest):
    def refused(self, *words, code=2):
        """The message, which is all that there is."""
        done = self.stoker(*words, code=code)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Aerror: [^\n]+\n\Z")
        return done.stderr[len("error: "):-1]

    def test_a_hint_is_on_a_line_of_its_own(self):
        process = self.start("check", self.config, "device.type=gpu")
        self.assertEqual(process.wait(), 2)
        self.assertEqual(process.text(1), "error: override 'device.type=gpu': device: unknown device 'gpu'\nhint: did you mean 'cuda'?\n")
        process = self.start("sweep", self.config)
        process.wait()
        self.assertIn("and no sweep\nhint: run it by `stoker train ", process.text(1))

    def write(self, text):
        self.config.write_text(text)
        return self.config

    def test_an_error_in_the_base_of_a_sweep_is_at_its_own_line(self):
        config = self.write(SWEEP)
        self.assertEqual(self.refused("sweep", config, "--check"),
                         f"{config}:5:24: loader: unknown key 'batch_siz' (did you mean 'batch_size'?) "
                         "(in the cell loader.workers=1)")

    def test_an_error_of_a_setting_of_a_sweep_is_at_its_own_line(self):
        config = self.write(SWEEP.replace("batch_siz:", "batch_size:").replace("2]", "two]"))
        self.assertEqual(self.refused("sweep", config, "--check"),
                         f"{config}:7:23: override 'loader.workers=two': loader: 'workers' must be auto or a number "
                         "from 1 to 1024, got 'two' (in the cell loader.workers=two)")
        config.write_text(SWEEP.replace("batch_siz:", "batch_size:") + "  seed: {a: [run.sede=1]}\n")
        self.assertEqual(self.refused("sweep", config, "--check"),
                         f"{config}:8:14: override 'run.sede=1': run: unknown key 'sede' (did you mean 'seed'?) "
                         "(in the cell loader.workers=1 seed=a)")

    def test_a_sweep_is_no_experiment_and_an_experiment_no_sweep(self):
        sweep = SOURCE / "configs/paper/fig-trace.yaml"
        for command in ("check", "train", ("bench", "read")):
            words = (command,) if isinstance(command, str) else command
            self.assertEqual(self.refused(*words, sweep),
                             f"{sweep}: this is a sweep, and no experiment: check it by `stoker sweep {sweep} --check`, "
                             f"run it by `stoker sweep {sweep}`")
        self.assertEqual(self.refused("sweep", self.config),
                         f"{self.config}: this is an experiment, and no sweep: run it by `stoker train {self.config}`, "
                         "name it as the base of a sweep, or give an axis with its values, as in "
                         f"`stoker sweep {self.config} loader.workers=1,2,4`")

    def test_a_component_of_a_plug_in_needs_no_path(self):
        self.assertEqual(self.json("check", self.config, "decoder.type=opencv")["decoder"]["type"], "opencv")
        self.stoker("describe", "decoder", "opencv")
        self.assertIn("did you mean 'opencv'", self.refused("check", self.config, "decoder={type: opencvv}"))

    def test_words_of_other_programs_are_understood(self):
        words = [("device.type=gpu", "cuda"), ("loader.type=async", "prefetched"),
                 ("loader.num_workers=2", "workers"), ("loader.num_parallel_calls=2", "workers"),
                 ("loader.prefetch=2", "prefetch_batches"), ("loader.batch=2", "batch_size"),
                 ("optimizer.learning_rate=1", "lr"), ("training.precision=bfloat16", "bf16")]
        for word, meant in words if LONG else words[:2]:
            with self.subTest(word):
                self.assertIn(f"(did you mean '{meant}'?)", self.refused("check", self.config, word))

    def test_an_unknown_key_names_the_type_that_has_it(self):
        config = self.write(self.CONFIG.replace("device: {type: cpu}", "device: {type: cpu, step_ms: 3}"))
        self.assertIn("unknown key 'step_ms' (the device type 'emulated' has it)", self.refused("check", config))

    def test_a_list_that_is_not_in_the_file_is_set_as_a_whole(self):
        self.assertIn("set all of it, such as metrics.sinks=[{type: csv}]",
                      self.refused("check", self.config, "metrics.sinks.0.type=csv"))

    def test_tiers_and_checkpoints_need_no_data_set(self):
        (self.dir / "disk").mkdir()
        config = self.write(f"storage: {{disk: {posix(self.dir / 'disk')}}}\n"
                            "checkpoint: {type: direct, slow: disk, directory: sets}\n")
        self.stoker("bench", "storage", config, "disk", "--threads=1", "--block-size=64KiB", "--transfer-size=64KiB",
                    "--rounds=1")
        self.stoker("checkpoint", "list", config)
        self.assertEqual(self.refused("check", config), f"{config}:1:1: missing key 'dataset'")
        self.assertIn("2:1: unknown key 'chekpoint' (did you mean 'checkpoint'?)", self.refused(
            "bench", "storage", self.write(config.read_text().replace("checkpoint", "chekpoint")), "disk"))

    def test_an_option_of_a_default_needs_no_type(self):
        self.assertNotIn("optimizer", self.CONFIG)
        self.assertEqual(self.json("check", self.config, "optimizer.lr=0.125")["optimizer"],
                         {"type": "sgd", "lr": 0.125, "momentum": 0, "dampening": 0, "weight_decay": 0,
                          "nesterov": False})
        self.assertEqual(self.refused("check", self.config, "optimizer.beta1=0.5"),
                         "override 'optimizer.beta1=0.5': optimizer: unknown key 'beta1' (the optimizer types "
                         "'adam', 'adamw' have it)")

    def test_a_slip_in_a_word_of_the_command_line(self):
        self.assertEqual(self.refused("trian", self.config), "unknown command 'trian' (did you mean 'train'?)")
        self.assertEqual(self.refused("train", self.config, "--quite"),
                         "unknown option '--quite' (did you mean '--quiet'?)")
        self.assertEqual(self.refused("train", self.config, "--workers", "4"),
                         "unknown option '--workers' (give loader.workers=4)")
        self.assertEqual(self.refused("train", self.config, "--batch-size=8"),
                         "unknown option '--batch-size' (give loader.batch_size=8)")
        self.assertIn("--run DIRECTORY", self.refused("simulate", "machine.nodes=2"))
        self.assertRegex(self.refused("describe", "storage", "thrott"), r"known: .*\)[:;] name a plug-in that has it by --plugin")
        (self.dir / "configs").mkdir()
        self.assertEqual(self.refused("train", "config/quickstart.yaml", code=3),
                         "config/quickstart.yaml: there is no 'config' in . (did you mean 'configs'?)")
        self.assertIn("there is no 'quikstart' in .", self.refused("check", "quikstart", code=3))
        self.assertEqual(self.refused("check", self.config, "loader"), "override 'loader': must look like a.b=value")
        self.assertEqual(self.refused("check", self.config, "storage.dta.root=x"),
                         "override 'storage.dta.root=x': storage.dta: it does not exist (did you mean 'data'?); to "
                         "define it, give 'type'")


if __name__ == "__main__":
    unittest.main()
