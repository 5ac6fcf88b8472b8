#!/usr/bin/env python3
"""What a save by torch.distributed.checkpoint costs a training of two gloo ranks: through stoker.dcp, and as DCP writes itself.

The state is AlexNet's (102 classes) with Adam's, 689 MB, of which each rank has rows (FSDP2's sharding). Groups of steps (200 ms in
which the processor waits, then Adam's update) with a save, and groups without one, in turns; all ways in turns, too. The save stands
after the first update, so that its copy may be made while the next step waits (as for a GPU), or before it (--place before), so
that nothing overlaps. stall: of the call, and of the wait before the next update until the weights may change. lost: seconds of
the group beside the waiting, less those of the group without a save. All files are synced.

Needs a Python with torch 2.6 or newer (2.11 was measured).
PYTHONPATH=build/python:tests/python python3 tests/bench/dcp_lost_time.py --dir DIRECTORY [--rounds 10] [--scale 1.0] [--place before]
"""
import argparse
import os
import shutil
import statistics
import time
import warnings

import dcp_ranks
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard

import stoker.dcp

warnings.filterwarnings("ignore")
NOW = time.perf_counter
SHAPES = ((64, 363), (64,), (192, 1600), (192,), (384, 1728), (384,), (256, 3456), (256,), (256, 2304), (256,), (4096, 9216), (4096,),
          (4096, 4096), (4096,), (102, 4096), (102,))


class Training:
    def __init__(self, scale):
        self.world, self.rank = dist.get_world_size(), dist.get_rank()
        mesh = init_device_mesh("cpu", (self.world,))
        self.local, self.whole = [], []
        for shape in SHAPES:
            shape = (max(1, int(shape[0] * scale) // self.world) * self.world, *shape[1:])  # as DTensor divides them
            rows = shape[0] * (self.rank + 1) // self.world - shape[0] * self.rank // self.world
            own = torch.rand(rows, *shape[1:], requires_grad=True)
            own.grad = torch.rand_like(own)
            self.local.append(own)
            self.whole.append((mesh, torch.Size(shape), torch.empty(shape, device="meta").stride()))
        self.optimizer = torch.optim.Adam(self.local, lr=1e-4, fused=True)
        self.optimizer.step()

    def state(self):
        def sharded(place, own):
            mesh, shape, stride = self.whole[place]
            return DTensor.from_local(own.detach(), mesh, [Shard(0)], run_check=False, shape=shape, stride=stride)

        state = {}
        for place, own in enumerate(self.local):
            state[f"model.{place}"] = sharded(place, own)
            for name in ("exp_avg", "exp_avg_sq"):
                state[f"optimizer.{place}.{name}"] = sharded(place, self.optimizer.state[own][name])
        return state

    def group(self, save, options):
        """(stall, seconds beside the waiting) of some steps, of which the first has a save."""
        dist.barrier()
        busy = stall = 0
        copied = finish = None

        def stalled(call):
            nonlocal stall
            begin = NOW()
            result = call()
            stall += NOW() - begin
            return result

        for number in range(options.every):
            time.sleep(options.step_ms / 1e3)
            begin = NOW()
            if number == 0 and save is not None and options.place == "before":
                copied, finish = stalled(lambda: save(self.state()))
            if copied is not None:
                stalled(copied)
                copied = None
            self.optimizer.step()
            if number == 0 and save is not None and options.place == "after":
                copied, finish = stalled(lambda: save(self.state()))
            busy += NOW() - begin
        if finish is not None:
            finish()
        return stall, busy


def theirs(folder, beside):
    """A save; it returns what waits for the copy, and what waits for the files."""
    def save(state):
        options = {} if beside is None else {"async_stager": stager(beside)}  # 2.11's takes one state each
        future = dcp.async_save(state, storage_writer=dcp.FileSystemWriter(folder, sync_files=True, overwrite=True), **options)
        staged = future.staging_completion.result if hasattr(future, "staging_completion") else lambda: None
        return staged, getattr(future, "upload_completion", future).result

    return save


def ours(writer):
    def save(state):
        future = dcp.async_save(state, storage_writer=writer)
        return writer.finish_copy, future.result

    return save


def stager(beside):
    return DefaultStager(StagingOptions(use_pinned_memory=False, use_shared_memory=False, use_async_staging=beside,
                                        use_non_blocking_copy=False))


def measure(rank, options):
    torch.set_num_threads(max(1, (os.cpu_count() or 2) // 2))
    training = Training(options.scale)
    writer = stoker.dcp.StorageWriter(dcp_ranks.sections(f"{options.dir}/stoker", snapshot="async", keep_last=1))
    ways = {"stoker.dcp": ours(writer), "dcp.async_save": theirs(f"{options.dir}/dcp-0", None),
            "dcp.async_save, DefaultStager": theirs(f"{options.dir}/dcp-1", False),
            "dcp.async_save, staging beside": theirs(f"{options.dir}/dcp-2", True)}
    rows = {name: ([], []) for name in ways}
    for number in range(options.rounds + 1):
        for name, save in ways.items():
            took = {}
            for saves in ((False, True) if number % 2 else (True, False)):
                stall, took[saves] = training.group(save if saves else None, options)
                if saves and number > 0:  # the first save pays for fresh memory, with each of them
                    rows[name][0].append(stall)
            if number > 0:
                rows[name][1].append(took[True] - took[False])
    assert writer.lost == 0, writer.last_error
    writer.close()
    if rank == 0:
        report(rows, options)


def report(rows, options):
    print(f"{options.rounds} rounds in turns, a save every {options.every} steps of {options.step_ms:g} ms, {options.place} the update, "
          "rank 0 of 2; milliseconds: median, p90 (least to most)")
    for name, columns in rows.items():
        shown = []
        for values in columns:
            tenths = statistics.quantiles(values, n=10, method="inclusive") if len(values) > 1 else values * 9
            shown.append(f"{1e3 * statistics.median(values):7.1f}, {1e3 * tenths[8]:7.1f} ({1e3 * min(values):.1f} to {1e3 * max(values):.1f})")
        print(f"{name:<32} stall {shown[0]:<34} lost per save {shown[1]}")
    for what, column in (("stall", 0), ("lost per save", 1)):
        values = {name: statistics.median(columns[column]) for name, columns in rows.items()}
        own = values.pop("stoker.dcp")
        best = min(values, key=values.get)
        print(f"{what}, medians: stoker.dcp has {own / values[best]:.3f} of the best other way ({best})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--scale", type=float, default=1.0, help="of the rows of every tensor")
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--step-ms", type=float, default=200)
    parser.add_argument("--place", choices=("after", "before"), default="after", help="of the first update")
    options = parser.parse_args()
    options.dir = f"{options.dir}/lost-time"
    shutil.rmtree(options.dir, ignore_errors=True)
    os.makedirs(options.dir)
    print(dcp_ranks.in_ranks(2, measure, options, patience_s=1e5))
    shutil.rmtree(options.dir)


if __name__ == "__main__":
    main()
