#!/usr/bin/env python3
"""stoker.Checkpointer: states of NumPy, PyTorch and plain values, on one tier or two, and what is refused."""
import collections
import importlib.util
import logging
import pathlib
import random
import shutil
import tempfile
import unittest

import numpy

import stoker
from engine import config, run_python

HAS_TORCH = importlib.util.find_spec("torch") is not None


class CheckpointerTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def config(self, **checkpoint):
        return {"run": {"name": "trial", "dir": self.folder}, "checkpoint": {"type": "direct", **checkpoint}}

    def test_what_was_saved_comes_back(self):
        state = {"a": numpy.arange(10, dtype=numpy.float32).reshape(2, 5), "scalar": numpy.array(3.5),
                 "deep": [{"bits": numpy.array([True, False])}, numpy.array([], dtype=numpy.int16)]}
        values = {"lr": 0.1, "betas": (0.9, 0.999), "inf": float("inf"), 7: None, "text": "ä", "flag": True}
        for kind in ("direct", "burst_buffer"):
            for snapshot in ("sync", "async"):
                with self.subTest(kind=kind, snapshot=snapshot):
                    sections = self.config(type=kind, snapshot=snapshot, directory=kind + snapshot)
                    with stoker.Checkpointer(sections) as saver:
                        self.assertIsNone(saver.load())
                        self.assertTrue(saver.save(3, model=state, values=values, rng=random.getstate()))
                        saver.finish_copy()
                        saver.flush()
                        self.assertEqual(saver.status()["durable_step"], 3)
                    with stoker.Checkpointer(sections) as saver:
                        loaded = saver.load()
                        self.assertEqual(loaded.step, 3)
                        self.assertEqual(loaded.state["values"], values)
                        random.setstate(loaded.state["rng"])
                        numpy.testing.assert_array_equal(loaded.state["model"]["a"], state["a"])
                        self.assertEqual(loaded.state["model"]["scalar"].shape, ())
                        self.assertEqual(loaded.state["model"]["deep"][0]["bits"].dtype, numpy.bool_)
                        target = {"a": numpy.zeros((2, 5), numpy.float32), "scalar": numpy.zeros(()),
                                  "deep": [{"bits": numpy.zeros(2, numpy.bool_)}, numpy.zeros(0, numpy.int16)]}
                        memory, others = target["a"], {}
                        self.assertEqual(saver.restore(model=target, values=others), 3)
                        numpy.testing.assert_array_equal(memory, state["a"])
                        self.assertEqual(others, values)

    def test_a_state_goes_through_memory_that_is_less_than_it(self):
        for snapshot in ("sync", "async"):
            with self.subTest(snapshot):
                sections = self.config(snapshot=snapshot, staging_memory="64MiB", shards=3, directory=snapshot)
                model = {"large": numpy.arange(15_000_000), "small": numpy.arange(3)}
                with stoker.Checkpointer(sections) as saver:
                    for step in (1, 2):
                        model["large"] += 1
                        self.assertTrue(saver.save(step, model=model))
                        saver.finish_copy()
                        model["small"] += 1
                    saver.flush()
                with stoker.Checkpointer(sections) as saver:
                    loaded = saver.load()
                    self.assertEqual(loaded.step, 2)
                    numpy.testing.assert_array_equal(loaded.state["model"]["large"], model["large"])
                    self.assertEqual(loaded.state["model"]["small"].tolist(), [1, 2, 3])

    def test_the_newest_set_counts_or_the_one_that_is_named(self):
        with stoker.Checkpointer(self.config(keep_last=2)) as saver:
            for step in (1, 2, 3):
                saver.save(step, model={"a": numpy.full(4, step)})
        with stoker.Checkpointer(self.config()) as saver:
            self.assertEqual(saver.load().state["model"]["a"].tolist(), [3] * 4)
            older = pathlib.Path(saver.load().path).parent / "step-0000000002"
            self.assertEqual(saver.load(older).state["model"]["a"].tolist(), [2] * 4)
            self.assertFalse((older.parent / "step-0000000001").exists())
            with self.assertRaises(stoker.Error):
                saver.load(self.folder / "nothing")

    def test_a_damaged_set_is_set_aside_and_named(self):
        with stoker.Checkpointer(self.config()) as saver:
            saver.save(1, model={"a": numpy.zeros(5000)})
            saver.save(2, model={"a": numpy.ones(5000)})
        (file,) = self.folder.glob("**/step-0000000002/*.safetensors")
        data = bytearray(file.read_bytes())
        data[-100] ^= 1
        file.write_bytes(data)
        with stoker.Checkpointer(self.config()) as saver, self.assertLogs("stoker", logging.WARNING) as logs:
            self.assertEqual(saver.load().step, 1)
        self.assertIn("step-0000000002", logs.output[0])

    def test_the_loader_s_position_is_a_part(self):
        with stoker.Loader(config()) as loader, stoker.Checkpointer(self.config()) as saver:
            iteration = iter(loader)
            for _ in range(4):
                next(iteration)
            saver.save(4, loader=loader)
            expected = [batch.digest for batch in iteration]
        with stoker.Loader(config()) as loader, stoker.Checkpointer(self.config()) as saver:
            self.assertEqual(saver.restore(loader=loader), 4)
            self.assertEqual([batch.digest for batch in loader], expected)

    def test_safetensors_and_the_program_read_the_sets(self):
        with stoker.Checkpointer(self.config()) as saver:
            saver.save(1, model={"a": numpy.arange(3, dtype=numpy.int32)})
        (file,) = self.folder.glob("**/step-0000000001/*.safetensors")
        header_bytes = int.from_bytes(file.read_bytes()[:8], "little")
        self.assertIn(b'"model.a"', file.read_bytes()[8:8 + header_bytes])
        self.assertEqual(numpy.frombuffer(file.read_bytes()[8 + header_bytes:][:12], numpy.int32).tolist(), [0, 1, 2])

    def test_another_list_of_tensors_is_refused(self):
        with stoker.Checkpointer(self.config()) as saver:
            saver.save(1, model={"a": numpy.zeros(2), "b": numpy.zeros(3)})
            for model, text in (({"a": numpy.zeros(2)}, "'model.b' is missing"),
                                ({"a": numpy.zeros(2), "b": numpy.zeros(3), "c": numpy.zeros(1)}, "'model.c' is new"),
                                ({"b": numpy.zeros(3), "a": numpy.zeros(2)}, "their order is another"),
                                ({"a": numpy.zeros(2), "b": numpy.zeros(4)}, "tensor 'model.b': its shape or type")):
                with self.subTest(text), self.assertRaisesRegex(stoker.Error, text):
                    saver.save(2, model=model)
            self.assertTrue(saver.save(2, model={"a": numpy.ones(2), "b": numpy.ones(3)}))

    def test_a_step_is_a_whole_number_from_0_on(self):
        with stoker.Checkpointer(self.config()) as saver:
            for step in (-1, 1 << 63, 1.5, True, "1", None):
                with self.subTest(step), self.assertRaisesRegex(stoker.Error, "^step must be a whole number from 0 on, got "):
                    saver.save(step, model={"w": numpy.zeros(3)})
            self.assertTrue(saver.save(numpy.int64(3), model={"w": numpy.zeros(3)}))
            self.assertTrue(saver.save(3, model={"w": numpy.ones(3)}))  # in the place of that one
            saver.flush()
        restored = {"w": numpy.zeros(3)}
        with stoker.Checkpointer(self.config()) as saver:
            self.assertEqual(saver.restore(model=restored), 3)
        self.assertEqual(restored["w"].tolist(), [1, 1, 1])

    def test_what_a_set_can_not_hold_is_refused(self):
        deep = []
        for _ in range(300):
            deep = [deep]
        cases = (({"values": {"f": print}}, "values.f: a checkpoint cannot hold a builtins.builtin_function"),
                 ({"values": {"c": numpy.zeros(2, object)}}, "values.c: a checkpoint cannot hold a NumPy array of object"),
                 ({"values": {"p": collections.namedtuple("Point", "x")(1)}}, "values.p: a checkpoint cannot hold a .*Point"),
                 ({"values": {"k": {frozenset(): 1}}}, "values.k: a key: a checkpoint cannot hold a builtins.frozenset"),
                 ({"values": collections.defaultdict(lambda: 1)}, "values: a checkpoint cannot hold the function"),
                 ({"values": "\ud800"}, "values: a checkpoint cannot hold a builtins.str"),
                 ({"values": deep}, "at most 200 containers within each other"),
                 ({"values": "x" * (129 << 20)}, "make tensors of large values"))
        with stoker.Checkpointer(self.config()) as saver:
            for parts, text in cases:
                with self.subTest(text), self.assertRaisesRegex(stoker.Error, text):
                    saver.save(1, **parts)

    def test_every_value_comes_back_as_torch_save_gives_it_back(self):
        run_python("""
import collections, io, random, tempfile
import numpy
torch = None
try:
    import torch
except ImportError:
    pass
import stoker

rng = random.Random(1)
scalars = [lambda: rng.randint(-9, 9), lambda: rng.getrandbits(200) - (1 << 199), lambda: rng.gauss(0, 1), lambda: -0.0,
           lambda: float("inf"), lambda: True, lambda: None, lambda: "a.b$ä\\n" + chr(rng.randint(1, 999)),
           lambda: numpy.float32(rng.random()), lambda: numpy.int8(rng.randint(-9, 9)), lambda: numpy.bool_(True)]
arrays = [lambda: numpy.frombuffer(rng.randbytes(24), numpy.int16).reshape(3, 4), lambda: numpy.array([1 + 2j], numpy.complex64),
          lambda: numpy.arange(6, dtype=">f4").reshape(2, 3).T, lambda: numpy.array(7, numpy.uint64), lambda: numpy.zeros((0, 2))]
if torch:
    arrays = [lambda: torch._neg_view(torch.tensor([rng.random()])), lambda: torch.tensor([1 + 2j]).conj(), lambda: torch.ones(2, 3).T,
              lambda: torch.ones(1).expand(3), lambda: torch.tensor(True), lambda: torch.zeros(0, 2, dtype=torch.int8),
              lambda: torch.rand(3).bfloat16(), lambda: torch.tensor([1j], dtype=torch.complex128)[0].imag]
    scalars.append(lambda: torch.Size([2, 3]))
keys = [lambda: rng.randint(0, 3), lambda: str(rng.randint(0, 3)), lambda: f"{rng.randint(0, 3)}.{rng.randint(0, 3)}", lambda: "$items",
        lambda: (1, "a"), lambda: "", lambda: 1.5, lambda: None]

def make(level):
    kind = rng.randrange(8) if level < 5 else rng.randrange(2)
    some = range(rng.randint(0, 4))
    if kind == 0: return rng.choice(scalars)()
    if kind == 1: return rng.choice(arrays)()
    if kind == 2: return [make(level + 1) for _ in some]
    if kind == 3: return tuple(make(level + 1) for _ in some)
    into = [{}, collections.OrderedDict(), collections.Counter(), collections.defaultdict(list)][kind - 4]
    for _ in some: into[rng.choice(keys)()] = make(level + 1)
    if kind == 5: into._metadata = {"": {"version": 1}}
    return into

def same(a, b):
    if torch and isinstance(a, torch.Tensor):
        return type(b) is torch.Tensor and a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    if isinstance(a, numpy.ndarray):
        return a.dtype.name == b.dtype.name and a.shape == b.shape and bool((a == b).all())
    if type(a) is not type(b): return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        known = getattr(a, "__dict__", {}) == getattr(b, "__dict__", {}) and getattr(a, "default_factory", 0) == getattr(b, "default_factory", 0)
        return known and [repr(key) for key in a] == [repr(key) for key in b] and all(same(a[key], b[key]) for key in a)
    return repr(a) == repr(b)

states = [make(0) for _ in range(150 if LONG else 40)]
deep = []
for _ in range(150): deep = [deep]
states += [deep, [1] * 1_000_001, {"a": [arrays[0]()], "a.0": arrays[0]()}]
sections = {"run": {"dir": tempfile.mkdtemp()}, "checkpoint": {"type": "direct"}}
with stoker.Checkpointer(sections) as saver:
    saver.save(1, x=states)
with stoker.Checkpointer(sections) as saver:
    came = saver.load().state["x"]
if torch and int(torch.__version__.split(".")[0]) > 1:  # 1.13's own loses the conj bit
    file = io.BytesIO()
    torch.save(states, file)
    file.seek(0)
    states = torch.load(file, weights_only=False)
for place, (a, b) in enumerate(zip(states, came)):
    assert same(a, b), place
assert len(states) == len(came)
""")

    def test_targets_that_do_not_fit_are_refused_and_keep_their_values(self):
        with stoker.Checkpointer(self.config()) as saver:
            saver.save(1, model={"a": numpy.ones((2, 3))})
        strided = numpy.zeros((2, 6))[:, ::2]
        cases = (({"model": {"a": strided}}, "contiguous, in C order"),
                 ({"model": {"a": numpy.zeros((3, 2))}}, "is \\(2, 3\\) in the set, and \\(3, 2\\)"),
                 ({"model": {"a": numpy.zeros((2, 3), numpy.float32)}}, "48 bytes of F64"),
                 ({"model": {}}, "there is no tensor for it in model"),
                 ({"other": {}}, "the set has no 'other': it has model"))
        with stoker.Checkpointer(self.config()) as saver:
            for parts, text in cases:
                with self.subTest(text), self.assertRaisesRegex(stoker.Error, text):
                    saver.restore(**parts)
        self.assertEqual(strided.sum(), 0)

    def test_the_configuration_is_checked(self):
        for checkpoint, text in (({"snapshot": "swap"}, "set checkpoint.snapshot=async"),
                                 ({"type": "none"}, "must not be none here"),
                                 ({"keep_lats": 1}, "did you mean 'keep_last'"),
                                 ({"slow": "nowhere"}, "names no tier under storage")):
            with self.subTest(text), self.assertRaisesRegex(stoker.Error, text):
                stoker.Checkpointer(self.config(**checkpoint))

    def test_a_tier_that_fails_is_said_by_flush(self):
        sections = self.config(slow="slow")
        sections["storage"] = {"slow": {"type": "posix", "root": self.folder / "slow"}}
        saver = stoker.Checkpointer(sections)
        saver.save(1, model={"a": numpy.zeros(2)})
        shutil.rmtree(self.folder / "slow")
        (self.folder / "slow").write_text("no folder")
        with self.assertLogs("stoker", logging.WARNING) as logs:
            saver.save(2, model={"a": numpy.zeros(2)})
            self.assertEqual(saver.status()["failed"], 1)
            with self.assertRaises(stoker.Error) as caught:
                saver.close()
        self.assertEqual(caught.exception.code, 5)
        self.assertIn("checkpoint of step 2 failed on tier 'slow'", logs.output[0])

    def test_a_save_has_no_more_memory_than_staging_memory_allows(self):
        run_python("""
import re, sys, numpy
def kib(what):
    return int(re.search(rf"^{what}:\\s+(\\d+) kB", open("/proc/self/status").read(), re.M).group(1))
state = {str(i): numpy.arange(i, i + (8 << 20)) for i in range(6)}                    # 384 MiB
before = kib("VmRSS")
assert kib("VmHWM") - before < 8 << 10, "the peak is that of something before the save"
saver = stoker.Checkpointer({"run": {"dir": sys.argv[1]}, "checkpoint": {
    "type": "direct", "snapshot": "async", "staging_memory": "96MiB", "durability": "none"}})
for step in (1, 2):
    saver.save(step, state=state)
    saver.finish_copy()
    for array in state.values():
        array += 1
saver.close()
more = kib("VmHWM") - before
assert 64 << 10 < more < 1.1 * (96 << 10), f"{more} KiB beside the state"
loaded = stoker.Checkpointer({"run": {"dir": sys.argv[1]}, "checkpoint": {"type": "direct"}}).load()
assert loaded.step == 2 and all((loaded.state["state"][name] == array - 1).all() for name, array in state.items())
""", self.folder)

    def test_a_forked_child_raises_and_ends(self):
        run_python("""
import os, sys, tempfile, numpy, warnings
warnings.simplefilter("ignore", DeprecationWarning)
saver = stoker.Checkpointer({"run": {"dir": tempfile.mkdtemp()}, "checkpoint": {"type": "burst_buffer"}})
saver.save(1, model={"a": numpy.zeros(2)})
child = os.fork()
if child == 0:
    try:
        saver.save(2, model={"a": numpy.zeros(2)})
    except stoker.Error as error:
        assert "before the fork" in str(error)
        sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
saver.save(2, model={"a": numpy.zeros(2)})
saver.close()
""")


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class TorchTest(unittest.TestCase):

    def test_a_training_goes_on_as_if_it_had_not_ended(self):
        run_python("""
import tempfile, torch
folder = tempfile.mkdtemp()

def make():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Flatten(), torch.nn.Linear(288, 4))
    model[0].to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2)

def train(model, optimizer, schedule, first, last, saver=None):
    losses = []
    for step in range(first, last):
        generator = torch.Generator().manual_seed(step)
        loss = model(torch.randn(4, 3, 8, 8, generator=generator)).square().mean()
        loss.backward()
        if saver is not None:
            saver.finish_copy()
        optimizer.step(); schedule.step(); optimizer.zero_grad()
        losses.append(loss.item())
        if saver is not None:
            saver.save(step + 1, model=model, optimizer=optimizer, schedule=schedule, rng={"torch": torch.get_rng_state()})
    return losses

sections = {"run": {"dir": folder}, "checkpoint": {"type": "burst_buffer", "snapshot": "async"}}
expected = train(*make(), 0, 8)
with stoker.Checkpointer(sections) as saver:
    assert train(*make(), 0, 4, saver) == expected[:4]
model, optimizer, schedule = make()
with torch.no_grad():
    for parameter in model.parameters():
        parameter.zero_()
with stoker.Checkpointer(sections) as saver:
    names = [row[0] for row in saver._load(None).tensors]
    assert "optimizer.0.weight.exp_avg" in names and "model.1.running_mean" in names, names
    rng = {"torch": torch.get_rng_state()}
    assert saver.restore(model=model, optimizer=optimizer, schedule=schedule, rng=rng) == 4
    assert train(model, optimizer, schedule, 4, 8) == expected[4:]
bare = torch.nn.Linear(2, 2)
try:
    stoker.Checkpointer(sections).restore(optimizer=torch.optim.AdamW(bare.parameters()).state_dict())
    raise SystemExit("restored into a dict that nobody has")
except stoker.Error as error:
    assert "give the object itself" in str(error), error
""")


if __name__ == "__main__":
    unittest.main()
