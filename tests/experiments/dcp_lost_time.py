"""What a save by torch.distributed.checkpoint costs a training of two gloo ranks: through stoker.dcp, and as DCP writes itself.

The state is AlexNet's (102 classes) with Adam's, 689 MB, of which each rank has rows (FSDP2's sharding). Groups of steps (200 ms
in which the processor waits, then Adam's update) with a save, and groups without one, in turns; all ways in turns, too. The save
stands after the first update, so that its copy may be made while the next step waits (as for a GPU), or before it (--place
before), so that nothing overlaps. stall: of the call, and of the wait before the next update until the weights may change. lost:
seconds of the group beside the waiting, less those of the group without a save. All files are synced.

--dir: on the disk. Needs a Python with torch 2.6 or newer (2.11 was measured). For docs/results.md, "Checkpoints".
"""
import json
import os
import statistics
import sys
import time
import warnings

from frame import TESTS, Measured, wheel

ROUNDS = 10
OPTIONS = {"scale": (1.0, "of the rows of every tensor"), "every": (5, "steps"), "step_ms": 200.0,
           "place": {"after": "of the first update", "before": ""}}
NOW = time.perf_counter
SHAPES = ((64, 363), (64,), (192, 1600), (192,), (384, 1728), (384,), (256, 3456), (256,), (256, 2304), (256,), (4096, 9216), (4096,),
          (4096, 4096), (4096,), (102, 4096), (102,))
OURS, FIGURES = "stoker.dcp", ("stall, ms", "lost per save, ms")


class Training:
    def __init__(self, scale):
        import torch
        import torch.distributed as dist
        from torch.distributed.device_mesh import init_device_mesh
        self.world, self.rank = dist.get_world_size(), dist.get_rank()
        mesh = init_device_mesh("cpu", (self.world,))
        self.local, self.whole = [], []
        for shape in SHAPES:
            shape = (max(1, int(shape[0] * scale) // self.world) * self.world, *shape[1:])  # as DTensor divides them
            own = torch.rand(shape[0] // self.world, *shape[1:], requires_grad=True)
            own.grad = torch.rand_like(own)
            self.local.append(own)
            self.whole.append((mesh, torch.Size(shape), torch.empty(shape, device="meta").stride()))
        self.optimizer = torch.optim.Adam(self.local, lr=1e-4, fused=True)
        self.optimizer.step()

    def state(self):
        from torch.distributed.tensor import DTensor, Shard

        def sharded(place, own):
            mesh, shape, stride = self.whole[place]
            return DTensor.from_local(own.detach(), mesh, [Shard(0)], run_check=False, shape=shape, stride=stride)
        state = {}
        for place, own in enumerate(self.local):
            state[f"model.{place}"] = sharded(place, own)
            for name in ("exp_avg", "exp_avg_sq"):
                state[f"optimizer.{place}.{name}"] = sharded(place, self.optimizer.state[own][name])
        return state

    def group(self, save, given):
        """(stall, seconds beside the waiting) of some steps, of which the first has a save."""
        import torch.distributed as dist
        dist.barrier()
        busy, stall, copied, finish = 0, 0, None, None

        def stalled(call):
            nonlocal stall
            begin = NOW()
            result = call()
            stall += NOW() - begin
            return result
        for number in range(given.every):
            time.sleep(given.step_ms / 1e3)
            begin = NOW()
            if number == 0 and save is not None and given.place == "before":
                copied, finish = stalled(lambda: save(self.state()))
            if copied is not None:
                stalled(copied)
                copied = None
            self.optimizer.step()
            if number == 0 and save is not None and given.place == "after":
                copied, finish = stalled(lambda: save(self.state()))
            busy += NOW() - begin
        if finish is not None:
            finish()
        return stall, busy


def theirs(folder, beside):
    """A save; it returns what waits for the copy, and what waits for the files."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions

    def save(state):
        options = {} if beside is None else {"async_stager": DefaultStager(StagingOptions(
            use_pinned_memory=False, use_shared_memory=False, use_async_staging=beside, use_non_blocking_copy=False))}
        future = dcp.async_save(state, storage_writer=dcp.FileSystemWriter(folder, sync_files=True, overwrite=True), **options)
        staged = future.staging_completion.result if hasattr(future, "staging_completion") else lambda: None
        return staged, getattr(future, "upload_completion", future).result
    return save


def measure(rank, given, folder):
    import dcp_ranks
    import torch
    import torch.distributed.checkpoint as dcp

    import stoker.dcp
    torch.set_num_threads(max(1, (os.cpu_count() or 2) // 2))
    training, measured = Training(given.scale), Measured()
    writer = stoker.dcp.StorageWriter(dcp_ranks.sections(f"{folder}/stoker", snapshot="async", keep_last=1))
    ways = {OURS: lambda state: (writer.finish_copy, dcp.async_save(state, storage_writer=writer).result),
            "dcp.async_save": theirs(f"{folder}/dcp-0", None), "dcp.async_save, DefaultStager": theirs(f"{folder}/dcp-1", False),
            "dcp.async_save, staging beside": theirs(f"{folder}/dcp-2", True)}
    for number in range(given.rounds + 1):
        for name, save in ways.items():
            took, stalls = {}, {}
            for saves in ((False, True) if number % 2 else (True, False)):
                stalls[saves], took[saves] = training.group(save if saves else None, given)
            if number > 0:  # the first save pays for fresh memory, with each of them
                measured.add(name, dict(zip(FIGURES, (1e3 * stalls[True], 1e3 * (took[True] - took[False])))))
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
    what = f"rank 0 of 2, a save every {lab.given.every} steps of {lab.given.step_ms:g} ms, {lab.given.place} the update"
    lab.record["measured"].append({"what": what, "rounds": lab.given.rounds, "reference": OURS, "variants": got})
    lab.show(what, got, OURS)
    for figure in FIGURES:
        best = min((name for name in got if name != OURS), key=lambda name: got.median(name, figure))
        tenth = {name: statistics.quantiles(of[figure], n=10, method="inclusive")[8] for name, of in got.items()
                 if len(of[figure]) > 1}
        lab.say(f"{figure}: the median of {OURS} is {got.median(OURS, figure) / got.median(best, figure):.3f} of that of the best other "
                f"({best}); p90: {', '.join(f'{name} {value:.1f}' for name, value in tenth.items())}")
