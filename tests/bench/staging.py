#!/usr/bin/env python3
"""What staging brings, predicted and achieved, from an emulated hard disk to an emulated Optane.

tests/run bench/staging [--files 120] [--readers 1] [--epochs 5] [--fast /dev/shm]

Sizes as tf-Darshan's malware files have them (10,868 of BIG 2015; here every so-manieth): median 4 MB, 40 % of the files
below 2 MB, which are 8 % of the bytes. A file is a small JPEG with zeros behind it, read as TensorFlow does (1 MiB pieces).
Staging the files below 2 MB raised the study's bandwidth by 19 % with one thread. The predictions are made before anything has run.

  rule     all files below 2 MB; the study's own choice
  own      what `stoker advise` chooses for the same bytes; never worse, and the same where all files are read alike
  auto     own, staged while the first epoch reads
  counts   a third of the small files is of a class that is left out: the rule stages them all the same
  sizes    files of 0.6 to 1.4 MiB on `lustre`: a file just above 1 MiB is one request more
"""
import argparse
import csv
import json
import pathlib
import random
import shutil
import statistics
import tempfile
import time

from stoker import MINI, emulated, flow, stoker

RULE = 2_000_000


def malware_sizes(count):
    """Quantiles: 40 % of files from 20 kB to 2 MB, mean 0.85 MB; 10 % to 4 MB; the rest to 11 MB."""
    sizes = []
    for i in range(count):
        place = (i + 0.5) / count
        if place < 0.4:
            sizes.append(20_000 + 1_980_000 * (place / 0.4) ** 1.4)
        elif place < 0.5:
            sizes.append(2_000_000 + 2_000_000 * (place - 0.4) / 0.1)
        else:
            sizes.append(4_000_000 + 7_100_000 * (place - 0.5) / 0.5)
    return [round(size) for size in sizes]


def even_sizes(count):
    return [round((0.6 + 0.8 * i / count) * 2**20) for i in range(count)]


def write(folder, sizes):
    """Files of three classes; each is an image with a hole behind it."""
    image = min(MINI.rglob("*.jpg"), key=lambda path: path.stat().st_size).read_bytes()
    order = list(range(len(sizes)))
    random.Random(1).shuffle(order)
    for number, size in zip(order, sizes):
        path = folder / f"class{number % 3}" / f"{number:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
        with path.open("r+b") as file:
            file.truncate(max(size, len(image)))


class Bench:
    def __init__(self, options, folder, fast, sizes, profile, *overrides):
        self.folder, self.fast, self.overrides, self.options = folder, fast, overrides, options
        data = folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        write(data, sizes)
        batch = 4
        steps = len(sizes) * (2 if any("exclude" in word for word in overrides) else 3) // 3 // batch
        slow = emulated(profile=profile, tier=lambda root: flow(type="posix", root=data, read="tensorflow"))
        # Staged objects are read in the same way.
        quick = emulated(profile="optane", tier=lambda root: flow(type="posix", root=fast, read="tensorflow"))
        (folder / "bench.yaml").write_text(
            "run: {name: staging}\ndevice: {type: emulated, step_ms: 0.1}\n"
            f"storage:\n  data: {slow}\n  fast: {quick}\n"
            "dataset: {type: image_folder, storage: data}\ndecoder: {type: turbojpeg, size: 32}\n"
            f"loader: {{type: prefetched, batch_size: {batch}, workers: {options.readers}}}\n"
            f"model: {{type: linear}}\ntraining: {{epochs: {options.epochs}}}\nevaluation: {{enabled: false}}\n"
            f"metrics: {{every_steps: {steps}, sinks: [{{type: csv}}]}}\n")

    def json(self, *words):
        return json.loads(stoker(*words, "--json", cwd=self.folder, timeout=None).stdout)

    def advise(self, plan, *words):
        return self.json("advise", "bench.yaml", *self.overrides, "--fast", "fast", "--output", plan, *words)

    def clear(self):
        shutil.rmtree(self.fast, ignore_errors=True)
        self.fast.mkdir()

    def epochs(self, *overrides):
        summary = self.json("train", "bench.yaml", *self.overrides, *overrides)
        with (self.folder / summary["run_directory"] / "steps.csv").open() as rows:
            times = [float(row["wall_s"]) for row in csv.DictReader(rows)]
        return [end - begin for begin, end in zip([0, *times], times)]

    def staged(self, advice):
        """Epochs of a training by a plan that was staged before, and how long that took."""
        self.clear()
        begin = time.monotonic()
        self.json("dataset", "stage", "bench.yaml", *self.overrides, *advice["overrides"])
        took = time.monotonic() - begin
        return self.epochs(*advice["overrides"]), took

    def auto(self, capacity):
        self.clear()
        return self.advise("auto.json", "--capacity", capacity, "--auto")["achieved"]["epochs_s"]


def way(advice, name):
    return next(row for row in advice["ways"] if row["way"].startswith(name))


def settled(epochs):
    """Seconds of an epoch, the first one left out: it may have staged."""
    return statistics.median(epochs[1:] or epochs)


def report(title, rows):
    """rows: (way, predicted row of the advice, achieved epochs, seconds of staging before)"""
    base = settled(rows[0][2])
    print(f"\n{title}\n  {'staged':8}{'files %':>8}{'bytes %':>8}{'predicted s':>13}{'achieved s':>12}{'error %':>9}"
          f"{'gain %':>8}{'first s':>9}{'before s':>10}")
    worst = 0
    for name, predicted, epochs, before in rows:
        achieved = settled(epochs)
        error = predicted["epoch_s"] / achieved - 1
        worst = max(worst, abs(error))
        print(f"  {name:8}{100 * predicted['share_of_objects']:8.1f}{100 * predicted['share_of_bytes']:8.1f}"
              f"{predicted['epoch_s']:13.2f}{achieved:12.2f}{100 * error:9.1f}{100 * (base / achieved - 1):8.1f}{epochs[0]:9.2f}"
              f"{before:10.2f}")
    rule, own = (settled(next(row[2] for row in rows if row[0] == name)) for name in ("rule", "own"))
    print(f"  predicted within 10 %: {'yes' if worst <= 0.1 else 'NO'} ({100 * worst:.1f} %); own against the rule: "
          f"{100 * (rule / own - 1):+.1f} % in rate", flush=True)


def compare(bench, title, max_file, with_auto=False):
    rule = bench.advise("rule.json", "--max-file", max_file)
    own = bench.advise("own.json", "--capacity", rule["capacity"])
    rows = [("none", way(rule, "nothing"), bench.epochs(), 0),
            ("rule", way(rule, "below"), *bench.staged(rule)),
            ("own", way(own, "most saved"), *bench.staged(own))]
    if with_auto:
        rows.append(("auto", way(own, "most saved"), bench.auto(rule["capacity"]), 0))
    report(title, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=120)
    parser.add_argument("--readers", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--fast", default="/dev/shm", help="where the files of the fast tier are")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=options.fast) as fast:
        folder, fast = pathlib.Path(folder), pathlib.Path(fast) / "fast"
        sizes = malware_sizes(options.files)
        small = [size for size in sizes if size < RULE]
        print(f"EMULATED hdd and optane; {len(sizes)} files, {sum(sizes) / 1e6:.0f} MB, {options.readers} reader(s); below "
              f"2 MB: {100 * len(small) / len(sizes):.0f} % of files, {100 * sum(small) / sum(sizes):.1f} % of bytes")
        compare(Bench(options, folder, fast, sizes, "hdd"), "all files read alike (the study: rule +19 %)", RULE, True)
        compare(Bench(options, folder, fast, sizes, "hdd", "dataset.exclude=[class2]"), "counts: a class is left out", RULE)
        compare(Bench(options, folder, fast, even_sizes(3 * options.files), "lustre"),
                "sizes: requests of 1 MiB, lustre to optane", round(0.9 * 2**20))


if __name__ == "__main__":
    main()
