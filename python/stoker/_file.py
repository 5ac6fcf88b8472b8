"""Files that are there as a whole, or not at all."""
from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
from typing import Any

from ._state import mistake


class File(io.BufferedWriter):
    """A file for writing, which takes the place of `path` when it is closed: for ``torch.save(state, f)`` and the like.

    >>> with stoker.File("model.pt") as f:
    ...     torch.save(model.state_dict(), f)

    Until then the bytes lie in a hidden file beside it, and whatever is at `path` stays as it is. Closing is a sync of the file, a
    rename, and a sync of the directory: then the new one is there, whole, also after a power loss. Where anything fails, or
    the block is left by an exception, or the file is never closed, it is as if nothing had been written. A program that is
    killed meanwhile leaves a hidden file ``.NAME.*.tmp`` at most.

    path: a new file or a regular one, whose mode the new one gets; a symbolic link stays, and what it leads to is replaced.
    One thread at a time; the object is the caller's to close.

    Raises OSError of the call that failed, from write() or from close(), and stoker.Error where `path` is no regular file.
    """

    def __init__(self, path: str | bytes | os.PathLike[Any]) -> None:
        self._temporary = ""
        #: Of a write that failed: nothing of the file is believed any more.
        self.error: OSError | None = None
        given = os.fsdecode(path)
        if not given or given.endswith("/"):
            raise mistake(f"'{given}' is the name of a folder, and not of a file: give the path of a file")
        self._path = os.path.realpath(given)
        mode = None
        with contextlib.suppress(FileNotFoundError):
            mode = os.stat(self._path).st_mode
        if mode is not None and not stat.S_ISREG(mode):
            raise mistake(f"{self._path} is no regular file, and could not take the place of one: give the path of a file")
        self._folder, name = os.path.split(self._path)
        if not os.path.isdir(self._folder):
            raise FileNotFoundError(errno.ENOENT, "there is no such folder: make it first", self._folder)
        name = os.fsdecode(os.fsencode(name)[:200])
        temporary = os.path.join(self._folder, f".{name}.{secrets.token_hex(8)}.tmp")
        super().__init__(io.FileIO(temporary, "xb"), 1 << 20)
        self._temporary, self._process = temporary, os.getpid()
        if mode is not None:
            os.fchmod(self.fileno(), stat.S_IMODE(mode))

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.error = error
            raise

    def close(self) -> None:
        """Puts the file in its place. The second time nothing happens."""
        if not self._temporary:
            return
        try:
            if self.error is not None:
                raise self.error
            self.flush()
            os.fsync(self.fileno())
            super().close()
            os.replace(self._temporary, self._path)
        except BaseException:
            self.discard()
            raise
        self._temporary = ""
        directory = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def discard(self) -> None:
        """Closes it, and nothing has been written."""
        if not self._temporary or self._process != os.getpid():  # a forked child's copy
            return
        temporary, self._temporary = self._temporary, ""
        with contextlib.suppress(OSError, ValueError):  # of what is still to be written
            super().close()
        with contextlib.suppress(OSError):
            os.unlink(temporary)

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        self.discard()


def save(obj: Any, path: str | bytes | os.PathLike[Any], **keywords: Any) -> None:
    """``torch.save(obj, path)``, atomic and durable: see :class:`File`. PyTorch reads it as ever.

    keywords: those of torch.save. Raises what torch.save and File raise; the file that was there is whole then.
    """
    import torch

    with File(path) as file:
        try:
            torch.save(obj, file, **keywords)
        except RuntimeError:  # of PyTorch's writer, about a write that failed
            if file.error is not None:
                raise file.error from None
            raise
