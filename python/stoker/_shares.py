"""What ranks save together as the tensors of one set, and the metadata of torch.distributed.checkpoint as JSON."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import WriteItem

from ._state import DTYPES, SET_TYPES, as_saved, pack, unpack

#: PyTorch's types that a set has.
_TYPES = {getattr(torch, DTYPES[name]): name for name in SET_TYPES}


class Share(NamedTuple):
    """A part of a tensor, which one rank saves: a box of it."""

    name: str
    dtype: str
    #: Of the tensor.
    size: tuple[int, ...]
    #: Of the box.
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


def share_of(item: WriteItem) -> Share:
    """What an item of a plan says of its tensor."""
    data = item.tensor_data
    dtype = str(data.properties.dtype).removeprefix("torch.")
    return Share(item.index.fqn, dtype, tuple(data.size), tuple(data.chunk.offsets), tuple(data.chunk.sizes))


def empty(dtype: torch.dtype, shape: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Memory for a tensor; and the same as a set has it."""
    memory = torch.empty(shape, dtype=dtype)
    return memory, as_saved(memory)


def box_name(name: str, offsets: Any, sizes: Any) -> str:
    """Of a part of a tensor that is a tensor of the set: ``weight[0:4,8:16]``."""
    return f"{name}[{','.join(f'{begin}:{begin + size}' for begin, size in zip(offsets, sizes))}]"


class Layout(NamedTuple):
    """The tensors of a set, and which bytes of them each rank has."""

    #: name, type as safetensors has it, shape
    tensors: list[tuple[str, str, list[int]]]
    #: place in `tensors`, first byte, bytes, rank; those of a rank in the order in which it named them
    shares: list[tuple[int, int, int, int]]
    #: which of its own a rank saves: those that are not empty
    kept: list[int]


def layout(said: list[list[Share]], rank: int) -> Layout:
    """Of the shares of all ranks. A tensor that the ranks have in rows, one after the other, is one tensor of the set; of any
    other one each share is."""
    by_name: dict[str, list[tuple[int, int, Share]]] = {}
    for owner, shares in enumerate(said):
        for place, share in enumerate(shares):
            if math.prod(share.sizes) or not math.prod(share.size):
                by_name.setdefault(share.name, []).append((owner, place, share))
    result = Layout([], [], [])
    placed: dict[tuple[int, int], tuple[int, int, int]] = {}
    for name, parts in by_name.items():
        dtype = getattr(torch, parts[0][2].dtype)
        size, kind = parts[0][2].size, _TYPES.get(dtype, "U8")
        last = [] if dtype in _TYPES else [dtype.itemsize]
        if not math.prod(size):
            parts = parts[:1]
        # A name that no tensor of a set may have is that of no tensor as a whole: its boxes have others.
        rows = name not in ("", "__metadata__") and _are_rows([(owner, share) for owner, _, share in parts])
        if rows:
            result.tensors.append((name, kind, [*size, *last]))
        begin = 0
        for owner, place, share in parts:
            if not rows:
                begin = 0
                result.tensors.append((box_name(name, share.offsets, share.sizes), kind, [*share.sizes, *last]))
            count = math.prod(share.sizes) * dtype.itemsize
            placed[owner, place] = (len(result.tensors) - 1, begin, count)
            begin += count
    for owner, shares in enumerate(said):
        for place in range(len(shares)):
            if (owner, place) in placed:
                result.shares.append((*placed[owner, place], owner))
                if owner == rank:
                    result.kept.append(place)
    return result


def _are_rows(parts: list[tuple[int, Share]]) -> bool:
    if not math.prod(parts[0][1].size):
        return True
    row, owners = 0, set()
    for owner, share in parts:
        if owner in owners or share.sizes[1:] != share.size[1:] or any(share.offsets[1:]):
            return False
        if share.size and share.offsets[0] != row:
            return False
        owners.add(owner)
        row += share.sizes[0] if share.size else 1
    return row == (parts[0][1].size[0] if parts[0][1].size else 1)


def to_json(metadata: Metadata) -> dict[str, Any]:
    """What a set has to keep of it. stoker.Error where the planner's data is nothing that JSON has."""
    tensors, others = {}, []
    for name, value in metadata.state_dict_metadata.items():
        if isinstance(value, TensorStorageMetadata):
            chunks = [[list(chunk.offsets), list(chunk.sizes)] for chunk in value.chunks]
            dtype = str(value.properties.dtype).removeprefix("torch.")
            tensors[name] = {"dtype": dtype, "size": list(value.size), "chunks": chunks}
        else:
            others.append(name)
    return {"tensors": tensors, "bytes": others, "planner": pack(metadata.planner_data, "planner_data", str, None)}


def from_json(saved: dict[str, Any]) -> Metadata:
    """What to_json() was given, as far as it kept it."""
    values: dict[str, Any] = {name: BytesStorageMetadata() for name in saved["bytes"]}
    for name, tensor in saved["tensors"].items():
        chunks = [ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes)) for offsets, sizes in tensor["chunks"]]
        properties = TensorProperties(dtype=getattr(torch, tensor["dtype"]))
        values[name] = TensorStorageMetadata(properties, torch.Size(tensor["size"]), chunks)
    return Metadata(values, planner_data=unpack(saved["planner"], lambda *_: None, []))
