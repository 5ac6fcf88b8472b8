"""Checkpoints to one disk: ours beside torch.save, safetensors and torch.distributed.checkpoint.async_save, all synced.

--state alexnet: AlexNet (102 classes) with Adam, 689 MB; ours is `stoker bench checkpoint`, of which the worse of a first save
(fresh memory) and a second one counts. --state resnet50: ResNet-50 with AdamW; ours is stoker.Checkpointer, whose second save
counts, and it is restored into a model and an optimizer that are there, from the page cache, and compared. blocked: until the
weights may change; where staging runs beside the trainer, its end, as nothing overlaps it here. durable: until every byte is
synced. --loop SAVES: instead, what a save costs a loop of steps (200 ms in which the processor waits, then Adam's update),
`stoker bench checkpoint --loop` with each snapshot mode and async_save in the same loop; a save stands right before an update.

--dir: on the disk. Needs a Python with torch==2.11.0, torchvision==0.26.0 and safetensors. For docs/results.md.
"""
import os
import re
import shutil
import time
import warnings

from frame import wheel
from stoker import SOURCE, free_port

ROUNDS = 5
OPTIONS = {"state": {"alexnet": 0, "resnet50": 0}, "loop": (0, "saves"), "step_ms": 200.0, "every": (5, "steps")}
WORDS = "settings of `stoker bench checkpoint`: a.b=c"
NOW = time.perf_counter


def sync_all(path):
    """Syncs every file below a path."""
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
        if kind == "alexnet":
            self.model = torchvision.models.alexnet(num_classes=102)
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4, fused=True)
        else:
            self.model = torchvision.models.resnet50()
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
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


def async_save(state, path, beside):
    """DCP's future, and what waits for its copy. beside: None is its own way, else whether a DefaultStager stages beside the loop."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
    from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
    options = {} if beside is None else {"async_stager": DefaultStager(StagingOptions(
        use_pinned_memory=False, use_shared_memory=False, use_async_staging=beside, use_non_blocking_copy=False))}
    future = dcp.async_save(state, storage_writer=dcp.FileSystemWriter(path, sync_files=True, thread_count=1),
                            async_checkpointer_type=AsyncCheckpointerType.THREAD, **options)
    if hasattr(future, "staging_completion"):
        future.staging_completion.result()
    return getattr(future, "upload_completion", future)


class Peers:
    def __init__(self, lab):
        self.lab, self.kind, self.step = lab, lab.given.state, 0
        self.saved, self.other = Training(self.kind, 1), None

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

    def torch_save(self):
        import torch
        path, begin = self.fresh("torch.pt"), NOW()
        torch.save(self.saved.state(), path)
        sync_all(path)
        took = NOW() - begin

        def restore():
            state = torch.load(path)
            self.other.model.load_state_dict(state["model"])
            self.other.optimizer.load_state_dict(state["optimizer"])
        return self.figures(took, took, restore)

    def safetensors(self):
        from safetensors.torch import load_file, save_file
        path, begin = self.fresh("flat.safetensors"), NOW()
        save_file(self.saved.flat(), path)
        sync_all(path)
        took = NOW() - begin

        def restore():
            state = load_file(path)
            for name, tensor in self.other.flat().items():
                tensor.copy_(state[name])
        return self.figures(took, took, restore)

    def dcp(self, beside):
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
        path, begin = self.fresh("dcp"), NOW()
        model, optimizer = get_state_dict(self.saved.model, self.saved.optimizer)
        future = async_save({"model": model, "optimizer": optimizer}, path, beside)
        blocked = NOW() - begin
        future.result()
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

    def group(self, save, beside):
        """(stall, seconds beside the sleep) of some steps, of which the first has a save."""
        busy, stall, future, path = 0, 0, None, self.fresh("loop")
        for number in range(self.lab.given.every):
            time.sleep(self.lab.given.step_ms / 1e3)
            begin = NOW()
            if save and number == 0:
                future = async_save(self.saved.state(), path, beside)
                stall = NOW() - begin
            self.saved.optimizer.step()
            busy += NOW() - begin
        if future:
            future.result()
        return stall, busy

    def loop(self, beside, saves):
        rows = []
        for number in range(saves):
            took = {}
            for save in ((False, True) if number % 2 else (True, False)):
                stalled, took[save] = self.group(save, beside)
                stall = stalled if save else stall if number % 2 == 0 else 0
            rows.append({"stall, ms": 1e3 * stall, "lost per save, ms": 1e3 * (took[True] - took[False])})
        return rows


def bench(lab, snapshot, *words):
    shutil.rmtree(lab.folder / "stoker", ignore_errors=True)
    return lab.json("bench", "checkpoint", SOURCE / "configs/checkpoint.yaml", "checkpoint.type=direct", "checkpoint.slow=fast",
                    f"checkpoint.snapshot={snapshot}", *lab.given.words, *words, cwd=SOURCE,
                    env={"STOKER_FAST": f"{lab.folder}/stoker", "STOKER_SLOW": f"{lab.folder}/unused"})


def bench_once(lab):
    got = bench(lab, "async", "--rounds", 2)
    return {"blocked, s": got["stall_s"]["max"], "durable, s": got["durable_s"]["max"]}


def bench_loop(lab, snapshot, saves):
    times = bench(lab, snapshot, "--loop", "--rounds", saves, "--step-ms", lab.given.step_ms, "--every", lab.given.every)["times"]
    return [{"stall, ms": 1e3 * stall, "lost per save, ms": 1e3 * lost} for stall, lost in zip(times["stall_s"], times["lost_s"])]


def run(lab):
    import torch
    warnings.filterwarnings("ignore")
    torch.set_num_threads(os.cpu_count())
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), RANK="0", WORLD_SIZE="1", GLOO_SOCKET_IFNAME="lo")
    torch.distributed.init_process_group("gloo")
    peers, stoker = Peers(lab), wheel()
    dcp = {"dcp.async_save": None, "dcp.async_save, DefaultStager": False, "dcp.async_save, staging beside": True}
    if lab.given.loop:
        block = min(10, lab.given.loop)  # saves in a turn
        ways = {f"stoker, snapshot: {mode}": lambda mode=mode: bench_loop(lab, mode, block) for mode in ("sync", "async", "swap")}
        ways |= {name: lambda beside=beside: peers.loop(beside, block) for name, beside in dcp.items()}
        for beside in dcp.values():
            peers.loop(beside, 1)  # the first save pays for fresh pages; stoker's were touched at its start
        rounds, warm_up, reference = max(1, lab.given.loop // block), 0, "stoker, snapshot: async"
    else:
        ours = {f"stoker, snapshot: {mode}": lambda mode=mode: peers.checkpointer(stoker, mode) for mode in ("async", "sync")}
        ways = ours if lab.given.state == "resnet50" else {"stoker bench checkpoint": lambda: bench_once(lab)}
        reference = next(iter(ways))
        ways |= {"torch.save + fsync": peers.torch_save, "safetensors + fsync": peers.safetensors}
        ways |= {name: lambda beside=beside: peers.dcp(beside) for name, beside in dcp.items()}
        rounds, warm_up = lab.given.rounds, 1  # the first one pays for fresh memory
    lab.measure(lab.given.state, {name: way for name, way in ways.items() if re.search(lab.given.only, name) or name == reference},
                rounds=rounds, warm_up=warm_up, reference=reference)
