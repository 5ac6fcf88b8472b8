"""`stoker run --pid` beside programs under load: attached to and let go of --rounds times, and killed at random.

The targets' threads read files, sleep, wait with a time limit, compute and allocate, five busy loops among them. Each
says at its end what went wrong: waits that ended early, bytes that were not those of the file. A thread that is found
stopped or traced after a round is counted, and so is a target that has died. For docs/promises.md.
"""
import contextlib
import json
import pathlib
import random
import signal
import subprocess
import sys
import time

from frame import CannotMeasure, spread
from stoker import MINI, Process

ROUNDS = 20
OPTIONS = {"kills": 0}
TARGET = """
import hashlib, os, select, sys, threading, time
kinds, root = sys.argv[1].split(","), sys.argv[2]
files = {os.path.join(at, name): None for at, _, names in os.walk(root) for name in names}
for name in files: files[name] = hashlib.sha256(open(name, "rb").read()).digest()
wrong, done = {}, {}
def count(table, what): table[what] = table.get(what, 0) + 1
def reader():
    for name, digest in files.items():
        if hashlib.sha256(open(name, "rb").read()).digest() != digest: count(wrong, "bytes")
def lasts(what, least, call):
    before = time.monotonic(); call()
    if time.monotonic() - before < least: count(wrong, what)
def sleeper(): lasts("sleep", 0.02, lambda: time.sleep(0.02))
def waiter(): lasts("wait", 0.019, lambda: threading.Event().wait(0.02))
def selecter(): lasts("select", 0.019, lambda: select.select([], [], [], 0.02))
def busy():
    if sum(i * 0.5 for i in range(20000)) != 99995000.0: count(wrong, "sum")
    bytearray(os.urandom(100)) * 1000
def for_ever(work):
    while True: work(); count(done, work.__name__)
for kind in kinds: threading.Thread(target=for_ever, args=(globals()[kind],), daemon=True).start()
sys.stdin.read(1)
print({"done": done, "wrong": wrong}, flush=True)
os._exit(0)
"""
KINDS = "reader,sleeper,waiter,selecter," + ",".join(["busy"] * 5)


def stopped_threads(pid):
    found = 0
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(OSError):  # the thread has ended
            text = status.read_text()
            found += "\nState:\tT" in text or "\nState:\tt" in text or "\nTracerPid:\t0\n" not in text
    return found


def attach(lab, pid, kill_after=None):
    """(exit code, what it printed, seconds)"""
    began = time.monotonic()
    process = Process(["run", "--pid", pid, "--seconds", 0.05, "--json"], lab.folder)
    if kill_after is not None:
        time.sleep(kill_after)
        process.send(signal.SIGKILL)
    return process.wait(60), process.output or process.log, time.monotonic() - began


def run(lab):
    tally, times = dict.fromkeys(("attached", "refused", "killed", "stopped threads", "reads counted"), 0), []
    chance = random.Random(lab.given.seed)
    plan = [False] * lab.given.rounds + [True] * lab.given.kills
    chance.shuffle(plan)
    with subprocess.Popen([sys.executable, "-c", TARGET, KINDS, str(MINI)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as target:
        time.sleep(0.5)
        try:
            for kill in plan:
                code, output, seconds = attach(lab, target.pid, chance.uniform(0.02, 0.4) if kill else None)
                if target.poll() is not None:
                    raise CannotMeasure(f"THE TARGET HAS DIED: {target.returncode}, {tally}")
                tally["killed" if kill else "refused" if code else "attached"] += 1
                if not kill and code == 0:
                    tally["reads counted"] += json.loads(output)["io"]["reads"]
                    times.append(seconds)
                elif not kill:
                    lab.say(output)
                tally["stopped threads"] += stopped_threads(target.pid)
                for log in lab.folder.iterdir():
                    log.unlink()
            said, _ = target.communicate("x", timeout=60)
        finally:
            target.kill()
    lab.table("rounds", [tally])
    lab.say(f"seconds of a round, 0.05 of counting in it: {spread(times)}\nthe target: {said.strip()}")
