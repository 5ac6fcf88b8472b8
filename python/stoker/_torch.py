"""What needs PyTorch: imported only where it is asked for."""
from __future__ import annotations

import collections
import contextlib
from typing import Any

import torch

from . import _core
from ._batch import Batch
from ._safetensors import add
from ._state import DTYPES, mistake

#: Pinned memory through which files reach a GPU.
_RING = 256 << 20


def pinned(size: int) -> torch.Tensor:
    """Memory from which a GPU copies beside its work."""
    return torch.empty(size, dtype=torch.uint8, pin_memory=torch.cuda.is_available())


def device_of(device: Any) -> torch.device:
    """A device of PyTorch's that is there."""
    found = torch.device(device)
    if found.type != "cuda":
        return found
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if (found.index or 0) < count:
        return found
    there = f"PyTorch finds {count} GPUs" if count else "PyTorch finds no GPU: there is no CUDA driver here, or it is a build for CPUs"
    error = _core.Error(f"device {str(device)!r} is not here: {there}; leave `device` out, or name another one")
    error.code = 6
    raise error


class Copies:
    """Copies batches to a device, on a stream of its own where the device has streams."""

    def __init__(self, device: Any) -> None:
        self._device = device_of(device)
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


def load_tensors(files: list[str], device: Any, threads: int, access: str) -> dict[str, Any]:
    """Safetensors files and sets, by name, on a device."""
    device = device_of(device)
    if device.type != "cpu":
        return _through_ring(files, device, threads, access, _RING)
    load = _core.TensorLoad(files, access, threads, None, 0)
    try:
        images = load.images()
        load.finish()
        return _named(images, [_bytes_of(memory) for _, memory, _, _ in images])
    finally:
        load.close()


def _through_ring(files: list[str], device: Any, threads: int, access: str, ring_bytes: int) -> dict[str, Any]:
    load = _core.TensorLoad(files, access, threads, pinned, ring_bytes)
    try:
        images = load.images()
        # Those of a set are in memory already.
        memory = [
            torch.empty(size, dtype=torch.uint8, device=device) if host is None else _bytes_of(host).to(device, copy=True)
            for _, host, size, _ in images
        ]
        pieces = load.pieces()
        on_gpu = device.type == "cuda"
        with torch.cuda.device(device) if on_gpu else contextlib.nullcontext():
            _copy_pieces(load, pieces, memory, torch.cuda.Event if on_gpu else None)
        load.finish()
        return _named(images, memory)
    finally:
        load.close()


def _copy_pieces(load: Any, pieces: list[Any], memory: list[Any], make_event: Any) -> None:
    """Copies each piece when it is in the ring, and frees its place when it is not read any more."""
    if not pieces:
        return
    ring, slots = _bytes_of(load.ring()), load.slots()
    copying: collections.deque[Any] = collections.deque()
    freed = 0
    for number, (image, begin, end) in enumerate(pieces):
        # Half of the ring is to be read into while the other half is copied.
        while copying and (len(copying) >= slots // 2 or copying[0].query()):
            copying.popleft().synchronize()
            freed += 1
            load.free(freed)
        at = load.wait(number)
        memory[image][begin:end].copy_(ring[at : at + end - begin], non_blocking=make_event is not None)
        if make_event is None:
            load.free(number + 1)
            continue
        event = make_event()
        event.record()
        copying.append(event)
    for event in copying:
        event.synchronize()


def _bytes_of(memory: Any) -> Any:
    return torch.from_dlpack(memory) if memoryview(memory).nbytes else torch.empty(0, dtype=torch.uint8)


def _named(images: list[Any], memory: list[Any]) -> dict[str, Any]:
    tensors: dict[str, Any] = {}
    for (path, _, _, rows), whole in zip(images, memory):
        for name, dtype, shape, begin, size in rows:
            kind = getattr(torch, DTYPES[dtype], None)
            if kind is None:
                raise mistake(f"{path}: tensor {name}: this PyTorch has no {DTYPES[dtype]}")
            part = whole[begin : begin + size]
            if begin % torch.empty(0, dtype=kind).element_size():
                part = part.clone()  # its writer did not align it
            add(tensors, path, name, part.view(kind).reshape(shape))
    return tensors
