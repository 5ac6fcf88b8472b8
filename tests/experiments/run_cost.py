"""What counting I/O costs a program: a call, and the whole; by `stoker run`, and by the I/O profiler in a process.

Calls: ns a call of threads, of one file and of a file each, in the page cache (reads.c), alone and under `stoker run`;
and in a process of Python, alone and in a block of `stoker.profile`, whose recorder is that of a training's sessions.
Then a process of /bin/true. --images: a program that decodes a folder's JPEG files by PIL. --command: any command. For
docs/results.md and io/profiler/README.md.
"""
import ctypes
import json
import re
import shlex
import subprocess
import sys
import time

from frame import HERE, wheel
from machine import output
from stoker import STOKER

ROUNDS = 7
OPTIONS = {"calls": 1_000_000, "images": (None, "a folder of JPEG files"), "command": (None, "words of a command")}
# kind, threads, files
CASES = {"pread, 1 thread": ("pread", 1, 1), "pread, 2 threads, 1 file": ("pread", 2, 1),
         "pread, 4 threads, 1 file": ("pread", 4, 1),
         "pread, 4 threads, 4 files": ("pread", 4, 4), "lseek": ("lseek", 1, 1), "getc": ("getc", 1, 1),
         "open, 2 preads, close": ("whole", 1, 1)}
DECODE = """
import sys, pathlib
from PIL import Image
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.jpg")):
    with open(path, "rb") as file:
        Image.open(file).convert("RGB").resize((224, 224))
"""


def figures(result):
    return {"ns of the processor": result[0], "ns by the clock": result[1]}


def in_python(folder, kind, count, threads, files, profiled):
    stoker, calls, out = wheel(), ctypes.CDLL(f"{folder}/reads.so").calls, (ctypes.c_double * 2)()
    words = f"{folder}/data".encode(), kind.encode(), ctypes.c_long(count), threads, files, out
    calls(words[0], words[1], ctypes.c_long(1), threads, files, out)
    if profiled:
        with stoker.profile(exclude=[]):
            calls(*words)
    else:
        calls(*words)
    return list(out)


def compare_calls(lab, name):
    kind, threads, files = CASES[name]
    count = lab.given.calls // (10 if kind == "whole" else 1)
    words = [lab.folder / "reads", lab.folder / "data", kind, count, threads, files]
    counted = [STOKER, "run", "--log", lab.folder / "log.darshan", "--"]
    printed = lambda *words: figures(json.loads(re.search(r"^\[.*\]$", output(*words), re.M)[0]))
    lab.measure(name, {
        "alone": lambda: printed(*words), "stoker run": lambda: printed(*counted, *words),
        **{f"in Python{', profiled' * profiled}": lambda profiled=profiled: figures(lab.child(
            in_python, str(lab.folder), kind, count, threads, files, profiled)) for profiled in (False, True)}},
                reference="alone")


def compare_whole(lab, name, words, rounds):
    def run_it(before):
        begin = time.monotonic()
        subprocess.run([*map(str, before), *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return {"ms": 1e3 * (time.monotonic() - begin)}
    lab.measure(name, {"alone": lambda: run_it([]), "stoker run": lambda: run_it(
        [STOKER, "run", "--log", lab.folder / "log.darshan", "--"])}, reference="alone", warm_up=1, rounds=rounds)


def run(lab):
    given = lab.given
    if given.images or given.command:
        words = shlex.split(given.command) if given.command else [sys.executable, "-c", DECODE, given.images]
        compare_whole(lab, "images" if given.images else "command", words, given.rounds)
        return
    output("cc", "-O2", "-pthread", "-o", lab.folder / "reads", HERE / "reads.c")
    output("cc", "-O2", "-pthread", "-shared", "-fPIC", "-o", lab.folder / "reads.so", HERE / "reads.c")
    for number in range(4):
        (lab.folder / f"data{number}").write_bytes(bytes(12000))
    for name in lab.chosen(CASES):
        compare_calls(lab, name)
    compare_whole(lab, "/bin/true", ["/bin/true"], 4 * given.rounds)
