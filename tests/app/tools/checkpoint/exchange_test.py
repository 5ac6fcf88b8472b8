#!/usr/bin/env python3
"""`stoker checkpoint diff`, `export` and `import` beside the libraries whose files they are: torch, and safetensors in an
environment of its own. transformers' shards are read as it reads them, file by file of the index."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import unittest
import zipfile

from checkpointed_run import TwelveSteps
from stoker import StokerTest, environment, long

try:
    import torch
except ImportError:
    sys.exit("FAILED: this Python has no torch: install Debian's package python3-torch")

DAMAGED, MISSED = 5, 7
# What safetensors' own reader finds in files: bytes by name, as Python's repr of (type, shape, hex). And its writer.
READ = """
import json, sys
from safetensors import safe_open
found = {}
for path in sys.argv[1:]:
    with safe_open(path, "numpy") as file:
        assert file.metadata() == {"format": "pt"}, file.metadata()
        for name in file.keys():
            tensor = file.get_tensor(name)
            found[name] = (str(tensor.dtype), tensor.shape, tensor.tobytes().hex())
print(json.dumps(found))
"""
WRITE = """
import sys, numpy as np
from safetensors.numpy import save_file
save_file({"weight": np.arange(6, dtype="f4").reshape(2, 3), "steps": np.array(7), "none": np.zeros((0, 2), "f2")}, sys.argv[1],
          metadata={"format": "pt"})
"""
NUMPY = {torch.float64: "float64", torch.float32: "float32", torch.float16: "float16", torch.int64: "int64", torch.int32: "int32",
         torch.int16: "int16", torch.int8: "int8", torch.uint8: "uint8", torch.bool: "bool"}


def raw(tensor):
    """Its bytes in row-major order. (Not by NumPy, which need not be one that this torch goes with.)"""
    return bytes(tensor.detach().contiguous().flatten().view(torch.uint8).tolist())


def states():
    """A state dict of everything that one may have: all types, views that share and turn a storage, a parameter."""
    torch.manual_seed(3)
    shared = torch.randn(64)
    state = collections.OrderedDict((str(kind).replace(".", "_"), torch.arange(6).reshape(2, 3).to(kind)) for kind in NUMPY)
    state.update({"turned": torch.randn(5, 7).t(), "last": torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
                  "first": shared[:40].view(8, 5), "second": shared[8:], "scalar": torch.tensor(2.5), "none": torch.zeros(0, 3),
                  "brain": torch.randn(11).to(torch.bfloat16), "parameter": torch.nn.Parameter(torch.randn(3)),
                  "large": torch.randn(70000)})
    return state


def evil():
    class Evil:
        def __reduce__(self):
            return os.system, ("touch evil",)
    return {"weight": torch.zeros(2), "extra": Evil()}


class Exchange(StokerTest):
    def checkpoint(self, *arguments, **options):
        return self.stoker("checkpoint", *arguments, **options)

    def save(self, value, name="model.pt", **options):
        torch.save(value, self.dir / name, **options)
        return name

    def equal(self, found, state):
        self.assertEqual(list(found), list(state))
        for name, tensor in state.items():
            self.assertEqual(found[name].dtype, tensor.dtype, name)
            self.assertEqual(found[name].shape, tensor.shape, name)
            self.assertTrue(torch.equal(found[name], tensor), name)

    def by_safetensors(self, *files):
        done = subprocess.run([environment("numpy", "safetensors"), "-c", READ, *files], cwd=self.dir, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_safetensors(self, state, *files):
        found = self.by_safetensors(*files)
        self.assertEqual(sorted(found), sorted(state))
        for name, tensor in state.items():
            kind, shape, data = found[name]
            self.assertEqual((kind, shape, data), (NUMPY[tensor.dtype], list(tensor.shape), raw(tensor).hex()), name)


class Torch(Exchange):
    def test_what_torch_saved_comes_back_bit_for_bit(self):
        state = states()
        self.save(state)
        self.checkpoint("export", "model.pt", "out.pt")
        self.equal(torch.load(self.dir / "out.pt", weights_only=True), {name: tensor.detach() for name, tensor in state.items()})
        if "mmap" in torch.load.__code__.co_varnames:
            mapped = torch.load(self.dir / "out.pt", weights_only=True, mmap=True)
            self.assertTrue(all(tensor.data_ptr() % 64 == 0 for tensor in mapped.values() if tensor.numel()))
        with zipfile.ZipFile(self.dir / "out.pt") as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual({entry.compress_type for entry in archive.infolist()}, {zipfile.ZIP_STORED})
        self.assertIn("bit-identical: nothing was trained between them", self.checkpoint("diff", "model.pt", "out.pt").stdout)

    def test_the_state_of_a_module_and_of_an_optimizer(self):
        module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 2))
        optimizer = torch.optim.AdamW(module.parameters())
        module(torch.randn(2, 3, 6, 6)).sum().backward()
        optimizer.step()
        self.save({"model": module.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "loss": 0.5})
        done = self.checkpoint("export", "model.pt", "out.pt", "--json")
        found = torch.load(self.dir / "out.pt", weights_only=True)
        for name, tensor in module.state_dict().items():
            self.assertTrue(torch.equal(found[f"model.{name}"], tensor), name)
        self.assertTrue(torch.equal(found["optimizer.state.0.exp_avg"], optimizer.state_dict()["state"][0]["exp_avg"]))
        left = json.loads(done.stdout)["left_out"]
        self.assertTrue({"epoch", "loss", "optimizer.param_groups.0.lr"} <= set(left), left)

    def test_safetensors_reads_what_is_exported(self):
        state = states()
        self.save(state)
        self.checkpoint("export", "model.pt", "out.safetensors")
        found = {name: tensor for name, tensor in state.items() if name != "brain"}
        self.checkpoint("diff", "model.pt", "out.safetensors", "--tolerance", 0)
        del state["brain"]  # NumPy has no such type, so its reader refuses the file
        self.save(state, "plain.pt")
        self.checkpoint("export", "plain.pt", "plain.safetensors")
        self.check_safetensors(found, "plain.safetensors")

    @long
    def test_shards_have_transformers_names_and_index(self):
        state = states()
        del state["brain"]
        self.save(state)
        (self.dir / "hub").mkdir()
        files = json.loads(self.checkpoint("export", "model.pt", "hub", "--max-shard", "4KiB", "--json").stdout)["files"]
        index = json.loads((self.dir / "hub/model.safetensors.index.json").read_text())
        shards = sorted(set(index["weight_map"].values()))
        self.assertEqual(sorted(files), sorted(f"hub/{name}" for name in [*shards, "model.safetensors.index.json"]))
        self.assertEqual(shards, [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))])
        self.assertEqual(index["metadata"]["total_size"], sum(tensor.numel() * tensor.element_size() for tensor in state.values()))
        self.check_safetensors(state, *(f"hub/{name}" for name in shards))
        for name, file in index["weight_map"].items():
            self.assertIn(name, self.by_safetensors(f"hub/{file}"))
        self.assertIn("bit-identical", self.checkpoint("diff", "hub", "model.pt").stdout)

    def test_what_safetensors_wrote_is_imported(self):
        subprocess.run([environment("numpy", "safetensors"), "-c", WRITE, "in.safetensors"], cwd=self.dir, check=True)
        self.checkpoint("import", "in.safetensors", "sets", "--step", 4)
        self.checkpoint("verify", "sets")
        self.checkpoint("export", "sets/step-0000000004", "out.pt")
        found = torch.load(self.dir / "out.pt", weights_only=True)
        self.assertTrue(torch.equal(found["weight"], torch.arange(6.0).reshape(2, 3)))
        self.assertEqual((found["steps"].item(), found["none"].shape), (7, (0, 2)))

    def test_a_set_of_an_import_verifies_and_has_the_networks_names_in_an_export(self):
        state = {name: tensor.detach() for name, tensor in states().items()}
        self.save(state)
        done = self.checkpoint("import", "model.pt", "sets")
        self.assertIn("no run goes on from it", done.stdout)
        self.assertIn("intact", self.checkpoint("verify", "sets").stdout)
        self.assertIn("bit-identical", self.checkpoint("diff", "sets/step-0000000000", "model.pt").stdout)
        self.checkpoint("export", "sets/step-0000000000", "out.pt")
        found = torch.load(self.dir / "out.pt", weights_only=True)
        self.equal({name: found[name] for name in state}, state)
        self.assertIn("is there already", self.checkpoint("import", "model.pt", "sets", code=2).stderr)
        self.assertIn("is there already", self.checkpoint("export", "model.pt", "out.pt", code=2).stderr)


class Diff(Exchange):
    @long
    def test_how_far_a_step_of_training_moves(self):
        state = states()
        self.save(state)
        state["large"] = state["large"].clone()
        state["large"][7] += 0.25
        del state["scalar"]
        self.save(state, "later.pt")
        result = json.loads(self.checkpoint("diff", "model.pt", "later.pt", "--json").stdout)
        self.assertFalse(result["identical"])
        large, scalar = sorted(result["differences"], key=lambda row: row["tensor"])
        self.assertEqual((large["tensor"], large["elements"], large["different"]), ("large", 70000, 1))
        self.assertAlmostEqual(large["largest"], 0.25, delta=1e-6)
        self.assertEqual((scalar["tensor"], scalar["what"]), ("scalar", "only in A"))
        self.checkpoint("diff", "model.pt", "later.pt", "--tolerance", "1", code=MISSED)

    def test_a_tolerance(self):
        self.save({"w": torch.tensor([1.0, 2.0])})
        self.save({"w": torch.tensor([1.0, 2.5])}, "later.pt")
        self.assertIn("nothing differs by more than 0.5", self.checkpoint("diff", "model.pt", "later.pt", "--tolerance", "0.5").stdout)
        done = self.checkpoint("diff", "model.pt", "later.pt", "--tolerance", "0.4", code=MISSED)
        self.assertIn("they differ by more than 0.4", done.stdout)
        self.checkpoint("diff", "model.pt", "later.pt")


class Hostile(Exchange):
    def refused(self, *arguments, code=DAMAGED):
        said = self.checkpoint(*arguments, code=code).stderr
        self.assertTrue(said.startswith("error: "), said)
        return said

    def test_a_pickle_that_would_run_something_runs_nothing(self):
        self.save(evil())
        for arguments in [("diff", "model.pt", "model.pt"), ("export", "model.pt", "out.pt"), ("import", "model.pt", "sets")]:
            said = self.refused(*arguments)
            self.assertRegex(said, r"model\.pt: data\.pkl: the pickle asks for (posix|os)\.system")
        self.assertEqual(sorted(path.name for path in self.dir.iterdir()), ["model.pt", "trial.yaml"])

    def test_other_files_of_torch_are_named(self):
        self.save({"w": torch.zeros(2)}, _use_new_zipfile_serialization=False)
        self.assertIn("before PyTorch 1.6", self.refused("export", "model.pt", "out.pt"))
        self.save(torch.nn.Linear(2, 2))
        self.assertIn("asks for torch.nn.modules.linear.Linear", self.refused("export", "model.pt", "out.pt"))
        self.save(torch.zeros(3))
        self.assertIn("no state dict", self.refused("export", "model.pt", "out.pt"))
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), str(self.dir / "model.pt"))
        self.refused("export", "model.pt", "out.pt")

    def test_compressed_truncated_and_changed_files_are_refused(self):
        self.save(states())
        whole = (self.dir / "model.pt").read_bytes()
        with zipfile.ZipFile(self.dir / "model.pt") as there, zipfile.ZipFile(self.dir / "packed.pt", "w", zipfile.ZIP_DEFLATED) as packed:
            for entry in there.infolist():
                packed.writestr(entry.filename, there.read(entry))
        self.assertIn("is compressed (method 8)", self.refused("export", "packed.pt", "out.pt"))
        for size in (0, 10, 1000, len(whole) // 2, len(whole) - 1):
            (self.dir / "cut.pt").write_bytes(whole[:size])
            self.refused("export", "cut.pt", "out.pt")
        at = whole.index(raw(states()["large"])) + 1000
        (self.dir / "changed.pt").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        self.assertIn("tensor large is damaged (CRC-32 ", self.refused("export", "changed.pt", "out.safetensors"))
        self.assertFalse((self.dir / "out.safetensors").exists())
        at = whole.index(b"large")
        (self.dir / "renamed.pt").write_bytes(whole[:at] + b"Large" + whole[at + 5:])
        self.assertIn("data.pkl is damaged (CRC-32 ", self.refused("export", "renamed.pt", "out.safetensors"))

    def test_a_file_that_was_saved_without_sums_is_read(self):
        state = {name: tensor.detach() for name, tensor in states().items()}
        self.save(state)
        whole = (self.dir / "model.pt").read_bytes()
        with zipfile.ZipFile(self.dir / "model.pt") as archive:
            for sum_of in {entry.CRC for entry in archive.infolist()}:  # as torch.serialization.set_crc32_options(False) has it
                whole = whole.replace(sum_of.to_bytes(4, "little"), bytes(4))
        (self.dir / "plain.pt").write_bytes(whole)
        self.checkpoint("export", "plain.pt", "out.pt")
        self.equal(torch.load(self.dir / "out.pt", weights_only=True), state)

    def test_slices_of_ranks_are_named(self):
        self.save({"w[0:2,0:1]": torch.zeros(2, 1), "w[0:2,1:2]": torch.zeros(2, 1), "list[0]": torch.zeros(1)})
        self.assertIn("in slices, as ranks had them: 2 (w[0:2,0:1], ...); stoker.dcp.export joins them",
                      self.checkpoint("export", "model.pt", "out.pt").stdout)

    def test_usage(self):
        self.save({"w": torch.zeros(2)})
        self.assertIn("End its name with .safetensors", self.refused("export", "model.pt", "out.txt", code=2))
        self.assertIn("--max-shard is for safetensors", self.refused("export", "model.pt", "o.pt", "--max-shard", "1KiB", code=2))
        self.assertIn("No such file", self.refused("export", "absent.pt", "out.pt", code=3))


class Resume(TwelveSteps):
    def checkpoint(self, *arguments, code=0):
        return self.trial.stoker("checkpoint", *arguments, code=code)

    def test_a_run_goes_on_from_weights_that_were_changed_in_python(self):
        ours = self.trial.set_path("slow", 12)
        model = self.trial.dir / "model.pt"
        self.checkpoint("export", ours, model)
        state = torch.load(model, weights_only=True)
        self.assertEqual(sorted(state), ["fc.bias", "fc.weight"])
        self.assertIn("by the names that the network has", self.checkpoint("diff", ours, model).stdout)
        torch.save({name: tensor * 0.5 for name, tensor in state.items()}, model)
        self.checkpoint("import", model, "imported", "--like", ours)
        there = pathlib.Path(self.trial.dir, "imported/step-0000000012")
        result = json.loads(self.checkpoint("diff", ours, there, "--json").stdout)
        self.assertEqual([row["tensor"] for row in result["differences"]], ["model.fc.bias", "model.fc.weight"])
        resumed = self.trial.train(f"checkpoint.resume={there}", "training.max_steps=14", "run.name=other")
        self.assertEqual(resumed.resumed_step, 12)

    @long
    def test_all_tensors_go_there_and_back(self):
        ours = self.trial.set_path("slow", 10)
        for name in ("all.safetensors", "all.pt"):
            self.checkpoint("export", ours, name, "--all")
            self.assertIn("bit-identical", self.checkpoint("diff", ours, name).stdout)
        self.checkpoint("import", "all.pt", "back", "--all", "--like", ours)
        self.assertIn("bit-identical", self.checkpoint("diff", ours, "back/step-0000000010").stdout)
        losses = [self.trial.train(f"checkpoint.resume={path}", f"checkpoint.directory={name}", "training.max_steps=12").losses()
                  for name, path in (("a", ours), ("b", self.trial.dir / "back/step-0000000010"))]
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(sorted(losses[0]), [11, 12])

    def test_what_cannot_be_resumed_says_what_to_do(self):
        self.checkpoint("export", self.trial.set_path("slow", 12), "model.pt")
        self.checkpoint("import", "model.pt", "imported")
        process = self.trial.train(f"checkpoint.resume={self.trial.dir}/imported/step-0000000000", "run.name=other", code=2)
        self.assertIn("import it anew with `stoker checkpoint import --like SET`", process.log)
        for tensors, words in [({"fc.weight": (10, 12288)}, "it has no tensor model.fc.bias, which"),
                               ({"fc.weight": (2, 2), "fc.bias": (10,)}, "its tensor model.fc.weight is F32 [2, 2], and F32 ["),
                               ({"x": (1,)}, "it is that of another network")]:
            torch.save({name: torch.zeros(shape) for name, shape in tensors.items()}, self.trial.dir / "other.pt")
            said = self.checkpoint("import", "other.pt", "imported", "--like", self.trial.set_path("slow", 12), code=2).stderr
            self.assertIn(words, said)
        for like, words, code in [("nothere", "nothere", 3), ("other.pt", "no checkpoint set: name one", 2)]:
            self.assertIn(words, self.checkpoint("import", "other.pt", "imported", "--like", like, code=code).stderr)


if __name__ == "__main__":
    unittest.main()
