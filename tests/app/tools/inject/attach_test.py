"""`stoker run --pid`: programs that run already are counted, and go on as if nothing had been."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import unittest

from stoker import LONG, MINI, StokerTest, long, needed, stoker, until

PATIENCE_S = 60
READER = """
import os, sys, threading, time
files = [os.path.join(at, name) for at, _, names in os.walk(sys.argv[1]) for name in names]
def read():
    while True:
        for name in files:
            with open(name, "rb") as file: file.read()
for _ in range(3): threading.Thread(target=read, daemon=True).start()
while True:
    time.sleep(0.05); print(".", flush=True)
"""
SLEEPER = """
import time
while True:
    before = time.monotonic(); time.sleep(0.05); print("." if time.monotonic() - before >= 0.05 else "early", flush=True)
"""
FORKER = """
import os, sys
while True:
    if os.fork() == 0:
        open(sys.argv[1], "rb").read(); os._exit(0)
    os.wait(); print(".", flush=True)
"""

SPAWNER = """
import multiprocessing as m, os, sys, time
def read(root):
    files = [os.path.join(at, name) for at, _, names in os.walk(root) for name in names]
    while os.getppid() == parent:
        for name in files: open(name, "rb").read()
parent = os.getpid()
for _ in range(2): m.get_context("fork").Process(target=read, args=(sys.argv[1],), daemon=True).start()
while True:
    time.sleep(0.05); print(".", flush=True)
"""


class Target:
    """A program of somebody else, under way; what it prints is counted."""

    def __init__(self, test, *command):
        self.child = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.pid, self.lines, self.bad = self.child.pid, 0, []
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()
        test.addCleanup(self.end)

    def listen(self):
        for line in self.child.stdout:
            self.lines += 1
            if line.strip() != ".":
                self.bad.append(line)

    def end(self):
        self.child.kill()
        self.child.wait(PATIENCE_S)
        self.listener.join(PATIENCE_S)
        self.child.stdout.close()

    def goes_on(self):
        """It prints more, and no thread of it is stopped, traced, or has blocked signals."""
        before = self.lines
        until(lambda: self.lines > before + 1, lambda: "it prints nothing any more", PATIENCE_S, lambda: self.child.poll() is None)
        for thread in pathlib.Path(f"/proc/{self.pid}/task").iterdir():
            try:
                lines = dict(line.split(":\t", 1) for line in (thread / "status").read_text().splitlines() if ":\t" in line)
            except OSError:
                continue  # it has ended
            assert lines["State"][0] in "RSD" and lines["TracerPid"] == "0" and int(lines["SigBlk"], 16) == 0, lines
        assert not self.bad, self.bad


@unittest.skipUnless(os.uname().machine == "x86_64", "attaching is for x86-64")
class AttachTest(StokerTest):
    def python(self, script, *arguments):
        target = Target(self, sys.executable, "-c", script, *arguments)
        target.goes_on()
        return target

    def attach(self, target, *options, code=0, **others):
        done = stoker("run", "--pid", target.pid, "--log", self.dir / "log.darshan", "--json", *options, cwd=self.dir, code=code,
                      timeout=PATIENCE_S, **others)
        return json.loads(done.stdout) if code == 0 else done.stderr


class Attached(AttachTest):
    def test_a_program_that_reads_is_counted_again_and_again_and_goes_on(self):
        target = self.python(READER, MINI)
        for _ in range(3 if LONG else 2):
            figures = self.attach(target, "--seconds", "0.5")
            self.assertGreater(figures["io"]["reads"], 0)
            self.assertGreater(figures["io"]["bytes_read"], 0)
            self.assertEqual(figures["notes"], [])
            target.goes_on()
        self.assertIn(MINI.name, stoker("darshan", self.dir / "log.darshan", cwd=self.dir).stdout)

    def test_a_program_that_sleeps_sleeps_on(self):
        target = self.python(SLEEPER)
        for _ in range(3):
            self.assertEqual(self.attach(target, "--seconds", "0.3")["notes"], [])
            target.goes_on()

    @long
    def test_what_it_forks_is_counted(self):
        target = self.python(FORKER, MINI / "labels.csv" if (MINI / "labels.csv").exists() else next(MINI.rglob("*.jpg")))
        self.assertGreater(self.attach(target, "--seconds", "1")["io"]["processes"], 1)
        target.goes_on()

    def test_the_processes_of_a_program_are_counted_and_all_let_go_of(self):
        workers = self.python(SPAWNER, MINI)
        figures = self.attach(workers, "--seconds", "0.5")
        self.assertGreaterEqual(figures["io"]["processes"], 3)
        self.assertGreater(figures["io"]["reads"], 0)
        self.assertEqual(figures["notes"], [])
        workers.goes_on()

    @long
    def test_an_interrupt_ends_counting_and_not_the_program(self):
        target = self.python(READER, MINI)
        process = self.start("run", "--pid", target.pid, "--log", "log.darshan")
        self.assertTrue(process.wait_for("counting process"), process.log)
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_S), 0, process.log)
        self.assertTrue((self.dir / "log.darshan").exists())
        target.goes_on()

    def test_a_killed_stoker_leaves_it_running_and_the_next_one_takes_over(self):
        target = self.python(READER, MINI)
        process = self.start("run", "--pid", target.pid)
        self.assertTrue(process.wait_for("counting process"), process.log)
        self.assertIn("counts it already", self.attach(target, code=3))
        process.kill()
        target.goes_on()
        self.assertGreater(self.attach(target, "--seconds", "0.5")["io"]["reads"], 0)
        target.goes_on()

    def test_the_end_of_the_program_is_the_end(self):
        target = self.python(SLEEPER)
        process = self.start("run", "--pid", target.pid, "--log", "log.darshan")
        self.assertTrue(process.wait_for("counting process"), process.log)
        target.child.kill()
        self.assertEqual(process.wait(PATIENCE_S), 0, process.log)


class Refused(AttachTest):
    def test_what_is_not_there_and_what_is_stopped(self):
        target = self.python(SLEEPER)
        target.child.send_signal(signal.SIGSTOP)
        until(lambda: "T (stopped)" in pathlib.Path(f"/proc/{target.pid}/status").read_text(), lambda: "", PATIENCE_S)
        self.assertIn("it is stopped", self.attach(target, code=3))
        target.child.send_signal(signal.SIGCONT)
        target.goes_on()
        target.end()
        self.assertIn("there is none", self.attach(target, code=3))

    def test_a_program_of_somebody_else(self):
        if os.geteuid() != 0:
            self.skipTest("another user needs root")
        target = self.python(SLEEPER)
        self.dir.chmod(0o777)
        # The program may lie in a folder that only root may look into.
        reads = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *reads, "--"]
        self.assertIn("run it as that user or as root", self.attach(target, code=3, before=nobody))
        target.goes_on()

    def test_a_static_program_by_name(self):
        compiler = needed("cc", package="gcc")
        program = self.dir / "static"
        source = "void _start(void) { for (;;) __asm__ volatile(\"syscall\" :: \"a\"(34) : \"rcx\", \"r11\", \"memory\"); }"
        subprocess.run([compiler, "-static", "-nostdlib", "-x", "c", "-", "-o", program], input=source, text=True, check=True)
        target = Target(self, program)
        self.assertIn("statically linked", self.attach(target, code=3))

    def test_a_contradiction_on_the_command_line(self):
        for words in (["--pid", "1", "--", "true"], [], ["--seconds", "1", "--", "true"]):
            stoker("run", *words, cwd=self.dir, code=2)


if __name__ == "__main__":
    unittest.main()
