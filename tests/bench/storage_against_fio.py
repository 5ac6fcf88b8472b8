#!/usr/bin/env python3
"""`stoker bench storage` beside fio, interleaved, in the same directory and by the same pattern:
sequential (1 MiB) and random (4 KiB), reads and synced writes, threads 1 and 4, a file per thread;
past the page cache (tier direct, fio --direct=1) and through it, reads cold. Prints the medians of
both in MB/s (10^6 bytes) and how far stoker's is from fio's. Exit code 7: further than --within.

A figure of ours is bytes of all / time until the last thread was done; fio's is its aggregate
bandwidth ("bw_bytes" of its group), which is the same, sync included. Both read files that were
written before, without fadvise, and write new ones, without fallocate, from memory that stays as
it is. Of each turn of either the last round counts: the first pays for memory and blocks that
nobody has touched before. What else the machine does disturbs both.

Needs fio. tests/run bench/storage_against_fio --dir DIRECTORY [--rounds 5]
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

from stoker import STOKER

CONFIG = """
storage:
  buffered: {type: posix, root: %(root)s}
  direct:   {type: direct, root: %(root)s}
dataset: {type: synthetic}
"""
BLOCK = {"sequential": 256 << 20, "random": 16 << 20}
TRANSFER = {"sequential": 1 << 20, "random": 4 << 10}


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout[done.stdout.index("{"):])


class Comparison:
    def __init__(self, directory, scale):
        self.dir, self.scale = directory, scale
        self.config = directory / "tiers.yaml"
        self.config.write_text(CONFIG % {"root": directory})

    def block(self, pattern):
        return max(int(BLOCK[pattern] * self.scale), TRANSFER[pattern])

    def by_stoker(self, tier, op, pattern, threads):
        result = run([STOKER, "bench", "storage", self.config, tier, "--op", op, "--pattern", pattern,
                      "--threads", threads, "--block-size", self.block(pattern), "--transfer-size",
                      TRANSFER[pattern], "--rounds", 2, "--fsync", "--cold", "--json"])["results"][0]
        last = result["rounds"][-1]
        if not last["counts"]:
            sys.exit(f"{self.dir}: files are not evicted here, so nothing is cold")
        return 1e-6 * last["bytes"] / last["seconds"]

    def by_fio(self, tier, op, pattern, threads):
        for i in range(threads):
            name = self.dir / f"fio-{i}"
            if op == "read":
                self.write(name, self.block(pattern))
            else:
                name.unlink(missing_ok=True)
        kind = {"sequential": "", "random": "rand"}[pattern] + op
        report = run(["fio", "--name=x", f"--rw={kind}", f"--bs={TRANSFER[pattern]}", f"--size={self.block(pattern)}",
                      f"--directory={self.dir}", "--filename_format=fio-$jobnum", f"--numjobs={threads}", "--thread",
                      f"--direct={int(tier == 'direct')}", "--ioengine=psync", "--invalidate=1", "--fallocate=none",
                      f"--end_fsync={int(op == 'write')}", "--group_reporting", "--output-format=json",
                      "--fadvise_hint=0", "--scramble_buffers=0", "--randrepeat=0"])
        return report["jobs"][0][op]["bw_bytes"] / 1e6

    @staticmethod
    def write(name, size):
        if name.exists() and name.stat().st_size == size:
            return
        with open(name, "wb") as file, open("/dev/urandom", "rb") as noise:
            piece = noise.read(1 << 20)
            for begin in range(0, size, len(piece)):
                file.write(piece[:size - begin])
        subprocess.run(["sync", str(name)], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dir", required=True, help="on the file system that is to be measured")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1, help="of the bytes per thread")
    parser.add_argument("--within", type=float, help="per cent; exit code 7 where some median is further off")
    arguments = parser.parse_args()
    if shutil.which("fio") is None:
        sys.exit("fio is not installed")
    worst = 0
    with tempfile.TemporaryDirectory(dir=arguments.dir, prefix="against-fio-") as directory:
        comparison = Comparison(pathlib.Path(directory), arguments.scale)
        print(f"{'tier':<9} {'op':<6} {'pattern':<11} {'threads':>7} {'stoker':>9} {'fio':>9} {'deviation':>10}   MB/s, "
              f"medians of {arguments.rounds} interleaved rounds")
        for case in [(tier, op, pattern, threads) for tier in ("direct", "buffered") for op in ("read", "write")
                     for pattern in ("sequential", "random") for threads in (1, 4)]:
            ours, theirs = [], []
            for i in range(arguments.rounds):
                turns = [(ours, comparison.by_stoker), (theirs, comparison.by_fio)]
                for rates, measure in turns if i % 2 == 0 else reversed(turns):
                    if measure == comparison.by_fio:
                        measure(*case)
                    rates.append(measure(*case))
            a, b = statistics.median(ours), statistics.median(theirs)
            deviation = 100 * (a / b - 1)
            worst = max(worst, abs(deviation))
            print(f"{case[0]:<9} {case[1]:<6} {case[2]:<11} {case[3]:>7} {a:>9.1f} {b:>9.1f} {deviation:>+8.1f} %"
                  f"   stoker {min(ours):.0f}..{max(ours):.0f}, fio {min(theirs):.0f}..{max(theirs):.0f}", flush=True)
    print(f"furthest apart: {worst:.1f} %")
    return 7 if arguments.within is not None and worst > arguments.within else 0


if __name__ == "__main__":
    sys.exit(main())
