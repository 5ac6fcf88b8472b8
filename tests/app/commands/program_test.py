"""The program as a user meets it: commands, files it leaves, exit codes."""
import io
import json
import os
import pathlib
import shutil
import signal
import tarfile
import unittest

from stoker import LOADERS, LONG, MINI, StokerTest, configuration, long, read_summary


class Program(StokerTest):
    CONFIG = configuration(
        device="{type: emulated, step_ms: 1}",
        decoder="{type: jpeg, size: 64, augment: {random_resized_crop: {}, flip: true}}",
        loader="{type: prefetched, batch_size: 16, workers: 2, digest: true}",
        training="{epochs: 2, deterministic: true}", metrics="{every_steps: 1}")

    def corrupt_copy(self, damage):
        data = self.dir / "data"
        shutil.copytree(MINI, data, ignore=shutil.ignore_patterns("README.md"))
        for name, content in damage.items():
            (data / name).write_bytes(content)
        return f"storage.data.root={data}"


class Training(Program):
    def test_four_loaders_write_the_same_digests_and_close_the_ledger(self):
        digests = {}
        for loader in LOADERS:
            summary, run = self.train(f"loader.type={loader}")
            digests[loader] = (run / "digests.csv").read_text()
            self.assertEqual(summary["status"], "completed")
            self.assertEqual(summary["steps"], 36)
            self.assert_ledger_closes(summary)
            self.assertTrue(summary["device"]["emulated"])
        self.assertEqual(len(set(digests.values())), 1)
        self.assertEqual(len(digests["sync"].splitlines()), 1 + 36)

    @long
    def test_samples_that_stay_on_the_device_are_the_same_as_those_decoded_anew(self):
        runs = {}
        for loader in ["sync", "device_resident"]:
            summary, run = self.train(f"loader.type={loader}", "device={type: cpu}",
                                      "decoder.augment={}", "training.max_steps=40")
            runs[loader] = (run / "digests.csv").read_text(), summary["loss"]
        self.assertEqual(runs["sync"], runs["device_resident"])

    def test_samples_that_stay_on_the_device_cannot_be_augmented(self):
        done = self.stoker("check", self.config, "loader.type=device_resident", code=2)
        self.assertIn("trial.yaml:5:10: 'decoder' must not augment where loader.type is "
                      "device_resident", done.stderr)
        done = self.stoker("check", self.config, "loader.type=device_resident", "decoder.augment={}",
                           "decoder.on_device=resize", code=2)
        self.assertIn("(on_device)", done.stderr)

    def test_a_run_leaves_its_files_and_can_be_repeated_from_them(self):
        summary, run = self.train("run.name=first")
        for name in ["config.yaml", "overrides", "environment.json", "steps.csv", "summary.json",
                     "digests.csv", "log.txt"]:
            self.assertTrue((run / name).exists(), name)
        self.assertEqual((run / "overrides").read_text(), "run.name=first\n")
        written = read_summary(run)
        self.assertEqual(written["schema_version"], 2)
        self.assertEqual(written["steps"], summary["steps"])
        environment = json.loads((run / "environment.json").read_text())
        for key in ["libtorch", "compiler", "revision", "kernel", "file_system", "cpu", "device"]:
            self.assertTrue(environment[key], key)
        self.assertEqual(len((run / "steps.csv").read_text().splitlines()), 1 + 36)
        self.assertEqual(self.latest, run.resolve())
        again = self.json("train", run / "config.yaml")
        self.assertNotEqual(again["run_directory"], summary["run_directory"])
        self.assertEqual(again["config_hash"], summary["config_hash"])
        self.assertEqual((self.dir / again["run_directory"] / "digests.csv").read_text(),
                         (run / "digests.csv").read_text())

    @long
    def test_losses_repeat_on_the_cpu_whatever_the_loader(self):
        self.config.write_text(self.config.read_text().replace(
            "{type: emulated, step_ms: 1}", "{type: cpu}"))
        losses = []
        for loader in ["sync", "prefetched", "prefetched"]:
            _, run = self.train(f"loader.type={loader}")
            rows = [line.split(",") for line in (run / "steps.csv").read_text().splitlines()]
            losses.append([row[rows[0].index("loss")] for row in rows[1:]])
        self.assertEqual(len(losses[0]), 36)
        self.assertTrue(all(losses[0]))
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(losses[1], losses[2])
        summary = read_summary(run)
        last = summary["evaluations"][-1]
        self.assertEqual(last["samples"], 50)
        self.assertAlmostEqual(last["chance"], 0.1)
        self.assertAlmostEqual(last["largest_class"], 0.1)
        self.assert_ledger_closes(summary)

    @long
    def test_losses_are_the_same_whoever_decodes_resizes_and_normalises(self):
        losses = []
        for option in ["output=uint8", "output=float32", "on_device=resize", "on_device=decode"]:
            _, run = self.train("device={type: cpu}", "training.max_steps=6",
                                "evaluation.enabled=false", f"decoder.{option}")
            rows = [line.split(",") for line in (run / "steps.csv").read_text().splitlines()]
            losses.append([row[rows[0].index("loss")] for row in rows[1:]])
        self.assertEqual(len(losses[0]), 6)
        self.assertEqual(losses, losses[:1] * 4)

    @long
    def test_frames_have_the_same_digests_from_every_loader(self):
        for on_device in ["resize", "decode"]:
            digests = set()
            for loader in LOADERS:
                _, run = self.train(f"loader.type={loader}", f"decoder.on_device={on_device}", "training.max_steps=6")
                digests.add((run / "digests.csv").read_text())
            self.assertEqual(len(digests), 1)

    def test_an_emulated_run_says_so_everywhere(self):
        done = self.stoker("train", self.config)
        self.assertIn("EMULATED", done.stdout)
        steps = [line for line in done.stderr.splitlines() if "step " in line]
        self.assertEqual(len(steps), 36)
        for line in steps:
            self.assertIn("(emulated device)", line)
        self.assertNotIn("\x1b", done.stderr)

    def test_quiet_prints_nothing(self):
        done = self.stoker("train", self.config, "--quiet")
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def stop_with(self, number, code):
        process = self.start("train", self.config, "training.epochs=100000")
        process.until(lambda: (self.latest / "steps.csv").exists())
        process.send(number)
        self.assertEqual(process.wait(), code, process.output + process.log)
        summary = read_summary(self.latest)
        self.assertEqual(summary["status"], "stopped")
        self.assertEqual(summary["exit_code"], code)
        self.assert_ledger_closes(summary)

    def test_sigterm_finishes_the_step_and_exits_75(self):
        self.stop_with(signal.SIGTERM, 75)

    def test_sigint_finishes_the_step_and_exits_130(self):
        self.stop_with(signal.SIGINT, 130)


class BadData(Program):
    def test_bad_files_are_replaced_in_the_same_way_by_every_loader(self):
        whole = (MINI / "airplanes" / os.listdir(MINI / "airplanes")[0]).read_bytes()
        root = self.corrupt_copy({"airplanes/a_cut.jpg": whole[:len(whole) // 2],
                                  "bonsai/b_empty.jpg": b"", "watch/w_text.jpg": b"hello"})
        seen = {}
        for loader in LOADERS:
            summary, run = self.train(root, f"loader.type={loader}", "dataset.split={}",
                                      "dataset.on_error={policy: skip, budget: 1%}",
                                      "training.epochs=1", "loader.drop_last=false")
            seen[loader] = ((run / "digests.csv").read_text(), (run / "skipped.csv").read_text())
            self.assertEqual(summary["skipped"],
                             {"empty": 1, "not_an_image": 1, "truncated": 1})
        self.assertEqual(len(set(seen.values())), 1)

    def test_beyond_the_budget_the_run_ends_with_exit_code_4_and_names_the_files(self):
        root = self.corrupt_copy({"airplanes/a_empty.jpg": b"", "bonsai/b_empty.jpg": b""})
        done = self.stoker("train", self.config, root, "dataset.split={}",
                           "dataset.on_error={policy: skip, budget: 1}", code=4)
        self.assertIn("error: dataset: 2 bad samples, more than dataset.on_error.budget allows (1)",
                      done.stderr)
        self.assertIn("airplanes/a_empty.jpg: empty", done.stderr)
        self.assertIn("bonsai/b_empty.jpg: empty", done.stderr)
        summary = read_summary(self.latest)
        self.assertEqual(summary["status"], "failed")
        self.assertEqual(summary["exit_code"], 4)
        self.assertEqual(summary["verdict"]["level"], "failed")

    def test_the_default_is_to_stop_at_the_first(self):
        root = self.corrupt_copy({"airplanes/a_empty.jpg": b""})
        done = self.stoker("train", self.config, root, "dataset.split={}", code=4)
        self.assertIn("error: dataset: airplanes/a_empty.jpg: empty", done.stderr)

    def test_a_missing_folder_is_an_error_of_the_environment(self):
        done = self.stoker("train", self.config, "storage.data.root=no/such/folder", code=3)
        self.assertIn("no/such/folder", done.stderr)

    def test_a_batch_larger_than_the_data_set_is_an_error_of_the_configuration(self):
        done = self.stoker("train", self.config, "loader.batch_size=301", code=2)
        self.assertIn("error: loader: batch_size 301 is larger than the 300 training samples",
                      done.stderr)

    def test_cuda_without_a_driver_is_an_error_of_the_device(self):
        if os.path.exists("/dev/nvidia0"):
            self.train("device={type: cuda}", "training.max_steps=2")
            return
        done = self.stoker("train", self.config, "device={type: cuda}", code=6)
        self.assertIn("error: device: cuda: no CUDA driver here", done.stderr)


class Commands(Program):
    def test_check_touches_no_data_and_prints_every_default(self):
        done = self.stoker("check", self.config, "storage.data.root=no/such/folder")
        self.assertIn("prefetch_batches: 2", done.stdout)
        self.assertFalse((self.dir / "runs").exists())
        parsed = self.json("check", self.config)
        self.assertEqual(parsed["loader"]["batch_size"], 16)
        resolved = self.dir / "resolved.yaml"
        resolved.write_text(done.stdout)
        self.assertEqual(self.stoker("check", resolved).stdout, done.stdout)

    def test_check_finds_what_is_wrong(self):
        done = self.stoker("check", self.config, "loader.worker=3", code=2)
        self.assertIn("loader: unknown key 'worker' (did you mean 'workers'?)", done.stderr)
        self.assertIn("no_such.yaml: there is no 'no_such.yaml' in .",
                      self.stoker("check", "no_such.yaml", code=3).stderr)

    def test_list_and_describe(self):
        kinds = self.json("list")
        self.assertEqual(kinds["loader"], sorted([*LOADERS, "device_resident", "lmdbio"]))
        self.assertLessEqual({"memory", "posix"}, set(kinds["storage"]))
        self.assertLessEqual({"image_folder", "synthetic"}, set(kinds["dataset"]))
        self.assertLessEqual({"cpu", "cuda", "emulated"}, set(kinds["device"]))
        self.assertLessEqual({"alexnet", "alexnet_lrn", "resnet18", "linear"}, set(kinds["model"]))
        self.assertIn("did you mean 'prefetched'?",
                      self.stoker("describe", "loader", "prefetchd", code=2).stderr)

    @long
    def test_a_type_is_described_without_its_kind(self):
        self.assertEqual(self.stoker("describe", "prefetched").stdout, self.stoker("describe", "loader", "prefetched").stdout)
        # A tier and a device.
        self.assertEqual(self.json("describe", "emulated"), {kind: self.json("describe", kind, "emulated") for kind in ("storage", "device")})
        self.assertIn("error: 'prefetchd' is neither a kind nor a type (did you mean 'prefetched'?)",
                      self.stoker("describe", "prefetchd", code=2).stderr)
        self.assertIn("(known: storage, ", self.stoker("describe", "zzzzzz", code=2).stderr)
        text = self.stoker("describe").stdout
        self.assertIn(" list of a path; default", text)
        for line in text.splitlines()[1:]:
            self.assertTrue(line.startswith("  "), line)

    def test_environment_says_of_each_part_whether_it_works_or_why_not(self):
        said = self.json("environment")
        self.assertIn(said["cpu"]["cores"], range(1, len(os.sched_getaffinity(0)) + 1))
        parts = {part["name"]: part for part in said["parts"]}
        self.assertEqual(list(parts), ["driver", "libtorch_cuda", "stoker_cuda", "stoker_nccl",
                                       "nvjpeg", "stoker_opencv", "stoker_hdf5", "stoker_parquet", "io_uring", "fuse", "cpu_bf16"])
        self.assertTrue(parts["stoker_opencv"]["works"] and parts["stoker_parquet"]["works"])
        text = self.stoker("environment").stdout
        for part in said["parts"]:
            self.assertIn(part["detail"], text)
        driver = parts["driver"]["works"]
        self.assertEqual(driver, os.path.exists("/dev/nvidia0"))
        self.assertEqual(len(said["gpus"]) > 0, driver)
        if not driver:
            self.assertIn("libcuda.so.1", parts["driver"]["detail"])
            self.assertFalse(parts["libtorch_cuda"]["works"])
            self.assertIn("needs", parts["nvjpeg"]["detail"])

    @long
    def test_bf16_is_warned_of_where_the_cpu_computes_it_slowly(self):
        fast = {part["name"]: part["works"] for part in self.json("environment")["parts"]}["cpu_bf16"]
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            self.assertEqual(fast, "avx512bw" in file.read())
        options = ["model.type=linear", "training.max_steps=1", "training.precision=bf16"]
        for device, warns in [("{type: cpu}", not fast), ("{type: emulated, step_ms: 1}", False)]:
            said = self.stoker("train", self.config, f"device={device}", *options).stderr
            self.assertEqual("no fast bf16" in said, warns, device)

    def test_version_and_help(self):
        version = self.stoker("--version").stdout
        for word in ["stoker ", "LibTorch 2.", "revision "]:
            self.assertIn(word, version)
        self.assertEqual(self.stoker("version").stdout, version)
        self.assertIn("Exit codes: stoker help exit-codes\nStart with: ", self.stoker("--help").stdout)
        codes = self.stoker("help", "exit-codes").stdout
        for code in (0, 2, 3, 4, 5, 6, 7, 70, 75, 130, 141):
            self.assertRegex(codes, rf"(?m)^ *{code}  \w")
        self.assertEqual(self.stoker("help").stdout, self.stoker("--help").stdout)
        for command in (["train"], ["bench", "read"], ["help"]):
            text = self.stoker("help", *command).stdout
            self.assertEqual(text, self.stoker(*command, "--help").stdout)
            self.assertEqual(text.splitlines()[-1], "Exit codes: stoker help exit-codes")
        self.assertIn("unknown command 'trian' (did you mean 'train'?)", self.stoker("help", "trian", code=2).stderr)
        self.assertEqual(self.stoker("train", code=2).stderr, "error: CONFIG is required: see `stoker train --help`\n")
        commands = [["train"], ["check"], ["list"], ["describe"], ["dataset"], ["bench"],
                    ["dataset", "fetch"], ["dataset", "inspect"], ["dataset", "synth"],
                    ["bench", "loader"], ["bench", "decode"], ["bench", "storage"]]
        for command in commands if LONG else commands[-1:]:
            self.assertIn("--help", self.stoker(*command, "--help").stdout)
        self.stoker("no-such-command", code=2)
        self.stoker(code=2)

    def test_bench_loader_and_decode(self):
        result = self.json("bench", "loader", self.config, "--epochs", 2)
        self.assertEqual(result["images"], 288)
        self.assertEqual(len(result["rates"]), 2)
        self.assertGreater(result["images_per_s"]["min"], 0)
        rows = self.json("bench", "decode", self.config, "--samples", 50, "--rounds", 2)
        self.assertEqual([row["decoder"] for row in rows], ["jpeg"])
        self.assertGreater(rows[0]["us_per_image"]["min"], 0)
        # A decoder that has not all options of the experiment's.
        rows = self.json("bench", "decode", self.config, "--samples", 5, "--rounds", 1, "--versus", "opencv", "--versus", "bytes")
        self.assertEqual([row["decoder"] for row in rows], ["jpeg", "opencv", "bytes"])

    def test_bench_read_takes_the_same_files_by_bare_reads_and_by_a_pipeline(self):
        rows = {}
        for how in [(), ("--pipeline",)]:
            result = self.json("bench", "read", self.config, "--threads=1,2", "--batch=10", "--batches=4",
                               "--repetitions=2", "--page-cache=as_is", *how)
            self.assertEqual(result["pipeline"], bool(how))
            self.assertEqual([row["threads"] for row in result["results"]], [1, 2])
            rows[how] = [(row["images"], row["bytes"], row["bad_samples"]) for row in result["results"]]
        self.assertEqual(rows[()], rows[("--pipeline",)])
        self.assertEqual(rows[()][0][0], 40)
        whole = self.json("bench", "read", self.config, "--threads=2", "--stages=resize", "--pipeline",
                          "--repetitions=2", "--page-cache=as_is")
        self.assertEqual(whole["results"][0]["images"], 300)
        for how in ("--pipeline", "--loader"):
            done = self.stoker("bench", "read", self.config, "--stages=decode", how, code=2)
            self.assertIn("--stages read or resize", done.stderr)
        done = self.stoker("bench", "read", self.config, "--loader", "--pipeline", code=2)
        self.assertIn("leave one out", done.stderr)

    def test_bench_read_by_the_configured_loader_reads_shards_by_large_requests(self):
        shards = self.dir / "shards"
        shards.mkdir()
        images = sorted(pathlib.Path(MINI).rglob("*.jpg"))
        size = 0
        for shard in range(3):
            with tarfile.open(shards / f"train-{shard}.tar", "w") as tar:
                for number, image in enumerate(images[shard::3]):
                    tar.add(image, f"{shard}-{number:05}.jpg")
                    label = tarfile.TarInfo(f"{shard}-{number:05}.cls")
                    label.size = 1
                    tar.addfile(label, io.BytesIO(b"0"))
            size += (shards / f"train-{shard}.tar").stat().st_size
        what = [f"storage.data.root={shards}", "dataset={type: tar_shards, storage: data}"]
        rows = {}
        for order in ("permutation", "shards"):
            result = self.json("bench", "read", self.config, *what, f"loader.order={order}", "--loader", "--threads=2",
                               "--batch=32", "--repetitions=3", "--page-cache=as_is")
            self.assertTrue(result["loader"])
            rows[order] = result["results"][0]
            self.assertEqual(rows[order]["images"], len(images))
            # Looked at, and so found: the files are the shards.
            self.assertIn("resident_before", rows[order]["repetitions"][0])
        self.assertAlmostEqual(rows["permutation"]["requests_per_image"]["median"], 1, delta=0.5)
        self.assertLess(rows["shards"]["requests_per_image"]["median"], 0.2)
        # At least the images; at most, with what is read ahead of so few, a few epochs.
        for row in rows.values():
            self.assertGreaterEqual(row["tier_bytes_per_image"]["median"], 0.9 * row["bytes"] / len(images))
            self.assertLess(row["tier_bytes_per_image"]["median"], 5 * size / len(images))

    def test_bench_loader_dumps_no_frames(self):
        done = self.stoker("bench", "loader", self.config, "--dump", self.dir / "x.npy", "decoder.on_device=resize",
                           code=2)
        self.assertIn("decoder.on_device=nothing", done.stderr)
        self.assertFalse((self.dir / "x.npy").exists())
        result = self.json("bench", "loader", self.config, "--quick", "--epochs=1", "decoder.on_device=resize")
        self.assertEqual((result["layout"], result["shape"]), ("frames", []))
        self.assertNotIn("mean", result)

    @long
    def test_bench_train_needs_a_device_that_computes(self):
        for how in [[], ["--bare"]]:
            done = self.stoker("bench", "train", self.config, "--rounds=1", "--steps=1", *how, code=2)
            self.assertIn("emulated", done.stderr)
            self.stoker("bench", "train", self.config, "device={type: auto}", "model={type: linear}", "--rounds=1",
                        "--steps=1", "--warm-up=0", *how)

    def test_bench_loader_scaling(self):
        cores = len(os.sched_getaffinity(0))
        command = ["bench", "loader", self.config, "--epochs", 2, "--scaling", f"{cores + 1},1"]
        result = self.json(*command)
        self.assertEqual(result["order"], "exact")
        self.assertLessEqual(result["cores"], cores)  # less by a CPU quota
        one, many = result["rows"]
        self.assertEqual([one["workers"], many["workers"]], [1, cores + 1])
        self.assertEqual(one["efficiency"], 1)
        self.assertNotIn("efficiency", many)
        self.assertEqual(many["note"], "more workers than cores")
        # A digest of the warm-up and of each round; every epoch is another one.
        self.assertEqual(one["order"], many["order"])
        self.assertEqual(len(set(one["order"])), 3)
        text = self.stoker(*command).stdout
        self.assertIn("order: exact", text)
        self.assertEqual(text.count("more workers than cores"), 1)
        self.assertIn("sync has none", self.stoker(*command, "loader.type=sync", code=2).stderr)

    def test_dataset_inspect_and_synth(self):
        made = self.dir / "made"
        self.stoker("dataset", "synth", made, "--samples", 20, "--classes", 4, "--median-bytes", "8KiB")
        self.assertEqual(len(list(made.glob("*/*.jpg"))), 20)
        (next(made.iterdir()) / "bad.jpg").write_bytes(b"no image")
        result = self.json("dataset", "inspect", self.config, f"storage.data.root={made}", "dataset.split={}")
        self.assertEqual(sum(c["train"] + c["test"] for c in result["classes"]), 21)
        self.assertEqual(len(result["unreadable"]), 1)


if __name__ == "__main__":
    unittest.main()
