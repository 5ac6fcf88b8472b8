#!/usr/bin/env python3
"""stoker.File and stoker.save: whole or not there, whatever fails; and PyTorch's own files."""
import importlib.util
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import stoker
from shortages import small_disk

HAS_TORCH = importlib.util.find_spec("torch") is not None
OLD, NEW = b"old" * 1000, b"new" * 100_000


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stoker-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "model.pt"

    def expect(self, data, path=None):
        """What is there, and nothing beside it."""
        self.assertEqual((path or self.path).read_bytes(), data)
        self.assertEqual([path.name for path in (path or self.path).parent.iterdir()], [self.path.name])


class FileTest(FolderTest):
    def test_the_new_file_takes_the_place_of_the_old_one_when_it_is_closed(self):
        self.path.write_bytes(OLD)
        self.path.chmod(0o640)
        with stoker.File(self.path) as file:
            file.write(NEW)
            file.flush()
            self.assertEqual(self.path.read_bytes(), OLD)
        self.expect(NEW)
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o640)
        file.close()
        self.expect(NEW)

    def test_it_is_synced_before_it_has_its_name_and_its_folder_after(self):
        calls = []
        sync, replace = os.fsync, os.replace
        self.addCleanup(setattr, os, "fsync", sync)
        self.addCleanup(setattr, os, "replace", replace)
        os.fsync = lambda descriptor: (calls.append(os.readlink(f"/proc/self/fd/{descriptor}")), sync(descriptor))
        os.replace = lambda old, new: (calls.append("rename"), replace(old, new))
        with stoker.File(self.path) as file:
            file.write(NEW)
        self.assertRegex(calls[0], r"/\.model\.pt\.\w+\.tmp$")
        self.assertEqual(calls[1:], ["rename", os.path.realpath(self.folder)])

    def test_a_file_that_is_not_closed_leaves_nothing(self):
        self.path.write_bytes(OLD)
        with self.assertRaises(KeyError), stoker.File(self.path) as file:
            file.write(NEW)
            raise KeyError
        self.expect(OLD)
        file = stoker.File(self.path)
        file.write(NEW)
        del file
        self.expect(OLD)
        file = stoker.File(self.path)
        if (child := os.fork()) == 0:
            file.__del__()
            os._exit(0)
        os.waitpid(child, 0)
        file.write(NEW)
        file.close()
        self.expect(NEW)

    def test_a_link_stays_and_what_it_leads_to_is_replaced(self):
        (self.folder / "deep").mkdir()
        target = self.folder / "deep/model.pt"
        target.write_bytes(OLD)
        self.path.symlink_to(target)
        with stoker.File(self.path) as file:
            file.write(NEW)
        self.assertTrue(self.path.is_symlink())
        self.expect(NEW, target)

    def test_what_is_no_file_is_refused(self):
        for path in (self.folder, "/dev/null"):
            with self.assertRaisesRegex(stoker.Error, "is no regular file"):
                stoker.File(path)
        with self.assertRaisesRegex(FileNotFoundError, "there is no such folder: make it first: '.*/nowhere'"):
            stoker.File(self.folder / "nowhere/model.pt")
        with self.assertRaisesRegex(stoker.Error, "new/' is the name of a folder"):
            stoker.File(f"{self.folder}/new/")
        with stoker.File(os.fsencode(self.folder / "bytes.pt")) as file:
            file.write(b"x")
        self.assertEqual((self.folder / "bytes.pt").read_bytes(), b"x")

    def test_a_full_disk_leaves_the_old_one(self):
        disk = small_disk(self, self.folder / "small", "300k")
        path = disk / "model.pt"
        path.write_bytes(OLD)
        for data in (NEW, b"x" * 400_000, b"y" * 3_000_000):
            with self.assertRaises(OSError), stoker.File(path) as file:
                file.write(data)
                file.write(b"z" * 400_000)
            self.expect(OLD, path)
        with self.assertRaises(OSError):  # whoever goes on in spite of an error
            file = stoker.File(path)
            try:
                file.write(b"y" * 3_000_000)
            except OSError:
                pass
            file.close()
        self.expect(OLD, path)

    def test_a_failed_sync_is_a_failed_file(self):
        self.path.write_bytes(OLD)

        def fail(_):
            raise OSError(5, "Input/output error")

        self.addCleanup(setattr, os, "fsync", os.fsync)
        os.fsync = fail
        with self.assertRaises(OSError), stoker.File(self.path) as file:
            file.write(NEW)
        self.expect(OLD)

    def test_kills_leave_the_old_or_the_new_one(self):
        program = """
import pickle, sys, stoker
for number in range(1_000_000):
    with stoker.File(sys.argv[1]) as file:
        pickle.dump([number] * 50_000, file)
    print(number, flush=True)
"""
        seen = -1
        for kill in range(8):
            child = subprocess.Popen([sys.executable, "-c", program, self.path], stdout=subprocess.PIPE, text=True)
            for _ in range(2 + kill):
                acknowledged = int(child.stdout.readline())
            time.sleep(0.003 * kill)
            child.send_signal(signal.SIGKILL)
            rest, _ = child.communicate()
            acknowledged = max([acknowledged, *map(int, rest.split())])
            values = pickle.loads(self.path.read_bytes())
            self.assertEqual(set(values), {values[0]})
            self.assertIn(values[0], (acknowledged, acknowledged + 1))
            seen = values[0]
        self.assertGreaterEqual(seen, 0)


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class TorchTest(FolderTest):
    def test_save_is_torch_save(self):
        import torch

        state = {"weight": torch.arange(100_000), "step": 3}
        stoker.save(state, self.path)
        with stoker.File(self.folder / "other.pt") as file:
            torch.save(state, file)
        for path in (self.path, self.folder / "other.pt"):
            loaded = torch.load(path)
            self.assertEqual(loaded["step"], 3)
            self.assertTrue(loaded["weight"].equal(state["weight"]))

    def test_a_full_disk_is_said_by_its_name(self):
        import torch

        disk = small_disk(self, self.folder / "small", "300k")
        path = disk / "model.pt"
        path.write_bytes(OLD)
        with self.assertRaises(OSError) as caught:
            stoker.save({"weight": torch.zeros(1_000_000)}, path)
        self.assertEqual(caught.exception.errno, 28)
        self.expect(OLD, path)


if __name__ == "__main__":
    unittest.main()
