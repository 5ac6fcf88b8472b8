#!/usr/bin/env python3
"""`stoker size` beside reality: 12 emulated nodes of some GPUs, cores and a tier. For each, `stoker size` says how many workers the tier
needs and what the GPUs then get; the same node is run (`stoker launch`) with these workers. Prints both rates, the MB/s and the requests
of the tier, the busy cores, the error of each, and the worst. Device, tier and the node's cores keep time (tests/plugins/slow_decoder.cpp),
for a machine of two cores has none for eight GPUs; order, queues, waiting, workers and requests are the program's.

tests/run bench/size_nodes [--steps 60] [--only PATTERN] [--json FILE]
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile

from stoker import MINI, SLOW_DECODER, configuration, emulated, flow, stoker

TIERS = {"fast": {"read_latency_ms": 0.2, "queue_depth": 64},
         "far": {"read_latency_ms": 30, "queue_depth": 64, "latency_sigma": 0.3},
         "narrow": {"read_mb_per_s": 3, "read_latency_ms": 1, "queue_depth": 8},
         "hdd": {"profile": "hdd"},
         "nfs": {"profile": "nfs"}}
# GPUs, images/s of one, its batch, ms of a core for a sample, cores of the node (None: those that it needs), tier
NODES = [(1, 100, 16, 6, None, "fast"), (4, 100, 16, 6, None, "fast"), (8, 60, 16, 5, None, "nfs"), (4, 100, 16, 6, None, "far"),
         (2, 150, 16, 8, None, "nfs"), (4, 100, 16, 6, 1, "fast"), (4, 100, 16, 6, 2, "nfs"), (8, 60, 8, 10, 3, "far"),
         (4, 100, 16, 3, None, "hdd"), (2, 100, 16, 3, None, "hdd"), (4, 100, 16, 3, None, "narrow"), (8, 60, 16, 6, 2, "narrow")]


class Bench:
    def __init__(self, directory, steps):
        self.directory, self.steps = directory, steps

    def size(self, gpus, rate, batch, decode_ms, cores, tier):
        figures = self.directory / f"{tier}.yaml"
        given = TIERS[tier] if "profile" in TIERS[tier] else {"read_mb_per_s": 1e6, "write_mb_per_s": 1e6} | TIERS[tier]
        figures.write_text(flow(**given))
        words = ["--cores", cores] if cores else []
        return json.loads(stoker("size", "--images-per-s", rate, "--gpus", gpus, "--batch-size", batch, "--data", MINI, "--decode-ms",
                                 decode_ms, "--trainer-cores", 0, "--tier", figures, *words, "--json", cwd=self.directory, timeout=None).stdout)

    def run(self, gpus, rate, batch, decode_ms, cores, tier, workers):
        """The summary of a run on that node."""
        node = os.getpid()
        decoder = flow(type="slow", delay_ms=decode_ms, cores=cores, node=node, inner=flow(type="turbojpeg", size=64))
        config = self.directory / "node.yaml"
        config.write_text(configuration(
            tiers={"data": emulated(MINI, **TIERS[tier])}, plugins=f"[{SLOW_DECODER}]", decoder=decoder,
            dataset="{type: image_folder, storage: data, split: {test_fraction: 0.1}}",
            device=flow(type="emulated", step_ms=1000 * batch / rate, queue_depth=2),
            loader=flow(type="prefetched", batch_size=batch * gpus, workers=workers),
            training=flow(epochs=1000, max_steps=self.steps, threads=1), evaluation="{enabled: false}", distributed="{}",
            metrics="{every_steps: 1000, sinks: []}"))
        how = ["launch", "--ranks", gpus] if gpus > 1 else ["train"]
        try:
            done = stoker(*how, config, "run.name=node", "--json", cwd=self.directory, timeout=None)
        finally:
            subprocess.run(["ipcrm", "-S", str(node)], check=False)
        return json.loads(done.stdout)

    def compare(self, node):
        gpus, rate, batch, decode_ms, cores, tier = node
        sized = self.size(*node)
        found = sized["tiers"][0]
        cores = cores or int(sized["cores"])
        real = self.run(gpus, rate, batch, decode_ms, cores, tier, found["workers"])
        every = real["all_ranks"] if gpus > 1 else real
        measured = every["images_per_s"]
        share = found["images_per_s"] / sized["images_per_s"]
        error = found["images_per_s"] / measured - 1
        read = real["tiers"]["data"]["read"]  # of one rank; all have equal parts
        row = {"gpus": gpus, "images_per_s_of_each": rate, "decode_ms": decode_ms, "cores": cores, "tier": tier, "workers": found["workers"],
               "holds": found["holds"], "binds": found["binds"], "sized": found["images_per_s"], "measured": measured, "error": error,
               "mb_per_s": [share * sized["mb_per_s"], 1e-6 * gpus * read["bytes"] / real["wall_s"]],
               "requests_per_s": [share * sized["requests_per_s"], gpus * read["duration_s"]["count"] / real["wall_s"]]}
        pairs = "  ".join(f"{row[name][0]:8.1f} {row[name][1]:8.1f}" for name in ("mb_per_s", "requests_per_s"))
        print(f"{gpus:4} {rate:8} {decode_ms:4} ms {cores:5} {tier:7} {found['workers']:7} {found['binds']:10} "
              f"{found['images_per_s']:8.1f} {measured:8.1f} {100 * error:+7.2f} %  {pairs}", flush=True)
        return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stoker-size-") as folder:
        bench = Bench(pathlib.Path(folder), arguments.steps)
        print(f"{'GPUs':4} {'images/s':>8} {'decode':7} {'cores':>5} {'tier':7} {'workers':>7} {'binds':10} {'sized':>8} {'measured':>8} "
              f"{'error':>9}  {'MB/s sized, measured':17}  requests/s sized, measured", flush=True)
        rows = [bench.compare(node) for node in NODES if re.search(arguments.only, " ".join(map(str, node)))]
    worst = max(rows, key=lambda row: abs(row["error"]))
    print(f"{len(rows)} nodes: worst {100 * worst['error']:+.2f} % ({worst['gpus']} GPUs, {worst['cores']} cores, {worst['tier']})")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))
    return 0 if abs(worst["error"]) <= 0.10 else 1


if __name__ == "__main__":
    raise SystemExit(main())
