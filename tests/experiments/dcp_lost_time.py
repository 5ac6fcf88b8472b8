"""What a save by torch.distributed.checkpoint costs a training of two gloo ranks: by stoker.dcp, and DCP's own ways.

The state is AlexNet's (102 classes) with Adam's, 689 MB, of which each rank has rows (FSDP2's sharding). Groups of
steps (200 ms in which the processor waits, then Adam's update) with a save and without one, and all ways, take turns.
The save stands after the first update, so that its copy may be made while the next step waits (as for a GPU), or before
it, so that nothing overlaps. stall: of the call, and until the weights may change. lost: of a group with a save beside
one without. All files are synced. --dir: on the disk. Needs torch 2.6 or newer. For docs/results.md, "Checkpoints".
"""
import json
import os
import statistics
import sys
import warnings

import saving
from checkpoint_peers import DCP, async_save
from frame import TESTS, Measured, wheel

ROUNDS = 10
OPTIONS = {"scale": (1.0, "of the rows of every tensor"), "every": (5, "steps"), "step_ms": 200.0,
           "place": {"after": "the first update", "before": ""}}
SHAPES = ((64, 363), (64,), (192, 1600), (192,), (384, 1728), (384,), (256, 3456), (256,), (256, 2304), (256,),
          (4096, 9216), (4096,), (4096, 4096), (4096,), (102, 4096), (102,))
OURS = "stoker.dcp"


class Training:
    def __init__(self, scale):
        import torch
        import torch.distributed as dist
        from torch.distributed.device_mesh import init_device_mesh
        world, self.local, self.whole = dist.get_world_size(), [], []
        mesh = init_device_mesh("cpu", (world,))
        for shape in SHAPES:
            shape = (max(1, int(shape[0] * scale) // world) * world, *shape[1:])  # as DTensor divides them
            own = torch.rand(shape[0] // world, *shape[1:], requires_grad=True)
            own.grad = torch.rand_like(own)
            self.local.append(own)
            self.whole.append((mesh, torch.Size(shape), torch.empty(shape, device="meta").stride()))
        self.optimizer = torch.optim.Adam(self.local, lr=1e-4, fused=True)
        self.optimizer.step()

    def state(self):
        from torch.distributed.tensor import DTensor, Shard
        state = {}
        for place, (own, (mesh, shape, stride)) in enumerate(zip(self.local, self.whole)):
            sharded = lambda tensor: DTensor.from_local(tensor.detach(), mesh, [Shard(0)], run_check=False,
                                                        shape=shape, stride=stride)
            state[f"model.{place}"] = sharded(own)
            for name in ("exp_avg", "exp_avg_sq"):
                state[f"optimizer.{place}.{name}"] = sharded(self.optimizer.state[own][name])
        return state

def measure(rank, given, folder):
    import dcp_ranks
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp

    import stoker.dcp
    torch.set_num_threads(max(1, (os.cpu_count() or 2) // 2))
    training, measured = Training(given.scale), Measured()
    writer = stoker.dcp.StorageWriter(dcp_ranks.sections(f"{folder}/stoker", snapshot="async", keep_last=1))
    ways = {OURS: lambda state: (writer.finish_copy, dcp.async_save(state, storage_writer=writer).result)} | {
        name: lambda state, beside=beside: async_save(state, f"{folder}/dcp-{beside}", beside, overwrite=True)
        for name, beside in DCP.items()}
    for number in range(given.rounds + 1):
        for name, save in ways.items():
            dist.barrier()
            got = saving.figures(number, given.every, given.step_ms, training.optimizer.step,
                                 after=given.place == "after", save=lambda: save(training.state()))
            if number > 0:  # the first save pays for fresh memory, with each of them
                measured.add(name, got)
    assert writer.lost == 0, writer.last_error
    writer.close()
    if rank == 0:
        with open(f"{folder}/measured.json", "w", encoding="utf-8") as file:
            json.dump(measured, file)


def run(lab):
    wheel()
    sys.path.append(str(TESTS / "python"))
    import dcp_ranks
    warnings.filterwarnings("ignore")
    print(dcp_ranks.in_ranks(2, measure, lab.given, str(lab.folder), patience_s=1e5))
    got = Measured(json.loads((lab.folder / "measured.json").read_text()))
    lab.keep(f"rank 0 of 2, a save {lab.given.place} the update", got, OURS)
    for figure in got[OURS]:
        best = min((name for name in got if name != OURS), key=lambda name: got.median(name, figure))
        share = got.median(OURS, figure) / got.median(best, figure)
        tenth = [f"{name} {statistics.quantiles(of[figure], n=10, method='inclusive')[8]:.1f}"
                 for name, of in got.items() if len(of[figure]) > 1]
        lab.say(f"{figure}: {OURS} has {share:.3f} of the best other ({best}), by the medians; p90: {', '.join(tenth)}")
