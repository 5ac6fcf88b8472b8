"""What a checkpoint set is to others: the safetensors library opens it, numpy computes the same logits from
it, and hashlib and a table check its sums."""
import hashlib
import json
import subprocess
import unittest

from checkpointed_run import CheckpointTest
from stoker import BUILD, long, with_packages

with_packages("numpy", "safetensors")
import numpy as np  # noqa: E402
from numpy.lib.stride_tricks import sliding_window_view  # noqa: E402
from safetensors import safe_open  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

LOGITS = BUILD / "tests/app_logits"  # logits.cpp
IMAGES = 4
ALEXNET = ["model.type=alexnet", "training.threads=2", "optimizer={type: sgd, lr: 0.01, momentum: 0}",
           "loader.batch_size=4", "evaluation.enabled=false", "training.max_steps=2"]


def crc32c_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return f"{crc ^ 0xFFFFFFFF:08x}"


def pattern(images, size):
    index = np.arange(images * size * size * 3, dtype=np.uint64)
    pixels = (index * np.uint64(2654435761) & np.uint64(0xFFFFFFFF)) >> np.uint64(24)
    return pixels.astype(np.uint8).reshape(images, size, size, 3)


def normalised(pixels):
    mean = np.array([123.675, 116.28, 103.53], np.float32)
    scale = np.array([1 / 58.395, 1 / 57.12, 1 / 57.375], np.float32)
    return ((pixels.astype(np.float32) - mean) * scale).transpose(0, 3, 1, 2)


def linear(x, state, name):
    return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]


def relu(x):
    return np.maximum(x, 0)


def conv(x, state, name, stride, padding):
    weight = state[f"{name}.weight"]
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = sliding_window_view(x, weight.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    y = np.tensordot(windows, weight, axes=([1, 4, 5], [1, 2, 3]))
    return (y + state[f"{name}.bias"]).transpose(0, 3, 1, 2)


def max_pool(x):
    return sliding_window_view(x, (3, 3), axis=(2, 3))[:, :, ::2, ::2].max(axis=(4, 5))


def average_pool(x, size):
    height, width = x.shape[2:]

    def edges(i, whole):
        return slice(i * whole // size, -(-(i + 1) * whole // size))
    cells = [[x[:, :, edges(i, height), edges(j, width)].mean(axis=(2, 3)) for j in range(size)]
             for i in range(size)]
    return np.array(cells).transpose(2, 3, 0, 1)


def alexnet(x, state):
    x = max_pool(relu(conv(x, state, "model.features.0", 4, 2)))
    x = max_pool(relu(conv(x, state, "model.features.3", 1, 2)))
    for layer in (6, 8, 10):
        x = relu(conv(x, state, f"model.features.{layer}", 1, 1))
    x = average_pool(max_pool(x), 6).reshape(len(x), -1)
    for layer in (1, 4):
        x = relu(linear(x, state, f"model.classifier.{layer}"))
    return linear(x, state, "model.classifier.6")


class Sets(CheckpointTest):
    def setUp(self):
        super().setUp()
        self.trial = self.experiment()

    def set_after(self, steps, *overrides):
        """The directory of the set that a fresh run of so many steps leaves on its last tier."""
        self.trial.forget()
        self.trial.train("checkpoint.type=direct", f"training.max_steps={steps}", *overrides)
        return self.trial.set_path("slow", steps)


class Forward(Sets):
    def check_logits(self, network, directory, *overrides):
        done = subprocess.run([LOGITS, self.trial.config, directory, str(IMAGES), *overrides],
                              cwd=self.trial.dir, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stderr)
        ours = np.array([line.split() for line in done.stdout.splitlines()], np.float32)
        theirs = network(normalised(pattern(IMAGES, 64)), load_file(directory / "state.safetensors"))
        self.assertEqual(ours.shape, (IMAGES, 10))
        self.assertGreater(np.ptp(ours), 0)
        np.testing.assert_allclose(theirs, ours, rtol=1e-4, atol=1e-5 * np.abs(ours).max())

    def test_a_linear_model(self):
        self.check_logits(lambda x, state: linear(x.reshape(len(x), -1), state, "model.fc"),
                          self.set_after(12))

    @long
    def test_alexnet(self):
        self.check_logits(alexnet, self.set_after(2, *ALEXNET), *ALEXNET)


class Files(Sets):
    def test_names_shapes_and_types_are_those_of_the_manifest(self):
        directory = self.set_after(7)
        tensors = load_file(directory / "state.safetensors")
        manifest = json.loads((directory / "MANIFEST.json").read_text())
        self.assertEqual({entry["name"]: (list(entry["shape"]), entry["bytes"])
                          for entry in manifest["tensors"]},
                         {name: (list(tensor.shape), tensor.nbytes) for name, tensor in tensors.items()})
        self.assertEqual(sorted(tensors), sorted(
            ["model.fc.weight", "model.fc.bias", "rng.cpu"] +
            [f"optimizer.fc.{parameter}.{state}" for parameter in ("weight", "bias")
             for state in ("exp_avg", "exp_avg_sq", "step")]))
        self.assertEqual(tensors["optimizer.fc.weight.step"], 7)
        self.assertEqual({str(tensor.dtype) for name, tensor in tensors.items() if name != "rng.cpu"},
                         {"float32"})

    @long
    def test_shards_put_together_by_their_rows_are_the_whole(self):
        whole = load_file(self.set_after(7) / "state.safetensors")
        directory = self.set_after(7, "checkpoint.shards=4")
        paths = sorted(directory.glob("state-0000?-of-00004.safetensors"))
        self.assertEqual(len(paths), 4)
        sizes = [path.stat().st_size for path in paths]
        self.assertLess(max(sizes) - min(sizes), 2 * 12288 * 4 + 4096)
        joined, split = {}, set()
        for path in paths:
            with safe_open(path, "numpy") as shard:
                for name in shard.keys():
                    rows = shard.metadata().get(f"rows:{name}")
                    if rows is None:
                        joined[name] = shard.get_tensor(name)
                        continue
                    (first, end), total = map(int, rows.split(" of ")[0].split(":")), int(rows.split()[-1])
                    piece = shard.get_tensor(name)
                    self.assertEqual(len(piece), end - first)
                    split.add(name)
                    joined.setdefault(name, np.zeros((total, *piece.shape[1:]), piece.dtype))
                    joined[name][first:end] = piece
        self.assertTrue(split)
        self.assertEqual(sorted(joined), sorted(whole))
        for name, tensor in whole.items():
            self.assertEqual((joined[name].dtype, joined[name].tobytes()), (tensor.dtype, tensor.tobytes()))


class Sums(Sets):
    """With Python's own means only."""
    def test_crc32c_of_the_check_string(self):
        self.assertEqual(crc32c(b"123456789"), "e3069283")

    def test_the_manifest_ends_with_its_own_sha256(self):
        text = (self.set_after(3) / "MANIFEST.json").read_bytes()
        body, _, line = text.rpartition(b'  "sha256"')
        self.assertEqual(json.loads(text)["sha256"], hashlib.sha256(body).hexdigest())
        self.assertIn(hashlib.sha256(body).hexdigest().encode(), line)

    def test_every_file_and_tensor_has_the_crc32c_of_the_manifest(self):
        directory = self.set_after(3, "decoder.size=16", "checkpoint.shards=2")
        manifest = json.loads((directory / "MANIFEST.json").read_text())
        content = {}
        for file in manifest["files"]:
            data = content[file["name"]] = (directory / file["name"]).read_bytes()
            self.assertEqual(len(data), file["bytes"])
            chunks = range(0, len(data), file["chunk_bytes"])
            self.assertEqual([crc32c(data[at:at + file["chunk_bytes"]]) for at in chunks],
                             file["crc32c"])
            length = int.from_bytes(data[:8], "little")
            self.assertEqual(8 + length, file["header_bytes"])
            self.assertEqual((8 + length) % 4096, 0)
        self.assertEqual({path.name for path in directory.iterdir()}, {*content, "MANIFEST.json"})
        for tensor in manifest["tensors"]:
            data = b"".join(content[piece["file"]][piece["offset"]:piece["offset"] + piece["bytes"]]
                            for piece in tensor["pieces"])
            self.assertEqual((len(data), crc32c(data)), (tensor["bytes"], tensor["crc32c"]))


if __name__ == "__main__":
    unittest.main()
