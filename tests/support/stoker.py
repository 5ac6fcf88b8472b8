"""The program under test: where it is, experiments for it, runs and processes of it, what they leave.

STOKER names the binary; without it, that of build/. ctest and tests/run put this folder into Python's path.
"""
import contextlib
import fcntl
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import venv
import weakref

from engine import LONG, long  # noqa: F401  which tests take from here
from stoker_mount import mounted, why_no_mount  # noqa: F401  which the package's tests use as well

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MINI = SOURCE / "datasets" / "caltech101-mini"
STOKER = os.path.abspath(os.environ.get("STOKER") or SOURCE / "build/bin/stoker")
BUILD = pathlib.Path(STOKER).parents[1]
OBJECTS_ONLY = BUILD / "tests/plugins/objects_only.so"  # tests/plugins/objects_only.cpp
SLOW_DECODER = BUILD / "tests/plugins/slow_decoder.so"  # tests/plugins/slow_decoder.cpp
LOADERS = ("sync", "threaded", "prefetched", "device_prefetched")
PATIENCE_S = 240  # for what takes seconds, on a machine that does much else


def flow(**options):
    """A YAML mapping in one line."""
    return "{" + ", ".join(f"{name}: {value}" for name, value in options.items()) + "}"


def posix(root):
    return flow(type="posix", root=root)


def objects_only(root):
    """A tier without files, such as a bucket, whose objects lie below root; needs plugins=[OBJECTS_ONLY]."""
    return flow(type="objects_only", inner=posix(root))


def emulated(root=MINI, tier=posix, **figures):
    """A tier over the files of root with these figures; what they do not limit is fast."""
    fast = {} if "profile" in figures else {"read_mb_per_s": 1e6, "write_mb_per_s": 1e6}
    return flow(type="emulated", **fast | figures, inner=tier(root))


def slow_decoder(delay_ms, size):
    """The overrides for a decoder that sleeps before each image."""
    inner = flow(type="turbojpeg", size=size)
    return [f"plugins=[{SLOW_DECODER}]", f"decoder={flow(type='slow', delay_ms=delay_ms, inner=inner)}"]


def configuration(tiers=(), **sections):
    """A small training on the mini data set as YAML, with these tiers beside `data` and these sections in place of
    the usual ones."""
    usual = {"run": "{name: trial, seed: 3}", "device": "{type: cpu}",
             "storage": flow(**{"data": posix(MINI)} | dict(tiers)),
             "dataset": "{type: image_folder, storage: data, split: {train_per_class: 30, test_per_class: 5}}",
             "decoder": "{type: turbojpeg, size: 64}",
             "loader": "{type: prefetched, batch_size: 16, workers: 2}",
             "model": "{type: linear}"}
    return "".join(f"{name}: {text}\n" for name, text in (usual | sections).items())


def in_one_line(text):
    """What was printed, with each error and its hint in one line, as the message is in summary.json."""
    text = re.sub(r"\nhint: (did you mean '[^']*'\?)", r" (\1)", text)
    return text.replace("\nhint: ", ": ")


def stoker(*arguments, cwd, code=0, env=(), timeout=PATIENCE_S, before=()):
    """Runs it to its end, which must be with that exit code. before: the words of what starts it."""
    done = subprocess.run([*before, STOKER, *map(str, arguments)], cwd=cwd, env={**os.environ, **dict(env)}, timeout=timeout,
                          capture_output=True, text=True, check=False)
    if code is not None and done.returncode != code:
        raise AssertionError(f"exit code {done.returncode}, not {code}: {arguments}\n{done.stdout}{done.stderr}")
    done.stderr = in_one_line(done.stderr)
    return done


def read_summary(run):
    return json.loads((run / "summary.json").read_text())


class Ended(AssertionError):
    """The program ended before what was waited for."""


def until(condition, what, seconds=PATIENCE_S, alive=lambda: True):
    """What condition() gives once it is true. A file or server may not be there, or be half written, before."""
    end = time.monotonic() + seconds
    while True:
        last = not alive()  # it may have done it just before it ended
        with contextlib.suppress(OSError, ValueError):
            if result := condition():
                return result
        if last:
            raise Ended(what())
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s\n{what()}")
        time.sleep(0.01)


def end(child):
    if child.poll() is None:
        child.kill()
        child.wait()


class Process:
    """The program under way. What it writes goes to memory, so that it never waits for a reader. It does not outlive this
    object, nor the test's own process, however a test ends."""

    def __init__(self, arguments, cwd, env=(), before=()):
        self.written = [os.memfd_create(stream) for stream in ("output", "log")]
        self.child = subprocess.Popen([*before, STOKER, *map(str, arguments)], cwd=cwd, stdout=self.written[0],
                                      stderr=self.written[1], env={**os.environ, **dict(env)})
        weakref.finalize(self, end, self.child)

    def __del__(self):
        for descriptor in self.written:
            os.close(descriptor)

    def text(self, stream):
        return os.pread(self.written[stream], os.fstat(self.written[stream]).st_size, 0).decode()

    @property
    def output(self):
        return self.text(0)

    @property
    def log(self):
        return in_one_line(self.text(1))

    def alive(self):
        return self.child.poll() is None

    def until(self, condition, seconds=PATIENCE_S):
        return until(condition, lambda: f"exit status {self.child.poll()}\n{self.output}{self.log}", seconds, self.alive)

    def wait_for(self, pattern):
        """Until its log has that. False: it ended without."""
        try:
            return bool(self.until(lambda: re.search(pattern, self.log)))
        except Ended:
            return False

    def send(self, number):
        self.child.send_signal(number)

    def wait(self, timeout=PATIENCE_S):
        """The exit status. subprocess.TimeoutExpired: it runs on."""
        return self.child.wait(timeout)

    def kill(self):
        self.send(signal.SIGKILL)
        return self.wait()


class StokerTest(unittest.TestCase):
    """A directory with CONFIG in trial.yaml, in which the program runs."""
    CONFIG = configuration()
    BESIDE = None  # where the directory is made; a temporary one may lie in memory

    def setUp(self):
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(
            prefix="stoker-test-", dir=self.BESIDE, ignore_cleanup_errors=True)))
        self.config = self.dir / "trial.yaml"
        self.config.write_text(self.CONFIG)

    def stoker(self, *arguments, **options):
        return stoker(*arguments, **{"cwd": self.dir} | options)

    def json(self, *arguments, **options):
        return json.loads(self.stoker(*arguments, "--json", **options).stdout)

    def train(self, *overrides, **options):
        """(summary, run directory)"""
        summary = self.json("train", self.config, *overrides, **options)
        return summary, self.dir / summary["run_directory"]

    def start(self, *arguments, **options):
        """A process that does not outlive the test."""
        process = Process(arguments, self.dir, **options)
        self.addCleanup(process.kill)
        return process

    @property
    def latest(self):
        return (self.dir / "runs" / "latest").resolve()

    def assert_ledger_closes(self, summary):
        """Within 0.1 % of the wall time; a short run may lose the processor once between two readings of the clock."""
        self.assertLessEqual(summary["closure_error"], max(0.001, 0.05 / summary["wall_s"]))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def needed(*programs, package):
    """The path of the first of these programs that is here. test.sh installs the package: its absence is a failure."""
    found = next(filter(None, map(shutil.which, programs)), None)
    return found or sys.exit(f"FAILED: {programs[0]} is not here: install Debian's package {package}")


# For Python 3.13, PyPI has it without the library in C that reads logs. The library of the package for 3.12 does as well: it knows
# nothing of Python.
DARSHAN = "darshan==3.5.0"


def environment(*names):
    """The Python of an environment that has these packages of PyPI, which is made once in the build folder. Tests beside this one wait
    until it is whole."""
    directory = BUILD / "tests" / "-".join(("python", *names))
    python, whole = directory / "bin/python", directory / "whole"
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{directory}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            venv.create(directory, clear=True)
            base = pathlib.Path(sys.base_prefix) / "bin/python3"  # one with pip: installing that as well takes seconds
            done = subprocess.run([base, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", *names],
                                  capture_output=True, text=True, check=False)
            if done.returncode == 0 and DARSHAN in names and sys.version_info >= (3, 13):
                [packages] = directory.glob("lib/python3.*/site-packages")
                done = subprocess.run([base, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--python-version", "3.12",
                                       "--only-binary", ":all:", "--no-deps", "--upgrade", "--target", packages, DARSHAN],
                                      capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"FAILED: pip cannot install {' '.join(names)}: {done.stderr}")
            whole.touch()
    return python


def with_packages(*names, **modules):
    """To be called before importing these packages of PyPI: where they are missing, the test begins anew in an
    environment that has them. modules: module="package" where the names differ."""
    if not all(map(importlib.util.find_spec, (*names, *modules))):
        python = environment(*names, *modules.values())
        os.execv(python, [python, "-B", *sys.argv])
