#!/usr/bin/env python3
"""A step of AlexNet (61.1 million parameters, 224 pixels) on one rank and on two of this machine, one thread each, by
Stoker and by Python's DistributedDataParallel over gloo, interleaved. A step: forward, backward with the exchange of
gradients, update by SGD with momentum; without loading. The first steps of each run do not count.

Needs a Python with torch==2.11.0 and torchvision==0.26.0, and nothing else running.
tests/run bench/ranks_peers --dir DIRECTORY [--rounds 5] [--batch 8] [--steps 16]
"""
import argparse
import csv
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

from stoker import configuration, stoker

WARM_UP = 4
NAMES = {"one process": "Stoker, one process", "distributed": "Stoker, one process with `distributed`",
         "two ranks": "Stoker, two ranks", "Python": "PyTorch, one process", "DDP": "PyTorch, DistributedDataParallel, two ranks"}


def ours(directory, ranks, batch, steps, *overrides):
    """Seconds of each step of rank 0."""
    config = directory / "step.yaml"
    config.write_text(configuration(
        tiers={}, dataset="{type: synthetic, samples: 1000, classes: 1000, test_samples: 0}", decoder="{type: jpeg, size: 224}",
        loader=f"{{type: prefetched, batch_size: {batch * ranks}, workers: 1}}", model="{type: alexnet}",
        optimizer="{type: sgd, lr: 0.001, momentum: 0.9}", training=f"{{epochs: 1000, max_steps: {steps}, threads: 1}}",
        evaluation="{enabled: false}", metrics="{every_steps: 1, sinks: [{type: csv}]}"))
    how = ["launch", "--ranks", ranks] if ranks > 1 else ["train"]
    done = stoker(*how, config, "--json", *overrides, cwd=directory, timeout=None)
    with open(directory / json.loads(done.stdout)["run_directory"] / "steps.csv", encoding="utf-8") as file:
        so_far = [float(row["segments_s.compute"]) + float(row["segments_s.allreduce"]) for row in csv.DictReader(file)]
    return [end - begin for begin, end in itertools.pairwise([0, *so_far])]


def python_rank():
    """This process as a rank of PyTorch's: prints the seconds of each step."""
    import torch  # not in the process that starts the others
    import torchvision
    rank, world, batch, steps = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "BATCH", "STEPS"))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torchvision.models.alexnet()
    if world > 1:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, fused=True)
    loss_of = torch.nn.CrossEntropyLoss()
    images, labels = torch.randn(batch, 3, 224, 224), torch.randint(1000, (batch,))
    seconds = []
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss_of(model(images), labels).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    if rank == 0:
        print(json.dumps(seconds))


def theirs(ranks, batch, steps):
    environment = {**os.environ, "WORLD_SIZE": str(ranks), "BATCH": str(batch), "STEPS": str(steps),
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29573"}
    processes = [subprocess.Popen([sys.executable, __file__], env={**environment, "RANK": str(rank)}, text=True,
                                  stdout=subprocess.PIPE) for rank in range(ranks)]
    printed = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise AssertionError("a rank of PyTorch's failed (see above)")
    return json.loads(printed[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dir", required=True, type=lambda path: pathlib.Path(path).resolve())
    for name, default in (("rounds", 5), ("batch", 8), ("steps", 16)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    size = options.batch, options.steps
    runs = {"one process": lambda: ours(options.dir, 1, *size),
            "distributed": lambda: ours(options.dir, 1, *size, "distributed={}"),
            "Python": lambda: theirs(1, *size),
            "two ranks": lambda: ours(options.dir, 2, *size),
            "DDP": lambda: theirs(2, *size)}
    medians = {name: [] for name in runs}
    for number in range(options.rounds):
        for name in (list(runs) if number % 2 else list(reversed(runs))):
            medians[name].append(statistics.median(runs[name]()[WARM_UP:]))
    print(f"{options.rounds} interleaved rounds, batch {options.batch} a rank; ms a step: median of the rounds (least)")
    for name, label in NAMES.items():
        print(f"{label:52} {1e3 * statistics.median(medians[name]):7.0f} ({1e3 * min(medians[name]):.0f})")
    for name, base in (("distributed", "one process"), ("two ranks", "DDP"), ("one process", "Python")):
        ratios = [a / b for a, b in zip(medians[name], medians[base], strict=True)]
        print(f"{NAMES[name]} / {NAMES[base]}: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    python_rank() if "RANK" in os.environ else main()
