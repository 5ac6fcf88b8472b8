"""Checkpoints of PyTorch Lightning: ``Trainer(plugins=[stoker.lightning.CheckpointIO()])``."""
from __future__ import annotations

import os
import secrets
import threading
from typing import Any, NamedTuple

from ._file import save
from ._log import warn

try:
    from lightning.pytorch.plugins.io import TorchCheckpointIO
except ImportError:  # the package's other name
    from pytorch_lightning.plugins.io import TorchCheckpointIO

__all__ = ["CheckpointIO"]


class _Save(NamedTuple):
    """What became of a save."""

    there: bool
    #: Training can go on from it: it has more than the weights.
    full: bool
    thread: int


class CheckpointIO(TorchCheckpointIO):
    """Lightning's own checkpoints, as files that are there as a whole or not at all (:class:`stoker.File`), and durable.

    A save that fails (no space, a quota, a tier that is gone) ends no training: it is lost, and the next one is tried. The
    logger "stoker" says so, and ``lost`` and ``last_error`` do. Lightning takes a lost file to be there and asks for the
    removal of the one before it. That one stays until a later save to its folder has succeeded, and ``last.ckpt`` of
    ``save_last="link"`` leads to it again from the next save on, or from the end of the training.

    Loading is Lightning's. Paths are of files: for sharded strategies use :mod:`stoker.dcp`. Any thread may call, as
    ``AsyncCheckpointIO(stoker.lightning.CheckpointIO())`` does.
    """

    def __init__(self) -> None:
        super().__init__()
        #: How many saves failed, and why the last of them did.
        self.lost, self.last_error = 0, ""
        self._lock = threading.RLock()
        #: By path, in the order of the saves.
        self._saves: dict[str, _Save] = {}
        #: Files that Lightning has asked to remove, which were the last good ones.
        self._kept: list[str] = []
        #: Paths that a link may still lead to: of saves that were lost, and of files that stayed longer.
        self._gone: set[str] = set()

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: Any = None) -> None:
        if storage_options is not None:
            raise TypeError("stoker.lightning.CheckpointIO has no storage_options")
        whole, full = os.path.abspath(path), "optimizer_states" in checkpoint
        try:
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            save(checkpoint, path)
        except OSError as error:
            with self._lock:
                self.lost += 1
                self.last_error = str(error)
                if not os.path.isfile(whole):  # else the one before it at this path is there
                    self._saves[whole] = _Save(False, full, threading.get_ident())
                    self._gone.add(whole)
                self._mend_links(os.path.dirname(whole))
            warn(f"checkpoint {os.fspath(path)} is lost: {error}")
            return
        with self._lock:
            self._saves.pop(whole, None)  # it is the last one now
            self._saves[whole] = _Save(True, full, threading.get_ident())
            self._gone.discard(whole)
            kept, self._kept = self._kept, []
            for before in kept:
                if before != whole:
                    self._remove_late(before)
            self._mend_links(os.path.dirname(whole))

    def remove_checkpoint(self, path: str | os.PathLike[str]) -> None:
        whole = os.path.abspath(path)
        with self._lock:
            if self._is_last(whole):
                self._kept.append(whole)
                return
            self._saves.pop(whole, None)
            if os.path.exists(whole):
                super().remove_checkpoint(path)

    def teardown(self) -> None:
        with self._lock:
            for folder in {os.path.dirname(path) for path in self._gone}:
                self._mend_links(folder)
        super().teardown()

    def _is_last(self, path: str) -> bool:
        """No file that was saved later can take its place, and one was lost, or is on its way on another thread."""
        own = self._saves.get(path)
        paths = list(self._saves)
        later = [  # than a file that an earlier program has saved all are
            self._saves[each]._replace(there=os.path.isfile(each))
            for each in paths[paths.index(path) + 1 if own else 0 :]
            if os.path.dirname(each) == os.path.dirname(path)
        ]
        if not os.path.isfile(path) or any(each.there and (each.full or not (own and own.full)) for each in later):
            return False
        return bool(later) or (own is not None and own.thread != threading.get_ident())

    def _remove_late(self, path: str) -> None:
        try:
            self.remove_checkpoint(path)
        except OSError as error:  # the save itself is not lost by it
            warn(f"checkpoint {path} is superseded and could not be removed: {error}")
        if path not in self._kept:
            self._gone.add(path)

    def _mend_links(self, folder: str) -> None:
        """Links to files that are not there lead to the newest good one of the folder."""
        newest = next((path for path in reversed(self._saves) if os.path.dirname(path) == folder and os.path.isfile(path)), "")
        if not newest or not self._gone:
            return
        try:
            with os.scandir(folder) as entries:
                dangling = [each.path for each in entries if each.is_symlink() and not os.path.exists(each.path)]
            for link in dangling:
                if os.path.abspath(os.path.join(folder, os.readlink(link))) in self._gone:
                    temporary = os.path.join(folder, f".link.{secrets.token_hex(8)}.tmp")
                    os.symlink(os.path.basename(newest), temporary)
                    os.replace(temporary, link)
        except OSError as error:
            warn(f"links in {folder} may lead to checkpoints that are lost: {error}")
