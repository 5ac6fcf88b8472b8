"""Host memory, stall and loss of a save: `checkpoint.staging_memory` beside whole snapshots.

Each variant is a process of its own with a state of NumPy arrays. It saves once (which pays for fresh memory), and then
does groups of steps in which the processor waits, each with an update of the whole state, with a save before the first
update of every second group. memory: the most that the process had beside the state, from the first save on, by
the kernel's count. stall: until the state may change. lost: of a group with a save beside one without.
durable: until the set is committed. --dir: on the disk. Needs NumPy and our package (build/python). For
docs/results.md, "Checkpoints".
"""
import pathlib
import re
import shutil

import saving
from frame import wheel
from saving import NOW

OPTIONS = {"gib": 2.0, "staging": "512MiB", "saves": (5, "of each process"), "every": (5, "steps"), "step_ms": 200.0}
MIB, ARRAYS = 1 << 20, 16


def memory(what):
    return int(re.search(rf"{what}:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) << 10


def process(folder, staged, given):
    import numpy
    stoker, size = wheel(), int(given["gib"] * (1 << 30)) // ARRAYS // 8
    state = {f"t{i}": numpy.arange(i, i + size) for i in range(ARRAYS)}
    checkpoint = {"type": "direct", "slow": "disk", "snapshot": "async", "slots": 1, "keep_last": 1,
                  "durability": "fsync"}
    checkpoint |= {"staging_memory": given["staging"]} if staged else {}
    before = memory("VmRSS")
    saver = stoker.Checkpointer({"storage": {"disk": {"type": "posix", "root": folder}}, "checkpoint": checkpoint})
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak is that of now
    rows, begin = [], 0

    def save():
        nonlocal begin
        begin = NOW()
        saver.save(len(rows) + 1, state=state)
        return saver.finish_copy, lambda: rows.append({"durable, ms": 1e3 * (saver.flush() or NOW() - begin)})

    def update():
        for array in state.values():
            array += 1
    for number in range(given["saves"] + 1):
        got = saving.figures(number, given["every"], given["step_ms"], update, save=save, waits=True)
        rows[-1] |= got
    status = saver.status()
    assert status["failed"] == 0 and status["saved"] == given["saves"] + 1, status
    saver.close()
    rows[-1]["memory, MiB"] = (memory("VmHWM") - before) / MIB
    return rows[1:]


def run(lab):
    given = {name: getattr(lab.given, name) for name in OPTIONS}

    def variant(name):
        shutil.rmtree(lab.folder / "sets", ignore_errors=True)
        (lab.folder / "sets").mkdir()
        return lab.child(process, str(lab.folder / "sets"), name == "staged", given)
    lab.measure(f"state of {lab.given.gib:g} GiB", {
        name: lambda name=name: variant(name) for name in lab.chosen(("whole", "staged"))}, reference="whole")
