"""States of training to files and back."""
from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import _core
from ._arguments import whole
from ._loader import as_config
from ._log import note, warn
from ._state import Names, as_bytes, at, dtype_of, fresh, in_place, is_tensor, mistake, of_type, pack, state_of, unpack


class Loaded(NamedTuple):
    """A set in memory."""

    step: int
    #: Its directory.
    path: str
    #: What was saved, by name. Tensors are PyTorch's where it is loaded, else NumPy's.
    state: dict[str, Any]


class Checkpointer:
    """Saves and restores the state of a training program, as Stoker's trainer does.

    >>> saver = stoker.Checkpointer("sets.yaml")
    >>> step = saver.restore(model=model, optimizer=optimizer, loader=loader)     # None: begin at step 0
    >>> saver.save(step, model=model, optimizer=optimizer, loader=loader)
    >>> saver.finish_copy()                                                       # before the next optimizer.step()

    A set is one safetensors file (or several: ``checkpoint.shards``) with a manifest and checksums. It is committed, and
    durable, or not there at all, whenever the process dies. ``checkpoint.type: direct`` writes to one tier,
    ``burst_buffer`` to a fast one and drains to a slow one beside the training; with ``checkpoint.snapshot: async`` a save
    takes no longer than a copy in memory.

    Parameters
    ----------
    config
        The path of a YAML file of Stoker's, or a dict. The sections ``run`` (its name and directory), ``plugins``,
        ``storage`` and ``checkpoint`` count. Without any, sets lie in ``runs/checkpoints/run``.
    overrides
        As on the command line: ``["checkpoint.keep_last=2"]``.

    What is saved is given by name: an object with ``state_dict()`` (a module, an optimizer, a scheduler, a
    :class:`Loader`), or a tree of dicts, lists and tuples whose leaves are tensors (DLPack), numbers, texts, True, False or None. What comes
    back is what was given; what cannot be is refused by its path. The tensors of
    a state have names such as "model.conv1.weight" and "optimizer.conv1.weight.exp_avg". All saves of a Checkpointer have
    the tensors of its first one, so save for the first time when the optimizer has a state.

    One thread at a time. Waits release the GIL. A context manager: leaving it closes it.
    """

    def __init__(
        self, config: str | os.PathLike[str] | Mapping[str, Any] = {}, overrides: Sequence[str] = ()  # noqa: B006
    ) -> None:
        self._config = as_config(config)
        self._overrides = list(overrides)
        self._names: list[str] | None = None
        # Before the first save, one that saves nothing: it says what is wrong with the configuration, and restores.
        self._core = self._open([], [], "latest")
        self._restored = False

    def _open(self, names: list[str], tensors: list[Any], resume: str) -> Any:
        overrides = [*self._overrides, "checkpoint.every_steps=1", f"checkpoint.resume={json.dumps(resume)}"]
        return _core.Checkpointer(self._config, overrides, names, tensors, note, warn)

    def save(self, step: int, /, **parts: Any) -> bool:
        """Saves the state at a step (the number of steps that are done).

        With ``checkpoint.snapshot: sync``, the default, the set is committed on its first tier when this returns. With
        ``async`` it returns when the copy has begun: the tensors must not change before :meth:`finish_copy`. (Those of a
        module that are no parameters are copied at once, for the next forward pass changes them.)

        A step that is saved again takes the place of its set when the new one is whole.

        False: nothing was saved, because all memory for copies is taken (``checkpoint.on_backlog``). A tier that fails does
        not raise: training goes on, the log says so, and :meth:`flush` raises.

        Raises stoker.Error where the tensors are not those of the first save, or are nothing that a set can hold.
        """
        step = whole("step", step, 0)
        names = Names(parts)
        tensors: dict[str, Any] = {}
        values = {
            part: pack(state_of(value, copy_early=True), part, names.of(part, value), tensors)
            for part, value in parts.items()
        }
        arrays = list(tensors.values())
        if self._names is None:
            core, self._core = self._core, self._open(list(tensors), arrays, "none")
            core.close()
            if not self._restored:
                self._core.load()  # sets of another run must not be in the way
            self._names = list(tensors)
        elif self._names != list(tensors):
            added = [name for name in tensors if name not in self._names]
            left = [name for name in self._names if name not in tensors]
            raise mistake(
                "the tensors are not those of the first save: "
                + (f"'{added[0]}' is new" if added else f"'{left[0]}' is missing" if left else "their order is another")
                + ": make another Checkpointer for them"
            )
        return self._core.save(step, arrays, json.dumps({"python": json.dumps(values)}))

    def finish_copy(self) -> None:
        """Waits until no copy reads the tensors of the last save. Then they may change."""
        self._core.finish_copy()

    def restore(self, path: str | os.PathLike[str] | None = None, /, **parts: Any) -> int | None:
        """Puts the newest intact set of all tiers back, or the one at `path`; its step, or None where there is none.

        An object gets its state by ``load_state_dict``. A dict is filled in place: its tensors must be there, with the
        same shape and type, in C order in the host's memory. Parts of the set that are not asked for stay where they are.
        Before the first save. Damaged sets are set aside and named; where `path` names a set, so are newer ones, as
        ``checkpoint.resume`` does.

        Raises stoker.Error where the set lacks a part or a tensor, a target does not fit, or nothing intact is left.
        """
        loaded = self._load(path)
        if loaded is None:
            return None
        values = values_of(loaded)
        for part, target in parts.items():
            if values is None and is_part_of(loaded, part):  # a set of Stoker's trainer
                value = {info[0].removeprefix(f"{part}."): {"$tensor": info[0]}
                         for info in loaded.tensors if info[0].startswith(f"{part}.")}  # fmt: skip
            elif values is not None and part in values:
                value = values[part]
            else:
                raise mistake(f"{loaded.path}: the set has no '{part}': it has {', '.join(values or ['other parts'])}")
            self._restore(loaded, part, value, target)
        return loaded.step

    def load(self, path: str | os.PathLike[str] | None = None, /) -> Loaded | None:
        """The newest intact set, or the one at `path`, in new memory; None where there is none. Before the first save.

        Where `path` names a set, newer ones are set aside, as by :meth:`restore`: the run goes on from that one.
        """
        loaded = self._load(path)
        if loaded is None:
            return None
        places = {info[0]: place for place, info in enumerate(loaded.tensors)}

        def tensor(packed: Any, _: list[Any]) -> Any:
            name = packed["$tensor"]
            memory = fresh(*loaded.tensors[places[name]])
            loaded.copy(places[name], memory)
            return of_type(memory, name, packed.get("dtype"))

        values = values_of(loaded)
        if values is None:
            values = {name: {"$tensor": name} for name in places}
        return Loaded(loaded.step, loaded.path, unpack(values, tensor, []))

    def _load(self, path: str | os.PathLike[str] | None) -> Any:
        if self._names is not None:
            raise mistake("a Checkpointer restores before its first save: make another one")
        if path is not None or self._restored:
            self._core.close()
            self._core = self._open([], [], "latest" if path is None else os.fspath(path))
        self._restored = True
        return self._core.load()

    @staticmethod
    def _restore(loaded: Any, part: str, value: Any, target: Any) -> None:
        makes = hasattr(target, "load_state_dict")
        state = target.state_dict() if makes else target
        tensors = loaded.tensors
        places = {info[0]: place for place, info in enumerate(tensors)}

        def tensor(packed: Any, path: list[Any]) -> Any:
            name, dtype = packed["$tensor"], packed.get("dtype")
            info = tensors[places[name]]
            shape = info[2] if dtype is None else info[2][:-1]
            memory = at(state, path)
            if not is_tensor(memory):
                if not makes:
                    raise mistake(f"'{name}' is in the set, and there is no tensor for it in {part}: give the object itself, "
                                  "whose state is made anew")  # fmt: skip
                memory = None
            elif tuple(memory.shape) != shape:
                raise mistake(f"'{name}' is {shape} in the set, and {tuple(memory.shape)} in {part}")
            elif not in_place(memory):
                if not makes:
                    raise mistake(f"'{name}' of {part} must be in the host's memory, contiguous, in C order, and writable")
                memory = None
            elif dtype is not None and dtype_of(memory) != dtype:
                raise mistake(f"'{name}' is of {dtype} in the set, and of {dtype_of(memory)} in {part}")
            if memory is None:
                memory = fresh(*info)
                loaded.copy(places[name], memory)
                return of_type(memory, name, dtype)
            target = memory.detach() if hasattr(memory, "detach") else memory
            loaded.copy(places[name], target if dtype is None else as_bytes(target))
            return memory

        restored = unpack(value, tensor, [])
        if makes:
            target.load_state_dict(restored)
        else:
            fill(target, restored, part)

    def flush(self) -> None:
        """Waits until every set is durable on its last tier. stoker.Error (code 5) where one is not."""
        self._core.flush()

    def status(self) -> dict[str, Any]:
        """How the sets stand: saved, skipped, failed, saved_step, durable_step, drains_left, set_bytes, last_error."""
        return self._core.status()

    def close(self) -> None:
        """flush(), and ends the threads, also where that raises."""
        core = self._core
        try:
            core.flush()
        finally:
            core.close()

    def __enter__(self) -> Checkpointer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._core.close()


def values_of(loaded: Any) -> Any:
    """What save() was given, by part, as pack() has it; None: the set is of Stoker's trainer."""
    values = json.loads(loaded.values).get("python")
    return json.loads(values) if isinstance(values, str) else values  # a set of an earlier release has no text here


def is_part_of(loaded: Any, part: str) -> bool:
    return any(info[0].startswith(f"{part}.") for info in loaded.tensors)


def fill(target: Any, restored: Any, part: str) -> None:
    """Puts what is no tensor into a dict or list; tensors are in place already."""
    if isinstance(target, list):
        target[:] = restored
    elif isinstance(target, dict):
        for key, value in restored.items():
            if isinstance(value, dict) and type(target.get(key)) is type(value):
                fill(target[key], value, part)
            elif not is_tensor(value):
                target[key] = value
    elif not is_tensor(target):
        raise mistake(f"{part}: give an object with load_state_dict, or a dict that can be filled, and not a "
                      f"{type(target).__name__}")  # fmt: skip
