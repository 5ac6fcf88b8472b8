"""Host memory, stall and loss of a save: `checkpoint.staging_memory` beside whole snapshots.

Each variant is a process of its own with a state of NumPy arrays. It saves once (which pays for fresh memory), and then does
groups of steps in which the processor waits, each with an update of the whole state, with a save before the first update of
every second group. memory: the most that the process had beside the state, from the first save on, by its own counters (Rss,
every 20 ms). stall: until the state may change. lost: of a group with a save beside one without. durable: until the set is
committed. --dir: on the disk. Needs NumPy and our package (build/python). For docs/results.md, "Checkpoints".
"""
import pathlib
import re
import shutil
import threading
import time

from frame import wheel

OPTIONS = {"gib": 2.0, "staging": "512MiB", "saves": (5, "of each process"), "every": (5, "steps"), "step_ms": 200.0,
           "curve": (False, "print memory over time, of the last process of each")}
NOW, MIB, ARRAYS = time.perf_counter, 1 << 20, 16


def resident():
    return int(re.search(r"^Rss:\s+(\d+)", pathlib.Path("/proc/self/smaps_rollup").read_text(), re.M)[1]) << 10


class Curve(threading.Thread):
    """Resident memory over time."""

    def __init__(self):
        super().__init__(daemon=True)
        self.points, self.begin, self.over = [], NOW(), threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.02):
            self.points.append((NOW() - self.begin, resident()))


def group(saver, state, given, save):
    """(stall, seconds beside the waiting) of some steps; save: the number of the set, or 0."""
    stall = busy = 0
    for step in range(given["every"]):
        begin = NOW()
        if save and step == 0:
            saver.save(save, state=state)
            stall += NOW() - begin
        waited = NOW()
        time.sleep(given["step_ms"] / 1e3)
        slept, copied = NOW() - waited, NOW()
        saver.finish_copy()
        if save and step == 0:
            stall += NOW() - copied
        for array in state.values():
            array += 1
        busy += NOW() - begin - slept
    return stall, busy


def process(folder, staged, given):
    import numpy
    stoker, size = wheel(), int(given["gib"] * (1 << 30)) // ARRAYS // 8
    state = {f"t{i}": numpy.arange(i, i + size) for i in range(ARRAYS)}
    checkpoint = {"type": "direct", "slow": "disk", "snapshot": "async", "slots": 1, "keep_last": 1, "durability": "fsync"}
    checkpoint |= {"staging_memory": given["staging"]} if staged else {}
    before = resident()
    saver = stoker.Checkpointer({"storage": {"disk": {"type": "posix", "root": folder}}, "checkpoint": checkpoint})
    curve, rows = Curve(), []
    for number in range(given["saves"] + 1):
        took = {}
        for save in ((False, True) if number % 2 else (True, False)):
            begin = NOW()
            stalled, took[save] = group(saver, state, given, (number + 1) * save)
            if save:
                saver.flush()
                stall, durable = stalled, NOW() - begin
        rows.append({"stall, ms": 1e3 * stall, "lost per save, ms": 1e3 * (took[True] - took[False]), "durable, ms": 1e3 * durable})
    status = saver.status()
    assert status["failed"] == 0 and status["saved"] == given["saves"] + 1, status
    saver.close()
    curve.over.set()
    curve.join()
    points = [(at, (rss - before) / MIB) for at, rss in curve.points]
    rows[-1]["memory, MiB"] = max(rss for _, rss in points)
    return rows[1:], points


def run(lab):
    given, curves = vars(lab.given), {}
    given = {name: given[name] for name in ("gib", "staging", "saves", "every", "step_ms")}

    def variant(name):
        shutil.rmtree(lab.folder / "sets", ignore_errors=True)
        (lab.folder / "sets").mkdir()
        rows, curves[name] = lab.child(process, str(lab.folder / "sets"), name == "staged", given)
        return rows
    lab.measure(f"state of {lab.given.gib:g} GiB", {name: lambda name=name: variant(name) for name in ("whole", "staged")
                                                    if re.search(lab.given.only, name)}, reference="whole")
    for name, points in curves.items() if lab.given.curve else ():
        shown = points[:: max(1, len(points) // 40)]
        lab.say(f"{name}: seconds and MiB beside the state: " + " ".join(f"{at:.1f}:{rss:.0f}" for at, rss in shown))
