"""What needs PyTorch: imported only where it is asked for."""
from __future__ import annotations

import collections
from typing import Any

import torch

from ._batch import Batch


def pinned(size: int) -> torch.Tensor:
    """Memory from which a GPU copies beside its work."""
    return torch.empty(size, dtype=torch.uint8, pin_memory=torch.cuda.is_available())


class Copies:
    """Copies batches to a device, on a stream of its own where the device has streams."""

    def __init__(self, device: Any) -> None:
        self._device = torch.device(device)
        self._stream = torch.cuda.Stream(self._device) if self._device.type == "cuda" else None
        #: Batches whose memory is still read, with the event after which it is not.
        self._read: collections.deque[tuple[Any, Batch]] = collections.deque()

    def __call__(self, batch: Batch) -> Batch:
        if self._stream is None:
            self._copy(batch, non_blocking=False)
            return batch
        while self._read and self._read[0][0].query():
            self._read.popleft()
        with torch.cuda.stream(self._stream):
            host = self._copy(batch, non_blocking=True)
            event = torch.cuda.Event()
            event.record()
        self._read.append((event, host))
        current = torch.cuda.current_stream(self._device)
        current.wait_event(event)
        for tensor in (batch.images, batch.labels, batch.targets):
            if tensor is not None:
                tensor.record_stream(current)
        return batch

    def _copy(self, batch: Batch, non_blocking: bool) -> Any:
        host = (batch.images, batch.labels, batch.targets)
        batch.images, batch.labels, batch.targets = (
            None if array is None else torch.from_dlpack(array).to(self._device, non_blocking=non_blocking) for array in host
        )
        return host
