"""Checkpoints of ResNet-50 with AdamW from Python: stoker.Checkpointer beside torch.save, safetensors and
torch.distributed.checkpoint.async_save, in turns, all synced. blocked: until the weights may change. durable: until every byte
is synced. restore: into a model and an optimizer that are there; from the page cache. Stoker's is the second save of a
Checkpointer: the first one makes the memory for its copies.

python_checkpoints.py --dir DIRECTORY [--rounds 3]   in the environment that setup.sh calls torch"""
import argparse
import glob
import os
import shutil
import statistics
import time
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torchvision
from safetensors.torch import load_file, save_file
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

import stoker

warnings.filterwarnings("ignore")
NOW = time.perf_counter


def synced(path):
    """Syncs all files below a path, and gives their size."""
    size = 0
    for name in glob.glob(path + "/**", recursive=True, include_hidden=True) if os.path.isdir(path) else [path]:
        descriptor = os.open(name, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        size += os.path.getsize(name) if os.path.isfile(name) else 0
    return size


class Training:
    """A model and an optimizer that have done a step."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.model = torchvision.models.resnet50()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        for parameter in self.model.parameters():
            parameter.grad = torch.rand_like(parameter)
        self.optimizer.step()

    def flat(self):
        tensors = {"model." + name: tensor for name, tensor in self.model.state_dict().items()}
        for place, state in self.optimizer.state_dict()["state"].items():
            tensors.update({f"optimizer.{place}.{name}": tensor for name, tensor in state.items()})
        return tensors


class Peers:
    def __init__(self, directory):
        self.directory, self.step = directory, 0
        self.saved, self.other = Training(1), Training(2)

    def saver(self, mode):
        return stoker.Checkpointer({"storage": {"disk": {"type": "posix", "root": f"{self.directory}/stoker-{mode}"}},
                                    "checkpoint": {"type": "direct", "slow": "disk", "snapshot": mode, "keep_last": 1}})

    def path(self, name):
        path = f"{self.directory}/{name}"
        shutil.rmtree(path, ignore_errors=True)
        if os.path.exists(path):
            os.unlink(path)
        os.sync()
        return path

    def stoker(self, mode):
        self.path(f"stoker-{mode}")
        saver = self.saver(mode)
        self.save(saver)  # as a training has done before: the memory of the snapshot is there
        os.sync()
        begin = NOW()
        step = self.save(saver)
        blocked = NOW() - begin
        while saver.status()["durable_step"] != step:
            time.sleep(0.001)
        durable = NOW() - begin
        saver.close()
        begin = NOW()
        with self.saver(mode) as another:
            another.restore(model=self.other.model, optimizer=self.other.optimizer)
            return blocked, durable, NOW() - begin

    def save(self, saver):
        self.step += 1
        saver.save(self.step, model=self.saved.model, optimizer=self.saved.optimizer)
        saver.finish_copy()
        return self.step

    def blocking(self, name, save, restore):
        path, begin = self.path(name), NOW()
        save(path)
        synced(path)
        durable, begin = NOW() - begin, NOW()
        restore(path)
        return durable, durable, NOW() - begin

    def torch_save(self):
        def restore(path):
            state = torch.load(path)
            self.other.model.load_state_dict(state["model"])
            self.other.optimizer.load_state_dict(state["optimizer"])
        return self.blocking("torch.pt", lambda path: torch.save(
            {"model": self.saved.model.state_dict(), "optimizer": self.saved.optimizer.state_dict()}, path), restore)

    def safetensors(self):
        def restore(path):
            state = load_file(path)
            for name, tensor in self.other.flat().items():
                tensor.copy_(state[name])
        return self.blocking("flat.safetensors", lambda path: save_file(self.saved.flat(), path), restore)

    def dcp_async(self):
        path, begin = self.path("dcp"), NOW()
        model, optimizer = get_state_dict(self.saved.model, self.saved.optimizer)
        future = dcp.async_save({"model": model, "optimizer": optimizer},
                                storage_writer=dcp.FileSystemWriter(path, sync_files=True, thread_count=1),
                                async_checkpointer_type=AsyncCheckpointerType.THREAD)
        if hasattr(future, "staging_completion"):
            future.staging_completion.result()
        blocked = NOW() - begin
        getattr(future, "upload_completion", future).result()
        durable, begin = NOW() - begin, NOW()
        model, optimizer = get_state_dict(self.other.model, self.other.optimizer)
        dcp.load({"model": model, "optimizer": optimizer}, checkpoint_id=path)
        set_state_dict(self.other.model, self.other.optimizer, model_state_dict=model, optim_state_dict=optimizer)
        return blocked, durable, NOW() - begin

    def check(self, name):
        """What was restored is what was saved; and the next restore has something to do."""
        other = self.other.flat()
        for key, tensor in self.saved.flat().items():
            if not torch.equal(tensor, other[key]):
                raise SystemExit(f"{name}: {key} is not what was saved")
        self.other = Training(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29573", RANK="0", WORLD_SIZE="1")
    dist.init_process_group("gloo")
    directory = f"{options.dir}/python-checkpoints"
    os.makedirs(directory, exist_ok=True)
    peers = Peers(directory)
    runs = {"stoker, snapshot: async": lambda: peers.stoker("async"), "stoker, snapshot: sync": lambda: peers.stoker("sync"),
            "torch.save + fsync": peers.torch_save, "safetensors + fsync": peers.safetensors, "dcp.async_save": peers.dcp_async}
    rows = {name: [] for name in runs}
    for number in range(options.rounds + 1):
        for name in sorted(runs, reverse=number % 2 == 1):
            row = runs[name]()
            peers.check(name)
            if number > 0:  # the first one pays for fresh memory
                rows[name].append(row)
    print(f"{options.rounds} rounds in turns, after one that does not count; seconds: median (min to max)")
    for name, values in rows.items():
        cells = [f"{what} {statistics.median(column):6.3f} ({min(column):.3f} to {max(column):.3f})"
                 for what, column in zip(("blocked", "durable", "restore"), zip(*values))]
        print(f"{name:<24} {'  '.join(cells)}", flush=True)
    shutil.rmtree(directory)
    os._exit(0)  # torch's process group has threads that do not end


if __name__ == "__main__":
    main()
