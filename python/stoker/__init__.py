"""Stoker's engine: loading, checkpoints and I/O measurement for deep learning."""
from ._core import __version__

__all__ = ["__version__"]
