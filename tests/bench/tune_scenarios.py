#!/usr/bin/env python3
"""`stoker tune` beside an exhaustive sweep: 12 scenarios of a tier, a cost of decoding on some cores, a device and a batch. The sweep runs every
loader with every number of workers and batches ahead; tune has its budget. What each of them found is then run again in turns, and the ratio
of the two is printed, with the seconds that tune took, and the rate that it printed beside the one that was measured again. Tiers, cores and
devices keep time, so that two cores can show many.

tests/run bench/tune_scenarios [--seconds 60] [--only PATTERN] [--rounds 3] [--json FILE]
"""
import argparse
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import tempfile

from stoker import MINI, SLOW_DECODER, STOKER, configuration, emulated, flow, posix, stoker

FAR = {"read_latency_ms": 30, "queue_depth": 64, "latency_sigma": 0.3}
# name: tier's figures (None: files of this machine), ms to decode a sample, cores for that, the device's images/s, batch, spread of its steps
SCENARIOS = {
    "hdd, a slow device": ({"profile": "hdd"}, 0, 0, 100, 16, 0),
    "hdd, a fast device": ({"profile": "hdd"}, 0, 0, 1000, 32, 0),
    "ssd, a fast device": ({"profile": "ssd"}, 0, 0, 1000, 32, 0),
    "nfs, large batches": ({"profile": "nfs"}, 0, 0, 400, 64, 0),
    "far, a slow device": (FAR, 0, 0, 200, 16, 0),
    "far, a fast device": (FAR, 0, 0, 1000, 64, 0),
    "s3-like": ({"profile": "s3-like"}, 0, 0, 600, 32, 0),
    "a narrow link": ({"read_mb_per_s": 3, "read_latency_ms": 1, "queue_depth": 8}, 0, 0, 800, 16, 0),
    "decoding binds, 4 cores": (None, 8, 4, 1000, 32, 0),
    "decoding feeds, 4 cores": (None, 8, 4, 300, 16, 0),
    "lustre and decoding": ({"profile": "lustre"}, 5, 3, 500, 32, 0),
    "steps of all lengths": (None, 6, 4, 500, 8, 0.7),
}
WORKERS, AHEAD = (1, 2, 4, 8, 16, 32, 64), (1, 4)


def settings():
    yield ["loader.type=sync"]
    for workers in WORKERS:
        yield ["loader.type=threaded", f"loader.workers={workers}"]
        for ahead in AHEAD:
            yield ["loader.type=prefetched", f"loader.workers={workers}", f"loader.prefetch_batches={ahead}"]
        yield ["loader.type=device_prefetched", f"loader.workers={workers}", "loader.prefetch_batches=2"]


class Scenario:
    def __init__(self, directory, name):
        self.directory, self.name = directory, name
        figures, decode_ms, cores, rate, batch, spread = SCENARIOS[name]
        self.rate, self.batch = rate, batch
        self.node = os.getpid() if cores else 0
        decoder = flow(type="turbojpeg", size=32)
        sections = {}
        if decode_ms:
            decoder = flow(type="slow", delay_ms=decode_ms, cores=cores, node=self.node, inner=decoder)
            sections["plugins"] = f"[{SLOW_DECODER}]"
        distribution = flow(type="gamma", relative_stdev=spread) if spread else "{type: constant}"
        self.config = directory / "scenario.yaml"
        self.config.write_text(configuration(
            storage=flow(data=emulated(MINI, **figures) if figures else posix(MINI)), decoder=decoder,
            dataset="{type: image_folder, storage: data, split: {test_fraction: 0.1}}",
            device=flow(type="emulated", step_ms=1000 * batch / rate, distribution=distribution),
            loader=flow(type="threaded", batch_size=batch, workers=2), evaluation="{enabled: false}", **sections))

    def run(self, overrides, seconds):
        """Images/s without the steps that queues may have held, and without tune's way to know that."""
        runs = self.directory / "runs"
        shutil.rmtree(runs, ignore_errors=True)
        words = [STOKER, "train", "--quiet", self.config, *overrides, "training.epochs=1000000", "run.dir=runs",
                 "metrics={every_steps: 1, sinks: [{type: csv}]}"]
        with subprocess.Popen(words, cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
        table = next(runs.glob("*-*/steps.csv"), None)
        if not table:
            return 0.0
        with open(table, encoding="utf-8") as lines:
            rows = [(float(row["wall_s"]), float(row["images"])) for row in csv.DictReader(lines)]
        skip = min(14, len(rows) // 3)
        if len(rows) < skip + 3:
            return 0.0
        (begin, before), (end, after) = rows[skip], rows[-1]
        return min((after - before) / (end - begin), self.rate * 1.05)

    def tune(self, seconds):
        return json.loads(stoker("tune", self.config, "--seconds", seconds, "--json", cwd=self.directory, timeout=None).stdout)

    def compare(self, arguments):
        try:
            swept = [(self.run(each, arguments.each), each) for each in settings()]
            best_rate, best = max(swept)
            told = self.tune(arguments.seconds)
            chosen = told["overrides"]
            again = {"best": [], "chosen": []}
            for _ in range(arguments.rounds):
                again["best"].append(self.run(best, 2 * arguments.each))
                again["chosen"].append(self.run(chosen, 2 * arguments.each))
        finally:
            if self.node:
                subprocess.run(["ipcrm", "-S", str(self.node)], check=False)
        medians = {name: statistics.median(rates) for name, rates in again.items()}
        row = {"scenario": self.name, "runs": len(swept), "best": best, "best_rate": best_rate, "chosen": chosen, "medians": medians,
               "ratio": medians["chosen"] / medians["best"], "seconds": told["seconds"], "short_runs": told["runs"], "told": told["images_per_s"],
               "binds": told["binds"], "device": self.rate, "loads": os.getloadavg()}
        print(f"{self.name:24} {100 * row['ratio']:6.1f} %  {medians['chosen']:8.1f} {medians['best']:8.1f}  told {told['images_per_s']['value']:8.1f}"
              f"  {told['seconds']:5.1f} s  {told['runs']:3} runs  {told['binds']:9} {' '.join(w.split('.')[-1] for w in chosen)}  |  "
              f"{' '.join(w.split('.')[-1] for w in best)}", flush=True)
        return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--each", type=float, default=2, help="of a run of the sweep; twice that for the comparison")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    print(f"{'scenario':24} {'ratio':>8}  {'chosen':>8} {'best':>8}  images/s", flush=True)
    rows = []
    for name in SCENARIOS:
        if re.search(arguments.only, name):
            with tempfile.TemporaryDirectory(prefix="stoker-tune-") as folder:
                rows.append(Scenario(pathlib.Path(folder), name).compare(arguments))
    good = sum(row["ratio"] >= 0.97 for row in rows)
    above = sum(row["told"]["value"] > 1.005 * row["device"] for row in rows)
    print(f"{len(rows)} scenarios: {good} within 3 % of the sweep's best, worst {100 * min(row['ratio'] for row in rows):.1f} %; "
          f"at most {max(row['seconds'] for row in rows):.1f} s; {above} rates above the device's")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))
    return 0 if good == len(rows) and not above else 1


if __name__ == "__main__":
    raise SystemExit(main())
