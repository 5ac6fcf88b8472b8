"""What a loader gives."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ._array import Array


class Skipped(NamedTuple):
    """A bad sample, and the one that stands in its place (``dataset.on_error.policy: skip``)."""

    key: str
    #: missing, empty, not_an_image, truncated, corrupt, too_large or unsupported
    reason: str
    message: str
    replaced_by: str


class Tolerated(NamedTuple):
    """A damaged sample that was decoded all the same."""

    key: str
    message: str


class Batch:
    """A batch of samples; ``images, labels = batch`` unpacks it.

    images
        :class:`Array` [N, H, W, C] of uint8 (levels from 0 to 255), or with ``decoder.output: float32`` [N, C, H, W]
        of float32, normalised. With ``device`` a tensor of PyTorch's on that device.
    labels
        :class:`Array` [N] of int64: places in :attr:`Loader.classes`.
    targets
        :class:`Array` [N, H, W] of uint8, the class of each pixel, where samples have maps; else None. Where there
        are maps, ``images, targets = batch`` unpacks them.
    epoch, index
        The epoch, and the number of the batch in it, both from 0.
    size, whole
        Samples of this rank, and of all ranks. ``filler`` is true where nothing is left of the batch for this rank: its
        one sample is another rank's, and counts nowhere.
    skipped, tolerated
        Lists of :class:`Skipped` and :class:`Tolerated`. Empty in nearly all batches.
    digest, digests
        With ``loader.digest: true``, the batch's row in the program's digests.csv, and 16 bytes (XXH3-128) for each
        sample and its label: those of all ranks, one behind the other, are those of the whole batch. Else empty.
    read_s, decode_s, bytes_read
        What the batch cost its workers, summed over threads: seconds, and encoded bytes.
    """

    __slots__ = ("_made", "images", "labels", "targets")

    def __init__(self, made: Any) -> None:
        self._made = made
        self.images: Any = Array(made.images)
        self.labels: Any = Array(made.labels)
        targets = made.targets
        self.targets: Any = None if targets is None else Array(targets)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.images, self.labels if self.targets is None else self.targets))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, place: int) -> Any:
        return tuple(self)[place]

    @property
    def skipped(self) -> list[Skipped]:
        return [Skipped(*row) for row in self._made.skipped]

    @property
    def tolerated(self) -> list[Tolerated]:
        return [Tolerated(*row) for row in self._made.tolerated]

    epoch: int = property(lambda self: self._made.epoch)  # type: ignore[assignment]
    index: int = property(lambda self: self._made.index)  # type: ignore[assignment]
    size: int = property(lambda self: self._made.size)  # type: ignore[assignment]
    whole: int = property(lambda self: self._made.whole)  # type: ignore[assignment]
    filler: bool = property(lambda self: self._made.filler)  # type: ignore[assignment]
    digests: bytes = property(lambda self: self._made.digests)  # type: ignore[assignment]
    digest: str = property(lambda self: self._made.digest)  # type: ignore[assignment]
    read_s: float = property(lambda self: self._made.read_s)  # type: ignore[assignment]
    decode_s: float = property(lambda self: self._made.decode_s)  # type: ignore[assignment]
    bytes_read: int = property(lambda self: self._made.bytes_read)  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"stoker.Batch(epoch={self.epoch}, index={self.index}, size={self.size})"
