"""`stoker cold` on real files: what is cached, evicted, held back, and what cannot be known."""
import json
import mmap
import os
import subprocess
import tempfile
import unittest

from stoker import MINI, STOKER, StokerTest, emulated, flow, mounted, posix, stoker, why_no_mount

MIB = 1 << 20
MISSED = 7


def type_of(path):
    return subprocess.run(["stat", "-f", "-c", "%T", path], check=True, capture_output=True, text=True).stdout.strip()


class ColdTest(StokerTest):
    BESIDE = "/var/tmp"  # where another user may look

    def setUp(self):
        super().setUp()
        self.data = self.dir / "data"
        (self.data / "sub").mkdir(parents=True)
        self.a = self.write("a", 2 * MIB)
        self.b = self.write("sub/b", MIB)
        self.write("empty", 0)

    def write(self, name, size):
        file = self.data / name
        file.write_bytes(os.urandom(size))
        return file

    def cold(self, *arguments, code=0):
        return json.loads(stoker("cold", *arguments, "--json", cwd=self.dir, code=code).stdout)

    def on_disk(self):
        if type_of(self.data) in ("tmpfs", "ramfs"):
            self.skipTest("the temporary directory is memory")


class OnDisk(ColdTest):
    def setUp(self):
        super().setUp()
        self.on_disk()

    def test_what_was_written_is_cached_and_what_was_evicted_is_cold_until_it_is_read(self):
        before = self.cold(self.data)
        self.assertEqual(before["total"] | {"cached_share": 1}, before["total"])
        self.assertEqual((before["total"]["files"], before["total"]["bytes"]), (3, 3 * MIB))
        self.assertFalse(before["cold"])
        self.cold(self.data, "--certify", code=MISSED)

        evicted = self.cold(self.data, "--evict", "--certify")
        self.assertEqual((evicted["total"]["cached_bytes"], evicted["cached_bytes_before"]), (0, 3 * MIB))
        self.assertTrue(evicted["cold"])

        self.b.read_bytes()
        after = self.cold(self.data)
        self.assertEqual([entry["path"] for entry in after["entries"]][0], f"{self.data}/sub/")
        self.assertEqual(after["total"]["cached_bytes"], MIB)
        missed = self.cold(self.data, "--certify", code=MISSED)
        self.assertEqual([(one["path"], one["bytes"]) for one in missed["not_cold"]], [(str(self.b), MIB)])

    def test_ranges_are_the_bytes_that_were_read(self):
        self.cold(self.data, "--evict")
        with open(self.a, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            os.pread(file.fileno(), 100, MIB)
        entry = self.cold(self.a, "--ranges")["entries"][0]
        (begin, end), = entry["ranges"]
        self.assertLessEqual(begin, MIB)
        self.assertGreaterEqual(end, MIB + 100)
        self.assertEqual(end - begin, entry["cached_bytes"])

    def test_other_files_stay_and_links_and_names_count_once(self):
        other = self.dir / "other"
        other.write_bytes(bytes(MIB))
        os.link(self.a, self.data / "hard")
        (self.data / "soft").symlink_to(self.a)
        (self.data / "loop").symlink_to(self.data)
        os.mkfifo(self.data / "pipe")
        self.assertEqual(self.cold(self.data, "--evict")["total"]["bytes"], 3 * MIB)
        self.assertEqual(self.cold(other)["total"]["cached_bytes"], MIB)

    def test_who_has_mapped_what_stays_is_named(self):
        with open(self.a, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            sum(mapped[::4096])
            left = self.cold(self.data, "--evict", code=MISSED)
        one, = left["not_cold"]
        self.assertEqual(one["path"], str(self.a))
        self.assertIn(f"({os.getpid()})", one["why"])
        self.cold(self.data, "--evict", "--certify")

    def test_the_table_says_it_in_words(self):
        text = stoker("cold", self.data, cwd=self.dir).stdout
        self.assertRegex(text, r"total +3 +3\.1 MB +3\.1 MB +100\.0")
        self.assertIn("certified", stoker("cold", self.data, "--evict", "--certify", cwd=self.dir).stdout)

    def test_a_file_of_somebody_else_is_not_called_cold_without_knowing(self):
        if os.geteuid() != 0:
            self.skipTest("another user needs root")
        self.dir.chmod(0o755)
        self.cold(self.data, "--evict")
        self.a.chmod(0o600)
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*nobody, STOKER, "version"], check=False, capture_output=True, cwd="/").returncode != 0:
            self.skipTest("another user cannot run the program where it lies")
        done = stoker("cold", self.data, "--certify", "--json", cwd="/", code=MISSED, before=nobody)
        self.assertEqual([one["path"] for one in json.loads(done.stdout)["unreadable"]], [str(self.a)])


class Elsewhere(ColdTest):
    def test_tmpfs_is_never_cold_and_says_so(self):
        if not os.path.isdir("/dev/shm") or type_of("/dev/shm") != "tmpfs":
            self.skipTest("no tmpfs at /dev/shm")
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            file.write(bytes(MIB))
            file.flush()
            left = self.cold(file.name, "--evict", code=MISSED)
        self.assertEqual(left["total"]["cached_bytes"], MIB)
        self.assertIn("never cold", left["not_cold"][0]["why"])
        self.assertFalse(left["file_systems"][0]["known"])

    def test_what_a_program_serves_cannot_be_certified_but_an_emulated_tier_can(self):
        if reason := why_no_mount():
            self.skipTest(reason)
        tiers = {"data": posix(MINI), "slow": emulated(read_latency_ms=0.1)}
        self.config.write_text("storage: " + flow(**tiers) + "\n")
        at = (self.dir / "at").resolve()
        at.mkdir()
        self.addCleanup(lambda: mounted(at) and subprocess.run(["umount", "-l", at], check=False))
        for tier, code in (("data", MISSED), ("slow", 0)):
            process = self.start("mount", self.config, tier, at)
            self.assertTrue(process.wait_for("mounted tier"), process.log)
            result = self.cold(at, "--evict", "--certify", code=code)
            self.assertEqual(result["file_systems"][0]["type"], "fuse.stoker")
            self.assertEqual(result["total"]["cached_bytes"], 0)
            process.child.terminate()
            self.assertEqual(process.wait(), 75, process.log)

    def test_what_is_not_there_is_an_error(self):
        self.assertIn("No such file", stoker("cold", self.dir / "none", cwd=self.dir, code=3).stderr)


if __name__ == "__main__":
    unittest.main()
