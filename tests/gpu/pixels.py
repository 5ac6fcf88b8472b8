"""The pixels that reached a model on the device, out of its checkpoints.

The model is `linear`, the batch one image x, the optimizer plain SGD: a step changes the weights of class c by
-lr (p - y)[c] x, and its bias by -lr (p - y)[c]. The quotient of the two changes is x, as the device computed with it.
"""
import array
import json

import common


def tensors(path):
    """Of a .safetensors file: name -> bytes."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    return {name: data[end + of["data_offsets"][0]:end + of["data_offsets"][1]]
            for name, of in header.items() if name != "__metadata__"}


def floats(data):
    return array.array("f", data)


def image(before, after):
    """(levels of 0 to 255, by channel, row and column; the largest distance from a whole one)."""
    bias = [b - a for a, b in zip(floats(before["model.fc.bias"]), floats(after["model.fc.bias"]))]
    row = max(range(len(bias)), key=lambda c: abs(bias[c]))
    size = len(before["model.fc.weight"]) // len(bias)  # of a row, in bytes
    part = slice(row * size, (row + 1) * size)
    change = zip(floats(before["model.fc.weight"][part]), floats(after["model.fc.weight"][part]))
    values = [(b - a) / bias[row] for a, b in change]
    plane = len(values) // 3
    exact = [(x - common.SHIFT[i // plane]) / common.SCALE[i // plane] for i, x in enumerate(values)]
    levels = [round(level) for level in exact]
    return levels, max(abs(a - b) for a, b in zip(levels, exact))


def images(sets, count):
    """Of the steps 2 to count + 1: the state before the first step is not saved."""
    states = [tensors(sets / f"step-{step:010}" / "state.safetensors") for step in range(1, count + 2)]
    return [image(before, after) for before, after in zip(states, states[1:])]


def of_npy(path):
    """A .npy file of levels by image, row, column and channel: as images() gives them."""
    data = path.read_bytes()
    begin = 10 + int.from_bytes(data[8:10], "little")
    count = int(data[10:begin].split(b"'shape': (")[1].split(b",")[0])
    size = (len(data) - begin) // count
    return [[level for channel in range(3) for level in data[at + channel:at + size:3]]
            for at in range(begin, len(data), size)]


def distance(some, others):
    """(mean, largest) absolute difference."""
    differences = [abs(a - b) for one, other in zip(some, others) for a, b in zip(one, other)]
    return sum(differences) / len(differences), max(differences)
