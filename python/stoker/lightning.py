"""Checkpoints of PyTorch Lightning: ``Trainer(plugins=[stoker.lightning.CheckpointIO()])``."""
from __future__ import annotations

import os
from typing import Any

from ._file import save
from ._log import warn

try:
    from lightning.pytorch.plugins.io import TorchCheckpointIO
except ImportError:  # the package's other name
    from pytorch_lightning.plugins.io import TorchCheckpointIO

__all__ = ["CheckpointIO"]


class CheckpointIO(TorchCheckpointIO):
    """Lightning's own checkpoints, as files that are there as a whole or not at all (:class:`stoker.File`), and durable.

    A save that fails (no space, a quota, a tier that is gone) ends no training: it is lost, the checkpoint before it stays, and
    the next one is tried. The logger "stoker" says so, and ``lost`` and ``last_error`` do.

    Loading and removing are Lightning's. Paths are of files: for sharded strategies use :mod:`stoker.dcp`.
    """

    def __init__(self) -> None:
        super().__init__()
        #: How many saves failed, and why the last of them did.
        self.lost, self.last_error = 0, ""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: Any = None) -> None:
        if storage_options is not None:
            raise TypeError("stoker.lightning.CheckpointIO has no storage_options")
        try:
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            save(checkpoint, path)
        except OSError as error:
            self.lost += 1
            self.last_error = str(error)
            warn(f"checkpoint {os.fspath(path)} is lost: {error}")
