"""A save that dcp.async_save has begun to stage, and what of a state and of a plan it needs."""
from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner

from ._shares import Share, share_of

#: Seconds that a save which DCP may have refused keeps the next one waiting.
PATIENCE_S = 60


@dataclasses.dataclass(eq=False)
class Staged:
    """A save that stage() was asked for."""

    step: int | None
    #: By stage(), and not by write_data().
    early: bool = False
    #: The engine has something to write.
    begun: bool = False
    error: Exception | None = None
    #: The threads that called stage() and that call what comes after it.
    stager: threading.Thread = dataclasses.field(default_factory=threading.current_thread)
    saver: threading.Thread | None = None


def names_of(planner: DefaultSavePlanner) -> dict[str, bool]:
    """What a state has, by names; and whether these are tensors."""
    return {name: torch.is_tensor(value) for name, value in planner.state_dict.items()}


def shares_of(plan: dcp.SavePlan) -> list[Share]:
    return [share_of(item) for item in plan.items if item.tensor_data is not None]


def copied(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """The tree with containers of its own, which nobody else changes."""
    if isinstance(value, Mapping):
        return {key: copied(below, leaf) for key, below in value.items()}
    if type(value) in (list, tuple):
        return type(value)(copied(below, leaf) for below in value)
    return leaf(value)
