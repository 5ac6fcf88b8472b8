"""dcp.load from sets of Stoker's, and their export."""
from __future__ import annotations

import base64
import io
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata
from torch.distributed.checkpoint.planner import LoadItemType, WriteItem
from torch.futures import Future

from . import _core
from ._loader import as_config
from ._log import warn
from ._ranks import LOADED, Ranks
from ._shares import box_name, empty, from_json
from ._state import mistake, step_of


class _Saved:
    """A set that StorageWriter wrote, as DCP sees it."""

    def __init__(self, core: Any) -> None:
        values = json.loads(core.values)
        if "dcp" not in values:
            raise mistake(f"{core.path} was not saved by torch.distributed.checkpoint: stoker.Checkpointer restores it")
        self.core = core
        said = values["dcp"]
        self.metadata = from_json(json.loads(said) if isinstance(said, str) else said)  # earlier releases have no text here
        self._others = {name: text for part in values.get("parts", []) for name, text in (part or {}).items()}
        self._places = {row[0]: place for place, row in enumerate(core.tensors)}

    def stream(self, name: str) -> io.BytesIO:
        """What is no tensor, as torch.save wrote it."""
        return io.BytesIO(base64.b64decode(self._others[name]))

    def box(self, name: str, chunk: Any, offsets: Sequence[int], lengths: Sequence[int]) -> torch.Tensor:
        """A part of a chunk of a tensor."""
        whole = self.metadata.state_dict_metadata[name]
        if name in self._places:
            saved, shape, first = name, list(whole.size), [a + b for a, b in zip(chunk.offsets, offsets)]
        else:
            saved, shape, first = box_name(name, chunk.offsets, chunk.sizes), list(chunk.sizes), list(offsets)
        if shape:
            shape[0] = lengths[0]  # of its rows no others are read
        memory, as_saved = empty(whole.properties.dtype, shape)
        begin = first[0] * (memory.nbytes // shape[0]) if memory.nbytes and shape else 0
        self.core.copy(self._places[saved], as_saved, begin)
        columns = [slice(at, at + length) for at, length in zip(first[1:], lengths[1:])]
        return memory[(slice(None), *columns)] if shape else memory


def _no_dist() -> bool:
    """Whether ``dcp.load(no_dist=True)`` calls: DCP tells a reader nothing of it, and only its caller's frame has it."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "load" and frame.f_globals.get("__name__") == dcp.load.__module__:
            return bool(frame.f_locals.get("no_dist"))
        frame = frame.f_back  # type: ignore[assignment]
    return False


class StorageReader(dcp.StorageReader):
    """Reads the sets of :class:`StorageWriter` for ``dcp.load``, on as many ranks as there are now.

    Parameters
    ----------
    config, overrides
        Those of the writer.
    process_group
        That of ``dcp.load``. None: all ranks.

    ``checkpoint_id`` is a step, or the path of a set; without it the newest intact set is read. Before anything is loaded
    every byte of the set is verified, each rank reading a part of its files; a damaged set is named in the log, and the one
    before it is taken. Each rank has in memory those files that it verified or needs. Sets that lie on a node's own tier
    alone are found where all ranks see that tier.

    :meth:`newest` says whether there is a set. ``step`` is that of the last load. Values that are no tensors are unpickled by
    DCP's planner, as those of its own files: load what you trust.

    Raises stoker.Error (in DCP's CheckpointException, where another rank had it) where there is no set, or none is intact.
    """

    def __init__(
        self,
        config: str | os.PathLike[str] | Mapping[str, Any] = {},  # noqa: B006
        overrides: Sequence[str] = (),
        *,
        process_group: Any = None,
    ) -> None:
        self._config = as_config(config)
        self._sets = _core.Sets(self._config, list(overrides), warn)
        self._ranks = Ranks("reader", process_group)
        self._now = self._ranks  # of the load under way
        self._asked: str | int | None = None
        self._saved: _Saved | None = None
        self.step: int | None = None

    def newest(self) -> int | None:
        """The step of the newest set, intact or not; None: there is none. For one rank by itself."""
        return max(self._sets.steps(), default=None)

    def reset(self, checkpoint_id: str | os.PathLike[str] | int | None = None) -> None:
        self._saved = None
        self._asked = None
        if checkpoint_id is not None:
            is_path = not isinstance(checkpoint_id, int) and os.path.isdir(checkpoint_id)
            self._asked = os.path.abspath(checkpoint_id) if is_path else step_of(checkpoint_id)

    def read_metadata(self, *_: Any, **kwargs: Any) -> Metadata:
        self._now = Ranks("reader", alone=True) if _no_dist() else self._ranks
        steps = json.loads(self._now.meet("steps", self._own_steps())[0])
        if isinstance(steps, str):
            raise mistake(steps)
        for step in steps if self._asked is None else [self._asked]:
            why = self._verify(step)
            if not why:
                break
            if self._asked is not None:
                raise mistake(why)
            warn(f"checkpoint not used: {why}")
        else:
            raise mistake("there is no checkpoint" if not steps else f"none of the {len(steps)} checkpoints is intact")
        self.step = LOADED[repr(self._config)] = self._saved.core.step
        return self._saved.metadata

    def _own_steps(self) -> str:
        if self._asked is not None or self._now.rank != 0:
            return "[]"
        try:
            return json.dumps(sorted(self._sets.steps(), reverse=True))
        except _core.Error as error:
            return json.dumps(str(error))

    def _verify(self, which: str | int) -> str:
        """Opens a set, and reads this rank's part of it. Empty: it is intact, as all ranks say; else why it is not."""
        why = ""
        try:
            self._saved = _Saved(_core.open_set(which) if isinstance(which, str) else self._sets.open(which))
            files, ranks = self._saved.core.files, self._now
            self._saved.core.read(list(range(files * ranks.rank // ranks.world, files * (ranks.rank + 1) // ranks.world)))
        except _core.Error as error:
            why = str(error)
        return next(filter(None, self._now.meet("verified", why)), "")

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *_: Any, **kwargs: Any) -> None:
        pass

    def prepare_local_plan(self, plan: dcp.LoadPlan) -> dcp.LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[dcp.LoadPlan]) -> list[dcp.LoadPlan]:
        return plans

    def read_data(self, plan: dcp.LoadPlan, planner: dcp.LoadPlanner) -> Future[None]:
        saved, self._saved = self._saved, None  # its memory goes when all is read
        for item in plan.items:
            name, offset = item.storage_index.fqn, item.storage_index.offset
            if item.type == LoadItemType.BYTE_IO:
                planner.load_bytes(item, saved.stream(name))
                continue
            chunks = saved.metadata.state_dict_metadata[name].chunks
            chunk = next(chunk for chunk in chunks if offset is None or chunk.offsets == offset)
            target = planner.resolve_tensor(item).detach()
            target.copy_(saved.box(name, chunk, item.storage_offsets, item.lengths))
            planner.commit_tensor(item, target)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        try:
            return os.path.isdir(checkpoint_id) or step_of(checkpoint_id) >= 0
        except _core.Error:
            return False


class _AsSaved(DefaultSavePlanner):
    """A plan of values as a set has them, under the names that they had in the state."""

    def __init__(self, metadata: Metadata) -> None:
        super().__init__(flatten_state_dict=False)
        self._planner_data = metadata.planner_data

    def create_global_plan(self, all_plans: list[dcp.SavePlan]) -> tuple[list[dcp.SavePlan], Metadata]:
        plans, metadata = super().create_global_plan(all_plans)
        metadata.planner_data = self._planner_data
        return plans, metadata

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:  # noqa: A002
        return object


def export(path: str | os.PathLike[str], directory: str | os.PathLike[str]) -> None:
    """Writes a set as a checkpoint of DCP's own (``.metadata``, ``.distcp``), which ``dcp.load`` reads without Stoker.

    path: of a ``step-...`` directory that :class:`StorageWriter` wrote. directory: is made; it must be empty. For one process
    without a process group, whose memory holds the whole state. Every byte is verified.

    Raises stoker.Error where the set is damaged or not DCP's, and what DCP raises where the directory cannot be written.
    """
    if dist.is_available() and dist.is_initialized():
        raise mistake("export() is for a program without a process group: call it before init_process_group, or elsewhere")
    saved = _Saved(_core.open_set(os.path.abspath(path)))
    state: dict[str, Any] = {}
    for name, value in saved.metadata.state_dict_metadata.items():
        if not isinstance(value, TensorStorageMetadata):
            state[name] = saved.stream(name)
            continue
        state[name] = torch.empty(value.size, dtype=value.properties.dtype)
        for chunk in value.chunks:
            place = tuple(slice(at, at + size) for at, size in zip(chunk.offsets, chunk.sizes))
            state[name][place] = saved.box(name, chunk, [0] * len(chunk.sizes), chunk.sizes)
    dcp.save(state, storage_writer=dcp.FileSystemWriter(directory), planner=_AsSaved(saved.metadata))
