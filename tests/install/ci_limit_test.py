#!/usr/bin/env python3
""".ci/run beyond its limit: it ends all that it has begun, says what was under way, prints what that had printed, and fails."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from stoker import PATIENCE_S, SOURCE, until

SETUP = """
say() { echo "$*" >&2; }
install_for_tests() { echo installed; }
install_packages() { :; }
core_seconds() { echo 0; }
"""
# Stands for a step: it says so, leaves a process that waits, and one that its parent has left.
STEP = """#!/usr/bin/env bash
echo "$(basename "$0") $* was here"
sleep 4711 &
echo $! >>pids
( trap 'echo "$0: last words"; exit 1' TERM; sleep 4711 & echo $! >>pids; wait )
"""


def running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class CiLimit(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="stoker-test-")))
        for folder in (".ci", "cmake", "docker", "tests/install"):
            (self.dir / folder).mkdir(parents=True)
        shutil.copy(SOURCE / ".ci/run", self.dir / ".ci/run")
        (self.dir / "cmake/setup.sh").write_text(SETUP)
        for step in ("test.sh", "docker/lint.sh", "docker/test.sh", "tests/install/bare_root.sh"):
            (self.dir / step).write_text(STEP)
            (self.dir / step).chmod(0o755)

    def test_what_runs_too_long_is_ended_and_leaves_a_record(self):
        done = subprocess.run([".ci/run", "2"], cwd=self.dir, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"stopped after 2 s, the limit of a run. Under way: (tests,Debian 13|Debian 13,tests)\n")
        self.assertRegex(done.stderr, r"passed  packages of the tests\n")
        self.assertRegex(done.stderr, r"(?m)^ +\d+ s  sleep 4711 $")
        self.assertIn("test.sh  was here", done.stdout)
        self.assertIn("bare_root.sh trixie", done.stderr)  # the log of what ran beside
        self.assertIn("bare_root.sh: last words", done.stderr)
        for pid in map(int, (self.dir / "pids").read_text().split()):
            until(lambda: not running(pid), lambda: f"{pid} goes on", 20)

    def test_who_ends_it_ends_its_steps(self):
        process = subprocess.Popen([".ci/run"], cwd=self.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        until(lambda: len((self.dir / "pids").read_text().split()) == 4, lambda: "no steps", PATIENCE_S)
        process.terminate()
        process.wait(PATIENCE_S)
        for pid in map(int, (self.dir / "pids").read_text().split()):
            until(lambda: not running(pid), lambda: f"{pid} goes on", 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
