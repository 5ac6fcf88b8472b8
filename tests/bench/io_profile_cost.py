#!/usr/bin/env python3
"""What the I/O profiler costs a run, and what its sessions say beside the kernel: the same run with and without, interleaved.

tests/run bench/io_profile_cost [--rounds 5] [--only stream]

  stream     reads alone, 76 kB a file, from an emulated hard disk; a session every five steps, as the study's STREAM
  lustre     the same from an emulated Lustre; one session over all of the run
  fast       the same from a tier of 3.8 GB/s, 20 us a file
  training   AlexNet (67 pixels) on the processor, JPEG files from the page cache; one session over all of the run
  cache      reads alone from the page cache, where a file costs some microseconds; a session every five steps

Prints rate and CPU time with and without, and for each session the bytes and bandwidth of its reads beside rchar of /proc/PID/io,
which this program looks at every 2 ms (of sessions of a second and more).
"""
import argparse
import bisect
import json
import pathlib
import resource
import statistics
import tempfile
import threading
import time

from stoker import Process, stoker

STREAM = """
device:     {type: emulated, images_per_s: 10000000}
storage:    {data: TIER}
dataset:    {type: image_folder, storage: data, split: {test_fraction: 0}}
decoder:    {type: discard}
loader:     {type: prefetched, batch_size: 128, workers: 16, prefetch_batches: 10}
model:      {type: linear}
optimizer:  {type: sgd, lr: 0.01}
evaluation: {enabled: false}
training:   {epochs: 1000, max_steps: STEPS, threads: 1}
metrics:    {every_steps: 5}
"""
TRAINING = """
device:     {type: cpu}
storage:    {data: TIER}
dataset:    {type: image_folder, storage: data, split: {test_fraction: 0}}
decoder:    {type: jpeg, size: 67}
loader:     {type: prefetched, batch_size: 32, workers: 1}
model:      {type: alexnet}
optimizer:  {type: sgd, lr: 0.001}
evaluation: {enabled: false}
training:   {epochs: 1000, max_steps: STEPS}
metrics:    {every_steps: 5}
"""
POSIX = "{type: posix, read: tensorflow, root: DATA}"
EVERY_FIVE = "metrics.io_profile={every_steps: 5, steps: 5}"
EVERY_S = 0.002  # between two looks of the observer
ALL = "metrics.io_profile={every_steps: 1000000, steps: 1000000}"
# Configuration, tier, steps, what switches the profiler on.
CASES = {
    "stream": (STREAM, "{type: emulated, profile: hdd, inner: " + POSIX + "}", 30, EVERY_FIVE),
    "lustre": (STREAM, "{type: emulated, profile: lustre, inner: " + POSIX + "}", 200, ALL),
    "fast": (STREAM, "{type: emulated, read_mb_per_s: 3800, write_mb_per_s: 3800, inner: " + POSIX + "}", 1000, ALL),
    "training": (TRAINING, POSIX, 60, ALL),
    "cache": (STREAM, POSIX, 1000, EVERY_FIVE),
}


def run(folder, case, on, name):
    config, tier, steps, switch = CASES[case]
    config = config.replace("TIER", tier.replace("DATA", str(folder / "data"))).replace("STEPS", str(steps))
    (folder / "config.yaml").write_text(config)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = stoker("train", "config.yaml", "--quiet", "--json", f"run.dir={folder / name}", *([switch] if on else []),
                  cwd=folder, timeout=None)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"images/s": summary["images_per_s"], "CPU ms/image": 1000 * cpu / summary["images"]}


class Observer(threading.Thread):
    """Bytes that a process has read, as the kernel says, every 2 ms: from outside, with our own clock."""

    def __init__(self, pid):
        super().__init__()
        self.file = pathlib.Path(f"/proc/{pid}/io")
        self.seen = []
        self.start()

    def run(self):
        while True:
            try:
                rchar = int(self.file.read_text().split()[1])
            except (OSError, IndexError):
                return
            self.seen.append((time.time(), rchar))
            time.sleep(EVERY_S)

    def read_until(self, moment):
        times = [at for at, _ in self.seen]
        place = min(max(bisect.bisect(times, moment), 1), len(times) - 1)
        (begin, low), (end, high) = self.seen[place - 1:place + 1]
        return low + (high - low) * min(max((moment - begin) / (end - begin), 0), 1)


def compare_sessions(folder, case):
    """Each session's bandwidth beside the observer's of the same stretch of time."""
    process = Process(["train", "config.yaml", "--quiet", f"run.dir={folder / (case + '-seen')}", CASES[case][3]], folder)
    observer = Observer(process.child.pid)
    process.wait(timeout=None)
    observer.join()
    ratios = []
    for log in sorted((folder / f"{case}-seen" / "latest").glob("io_profile-*.darshan")):
        profile = json.loads(stoker("darshan", str(log), "--json", cwd=folder).stdout)
        profile = profile["logs"][0]["profile"]
        begin = profile["job"]["begin_unix_s"]
        seconds = profile["job"]["seconds"]
        if seconds < 1:
            continue
        kernel = observer.read_until(begin + seconds) - observer.read_until(begin)
        read = profile["posix"]["bytes_read"] + profile["stdio"]["bytes_read"]
        ratios.append((read / kernel, 1e-6 * read / seconds))
    if not ratios:
        return print(f"{case:<9} its sessions are too short to be compared")
    ratios, rates = zip(*ratios)
    print(f"{case:<9} {len(ratios)} sessions, {statistics.median(rates):.4g} MB/s ({min(rates):.4g} to {max(rates):.4g}); "
          f"beside the kernel's count {statistics.median(ratios):.4f} ({min(ratios):.4f} to {max(ratios):.4f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as name:
        folder = pathlib.Path(name)
        stoker("dataset", "synth", str(folder / "data"), "--samples=12800", "--median-bytes=76000", cwd=folder, timeout=None)
        for case in [options.only] if options.only else CASES:
            results = {True: [], False: []}
            run(folder, case, False, "warm")
            for number in range(options.rounds):
                for on in (False, True) if number % 2 == 0 else (True, False):
                    results[on].append(run(folder, case, on, f"{case}-{number}-{on}"))
            for key in results[True][0]:
                with_, without = ([r[key] for r in results[on]] for on in (True, False))
                ratios = [a / b for a, b in zip(with_, without)]
                print(f"{case:<9} {key:<13} without {statistics.median(without):.5g} ({min(without):.5g} to {max(without):.5g}); "
                      f"with {statistics.median(with_):.5g} ({min(with_):.5g} to {max(with_):.5g}); "
                      f"ratio {statistics.median(ratios):.4f} ({min(ratios):.4f} to {max(ratios):.4f})", flush=True)
            compare_sessions(folder, case)


if __name__ == "__main__":
    main()
