#!/usr/bin/env python3
"""Host memory, stall and loss of a save: `checkpoint.staging_memory` beside whole snapshots.

Each variant is a process of its own with a state of NumPy arrays; they take turns. A process makes the state, saves once (which pays for
fresh memory), and then does groups of steps in which the processor waits, each with an update of the whole state, with a save before the
first update of every second group. memory: the most that the process had beside the state, from the first save on, by its own counters
(Rss of smaps_rollup, every 20 ms). stall: until the state may change. lost: of a group with a save beside a group without one.
durable: until the set is committed.

PYTHONPATH=build/python python3 tests/bench/staging_memory.py --dir DIRECTORY [--gib 2] [--staging 512MiB] [--rounds 3] [--only staged] [--curve]
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time

NOW = time.perf_counter
MIB = 1 << 20
ARRAYS = 16


def resident():
    rollup = pathlib.Path("/proc/self/smaps_rollup").read_text()
    return int(re.search(r"^Rss:\s+(\d+) kB", rollup, re.M).group(1)) << 10


class Curve(threading.Thread):
    """Resident memory over time."""

    def __init__(self):
        super().__init__(daemon=True)
        self.points, self.begin, self.over = [], NOW(), threading.Event()

    def run(self):
        while not self.over.wait(0.02):
            self.points.append((NOW() - self.begin, resident()))


def child(options):
    import numpy as np
    import stoker

    size = int(options.gib * (1 << 30)) // ARRAYS // 8 * 8
    state = {f"t{i}": np.arange(i, i + size // 8) for i in range(ARRAYS)}
    checkpoint = {"type": "direct", "slow": "disk", "snapshot": "async", "slots": 1, "keep_last": 1, "durability": "fsync"}
    if options.child == "staged":
        checkpoint["staging_memory"] = options.staging
    before = resident()
    saver = stoker.Checkpointer({"storage": {"disk": {"type": "posix", "root": options.dir}}, "checkpoint": checkpoint})
    curve = Curve()
    curve.start()
    saved = 0

    def group(save):
        nonlocal saved
        stall = busy = 0
        for step in range(options.every):
            begin = NOW()
            if save and step == 0:
                saved += 1
                saver.save(saved, state=state)
                stall += NOW() - begin
            waited = NOW()
            time.sleep(options.step_ms / 1e3)
            slept = NOW() - waited
            copied = NOW()
            saver.finish_copy()
            if save and step == 0:
                stall += NOW() - copied
            for array in state.values():
                array += 1
            busy += NOW() - begin - slept
        return stall, busy

    rows = {"stall": [], "lost": [], "durable": []}
    for number in range(options.saves + 1):
        took = {}
        for save in ((False, True) if number % 2 else (True, False)):
            begin = NOW()
            stall, took[save] = group(save)
            if save:
                saver.flush()
                if number > 0:
                    rows["stall"].append(stall)
                    rows["durable"].append(NOW() - begin)
        if number > 0:
            rows["lost"].append(took[True] - took[False])
    status = saver.status()
    assert status["failed"] == 0 and status["saved"] == options.saves + 1, status
    saver.close()
    curve.over.set()
    curve.join()
    rows["memory"] = [max(rss for _, rss in curve.points) - before]
    rows["state"] = before
    rows["curve"] = [(at, rss - before) for at, rss in curve.points]
    print(json.dumps(rows))


def report(options, rows):
    print(f"state of {options.gib} GiB, staging_memory {options.staging}, {options.rounds} processes of {options.saves} saves each in turns, a save every "
          f"{options.every} steps of {options.step_ms} ms and an update; median (least to most); load {os.getloadavg()[0]:.1f}")
    print(f"{'variant':<10} {'memory, MiB':>30} {'stall, ms':>30} {'lost per save, ms':>30} {'durable after, ms':>30}")
    for name, columns in rows.items():
        cells = [f"{statistics.median(v) * k:.0f} ({min(v) * k:.0f} to {max(v) * k:.0f})"
                 for v, k in ((columns["memory"], 1 / MIB), (columns["stall"], 1e3), (columns["lost"], 1e3), (columns["durable"], 1e3))]
        print(f"{name:<10} " + " ".join(f"{cell:>30}" for cell in cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--staging", default="512MiB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--saves", type=int, default=5, help="of each process")
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--step-ms", type=float, default=200)
    parser.add_argument("--only", choices=("staged", "whole"))
    parser.add_argument("--curve", action="store_true", help="print memory over time, of the last process of each")
    parser.add_argument("--child", choices=("staged", "whole"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    options.dir = f"{options.dir}/staging-memory"
    variants = [options.only] if options.only else ["staged", "whole"]
    rows = {name: {"memory": [], "stall": [], "lost": [], "durable": []} for name in variants}
    for _ in range(options.rounds):
        for name in variants:
            shutil.rmtree(options.dir, ignore_errors=True)
            os.makedirs(options.dir)
            own = [sys.executable, __file__, *sys.argv[1:], "--child", name, "--dir", options.dir]
            result = json.loads(subprocess.run(own, check=True, stdout=subprocess.PIPE).stdout)
            for column in rows[name]:
                rows[name][column] += result[column]
            rows[name]["curve"] = result["curve"]
    shutil.rmtree(options.dir)
    report(options, rows)
    for name in variants if options.curve else []:
        points = rows[name]["curve"]
        print(f"{name}: seconds and MiB beside the state:", " ".join(f"{at:.1f}:{rss / MIB:.0f}" for at, rss in points[:: max(1, len(points) // 40)]))


if __name__ == "__main__":
    main()
