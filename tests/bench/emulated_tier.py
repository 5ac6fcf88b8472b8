#!/usr/bin/env python3
"""The emulated tier against its own profile: bandwidth (whole objects of 1 MiB), operations per second
(whole objects of 4 KiB, operations on metadata) and writes (pieces of 1 MiB) by 1 to 16 threads, and by
two processes that share the device. Prints the deviation from what the figures of the profile give:

    min(n / (L + t), queue_depth / L, 1 / (seek / queue_depth + t))    operations/s of n threads

emulated_tier.py --bench build/tests/tier_bench [--profiles hdd ...] [--threads 1 2 ...] [--seconds 2]

tier_bench is built with -DSTOKER_BUILD_BENCHMARKS=ON. The inner tier lies in /dev/shm. A line marked
'overran' has no meaning for the emulator: this machine is too slow for that device (its operations took
longer than the model says, by more than 1 % of the threads' time).
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

MIB = 1 << 20


def tier(profile, root):
    return f"{{type: emulated, profile: {profile}, inner: {{type: posix, root: {root}}}}}"


def expected(figures, kind, size, threads):
    """Operations per second."""
    writes = kind == "append"
    seek = 0 if kind == "metadata" or (writes and threads == 1) else figures["seek_ms"]
    latency = seek + figures[{"read": "read", "append": "write"}.get(kind, kind) + "_latency_ms"]
    pipe = 1e-3 * size / figures["write_mb_per_s" if writes else "read_mb_per_s"]
    own = 1e-3 * size / figures["stream_mb_per_s"] if figures["stream_mb_per_s"] else pipe
    shared = seek / figures["queue_depth"] + pipe
    limits = [threads / (latency + own), figures["queue_depth"] / latency]
    return 1e3 * min(limits + ([1 / shared] if shared else []))


def measure(options, profile, root, kind, size, threads, processes=1):
    running = [subprocess.Popen(
        [options.bench, "run", tier(profile, root), "--op", kind, "--bytes", str(size),
         "--threads", str(threads // processes), "--seconds", str(options.seconds), "--together"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    for process in running:
        process.stdout.readline()
    at = f"{time.monotonic() + 0.3}\n"
    for process in running:
        process.stdin.write(at)
        process.stdin.flush()
    results = [json.loads(process.communicate()[0]) for process in running]
    return {key: sum(result[key] for result in results) for key in results[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--profiles", nargs="+", default=["hdd", "ssd", "optane", "lustre", "nfs", "s3-like"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--kinds", nargs="+", default=["bandwidth", "iops", "metadata", "write"])
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    kinds = {"bandwidth": ("read", MIB), "iops": ("read", 4096), "metadata": ("metadata", 0), "write": ("append", MIB)}
    worst = 0
    print(f"{'profile':<8} {'what':<10} {'threads':<10} {'expected/s':>11} {'measured/s':>11} {'MB/s':>8} {'off':>8}")
    with tempfile.TemporaryDirectory(prefix="stoker-tier-", dir="/dev/shm") as directory:
        for size in (MIB, 4096):
            (pathlib.Path(directory) / str(size)).mkdir()
            for number in range(32):
                (pathlib.Path(directory) / str(size) / f"{number:02}").write_bytes(bytes([number]) * size)
        for profile in options.profiles:
            figures = json.loads(subprocess.check_output([options.bench, "figures", profile], text=True))
            for what in options.kinds:
                kind, size = kinds[what]
                for threads, processes in [(n, 1) for n in options.threads] + [(2, 2), (8, 2)]:
                    root = f"{directory}/{MIB if what in ('bandwidth', 'write') else 4096}"
                    got = measure(options, profile, root, kind, size, threads, processes)
                    for left in pathlib.Path(root).glob("append-*"):
                        left.unlink()
                    wanted = expected(figures, kind, size, threads)
                    off = got["operations_per_s"] / wanted - 1
                    overran = got["overrun_s"] > 0.01 * threads * options.seconds
                    worst = worst if overran else max(worst, abs(off))
                    how = f"{threads}" if processes == 1 else f"{processes} x {threads // processes}"
                    print(f"{profile:<8} {what:<10} {how:<10} {wanted:11.1f} {got['operations_per_s']:11.1f} "
                          f"{got['mb_per_s']:8.1f} {100 * off:+7.2f}%{'  overran' if overran else ''}", flush=True)
    print(f"largest deviation of the lines that did not overrun: {100 * worst:.2f} %")


if __name__ == "__main__":
    main()
