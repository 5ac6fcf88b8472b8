#!/usr/bin/env python3
"""How long a batch is waited for where 1 % of reads take 50 times as long, with and without what helps.

tests/run bench/tail [--batches 1500] [--ms 5] [--workers 8] [--batch 32] [--slow 0.01] [--factor 50] [--http]
                     [--in-flight auto|N] [--rounds 1] [--only WORD]

The tier is emulated, or with --http a server of this program's own on the loopback interface. Samples are raw pixels and the
device takes nothing, so that storage is all that is waited for. Each line is a run: waits are those of the trainer for each
batch but the first 50 (data_wait in steps.csv), more reads are storage.data's hedge.reads over the others. `plain` has no
slow reads, and is what the others are compared with.
"""
import argparse
import csv
import contextlib
import json
import pathlib
import random
import statistics
import tempfile

from slow_server import Tail, slow_server
from stoker import emulated, flow, posix, stoker

SIDE, FILES = 16, 3200
WARM = 50
# name: slow reads, hedge, batches ahead, in_order
CASES = [("plain", False, None, 2, True),
         ("none", True, None, 2, True),
         ("ahead", True, None, 8, True),
         ("ready", True, None, 4, False),
         ("hedge", True, "p95", 2, True),
         ("hedge, ahead", True, "p95", 8, True),
         ("hedge, ready", True, "p95", 4, False)]


def make_data(folder):
    pixels = random.Random(1)
    for number in range(FILES):
        path = folder / f"class{number % 4}" / f"{number:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pixels.randbytes(SIDE * SIDE * 3))


def waits_of(run):
    """Milliseconds that each batch was waited for."""
    with open(run / "steps.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    sums = [float(row["segments_s.data_wait"]) for row in rows]
    return [1000 * (b - a) for a, b in zip(sums, sums[1:])][WARM:]


def tier_of(options, stack, data, slow, hedge):
    more = {"hedge": hedge} if hedge else {}
    if not options.http:
        figures = {"read_latency_ms": options.ms, "queue_depth": 10000, "shared": "false"}
        if slow:
            figures |= {"slow_fraction": options.slow, "slow_factor": options.factor}
        return emulated(data, **figures, **more)
    tail = Tail(options.ms, options.slow if slow else 0, options.factor)
    url = stack.enter_context(slow_server(data, tail))
    return flow(type="http", url=url, index="index", in_flight=options.in_flight, **more)


def measure(options, folder, case):
    name, slow, hedge, ahead, in_order = case
    loader = flow(type="prefetched", batch_size=options.batch, workers=options.workers, prefetch_batches=ahead,
                  in_order=str(in_order).lower())
    (folder / "config.yaml").write_text(f"""
device:     {{type: emulated, step_ms: 0}}
storage:    {{data: {posix(folder / 'data')}}}
dataset:    {{type: image_folder, storage: data, split: {{train_per_class: {FILES // 4 - 1}, test_per_class: 1}}}}
decoder:    {{type: raw, width: {SIDE}, height: {SIDE}, size: {SIDE}}}
training:   {{epochs: 1000000}}
metrics:    {{every_steps: 1, sinks: [{{type: csv}}]}}
""")
    with contextlib.ExitStack() as stack:
        done = stoker("train", "config.yaml", "--quiet", "--json", f"training.max_steps={options.batches}",
                      f"loader={loader}", f"storage.data={tier_of(options, stack, folder / 'data', slow, hedge)}",
                      cwd=folder, timeout=None)
    summary = json.loads(done.stdout)
    waits = sorted(waits_of(folder / summary["run_directory"]))
    at = lambda share: waits[min(len(waits) - 1, int(share * len(waits)))]
    tier = summary["tiers"]["data"]
    reads = tier["read"]["duration_s"]["count"]
    more = tier.get("hedge", {})
    return {"name": name, "ahead": ahead, "in_order": in_order, "median": at(0.5), "p99": at(0.99), "p99.9": at(0.999),
            "max": waits[-1], "mean": statistics.fmean(waits), "more": more.get("reads", 0) / reads,
            "won": more.get("won", 0), "in_flight": tier.get("most_in_flight")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--batches", type=int, default=1500)
    parser.add_argument("--ms", type=float, default=5)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--slow", type=float, default=0.01)
    parser.add_argument("--factor", type=float, default=50)
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--in-flight", default="auto")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("what           ahead in_order |   mean  median     p99   p99.9     max ms | p99.9/median | more reads  won  in flight")
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as name:
        folder = pathlib.Path(name)
        make_data(folder / "data")
        for _ in range(options.rounds):
            for case in CASES:
                if options.only and options.only not in case[0]:
                    continue
                row = measure(options, folder, case)
                print(f"{row['name']:14} {row['ahead']:5} {str(row['in_order']).lower():8} | {row['mean']:6.1f}  "
                      f"{row['median']:6.1f}  {row['p99']:6.1f}  {row['p99.9']:6.1f}  {row['max']:6.1f}    | "
                      f"{row['p99.9'] / row['median']:12.2f} | {row['more']:9.2%} {row['won']:5}  {row['in_flight'] or ''}", flush=True)


if __name__ == "__main__":
    main()
