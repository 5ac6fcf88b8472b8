"""stoker checkpoint list, checkpoint verify and bench checkpoint, as a user meets them."""
import json
import os
import pathlib
import shutil
import signal
import unittest

from checkpointed_run import TIERS, TwelveSteps, slowed
from stoker import LONG, Process, long

DAMAGED = 5


def flip(path, at, bit=0):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ (1 << bit)]))


class Commands(TwelveSteps):
    def rows(self, *arguments, code=0):
        return json.loads(self.trial.stoker("checkpoint", *arguments, "--json", code=code).stdout)

    def data_file(self, tier, step):
        return self.trial.set_path(tier, step) / "state.safetensors"

    def place_of(self, tensor, step=10):
        """(offset in the file, bytes) of a tensor."""
        manifest = json.loads((self.trial.set_path("slow", step) / "MANIFEST.json").read_text())
        entry = next(entry for entry in manifest["tensors"] if entry["name"] == tensor)
        return entry["pieces"][0]["offset"], entry["bytes"]


class List(Commands):
    def test_a_configuration_lists_every_tier(self):
        rows = self.rows("list", self.trial.config)
        self.assertEqual([(row["tier"], row["step"]) for row in rows],
                         [(tier, step) for tier in TIERS for step in (5, 10, 12)])
        for row in rows:
            path = self.trial.dir / row["path"]
            self.assertEqual(row["state"], "committed")
            self.assertEqual(row["bytes"], sum(file.stat().st_size for file in path.iterdir()))
            self.assertRegex(row["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertGreater(row["age_s"], 0)

    @long
    def test_a_directory_and_one_set_are_listed_too(self):
        self.assertEqual([row["step"] for row in self.rows("list", "slow/trial")], [5, 10, 12])
        self.assertEqual([row["step"] for row in self.rows("list", self.trial.set_path("slow", 10))], [10])

    def test_the_table_has_a_row_a_set(self):
        lines = self.trial.stoker("checkpoint", "list", self.trial.config).stdout.splitlines()
        self.assertEqual(lines[0].split(), ["tier", "step", "state", "age", "size", "path"])
        self.assertEqual(len(lines), 1 + 6)
        self.assertRegex(lines[1], r"^fast +5  committed +\S+ +1\.5 MB  fast/trial/step-0000000005$")

    def test_what_is_no_committed_set_is_shown_as_what_it_is(self):
        shutil.rmtree(self.trial.set_path("slow", 12))
        sets = self.trial.sets("slow")
        (sets / ".tmp-step-0000000020-00ff").mkdir()
        self.trial.set_path("slow", 5).rename(sets / "damaged-step-0000000005")
        (self.trial.set_path("slow", 10) / "MANIFEST.json").write_text("{}")
        states = {(row["tier"], os.path.basename(row["path"])): row["state"]
                  for row in self.rows("list", self.trial.config)}
        self.assertEqual(states, {
            ("fast", "step-0000000005"): "on this tier only", ("fast", "step-0000000010"): "committed",
            ("fast", "step-0000000012"): "on this tier only", ("slow", "step-0000000010"): "unreadable",
            ("slow", "damaged-step-0000000005"): "damaged",
            ("slow", ".tmp-step-0000000020-00ff"): "unfinished"})

    def test_no_sets_are_no_error(self):
        self.trial.forget()
        self.assertEqual(self.rows("list", self.trial.config), [])

    def test_a_configuration_without_tiers_is_an_error(self):
        done = self.trial.stoker("checkpoint", "list", self.trial.config, "checkpoint={type: none}", code=2)
        self.assertIn("must not be none here", done.stderr)


class VerifySets(Commands):
    def test_the_newest_by_default(self):
        rows = self.rows("verify", self.trial.config)
        self.assertEqual([(row["tier"], row["step"], row["intact"]) for row in rows],
                         [("fast", 12, True), ("slow", 12, True)])

    def test_all(self):
        rows = self.rows("verify", "--all", self.trial.config)
        self.assertEqual(len(rows), 6)
        self.assertTrue(all(row["intact"] for row in rows))

    @long
    def test_one_set_or_directory(self):
        self.assertEqual(len(self.rows("verify", self.trial.set_path("slow", 5))), 1)
        self.assertEqual(len(self.rows("verify", "--all", "slow/trial")), 3)

    def test_a_damaged_tensor_is_named_with_its_file_and_offset(self):
        offset, size = self.place_of("optimizer.fc.weight.exp_avg")
        path = self.data_file("slow", 10)
        flip(path, offset + size // 2, bit=3)
        for arguments in [["--all", self.trial.config], ["--all", "slow/trial"],
                          [self.trial.set_path("slow", 10)]]:
            done = self.trial.stoker("checkpoint", "verify", *arguments, code=DAMAGED)
            self.assertRegex(done.stdout, r"\n\S+ +10  DAMAGED ")
            self.assertIn("slow/trial/step-0000000010/state.safetensors: damaged in bytes "
                          f"[0, {path.stat().st_size}): tensor optimizer.fc.weight.exp_avg", done.stdout)
            self.assertNotIn("fc.bias", done.stdout)
        rows = self.rows("verify", "--all", self.trial.config, code=DAMAGED)
        self.assertEqual([(row["tier"], row["step"]) for row in rows if not row["intact"]], [("slow", 10)])
        self.assertIn("tensor optimizer.fc.weight.exp_avg", rows[4]["damage"])

    @long
    def test_the_newest_is_intact_where_an_older_one_is_not(self):
        flip(self.data_file("slow", 10), 5000)
        self.trial.stoker("checkpoint", "verify", self.trial.config)

    def damage_of(self, damage, step=12):
        """What verify says of a set of the slow tier after it was damaged."""
        damage(self.trial.set_path("slow", step))
        rows = self.rows("verify", "--all", "slow/trial", code=DAMAGED)
        self.assertEqual([row["step"] for row in rows if not row["intact"]], [step])
        return next(row["damage"] for row in rows if not row["intact"])

    @long
    def test_a_bit_of_the_header_counts(self):
        self.assertIn("state.safetensors", self.damage_of(lambda path: flip(path / "state.safetensors", 40)))

    def test_a_bit_of_the_manifest_counts(self):
        self.assertIn("MANIFEST.json", self.damage_of(lambda path: flip(path / "MANIFEST.json", 100)))

    @long
    def test_a_file_that_is_cut_counts(self):
        self.assertIn("state.safetensors",
                      self.damage_of(lambda path: os.truncate(path / "state.safetensors", 1000000)))

    @long
    def test_a_missing_file_counts(self):
        self.assertIn("state.safetensors",
                      self.damage_of(lambda path: os.remove(path / "state.safetensors")))

    @long
    def test_a_set_under_the_name_of_another_step_counts(self):
        def swap(path):
            shutil.rmtree(path)
            shutil.copytree(self.trial.set_path("slow", 5), path)
        self.assertIn("its manifest is that of step 5", self.damage_of(swap))

    def test_no_sets_are_an_error_of_the_environment(self):
        words = self.trial.config, "checkpoint.directory=other"
        for said in (self.trial.stoker("checkpoint", "list", *words).stdout,
                     self.trial.stoker("checkpoint", "verify", *words, code=3).stderr):
            self.assertIn("other", said)
            self.assertRegex(said, r"(?s)there are some in '[^']+'.*checkpoint.directory=\w+")
        self.trial.forget()
        self.assertIn("no checkpoint in", self.trial.stoker(
            "checkpoint", "verify", self.trial.config, code=3).stderr)

    def test_verifying_changes_nothing(self):
        flip(self.data_file("slow", 10), 5000)
        before = {path: path.read_bytes() for path in self.trial.dir.rglob("*") if path.is_file()}
        self.trial.stoker("checkpoint", "verify", "--all", self.trial.config, code=DAMAGED)
        after = {path: path.read_bytes() for path in self.trial.dir.rglob("*") if path.is_file()}
        self.assertEqual(before, after)


class Restoring(Commands):
    """What training does with the same damage."""
    def resumed(self, *overrides):
        return self.trial.train("checkpoint.resume=latest", "training.max_steps=14", *overrides)

    def test_the_same_step_is_taken_from_the_other_tier(self):
        flip(self.data_file("fast", 12), 5000)
        process = self.resumed()
        self.assertEqual(process.resumed_step, 12)
        self.assertIn("resumed from slow/trial/step-0000000012", process.log)
        self.assertRegex(process.log, r"checkpoint not used: fast/trial/step-0000000012/state\.safetensors: "
                                      r"damaged in bytes \[0, \d+\): tensor model\.fc\.weight")
        self.assertTrue((self.trial.sets("fast") / "damaged-step-0000000012").exists())

    @long
    def test_the_step_before_where_both_are_damaged(self):
        for tier in TIERS:
            flip(self.data_file(tier, 12), 5000)
        self.assertEqual(self.resumed().resumed_step, 10)

    @long
    def test_nothing_intact_is_an_error_of_the_storage(self):
        for tier in TIERS:
            for step in (5, 10, 12):
                flip(self.data_file(tier, step), 5000)
        process = self.trial.train("checkpoint.resume=latest", code=DAMAGED)
        self.assertIn("none of the 3 checkpoints in fast/trial is intact", process.log)


class BesideARun(Commands):
    def test_what_is_removed_meanwhile_is_not_damaged(self):
        process = Process(["checkpoint", "verify", self.trial.config, "--all", "--json", slowed("slow", 2000, read_mb_per_s=1)],
                          self.trial.dir)
        self.addCleanup(process.kill)
        reading = self.data_file("slow", 5).resolve()
        process.until(lambda: reading in self.open_files(process))
        process.send(signal.SIGSTOP)
        for step in (5, 10):  # as retention does it
            gone = self.trial.sets("slow") / f".tmp-old-{step}"
            self.trial.set_path("slow", step).rename(gone)
            shutil.rmtree(gone)
        process.send(signal.SIGCONT)
        self.assertEqual(process.wait(), 0, process.output)
        rows = {(row["tier"], row["step"]): row for row in json.loads(process.output)}
        self.assertEqual(rows["slow", 10]["state"], "removed")
        self.assertNotIn("intact", rows["slow", 10])
        self.assertTrue(rows["slow", 12]["intact"])

    def open_files(self, process):
        return [entry.resolve() for entry in pathlib.Path(f"/proc/{process.child.pid}/fd").iterdir()]


class Bench(Commands):
    def bench(self, *overrides, rounds=2):
        done = self.trial.stoker("bench", "checkpoint", self.trial.config, *overrides,
                                 "--rounds", rounds, "--json")
        return json.loads(done.stdout)

    def check_spread(self, spread):
        self.assertLess(0, spread["min"])
        self.assertLessEqual(spread["min"], spread["median"])
        self.assertLessEqual(spread["median"], spread["max"])

    def test_its_figures_belong_together(self):
        for type_, snapshot in [("direct", "swap"), ("burst_buffer", "async")]:
            result = self.bench(f"checkpoint.type={type_}", f"checkpoint.snapshot={snapshot}")
            self.assertEqual(result["name"], f"stoker-{type_}-{snapshot}")
            self.assertEqual((result["type"], result["snapshot"]), (type_, snapshot))
            self.assertEqual(result["saves"], 2)
            # Weights and two moments of Adam, counters, the generator; the file's header.
            self.assertEqual(result["set_bytes"], 3 * 4 * 10 * (3 * 64 * 64 + 1) + 8 + 5056 + 4096)
            for key in ["stall_s", "saved_s", "durable_s", "memcpy_s", "load_s"]:
                self.check_spread(result[key])
            # The trainer goes on, the set is on the first tier, it is on the last: in this order.
            self.assertLessEqual(result["saved_s"]["min"], result["durable_s"]["max"])
            self.assertLessEqual(result["first"]["saved_s"], result["first"]["durable_s"])
            self.assertEqual("drain_s" in result, type_ == "burst_buffer")
            tiers = ["slow"] if type_ == "direct" else ["fast", "slow"]
            self.assertEqual(sorted(result["tiers"]), tiers)
            for tier in tiers:
                self.check_spread(result["tiers"][tier]["write_s"])
                self.check_spread(result["tiers"][tier]["read_s"])

    @long
    def test_a_loop_with_saves(self):
        for snapshot in ("async", "swap"):
            result = self.bench(f"checkpoint.snapshot={snapshot}", "--loop", "--step-ms", 1, "--every", 2, "--loader")
            self.assertEqual((result["snapshot"], result["saves"], result["every"]), (snapshot, 2, 2))
            self.assertEqual({name: len(times) for name, times in result["times"].items()},
                             {"stall_s": 2, "memcpy_s": 2, "update_s": 6, "update_after_s": 2, "lost_s": 2})
            for row in result["distributions"]:
                values = [row[key] for key in ("min_s", "median_s", "p90_s", "p99_s", "max_s")]
                self.assertEqual(values, sorted(values), row)

    @long
    def test_it_leaves_the_sets_of_a_run_alone_and_none_of_its_own(self):
        self.bench()
        for tier in TIERS:
            self.assertEqual([path.name for path in (self.trial.dir / tier).iterdir()], ["trial"])
        self.assertEqual(self.trial.newest_intact(), 12)

    def test_a_signal_leaves_none_either(self):
        loops = [(), ("--loop", "--step-ms", "1000")]
        for number, code, of in [(signal.SIGINT, 130, loops[:1]), (signal.SIGTERM, 75, loops[1:])]:
            for loop in loops if LONG else of:
                process = Process(["bench", "checkpoint", self.trial.config, "--rounds", 100000, *loop], self.trial.dir)
                process.until(lambda: list(self.trial.dir.glob("slow/.stoker-bench*/step-*")))
                process.send(number)
                self.assertEqual(process.wait(), code, process.log)
                self.assertIn("stopped: nothing is reported", process.log)
                for tier in TIERS:
                    self.assertEqual([path.name for path in (self.trial.dir / tier).iterdir()], ["trial"])

    def test_it_prints_a_table_for_people(self):
        done = self.trial.stoker("bench", "checkpoint", self.trial.config, "--rounds", 1)
        self.assertRegex(done.stdout, r"^1 save of 1\.5 MB, checkpoint burst_buffer")

    def test_without_checkpoints_there_is_nothing_to_measure(self):
        done = self.trial.stoker("bench", "checkpoint", self.trial.config, "checkpoint={type: none}", code=2)
        self.assertIn("checkpoint.type is none: there is nothing to measure", done.stderr)


if __name__ == "__main__":
    unittest.main()
