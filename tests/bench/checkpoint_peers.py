#!/usr/bin/env python3
"""Checkpoints of AlexNet (102 classes) with Adam, 689 MB, to one disk: torch.save, safetensors and
torch.distributed.checkpoint.async_save beside `stoker bench checkpoint`, interleaved, all synced.

blocked: until the trainer may change its weights. durable: until every byte is synced. For
async_save whose staging runs beside the trainer, blocked is the staging's end, as nothing overlaps
it here; the same holds for stoker's.

--loop: instead, what a save costs a loop of steps (200 ms in which the processor waits, then Adam's
update): `stoker bench checkpoint --loop` with each snapshot mode, and async_save in the same loop, in
turns. A save stands right before an update, which waits until the weights may change.

Needs a Python with torch==2.11.0, torchvision==0.26.0 and safetensors.
tests/run bench/checkpoint_peers --dir DIRECTORY [--rounds 5] [--loop SAVES]
"""
import argparse
import glob
import json
import math
import os
import shutil
import statistics
import time
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torchvision
from safetensors.torch import save_file
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

from stoker import SOURCE, stoker

warnings.filterwarnings("ignore")
NOW = time.perf_counter


def synced(path):
    """Syncs every file below a path, and returns their size in bytes."""
    files = [path] if os.path.isfile(path) else [
        f for f in glob.glob(path + "/**", recursive=True) + glob.glob(path + "/.*") if os.path.isfile(f)]
    for name in files:
        descriptor = os.open(name, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    return sum(os.path.getsize(f) for f in files)


class Peers:
    def __init__(self, directory):
        self.dir = directory
        self.net = torchvision.models.alexnet(num_classes=102)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-4, fused=True)
        for parameter in self.net.parameters():
            parameter.grad = torch.rand_like(parameter)
        self.optimizer.step()

    def state(self):
        return {"model": self.net.state_dict(), "optim": self.optimizer.state_dict()}

    def flat(self):
        tensors = {"model." + k: v for k, v in self.net.state_dict().items()}
        for i, state in self.optimizer.state_dict()["state"].items():
            tensors.update({f"optim.{i}.{k}": v for k, v in state.items()})
        return tensors

    def fresh(self, name):
        path = f"{self.dir}/{name}"
        shutil.rmtree(path, ignore_errors=True)
        if os.path.exists(path):
            os.unlink(path)
        os.sync()
        return path

    def blocking(self, name, save):
        path, begin = self.fresh(name), NOW()
        save(path)
        size = synced(path)
        took = NOW() - begin
        return took, took, size

    def torch_save(self):
        return self.blocking("torch.pt", lambda path: torch.save(self.state(), path))

    def safetensors(self):
        return self.blocking("flat.safetensors", lambda path: save_file(self.flat(), path))

    def dcp_async(self, name, stager=None):
        path = self.fresh(name)
        options = {} if stager is None else {"async_stager": stager}
        target = dcp.FileSystemWriter(path, sync_files=True, thread_count=1)
        begin = NOW()
        future = dcp.async_save(self.state(), storage_writer=target, async_checkpointer_type=AsyncCheckpointerType.THREAD, **options)
        if hasattr(future, "staging_completion"):
            future.staging_completion.result()
        blocked = NOW() - begin
        getattr(future, "upload_completion", future).result()
        return blocked, NOW() - begin, synced(path)

    def group(self, save, background, step_s, every):
        """(stall, seconds beside the sleep) of some steps, of which the first has a save."""
        busy = stall = 0
        future = None
        for number in range(every):
            time.sleep(step_s)
            begin = NOW()
            if save and number == 0:
                target = dcp.FileSystemWriter(self.loop_path, sync_files=True, thread_count=1)
                options = {} if background is None else {"async_stager": self.stager(background)}
                future = dcp.async_save(self.state(), storage_writer=target,
                                        async_checkpointer_type=AsyncCheckpointerType.THREAD, **options)
                if hasattr(future, "staging_completion"):
                    future.staging_completion.result()
                stall = NOW() - begin
            self.optimizer.step()
            busy += NOW() - begin
        if future:
            getattr(future, "upload_completion", future).result()
        return stall, busy

    def loop(self, background, saves, step_s, every):
        """(stalls, time lost per save) of so many saves, as `stoker bench checkpoint --loop` counts them."""
        stalls, lost = [], []
        for number in range(saves):
            self.loop_path = self.fresh("loop")
            took = {}
            for save in ((False, True) if number % 2 else (True, False)):
                stall, took[save] = self.group(save, background, step_s, every)
                if save:
                    stalls.append(stall)
            lost.append(took[True] - took[False])
        return stalls, lost

    def stager(self, background):
        return DefaultStager(StagingOptions(use_pinned_memory=False, use_shared_memory=False,
                                            use_async_staging=background, use_non_blocking_copy=False))


def ours(directory):
    """One process: its first save (fresh staging memory, faulted in at the start) and a second one."""
    shutil.rmtree(f"{directory}/stoker", ignore_errors=True)
    done = stoker("bench", "checkpoint", SOURCE / "configs/checkpoint.yaml", "checkpoint.type=direct",
                  "checkpoint.slow=fast", "checkpoint.snapshot=async", "--rounds", 2, "--json", cwd=SOURCE, timeout=None,
                  env={"STOKER_FAST": f"{directory}/stoker", "STOKER_SLOW": f"{directory}/unused"})
    result = json.loads(done.stdout)
    return result["stall_s"]["max"], result["durable_s"]["max"], result["set_bytes"]


def our_loop(directory, snapshot, saves, step_s, every):
    shutil.rmtree(f"{directory}/stoker", ignore_errors=True)
    done = stoker("bench", "checkpoint", SOURCE / "configs/checkpoint.yaml", "checkpoint.type=direct",
                  "checkpoint.slow=fast", f"checkpoint.snapshot={snapshot}", "--loop", "--rounds", saves,
                  "--step-ms", 1e3 * step_s, "--every", every, "--json", cwd=SOURCE, timeout=None,
                  env={"STOKER_FAST": f"{directory}/stoker", "STOKER_SLOW": f"{directory}/unused"})
    times = json.loads(done.stdout)["times"]
    return times["stall_s"], times["lost_s"]


def compare_loops(peers, directory, saves, step_s=0.2, every=5, block=10):
    ours_in = lambda mode: lambda count: our_loop(directory, mode, count, step_s, every)
    theirs = lambda background: lambda count: peers.loop(background, count, step_s, every)
    runs = {**{f"stoker, snapshot: {mode}": ours_in(mode) for mode in ("sync", "async", "swap")},
            "dcp.async_save": theirs(None), "dcp.async_save, DefaultStager": theirs(False),
            "dcp.async_save, staging beside": theirs(True)}
    for name in list(runs)[3:]:
        runs[name](1)  # the first save pays for fresh pages; stoker's were touched at its start
    rows = {name: ([], []) for name in runs}
    for _ in range(max(1, saves // block)):
        for name, run in runs.items():
            for all_of, more in zip(rows[name], run(min(block, saves))):
                all_of += more
    print(f"steps of {1e3 * step_s:.0f} ms, a save every {every}; milliseconds: median, p90, p99 (min to max)")
    for name, columns in rows.items():
        cells = []
        for what, values in zip(("stall", "lost per save"), columns):
            values = sorted(1e3 * value for value in values)
            at = lambda share: values[max(0, math.ceil(share * len(values)) - 1)]
            cells.append(f"{what} {statistics.median(values):7.1f} {at(0.9):7.1f} {at(0.99):7.1f} "
                         f"({values[0]:.1f} to {values[-1]:.1f})")
        print(f"{name:<32} {len(columns[0]):>4} saves  {'   '.join(cells)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loop", type=int, metavar="SAVES")
    options = parser.parse_args()
    torch.set_num_threads(os.cpu_count())
    torch.manual_seed(0)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29571", RANK="0", WORLD_SIZE="1")
    dist.init_process_group("gloo")
    directory = f"{options.dir}/peers"
    os.makedirs(directory, exist_ok=True)
    peers = Peers(directory)
    if options.loop:
        compare_loops(peers, directory, options.loop)
        shutil.rmtree(directory)
        os._exit(0)  # torch's process group has threads that do not end
    runs = {
        "stoker (worse of first and second)": lambda: ours(directory),
        "torch.save + fsync": peers.torch_save,
        "safetensors.save_file + fsync": peers.safetensors,
        "dcp.async_save": lambda: peers.dcp_async("dcp"),
        "dcp.async_save, DefaultStager": lambda: peers.dcp_async("dcp_stager", peers.stager(False)),
        "dcp.async_save, staging beside": lambda: peers.dcp_async("dcp_beside", peers.stager(True)),
    }
    rows = {name: [] for name in runs}
    for number in range(options.rounds + 1):
        for name in (list(runs) if number % 2 else list(reversed(runs))):
            row = runs[name]()
            if number > 0:  # the peers' first round pays for fresh pages; stoker's is always a first one
                rows[name].append(row)
    print(f"{options.rounds} interleaved rounds, the peers' first dropped; seconds: median (min to max)")
    for name, values in rows.items():
        blocked, durable = [v[0] for v in values], [v[1] for v in values]
        print(f"{name:<36} blocked {statistics.median(blocked):6.3f} ({min(blocked):.3f} to {max(blocked):.3f})  "
              f"durable {statistics.median(durable):6.3f} ({min(durable):.3f} to {max(durable):.3f})  "
              f"{values[0][2] / 1e6:.1f} MB", flush=True)
    shutil.rmtree(directory)
    os._exit(0)  # torch's process group has threads that do not end


if __name__ == "__main__":
    main()
