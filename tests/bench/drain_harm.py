#!/usr/bin/env python3
"""What a drain costs the input, on one emulated disk that holds data and checkpoints: stoker train with no drain (sets stay
on the fast tier), with a drain as fast as it can, and with checkpoint.drain_limit: auto, interleaved in one run.

Slower: how much longer training took than without a drain, beside the time in which a drain went on. Training takes --load of
what the disk can give; a set is written to it and read back, --seconds apart.

tests/run bench/drain_harm [--rounds 3] [--load 0.8] [a.b=c ...]
"""
import argparse
import csv
import json
import pathlib
import statistics
import tempfile

from stoker import STOKER, configuration, emulated, posix, stoker

SIZE, CLASSES, IMAGES, BATCH = 192, 64, 10, 32
IMAGE_BYTES = 3 * SIZE * SIZE
VARIANTS = {
    "no drain": ["checkpoint.type=direct", "checkpoint.slow=fast"],
    "as fast as it can": [],
    "auto": ["checkpoint.drain_limit=auto"],
}


def make_data(root):
    for label in range(CLASSES):
        folder = root / f"class-{label:02}"
        folder.mkdir(parents=True)
        for image in range(IMAGES):
            (folder / f"{image:03}.rgb").write_bytes(bytes([label, image, 7]) * SIZE * SIZE)


def experiment(options):
    step_ms = 1e-3 * BATCH * IMAGE_BYTES / (options.load * options.disk_mb_per_s)
    steps = round(1e3 * options.seconds / step_ms)
    disk = emulated("disk", read_mb_per_s=options.disk_mb_per_s, write_mb_per_s=options.disk_mb_per_s, read_latency_ms=0.1,
                    queue_depth=9.7)
    return configuration(
        tiers={"data": posix("unused"), "fast": posix("fast"), "disk": disk},
        device=f"{{type: emulated, step_ms: {step_ms}}}",
        dataset="{type: image_folder, storage: disk, extensions: [.rgb]}",
        decoder=f"{{type: raw, height: {SIZE}, width: {SIZE}, size: {SIZE}}}",
        loader=f"{{type: prefetched, batch_size: {BATCH}, workers: 2, prefetch_batches: 4}}",
        optimizer="{type: adam, lr: 0.001}", evaluation="{enabled: false}",
        training=f"{{epochs: 100000, max_steps: {(options.saves + 1) * steps}}}",
        checkpoint=f"{{type: burst_buffer, fast: fast, slow: disk, every_steps: {steps}, snapshot: async, keep_last: 2}}",
        metrics="{every_steps: 1000000, sinks: [{type: timeline, seconds: 0.1}]}")


def run(options, variant, data):
    with tempfile.TemporaryDirectory(prefix="stoker-drain-", dir=options.dir) as directory:
        directory = pathlib.Path(directory)
        (directory / "disk").mkdir()
        for folder in data.iterdir():
            (directory / "disk" / folder.name).symlink_to(folder)
        (directory / "trial.yaml").write_text(experiment(options))
        done = stoker("train", "trial.yaml", "--quiet", "--json", *VARIANTS[variant], *options.overrides, cwd=directory,
                      timeout=None)
        summary = json.loads(done.stdout)
        rows = list(csv.DictReader((directory / summary["run_directory"] / "timeline.csv").open()))
    figures = {"wall_s": summary["wall_s"], "data_wait_s": summary["segments_s"]["data_wait"], "images": summary["images"]}
    checkpoints = summary["checkpoints"]
    return figures | busy_with_drains(rows, summary["wall_s"]) | {
        "drain_s": checkpoints["drain_s"]["median"] if "drain_s" in checkpoints else None,
        "longest_drain_s": checkpoints["drain_s"]["max"] if "drain_s" in checkpoints else None,
        "decisions": checkpoints.get("drain_decisions"), "said": checkpoints.get("drain_slowdown_share")}


def busy_with_drains(rows, wall_s):
    """Images/s in the tenths of a second with a drain and in those without, up to the end of the loop."""
    passed = {True: [0, 0], False: [0, 0]}
    before = None
    for row in rows:
        at = float(row["elapsed_s"])
        if before is not None and at <= wall_s and row["images_per_s"]:
            kind = passed[float(row["checkpoints.draining"]) > 0]
            kind[0] += float(row["images_per_s"]) * (at - before)
            kind[1] += at - before
        before = at
    def rate(images, seconds):
        return images / seconds if seconds else None
    return {"draining_s": passed[True][1], "rate_draining": rate(*passed[True]), "rate_else": rate(*passed[False])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--load", type=float, default=0.8)
    parser.add_argument("--disk-mb-per-s", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=10, help="between two saves")
    parser.add_argument("--saves", type=int, default=2, help="that are followed by as many seconds of training")
    parser.add_argument("--dir", default="/dev/shm")
    parser.add_argument("overrides", nargs="*")
    options = parser.parse_intermixed_args()
    results = {variant: [] for variant in VARIANTS}
    with tempfile.TemporaryDirectory(prefix="stoker-drain-data-", dir=options.dir) as data:
        make_data(pathlib.Path(data))
        for number in range(options.rounds):
            for variant in (list(VARIANTS) if number % 2 == 0 else list(reversed(VARIANTS))):
                results[variant].append(run(options, variant, pathlib.Path(data)))

    def spread(values, digits=3):
        values = [value for value in values if value is not None]
        if not values:
            return "-"
        return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"

    print(f"{STOKER}: {options.rounds} interleaved rounds; median (min to max); disk {options.disk_mb_per_s:g} MB/s, training "
          f"takes {options.load:g} of it, a save every {options.seconds:g} s")
    print(f"{'':<18} {'images/s':>28} {'while draining':>28} {'drain s':>24} {'longest':>8} {'slower while draining, %':>26}")
    for variant, rows in results.items():
        slower = [100 * (row["wall_s"] - base["wall_s"]) / row["draining_s"] if row["draining_s"] else None
                  for row, base in zip(rows, results["no drain"])]
        rates = [row["images"] / row["wall_s"] for row in rows]
        longest = [row["longest_drain_s"] for row in rows if row["longest_drain_s"]]
        print(f"{variant:<18} {spread(rates, 1):>28} {spread([row['rate_draining'] for row in rows], 1):>28} "
              f"{spread([row['drain_s'] for row in rows]):>24} {max(longest):8.2f}" if longest else
              f"{variant:<18} {spread(rates, 1):>28} {'-':>28} {'-':>24} {'-':>8}", f"{spread(slower, 2):>26}")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
