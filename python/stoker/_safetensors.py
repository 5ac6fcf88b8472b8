"""Safetensors files, and sets of checkpoints, to tensors."""
from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from . import _core
from ._array import Array
from ._state import DTYPES, mistake

#: What transformers calls the index of its shards.
INDEX = "model.safetensors.index.json"
Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def load_safetensors(paths: Paths, *, device: Any = None, threads: int = 0, access: str = "auto") -> dict[str, Any]:
    """The tensors of safetensors files, by name, read by many threads to the memory where they stay.

    >>> state = stoker.load_safetensors("model.safetensors", device="cuda")
    >>> state = stoker.load_safetensors("runs/checkpoints/run/step-0000000020")         # a set: every byte is verified

    Nothing is mapped: what is returned is in memory, and is nobody else's. Tensors of one file share its memory, which goes
    with the last of them.

    Parameters
    ----------
    paths
        A file, the index of files (``model.safetensors.index.json``), a folder, the directory of a set of checkpoints, or a list
        of these. Of a folder, what its index names counts; without an index, ``model.safetensors``; without that, all
        ``*.safetensors``.
    device
        Such as "cuda" or "cpu": PyTorch tensors there. For a GPU files pass through a ring of pinned memory while they are
        copied; a set is first in the host's memory as a whole. None: PyTorch tensors where it is loaded, else :class:`Array` (DLPack), which JAX and NumPy take.
    threads
        Those that read; 0: eight.
    access
        "direct": past the page cache, by io_uring where the kernel allows it. "buffered": through it. "auto": past it, but for
        files of which it holds more than half. Sets are read past it.

    Raises
    ------
    stoker.Error
        A file that is not there (code 3), that was cut or is damaged (5: the message names the file, and the tensor), a tensor
        that two files have (5).

    Ctrl-C ends it. Releases the GIL.
    """
    files = _files(paths)
    if device is not None or "torch" in sys.modules:
        from . import _torch

        return _torch.load_tensors(files, "cpu" if device is None else device, threads, access)
    load = _core.TensorLoad(files, access, threads, None, 0)
    try:
        images = load.images()
        load.finish()
        tensors: dict[str, Any] = {}
        for place, (path, _, _, rows) in enumerate(images):
            for number, (name, dtype, shape, _, _) in enumerate(rows):
                add(tensors, path, name, Array(load.tensor(place, number), DTYPES[dtype], shape))
        return tensors
    finally:
        load.close()


def add(tensors: dict[str, Any], path: str, name: str, tensor: Any) -> None:
    """Puts a tensor into a result, which has no other of its name."""
    if name in tensors:
        error = mistake(f"{path}: tensor {name} is in another of the files, too")
        error.code = 5  # type: ignore[attr-defined]
        raise error
    tensors[name] = tensor


def _files(paths: Paths) -> list[str]:
    """Files and sets, by name."""
    files: list[str] = []
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        folder = pathlib.Path(path)
        if not folder.is_dir() or (folder / "MANIFEST.json").exists():
            files.append(os.fspath(path))
            continue
        found = [folder / name for name in (INDEX, "model.safetensors") if (folder / name).exists()][:1]
        found = found or sorted(folder.glob("*.safetensors"))
        if not found:
            error = mistake(f"{folder}: neither a set (no MANIFEST.json) nor a folder with safetensors files")
            error.code = 3  # type: ignore[attr-defined]
            raise error
        files += map(str, found)
    if not files:
        raise mistake("load_safetensors: name at least one file")
    return files
