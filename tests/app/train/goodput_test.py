#!/usr/bin/env python3
"""Goodput over restarts: the parts of a training's time are its wall time by the kernel's clock, to 1e-6, and the steps
that were lost are counted: over kills, one of them before anything was saved, SIGTERM, a run directory that is lost,
and a training that was done and is made longer.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import unittest

from stoker import StokerTest, configuration, long, posix

SIGTERM_EXIT = 75
SAVES = 6  # every so many steps
LOST = ("effective", "data_wait", "checkpoint_stall", "evaluation")


def began(process):
    """When the kernel began it, in seconds since it booted."""
    with open(f"/proc/{process.child.pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")


class Goodput(StokerTest):
    CONFIG = configuration(
        tiers={"sets": posix("sets")}, device="{type: emulated, step_ms: 60}",
        dataset="{type: synthetic, samples: 64, test_samples: 0, unique: 4}", decoder="{type: turbojpeg, size: 16}",
        loader="{type: sync, batch_size: 8}", training="{epochs: 1000, max_steps: 22}",
        checkpoint=f"{{type: direct, slow: sets, every_steps: {SAVES}, resume: latest}}",
        metrics="{every_steps: 1, sinks: [{type: csv}]}")

    @property
    def record(self):
        return json.loads((self.dir / "runs/lifetimes/trial.json").read_text())["record"]

    def begin(self, *overrides):
        return self.start("train", self.config, *overrides)

    def steps_written(self, process):
        """As steps.csv has them, beside the record."""
        [run] = (self.dir / "runs").glob(f"trial-*-{process.child.pid}-????")
        text = (run / "steps.csv").read_text()
        return int(text[:text.rindex("\n")].rpartition("\n")[2].split(",")[0])

    def killed(self, process, step):
        """Kills it at a moment between two steps, at `step` or later. The record that is left."""
        def stands():
            if not self.has_reached(process, step):
                return False
            process.send(signal.SIGSTOP)
            if self.record["steps"] == self.steps_written(process):
                return True
            process.send(signal.SIGCONT)
            return False

        process.until(stands)
        process.kill()
        return self.record

    def killed_before_a_set(self):
        """When it began, and its record. Where the kill came too late, for the machine is busy, another one."""
        for _ in range(10):
            process = self.begin()
            first = began(process)
            record = self.killed(process, 1)
            if record["steps"] < SAVES:
                return first, record
            shutil.rmtree(self.dir / "runs")
            shutil.rmtree(self.dir / "sets")
        self.fail("ten kills came after the first set")

    def has_reached(self, process, step):
        return self.record["steps"] >= step and self.steps_written(process) >= step

    def expect_closed(self, record, begin):
        """Against the time from the begin of the first process, which only the kernel has told."""
        wall = record["at_boot_s"] - begin
        self.assertLessEqual(abs(sum(record["parts_s"].values()) - wall), 1e-6 * wall, record)
        for part, seconds in record["parts_s"].items():
            self.assertGreaterEqual(seconds, -1e-9, part)

    def test_kills_a_stop_and_a_longer_training(self):
        first, nothing_saved = self.killed_before_a_set()
        self.expect_closed(nothing_saved, first)

        killed = self.killed(self.begin(), SAVES + 2)
        self.expect_closed(killed, first)
        self.assertEqual((killed["lost_steps"], killed["processes"]), (nothing_saved["steps"], 2))
        lost = sum(nothing_saved["parts_s"][part] for part in LOST)
        self.assertAlmostEqual(killed["parts_s"]["lost"], lost)
        self.assertEqual(killed["recoveries"], 1)

        saved = killed["steps"] // SAVES * SAVES
        process = self.begin()
        process.until(lambda: self.has_reached(process, killed["steps"] + 1))
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), SIGTERM_EXIT, process.log)
        stopped = self.record
        self.expect_closed(stopped, first)
        self.assertEqual((stopped["end"], stopped["recoveries"]), ("interrupted", 2))
        self.assertEqual(stopped["lost_steps"], killed["lost_steps"] + killed["steps"] - saved)
        self.assertGreater(stopped["parts_s"]["lost"], lost)

        for run in (self.dir / "runs").glob("trial-*"):
            shutil.rmtree(run)  # what a run leaves is not what the training needs
        done = self.stoker("train", self.config).stdout
        self.expect_summary(done, stopped, first)
        self.expect_longer(first)

    def expect_summary(self, done, stopped, first):
        record, summary = self.record, json.loads((self.latest / "summary.json").read_text())
        self.expect_closed(record, first)
        goodput = summary["goodput"]
        self.assertEqual((goodput["processes"], goodput["interruptions"], goodput["recoveries"]), (4, 3, 3))
        self.assertEqual(goodput["lost_steps"], stopped["lost_steps"])  # SIGTERM cost none
        self.assertAlmostEqual(goodput["parts_s"]["lost"], stopped["parts_s"]["lost"])
        self.assertLessEqual(goodput["closure_error"], 1e-6)
        self.assertAlmostEqual(goodput["effective_share"], goodput["parts_s"]["effective"] / goodput["wall_s"])
        self.assertGreater(goodput["time_to_recover_s"], goodput["time_to_start_s"])
        self.assertRegex(done, rf"(?m)^  goodput [\d.]+ % of [\d.]+ s in 4 processes; .*\blost [\d.]+ %")
        self.assertRegex(done, rf"\n    {stopped['lost_steps']} steps? lost; recovered in ")

    def expect_longer(self, first):
        done = self.record
        process = self.begin("training.max_steps=24")
        gap = began(process) - done["at_boot_s"]
        self.assertEqual(process.wait(), 0, process.log)
        longer = self.record
        self.expect_closed(longer, first + max(gap, 0))
        self.assertEqual((longer["steps"], longer["processes"], longer["interruptions"]), (24, 5, 3))
        self.assertAlmostEqual(longer["parts_s"]["down"], done["parts_s"]["down"])

    @long
    def test_kills_at_any_instant(self):
        """Also of processes that start, save or have just begun to record."""
        generator, kills, worst = random.Random(43), 50, 0
        process = self.begin("training.max_steps=100000")
        first = began(process)
        process.until(lambda: self.record)
        for _ in range(kills):
            try:
                process.child.wait(generator.uniform(0, 2.5))
            except subprocess.TimeoutExpired:
                process.kill()
            record = self.record
            self.expect_closed(record, first)
            wall = record["at_boot_s"] - first
            worst = max(worst, abs(sum(record["parts_s"].values()) / wall - 1))
            process = self.begin("training.max_steps=100000")
        process.until(lambda: self.record["processes"] > record["processes"] and self.has_reached(process, 1))
        self.expect_closed(self.record, first)
        print(f"{kills} kills, {self.record['processes']} processes known, {self.record['lost_steps']} steps lost, "
              f"largest closure error {worst:.1e}")

    @long
    def test_a_folder_of_runs_that_is_lost(self):
        process = self.begin()
        first = began(process)
        self.killed(process, SAVES + 1)
        shutil.rmtree(self.dir / "runs")
        self.stoker("train", self.config, f"training.max_steps={SAVES + 2}")
        record = self.record
        self.expect_closed(record, first)
        self.assertEqual((record["processes"], record["lost_steps"], record["end"]), (2, 0, "completed"))
        self.assertGreater(record["parts_s"]["down"], 0)

    @long
    def test_a_training_that_begins_anew_takes_nothing_up(self):
        self.killed(self.begin(), 1)
        process = self.begin("checkpoint.resume=none", "training.max_steps=2")
        begin = began(process)
        self.assertEqual(process.wait(), 0, process.log)
        self.expect_closed(self.record, begin)
        self.assertEqual((self.record["processes"], self.record["lost_steps"]), (1, 0))


if __name__ == "__main__":
    unittest.main(verbosity=2)
