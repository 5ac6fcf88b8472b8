#!/usr/bin/env python3
"""What each way to checkpoint costs a training: stoker train with none, direct, burst_buffer, and
burst_buffer with async and swap, interleaved in one run; times, and ratios of medians. The emulated
device computes no update, so with swap the state is copied into its other memory, in the stall:
`stoker bench checkpoint --loop` has real updates.

tests/run bench/checkpoint_strategies [--rounds 3] [a.b=c ...]
"""
import argparse
import json
import os
import shutil
import statistics
import tempfile

from stoker import SOURCE, stoker

VARIANTS = {
    "none": ["checkpoint.type=none"],
    "direct": ["checkpoint.type=direct"],
    "burst_buffer": ["checkpoint.type=burst_buffer"],
    "burst_buffer+async": ["checkpoint.type=burst_buffer", "checkpoint.snapshot=async"],
    "burst_buffer+swap": ["checkpoint.type=burst_buffer", "checkpoint.snapshot=swap"],
}


def run(options, variant, directory):
    for tier in ("fast", "slow"):
        shutil.rmtree(f"{directory}/{tier}", ignore_errors=True)
    os.sync()
    done = stoker("train", SOURCE / "configs/checkpoint.yaml", f"run.dir={directory}/runs", "--quiet", "--json",
                  *VARIANTS[variant], *options.overrides, cwd=SOURCE, timeout=None,
                  env={"STOKER_FAST": f"{directory}/fast", "STOKER_SLOW": f"{directory}/slow"})
    summary = json.loads(done.stdout)
    checkpoints = summary.get("checkpoints", {})
    return {"wall_s": summary["wall_s"], "stall_s": summary["segments_s"]["checkpoint_stall"],
            "flush_s": checkpoints.get("flush_s", 0), "saved": checkpoints.get("saved", 0),
            "drained": checkpoints.get("drained", 0), "idle": summary["device"]["idle_share"],
            "set_mb": checkpoints.get("set_bytes", 0) / 1e6}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", help="where the tiers lie; default: a temporary directory")
    parser.add_argument("overrides", nargs="*")
    options = parser.parse_intermixed_args()
    results = {variant: [] for variant in VARIANTS}
    with tempfile.TemporaryDirectory(prefix="stoker-bench-", dir=options.dir) as directory:
        for number in range(options.rounds):
            order = list(VARIANTS) if number % 2 == 0 else list(reversed(VARIANTS))
            for variant in order:
                results[variant].append(run(options, variant, directory))

    def median(variant, key):
        return statistics.median(result[key] for result in results[variant])

    base = median("none", "wall_s")
    print(f"{options.rounds} interleaved rounds; seconds: median (min to max)")
    print(f"{'':<20} {'loop':>24} {'more than none':>15} {'stall':>24} {'flush':>7} {'saved':>6} {'drained':>8} {'device idle':>12}")
    for variant, rows in results.items():
        def cell(key):
            values = [row[key] for row in rows]
            return f"{statistics.median(values):8.3f} ({min(values):.3f} to {max(values):.3f})"
        print(f"{variant:<20} {cell('wall_s'):>24} {100 * (median(variant, 'wall_s') / base - 1):13.2f} % "
              f"{cell('stall_s'):>24} {median(variant, 'flush_s'):7.2f} {rows[0]['saved']:>6} "
              f"{rows[0]['drained']:>8} {100 * median(variant, 'idle'):10.2f} %")
    direct = median("direct", "stall_s")
    for variant in list(VARIANTS)[2:]:
        extra = (median("direct", "wall_s") - base) / max(median(variant, "wall_s") - base, 1e-9)
        print(f"{variant}: {direct / median(variant, 'stall_s'):.1f} times less stall than direct, "
              f"{extra:.1f} times less time added to the loop")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
