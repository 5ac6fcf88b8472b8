"""Checkpoints to one disk: ours beside torch.save, safetensors and torch.distributed.checkpoint.async_save, all synced.

--state alexnet: AlexNet (102 classes) with Adam, 689 MB; ours is `stoker bench checkpoint`, the worse of a first save
(fresh memory) and a second. resnet50: ResNet-50 with AdamW; ours is stoker.Checkpointer, whose second save counts;
restored into a model and an optimizer that are there, from the page cache, and compared. blocked: until the weights may
change; where staging runs beside the trainer, its end. durable: until every byte is synced. --loop SAVES: instead, what
a save costs a loop of steps (200 ms in which the processor waits, then Adam's update); a save stands right before an
update.

--dir: on the disk. Needs torch==2.11.0, torchvision==0.26.0 and safetensors. For docs/results.md, "Checkpoints".
"""
import os
import shutil
import time
import warnings

import saving
from frame import wheel
from saving import NOW
from stoker import SOURCE, free_port

ROUNDS = 5
OPTIONS = {"state": {"alexnet": 0, "resnet50": 0}, "loop": (0, "saves"), "step_ms": 200.0, "every": (5, "steps")}
WORDS = "settings of `stoker bench checkpoint`: a.b=c"
DCP = {"dcp.async_save": None, "dcp.async_save, DefaultStager": False, "dcp.async_save, staging beside": True}


def async_save(state, path, beside, **writer):
    """What waits for the copy, and what waits for the files. beside: whether a DefaultStager stages beside the loop."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
    options = {} if beside is None else {"async_stager": DefaultStager(StagingOptions(  # 2.11's takes one state each
        use_pinned_memory=False, use_shared_memory=False, use_async_staging=beside, use_non_blocking_copy=False))}
    future = dcp.async_save(state, storage_writer=dcp.FileSystemWriter(path, sync_files=True, **writer), **options)
    staged = future.staging_completion.result if hasattr(future, "staging_completion") else lambda: None
    return staged, getattr(future, "upload_completion", future).result


def sync_all(path):
    for name in [path, *path.rglob("*")]:
        descriptor = os.open(name, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


class Training:
    """A model and an optimizer that have done a step."""

    def __init__(self, kind, seed):
        import torch
        import torchvision
        torch.manual_seed(seed)
        small = kind == "alexnet"
        self.model = torchvision.models.alexnet(num_classes=102) if small else torchvision.models.resnet50()
        optimizer = torch.optim.Adam if small else torch.optim.AdamW
        self.optimizer = optimizer(self.model.parameters(), lr=1e-4, fused=small)
        for parameter in self.model.parameters():
            parameter.grad = torch.rand_like(parameter)
        self.optimizer.step()

    def state(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}

    def flat(self):
        tensors = {"model." + name: tensor for name, tensor in self.model.state_dict().items()}
        for place, state in self.optimizer.state_dict()["state"].items():
            tensors.update({f"optimizer.{place}.{name}": tensor for name, tensor in state.items()})
        return tensors


class Peers:
    def __init__(self, lab):
        self.lab, self.kind, self.saved, self.other = lab, lab.given.state, Training(lab.given.state, 1), None

    def fresh(self, name):
        path = self.lab.folder / name
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
        os.sync()
        return path

    def figures(self, blocked, durable, restore):
        """With the restore of a ResNet-50, compared."""
        found = {"blocked, s": blocked, "durable, s": durable}
        if self.kind == "resnet50":
            import torch
            self.other = Training(self.kind, 2)
            begin = NOW()
            restore()
            found["restore, s"], other = NOW() - begin, self.other.flat()
            for key, tensor in self.saved.flat().items():
                assert torch.equal(tensor, other[key]), f"{key} is not what was saved"
        return found

    def blocking(self, name, save, restore):
        path, begin = self.fresh(name), NOW()
        save(path)
        sync_all(path)
        took = NOW() - begin
        return self.figures(took, took, lambda: restore(path))

    def torch_save(self):
        import torch

        def restore(path):
            state = torch.load(path)
            self.other.model.load_state_dict(state["model"])
            self.other.optimizer.load_state_dict(state["optimizer"])
        return self.blocking("torch.pt", lambda path: torch.save(self.saved.state(), path), restore)

    def safetensors(self):
        from safetensors.torch import load_file, save_file

        def restore(path):
            state = load_file(path)
            for name, tensor in self.other.flat().items():
                tensor.copy_(state[name])
        return self.blocking("flat.safetensors", lambda path: save_file(self.saved.flat(), path), restore)

    def dcp(self, beside):
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
        path, begin = self.fresh("dcp"), NOW()
        state = dict(zip(("model", "optimizer"), get_state_dict(self.saved.model, self.saved.optimizer)))
        staged, written = async_save(state, path, beside, thread_count=1)
        staged()
        blocked = NOW() - begin
        written()
        durable = NOW() - begin

        def restore():
            model, optimizer = get_state_dict(self.other.model, self.other.optimizer)
            dcp.load({"model": model, "optimizer": optimizer}, checkpoint_id=path)
            set_state_dict(self.other.model, self.other.optimizer, model_state_dict=model, optim_state_dict=optimizer)
        return self.figures(blocked, durable, restore)

    def checkpointer(self, stoker, mode):
        path = self.fresh(f"stoker-{mode}")
        saver = lambda: stoker.Checkpointer({"storage": {"disk": {"type": "posix", "root": str(path)}}, "checkpoint": {
            "type": "direct", "slow": "disk", "snapshot": mode, "keep_last": 1}})

        def restore():
            with saver() as another:
                another.restore(model=self.other.model, optimizer=self.other.optimizer)
        with saver() as own:
            for step in (1, 2):  # at the second one the memory of the snapshot is there
                os.sync()
                begin = NOW()
                own.save(step, model=self.saved.model, optimizer=self.saved.optimizer)
                own.finish_copy()
                blocked = NOW() - begin
                while own.status()["durable_step"] != step:
                    time.sleep(0.001)
                durable = NOW() - begin
        return self.figures(blocked, durable, restore)

    def loop(self, beside, saves):
        given = self.lab.given

        def save():
            return async_save(self.saved.state(), path, beside, thread_count=1)
        rows = []
        for number in range(saves):
            path = self.fresh("loop")
            rows.append(saving.figures(number, given.every, given.step_ms, self.saved.optimizer.step, save=save))
        return rows


def bench(lab, snapshot, *words):
    shutil.rmtree(lab.folder / "stoker", ignore_errors=True)
    return lab.json("bench", "checkpoint", SOURCE / "configs/checkpoint.yaml", *lab.given.words, *words,
                    f"checkpoint={{type: direct, slow: fast, snapshot: {snapshot}, every_steps: 20, keep_last: 5}}",
                    cwd=SOURCE, env={"STOKER_FAST": f"{lab.folder}/stoker", "STOKER_SLOW": f"{lab.folder}/unused"})


def bench_once(lab):
    got = bench(lab, "async", "--rounds", 2)
    return {"blocked, s": got["stall_s"]["max"], "durable, s": got["durable_s"]["max"]}


def bench_loop(lab, mode, saves):
    step = ("--step-ms", lab.given.step_ms, "--every", lab.given.every)
    times = bench(lab, mode, "--loop", "--rounds", saves, *step)["times"]
    return [{"stall, ms": 1e3 * stall, "lost per save, ms": 1e3 * lost}
            for stall, lost in zip(times["stall_s"], times["lost_s"])]


def run(lab):
    import torch
    warnings.filterwarnings("ignore")
    torch.set_num_threads(os.cpu_count())
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), RANK="0", WORLD_SIZE="1",
                      GLOO_SOCKET_IFNAME="lo")
    torch.distributed.init_process_group("gloo")
    peers, stoker, rounds, warm_up = Peers(lab), wheel(), lab.given.rounds, 1  # the first one pays for fresh memory
    mode = lambda mode, call: {f"stoker, snapshot: {mode}": lambda: call(mode)}
    if block := min(10, lab.given.loop):  # saves in a turn
        loop = lambda mode: bench_loop(lab, mode, block)
        ways = mode("async", loop) | mode("sync", loop) | mode("swap", loop)
        ways |= {name: lambda beside=beside: peers.loop(beside, block) for name, beside in DCP.items()}
        for beside in DCP.values():
            peers.loop(beside, 1)  # stoker's fresh pages are touched at its start
        rounds, warm_up = lab.given.loop // block, 0
    else:
        own = lambda mode: peers.checkpointer(stoker, mode)
        ways = mode("async", own) | mode("sync", own)
        if lab.given.state == "alexnet":
            ways = {"stoker bench checkpoint": lambda: bench_once(lab)}
        ways |= {"torch.save + fsync": peers.torch_save, "safetensors + fsync": peers.safetensors}
        ways |= {name: lambda beside=beside: peers.dcp(beside) for name, beside in DCP.items()}
    lab.measure(lab.given.state, {name: ways[name] for name in lab.chosen(ways)}, rounds=rounds, warm_up=warm_up,
                reference=next(iter(ways)))
