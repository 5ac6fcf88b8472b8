"""`stoker run --pid` beside programs under load: attached to and let go of N times, and killed (-9) at random instants.

    tests/run bench/attach_stress --rounds 200 [--kills 200] [--target reader|sleeper|mixed]

The targets are programs in Python whose threads read files, sleep, wait with a time limit, compute and allocate, five busy loops among them.
Each says at its end what went wrong in it: waits that ended early, bytes that were not those of the file. A thread that is found stopped or
traced after a round is counted, and so is a target that has died.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from stoker import MINI, STOKER

TARGET = """
import hashlib, os, select, sys, threading, time
kinds, root = sys.argv[1].split(","), sys.argv[2]
files = {os.path.join(at, name): None for at, _, names in os.walk(root) for name in names}
for name in files: files[name] = hashlib.sha256(open(name, "rb").read()).digest()
wrong, done = {}, {}
def count(table, what): table[what] = table.get(what, 0) + 1
def reader():
    for name, digest in files.items():
        with open(name, "rb") as file:
            if hashlib.sha256(file.read()).digest() != digest: count(wrong, "bytes")
def sleeper():
    before = time.monotonic(); time.sleep(0.02)
    if time.monotonic() - before < 0.02: count(wrong, "sleep")
def waiter():
    before = time.monotonic(); threading.Event().wait(0.02)
    if time.monotonic() - before < 0.019: count(wrong, "wait")
def selecter():
    before = time.monotonic(); select.select([], [], [], 0.02)
    if time.monotonic() - before < 0.019: count(wrong, "select")
def busy():
    if sum(i * 0.5 for i in range(20000)) != 99995000.0: count(wrong, "sum")
    bytearray(os.urandom(100)) * 1000
def for_ever(work):
    while True:
        work(); count(done, work.__name__)
for kind in kinds: threading.Thread(target=for_ever, args=(globals()[kind],), daemon=True).start()
sys.stdin.read(1)
print({"done": done, "wrong": wrong}, flush=True)
os._exit(0)
"""
TARGETS = {"reader": "reader,reader,reader", "sleeper": "sleeper,waiter,selecter",
           "mixed": "reader,sleeper,waiter,selecter," + ",".join(["busy"] * 5)}


def stopped_threads(pid):
    found = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            text = (thread / "status").read_text()
        except OSError:
            continue
        found += "\nState:\tT" in text or "\nState:\tt" in text or "\nTracerPid:\t0\n" not in text
    return found


def attach(pid, folder, seconds, kill_after=None):
    """(exit code, what it printed, seconds)"""
    began = time.monotonic()
    with subprocess.Popen([STOKER, "run", "--pid", str(pid), "--seconds", str(seconds), "--json"], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        if kill_after is not None:
            time.sleep(kill_after)
            process.kill()
        output, log = process.communicate(timeout=60)
    return process.returncode, output or log, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--target", choices=TARGETS, default="mixed")
    arguments = parser.parse_args()
    tally = {"attached": 0, "refused": 0, "killed": 0, "stopped threads": 0, "reads counted": 0}
    times = []
    with tempfile.TemporaryDirectory() as folder, \
            subprocess.Popen([sys.executable, "-c", TARGET, TARGETS[arguments.target], str(MINI)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True) as target:
        time.sleep(0.5)
        plan = [None] * arguments.rounds + [True] * arguments.kills
        random.shuffle(plan)
        try:
            for kill in plan:
                code, output, seconds = attach(target.pid, folder, 0.05, random.uniform(0.02, 0.4) if kill else None)
                if target.poll() is not None:
                    sys.exit(f"THE TARGET HAS DIED: {target.returncode}, {tally}")
                if kill:
                    tally["killed"] += 1
                elif code == 0:
                    tally["attached"] += 1
                    tally["reads counted"] += json.loads(output)["io"]["reads"]
                    times.append(seconds)
                else:
                    tally["refused"] += 1
                    print(output, end="")
                tally["stopped threads"] += stopped_threads(target.pid)
                for log in pathlib.Path(folder).iterdir():
                    log.unlink()
            said, _ = target.communicate("x", timeout=60)
        finally:
            target.kill()
    print(tally)
    if times:
        times.sort()
        print(f"seconds of a round, 0.05 of counting in it: median {times[len(times) // 2]:.3f}, longest {times[-1]:.3f}")
    print("the target:", said.strip())


if __name__ == "__main__":
    main()
