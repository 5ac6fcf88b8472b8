"""`stoker mount` against the model of its tier: the time of another program's random reads over what the model says.

By latency, request size and number of threads; and programs that map a file of an emulated hard disk. n threads get
min(n / (L + t), depth / L, 1 / (seek / depth + t)) reads/s of L ms and t = bytes / bandwidth. Readers are threads of
reads.c at real-time priority, as the server's are, so that other work disturbs little; the files lie in /dev/shm; mode
`direct`, so that requests are as they are made; mapped files are read through the page cache, which is dropped before
each round. As root. For app/tools/mount/README.md.
"""
import contextlib
import json
import os

from frame import HERE
from machine import mounted_tier, output
from stoker import emulated

BESIDE = "/dev/shm"
OPTIONS = {"seconds": (0.4, "of a cell"), "threads": [1, 2, 4, 8], "sizes": [4096, 128 << 10, 1 << 20]}
LATENCIES_MS = (0.0126, 0.1, 1, 10)
HDD = {"read_mb_per_s": 163, "read_latency_ms": 0.1, "seek_ms": 12.36, "queue_depth": 2.118}


def model(figures, size, threads):
    """Seconds a read."""
    latency = 1e-3 * (figures["read_latency_ms"] + figures.get("seek_ms", 0))
    depth, pipe = figures["queue_depth"], size / (1e6 * figures["read_mb_per_s"])
    return max((latency + pipe) / threads, latency / depth, 1e-3 * figures.get("seek_ms", 0) / depth + pipe)


def sizes_of(at):
    return json.loads(os.getxattr(at, "user.stoker.statistics"))["reads"]["by_size"]


def read(lab, at, figures, how, size, threads):
    seconds = max(lab.given.seconds, 40e-3 * figures["read_latency_ms"], 1 if "seek_ms" in figures else 0)
    before = sizes_of(at)
    os.getxattr(at, "user.stoker.drop")
    reads, took, us = json.loads(output(lab.folder / "reads", at / "file", how, size, threads, 1, seconds))
    requests = sorted(key for key, count in sizes_of(at).items() if count != before.get(key, 0))
    own = us - 1e6 * model(figures, size, threads) if threads == 1 else None
    return {"time over model": took / reads / model(figures, size, threads), "us more a read": own,
            "requests of at most, B": "/".join(requests)}


def run(lab):
    (lab.folder / "root").mkdir()
    (lab.folder / "root/file0").write_bytes(os.urandom(128 << 20))
    output("cc", "-O2", "-pthread", "-o", lab.folder / "reads", HERE / "reads.c")
    cells = {}
    with contextlib.ExitStack() as stack:
        def mount(name, mode, figures):
            tier = emulated(lab.folder / "root", metadata_latency_ms=0, **figures)
            process = stack.enter_context(mounted_tier(lab.folder / name, tier, "--mode", mode, "--json"))
            lab.say(process.log.strip().splitlines()[-1])
        for latency in LATENCIES_MS:
            figures = {"read_latency_ms": latency, "read_mb_per_s": 1000, "queue_depth": 64}
            mount(f"at-{latency}", "direct", figures)
            cells |= {f"{latency} ms, pread {size >> 10} KiB, {threads} threads":
                      (lab.folder / f"at-{latency}", figures, "pread", size, threads)
                      for size in lab.given.sizes for threads in lab.given.threads}
        mount("hdd", "cached", HDD)
        # What one fault reads is the kernel's choice: a page, or what its read-ahead takes around it.
        cells |= {f"hdd, {how} {size >> 10} KiB, {threads} threads": (lab.folder / "hdd", HDD, how, size, threads)
                  for how, size, threads in (("map_random", 4096, 1), ("map_random", 4096, 4), ("map", 128 << 10, 1))}
        lab.measure("time over model", lab.each(cells, read), wide=True)
