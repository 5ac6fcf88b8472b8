"""`stoker run --tier`: a program sees a folder through an emulated tier, and nobody else does."""
import hashlib
import json
import os
import pathlib
import subprocess
import unittest

from stoker import STOKER, StokerTest, mounted, stoker, until, why_no_mount

KIB = 1 << 10
AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
# A /dev/fuse that everybody may use, as distributions have it, in mounts of its own.
OPEN_FUSE = 'mknod "$0" c 10 229 && chmod 666 "$0" && mount --bind "$0" /dev/fuse && exec "$@"'


class TierTest(StokerTest):
    BESIDE = "/var/tmp"  # where another user may look

    def setUp(self):
        super().setUp()
        if reason := why_no_mount():
            self.skipTest(reason)
        self.dir = self.dir.resolve()
        self.data = self.dir / "data"
        (self.data / "sub").mkdir(parents=True)
        self.files = {name: os.urandom(size * KIB) for name, size in (("a", 300), ("sub/b", 20))}
        for name, content in self.files.items():
            (self.data / name).write_bytes(content)
        self.bytes = sum(map(len, self.files.values()))

    def needs_the_program(self):
        if subprocess.run([*AS_NOBODY, STOKER, "version"], check=False, capture_output=True, cwd="/").returncode != 0:
            self.skipTest("another user cannot run the program where it lies")

    def run_in(self, tiers, script, *options, code=0, cwd=None, before=()):
        """(what the script printed, the figures)"""
        tiers = [word for tier in tiers for word in ("--tier", tier)]
        done = stoker("run", *tiers, "--log", self.dir / "log.darshan", "--json", *options, "--", "sh", "-c", script,
                      cwd=cwd or self.dir, code=code, before=before)
        *printed, figures = done.stdout.rstrip("\n").split("\n")
        return "\n".join(printed), json.loads(figures)


class Seen(TierTest):
    def test_the_bytes_are_those_of_the_folder_and_each_read_is_counted_on_the_device(self):
        printed, figures = self.run_in(["data/=hdd"], f"sha256sum data/a {self.data}/sub/b; grep -c '{self.data}' /proc/self/mounts")
        self.assertEqual([line.split()[0] for line in printed.split("\n")[:2]],
                         [hashlib.sha256(content).hexdigest() for content in self.files.values()])
        self.assertEqual(printed.split("\n")[2], "1")
        tier, = figures["tiers"]
        self.assertEqual((tier["folder"], tier["tier"], tier["page_cache"]), (str(self.data), "hdd", "drop"))
        self.assertEqual((tier["files"], tier["opens"], tier["bytes_read"]), (2, 2, self.bytes))
        self.assertEqual(tier["failed"], 0)
        self.assertGreater(tier["modelled_s"], 0)
        self.assertGreaterEqual(tier["waited_s"], tier["modelled_s"] / 2)
        self.assertFalse(mounted(self.data))
        names = stoker("darshan", self.dir / "log.darshan", cwd=self.dir).stdout
        self.assertIn("sub/b", names)

    def test_a_second_read_is_charged_again_unless_the_page_cache_keeps_it(self):
        for mode, times in (("drop", 2), ("cached", 1)):
            _, figures = self.run_in(["data=ssd"], "cat data/a > x; cat data/a > x", "--tier-cache", mode)
            self.assertEqual(figures["tiers"][0]["bytes_read"], times * len(self.files["a"]), mode)

    def test_nothing_can_be_written_there(self):
        printed, _ = self.run_in(["data={read_mb_per_s: 1000, write_mb_per_s: 1000}"], "touch data/new 2>&1; echo x > data/a", code=2)
        self.assertIn("Read-only file system", printed)
        self.assertEqual((self.data / "a").read_bytes(), self.files["a"])

    def test_a_working_folder_inside_is_on_the_tier_and_tiers_may_lie_in_one_another(self):
        printed, figures = self.run_in([f"{self.data}=ssd", f"{self.data}/sub=optane"], "cat a sub/b | wc -c", cwd=self.data)
        self.assertEqual(int(printed), self.bytes)
        self.assertEqual([tier["bytes_read"] for tier in figures["tiers"]], [len(content) for content in self.files.values()])

    def test_nobody_else_sees_it_and_nothing_of_it_is_left_when_stoker_is_killed(self):
        process = self.start("run", "--tier", "data=hdd", "--log", "x.darshan", "--", "sh", "-c", "echo $$ > pid; exec sleep 100")
        file = self.dir / "pid"
        child = int(until(lambda: file.exists() and file.read_text().strip(), lambda: process.log, alive=process.alive))
        self.addCleanup(lambda: subprocess.run(["kill", "-9", str(child)], check=False, stderr=subprocess.DEVNULL))
        self.assertFalse(mounted(self.data))
        self.assertIn(str(self.data), pathlib.Path(f"/proc/{child}/mounts").read_text())
        process.kill()
        self.assertEqual((self.data / "a").read_bytes(), self.files["a"])

    def test_a_user_without_rights_gets_it_in_a_namespace_where_he_is_himself(self):
        before = []
        if os.geteuid() == 0:
            if subprocess.run([*AS_NOBODY, "unshare", "-Urm", "true"], check=False, capture_output=True).returncode != 0:
                self.skipTest("users have no namespaces here")
            self.needs_the_program()
            for path in self.dir, self.data, self.data / "sub":
                os.chown(path, 65534, 65534)
            before = ["unshare", "-m", "sh", "-c", OPEN_FUSE, str(self.dir / "fuse"), *AS_NOBODY]
        user = 65534 if before else os.geteuid()
        printed, figures = self.run_in(["data=nfs"], "id -u; cat data/a data/sub/b | wc -c", before=before)
        self.assertEqual(printed.split(), [str(user), str(self.bytes)])
        self.assertEqual(figures["tiers"][0]["bytes_read"], self.bytes)


class Refused(TierTest):
    def test_a_tier_that_is_none_and_a_folder_that_is_none(self):
        for tier, code, words in (("data=hd", 2, "did you mean 'hdd'"), ("data", 2, "give a folder"),
                                  ("none=hdd", 3, "name a folder"), ("data/a=hdd", 3, "name a folder")):
            done = stoker("run", "--tier", tier, "--", "true", cwd=self.dir, code=code)
            self.assertIn(words, done.stderr)

    def test_a_user_who_may_not_use_fuse_is_told_what_to_do(self):
        if os.geteuid() != 0 or os.stat("/dev/fuse").st_mode & 6:
            self.skipTest("everybody may use /dev/fuse here")
        self.needs_the_program()
        self.dir.chmod(0o755)
        done = stoker("run", "--tier", f"{self.data}=hdd", "--", "true", cwd="/", code=3, before=AS_NOBODY)
        self.assertIn("run it as root", done.stderr)


if __name__ == "__main__":
    unittest.main()
