"""`stoker mount` as other programs meet it: real mounts, read by cp, mmap and threads."""
import concurrent.futures
import errno
import hashlib
import json
import mmap
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

from stoker import MINI, StokerTest, emulated, flow, mounted, needed, posix, why_no_mount

PAGE = 4096
MIB = 1 << 20
# The longest there is: who waits for it is found waiting.
NEVER_MS = 60_000


def digests(root):
    return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(pathlib.Path(root).rglob("*")) if path.is_file()}


class MountTest(StokerTest):
    """Mounts TIERS of the configuration on self.at."""
    TIERS = {"slow": emulated(read_latency_ms=1, metadata_latency_ms=1)}

    def setUp(self):
        super().setUp()
        if reason := why_no_mount():
            self.skipTest(reason)
        self.dir = self.dir.resolve()
        self.at = self.dir / "at"
        self.at.mkdir()
        self.config.write_text("storage: " + flow(data=posix(MINI), **self.TIERS) + "\n")
        # Whatever a test leaves, the temporary directory can be removed.
        self.addCleanup(lambda: mounted(self.at) and subprocess.run(["umount", "-l", self.at], check=False))

    def mount(self, tier="slow", *arguments):
        process = self.start("mount", self.config, tier, self.at, "--json", *arguments)
        self.assertTrue(process.wait_for("mounted tier"), process.log)
        return process

    def end(self, process, number=signal.SIGTERM, code=75):
        """What it printed."""
        process.send(number)
        self.assertEqual(process.wait(), code, process.log)
        self.assertFalse(mounted(self.at))
        return json.loads(process.output)

    def statistics(self):
        return json.loads(os.getxattr(self.at, "user.stoker.statistics"))


class Contents(MountTest):
    TIERS = {"slow": emulated(read_latency_ms=0.1), "memory_like": flow(type="direct", root=MINI)}

    def test_cp_finds_every_file_in_every_mode_and_each_open_is_one_operation_on_metadata(self):
        cp = needed("cp", package="coreutils")
        expected = digests(MINI)
        size = sum(path.stat().st_size for path in MINI.rglob("*") if path.is_file())
        for mode in "cached", "direct", "drop":
            with self.subTest(mode):
                process = self.mount("slow", "--mode", mode)
                subprocess.run([cp, "-r", self.at, self.dir / mode], check=True)
                self.assertEqual(digests(self.dir / mode), expected)
                result = self.end(process)
                self.assertEqual(result["opens"]["requests"], len(expected))
                self.assertEqual(result["reads"]["bytes"], size)
                self.assertEqual(result["reads"]["failed"], 0)
                self.assertTrue(result["tiers"][0]["emulated"])

    def test_a_tier_that_is_not_emulated_is_served_as_well(self):
        for tier in "data", "memory_like":
            process = self.mount(tier)
            self.assertEqual(digests(self.at), digests(MINI))
            self.assertNotIn("own_cost", self.end(process))

    def test_attributes_are_those_of_the_listing_and_the_same_next_time(self):
        seen = []
        for _ in range(2):
            process = self.mount()
            seen.append([(path, path.stat().st_ino, path.stat().st_size, path.stat().st_mtime)
                         for path in sorted(self.at.rglob("*"))])
            self.end(process)
        self.assertEqual(*seen)
        self.assertEqual(len({number for _, number, _, _ in seen[0]}), len(seen[0]))
        self.assertEqual({path.relative_to(self.at): size for path, _, size, _ in seen[0] if size},
                         {path.relative_to(MINI): path.stat().st_size for path in MINI.rglob("*") if path.is_file()})

    def test_nothing_can_be_written(self):
        self.mount()
        file = next(path for path in self.at.rglob("*.jpg"))
        for change in (lambda: file.open("r+b"), file.unlink, lambda: (self.at / "new").touch(), (self.at / "d").mkdir):
            with self.assertRaises(OSError) as caught:
                change()
            self.assertEqual(caught.exception.errno, errno.EROFS)


class Large(MountTest):
    """One file of 8 MiB, so that requests are of known sizes."""
    BYTES = 8 * MIB

    def setUp(self):
        super().setUp()
        self.root = self.dir / "root"
        (self.root / "sub").mkdir(parents=True)
        self.data = os.urandom(self.BYTES)
        (self.root / "sub" / "file").write_bytes(self.data)
        self.config.write_text("storage: " + flow(
            slow=emulated(self.root, read_latency_ms=0.2, metadata_latency_ms=0.2),
            never=emulated(self.root, read_latency_ms=NEVER_MS),
            plain=flow(type="direct", root=self.root),
            lists=emulated(self.root, metadata_latency_ms=1)) + "\n")
        self.file = self.at / "sub" / "file"

    def map(self, flags=mmap.MAP_SHARED):
        with self.file.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ, flags=flags)

    def test_a_mapping_reads_what_is_there_in_every_mode(self):
        for mode in "cached", "direct", "drop":
            with self.subTest(mode):
                process = self.mount("slow", "--mode", mode)
                for flags in mmap.MAP_SHARED, mmap.MAP_PRIVATE:
                    try:
                        with self.map(flags) as mapping:
                            self.assertEqual(mapping[:], self.data)
                    except OSError as error:
                        # Before Linux 6.6.
                        self.assertEqual((mode, flags, error.errno), ("direct", mmap.MAP_SHARED, errno.ENODEV))
                self.end(process)

    def test_faults_without_read_ahead_are_requests_of_a_page(self):
        process = self.mount()
        with self.map() as mapping:
            mapping.madvise(mmap.MADV_RANDOM)
            for page in range(0, 512, 8):
                self.assertEqual(mapping[page * PAGE], self.data[page * PAGE])
        result = self.end(process)
        self.assertEqual(result["reads"]["by_size"], {"4096": 64})

    def test_direct_reads_are_requested_as_they_are_made(self):
        process = self.mount("slow", "--mode", "direct")
        with self.file.open("rb", buffering=0) as file:
            for offset, size in (0, 1), (4097, 5000), (MIB, MIB), (self.BYTES - 10, 100), (self.BYTES, 100):
                with mmap.mmap(-1, size) as memory:  # the begin of a page: else 1 MiB is two requests
                    got = os.preadv(file.fileno(), [memory], offset)
                    self.assertEqual(memory[:got], self.data[offset:offset + size])
            os.pread(file.fileno(), 1, 0)  # again: nothing was kept
        result = self.end(process)
        self.assertEqual(result["reads"]["requests"], 5)
        self.assertEqual(result["reads"]["bytes"], 1 + 5000 + MIB + 10 + 1)

    def test_read_ahead_sets_the_size_of_requests(self):
        process = self.mount("slow", "--read-ahead", "1MiB")
        if "--read-ahead 1048576 is left out" in process.log:
            self.skipTest("the read-ahead may not be set here")
        self.assertEqual(self.file.read_bytes(), self.data)
        self.assertIn("1048576", self.end(process)["reads"]["by_size"])

    def test_many_readers_at_once_get_what_is_there(self):
        process = self.mount("slow", "--mode", "direct")

        def read(number):
            with self.file.open("rb", buffering=0) as file:
                return all(os.pread(file.fileno(), 3000, offset) == self.data[offset:offset + 3000]
                           for offset in range(number, self.BYTES, self.BYTES // 20))

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.assertTrue(all(pool.map(read, range(64))))
        self.assertEqual(self.end(process)["opens"]["requests"], 64)

    def test_pages_stay_until_they_are_dropped(self):
        for drop in ("attribute", "signal"):
            with self.subTest(drop):
                process = self.mount()
                read = []
                with self.map() as mapping, self.file.open("rb") as file:
                    for again in range(3):
                        file.seek(0)
                        self.assertEqual(file.read(), self.data)
                        self.assertEqual(mapping[:], self.data)
                        read.append(self.statistics()["reads"]["bytes"])
                        if again == 1 and drop == "attribute":
                            self.assertEqual(os.getxattr(self.at, "user.stoker.drop"), b"1")
                        elif again == 1:
                            process.send(signal.SIGUSR2)
                            process.until(lambda: self.statistics()["drops"] == 1)
                self.assertEqual(read, [self.BYTES, self.BYTES, 2 * self.BYTES])
                self.assertEqual(self.end(process)["dropped_files"], 1)

    def test_in_mode_drop_a_file_is_read_anew_once_nobody_has_it_open(self):
        process = self.mount("slow", "--mode", "drop")
        self.file.read_bytes()
        self.file.read_bytes()  # an epoch later
        self.assertEqual(self.statistics()["reads"]["bytes"], 2 * self.BYTES)
        with self.file.open("rb"):
            self.file.read_bytes()
            self.file.read_bytes()  # others at the same time share the pages
        self.assertEqual(self.end(process)["reads"]["bytes"], 3 * self.BYTES)

    def test_an_end_frees_the_directory_and_those_who_wait(self):
        for number, code in (signal.SIGTERM, 75), (signal.SIGINT, 130):
            process = self.mount("never", "--mode", "direct")
            failed = []

            def read(failed=failed):
                try:
                    with self.file.open("rb", buffering=0) as file:
                        file.read(10)
                except OSError as error:
                    failed.append(error.errno)

            reader = threading.Thread(target=read)
            reader.start()
            process.until(lambda: self.statistics()["opens"]["requests"] == 1)
            self.end(process, number, code)
            reader.join()
            self.assertIn(failed, ([errno.ENOTCONN], [errno.ECONNABORTED]))

    def test_an_end_kills_who_reads_a_mapping(self):
        process = self.mount("never")
        reader = subprocess.Popen([sys.executable, "-c", "import mmap, sys; "
                                   "file = open(sys.argv[1], 'rb'); "
                                   "mapping = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ); "
                                   "mapping[0]", self.file])
        process.until(lambda: self.statistics()["opens"]["requests"] == 1)
        self.end(process)
        self.assertEqual(reader.wait(), -signal.SIGBUS)

    def test_who_unmounts_it_ends_it(self):
        process = self.mount()
        subprocess.run([needed("fusermount3", package="fuse3"), "-u", self.at], check=True)
        self.assertEqual(process.wait(), 0, process.log)
        self.assertIn('"opens"', process.output)

    def read_error(self, file):
        with self.assertRaises(OSError) as caught:
            file.read_bytes()
        return caught.exception.errno

    def test_a_file_that_is_longer_than_it_was_is_an_error_and_not_cut(self):
        (self.root / "empty").touch()
        (self.root / "small").write_bytes(b"0123456789")
        for tier in "slow", "plain":
            process = self.mount(tier)
            self.assertEqual((self.at / "empty").read_bytes(), b"")
            with (self.root / "small").open("ab") as file, (self.root / "empty").open("ab") as empty:
                file.write(b"x")
                empty.write(b"x")
            self.assertEqual(self.read_error(self.at / "small"), errno.EIO)
            self.assertEqual(self.read_error(self.at / "empty"), errno.EIO)
            os.truncate(self.root / "empty", 0)
            os.truncate(self.root / "small", 10)
            self.assertEqual((self.at / "empty").read_bytes(), b"")
            self.assertEqual((self.at / "small").read_bytes(), b"0123456789")
            result = self.end(process)
            self.assertIn("an object is not as long as when it was mounted: small; mount the tier again",
                          result["tiers"][0]["conditions"])

    def test_a_link_to_nothing_is_not_an_empty_file(self):
        (self.root / "dangling").symlink_to("nowhere")
        (self.root / "loop").symlink_to("loop")
        for tier in "slow", "plain":
            process = self.mount(tier)
            self.assertEqual(self.read_error(self.at / "dangling"), errno.ENOENT)
            self.assertEqual(self.read_error(self.at / "loop"), errno.ELOOP)
            self.end(process)

    def test_a_file_that_is_cut_below_is_an_error_of_the_read(self):
        process = self.mount()
        os.truncate(self.root / "sub" / "file", 100)
        with self.assertRaises(OSError) as caught:
            self.file.read_bytes()
        self.assertEqual(caught.exception.errno, errno.EIO)
        self.assertGreaterEqual(self.end(process)["reads"]["failed"], 1)


class Directories(MountTest):
    def refused(self, *arguments, code=3):
        return self.stoker("mount", self.config, "slow", *arguments, code=code).stderr

    def test_what_a_killed_one_left_is_cleared_by_the_next(self):
        process = self.mount()
        file = next(self.at.rglob("*.jpg")).open("rb")  # so that it is busy
        self.addCleanup(file.close)
        process.kill()
        with self.assertRaises(OSError) as caught:
            list(self.at.iterdir())
        self.assertEqual(caught.exception.errno, errno.ENOTCONN)
        process = self.mount()
        self.assertIn("unmounted what a killed", process.log)
        self.assertEqual(digests(self.at), digests(MINI))
        self.end(process)

    def test_a_directory_that_is_in_use_is_refused(self):
        process = self.mount()
        self.assertIn("another `stoker mount` serves it", self.refused(self.at))
        self.end(process)
        (self.at / "mine").touch()
        self.assertIn("not empty", self.refused(self.at))
        self.assertIn("No such file", self.refused(self.dir / "absent"))
        self.assertIn("type proc", self.refused("/proc"))

    def test_an_unknown_tier_or_mode_is_an_error_of_usage(self):
        self.assertIn("slwo", self.stoker("mount", self.config, "slwo", self.at, code=2).stderr)
        self.refused(self.at, "--mode", "fast", code=2)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to become somebody else")
    def test_another_user_gets_in_only_where_that_was_asked_for(self):
        # Below a directory of temporary files that others may not enter it would be refused for that alone.
        self.at = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="stoker-test-", dir="/var/tmp")))
        self.at.chmod(0o755)
        nobody = [needed("setpriv", package="util-linux"), "--reuid=65534", "--regid=65534", "--clear-groups"]
        file = next(MINI.rglob("*.jpg")).relative_to(MINI)
        for options, code in ((), 1), (("--allow-other",), 0):
            process = self.mount("slow", *options)
            done = subprocess.run([*nobody, "cat", self.at / file], capture_output=True, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            self.end(process)


if __name__ == "__main__":
    unittest.main()
