"""dcp.save and dcp.async_save to sets of Stoker's."""
from __future__ import annotations

import base64
import collections
import contextlib
import copy
import json
import os
import pickle
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta
from torch.distributed.checkpoint.planner import WriteItem, WriteItemType
from torch.distributed.checkpoint.staging import AsyncStager
from torch.distributed.checkpoint.storage import WriteResult
from torch.futures import Future

from . import _core
from ._loader import as_config
from ._log import warn
from ._opening import Attempt, Opening
from ._ranks import LOADED, Ranks
from ._shares import Share, layout, to_json
from ._staged import PATIENCE_S, Staged, copied, names_of, shares_of
from ._state import as_saved, mistake, step_of


class StorageWriter(dcp.StorageWriter, AsyncStager):
    """Writes the sets of all ranks for ``dcp.save`` and ``dcp.async_save``.

    A set is a directory ``step-0000000020`` with a safetensors file for each rank and a manifest, which is written last. A tensor
    that ranks have in rows (FSDP2) is one tensor of the set, with rows in each file; of any other sharding each shard is a
    tensor, called ``weight[0:4,8:16]``. What is no tensor lies in the manifest, as do the chunks of DCP's plan.

    Parameters
    ----------
    config, overrides
        As of :class:`stoker.Checkpointer`, the same on all ranks: type ``direct`` or ``burst_buffer``, tiers, retention. The last
        tier is one that all ranks see.
    process_group
        That of ``dcp.save``. None: all ranks.

    ``dcp.save`` returns when the set is committed. ``dcp.async_save`` returns when the state was copied, and its future is done when
    the set is committed; its first call copies the state twice. With ``checkpoint.snapshot: async`` both return before the copy is
    made, and the state must not change before :meth:`finish_copy`: call that before ``optimizer.step()``.

    The step is ``checkpoint_id`` (a number, or a path that ends in one); or :meth:`at`, which ``async_save`` needs; or one more than
    that of the last set. A step that is saved again takes the place of its set when the new one is whole. At the first save all
    sets are set aside that are newer than the one which a StorageReader of this configuration has loaded in this program, or of
    that step and later ones: they are of a history that this training does not repeat. All saves have the tensors of the first one, so save first when the optimizer has a state.

    **A tier that fails or hangs ends no training.** The save is lost, on all ranks, and the next one is tried; the logger "stoker"
    says so, and so do ``lost`` and ``last_error``. What does raise is stoker.Error for a mistake: in the configuration, or tensors
    that are not those of the first save.

    Make a writer once, after ``init_process_group``, on all ranks. One save at a time. Tensors on a device are copied to the host
    first. A context manager: leaving it closes it.
    """

    def __init__(
        self,
        config: str | os.PathLike[str] | Mapping[str, Any] = {},  # noqa: B006
        overrides: Sequence[str] = (),
        *,
        process_group: Any = None,
    ) -> None:
        self._config, self._overrides = as_config(config), list(overrides)
        self._sets = _core.Sets(self._config, self._overrides, warn)
        self._beside_training = self._sets.snapshot == "async"
        self._ranks = Ranks("writer", process_group)
        self._opening: Opening | None = None
        self._core: Any = None  # of all ranks, or of none
        self._ended_status: dict[str, Any] = {}
        self._lock = threading.RLock()  # for self._core: stage() and write_data() are of two threads
        self._asked_step: int | None = None
        self._last_step: int | None = None
        self._staged: collections.deque[Staged] = collections.deque()
        self._writing = threading.Lock()  # one save at a time
        # Of the last plan:
        self._planner: Any = None  # without a state
        self._names: dict[str, bool] = {}  # and whether they are tensors
        self._items: list[WriteItem] = []
        self._shares: list[list[Share] | None] = []  # of all ranks; the first one knows them
        self._kept: list[int] = []
        self._metadata = "{}"
        self._pickled: dict[str, tuple[bytes, str]] = {}
        self._unopened, self._error = 0, ""
        self._closed = False

    # For users.

    def at(self, step: int) -> StorageWriter:
        """This writer, whose next save is of that step: ``dcp.async_save(state, storage_writer=writer.at(step))``."""
        self._asked_step = step
        return self

    def finish_copy(self) -> None:
        """Waits until no copy reads the state of the last save. Then it may change."""
        if self._core is not None:
            with self._lock:
                self._core.finish_copy()

    @property
    def lost(self) -> int:
        """How many saves failed."""
        return self._unopened + self.status().get("failed", 0)

    @property
    def last_error(self) -> str:
        """Why the last of these did."""
        return self.status().get("last_error") or self._error

    def status(self) -> dict[str, Any]:
        """As stoker.Checkpointer.status(): of this process, since all tiers first answered; {} before."""
        if self._core is None:
            return self._ended_status
        with self._lock:
            return self._core.status()

    def flush(self) -> bool:
        """Waits until every set is on its last tier, but not for one that hangs. False: a save was lost, or such a set is not
        there, and the log has said why."""
        if self._core is None:
            return self._unopened == 0
        try:
            with self._lock:
                self._core.flush()
        except _core.Error as error:
            warn(str(error))
        return self.lost == 0 and self.status()["drains_left"] == 0 and not self.status()["hung"]

    def close(self) -> bool:
        """flush(), and ends the threads. Before, wait for the futures of ``async_save``: what it has not begun is lost."""
        complete = self.flush()
        self._closed = True
        if self._core is not None:
            self._ended_status = self.status()
            core, self._core = self._core, None
            core.close()
        if self._opening is not None:
            self._opening.end()
        return complete

    def __enter__(self) -> StorageWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # For dcp.async_save, on the trainer's thread.

    @property
    def should_synchronize_after_execute(self) -> bool:
        return not self._beside_training

    def stage(self, state_dict: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Begins the save by the plan of the last one. Where there is none, or the state has other parts, copies the state."""
        self._ranks.join()
        self._end_refused()
        staged = Staged(None)
        if self._core is not None:
            planner = copy.copy(self._planner)
            planner.set_up_planner(state_dict, storage_meta=self.storage_meta(), is_coordinator=self._ranks.rank == 0)
            staged.step = self._take_step()
            if names_of(planner) == self._names:
                staged.early = True
                try:
                    staged.begun = self._begin(staged.step, planner)
                except Exception as error:  # noqa: BLE001  write_data() raises it, where DCP tells all ranks
                    staged.error = error
                self._staged.append(staged)
                return copied(state_dict, lambda value: value)
        else:
            staged.step, self._asked_step = self._asked_step, None
        self._staged.append(staged)
        return copied(state_dict, lambda value: value.detach().clone() if torch.is_tensor(value) else copy.deepcopy(value))

    def synchronize_staging(self) -> None:
        self.finish_copy()

    # For dcp.save, in its order.

    def reset(self, checkpoint_id: str | os.PathLike[str] | int | None = None) -> None:
        staged = self._staged_here()
        if checkpoint_id is None:
            return
        step = step_of(checkpoint_id)
        if staged is None:
            self._asked_step = step
        elif not staged.early:
            staged.step = step
        elif staged.step != step:
            raise mistake(f"async_save had begun step {staged.step} when it was told of checkpoint_id {checkpoint_id}: say it before, by "
                          "storage_writer=writer.at(step)")  # fmt: skip

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(checkpoint_id=str(self._asked_step or ""))

    def set_up_storage_writer(self, is_coordinator: bool, *_: Any, **kwargs: Any) -> None:
        self._staged_here()
        if not kwargs.get("use_collectives", True):
            raise mistake("use_collectives=False writes sets without one manifest for all ranks: leave it at True")

    def prepare_local_plan(self, plan: dcp.SavePlan) -> dcp.SavePlan:
        return plan

    def prepare_global_plan(self, plans: list[dcp.SavePlan]) -> list[dcp.SavePlan]:
        # Here and not in write_data, so that it is an error of all ranks.
        if len(plans) != self._ranks.world:
            if self._core is not None or self._opening is not None or len(plans) != 1:
                raise mistake(f"{len(plans)} ranks save, and this StorageWriter is for {self._ranks.world}: give dcp.save the same "
                              "process_group, and make a StorageWriter of its own for no_dist=True")  # fmt: skip
            self._ranks = Ranks("writer", alone=True)  # no_dist=True
        shares = [shares_of(plan) if getattr(plan, "usable", True) else None for plan in plans]
        if self._core is None:
            self._shares = shares
        elif any(new not in (None, first) for new, first in zip(shares, self._shares)):
            raise mistake("the tensors are not those of the first save: make another StorageWriter for them")
        return plans

    def write_data(self, plan: dcp.SavePlan, planner: dcp.SavePlanner) -> Future[list[WriteResult]]:
        asynchronous = bool(self._staged)
        with self._writing:
            staged = self._staged.popleft() if self._staged else Staged(None)
            if staged.error is not None:
                raise staged.error
            if not staged.early:
                self._write(staged, plan, planner)
                if staged.begun and (asynchronous or not self._beside_training):
                    self.finish_copy()
        if staged.begun and (asynchronous or not self._beside_training):
            self._wait(staged.step)
        done: Future[list[WriteResult]] = Future()
        done.set_result([WriteResult(item.index, 0, None) for item in plan.items])
        return done

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        metadata.storage_meta = self.storage_meta()

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        try:
            return step_of(checkpoint_id) >= 0
        except _core.Error:
            return False

    # Inside.

    def _staged_here(self) -> Staged | None:
        """What stage() was asked for and this thread saves now. None: a save begins that is not staged."""
        here = threading.current_thread()
        staged = next((each for each in self._staged if each.saver in (here, None)), None)
        if staged is None or (staged.saver is None and staged.stager is here):
            self._end_refused()
            return None
        staged.saver = here
        return staged

    def _end_refused(self) -> None:
        """Waits until a save that stage() was asked for is in the engine. One that DCP has refused meanwhile ends here: other
        ranks may have begun it."""
        give_up = time.monotonic() + PATIENCE_S
        while self._staged and time.monotonic() < give_up:
            if (saver := self._staged[0].saver) is not None and not saver.is_alive():
                break
            time.sleep(1e-3)
        while self._staged:
            staged = self._staged.popleft()
            if self._core is not None and not staged.early and staged.step is not None:
                self._leave_out(staged.step)

    def _leave_out(self, step: int) -> None:
        """This rank has nothing to save of that step, so that no rank waits for it."""
        with self._lock:
            self._core.leave_out(step)

    def _write(self, staged: Staged, plan: dcp.SavePlan, planner: dcp.SavePlanner) -> None:
        """Begins a save by its plan."""
        if not isinstance(planner, DefaultSavePlanner):
            raise mistake(f"a set needs what DCP's DefaultSavePlanner keeps: derive {type(planner).__name__} from it")
        step = staged.step
        if step is None or self._core is None:
            self._asked_step = step if step is not None else self._asked_step
            step = self._take_step()
        if self._core is None:
            step, self._core = self._open(step, shares_of(plan))
        staged.step = self._last_step = step
        try:
            self._plan(plan, planner)
        except BaseException:
            if self._core is not None:
                self._leave_out(step)
            raise
        staged.begun = self._core is not None and self._begin(step, planner)

    def _take_step(self) -> int | None:
        """The step of the save that begins. None: one more than that of the newest set, which the first rank knows."""
        step, self._asked_step = self._asked_step, None
        if step is None and self._last_step is not None:
            step = self._last_step + 1
        if step is not None:
            self._last_step = step
        return step

    def _plan(self, plan: dcp.SavePlan, planner: DefaultSavePlanner) -> None:
        """Takes over what is saved now."""
        self._items, self._names = list(plan.items), names_of(planner)
        self._planner = copy.copy(planner)
        self._planner.state_dict = {}
        if self._ranks.rank == 0:
            self._metadata = json.dumps({"dcp": json.dumps(to_json(planner.metadata))})

    def _open(self, step: int | None, shares: list[Share]) -> tuple[int, Any]:
        """Makes the engine of all ranks. The step, and None where it could not be made: this save is lost."""
        newest, why = 0, ""
        if self._ranks.rank == 0 and step is None:
            listing = Attempt(self._sets.steps)
            why = listing.wait(self._sets.hang_seconds)
            newest = 0 if why else max(listing.value, default=0)
        if self._closed:
            raise mistake("this StorageWriter is closed")
        told = self._ranks.meet("plan", json.dumps({"newest": newest, "why": why, "shares": shares}))
        said = [json.loads(text) for text in told]
        self._last_step = step = said[0]["newest"] + 1 if step is None else step
        core, why = None, said[0]["why"]
        if not why:
            if self._opening is None:
                whole = layout([[Share(*share) for share in rank["shares"]] for rank in said], self._ranks.rank)
                self._kept = whole.kept
                self._opening = Opening(self._config, self._overrides, self._ranks, whole, self._goes_on_from(step))
            core, why = self._opening.result(self._sets.hang_seconds)
            if core is None and self._opening.failed:
                self._opening.end()
                self._opening = None
        if core is None:
            self._unopened += 1
            self._error = why
            warn(f"checkpoint of step {step} is lost: {why}")
        return step, core

    def _goes_on_from(self, step: int) -> int:
        """The set that this training began with: sets between it and `step` are not of its history."""
        return min(step - 1, LOADED.get(repr(self._config), step - 1))

    def _begin(self, step: int, planner: dcp.SavePlanner) -> bool:
        """Hands what this rank saves to the engine. False: it leaves this one out, and has said why. What it raises is of this
        rank, and no rank saves this step then."""
        try:
            tensors = [item for item in self._items if item.type != WriteItemType.BYTE_IO]
            others = {item.index.fqn: self._text_of(item, planner) for item in self._items if item.type == WriteItemType.BYTE_IO}
            arrays = [as_saved(planner.resolve_data(tensors[place])) for place in self._kept]
            with self._lock:
                return self._core.save(step, arrays, self._metadata, json.dumps(others))
        except BaseException:
            self._leave_out(step)
            raise

    def _text_of(self, item: WriteItem, planner: dcp.SavePlanner) -> str:
        """A value that is no tensor, as DCP writes it (torch.save), in base64; made anew where it has changed."""
        pickled = b""
        with contextlib.suppress(Exception):  # whatever class it is: torch.save may have another way
            pickled = pickle.dumps(planner.lookup_object(item.index))
        before, text = self._pickled.get(item.index.fqn, (b"", ""))
        if not pickled or pickled != before:
            text = base64.b64encode(planner.resolve_data(item).getbuffer()).decode()
            self._pickled[item.index.fqn] = (pickled, text)
        return text

    def _wait(self, step: int) -> None:
        """Until the set is committed or lost, but not for a tier that hangs."""
        pause = 1e-3
        while True:
            status = self.status()
            if status["saves_left"] == 0:
                return
            if status["hung"]:
                warn(f"checkpoint of step {step}: its tier does not answer; the training goes on")
                return
            time.sleep(pause)
            pause = min(2 * pause, 2e-2)
