"""Sweeps as a user meets them: results, resuming after any end, bad sweeps, exit codes."""
import csv
import json
import os
import pathlib
import shutil
import signal
import unittest

from stoker import MINI, SOURCE, StokerTest, long, read_summary, until

BASE = """
run:       {name: cell, seed: 3}
device:    {type: emulated, step_ms: 2}
storage:   {scratch: {type: posix, root: "${STOKER_SCRATCH:-checkpoints}"}}
dataset:   {type: synthetic, samples: 64, classes: 2, test_samples: 0}
decoder:   {type: turbojpeg, size: 32}
loader:    {type: prefetched, batch_size: 16, workers: 1}
model:     {type: linear}
training:  {max_steps: 4}
metrics:   {every_steps: 4, sinks: [{type: csv}]}
"""
SWEEP = """
name: trial
base: base.yaml
set: [training.epochs=1000]
matrix:
  loader.workers: [1, 2]
  loader:
    threaded: [loader.type=threaded]
    prefetched: [loader.type=prefetched]
repeat: 2
exclude: [{loader.workers: 2, loader: threaded}]
figures: {compute: segments_s.compute, compute_share: segments_s.compute / wall_s}
plots: [{title: rate, x: loader.workers, y: images_per_s, series: loader}]
findings:
  - {name: all steps, value: steps, of: {loader: threaded, loader.workers: 1}, at_least: 4}
"""
SLOW = "--set=device.step_ms=300"  # so that a signal meets a run
ONCE = "repeat=1"


class Sweep(StokerTest):
    def setUp(self):
        super().setUp()
        (self.dir / "base.yaml").write_text(BASE)
        self.write(SWEEP)
        self.place = self.dir / "sweeps" / "trial"

    def write(self, text):
        (self.dir / "sweep.yaml").write_text(text)

    def sweep(self, *arguments, **options):
        return self.stoker("sweep", "sweep.yaml", *arguments, **options)

    def results(self):
        return json.loads((self.place / "results.json").read_text())

    def started(self, count, *arguments):
        """A sweep of which `count` runs are in results.json and the next one is under way."""
        process = self.start("sweep", "sweep.yaml", *arguments)
        process.until(lambda: len(self.results()["rows"]) >= count and self.running())
        return process

    def running(self):
        """Process ids of runs of this sweep."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"run.dir=sweeps/trial/runs" in words and os.path.samefile(entry / "cwd", self.dir):
                    found.append(int(entry.name))
            except OSError:
                continue  # it has ended
        return found


class Results(Sweep):
    def test_every_cell_is_run_and_the_files_agree(self):
        done = self.sweep()
        results = self.results()
        self.assertEqual(results["schema_version"], 1)
        self.assertEqual([axis["key"] for axis in results["axes"]], ["loader.workers", "loader"])
        self.assertEqual([(row["cell"]["loader.workers"], row["cell"]["loader"], row["repeat"])
                          for row in results["rows"]],
                         [("1", "threaded", 0), ("1", "prefetched", 0), ("2", "prefetched", 0),
                          ("1", "threaded", 1), ("1", "prefetched", 1), ("2", "prefetched", 1)])
        for row in results["rows"]:
            self.assertEqual((row["status"], row["exit_code"]), ("ok", 0))
            summary = read_summary(self.place / row["directory"])
            figures = row["figures"]
            self.assertEqual(figures["steps"], 4)
            self.assertEqual(figures["images_per_s"], summary["images_per_s"])
            self.assertAlmostEqual(figures["compute_share"], figures["compute"] / figures["wall_s"])
            self.assertEqual(row["conditions"]["storage"], {"scratch": "posix"})
            self.assertEqual(row["conditions"]["device"]["emulated"], True)
            self.assertEqual(summary["loader"], row["cell"]["loader"])
        self.assertTrue(results["machine"]["cpu"]["model"])
        self.assertTrue(results["finished"] >= results["started"])
        self.assertEqual([series["series"] for series in results["plots"][0]["data"]],
                         ["threaded", "prefetched"])
        self.assertEqual(results["plots"][0]["data"][1]["points"][1]["n"], 2)
        self.assertEqual(results["findings"][0]["verdict"], "within")
        rows = list(csv.DictReader((self.place / "results.csv").read_text().splitlines()))
        self.assertEqual(len(rows), 6)
        for row, reference in zip(rows, results["rows"]):
            self.assertEqual(float(row["images_per_s"]), reference["figures"]["images_per_s"])
        self.assertEqual(done.stderr.count("images/s"), 6)
        self.assertIn("[6/6] loader.workers=2 loader=prefetched repeat 1", done.stderr)
        self.assertIn("ETA", done.stderr.splitlines()[0])
        self.assertRegex(done.stdout, "conditions: device: .*; storage: scratch posix; page cache: ")
        self.assertIn("within       all steps: 4 (4 to 4); at least 4", done.stdout)
        self.assertFalse((self.place / "scratch").exists())

    @long
    def test_what_is_done_is_not_run_again(self):
        self.sweep()
        before = self.results()["rows"]
        self.assertEqual(self.sweep().stderr, "")
        self.assertEqual(self.results()["rows"], before)
        self.assertEqual(len(self.sweep("repeat=3").stderr.splitlines()), 3)
        self.assertEqual(self.results()["rows"][:6], before)
        self.assertEqual(json.loads(self.sweep("repeat=3", "--report-only", "--json").stdout), self.results())

    @long
    def test_another_definition_needs_another_directory_or_a_restart(self):
        self.sweep("repeat=1")
        done = self.sweep("repeat=1", "--set=run.seed=4", code=2)
        self.assertIn("holds results of another definition of sweep trial", done.stderr)
        self.assertIn("--restart", done.stderr)
        self.sweep("--directory", "other", "--set", "run.seed=4", "repeat=1")
        self.assertEqual(len(self.results()["rows"]), 3)
        done = self.sweep("repeat=1", "--set=run.seed=4", "--restart")
        self.assertEqual(len(done.stderr.splitlines()), 3)
        self.assertEqual(len([run for run in (self.place / "runs").iterdir() if not run.is_symlink()]), 3)

    @long
    def test_an_experiment_inside_the_sweep_and_a_preparation(self):
        base = "\n".join("  " + line for line in BASE.splitlines())
        base = base.replace("{scratch: {type: posix, root: \"${STOKER_SCRATCH:-checkpoints}\"}}",
                            "{data: {type: posix, root: made}}")
        base = base.replace("{type: synthetic, samples: 64, classes: 2, test_samples: 0}",
                            "{type: image_folder, storage: data}")
        self.write("name: trial\nbase:" + base + "\nmatrix: {loader.workers: [1, 2]}\nprepare:\n"
                   "  - {creates: made, run: [dataset, synth, \"${MADE:-made}\", --samples=64, --classes=2, --median-bytes=2KiB]}\n")
        self.assertIn("made is not there yet", self.sweep().stderr)
        self.assertEqual(len(list((self.dir / "made").glob("*/*.jpg"))), 64)
        self.assertEqual([row["status"] for row in self.results()["rows"]], ["ok", "ok"])
        self.assertTrue((self.place / "base.yaml").exists())
        self.write("name: trial\nbase:" + base.replace("workers", "worker") + "\nmatrix: {loader.batch_size: [1]}\n")
        self.assertRegex(self.sweep(code=2).stderr, r"sweep.yaml:8:\d+: loader: unknown key 'worker'")

    @long
    def test_every_published_experiment_is_checked_whole(self):
        # A command that is only checked must not free what its options write to.
        for path in sorted((SOURCE / "configs" / "paper").glob("*.yaml")):
            done = self.stoker("sweep", path, "--check", cwd=SOURCE, env={"MALLOC_PERTURB_": "85"})
            self.assertIn(" cells, ", done.stdout)

    def test_bench_cells_with_arguments(self):
        self.write("name: trial\nbase: base.yaml\ncommand: bench loader\nmatrix:\n"
                   "  epochs: {one: [--epochs=1], two: [--epochs=2]}\n"
                   "plots: [{title: p, x: epochs, y: images_per_s}]\n")
        self.sweep()
        self.assertEqual([row["figures"]["epochs"] for row in self.results()["rows"]], [1, 2])
        self.assertEqual(self.results()["plots"][0]["data"][0]["points"][1]["x"], "two")

    @long
    def test_an_axis_of_ranks(self):
        self.write("name: trial\nbase: base.yaml\nmatrix: {ranks: [1, 2]}\n"
                   "plots: [{title: rate, x: ranks, y: images_per_s}]\n")
        self.sweep()
        rows = {row["cell"]["ranks"]: row["figures"] for row in self.results()["rows"]}
        self.assertEqual({ranks: figures["world_size"] for ranks, figures in rows.items()}, {"1": 1, "2": 2})
        self.assertEqual(rows["1"]["images"], 2 * rows["2"]["images"])  # of rank 0

    def test_cells_of_two_commands_in_one_plot(self):
        self.write("name: trial\nbase: base.yaml\ncommand: bench loader\nmatrix:\n"
                   "  how: {loader: [--epochs=1], tier: [bench storage scratch, --threads=1, --block-size=1MiB]}\n"
                   "figures: {rate: images_per_s}\nplots: [{title: p, x: how, y: mb_per_s}]\n")
        self.sweep()
        loader, tier = self.results()["rows"]
        self.assertGreater(loader["figures"]["rate"], 0)
        self.assertGreater(tier["figures"]["mb_per_s"], 0)
        self.assertEqual(self.results()["command"], "bench loader, bench storage scratch")


class WithoutAFile(Sweep):
    def setUp(self):
        super().setUp()
        self.place = self.dir / "sweeps" / "base-loader.type-loader.workers"

    def grid(self, *arguments, **options):
        return self.stoker("sweep", "base.yaml", "loader.type=sync,prefetched", "loader.workers=1,2", *arguments, **options)

    def test_axes_on_the_command_line_and_charts_of_them(self):
        self.grid("run.seed=4")
        results = self.results()
        self.assertEqual([row["cell"] for row in results["rows"]], [{"loader.type": kind, "loader.workers": count}
                         for kind in ("sync", "prefetched") for count in ("1", "2")])
        self.assertEqual([(plot["x"], plot["y"]) for plot in results["plots"][:2]],
                         [("loader.type", "images_per_s"), ("loader.workers", "images_per_s")])
        self.assertEqual([series["series"] for series in results["plots"][1]["data"]], ["sync", "prefetched"])
        header = (self.place / "results.csv").read_text().splitlines()[0].split(",")
        self.assertEqual(header[:8], ["loader.type", "loader.workers", "repeat", "status", "exit_code", "seconds", "images_per_s",
                                      "exposed_io_share"])
        self.assertEqual(results["columns"], header[6:])
        summary = read_summary(self.place / results["rows"][0]["directory"])
        self.assertEqual(summary["loader"], "sync")

    @long
    def test_a_part_and_then_the_rest(self):
        done = self.grid("--only", "loader.type=sync")
        self.assertEqual(len(self.results()["rows"]), 2)
        self.assertNotIn("finished", self.results())
        self.assertIn("2 of 4 runs", done.stdout)
        self.assertEqual(done.stdout.count("not measured"), 4)
        self.assertEqual(len(self.grid().stderr.splitlines()), 2)
        self.assertIn("finished", self.results())

    @long
    def test_findings_on_cells_that_are_missing_are_not_measured(self):
        self.write(SWEEP.replace("loader.workers: 1}, at_least", "loader.workers: 1}, over: {loader: prefetched, loader.workers: 2}, at_least"))
        self.place = self.dir / "sweeps" / "trial"
        self.assertIn("not measured all steps", self.sweep("--only=loader.workers=1").stdout)
        self.assertEqual({row["cell"]["loader.workers"] for row in self.results()["rows"]}, {"1"})


class Interruptions(Sweep):
    def test_after_a_kill_it_goes_on_and_nothing_is_left_running(self):
        self.started(2, SLOW, ONCE).kill()
        until(lambda: not self.running(), lambda: "its run goes on", seconds=30)
        # A run that had gone on, or had ended of itself, would have left its summary.
        self.assertEqual(len(list(self.place.glob("runs/cell-*/summary.json"))), 2)
        before = self.results()
        self.assertNotIn("finished", before)
        self.assertEqual(len(before["rows"]), 2)
        done = self.sweep(SLOW, ONCE)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual(self.results()["rows"][:2], before["rows"])
        self.assertEqual(len(self.results()["rows"]), 3)

    @long
    def test_a_run_that_ended_well_as_the_sweep_was_killed_is_taken_over(self):
        process = self.started(1, SLOW, ONCE)
        process.send(signal.SIGSTOP)  # its run goes on to its end, and nobody writes the row
        until(lambda: not self.running(), lambda: "its run goes on")
        process.kill()
        self.assertGreaterEqual(len(list(self.place.glob("runs/cell-*/summary.json"))), 1)
        before = self.results()["rows"]
        self.sweep(SLOW, ONCE)
        rows = self.results()["rows"]
        self.assertEqual(rows[:len(before)], before)
        self.assertEqual([row["status"] for row in rows], 3 * ["ok"])
        self.assertEqual({self.place / row["directory"] for row in rows}, set(self.place.glob("runs/cell-*")))
        for row in rows:
            self.assertEqual(row["figures"]["images_per_s"], read_summary(self.place / row["directory"])["images_per_s"])
        self.assertFalse((self.place / "running.json").exists())

    @long
    def test_what_an_early_kill_leaves_is_a_sweep_directory(self):
        (self.place / "runs").mkdir(parents=True)
        (self.place / ".lock").touch()
        self.sweep(ONCE)
        self.assertEqual(len(self.results()["rows"]), 3)

    def stopped(self, number, code):
        process = self.started(1, SLOW, ONCE)
        process.send(number)
        self.assertEqual(process.wait(), code, process.output + process.log)
        self.assertEqual(self.running(), [])
        rows = self.results()["rows"]
        self.assertGreaterEqual(len(rows), 1)
        self.assertLess(len(rows), 3)
        self.assertEqual({row["status"] for row in rows}, {"ok"})
        self.assertIn(f"{len(rows)} of 3 runs", process.output)
        self.sweep(SLOW, ONCE)
        self.assertEqual(self.results()["rows"][:len(rows)], rows)
        self.assertEqual(len(self.results()["rows"]), 3)

    def test_sigterm(self):
        self.stopped(signal.SIGTERM, 75)

    @long
    def test_sigint(self):
        self.stopped(signal.SIGINT, 130)

    @long
    def test_one_sweep_at_a_time(self):
        self.started(1, SLOW)
        self.assertIn("another `stoker sweep` is at work there", self.sweep(SLOW, code=3).stderr)


class Failures(Sweep):
    def test_a_failed_cell_is_recorded_and_tried_again(self):
        self.write("name: trial\nbase: base.yaml\nmatrix:\n  data:\n    whole: []\n"
                   "    gone: ['storage.scratch.root=gone', 'dataset={type: image_folder, storage: scratch}']\n"
                   "    also: []\n")
        done = self.sweep(code=3)
        rows = self.results()["rows"]
        self.assertEqual([row["status"] for row in rows], ["ok", "failed", "ok"])
        self.assertEqual(rows[1]["exit_code"], 3)
        self.assertRegex(rows[1]["error"], "^error: .*gone")
        self.assertIn("FAILED with exit code 3", done.stderr)
        self.assertIn("data=gone repeat 0: exit code 3: error:", done.stdout)
        for name in range(16):
            folder = self.dir / "gone" / f"class_{name % 2}"
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(next(MINI.glob("*/*.jpg")),
                        folder / f"{name}.jpg")
        self.assertEqual(len(self.sweep().stderr.splitlines()), 1)
        self.assertEqual({row["status"] for row in self.results()["rows"]}, {"ok"})

    @long
    def test_a_missed_statement_is_7(self):
        self.write(SWEEP.replace("at_least: 4", "at_least: 5"))
        self.assertIn("outside      all steps: 4 (4 to 4); at least 5", self.sweep(code=7).stdout)
        self.write(SWEEP.replace("at_least: 4", "published: 9, fitted: training.max_steps"))
        self.assertIn("put in       all steps", self.sweep().stdout)

    @long
    def test_bad_sweeps_run_nothing(self):
        def refused(text, message, code=2):
            self.write(text)
            self.assertRegex(self.sweep(code=code).stderr, message)
            self.assertFalse((self.dir / "sweeps").exists())

        refused(SWEEP.replace("repeat: 2", "repeats: 2"), r"sweep.yaml:10:1: unknown key 'repeats' \(did you mean")
        refused(SWEEP.replace("loader.workers: [1, 2]", "loader.worker: [1, 2]").replace(
            "exclude", "#").replace("plots", "#").replace("findings", "#").split("#")[0],
            r"sweep.yaml:\d+:3: override 'loader.worker=1': loader: unknown key 'worker' \(did you mean "
            r"'workers'\?\) \(in the cell loader.worker=1 loader=threaded\)")
        refused(SWEEP.replace("workers: 2, loader: threaded", "workers: 3"), "'loader.workers' has no value '3'")
        refused(SWEEP.replace("loader.workers: 2, loader: threaded", "loader.type: sync"),
                "'loader.type' is no axis of the matrix")
        refused(SWEEP.replace("x: loader.workers", "x: tier"), "'x' must be an axis of the matrix or time, got 'tier'")
        refused(SWEEP.replace("base.yaml", "bass.yaml"), "there is no file", code=2)
        refused(SWEEP.replace("repeat: 2", "command: bench laoder"),
                r"sweep.yaml:10:10: stoker bench laoder .*did you mean 'loader'")
        refused(SWEEP.replace("repeat: 2", "arguments: [--quite]"),
                r"sweep.yaml:10:13: stoker train .*unknown option '--quite' \(did you mean '--quiet'\?\)")
        refused(SWEEP.replace("repeat: 2", "prepare: [{creates: x, run: [dataset, sytnh, x]}]"),
                r"sweep.yaml:10:39: stoker dataset sytnh x: .*did you mean 'synth'.*\(in prepare\)")
        refused(SWEEP.replace("repeat: 2", "prepare: [{creates: x, run: [dataset, synth, \"${STOKER_NOWHERE}\"]}]"),
                r"sweep.yaml:10:46: prepare: '\$\{STOKER_NOWHERE\}' must be a word \(is the variable in it set")
        refused("name: [", "this is no YAML")

    def test_check_prints_the_plan(self):
        self.assertIn("3 cells, 6 runs of `stoker train`", self.sweep("--check").stdout)
        self.assertFalse((self.dir / "sweeps").exists())

    def test_a_directory_of_something_else_is_left_alone(self):
        (self.dir / "mine").mkdir()
        (self.dir / "mine" / "thesis.tex").write_text("x")
        done = self.sweep("--directory", "mine", "--restart", code=3)
        self.assertIn("holds something that is no sweep", done.stderr)
        self.assertEqual(os.listdir(self.dir / "mine"), ["thesis.tex"])


if __name__ == "__main__":
    unittest.main()
