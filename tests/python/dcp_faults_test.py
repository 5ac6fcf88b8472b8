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
    import torch
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


class Value:
    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        if self.value == "bad":
            raise RuntimeError("it cannot be pickled now")
        return Value, (self.value,)


def train_where_one_rank_raises(rank, folder):
    """By a value and by another shape: one save is lost by each, on all ranks. A step that is saved again replaces its set."""
    training = Training()
    with stoker.dcp.StorageWriter(sections(folder, keep_last=20, hang_seconds=5)) as writer:

        def save(step, asynchronous, bad="", shape=50, value=None):
            training.go_to(step if value is None else value)
            state = {**training.state(), f"value{rank}": Value(bad), f"own{rank}": torch.ones(shape)}
            if asynchronous:
                dcp.async_save(state, storage_writer=writer.at(step)).result()
            else:
                dcp.save(state, checkpoint_id=str(step), storage_writer=writer)

        def refused(*arguments, **keywords):
            try:
                save(*arguments, **keywords)
            except BaseException as error:  # noqa: BLE001  DCP's own
                return str(error)
            raise AssertionError(f"it has saved {arguments}, {keywords}")

        save(1, False)
        for first, asynchronous in ((2, False), (4, True)):
            assert "cannot be pickled" in refused(first, asynchronous, bad="bad" if rank else "")
            save(first + 1, asynchronous)
        assert "not those of the first save" in refused(6, True, shape=51 if rank else 50)
        save(7, True, value=70)
        save(7, False)
        save(3, True, value=30)
        save(3, True)
        save(8, False)
        save(2, False)
        assert writer.lost == 0, writer.last_error


def save_large_values(rank, folder):
    """More than the 8 MiB that the store of the ranks takes at once, as base64."""
    state = {"weight": torch.ones(3), f"value{rank}": os.urandom(13 << 19) if rank else b""}
    with stoker.dcp.StorageWriter(sections(folder)) as writer:
        dcp.save(state, checkpoint_id="1", storage_writer=writer)
        assert writer.lost == 0, writer.last_error
    dist.barrier()
    loaded = {**state, f"value{rank}": None}
    dcp.load(loaded, storage_reader=stoker.dcp.StorageReader(sections(folder)))
    assert loaded[f"value{rank}"] == state[f"value{rank}"]


def work_alone(rank, folder):
    """What one rank does by itself keeps no other one waiting."""
    config = sections(folder)
    if rank == 0:
        assert stoker.dcp.StorageReader(config).newest() == 1
        state = {"weight": torch.zeros(3)}
        dcp.load(state, storage_reader=stoker.dcp.StorageReader(config), no_dist=True)
        assert bool((state["weight"] == 1).all())
        with stoker.dcp.StorageWriter(config) as writer:
            dcp.save(state, checkpoint_id="2", storage_writer=writer, no_dist=True)
            assert writer.lost == 0, writer.last_error
        late = stoker.dcp.StorageReader(config)
        late._ranks.patience_s = 0.1
        try:
            late._ranks.meet("steps", "")
            raise AssertionError("it has loaded without rank 1")
        except stoker.Error as error:
            assert "rank 1 has not come" in str(error), error
    dist.barrier()
    with stoker.dcp.StorageWriter(config) as writer:
        dcp.save({"weight": torch.ones(3)}, checkpoint_id="3", storage_writer=writer)
        assert writer.lost == 0, writer.last_error


def save_twice_at_once(_, folder):
    """Two first saves, of which the second begins before the first is in the engine; and a key that becomes a tensor."""
    with stoker.dcp.StorageWriter(sections(folder, keep_last=9)) as writer:
        saves = [dcp.async_save({"a": torch.full((9,), step), "b": 0}, storage_writer=writer.at(step)) for step in (1, 2)]
        for each in saves:
            each.result()
        assert writer.lost == 0 and writer.status()["saved"] == 2, (writer.last_error, writer.status())
        try:
            dcp.async_save({"a": torch.full((9,), 3), "b": torch.zeros(1)}, storage_writer=writer.at(3)).result()
            raise AssertionError("saved other tensors")
        except BaseException as error:  # noqa: BLE001  DCP's own
            assert "the tensors are not those of the first save" in str(error), error
        dcp.async_save({"a": torch.full((9,), 4), "b": 0}, storage_writer=writer.at(4)).result()
    assert sorted(stoker.dcp.StorageReader(sections(folder))._sets.steps()) == [1, 2, 4]


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

    def test_what_one_rank_does_is_of_one_save(self):
        folder = self.folder / "raises"
        in_ranks(2, train_where_one_rank_raises, folder)
        self.assertIn("steps 1 2 3 5 7 8", in_ranks(0, check_sets, folder, "direct"))
        in_ranks(2, save_large_values, self.folder / "large")
        in_ranks(2, work_alone, self.folder / "large")
        in_ranks(1, save_twice_at_once, self.folder / "twice")

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
