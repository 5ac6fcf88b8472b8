#!/usr/bin/env python3
"""stoker.load_safetensors: contents bit for bit, files of others, damage, memory, forks, and readings that hang."""
import gc
import importlib.util
import json
import os
import pathlib
import tempfile
import unittest

import numpy

import stoker
from engine import PROGRAM, run_python

HAS_TORCH = importlib.util.find_spec("torch") is not None
NAMES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
         "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL", "complex64": "C64"}


def write(path, tensors, blanks=0):
    """A safetensors file of (name, dtype, shape, bytes). Its data begin at a multiple of 8, and so many bytes behind it."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, dtype, shape, content in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8 + blanks)
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + data)


def rows(arrays):
    return [(name, NAMES[array.dtype.name], list(array.shape), array.tobytes()) for name, array in arrays.items()]


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


class SafetensorsTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        random = numpy.random.default_rng(1)
        self.arrays = {name: random.integers(0, 100, (5, 7)).astype(name) for name in NAMES}
        self.arrays.update(large=random.random((3, 600_000), dtype=numpy.float32), scalar=numpy.array(3.5),
                           none=numpy.zeros((0, 4), numpy.int64))

    def refused(self, text, code, *paths):
        with self.assertRaisesRegex(stoker.Error, text) as caught:
            stoker.load_safetensors(list(paths) if len(paths) > 1 else paths[0])
        self.assertEqual(caught.exception.code, code)

    def same(self, loaded, arrays):
        self.assertEqual(set(loaded), set(arrays))
        for name, array in arrays.items():
            got = numpy.asarray(loaded[name])
            self.assertEqual((loaded[name].shape, got.dtype), (array.shape, array.dtype), name)
            self.assertEqual(got.tobytes(), array.tobytes(), name)
            self.assertTrue(got.flags.aligned, name)

    def test_every_bit_is_that_of_the_file_wherever_its_data_begin(self):
        for blanks in (0, 1, 5, 5000):
            write(self.folder / "f", rows(self.arrays), blanks)
            for access in ("auto", "direct", "buffered"):
                for threads in (0, 1):
                    with self.subTest(blanks=blanks, access=access, threads=threads):
                        self.same(stoker.load_safetensors(self.folder / "f", access=access, threads=threads), self.arrays)

    def test_a_file_may_be_shorter_than_a_block(self):
        write(self.folder / "f", [("w", "U8", [3], b"abc")])
        self.assertEqual(numpy.asarray(stoker.load_safetensors(self.folder / "f")["w"]).tobytes(), b"abc")
        write(self.folder / "f", [])
        self.assertEqual(stoker.load_safetensors(self.folder / "f"), {})

    def test_several_files_and_a_folder_are_one_state(self):
        names = list(self.arrays)
        write(self.folder / "b.safetensors", rows({name: self.arrays[name] for name in names[:4]}))
        write(self.folder / "a.safetensors", rows({name: self.arrays[name] for name in names[4:]}), 3)
        self.same(stoker.load_safetensors(self.folder), self.arrays)
        both = [self.folder / "a.safetensors", os.fspath(self.folder / "b.safetensors")]
        self.same(stoker.load_safetensors(both), self.arrays)
        self.refused("tensor float64 is in another of the files, too", 5, both[1], both[1])

    def test_a_folder_is_what_its_index_names(self):
        def shard(name, **values):
            write(self.folder / name, rows({key: numpy.full(2, value, numpy.float32) for key, value in values.items()}))

        index = self.folder / "model.safetensors.index.json"
        shard("a.safetensors", w=1, b=2)
        shard("b.safetensors", w=9)
        shard("adapter_model.safetensors", lora=3)
        index.write_text('{"weight_map": {"w": "b.safetensors", "b": "a.safetensors"}}')
        expected = {"w": numpy.full(2, 9, numpy.float32), "b": numpy.full(2, 2, numpy.float32)}
        for path in (self.folder, index, [index]):
            self.same(stoker.load_safetensors(path), expected)
        index.write_text('{"weight_map": {"w": "b.safetensors", "v": "a.safetensors"}}')
        self.refused("a.safetensors: it has no tensor v", 5, self.folder)
        index.write_text('{"weight_map": {"w": "gone.safetensors"}}')
        self.refused("gone.safetensors: No such file", 3, self.folder)
        for text, said in (("[", "or it is damaged"), ("{}", "no weight_map"), ('{"weight_map": {"w": "../b"}}', "not the name of a file")):
            index.write_text(text)
            self.refused(said, 5, self.folder)
        index.unlink()
        shard("model.safetensors", w=4)
        self.same(stoker.load_safetensors(self.folder), {"w": numpy.full(2, 4, numpy.float32)})

    def test_what_is_cut_or_damaged_names_file_and_tensor(self):
        path = self.folder / "model.safetensors"
        write(path, rows(self.arrays))
        whole = path.read_bytes()
        path.write_bytes(whole[:-300])
        self.refused(f"{path}: tensor large ends at byte .*: it was cut", 5, path)
        path.write_bytes(whole[:50])
        self.refused(f"{path}: no safetensors file, or cut off", 5, path)
        path.write_bytes(b"")
        self.refused(f"{path}: 0 bytes", 5, path)
        write(path, [("w", "F32", [3], b"12345678")])
        self.refused(f"{path}: tensor w: 8 bytes do not agree with dtype F32 and the shape", 5, path)
        write(path, [("w", "F4", [2], b"1")])
        self.refused("tensor w: its dtype is F4, which this program does not know", 5, path)

    def test_what_is_not_there_is_an_error_of_the_environment(self):
        self.refused(f"open {self.folder}/nothing: No such file or directory", 3, self.folder / "nothing")
        self.refused("neither a set .* nor a folder with safetensors files", 3, self.folder)
        with self.assertRaisesRegex(stoker.Error, "name at least one file"):
            stoker.load_safetensors([])
        with self.assertRaisesRegex(stoker.Error, "access must be auto, direct or buffered"):
            stoker.load_safetensors(self.folder / "f", access="mapped")

    def test_a_set_is_verified_and_its_shards_are_put_together(self):
        others = ("uint16", "uint32", "uint64", "complex64")
        arrays = {name: array for name, array in self.arrays.items() if name not in others}
        for shards in (1, 3):
            config = {"run": {"dir": self.folder / str(shards)}, "checkpoint": {"type": "direct", "shards": shards}}
            with stoker.Checkpointer(config) as saver:
                saver.save(1, model=arrays)
            (found,) = (self.folder / str(shards)).glob("**/step-0000000001")
            self.same(stoker.load_safetensors(found), {f"model.{name}": array for name, array in arrays.items()})
            file = max(found.glob("*.safetensors"), key=lambda path: path.stat().st_size)
            data = bytearray(file.read_bytes())
            data[-100_000] ^= 1
            file.write_bytes(data)
            self.refused(f"{file}: damaged in bytes .* tensor model.large", 5, found)

    def test_memory_goes_with_the_last_tensor(self):
        large = numpy.ones(24 << 20, numpy.float32)
        write(self.folder / "f", rows({"a": large, "b": numpy.ones(3)}))
        del large
        gc.collect()
        before = resident()
        loaded = stoker.load_safetensors(self.folder / "f")
        last = numpy.asarray(loaded["b"])
        self.assertGreater(resident() - before, 80e6)
        del loaded
        gc.collect()
        self.assertGreater(resident() - before, 80e6)  # the tensors of a file share its memory
        self.assertEqual(last.tolist(), [1, 1, 1])
        del last
        gc.collect()
        self.assertLess(resident() - before, 40e6)

    def test_a_forked_child_has_the_tensors_and_loads_its_own(self):
        write(self.folder / "f", rows(self.arrays))
        run_python("""
import os, sys, numpy, warnings
warnings.simplefilter("ignore", DeprecationWarning)
loaded = stoker.load_safetensors(sys.argv[1])
child = os.fork()
if child == 0:
    assert numpy.asarray(loaded["scalar"]) == 3.5
    del loaded
    assert numpy.asarray(stoker.load_safetensors(sys.argv[1])["scalar"]) == 3.5
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert numpy.asarray(loaded["scalar"]) == 3.5
""", self.folder / "f")

    def test_a_type_that_numpy_lacks_is_said(self):
        write(self.folder / "f", [("w", "BF16", [2], b"abcd")])
        loaded = stoker.load_safetensors(self.folder / "f")["w"]
        self.assertEqual((loaded.dtype, loaded.shape), ("bfloat16", (2,)))
        with self.assertRaisesRegex(TypeError, "NumPy has no bfloat16"):
            numpy.asarray(loaded)


class HangTest(unittest.TestCase):

    @unittest.skipUnless(PROGRAM, "the program is not built")
    def test_a_file_system_that_does_not_answer_can_be_given_up(self):
        from stoker_mount import mounted_slowly  # pylint: disable=import-outside-toplevel
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder, "data")
            data.mkdir()
            write(data / "f", [("w", "U8", [3], b"abc")])
            with mounted_slowly(self, data, pathlib.Path(folder)) as place:
                run_python("""
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    stoker.load_safetensors(sys.argv[1])
    raise SystemExit("it came")
except KeyboardInterrupt:
    pass
os._exit(0)  # the call of the system is still under way
""", place / "f")


@unittest.skipUnless(HAS_TORCH, "PyTorch is not here")
class TorchTest(unittest.TestCase):
    PROGRAM = """
import ctypes, json, pathlib, sys, torch
from stoker import _torch
folder, ways = pathlib.Path(sys.argv[1]), {}
names = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
         "U8": torch.uint8, "BOOL": torch.bool}
for key, kind in (("F8_E4M3", "float8_e4m3fn"), ("F8_E5M2", "float8_e5m2")):
    if hasattr(torch, kind):
        names[key] = getattr(torch, kind)
torch.manual_seed(1)
state = {key: torch.randn(40, 50).to(kind) if kind != torch.bool else torch.rand(9) > 0.5 for key, kind in names.items()}
state |= {"large": torch.randn(5_000_000), "scalar": torch.tensor(2.5), "none": torch.zeros(0, 3)}
for blanks in (0, 3):
    header, data = {}, b""
    for name, tensor in state.items():
        content = ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()) if tensor.numel() else b""
        kind = next(key for key, value in names.items() if value == tensor.dtype)
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8 + blanks)
    (folder / "f").write_bytes(len(text).to_bytes(8, "little") + text + data)
    ways[f"here {blanks}"] = stoker.load_safetensors(folder / "f")
    ways[f"device {blanks}"] = stoker.load_safetensors(folder / "f", device="cpu", access="buffered")
    # What a GPU gets, through a ring that is smaller than the file.
    ways[f"ring {blanks}"] = _torch._through_ring([str(folder / "f")], torch.device("cpu"), 3, "direct", 8 << 20)
for way, loaded in ways.items():
    assert set(loaded) == set(state), way
    for name, tensor in state.items():
        got = loaded[name]
        assert (got.dtype, got.shape) == (tensor.dtype, tensor.shape), (way, name, got.dtype, got.shape)
        bits = [some.reshape(-1).view(torch.uint8) for some in (got, tensor)]
        assert torch.equal(*bits), (way, name)
loaded = ways["here 0"]
loaded["large"].add_(1)  # it is nobody else's
assert torch.equal(loaded["large"], state["large"] + 1)
"""

    def test_every_type_of_pytorch_s_comes_bit_for_bit(self):
        with tempfile.TemporaryDirectory() as folder:
            run_python(self.PROGRAM, folder)

    def test_a_set_passes_by_the_ring(self):
        with tempfile.TemporaryDirectory() as folder:
            run_python("""
import sys, torch, pathlib
from stoker import _torch
state = {"a": torch.randn(3000, 7), "b": torch.arange(5)}
with stoker.Checkpointer({"run": {"dir": sys.argv[1]}, "checkpoint": {"type": "direct", "shards": 2}}) as saver:
    saver.save(1, model=state)
(found,) = pathlib.Path(sys.argv[1]).glob("**/step-0000000001")
for loaded in (stoker.load_safetensors(found), _torch._through_ring([str(found)], torch.device("cpu"), 2, "auto", 8 << 20)):
    assert set(loaded) == {"model.a", "model.b"}
    assert torch.equal(loaded["model.a"], state["a"]) and torch.equal(loaded["model.b"], state["b"])
""", folder)


if __name__ == "__main__":
    unittest.main()
