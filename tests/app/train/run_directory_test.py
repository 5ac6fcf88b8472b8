#!/usr/bin/env python3
"""A run directory that cannot be `latest`, or that somebody renames or removes while the run is under way: said once."""
import shutil
import unittest

from stoker import StokerTest, configuration, read_summary

MOVED = "while the run was under way"


class RunDirectoryTest(StokerTest):
    CONFIG = configuration(
        device="{type: emulated, step_ms: 50}", dataset="{type: synthetic, samples: 64, test_samples: 0, unique: 4}",
        decoder="{type: turbojpeg, size: 16}", loader="{type: sync, batch_size: 8, digest: true}",
        training="{epochs: 1000, max_steps: 100}", metrics="{every_steps: 1, sinks: [{type: csv}]}")

    def under_way(self):
        process = self.start("train", self.config)
        process.until(lambda: (self.latest / "steps.csv").read_text().count("\n") > 2)
        return process, self.latest

    def ended(self, process, what):
        self.assertEqual(process.wait(), 3, process.log)
        self.assertEqual(process.log.count(MOVED), 1, process.log)
        self.assertRegex(process.log, rf"error: the run directory \S+ {what}")

    def test_what_is_renamed_is_whole_and_the_run_says_so(self):
        process, directory = self.under_way()
        kept = directory.with_name("kept")
        directory.rename(kept)
        self.ended(process, f"was renamed to {kept}")
        self.assertFalse(directory.exists())
        self.assertEqual((kept / "steps.csv").read_text().count("\n"), 101)
        self.assertEqual((read_summary(kept)["steps"], read_summary(kept)["exit_code"]), (100, 3))
        self.assertIn(MOVED, (kept / "log.txt").read_text())

    def test_what_is_removed_is_not_made_again_and_the_run_says_so(self):
        process, directory = self.under_way()
        shutil.rmtree(directory)
        self.ended(process, "was removed")
        self.assertFalse(directory.exists())

    def test_what_cannot_be_latest_stops_no_run(self):
        mine = self.dir / "runs" / "latest" / "mine"
        mine.mkdir(parents=True)
        done = self.stoker("train", self.config, "training.max_steps=2")
        self.assertEqual(done.stderr.count("latest: Is a directory: the run goes on"), 1, done.stderr)
        self.assertTrue(mine.exists())
        [run] = (self.dir / "runs").glob("trial-*")
        self.assertEqual(read_summary(run)["steps"], 2)
        self.assertIn("Is a directory", (run / "log.txt").read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
