#!/usr/bin/env python3
"""stoker.dcp where a tier fails: a full disk, a full quota, an error, one that does not answer. No training ends."""
import errno
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from dcp_ranks import MISSING, PATIENCE_S, Training, check_sets, in_ranks, sections
from shortages import disk_that_freezes, silent_disk, small_disk

PROGRAM = os.environ.get("STOKER")
FAULTS = pathlib.Path(PROGRAM).parents[1] / "tests/libfile_faults.so" if PROGRAM else None
LAST = 5
MORE = ((errno.EDQUOT, "mkdir", "[01]"), (errno.EIO, "write", "[01]")) if os.environ.get("STOKER_LONG") else ()

if not MISSING:
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp

    import stoker.dcp


def train(rank, folder, lost=None, between=None, asynchronous=False, columns=Training.COLUMNS, **checkpoint):
    """All steps; how many saves were lost is as expected, and known to the object."""
    training = Training(columns)
    with stoker.dcp.StorageWriter(sections(folder, **checkpoint)) as writer:
        for step in range(1, LAST + 1):
            training.go_to(step)
            if asynchronous:
                dcp.async_save(training.state(), storage_writer=writer.at(step)).result()
            else:
                dcp.save(training.state(), checkpoint_id=str(step), storage_writer=writer)
            if between is not None:
                between(rank, step)
        assert lost is None or writer.lost == lost, (writer.lost, writer.last_error, writer.status())
        assert writer.lost == 0 or writer.last_error
        print("rank", rank, "lost", writer.lost, writer.last_error, flush=True)


def train_in_pieces(rank, folder, between):
    train(rank, folder, 2, between, columns=400_000, staging_memory="64MiB")


def train_on_a_silent_tier(rank, folder):
    train(rank, folder, LAST, hang_seconds=0.3)


def train_on_a_tier_that_hangs_for_a_while(rank, folder, disk):
    """The second and the third save find it so."""
    training = Training()
    with stoker.dcp.StorageWriter(sections(folder, hang_seconds=0.5, keep_last=9)) as writer:
        for step in range(1, LAST + 1):
            if rank == 0 and step in (2, 4):
                subprocess.run(["fsfreeze", "--freeze" if step == 2 else "--unfreeze", disk], check=True)
            dist.barrier()
            give_up = time.monotonic() + PATIENCE_S
            while step == 4 and writer.status()["hung"]:
                assert time.monotonic() < give_up, writer.status()
                time.sleep(0.02)
            dist.barrier()
            training.go_to(step)
            dcp.save(training.state(), checkpoint_id=str(step), storage_writer=writer)
            if step == 3:
                assert writer.status()["hung"], writer.status()
        assert writer.status()["saved_step"] == LAST, writer.status()


@unittest.skipIf(MISSING, MISSING)
class FaultTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stoker-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def steps(self):
        return sorted(int(path.name[5:]) for path in self.folder.glob("slow/trial/step-*"))

    def test_a_disk_that_is_full_for_a_while(self):
        """A set has 270 kB: one is there, then there is no room, then there is."""
        disk = small_disk(self, self.folder / "slow", "400k")

        def between(rank, step):
            if rank == 0 and step == 3:
                subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)

        for asynchronous in (False, True):
            with self.subTest(asynchronous=asynchronous):
                subprocess.run(["mount", "-o", "remount,size=400k", disk], check=True)
                output = in_ranks(2, train, self.folder, 2, between, asynchronous)
                self.assertRegex(output, "rank 0 lost 2 .*No space left on device")
                self.assertEqual(self.steps(), [1, 4, 5])
                for path in (self.folder / "slow").iterdir():
                    subprocess.run(["rm", "-r", path], check=True)

    def test_a_full_disk_where_a_state_goes_through_memory_that_is_less_than_it(self):
        disk = small_disk(self, self.folder / "slow", "100m")

        def between(rank, step):
            if rank == 0 and step == 2:
                subprocess.run(["mount", "-o", "remount,size=900m", disk], check=True)

        output = in_ranks(2, train_in_pieces, self.folder, between)
        self.assertRegex(output, "rank 0 lost 2 .*No space left on device")
        self.assertEqual(self.steps(), [3, 4, 5])

    def test_a_quota_and_an_error_as_the_kernel_reports_them(self):
        """EDQUOT is injected: a real quota needs a kernel that has them, and few machines for tests do."""
        if FAULTS is None or not FAULTS.exists():
            self.skipTest("libfile_faults is not built here")
        # Where there is no space a second attempt is of no use; each rank may meet it once.
        for error, call, lost in ((errno.EDQUOT, "reserve", "[12]"), (errno.EIO, "sync", "[01]"), *MORE):
            with self.subTest(error=errno.errorcode[error], call=call):
                folder = self.folder / f"{error}-{call}"
                (folder / "slow").mkdir(parents=True)
                environment = {**os.environ, "LD_PRELOAD": str(FAULTS), "FAULTS_UNDER": str(folder),
                               "FAULTS_LOG": str(self.folder / "log"), "FAULTS_STRIKE": f"{call} 1 {error} slow/trial*"}
                done = subprocess.run([sys.executable, "-c", f"""
from dcp_faults_test import in_ranks, train
print(in_ranks(2, train, {str(folder)!r}))"""], env=environment, cwd=pathlib.Path(__file__).parent,
                                      capture_output=True, text=True, check=False)  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertRegex(done.stdout, f"rank 0 lost {lost} ")
                self.assertTrue((self.folder / "log").read_text(), "no call has failed")
                (self.folder / "log").unlink()
                newest = max(folder.glob("slow/trial/step-*"))
                self.assertEqual(newest.name, f"step-{LAST:010d}")

    def test_a_tier_that_does_not_answer(self):
        silent_disk(self, self.folder / "slow")
        output = in_ranks(2, train_on_a_silent_tier, self.folder)
        for rank in range(2):
            self.assertIn(f"rank {rank} lost {LAST} a tier did not answer within 0.3 s", output)

    def test_a_tier_that_does_not_answer_for_a_while(self):
        disk = disk_that_freezes(self, self.folder / "slow")
        in_ranks(2, train_on_a_tier_that_hangs_for_a_while, self.folder, disk)
        steps = in_ranks(0, check_sets, self.folder, "direct").split("steps", 1)[1].split()
        self.assertLessEqual({1, 4, 5}, set(map(int, steps)))

    def test_a_tier_that_is_no_folder_until_it_is_one(self):
        (self.folder / "slow").write_text("")

        def between(rank, step):
            if rank == 0 and step == 2:
                (self.folder / "slow").unlink()

        output = in_ranks(2, train, self.folder, 2, between)
        self.assertIn("rank 0 lost 2", output)
        self.assertEqual(self.steps(), [3, 4, 5])


if __name__ == "__main__":
    unittest.main()
