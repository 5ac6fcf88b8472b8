#!/usr/bin/env python3
"""stoker.profile: bytes and files of this process and of worker processes."""
import importlib.util
import multiprocessing
import os
import pathlib
import tempfile
import unittest

import numpy

import stoker
from engine import run_python

HAS_TORCH = importlib.util.find_spec("torch") is not None


def read_all(path):
    return len(pathlib.Path(path).read_bytes())


def profiled_worker(folder, files):
    stoker.profile_worker(3, folder)
    for path in files:
        read_all(path)


class ProfileTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.files = []
        for number in range(5):
            self.files.append(self.folder / f"{number}.bin")
            self.files[-1].write_bytes(bytes(1000 * (number + 1)))

    def read(self, log):
        """The bytes of the files that the log of a process has."""
        rows = {pathlib.Path(row["path"]): row["bytes_read"] for row in stoker.profile.read(self.folder / log).files}
        return sum(rows.get(path, 0) for path in self.files)

    def logs(self):
        return sorted(path.name for path in self.folder.glob("*.darshan"))

    def test_counts_what_is_read_and_written_in_the_block(self):
        read_all(self.files[0])
        with stoker.profile(self.folder / "out.darshan", include=[str(self.folder)]) as p:
            for path in self.files:
                read_all(path)
            self.assertEqual(numpy.fromfile(self.files[4], dtype=numpy.uint8).size, 5000)
            descriptor = os.open(self.files[1], os.O_RDONLY)
            self.assertEqual(len(os.pread(descriptor, 700, 100)), 700)
            os.close(descriptor)
            (self.folder / "written").write_bytes(b"12345")
            with self.assertRaisesRegex(RuntimeError, "when its block has ended"):
                p.files  # noqa: B018
        read_all(self.files[0])
        self.assertEqual(p.bytes_read, 15000 + 5000 + 700)
        self.assertEqual(p.bytes_written, 5)
        rows = {pathlib.Path(row["path"]).name: row for row in p.files}
        self.assertEqual(rows["2.bin"]["bytes_read"], 3000)
        self.assertEqual(rows["written"]["bytes_written"], 5)
        self.assertGreater(p.seconds, 0)
        self.assertEqual(self.logs(), ["out.darshan"])
        self.assertEqual(stoker.profile.read(self.folder / "out.darshan").bytes_read, p.bytes_read)
        self.assertFalse([remark for remark in p.remarks if "forked" in remark])

    def test_is_one_at_a_time_and_again(self):
        with stoker.profile(include=[str(self.folder)]):
            with self.assertRaisesRegex(stoker.Error, "is open already") as caught, stoker.profile():
                pass
            self.assertEqual(caught.exception.code, 2)
        with stoker.profile(include=[str(self.folder)]) as p:
            read_all(self.files[0])
        self.assertEqual(p.bytes_read, 1000)

    def test_counts_data_wherever_they_lie_and_says_what_it_leaves_out(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            path = pathlib.Path(folder, "data.bin")
            path.write_bytes(bytes(7000))
            with stoker.profile() as p:
                read_all(path)
        self.assertEqual(p.bytes_read, 7000)
        self.assertTrue([remark for remark in p.remarks if remark.startswith("left out by name: files below /etc/, ")])

    def test_a_log_that_can_not_be_written_is_found_out_before_the_block(self):
        for path in (self.folder / "none/out.darshan", self.folder):
            with self.assertRaisesRegex(stoker.Error, "can't be written") as caught, stoker.profile(path):
                self.fail("the block runs")
            self.assertEqual(caught.exception.code, 3)
        with self.assertRaisesRegex(ValueError, "of the training"), self.assertLogs("stoker", "WARNING"):
            lost = self.folder / "gone/out.darshan"
            lost.parent.mkdir()
            with stoker.profile(lost):
                lost.parent.rmdir()
                raise ValueError("of the training")

    def test_leaves_out_what_it_is_told_to(self):
        with stoker.profile(exclude=[str(self.folder)]) as p:
            read_all(self.files[0])
        self.assertEqual(p.bytes_read, 0)

    def test_says_that_children_do_not_count(self):
        with stoker.profile(include=[str(self.folder)]) as p:
            child = os.fork()
            if child == 0:
                read_all(self.files[0])
                os._exit(0)
            os.waitpid(child, 0)
        self.assertNotIn(str(self.files[0]), [row["path"] for row in p.files])
        self.assertIn("1 processes were forked: their I/O is not in here", p.remarks[0])

    def test_worker_processes_leave_logs_of_their_own(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method):
                for log in self.folder.glob("*.darshan"):
                    log.unlink()
                worker = multiprocessing.get_context(method).Process(target=profiled_worker, args=(self.folder, self.files))
                worker.start()
                worker.join()
                self.assertEqual(worker.exitcode, 0)
                self.assertEqual(self.logs(), [f"worker-3-{worker.pid}.darshan"])
                self.assertEqual(self.read(self.logs()[0]), 15000)

    @unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
    def test_pytorchs_workers_count(self):
        run_python("""
import pathlib, sys, torch
class Files(torch.utils.data.Dataset):
    def __len__(self): return 40
    def __getitem__(self, index): return len(pathlib.Path(sys.argv[1], f"{index % 5}.bin").read_bytes())
with stoker.profile(pathlib.Path(sys.argv[1], "out.darshan")) as p:
    loader = torch.utils.data.DataLoader(Files(), batch_size=4, num_workers=2, worker_init_fn=stoker.profile_worker)
    assert sum(int(part.sum()) for part in loader) == 8 * 15000
logs = [stoker.profile.read(path) for path in pathlib.Path(sys.argv[1]).glob("worker-*.darshan")]
assert len(logs) == 2
read = sum(row["bytes_read"] for log in logs for row in log.files if row["path"].endswith(".bin"))
assert read == 8 * 15000, read
""", self.folder)


if __name__ == "__main__":
    unittest.main()
