#!/usr/bin/env python3
"""installed_package.py: that the package of the Python that runs this works: an epoch, its types, its command. Needs NumPy."""
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path = [path for path in sys.path if path != str(pathlib.Path(__file__).parent)]
os.chdir(ROOT)

import numpy  # noqa: E402

import stoker  # noqa: E402

CONFIG = "configs/quickstart.yaml"


def command(*words):
    return subprocess.run([pathlib.Path(sys.executable).parent / "stoker", *words], check=True, capture_output=True,
                          text=True, cwd=tempfile.gettempdir()).stdout


def main():
    folder = pathlib.Path(stoker.__file__).parent
    assert not folder.is_relative_to(ROOT / "python"), f"this is the checkout's own: {folder}"
    loader = stoker.Loader(CONFIG)
    batches = [(numpy.asarray(images), numpy.asarray(labels)) for images, labels in loader]
    images, labels = batches[0]
    assert images.shape[0] == labels.shape[0] == 32, images.shape
    assert len(batches) == 300 // 32 and images.std() > 0, len(batches)
    loader.close()
    for name in ("py.typed", "_core.pyi"):
        assert (folder / name).exists(), name
    version = importlib.metadata.version("stoker")
    assert stoker.__version__ == version, version
    said = command("--version")
    assert version in said, said
    said = command("dataset", "inspect", str(ROOT / CONFIG), f"storage.data.root={ROOT / 'datasets/caltech101-mini'}")
    assert "no damaged" in said or "samples" in said, said
    print(f"{folder}: {len(batches)} batches of {images.shape}; {command('--version').splitlines()[0]}")


if __name__ == "__main__":
    main()
