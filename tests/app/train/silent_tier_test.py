#!/usr/bin/env python3
"""A file system that does not answer when a training starts: after run.hang_seconds it ends with exit code 5, and names
the file, whichever part of the run lies there.
"""
import unittest

from shortages import silent_disk
from stoker import MINI, StokerTest, configuration, flow, posix

BURST = "{type: burst_buffer, fast: fast, slow: slow}"
SYNTHETIC = "{type: synthetic, samples: 16, test_samples: 0, unique: 4}"


class SilentTierTest(StokerTest):
    CONFIG = configuration(
        tiers={"fast": posix("fast"), "slow": posix("slow")}, training="{max_steps: 1}", decoder="{type: turbojpeg, size: 16}")

    def expect_end(self, *overrides):
        silent = silent_disk(self, self.dir / "silent")
        done = self.stoker("train", self.config, "run.hang_seconds=0.5",
                           *(override.replace("SILENT", str(silent)) for override in overrides), code=5)
        self.assertRegex(done.stderr, rf"error: [a-z ]+ {silent}\S*: no answer for 0.5 s while the run starts: see whether its "
                                      "file system is there, or wait longer by run.hang_seconds")

    def test_of_the_data(self):
        self.expect_end("storage.data.root=SILENT")

    def test_of_the_run_directory(self):
        self.expect_end("run.dir=SILENT")

    def test_the_fast_one(self):
        self.expect_end("storage.fast.root=SILENT", f"checkpoint={BURST}", f"dataset={SYNTHETIC}")

    def test_the_slow_one(self):
        self.expect_end("storage.slow.root=SILENT/below", f"checkpoint={BURST}", f"dataset={SYNTHETIC}")

    def test_the_only_one(self):
        self.expect_end("storage.slow.root=SILENT", "checkpoint={type: direct, slow: slow}", f"dataset={SYNTHETIC}")

    def test_with_the_copies(self):
        cached = flow(type="cached", inner=posix(MINI), **{"in": posix("SILENT")})
        self.expect_end(f"storage.data={cached}", "run.page_cache=warm")


if __name__ == "__main__":
    unittest.main(verbosity=2)
