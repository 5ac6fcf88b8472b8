#!/usr/bin/env python3
"""`stoker mount` against the model of its tier: the time that another program's random reads take, over what
the model says, by latency, request size and number of threads; and programs that map a file of an emulated
hard disk. All cells are measured in turn, round after round. Prints the lowest and the median ratio.

mount_model.py [--rounds 3] [--seconds 0.4] [--threads 1 2 4 8] [--sizes 4096 131072 1048576]

    model: n threads get min(n / (L + t), depth / L, 1 / (seek / depth + t)) reads/s of L ms and t = bytes / bandwidth

Readers are C++ threads that do nothing else, at real-time priority as the server's threads, so that other work of the
machine disturbs little (mount_reader.cpp); the files lie in /dev/shm; mode `direct`, so that
requests are as they are made; mapped files are read through the page cache, whose pages are dropped before each
round. Where the ratio is off: the overhead, in us a read by one thread. As root. Needs g++.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

from stoker import Process, emulated

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
DEPTH = 64
LATENCIES_MS = (0.0126, 0.1, 1, 10)
MB_PER_S = 1000
HDD = {"read_mb_per_s": 163, "read_latency_ms": 0.1, "seek_ms": 12.36, "queue_depth": 2.118}


def model(figures, size, threads):
    """Reads per second."""
    latency = 1e-3 * (figures["read_latency_ms"] + figures.get("seek_ms", 0))
    depth, pipe = figures["queue_depth"], size / (1e6 * figures["read_mb_per_s"])
    seek = 1e-3 * figures.get("seek_ms", 0) / depth
    return min(threads / (latency + pipe), depth / latency, 1 / (seek + pipe))


class Mount:
    def __init__(self, directory, name, figures, mode):
        self.at, self.figures = directory / name, figures
        self.at.mkdir()
        config = directory / f"{name}.yaml"
        config.write_text(f"storage: {{{name}: {emulated(directory / 'root', metadata_latency_ms=0, **figures)}}}\n")
        self.process = Process(["mount", config, name, self.at, "--mode", mode, "--json"], directory)
        if not self.process.wait_for("mounted tier"):
            sys.exit(self.process.log)
        print(self.process.log.strip().splitlines()[-1], flush=True)

    def sizes(self):
        return json.loads(os.getxattr(self.at, "user.stoker.statistics"))["reads"]["by_size"]

    def end(self):
        self.process.send(signal.SIGTERM)
        self.process.wait()
        return json.loads(self.process.output)


def read(reader, mount, how, size, threads, seconds):
    """(seconds a read of all threads together, median of one in us)"""
    os.getxattr(mount.at, "user.stoker.drop")
    done = json.loads(subprocess.check_output([reader, mount.at / "file", how, str(size), str(threads), str(seconds)]))
    return done["seconds"] / done["reads"], done["median_us"]


def row(what, ratios, note=""):
    print(f"{what:<44} {min(ratios):8.3f} {statistics.median(ratios):8.3f} {max(ratios):8.3f}  {note}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--sizes", nargs="+", type=int, default=[4096, 128 << 10, MIB])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-mount-", dir="/dev/shm") as name:
        directory = pathlib.Path(name)
        (directory / "root").mkdir()
        (directory / "root" / "file").write_bytes(os.urandom(128 * MIB))
        reader = directory / "reader"
        subprocess.run(["g++", "-std=c++20", "-O2", "-o", reader, HERE / "mount_reader.cpp", "-pthread"], check=True)
        mounts = [Mount(directory, f"ms{i}", {"read_latency_ms": latency, "read_mb_per_s": MB_PER_S, "queue_depth": DEPTH},
                        "direct") for i, latency in enumerate(LATENCIES_MS)]
        hdd = Mount(directory, "hdd", HDD, "cached")
        cells = [(mount, "pread", size, threads) for mount in mounts for size in options.sizes for threads in options.threads]
        # What one fault reads is the kernel's choice: a page, or what its read-ahead takes around it.
        cells += [(hdd, "map_random", 4096, threads) for threads in (1, 4)] + [(hdd, "map", 128 << 10, 1)]
        taken = {cell: [] for cell in cells}
        sizes = {}
        for _ in range(options.rounds):
            for cell in cells:
                mount, how, size, threads = cell
                before = mount.sizes()
                seconds = max(options.seconds, 40e-3 * mount.figures["read_latency_ms"], 1 if mount is hdd else 0)
                taken[cell].append(read(reader, mount, how, size, threads, seconds))
                sizes[cell] = sorted(key for key, count in mount.sizes().items() if count != before.get(key, 0))
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n{'time over model':<44} {'min':>8} {'median':>8} {'max':>8}")
        for cell in cells:
            mount, how, size, threads = cell
            expected = 1 / model(mount.figures, size, threads)
            own = statistics.median(us for _, us in taken[cell]) - 1e6 * expected if threads == 1 else None
            row(f"{'hdd' if mount is hdd else mount.figures['read_latency_ms']} ms, {how} {size >> 10} KiB, {threads} threads",
                [took / expected for took, _ in taken[cell]],
                f"requests of at most {'/'.join(sizes[cell])} B" + (f"; {own:+.1f} us a read" if own is not None else ""))
        for mount in [*mounts, hdd]:
            mount.end()


if __name__ == "__main__":
    main()
