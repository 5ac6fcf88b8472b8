"""Ranks of PyTorch's distributed package as forked children, so that PyTorch is imported once; and a training of which every
byte follows from its step.
"""
import os
import signal
import socket
import sys
import tempfile
import time
import traceback

PATIENCE_S = 240

try:
    import torch
    import torch._dynamo  # which a DTensor imports, and it takes half a second
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard  # noqa: F401  as old as what is needed
    from torch.distributed.tensor import DTensor, Shard

    MISSING = "" if dist.is_gloo_available() else "PyTorch without gloo"
    torch.set_num_threads(1)  # a thread more would not be there in the children
except (ImportError, AttributeError) as error:
    MISSING = f"PyTorch 2.6 or newer is not here: {error}"


def libuv():
    """"1" where the store of the ranks can be the one that PyTorch has by default; Debian's PyTorch does not have it."""
    try:
        dist.TCPStore("127.0.0.1", 0, 1, True, wait_for_workers=False, use_libuv=True)
    except RuntimeError:  # as PyTorch's own errors are
        return "0"
    return "1"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def begin_ranks(world, function, *arguments):
    """The processes of ranks that do function(rank, *arguments). world 0: one process without a process group."""
    port, with_libuv, processes = free_port(), libuv(), []
    sys.stdout.flush()
    sys.stderr.flush()
    for rank in range(max(world, 1)):
        process = os.fork()
        if process == 0:
            code = 1
            try:
                if world:
                    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                                      GLOO_SOCKET_IFNAME="lo", USE_LIBUV=with_libuv)
                    dist.init_process_group("gloo")
                function(rank, *arguments)
                code = 0
            except BaseException:  # noqa: BLE001
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        processes.append(process)
    return processes


def ended(process):
    """Whether it has; its exit code is in the answer."""
    found, status = os.waitpid(process, os.WNOHANG)
    return None if found == 0 else os.waitstatus_to_exitcode(status)


def in_ranks(world, function, *arguments, patience_s=PATIENCE_S):
    """Runs them to their end, which must be well. Returns what they have printed."""
    with tempfile.TemporaryFile("w+") as output:
        saved = os.dup(1), os.dup(2)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        try:
            processes = begin_ranks(world, function, *arguments)
        finally:
            for place, descriptor in enumerate(saved, 1):
                os.dup2(descriptor, place)
                os.close(descriptor)
        left, codes = dict(enumerate(processes)), {}
        give_up = time.monotonic() + patience_s
        while left:
            for rank, process in list(left.items()):
                code = ended(process)
                if code is not None:
                    codes[rank] = code
                    del left[rank]
            if left and (time.monotonic() > give_up or any(codes.values())):
                time.sleep(1)  # the others may have something to say, too
                for process in left.values():
                    os.kill(process, signal.SIGKILL)
                    os.waitpid(process, 0)
                codes.update(dict.fromkeys(left, "killed"))
                break
            time.sleep(0.005)
        output.seek(0)
        text = output.read()
        if any(codes.values()):
            raise AssertionError(f"exit codes {codes}\n{text}")
        return text


def sections(folder, kind="direct", **checkpoint):
    """A configuration of sets below a folder."""
    return {"run": {"name": "trial"},
            "storage": {tier: {"type": "posix", "root": f"{folder}/{tier}"} for tier in ("fast", "slow")},
            "checkpoint": {"type": kind, "slow": "slow", **({"fast": "fast"} if kind == "burst_buffer" else {}), **checkpoint}}


class Training:
    """A matrix of which each rank has rows, a vector that all have, and numbers; after a step all are its number."""
    ROWS, COLUMNS = 96, 700

    def __init__(self, columns=COLUMNS):
        self.columns = columns
        world = dist.get_world_size()
        self.mesh = init_device_mesh("cpu", (world,))
        rank = dist.get_rank()
        rows = self.ROWS * (rank + 1) // world - self.ROWS * rank // world
        self.own = torch.zeros(rows, columns)
        self.vector = torch.zeros(50)
        self.numbers = {"step": 0, "text": "0"}

    def state(self):
        matrix = DTensor.from_local(self.own, self.mesh, [Shard(0)], run_check=False,
                                    shape=torch.Size((self.ROWS, self.columns)), stride=(self.columns, 1))
        return {"matrix": matrix, "vector": self.vector, "numbers": self.numbers}

    def go_to(self, step):
        self.own.fill_(step)
        self.vector.fill_(step)
        self.numbers = {"step": step, "text": str(step)}

    def check(self, step):
        assert bool((self.own == step).all()), (step, self.own.unique())
        assert bool((self.vector == step).all()), (step, self.vector.unique())
        assert self.numbers == {"step": step, "text": str(step)}, (step, self.numbers)

    def load(self, reader, checkpoint_id=None):
        state = self.state()
        dcp.load(state, checkpoint_id=checkpoint_id, storage_reader=reader)
        self.numbers = state["numbers"]
        self.check(reader.step)
        return reader.step


def steps_of_sets(folder, kind):
    """The steps of all sets, of which every byte is right. Needs a process without a process group."""
    import stoker.dcp

    reader = stoker.dcp.StorageReader(sections(folder, kind))
    steps = []
    for step in reader._sets.steps():
        try:
            reader._sets.open(step)
        except stoker.Error as error:
            if "is not whole" in str(error):  # never committed: one rank's part of it
                continue
            raise
        matrix, vector, numbers = torch.empty(Training.ROWS, Training.COLUMNS), torch.empty(50), {"step": -1, "text": ""}
        state = {"matrix": matrix, "vector": vector, "numbers": numbers}
        dcp.load(state, checkpoint_id=str(step), storage_reader=reader)
        assert bool((matrix == step).all()) and bool((vector == step).all()) and state["numbers"]["step"] == step, step
        steps.append(step)
    return steps


def check_sets(_, folder, kind):
    print("steps", *steps_of_sets(folder, kind))


def save_until_killed(rank, folder, kind, acknowledged):
    """Goes on from the newest set, and saves every step."""
    import stoker.dcp

    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # the ranks that are killed later have something to say about the first one
    config = sections(folder, kind, keep_last=2)
    reader, training, step = stoker.dcp.StorageReader(config), Training(), 0
    if reader.newest() is not None:
        step = training.load(reader)
    writer = stoker.dcp.StorageWriter(config)
    with open(acknowledged, "a", buffering=1, encoding="utf-8") as log:
        while True:
            step += 1
            training.go_to(step)
            dcp.save(training.state(), checkpoint_id=str(step), storage_writer=writer)
            assert writer.lost == 0, writer.last_error
            if rank == 0:
                log.write(f"{step}\n")


class Acknowledged:
    """The steps of saves that have returned, in a file."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.path = f"{folder}/acknowledged"
        open(self.path, "a", encoding="utf-8").close()

    def steps(self):
        with open(self.path, encoding="utf-8") as log:
            return [int(line) for line in log.read().split("\n")[:-1] if line]

    def require(self, found):
        """The newest of them is there."""
        newest = max(self.steps(), default=0)
        assert max(found, default=0) >= newest, f"acknowledged {newest}, there: {found}"


class Kills:
    """Kills of a training of two ranks, each at a random moment; and what is there afterwards."""

    def __init__(self, folder, kind, random):
        self.folder, self.kind, self.random = str(folder), kind, random
        self.acknowledged = Acknowledged(self.folder)

    def kill_once(self):
        before = len(self.acknowledged.steps())
        processes = begin_ranks(2, save_until_killed, self.folder, self.kind, self.acknowledged.path)
        give_up = time.monotonic() + PATIENCE_S
        while len(self.acknowledged.steps()) == before:
            assert time.monotonic() < give_up, "it saves nothing"
            assert all(ended(process) is None for process in processes), "it ended by itself"
            time.sleep(0.002)
        time.sleep(self.random.uniform(0, 0.1))
        self.random.shuffle(processes)
        for process in processes:
            os.kill(process, signal.SIGKILL)
            time.sleep(self.random.choice((0, 0, 0.02)))
        for process in processes:
            os.waitpid(process, 0)
        found = in_ranks(0, check_sets, self.folder, self.kind)
        self.acknowledged.require([int(step) for step in found.split("steps", 1)[1].split()])
