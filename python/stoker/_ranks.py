"""The ranks of a training in PyTorch, which meet at its store."""
from __future__ import annotations

import atexit
import collections
import hashlib
import os
import threading
import time
from typing import Any

from ._state import mistake

#: Seconds between two looks into the store: the first, and the most.
_FIRST_LOOK, _LAST_LOOK = 2e-4, 2e-2

#: Bytes of a value in the store. PyTorch's TCPStore closes the connection of a rank that sends 8 MiB at once.
_PIECE = 1 << 19


#: The steps of the sets that this program has loaded, by their configuration.
LOADED: dict[str, int] = {}


class Ranks:
    """The ranks of a process group (None: of all), as one of them. Without a process group, or `alone`: one rank.

    At a meeting every rank says something and hears what all have said. All ranks have their first meetings by as many of
    these of a `kind`, in the same order. A channel belongs to one thread, and all ranks have the same meetings there.
    """

    _joined: collections.Counter[str] = collections.Counter()

    def __init__(self, kind: str, group: Any = None, alone: bool = False) -> None:
        import torch.distributed as dist

        self.rank, self.world = 0, 1
        #: How often an engine was made for them.
        self.openings = 0
        self._numbers: collections.Counter[str] = collections.Counter()
        self._before: dict[str, list[str]] = {}
        self._store: Any = None
        if alone or not (dist.is_available() and dist.is_initialized()):
            return
        group = group or dist.group.WORLD
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        members = hashlib.sha256(repr(dist.get_process_group_ranks(group)).encode()).hexdigest()[:16]
        # torchrun may give ranks that it starts again the store of the life before.
        life = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        self._place = f"stoker/{life}/{members}/{kind}"
        #: How long a rank waits for the others: the time that the process group was given.
        self.patience_s = dist.distributed_c10d._get_default_store().timeout.total_seconds()

    def join(self) -> None:
        """Before the first meeting, which does it where nobody has."""
        import torch.distributed as dist

        if self.world > 1 and self._store is None:
            self._joined[self._place] += 1
            self._store = dist.PrefixStore(
                f"{self._place}/{self._joined[self._place]}", dist.distributed_c10d._get_default_store()
            )

    def meet(self, channel: str, own: str) -> list[str]:
        """What the ranks say there, in their order. Waits for all. stoker.Error: one of them does not come."""
        if self.world == 1:
            return [own]
        meeting = self.begin(channel, own)
        pause = _FIRST_LOOK
        give_up = time.monotonic() + self.patience_s
        while (said := meeting.look()) is None:
            if time.monotonic() > give_up:
                raise mistake(
                    f"rank {meeting.missing} has not come to '{channel}' of stoker.dcp within {self.patience_s:g} s: all ranks "
                    "of the process group have to make the same saves and loads, in the same order"
                )
            time.sleep(pause)
            pause = min(2 * pause, _LAST_LOOK)
        return said

    def begin(self, channel: str, own: str) -> Meeting:
        """A meeting of which somebody else looks for the end."""
        self.join()
        number, self._numbers[channel] = self._numbers[channel], self._numbers[channel] + 1
        meeting = Meeting(self._store, f"{channel}/{number}", self.rank, self.world, own, self._before.get(channel))
        self._before[channel] = meeting.own_keys
        return meeting


def _put(store: Any, key: str, value: bytes) -> list[str]:
    """A value of any size, which is there when its key is. Its keys in the store."""
    keys = [key]
    for number, begin in enumerate(range(_PIECE, len(value), _PIECE), 1):
        keys.append(f"{key}.{number}")
        store.set(keys[-1], value[begin : begin + _PIECE])
    store.set(key, f"{len(keys)}:".encode() + value[:_PIECE])
    return keys


def _get(store: Any, key: str) -> bytes:
    pieces, _, first = store.get(key).partition(b":")
    return first + b"".join(store.get(f"{key}.{number}") for number in range(1, int(pieces)))


class Meeting:
    """One meeting: who has said something so far."""

    def __init__(self, store: Any, key: str, rank: int, world: int, own: str, before: list[str] | None) -> None:
        self._store, self._key, self._world, self._before = store, key, world, before
        self._said: list[str] = []
        self.own_keys = _put(store, f"{key}/{rank}", own.encode())

    @property
    def missing(self) -> int:
        """The first rank that has said nothing yet."""
        return len(self._said)

    def look(self) -> list[str] | None:
        """What all have said; None: not all have. Does not wait for them."""
        while len(self._said) < self._world:
            key = f"{self._key}/{len(self._said)}"
            if not self._store.check([key]):
                return None
            self._said.append(_get(self._store, key).decode())
        if self._before is not None:  # all are here, so all have heard what was said before
            for key in self._before:
                self._store.delete_key(key)
            self._before = None
        return self._said


class Service:
    """A thread that holds the meetings of the engine's threads, until end()."""

    def __init__(self, ranks: Ranks, meetings: Any, name: str) -> None:
        self._ranks, self._meetings, self._name = ranks, meetings, name
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="stoker-ranks", daemon=True)
        self._thread.start()
        atexit.register(self.end)  # before the interpreter goes

    def end(self) -> None:
        self._ended = True
        self._thread.join(1)
        atexit.unregister(self.end)

    def _run(self) -> None:
        under_way: dict[str, Meeting] = {}
        pause = _LAST_LOOK
        try:
            while not self._ended:
                for channel, own in self._meetings.asked(pause if under_way else 0.1):
                    under_way[channel] = self._ranks.begin(f"{self._name}/{channel}", own)
                    pause = 1e-3
                for channel, meeting in list(under_way.items()):
                    said = meeting.look()
                    if said is not None:
                        del under_way[channel]
                        self._meetings.answer(channel, said)
                pause = min(2 * pause, _LAST_LOOK)
        except Exception as error:  # noqa: BLE001  of the store: its host is gone
            self._meetings.fail(f"the ranks' store: {error}")
