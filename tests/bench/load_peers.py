#!/usr/bin/env python3
"""Safetensors files to tensors: stoker.load_safetensors and `stoker bench load` beside safetensors, Run:ai's streamer, fastsafetensors and
InstantTensor, and beside fio with the same requests, interleaved, cold and warm.

Each reading is a process of its own, in which everything was imported before the clock starts. It ends when every tensor is there and a
byte of each of its pages was read: a mapped file is not read before. Cold: the file was evicted, and mincore(2) says that at most 3 % of
it is in the page cache right before the clock starts; warm: that at least 97 % is. A reading for which that does not hold ends the
program. Before it each process writes to as much memory as it will need, and gives it back: the host of a virtual machine may take seconds
to find memory that was never used. After the clock each tensor is compared with the file, at its begin and end. The file is that of a set of
checkpoints, which `stoker bench load` also reads as one: with its checksums. Printed are seconds (median, min to max), GB/s and,
round by round, how many times as fast as safetensors' load_file, and the share of fio's rate.

InstantTensor needs a GPU, and is left out without one. fastsafetensors runs with nogds=True (no GPUDirect Storage).

load_peers.py --dir DIRECTORY [--gb 1 8] [--rounds 5] [--states cold warm] [--device cpu|cuda] [--only NAME ...]

DIRECTORY: on the disk that is to be measured, with room for twice the largest file, and for an environment (DIRECTORY/v-load), which is made by pip where
it is not there: with the packages of this Python's as far as it has them. Needs fio, and the module of build/python (STOKER_PYTHON=ON).
"""
import argparse
import importlib.util
import json
import mmap
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
STOKER = os.path.abspath(os.environ.get("STOKER") or SOURCE / "build/bin/stoker")
PACKAGES = ["torch", "numpy", "safetensors", "fastsafetensors", "runai-model-streamer", "instanttensor"]
PIECE = 64 << 20
sys.path.insert(0, str(HERE / "peers"))
import page_cache  # noqa: E402


def model(gigabytes):
    """(name, dtype, shape, bytes) of a file of that size: matrices of a transformer in bfloat16, and small tensors between."""
    rows, left, number = [], int(gigabytes * 1e9), 0
    while left > 0:
        columns = min(4096, max(1, left // (2 * 8192)))
        for name, shape in ((f"layers.{number}.weight", [8192, columns]), (f"layers.{number}.norm", [4096])):
            rows.append((name, "BF16", shape, 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)))
            left -= rows[-1][3]
        number += 1
    return rows


def make_file(path, gigabytes):
    """Bytes that no file system makes smaller."""
    header, end = {}, 0
    for name, dtype, shape, size in model(gigabytes):
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"writing {path}", flush=True)
    noise = os.urandom(PIECE)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for number, begin in enumerate(range(0, end, PIECE)):
            turn = 4099 * number % PIECE
            file.write((noise[turn:] + noise[:turn])[:min(PIECE, end - begin)])
        file.flush()
        os.fsync(file.fileno())


def make_set(path, gigabytes):
    """A set of one file at `path`, whose bytes no file system makes smaller. What is there is left alone."""
    if path.exists():
        return
    plain = path.parents[1] / "plain.safetensors"
    make_file(plain, gigabytes)
    subprocess.run([STOKER, "checkpoint", "import", plain, path.parents[1]], check=True, stdout=subprocess.DEVNULL)
    plain.unlink()


def find_memory(size):
    """Writes to as much memory and gives it back; again after a slow time, for the kernel need not give the same next."""
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
    if state == "cold":
        page_cache.drop([path])
        return
    with open(path, "rb", buffering=0) as file:
        while file.read(PIECE):
            pass


def prove(path, state):
    """Ends the program where the page cache is not so."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        share = page_cache.cached_bytes(file.fileno(), size) / size
    if share > 0.03 if state == "cold" else share < 0.97:
        sys.exit(f"{path} is not {state}: {100 * share:.1f} % of it is in the page cache")
    return share


# Each: imports what it needs, and gives a function that makes a dict of tensors, and keeps alive what they lie in.

def by_stoker(path, device):
    import torch  # noqa: F401

    import stoker
    return lambda: (stoker.load_safetensors(path, device=device), None)


def by_safetensors(path, device):
    from safetensors.torch import load_file
    return lambda: (load_file(path, device=device), None)


def by_runai(path, device):
    from runai_model_streamer import SafetensorsStreamer

    def load():
        streamer = SafetensorsStreamer().__enter__()  # pylint: disable=unnecessary-dunder-call
        streamer.stream_file(path)
        tensors = {}
        for name, tensor in streamer.get_tensors():
            tensors[name] = tensor if device == "cpu" else tensor.to(device)
        return tensors, streamer
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
    assert device != "cpu"
    return load


LOADERS = {"stoker.load_safetensors": by_stoker, "safetensors load_file": by_safetensors, "Run:ai streamer": by_runai,
           "fastsafetensors": by_fastsafetensors, "InstantTensor": by_instanttensor}
NEEDS_GPU = {"InstantTensor"}
BASE, FIO, BENCH, SET = "safetensors load_file", "fio", "stoker bench load", "the same of the set"


def compare(path, tensors):
    """Each tensor's first and last bytes with those of the file."""
    import torch
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        assert set(tensors) == set(header), "other tensors than the file's"
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            bits = tensors[name].detach().reshape(-1).view(torch.uint8)
            assert bits.numel() == end - begin, name
            for at in {0, max(0, end - begin - 4096)}:
                file.seek(8 + length + begin + at)
                expected = file.read(min(4096, end - begin - at))
                assert bytes(bits[at:at + len(expected)].cpu().tolist()) == expected, name


def worker(name, path, state, device):
    """One reading, in this process. Prints its figures as JSON."""
    import torch
    load = LOADERS[name](path, device)
    if device != "cpu":
        torch.zeros(1, device=device)  # the context
    prepare(path, state)
    find_memory(os.path.getsize(path))  # last, for the host takes it back
    share = prove(path, state)
    begin = time.perf_counter()
    tensors, keep = load()
    for tensor in tensors.values():
        tensor.reshape(-1).view(torch.uint8)[::4096].sum()
    if device != "cpu":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    compare(path, tensors)
    print(json.dumps({"seconds": seconds, "cached": share}))
    sys.stdout.flush()
    del keep
    os._exit(0)  # some libraries' threads do not end


class Comparison:
    def __init__(self, options):
        self.options = options
        self.directory = pathlib.Path(options.dir).resolve()
        self.python = self.environment()

    def environment(self):
        """A Python that has all of them."""
        place = self.directory / "v-load"
        if not (place / ".done").exists():
            print(f"making {place}", flush=True)
            subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", place], check=True)
            (packages,) = place.glob("lib/python*/site-packages")
            outer = [path for path in sys.path if path.endswith("-packages")]
            (packages / "outer.pth").write_text("\n".join(outer), encoding="utf-8")  # also where it is an environment itself
            missing = [name for name in PACKAGES if importlib.util.find_spec(name.replace("-", "_")) is None]
            for package in missing:
                if subprocess.run([place / "bin/pip", "install", "--quiet", package], check=False).returncode != 0:
                    print(f"{package} can not be installed here")
            (place / ".done").touch()
        return place / "bin/python"

    def by_process(self, name, path, state):
        package = f"{SOURCE}/build/python"
        done = subprocess.run([self.python, "-B", __file__, "--worker", name, path, state, self.options.device], check=False,
                              capture_output=True, text=True, env={**os.environ, "PYTHONPATH": package})
        if done.returncode != 0:
            raise RuntimeError(f"{name}: {done.stdout[-300:]}{done.stderr[-700:]}")
        return json.loads(done.stdout.splitlines()[-1])["seconds"]

    @staticmethod
    def by_bench(path, state):
        """The program's own: without Python and its tensors. It finds memory by itself."""
        files = [path] if os.path.isfile(path) else pathlib.Path(path).glob("*.safetensors")
        for file in files:
            prepare(file, state)
            prove(file, state)
        cold = ["--cold"] if state == "cold" else []
        done = subprocess.run([STOKER, "bench", "load", path, "--rounds", "1", "--json", *cold], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["results"][0]["seconds"]["median"]

    @staticmethod
    def by_fio(path, state):
        """32 requests of 1 MiB in flight, past the page cache, into memory that it uses again; the same when warm."""
        prepare(path, state)
        prove(path, state)
        size = os.path.getsize(path) // (1 << 20) * (1 << 20)
        done = subprocess.run(["fio", "--name=x", "--rw=read", "--bs=1m", f"--size={size}", f"--filename={path}", "--direct=1", "--readonly",
                               "--ioengine=io_uring", "--iodepth=32", "--fixedbufs", "--output-format=json", "--invalidate=0"],
                              check=True, capture_output=True, text=True)
        report = json.loads(done.stdout[done.stdout.index("{"):])
        return os.path.getsize(path) / report["jobs"][0]["read"]["bw_bytes"]

    def names(self):
        names = [name for name in [*LOADERS, BENCH, SET, FIO] if not self.options.only or name in self.options.only or name in (BASE, FIO)]
        if self.options.device == "cpu":
            names = [name for name in names if name not in NEEDS_GPU]
        if shutil.which("fio") is None:
            names.remove(FIO)
        return names

    def measure(self, name, path, state):
        if name == FIO:
            return self.by_fio(path, state)
        if name == SET:
            return self.by_bench(os.path.dirname(path), state)
        return self.by_bench(path, state) if name == BENCH else self.by_process(name, path, state)

    def table(self, path, state):
        took = {name: [] for name in self.names()}
        for number in range(self.options.rounds):
            for name in list(took) if number % 2 == 0 else list(reversed(took)):
                try:
                    took[name].append(self.measure(name, path, state))
                except (RuntimeError, subprocess.CalledProcessError) as error:
                    print(f"left out: {error}", flush=True)
                    del took[name]
        size = os.path.getsize(path)
        print(f"\n{size / 1e9:.2f} GB, {state}, to {self.options.device}, {self.options.rounds} interleaved rounds: seconds, median (min to max)")
        for name, seconds in took.items():
            cells = [f"{name:<27} {statistics.median(seconds):7.3f} ({min(seconds):.3f} to {max(seconds):.3f})  "
                     f"{size / 1e9 / statistics.median(seconds):6.2f} GB/s"]
            for other, what in ((BASE, "times load_file's rate"), (FIO, "of fio's")):
                if other in took and other != name:
                    ratios = [theirs / own for theirs, own in zip(took[other], seconds)]
                    cells.append(f"{statistics.median(ratios):6.2f} ({min(ratios):.2f} to {max(ratios):.2f}) {what}")
            print("   ".join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dir")
    parser.add_argument("--gb", type=float, nargs="+", default=[1, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--states", nargs="+", choices=["cold", "warm"], default=["cold", "warm"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", nargs="+", choices=[*LOADERS, BENCH, SET, FIO])
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(*options.worker)
    if not options.dir:
        parser.error("--dir is needed")
    comparison = Comparison(options)
    if options.device == "cpu":
        print(f"needs a GPU, and is left out: {', '.join(sorted(NEEDS_GPU))}")
    for gigabytes in options.gb:
        path = comparison.directory / f"load-{gigabytes:g}gb/step-0000000000/state.safetensors"
        make_set(path, gigabytes)
        for state in options.states:
            comparison.table(str(path), state)


if __name__ == "__main__":
    main()
