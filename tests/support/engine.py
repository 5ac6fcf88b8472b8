"""For tests of the Python package: configurations as dicts, and Python programs that use it."""
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MINI = SOURCE / "datasets" / "caltech101-mini"
PROGRAM = os.environ.get("STOKER")  # the program, where it is built
PATIENCE_S = 240  # for what takes seconds, on a machine that does much else
LONG = bool(os.environ.get("STOKER_LONG"))  # the long version of the tests that have one


def long(test):
    """Decorates a test, or a class of tests, that runs with STOKER_LONG=1 alone: another level, more cases, another program."""
    return test if LONG else None


def config(**sections):
    """The data half of an experiment on the mini data set, with these sections in place of the usual ones."""
    return {
        "run": {"seed": 3},
        "storage": {"data": {"type": "posix", "root": MINI}},
        "dataset": {"type": "image_folder", "storage": "data",
                    "split": {"train_per_class": 30, "test_per_class": 5}},
        "decoder": {"type": "jpeg", "size": 32},
        "loader": {"type": "prefetched", "batch_size": 16, "workers": 2, "digest": True},
        **sections}


def slow(read_latency_ms):
    """The section `storage` with a tier of which every read takes this long."""
    return {"data": {"type": "emulated", "read_mb_per_s": 1e6, "write_mb_per_s": 1e6,
                     "read_latency_ms": read_latency_ms, "inner": {"type": "posix", "root": MINI}}}


def run_python(program, *arguments, code=0, first="import stoker"):
    """Runs a program of Python's to its end, which must be with that exit code. It may use config() and slow().

    first: what is imported, before all else.
    """
    done = subprocess.run([sys.executable, "-c", f"{first}\nfrom engine import *\n{program}", *map(str, arguments)],
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != code:
        raise AssertionError(f"exit code {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return done.stdout
