"""The emulated tier against its own profile: whole objects of 1 MiB and of 4 KiB, metadata, and writes of 1 MiB.

By 1 to 16 threads, and by two processes that share the device. Printed is the deviation from what the profile's figures give:

    min(n / (L + t), queue_depth / L, 1 / (seek / queue_depth + t))    operations/s of n threads

Operations are those of the program `parts` (build it: `cmake --build build --target parts`). The inner tier lies in memory. A
line that overran has no meaning for the emulator: this machine is too slow for that device (its operations took longer than the
model says, by more than 1 % of the threads' time). For docs/notes/emulated-tier.md.
"""
import json
import re
import subprocess
import time

from frame import there
from stoker import BUILD, SOURCE, flow, posix

BESIDE = "/dev/shm"
ROUNDS = 1
OPTIONS = {"profiles": ["hdd", "ssd", "optane", "lustre", "nfs", "s3-like"], "threads": [1, 2, 4, 8, 16], "seconds": 2.0,
           "kinds": ["bandwidth", "iops", "metadata", "write"], "parts": (str(BUILD / "tests/parts"), "the program")}
MIB = 1 << 20
KINDS = {"bandwidth": ("read", MIB), "iops": ("read", 4096), "metadata": ("metadata", 4096), "write": ("append", MIB)}
COLUMNS = ("read_mb_per_s", "write_mb_per_s", "read_latency_ms", "write_latency_ms", "metadata_latency_ms", "seek_ms", "queue_depth",
           "latency_sigma", "stream_mb_per_s")


def figures_of(profile):
    """Of the table in the sources."""
    table = (SOURCE / "io/storage/emulated/tier_figures.cpp").read_text()
    row = re.search(rf'\{{"{profile}", \{{TierProfile::\w+, ([^}}]*)', table)[1].replace("{", "")
    return {name: float(value) for name, value in zip(COLUMNS, row.split(",")) if value.strip()}


def expected(figures, kind, size, threads):
    """Operations a second."""
    writes, meta = kind == "append", kind == "metadata"
    size, seek = 0 if meta else size, 0 if meta or (writes and threads == 1) else figures["seek_ms"]
    latency = seek + figures[f"{'write' if writes else kind}_latency_ms"]
    pipe = 1e-3 * size / figures["write_mb_per_s" if writes else "read_mb_per_s"]
    own = 1e-3 * size / figures["stream_mb_per_s"] if "stream_mb_per_s" in figures else pipe
    shared = seek / figures["queue_depth"] + pipe
    return 1e3 * min([threads / (latency + own), figures["queue_depth"] / latency, *([1 / shared] if shared else [])])


def operate(lab, profile, kind, size, threads, processes):
    root = lab.folder / str(size)
    tier = flow(type="emulated", profile=profile, inner=posix(root))
    words = [lab.given.parts, "tier", tier, kind, size, threads // processes, lab.given.seconds, time.monotonic() + 1]
    running = [subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    rates, bytes_, overrun = zip(*(json.loads(process.communicate()[0]) for process in running))
    for left in root.glob("append-*"):
        left.unlink()
    wanted = expected(figures_of(profile), kind, size, threads)
    return {"expected/s": wanted, "measured/s": sum(rates), "MB/s": 1e-6 * sum(bytes_), "off %": 100 * (sum(rates) / wanted - 1),
            "overran": int(sum(overrun) > 0.01 * threads * lab.given.seconds)}


def run(lab):
    there(lab.given.parts, "cmake --build build --target parts")
    for size in (MIB, 4096):
        (lab.folder / str(size)).mkdir()
        for number in range(32):
            (lab.folder / str(size) / f"{number:02}").write_bytes(bytes([number]) * size)
    cells = {}
    for profile in lab.given.profiles:
        for what in lab.given.kinds:
            for threads, processes in [(n, 1) for n in lab.given.threads] + [(2, 2), (8, 2)]:
                how = f"{threads}" if processes == 1 else f"{processes} x {threads // processes}"
                of = (profile, *KINDS[what], threads, processes)
                cells[f"{profile}, {what}, {how} threads"] = lambda of=of: operate(lab, *of)
    got = lab.measure("operations", {name: cell for name, cell in cells.items() if re.search(lab.given.only, name)}, wide=True)
    off = [(abs(got.median(name, "off %")), name) for name in got if not got.median(name, "overran")]
    lab.say("furthest off of the lines that did not overrun: {:.2f} % ({})".format(*max(off)) if off else "all lines overran")
