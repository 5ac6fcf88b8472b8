"""Does this machine stand still where memory is copied, without a checkpointer?

Copies as much as a save of AlexNet with Adam, by two threads, again and again; in between it writes the copy past the
page cache, as saves are written (--wait: only waits). Printed is also what the kernel knows of each slow round: one
that took processor time, but neither faults nor switches, was slow below it. --dir: on the disk. Needs NumPy. For
docs/notes/checkpoint-stall.md.
"""
import concurrent.futures
import mmap
import os
import resource
import time

from frame import median

ROUNDS = 150
OPTIONS = {"wait": False, "mib": (656, "of a copy"), "slow": (2.0, "times the median")}
PIECE = 8 << 20


def copy(pool, halves):
    import numpy
    before, begin = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    list(pool.map(lambda half: numpy.copyto(*half), halves))
    took, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_SELF)
    return {"ms": 1e3 * took, "ms of the processors": 1e3 * (sum(after[:2]) - sum(before[:2])),
            "faults": after.ru_minflt - before.ru_minflt, "switches": after.ru_nivcsw - before.ru_nivcsw}


def write(pool, path, memory, size):
    file = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_DIRECT, 0o600)
    try:
        list(pool.map(lambda at: os.pwrite(file, memory[at:at + PIECE], at), range(0, size, PIECE)))
        os.fsync(file)
    finally:
        os.close(file)


def run(lab):
    import numpy
    size = lab.given.mib << 20
    memory = [mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(2)]
    for one in memory:
        one.madvise(mmap.MADV_HUGEPAGE)
    to, of = (numpy.frombuffer(one, numpy.uint8) for one in memory)
    of[:], to[:] = 1, 2
    halves = [(to[:size // 2], of[:size // 2]), (to[size // 2:], of[size // 2:])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        def one_round():
            figures = copy(pool, halves)
            if not lab.given.wait:
                write(pool, lab.folder / "written", memoryview(memory[0]), size)
            time.sleep(0.3 if lab.given.wait else 0.02)
            return figures
        got = lab.measure(f"copies of {size / 1e6:.0f} MB", {"copy": one_round})["copy"]
    limit = lab.given.slow * median(got["ms"])
    lab.table("slow rounds", [dict(zip(got, row)) for row in zip(*got.values()) if row[0] >= limit])
