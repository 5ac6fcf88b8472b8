"""What this process reads and writes, call by call."""
from __future__ import annotations

import atexit
import json
import multiprocessing.util
import os
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from . import _core
from ._log import warn

#: Where the logs of worker processes go that are started while a profile is open.
_FOLDER = "STOKER_PROFILE_FOLDER"
_forks = 0
#: Where programs, libraries and settings lie, and no data: Darshan's list without /var/ and /opt/.
_SYSTEM = ("/etc/", "/dev/", "/usr/", "/bin/", "/boot/", "/lib/", "/lib64/", "/sbin/", "/sys/", "/proc/")


def _count_fork() -> None:
    global _forks  # noqa: PLW0603
    _forks += 1


os.register_at_fork(after_in_parent=_count_fork)


class profile:  # noqa: N801
    """Counts the I/O of this process as Darshan does, and every single read and write, while the block runs.

    >>> with stoker.profile("out.darshan") as p:
    ...     train()
    >>> p.bytes_read, p.files[0]["path"]

    The calls of all libraries that are loaded count, Python's own included, and no program is started anew. Darshan's tools
    and `stoker darshan` read the log. One profile at a time for the process.

    Parameters
    ----------
    path
        The log; None: there is none.
    exclude
        Beginnings of paths that do not count. None: where the system has its programs, libraries and settings (/usr/, /lib/,
        /etc/, /dev/, ...) and Python's own files (sys.prefix). ``remarks`` name them.
    include
        Beginnings of paths that count all the same.

    After the block:

    bytes_read, bytes_written
        Of the files that count, in bytes.
    files
        A dict for each, the one with the most time first: path, opens, reads, writes, bytes_read, bytes_written, read_s,
        write_s, meta_s, seconds. Its bytes are those of read() and write(), or of fread() and fwrite() where there are no
        others.
    seconds
        How long the block ran.
    remarks
        What a reader has to know: what was not seen.
    summary
        All figures, as `stoker darshan --json` prints them.

    Child processes do not count, and ``remarks`` says how many were forked. Give PyTorch's DataLoader
    ``worker_init_fn=stoker.profile_worker``, and each worker leaves a log of its own, which ``profile.read(path)`` reads.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        exclude: Sequence[str] | None = None,
        include: Sequence[str] = (),
    ) -> None:
        self._path = None if path is None else os.fspath(path)
        self._exclude = exclude
        self._include = include
        self._core: Any = None
        self.summary: dict[str, Any] = {}

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> profile:
        """The figures of a log: of another profile, a worker's, or any log of Darshan's."""
        read = cls(path)
        read.summary = json.loads(_core.read_profile(os.fspath(path)))
        return read

    def __enter__(self) -> profile:
        if self._path is not None:
            folder = os.path.dirname(os.path.abspath(self._path))
            _try_to_write(self._path, folder)
            os.environ.setdefault(_FOLDER, folder)
        self._forks = _forks
        exclude = [*_SYSTEM, *_own_folders()] if self._exclude is None else list(self._exclude)
        self._core = _core.Profile(exclude, list(self._include))
        self._left_out = exclude
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            self.end()
        except Exception as error:
            if kind is None:
                raise
            warn(f"the profile is lost: {error}")  # what the block has raised goes on

    def end(self) -> None:
        """What leaving the block does."""
        core, self._core = self._core, None
        if core is None:
            return
        if self._path is not None:
            os.environ.pop(_FOLDER, None)
        self.summary = json.loads(core.end(self._path))
        if self._left_out:
            self.summary["remarks"].append(f"left out by name: files below {', '.join(self._left_out)} (include=[...] counts them)")
        forked = _forks - self._forks
        if forked:
            self.summary["remarks"].insert(
                0, f"{forked} processes were forked: their I/O is not in here (worker_init_fn=stoker.profile_worker counts it)"
            )

    def _ended(self) -> dict[str, Any]:
        if not self.summary:
            raise RuntimeError("the figures of a profile are there when its block has ended")
        return self.summary

    @property
    def files(self) -> list[dict[str, Any]]:
        return self._ended()["files"]

    @property
    def bytes_read(self) -> int:
        return self._bytes("read")

    @property
    def bytes_written(self) -> int:
        return self._bytes("written")

    def _bytes(self, what: str) -> int:
        """Of both modules: what the C library asks of the kernel for its streams is in none but STDIO."""
        figures = self._ended()
        return figures["posix"][f"bytes_{what}"] + figures["stdio"][f"bytes_{what}"]

    @property
    def seconds(self) -> float:
        return self._ended()["job"]["seconds"]

    @property
    def remarks(self) -> list[str]:
        return self._ended()["remarks"]


def profile_worker(worker_id: int, folder: str | os.PathLike[str] | None = None) -> None:
    """For ``DataLoader(..., worker_init_fn=stoker.profile_worker)``: a profile of the worker, until it ends.

    Its log is worker-ID-PROCESS.darshan in `folder`; None: beside the log of the profile that was open when the worker was
    started, else in the working directory. For fork, spawn and forkserver.
    """
    place = os.fspath(folder) if folder is not None else os.environ.get(_FOLDER, ".")
    worker = profile(os.path.join(place, f"worker-{worker_id}-{os.getpid()}.darshan"))
    worker.__enter__()
    # A child of multiprocessing's ends by os._exit, behind its finalizers; any other one by atexit.
    multiprocessing.util.Finalize(None, worker.end, exitpriority=100)
    atexit.register(worker.end)


def _try_to_write(path: str, folder: str) -> None:
    """Whether the log can be written is found out before the block, and not after it."""
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(21, os.strerror(21))
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        failure = _core.Error(f"the profile's log {path} can't be written: {error.strerror}: name a file in a folder that is there")
        failure.code = 3
        raise failure from None


def _own_folders() -> list[str]:
    """Where Python's own files lie."""
    prefixes = (sys.prefix, sys.base_prefix)
    folders = {os.path.join(place, "") for prefix in prefixes for place in (prefix, os.path.realpath(prefix))}
    return sorted(folders - {"/"})
