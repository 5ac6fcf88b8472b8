"""Sweeps whose cells read mounted tiers: what they wait for, and what is left however a sweep ends."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from stoker import MINI, Process, StokerTest, emulated, mounted, until, why_no_mount

SWEEP = f"""
name: trial
base:
  run:       {{name: cell, seed: 3}}
  device:    {{type: emulated, step_ms: 2}}
  storage:   {{data: {{type: posix, root: {MINI}}}}}
  dataset:   {{type: image_folder, storage: data}}
  decoder:   {{type: turbojpeg, size: 32}}
  loader:    {{type: sync, batch_size: 8}}
  model:     {{type: linear}}
  training:  {{max_steps: 4}}
  evaluation: {{enabled: false}}
  metrics:   {{every_steps: 4, sinks: []}}
mounts:
  slow: {{tier: {emulated(metadata_latency_ms=5)}, arguments: [--mode=drop]}}
  slower_2: {{tier: {emulated(metadata_latency_ms=10)}}}
  unused: {{tier: {emulated(root="nowhere")}}}
matrix:
  place:
    disk: []
    slow (mounted): ["storage.data.root=${{STOKER_MOUNT_slow}}"]
    slower: ["storage.data.root=${{STOKER_MOUNT_slower_2}}/."]
"""
NEVER = "--set=device.step_ms=2000"  # a signal meets a run
# A /dev of what a program needs, without fuse.
NO_FUSE = """mkdir "$0/dev" && mount --rbind /dev "$0/dev" && mount -t tmpfs none /dev && mkdir /dev/shm &&
for name in null zero random urandom; do touch /dev/$name && mount --bind "$0/dev/$name" /dev/$name || exit 99; done; exec "$@" """


class Mounts(StokerTest):
    def setUp(self):
        super().setUp()
        if reason := why_no_mount():
            self.skipTest(reason)
        self.dir = self.dir.resolve()
        (self.dir / "sweep.yaml").write_text(SWEEP)
        self.place = self.dir / "sweeps" / "trial"
        self.points = [self.place / "mounts" / name for name in ("slow", "slower_2", "unused")]
        self.addCleanup(lambda: [subprocess.run(["umount", "-l", at], check=False) for at in self.points if mounted(at)])

    def sweep(self, *arguments, **options):
        return self.stoker("sweep", "sweep.yaml", *arguments, **options)

    def rows(self):
        return json.loads((self.place / "results.json").read_text())["rows"]

    def mounts(self):
        return [at.name for at in self.points if mounted(at)]

    def started(self, *arguments):
        """A sweep whose first run on a mount is under way."""
        process = self.start("sweep", "sweep.yaml", NEVER, "--only=place=slow (mounted)", *arguments)
        process.until(lambda: list(self.place.glob("runs/cell-*/config.yaml")))
        self.assertEqual(self.mounts(), ["slow"])
        return process


class Cells(Mounts):
    def test_cells_wait_for_the_mounted_tier_and_say_so(self):
        done = self.sweep("repeat=2")
        self.assertEqual(self.mounts(), [])
        rows = self.rows()
        self.assertEqual([row["cell"]["place"] for row in rows], 2 * ["disk", "slow (mounted)", "slower"])
        for row, at_least in zip(rows, 2 * [0, 32 * 0.005, 32 * 0.01]):  # an open for each of 32 images
            self.assertEqual(row["status"], "ok")
            self.assertGreaterEqual(row["figures"]["wall_s"], at_least)
        self.assertLess(rows[0]["figures"]["wall_s"], 32 * 0.005)
        self.assertNotIn("slow (mounted)", rows[0]["conditions"]["tiers"])
        self.assertEqual(rows[1]["conditions"]["tiers"]["slow (mounted)"], {"type": "emulated", "emulated": True})
        self.assertIn("slower_2 (mounted) EMULATED", done.stdout)
        self.assertIn("mode drop", (self.place / "logs" / "mount-slow.log").read_text())
        self.assertFalse((self.place / "logs" / "mount-unused.log").exists())
        self.assertEqual({row["figures"]["images"] for row in rows}, {32})

    def test_what_needs_no_mount_mounts_nothing(self):
        self.sweep("--only=place=disk")
        self.assertFalse((self.place / "mounts").exists())

    def test_another_tier_behind_a_mount_is_another_definition(self):
        self.sweep()
        (self.dir / "sweep.yaml").write_text(SWEEP.replace("metadata_latency_ms: 10", "metadata_latency_ms: 11"))
        self.assertIn("holds results of another definition", self.sweep(code=2).stderr)

    def test_a_preparation_may_use_the_experiment(self):
        base, mounts = SWEEP.split("mounts:")
        (self.dir / "sweep.yaml").write_text(
            base + "mounts:" + mounts.replace(str(MINI), "made/train") +
            "prepare: [{creates: made, run: [dataset, convert, \"${STOKER_SWEEP_BASE}\", made, --format=image_folder]}]\n")
        self.sweep()
        self.assertEqual([row["status"] for row in self.rows()], 3 * ["ok"])
        self.assertTrue((self.dir / "made").exists())


class Ends(Mounts):
    def test_a_signal_unmounts(self):
        process = self.started()
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(), 75, process.output + process.log)
        self.assertEqual(self.mounts(), [])

    def test_a_killed_sweep_leaves_no_mount(self):
        self.started().kill()
        until(lambda: not self.mounts(), self.mounts, seconds=30)
        self.assertEqual([row["status"] for row in self.completed()], 3 * ["ok"])

    def completed(self):
        self.sweep()
        self.assertEqual(self.mounts(), [])
        return self.rows()

    def test_what_is_left_where_all_are_killed_is_cleaned_up(self):
        process = self.started()
        served = next(int(process.name) for process in pathlib.Path("/proc").glob("[0-9]*") if self.is_served_by(process))
        process.send(signal.SIGSTOP)
        os.kill(served, signal.SIGKILL)
        process.kill()
        self.assertEqual(self.mounts(), ["slow"])
        with self.assertRaises(OSError):
            list(self.points[0].iterdir())
        self.assertEqual([row["status"] for row in self.completed()], 3 * ["ok"])

    def is_served_by(self, process):
        with contextlib.suppress(OSError):  # it has ended, or where it is is nobody's business
            words = (process / "cmdline").read_bytes()
            return b"mounts.yaml\0slow\0" in words and (process / "cwd").resolve() == self.dir.resolve()
        return False

    def test_somebody_unmounts_it(self):
        (self.dir / "sweep.yaml").write_text(SWEEP.replace("training:  {max_steps: 4}", "training:  {max_steps: 40}"))
        process = self.start("sweep", "sweep.yaml", "repeat=100", "--only=place=slow (mounted)")
        process.until(lambda: (self.place / "results.json").exists() and len(self.rows()) >= 1)
        subprocess.run(["umount", "-l", self.points[0]], check=True)
        self.assertEqual(process.wait(), 3, process.log)
        self.assertIn("mounts: slow: it is no longer mounted", process.log)

    def refused(self, done):
        self.assertEqual(list(self.place.glob("runs/*")), [])
        self.assertEqual(self.mounts(), [])
        return done

    def test_a_place_that_cannot_be_mounted_is_an_error_before_the_first_run(self):
        self.points[1].mkdir(parents=True)
        (self.points[1] / "mine").touch()
        (self.place / "sweep.yaml").touch()
        self.assertRegex(self.refused(self.sweep(code=3)).stderr, "mounts: slower_2: .*it is not empty")

    def test_without_fuse_too(self):
        if os.geteuid() != 0:
            self.skipTest("only root can hide /dev/fuse")
        process = Process(["sweep", "sweep.yaml"], self.dir, before=["unshare", "-m", "sh", "-c", NO_FUSE, self.dir])
        self.assertEqual(process.wait(), 3, process.log)
        self.assertRegex(self.refused(process).log, "mounts: slow: .*/dev/fuse")

    def test_what_a_mount_may_be_called_and_told(self):
        (self.dir / "sweep.yaml").write_text(SWEEP.replace("  slow: {", "  slow-1: {"))
        self.assertIn("must have names of letters, digits and _", self.sweep("--check", code=2).stderr)
        (self.dir / "sweep.yaml").write_text(SWEEP.replace("--mode=drop", "--mode=none"))
        self.assertRegex(self.sweep("--check", code=2).stderr, r"sweep.yaml:15:\d+: .*none.*\(in mounts\)")
        (self.dir / "sweep.yaml").write_text(SWEEP.replace("MOUNT_slow}", "MOUNT_fast}"))
        self.assertRegex(self.sweep("--check", code=2).stderr, "is the .* in it set")


if __name__ == "__main__":
    unittest.main()
