#!/usr/bin/env python3
"""stoker.dcp: FSDP2's states on other numbers of ranks, every sharding, asynchronous saves, export, and what is refused."""
import json
import logging
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import unittest

from dcp_ranks import MISSING, Kills, Training, in_ranks, sections

LONG = bool(os.environ.get("STOKER_LONG"))
PROGRAM = os.environ.get("STOKER")

if not MISSING:
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.api import _wrap_exception
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

    from safetensors.torch import load_file

    import stoker
    import stoker.dcp



class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stoker-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


def sharded_model(seed, steps):
    """FSDP2 on gloo: rows that do not divide, and an optimizer with a state."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(13, 10), torch.nn.Linear(10, 7, bias=False))
    if dist.is_initialized():
        fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(steps):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, 0.1 * step - 0.3)
        optimizer.step()
    return model, optimizer


def whole(tree):
    """The values of a state by name, in full."""
    values = {}

    def walk(value, path):
        if isinstance(value, dict):
            for key, below in value.items():
                walk(below, f"{path}/{key}")
        elif isinstance(value, DTensor):
            values[path] = value.full_tensor().detach().tolist()
        elif isinstance(value, torch.Tensor):
            values[path] = value.detach().tolist()
        else:
            values[path] = json.loads(json.dumps(value, default=str))

    walk(tree, "")
    return values


def save_sharded(rank, folder, step, seed):
    model, optimizer = sharded_model(seed, 3)
    names = ("model", "optimizer")
    state = dict(zip(names, get_state_dict(model, optimizer)))
    with stoker.dcp.StorageWriter(sections(folder)) as writer:
        dcp.save(state, checkpoint_id=str(step), storage_writer=writer)
        assert writer.lost == 0, writer.last_error
    if rank == 0:
        pathlib.Path(folder, "values.json").write_text(json.dumps(whole(state)))
    else:
        whole(state)


def load_sharded(rank, folder, step, again=None):
    model, optimizer = sharded_model(99, 1)
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    reader = stoker.dcp.StorageReader(sections(folder))
    dcp.load(state, storage_reader=reader)
    assert reader.step == step
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    expected = json.loads(pathlib.Path(folder, "values.json").read_text())
    assert whole(state) == expected
    if again is not None:
        with stoker.dcp.StorageWriter(sections(folder)) as writer:
            dcp.save(state, checkpoint_id=str(again), storage_writer=writer)
            assert writer.lost == 0, writer.last_error


def export_and_load(_, folder, step):
    path = f"{folder}/slow/trial/step-{step:010d}"
    stoker.dcp.export(path, f"{folder}/exported")
    model, optimizer = sharded_model(99, 1)
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    dcp.load(state, checkpoint_id=f"{folder}/exported")
    assert whole(state) == json.loads(pathlib.Path(folder, "values.json").read_text())


@unittest.skipIf(MISSING, MISSING)
class ReshardingTest(FolderTest):
    def test_a_set_of_four_ranks_goes_to_two_and_to_one_and_to_dcp_itself(self):
        in_ranks(4, save_sharded, self.folder, 1, 5)
        in_ranks(2, load_sharded, self.folder, 1, 2)
        in_ranks(1, load_sharded, self.folder, 2)
        in_ranks(0, export_and_load, self.folder, 2)
        first, second = (self.folder / "slow/trial" / f"step-000000000{step}" for step in (1, 2))
        self.assertEqual(len(list(first.glob("*.safetensors"))), 4)
        self.assertEqual(len(list(second.glob("*.safetensors"))), 2)
        # As whole tensors, by their names, for every reader of sets.
        manifest = json.loads((first / "MANIFEST.json").read_text())
        shapes = {tensor["name"]: tensor["shape"] for tensor in manifest["tensors"]}
        self.assertEqual(shapes["model.0.weight"], [10, 13])
        self.assertIn("optimizer.state.0.weight.exp_avg", shapes)
        self.assertEqual(manifest["parts"], 4)
        if PROGRAM and (pathlib.Path(PROGRAM).parents[1] / "lib/stoker/stoker_train.so").exists():
            for path in (first, second):
                done = subprocess.run([PROGRAM, "checkpoint", "verify", path], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.exported_weights_are_those(first)

    def exported_weights_are_those(self, path):
        values = json.loads((self.folder / "values.json").read_text())
        for name, read in {"weights.pt": lambda file: torch.load(file, weights_only=True), "weights.safetensors": load_file}.items():
            subprocess.run([PROGRAM, "checkpoint", "export", path, self.folder / name], check=True, capture_output=True)
            weights = {key: value.tolist() for key, value in read(self.folder / name).items()}
            self.assertEqual(weights, {key: values[f"/model/{key}"] for key in ("0.weight", "0.bias", "1.weight")})


def odd_state(filled):
    """Every kind of sharding and of values, on two ranks or on one."""
    world, mesh = dist.get_world_size(), init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(3 if filled else 4)

    def value(*shape, dtype=torch.float32):
        return (torch.rand(*shape) * 100).to(dtype) if filled else torch.zeros(*shape, dtype=dtype)

    state = {"columns": distribute_tensor(value(6, 8), mesh, [Shard(1)]), "same": distribute_tensor(value(5), mesh, [Replicate()]),
             "rows": distribute_tensor(value(world * 3 + 1, 2), mesh, [Shard(0)]), "scalar": value(1)[0].clone(),
             "none": torch.zeros(0, 4), "flags": value(9) > 50, "strided": value(6, 10)[:, ::2],
             "deep": [{"value": value(2)}, {"text": "ä", "number": 1.5} if filled else {"text": "", "number": 0}],
             "bare": (3, None, float("inf")) if filled else (0, 0, 0)}
    for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.int32, torch.uint8, torch.complex64, torch.float8_e4m3fn):
        state[str(dtype)] = value(world * 2, 3, dtype=dtype)
    return state


def save_odd(rank, folder, kind):
    with stoker.dcp.StorageWriter(sections(folder, kind)) as writer:
        state = odd_state(filled=True)
        for step in (1, 2, 3):
            state["deep"][1]["number"] = step
            dcp.save(state, storage_writer=writer)
        assert writer.status()["saved_step"] == 3, writer.status()
        assert writer.lost == 0, writer.last_error


def load_odd(rank, folder, kind):
    state, expected = odd_state(filled=False), odd_state(filled=True)
    expected["deep"][1]["number"] = 3
    reader = stoker.dcp.StorageReader(sections(folder, kind))
    dcp.load(state, storage_reader=reader)
    assert reader.step == 3
    for name, value in expected.items():
        if isinstance(value, torch.Tensor):
            saved, wanted = ((v.full_tensor() if isinstance(v, DTensor) else v).contiguous() for v in (state[name], value))
            assert saved.dtype == wanted.dtype, name
            assert saved.reshape(-1).view(torch.uint8).equal(wanted.reshape(-1).view(torch.uint8)), name
        elif name == "deep":
            assert state["deep"][0]["value"].equal(value[0]["value"]) and state["deep"][1] == value[1], state["deep"]
        else:
            assert state[name] == value, (name, state[name])


@unittest.skipIf(MISSING, MISSING)
class ValuesTest(FolderTest):
    def test_every_sharding_and_type_comes_back(self):
        for kind in ("direct", "burst_buffer"):
            with self.subTest(kind):
                in_ranks(2, save_odd, self.folder / kind, kind)
                in_ranks(2, load_odd, self.folder / kind, kind)
        (path,) = self.folder.glob("direct/slow/trial/step-0000000003/MANIFEST.json")
        names = {tensor["name"] for tensor in json.loads(path.read_text())["tensors"]}
        self.assertLessEqual({"columns[0:6,0:4]", "columns[0:6,4:8]", "same", "rows"}, names)

    def test_a_damaged_set_is_named_and_the_one_before_is_taken(self):
        in_ranks(2, save_steps, self.folder, 3)
        (path,) = self.folder.glob("slow/trial/step-0000000003/state-00002*.safetensors")
        data = bytearray(path.read_bytes())
        data[-100] ^= 1
        path.write_bytes(data)
        self.assertIn("step-0000000003", in_ranks(2, load_step, self.folder, 2))
        in_ranks(1, load_step, self.folder, 1, "1")
        in_ranks(2, load_step, self.folder, 1, f"{self.folder}/slow/trial/step-0000000001")
        # What is newer than the set that was loaded is of another history.
        in_ranks(2, save_steps, self.folder, 2, 1)
        there = {path.name for path in (self.folder / "slow/trial").iterdir()}
        self.assertLessEqual({"step-0000000001", "step-0000000002", "superseded-step-0000000002",
                              "superseded-step-0000000003"}, there)  # fmt: skip


def save_steps(rank, folder, last, load=None):
    training, step = Training(), 0
    if load is not None:
        step = training.load(stoker.dcp.StorageReader(sections(folder)), str(load))
    with stoker.dcp.StorageWriter(sections(folder)) as writer:
        for each in range(step + 1, last + 1):
            training.go_to(each)
            dcp.save(training.state(), checkpoint_id=f"some/where/{each}", storage_writer=writer)
        assert writer.lost == 0, writer.last_error


def load_step(rank, folder, step, checkpoint_id=None):
    logging.basicConfig()
    reader = stoker.dcp.StorageReader(sections(folder))
    assert Training().load(reader, checkpoint_id) == step, reader.step


def save_beside_training(rank, folder, kind, snapshot):
    training = Training()
    with stoker.dcp.StorageWriter(sections(folder, kind, snapshot=snapshot, keep_last=9)) as writer:
        last = None
        for step in range(1, 6):
            training.go_to(step)
            future = dcp.async_save(training.state(), storage_writer=writer.at(10 * step))
            writer.finish_copy()  # with snapshot: sync there is nothing to do
            training.go_to(-1)  # as the next update does
            if step % 2:
                future.result()
                assert writer.status()["saved_step"] == 10 * step, writer.status()
            elif last is not None:
                last.result()
            last = future
            last.result()
        assert writer.lost == 0, writer.last_error


def check_tens(rank, folder, kind):
    reader, training = stoker.dcp.StorageReader(sections(folder, kind)), Training()
    for step in range(1, 6):
        state = training.state()
        dcp.load(state, checkpoint_id=str(10 * step), storage_reader=reader)
        training.numbers = state["numbers"]
        training.check(step)


@unittest.skipIf(MISSING, MISSING)
class AsynchronousTest(FolderTest):
    def test_what_changes_after_the_copy_is_not_saved(self):
        for kind, snapshot in (("direct", "sync"), ("direct", "async"), ("burst_buffer", "async")):
            with self.subTest(kind=kind, snapshot=snapshot):
                folder = self.folder / f"{kind}-{snapshot}"
                in_ranks(2, save_beside_training, folder, kind, snapshot)
                in_ranks(2, check_tens, folder, kind)


def tells_errors():
    """Whether DCP can tell other ranks of an error: PyTorch 2.6 pickles frames for it, which Python 3.13 does not do."""
    try:
        raise ValueError
    except ValueError as error:
        try:
            return bool(pickle.dumps(_wrap_exception(error)))
        except TypeError:
            return False


def refuse(rank, folder):
    training = Training()
    writer = stoker.dcp.StorageWriter(sections(folder))

    def refused(text, state, **keywords):
        try:
            dcp.save(state, storage_writer=writer, **keywords)
        except BaseException as error:  # noqa: BLE001
            assert text in str(error), error
            return
        raise AssertionError(f"saved in spite of {text}")

    for strange in ("last", str(1 << 63)):
        refused("must be a step, or a path that ends in one such as step-20", training.state(), checkpoint_id=strange)
    dcp.save(training.state(), storage_writer=writer)
    if tells_errors():
        other = {**training.state(), "more": torch.zeros(3)}
        refused("the tensors are not those of the first save", other)
        try:
            dcp.async_save(other, storage_writer=writer.at(7)).result()
            raise AssertionError("saved other tensors")
        except BaseException as error:  # noqa: BLE001
            assert "the tensors are not those of the first save" in str(error), error
    dcp.save(training.state(), storage_writer=writer)
    assert writer.status()["saved"] == 2, writer.status()
    dcp.async_save(training.state(), storage_writer=writer.at(20)).result()
    assert writer.status()["saves_left"] == 0 and writer.status()["saved"] == 3, writer.status()
    writer.close()
    assert writer.status()["saved"] == 3
    try:
        stoker.dcp.StorageWriter(sections(folder, keep_lats=1))
        raise AssertionError("a mistake in the configuration")
    except stoker.Error as error:
        assert "did you mean 'keep_last'" in str(error)


@unittest.skipIf(MISSING, MISSING)
class RefusalTest(FolderTest):
    def test_mistakes_are_said_and_nothing_is_lost(self):
        in_ranks(2, refuse, self.folder)
        in_ranks(1, load_nothing, self.folder / "empty")


def load_nothing(rank, folder):
    reader = stoker.dcp.StorageReader(sections(folder))
    assert reader.newest() is None
    try:
        dcp.load(Training().state(), storage_reader=reader)
    except BaseException:  # noqa: BLE001  DCP's own, in the newer ones
        return
    raise AssertionError("loaded what is not there")


@unittest.skipIf(MISSING, MISSING)
class KillTest(FolderTest):
    """kill -9 of both ranks, in either order, again and again: nothing that was acknowledged is lost, and nothing is torn."""

    def test_by_forks(self):
        for kind in ("direct", "burst_buffer"):
            kills = Kills(self.folder / kind, kind, random.Random(7))
            for _ in range(100 if LONG else 15):
                kills.kill_once()

    def test_under_torchrun_which_starts_the_ranks_again(self):
        program = self.folder / "training.py"
        program.write_text(TORCHRUN)
        done = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=2", program, self.folder],
            env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True, text=True, timeout=240,
            check=False)  # fmt: skip
        if "without libuv support" in done.stderr:
            self.skipTest("torchrun needs a PyTorch with libuv, and Debian's has none")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue((self.folder / "killed").exists())
        self.assertIn("ends at step 12", done.stdout)


TORCHRUN = """
import os, pathlib, signal, sys
import torch.distributed as dist, torch.distributed.checkpoint as dcp
import stoker.dcp
from dcp_ranks import Training, sections
folder = sys.argv[1]
# PyTorch 2.11 gives a rank that is started again the store of the life before, where Gloo finds the addresses of the dead.
store, rank, world = next(dist.rendezvous("env://"))
store = dist.PrefixStore(os.environ["TORCHELASTIC_RESTART_COUNT"], store)
dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
reader, training, step = stoker.dcp.StorageReader(sections(folder)), Training(), 0
if reader.newest() is not None:
    step = training.load(reader)
with stoker.dcp.StorageWriter(sections(folder)) as writer:
    while step < 12:
        step += 1
        training.go_to(step)
        dcp.save(training.state(), checkpoint_id=str(step), storage_writer=writer)
        assert writer.lost == 0, writer.last_error
        if step == 7 and rank == 1 and not pathlib.Path(folder, "killed").exists():
            pathlib.Path(folder, "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
if rank == 0:
    print("ends at step", step)
dist.destroy_process_group()
"""

if __name__ == "__main__":
    unittest.main()
