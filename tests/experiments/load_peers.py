"""Safetensors files to tensors: stoker.load_safetensors and `stoker bench load` beside other loaders, and beside fio.

The others: safetensors, Run:ai's streamer, fastsafetensors (nogds=True) and InstantTensor, which needs a GPU. Each
reading is a process of its own, in which everything was imported before the clock starts. It ends when every tensor is
there and a byte of each of its pages was read. Cold: evicted, and at most 3 % of it is in the page cache right before
the clock starts; warm: at least 97 %. Before it each process writes to as much memory as it will need, and gives it
back: the host of a virtual machine may take seconds to find memory that was never used. Then each tensor is compared.
The file is that of a set of checkpoints, which `stoker bench load` also reads as one, with its checksums. fio: 32
requests of 1 MiB in flight past the page cache, also when warm. --dir: on the disk. --python: one that has the loaders
(peers/setup.sh FOLDER load). For docs/results.md and docs/python.md.
"""
import json
import mmap
import os
import pathlib
import re
import subprocess
import sys
import time

from frame import CannotMeasure, cached, evict, wheel
from machine import output

ROUNDS = 5
OPTIONS = {"gb": [1.0, 8.0], "states": ["cold", "warm"], "device": "cpu", "python": sys.executable}


# Each imports what it needs, and gives a function that makes a dict of tensors, and keeps alive what they lie in.

def by_stoker(path, device):
    import torch  # noqa: F401

    stoker = wheel()
    return lambda: (stoker.load_safetensors(path, device=device), None)


def by_safetensors(path, device):
    from safetensors.torch import load_file
    return lambda: (load_file(path, device=device), None)


def by_runai(path, device):
    from runai_model_streamer import SafetensorsStreamer

    def load():
        streamer = SafetensorsStreamer().__enter__()
        streamer.stream_file(path)
        return {name: tensor if device == "cpu" else tensor.to(device) for name,
                tensor in streamer.get_tensors()}, streamer
    return load


def by_fastsafetensors(path, device):
    import torch
    from fastsafetensors import SafeTensorsFileLoader, SingleGroup

    def load():
        loader = SafeTensorsFileLoader(SingleGroup(), torch.device(device) if device != "cpu" else "cpu", nogds=True)
        loader.add_filenames({0: [path]})
        buffer = loader.copy_files_to_device()
        return {name: buffer.get_tensor(name) for name in buffer.key_to_rank_lidx}, (loader, buffer)
    return load


def by_instanttensor(path, device):
    from instanttensor import safe_open

    def load():
        with safe_open(path, framework="pt", device=0) as file:
            return {name: tensor.clone() for name, tensor in file.tensors()}, None
    return load


LOADERS = {"safetensors load_file": by_safetensors, "stoker.load_safetensors": by_stoker, "Run:ai streamer": by_runai,
           "fastsafetensors": by_fastsafetensors, "InstantTensor": by_instanttensor}


def make_file(path, gigabytes):
    """Matrices of a transformer in bfloat16, small tensors between, and bytes that no file system makes smaller."""
    import torch
    from safetensors.torch import save_file
    tensors, left = {}, int(gigabytes * 1e9)
    while left > 0:
        columns = min(4096, max(1, left // (2 * 8192)))
        for name, shape in (("weight", (8192, columns)), ("norm", (4096,))):
            noise = torch.randint(-2**15, 2**15, shape, dtype=torch.int16)
            tensors[f"layers.{len(tensors) // 2}.{name}"] = noise.view(torch.bfloat16)
            left -= 2 * noise.numel()
    save_file(tensors, path)


def find_memory(size):
    """Writes to as much memory and gives it back; again after a slow time, for the kernel need not give the same
    next."""
    for _ in range(2):
        begin = time.perf_counter()
        with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            memory.madvise(mmap.MADV_HUGEPAGE)
            for at in range(0, size, mmap.PAGESIZE):
                memory[at] = 1
        if time.perf_counter() - begin < 0.5e-9 * size:
            break


def prepare(path, state):
    """Makes the page cache so."""
    evict(path) if state == "cold" else subprocess.run(["cat", path], check=True, stdout=subprocess.DEVNULL)


def prove(path, state):
    share = cached(path)
    if share > 0.03 if state == "cold" else share < 0.97:
        raise CannotMeasure(f"not {state}: {share:.1%} of {path} is in the page cache")


def compare(path, tensors):
    """With what safetensors reads, bit by bit."""
    import torch
    from safetensors import safe_open
    with safe_open(path, "pt") as file:
        assert set(tensors) == set(file.keys()), "other tensors than the file's"
        for name, tensor in tensors.items():
            assert torch.equal(tensor.detach().cpu().view(torch.int16), file.get_tensor(name).view(torch.int16)), name


def read(name, path, state, device):
    """One reading, in this process; its seconds."""
    import torch
    load = LOADERS[name](path, device)
    if device != "cpu":
        torch.zeros(1, device=device)  # the context
    prepare(path, state)
    find_memory(os.path.getsize(path))  # last, for the host takes it back
    prove(path, state)
    begin = time.perf_counter()
    tensors, _keep = load()
    for tensor in tensors.values():
        tensor.reshape(-1).view(torch.uint8)[::4096].sum()
    if device != "cpu":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    compare(path, tensors)
    return seconds


def by_bench(lab, files, state):
    """The program's own: without Python and its tensors. It finds memory by itself."""
    for file in pathlib.Path(files).glob("*.safetensors") if os.path.isdir(files) else [files]:
        prepare(file, state)
        prove(file, state)
    return lab.json("bench", "load", files, "--rounds", 1,
                    *["--cold"] * (state == "cold"))["results"][0]["seconds"]["median"]


def by_fio(path, state):
    prepare(path, state)
    size = os.path.getsize(path)
    report = output("fio", "--name=x", "--rw=read", "--bs=1m", f"--size={size >> 20 << 20}", f"--filename={path}",
                    "--direct=1",
                    "--readonly", "--ioengine=io_uring", "--iodepth=32", "--fixedbufs", "--output-format=json",
                    "--invalidate=0")
    return size / json.loads(report[report.index("{"):])["jobs"][0]["read"]["bw_bytes"]


def run(lab):
    device, python = lab.given.device, lab.given.python
    for gigabytes in lab.given.gb:
        lab.child(make_file, str(lab.folder / "plain.safetensors"), gigabytes, python=python)
        place = lab.folder / f"{gigabytes:g}gb"
        lab.stoker("checkpoint", "import", "plain.safetensors", place)
        (lab.folder / "plain.safetensors").unlink()
        path = str(next(place.rglob("*.safetensors")))
        for state in lab.given.states:
            ways = {name: lambda name=name: lab.child(read, name, path, state, device, python=python)
                    for name in LOADERS if name != "InstantTensor" or device != "cpu"}
            ways |= {"stoker bench load": lambda: by_bench(lab, path, state), "fio": lambda: by_fio(path, state),
                     "the same of the set": lambda: by_bench(lab, os.path.dirname(path), state)}
            got = lab.measure(f"{gigabytes:g} GB, {state}, to {device}", {
                name: lambda way=way: {"GB/s": 1e-9 * os.path.getsize(path) / way()} for name, way in ways.items()
                if re.search(lab.given.only, name) or name in ("safetensors load_file", "fio")},
                              reference="safetensors load_file")
            if "fio" in got:
                lab.show("beside fio", got, "fio")
