"""A step of AlexNet on one rank and on two of this machine, by Stoker and by PyTorch's DistributedDataParallel.

224 pixels, one thread each, over gloo. A step: forward, backward with the exchange of gradients, update by SGD with
momentum; without loading. The first steps of each run do not count. Needs a Python with torch==2.11.0 and
torchvision==0.26.0, and nothing else running. For docs/results.md.
"""
import concurrent.futures
import itertools
import os
import time

from frame import Measured, median, rows_of, spread
from stoker import configuration, free_port

ROUNDS = 5
OPTIONS = {"batch": 8, "steps": 16}
WARM_UP = 4


def ours(lab, ranks, *overrides):
    _, folder = lab.train(configuration(
        dataset="{type: synthetic, samples: 1000, classes: 1000, test_samples: 0}", decoder="{type: jpeg, size: 224}",
        loader=f"{{type: prefetched, batch_size: {lab.given.batch * ranks}, workers: 1}}", model="{type: alexnet}",
        optimizer="{type: sgd, lr: 0.001, momentum: 0.9}", evaluation="{enabled: false}",
        training=f"{{epochs: 1000, max_steps: {lab.given.steps}, threads: 1}}",
        metrics="{every_steps: 1, sinks: [{type: csv}]}"), *overrides, ranks=ranks)
    so_far = [float(row["segments_s.compute"]) + float(row["segments_s.allreduce"])
              for row in rows_of(folder / "steps.csv")]
    seconds = [end - begin for begin, end in itertools.pairwise([0, *so_far])]
    return {"ms a step": 1e3 * median(seconds[WARM_UP:])}


def rank_of_pytorch(world, batch, steps):
    """Seconds of each step; RANK and MASTER_PORT are of the environment."""
    import torch
    import torchvision
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torchvision.models.alexnet()
    if world > 1:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, fused=True)
    images, labels, seconds = torch.randn(batch, 3, 224, 224), torch.randint(1000, (batch,)), []
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    return seconds


def theirs(lab, world):
    shared = {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    with concurrent.futures.ThreadPoolExecutor(world) as pool:
        ranks = list(pool.map(lambda rank: lab.child(rank_of_pytorch, world, lab.given.batch, lab.given.steps,
                                                     env=shared | {"RANK": str(rank)}), range(world)))
    return {"ms a step": 1e3 * median(ranks[0][WARM_UP:])}


def run(lab):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    one = {"PyTorch, one process": lambda: theirs(lab, 1), "Stoker, one process": lambda: ours(lab, 1),
           "Stoker, one process, distributed": lambda: ours(lab, 1, "distributed={}")}
    two = {"PyTorch, DistributedDataParallel": lambda: theirs(lab, 2), "Stoker, two ranks": lambda: ours(lab, 2)}
    got = lab.measure("", one | two, show=False)
    for names in (one, two):
        lab.show("ranks", Measured({name: got[name] for name in names if name in got}), next(iter(names)))
    costs = got.ratios("Stoker, one process, distributed", "Stoker, one process", "ms a step")
    lab.say(f"what `distributed` makes of one process: {spread(costs)}")
