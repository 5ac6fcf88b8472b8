#!/usr/bin/env python3
"""beside.py WHEELS [NAME...]: the wheels in the folder WHEELS (python/make_wheels.sh), each in a fresh environment of the Python that
runs this: by themselves with NumPy, beside the newest PyTorch, beside JAX, and the trainer's wheel with the PyTorch that it asks for.

Prints what each installation took and holds, and how long `stoker train quickstart` takes to its first step. 0 where all work.
NAMEs: numpy, torch, jax, train. Needs the network, and some 8 GB for PyTorch.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
EPOCH = """
import sys
for package in sys.argv[1:]:
    __import__(package)
import stoker
config = {"storage": {"data": {"type": "posix", "root": "%s"}}, "decoder": {"type": "jpeg", "size": 64, "output": "float32"},
          "dataset": {"type": "image_folder", "storage": "data", "split": {"train_per_class": 30, "test_per_class": 5}},
          "loader": {"type": "prefetched", "batch_size": 16, "workers": 2}}
images = 0
for batch, labels in stoker.Loader(config):
    if "torch" in sys.modules:
        import torch
        images += torch.nn.Conv2d(3, 4, 3)(torch.from_dlpack(batch)).isfinite().all().item() * len(labels)
    elif "jax" in sys.modules:
        import jax
        images += bool(jax.numpy.isfinite(jax.numpy.asarray(batch)).all()) * len(labels)
    else:
        import numpy
        images += numpy.isfinite(numpy.asarray(batch)).all() * len(labels)
assert images == 288, images
print(*(f"{name} {sys.modules[name].__version__}" for name in ("torch", "jax", "numpy", "stoker") if name in sys.modules))
""" % (ROOT / "datasets/caltech101-mini")


class Environment:
    """A fresh one, whose packages come from the wheels' folder and by pip."""

    def __init__(self, folder, wheels):
        self.folder = folder
        self.wheels = wheels
        venv.create(folder, with_pip=True)

    def run(self, program, *arguments):
        done = subprocess.run([self.folder / "bin" / program, *arguments], cwd=self.folder, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise SystemExit(f"{program} {arguments[0]}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def install(self, *packages):
        started = time.monotonic()
        self.run("pip", "install", "--quiet", "--find-links", self.wheels, *packages)
        took = time.monotonic() - started
        size = int(subprocess.run(["du", "-sm", self.folder], capture_output=True, text=True, check=True).stdout.split()[0])
        print(f"  pip install {' '.join(packages)}: {took:.1f} s, the environment is of {size} MB", flush=True)

    def epoch(self, *packages):
        print(f"  import {', '.join(packages)}: {self.run('python', '-c', EPOCH, *packages).strip()}", flush=True)


def numpy(environment):
    environment.install("stoker")
    environment.install("numpy")
    environment.epoch("stoker", "numpy")
    print("  " + environment.run("stoker", "--version").splitlines()[0])


def torch(environment):
    environment.install("stoker", "torch", "numpy")
    environment.epoch("torch", "stoker")
    environment.epoch("stoker", "torch")


def jax(environment):
    environment.install("stoker", "jax")
    environment.epoch("jax", "stoker")
    environment.epoch("stoker", "jax")


def train(environment):
    environment.install("stoker-train")
    started = time.monotonic()
    training = subprocess.Popen([environment.folder / "bin/stoker", "train", "quickstart"], cwd=environment.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = []
    with training:
        for line in training.stdout:
            said.append(line)
            if re.search(r" on .*: \d+ training samples? and ", line):
                print(f"  {time.monotonic() - started:.1f} s to: {line.strip()}", flush=True)
    if training.returncode != 0:
        raise SystemExit("".join(said))
    print(f"  {time.monotonic() - started:.1f} s to the end: " + next(line for line in said if "completed" in line).strip())
    environment.epoch("torch", "stoker")


KINDS = {function.__name__: function for function in (numpy, torch, jax, train)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=pathlib.Path, metavar="WHEELS")
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(KINDS))
    arguments = parser.parse_args()
    for wheel in sorted(arguments.wheels.glob("*.whl")):
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    for name in arguments.names:
        print(f"{name}, Python {sys.version.split()[0]}:", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            KINDS[name](Environment(pathlib.Path(folder, "environment"), arguments.wheels.resolve()))


if __name__ == "__main__":
    main()
