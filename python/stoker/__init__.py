"""Stoker's engine: loading, checkpoints and I/O measurement for deep learning."""
import sys as _sys

if not getattr(_sys, "_is_gil_enabled", lambda: True)():
    raise ImportError("stoker needs Python's global interpreter lock, and this is a free-threaded build: use the other one")

from ._array import Array
from ._batch import Batch, Skipped, Tolerated
from ._checkpointer import Checkpointer, Loaded
from ._core import Error, __version__
from ._file import File, save
from ._jpeg import decode_jpeg
from ._loader import Loader
from ._profile import profile, profile_worker
from ._runs import runs
from ._safetensors import load_safetensors
from ._watch import watch

__all__ = [
    "Array",
    "Batch",
    "Checkpointer",
    "Error",
    "File",
    "Loaded",
    "Loader",
    "Skipped",
    "Tolerated",
    "__version__",
    "decode_jpeg",
    "load_safetensors",
    "profile",
    "profile_worker",
    "runs",
    "save",
    "watch",
]
