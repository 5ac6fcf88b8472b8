#!/usr/bin/env python3
"""The simulator beside reality: measures one run of one rank for each loader, predicts cells of other ranks, tiers, orders
and checkpoints from it (`stoker simulate --run`), runs each of them (`stoker launch`), and prints the error of each, their
median and the worst. Then it turns knobs, and the same by --what-if. Device, tiers and the time of decoding are emulated,
for a machine of two cores has none for eight ranks; waiting, order, claims, barriers and checkpoints are the program's.

tests/run bench/simulator [--steps 24] [--rounds 1] [--only PATTERN] [--knobs] [--json FILE]
"""
import argparse
import json
import pathlib
import re
import statistics
import tempfile

from stoker import LOADERS, MINI, configuration, emulated, flow, slow_decoder, stoker

STEP_MS, DECODE_MS, BATCH = 120, 6, 32
TIERS = {"fast": {"read_latency_ms": 0.2, "queue_depth": 64},
         "hdd": {"read_mb_per_s": 163, "write_mb_per_s": 133, "read_latency_ms": 0.1, "write_latency_ms": 0.1,
                 "seek_ms": 8, "queue_depth": 2.118},
         "far": {"read_latency_ms": 30, "queue_depth": 16, "latency_sigma": 0.3},
         "narrow": {"read_mb_per_s": 4, "read_latency_ms": 1, "queue_depth": 8}}
SLOW = {"read_mb_per_s": 60, "write_mb_per_s": 40, "metadata_latency_ms": 4, "write_latency_ms": 1, "queue_depth": 4}
QUICK = {"read_mb_per_s": 800, "write_mb_per_s": 400, "metadata_latency_ms": 0.5, "queue_depth": 8}


def figures(name):
    """What a tier's figures are for the simulator."""
    return flow(**{"read_mb_per_s": 1e6, "write_mb_per_s": 1e6} | (TIERS[name] if isinstance(name, str) else name))


class Bench:
    def __init__(self, directory, steps):
        self.directory, self.steps = directory, steps
        for tier in ("quick", "slow"):
            (directory / tier).mkdir()
        self.measured = {}

    def write(self, loader, tier, checkpoint=None, order=None, step_ms=STEP_MS, delay_ms=DECODE_MS, **options):
        config = self.directory / "bench.yaml"
        extra = {"order": order, "window": 100 if order == "window" else None} | options
        settings = {"type": loader, "batch_size": BATCH, "workers": 2, "prefetch_batches": 2, "device_batches": 2} | {
            key: value for key, value in extra.items() if value is not None}
        tiers = {"data": emulated(MINI, **(TIERS[tier] if isinstance(tier, str) else tier)),
                 "quick": emulated(self.directory / "quick", **QUICK), "slow": emulated(self.directory / "slow", **SLOW)}
        config.write_text(configuration(
            tiers=tiers, device=flow(type="emulated", step_ms=step_ms, h2d_gb_per_s=1), loader=flow(**settings),
            training=flow(epochs=1000, max_steps=self.steps, threads=1), evaluation="{enabled: false}", distributed="{}",
            checkpoint=flow(**checkpoint) if checkpoint else "{type: none}",
            metrics="{every_steps: 1000, sinks: []}", model="{type: linear}"))
        return [config, *slow_decoder(delay_ms, 64)]

    def run(self, ranks, words):
        """The run directory and its summary."""
        how = ["launch", "--ranks", ranks] if ranks > 1 else ["train"]
        done = stoker(*how, *words, f"run.name=bench-{len(list(self.directory.glob('runs/*')))}", "--json",
                      cwd=self.directory, timeout=None)
        summary = json.loads(done.stdout)
        return self.directory / summary["run_directory"], summary

    def simulate(self, run, *words):
        return json.loads(stoker("simulate", "--run", run, *words, "--json", cwd=self.directory, timeout=None).stdout)["results"]

    def calibration(self, loader):
        """A run of one rank on a fast tier, with checkpoints on both tiers for what they cost."""
        if loader not in self.measured:
            saves = {"type": "burst_buffer", "fast": "quick", "slow": "slow", "every_steps": 6, "threads": 1}
            self.measured[loader], _ = self.run(1, self.write(loader, "fast", saves))
        return self.measured[loader]

    def cell(self, loader, ranks, tier, order=None, checkpoint=None, rounds=1):
        run = self.calibration(loader)
        words = [f"machine.ranks_per_node={ranks}", f"machine.storage.data={figures(tier)}"]
        words.append(f"workload.checkpoint={flow(**checkpoint) if checkpoint else '{type: none}'}")
        if checkpoint:
            words += [f"machine.storage.quick={flow(**QUICK)}", f"machine.storage.slow={flow(**SLOW)}"]
        if order:
            words += [f"workload.loader.order={order}"]
            words += ["workload.loader.window=100"] if order == "window" else []
        predicted = self.simulate(run, *words)[0]
        real = [self.run(ranks, self.write(loader, tier, checkpoint, order))[1] for _ in range(rounds)]
        return predicted, sorted(real, key=lambda summary: summary["wall_s"])[len(real) // 2]


def cells():
    """(loader, ranks, tier, order, checkpoint)"""
    direct = {"type": "direct", "slow": "slow", "every_steps": 6, "threads": 1}
    burst = {"type": "burst_buffer", "fast": "quick", "slow": "slow", "every_steps": 6, "threads": 1}
    for loader in LOADERS:
        for tier in ("hdd", "far"):
            for ranks in (1, 2, 4, 8):
                yield loader, ranks, tier, None, None
    for ranks in (1, 2, 4, 8):
        yield "prefetched", ranks, "narrow", None, None
        yield "sync", ranks, "hdd", None, direct
        yield "prefetched", ranks, "hdd", None, burst
    for order in ("window", "local_files", "global_files"):
        yield "threaded", 4, "far", order, None
        yield "prefetched", 2, "hdd", order, None


def show(name, predicted, real):
    rate = real["all_ranks"] if real["world_size"] > 1 else real
    error = predicted["images_per_s"] / rate["images_per_s"] - 1
    idle = 100 * real["device"]["idle_share"]
    print(f"{name:58} {predicted['wall_s']:8.2f} {real['wall_s']:8.2f} {100 * error:+7.2f} %   idle {100 * predicted['device']['idle_share']:5.1f} "
          f"{idle:5.1f} %   stall {predicted['checkpoint_stall_s']:6.2f} {real['segments_s'].get('checkpoint_stall', 0):6.2f}", flush=True)
    return {"cell": name, "predicted_s": predicted["wall_s"], "real_s": real["wall_s"], "error": error,
            "predicted_idle": predicted["device"]["idle_share"], "real_idle": real["device"]["idle_share"]}


def verdict(rows, most):
    errors = sorted(rows, key=lambda row: abs(row["error"]))
    median = statistics.median(abs(row["error"]) for row in rows)
    print(f"{len(rows)} cells: median error {100 * median:.2f} %, worst {100 * errors[-1]['error']:+.2f} % ({errors[-1]['cell']})")
    return median <= most


def knobs(bench):
    """Each knob, turned for the simulator and really. The run it begins with: read ahead, limited by its tier."""
    tier = TIERS["hdd"]
    faster = {key: value * (4 if key.endswith("mb_per_s") else 0.25 if key.endswith("_ms") else 1) for key, value in tier.items()}
    before, first = bench.run(1, bench.write("prefetched", "hdd"))
    decoding, second = bench.run(1, bench.write("threaded", "fast", delay_ms=16))
    turns = [("storage=4x", before, first, 1, lambda: bench.write("prefetched", faster)),
             ("compute=2x", before, first, 1, lambda: bench.write("prefetched", "hdd", step_ms=STEP_MS / 2)),
             ("ranks=4", before, first, 4, lambda: bench.write("prefetched", "hdd")),
             ("workers=8", before, first, 1, lambda: bench.write("prefetched", "hdd", workers=8)),
             ("storage=4x,ranks=4", before, first, 4, lambda: bench.write("prefetched", faster)),
             ("decode=2x", decoding, second, 1, lambda: bench.write("threaded", "fast", delay_ms=8)),
             ("ranks=8", decoding, second, 8, lambda: bench.write("threaded", "fast", delay_ms=16)),
             ("decode=4x,ranks=2", decoding, second, 2, lambda: bench.write("threaded", "fast", delay_ms=4)),
             ("workers=2x", decoding, second, 1, lambda: bench.write("threaded", "fast", delay_ms=16, workers=4))]
    rows = []
    for knob, run, base, ranks, words in turns:
        baseline, turned = bench.simulate(run, "--what-if", knob)
        real = bench.run(ranks, words())[1]
        rows.append(show(f"{knob} ({base['wall_s']:.2f} s before, {baseline['wall_s']:.2f} s simulated)", turned, real))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--knobs", action="store_true", help="knobs alone")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-simulator-") as folder:
        bench = Bench(pathlib.Path(folder), arguments.steps)
        print(f"{'cell':58} {'simulated':>8} {'real s':>8} {'error':>9}", flush=True)
        rows = []
        for loader, ranks, tier, order, checkpoint in () if arguments.knobs else cells():
            parts = [loader, f"{ranks} ranks", tier, order or "permutation", checkpoint["type"] if checkpoint else "no checkpoints"]
            name = ", ".join(parts)
            if re.search(arguments.only, name):
                rows.append(show(name, *bench.cell(loader, ranks, tier, order, checkpoint, arguments.rounds)))
        good = not rows or verdict(rows, 0.05)
        turned = [] if arguments.only else knobs(bench)
        good = (not turned or verdict(turned, 0.10)) and good
        if arguments.json:
            arguments.json.write_text(json.dumps({"cells": rows, "knobs": turned}, indent=1))
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
