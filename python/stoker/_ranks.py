"""The ranks of a training in PyTorch, which meet at its store."""
from __future__ import annotations

import atexit
import collections
import hashlib
import os
import threading
import time
from typing import Any

#: Seconds between two looks into the store: the first, and the most.
_FIRST_LOOK, _LAST_LOOK = 2e-4, 2e-2


#: The steps of the sets that this program has loaded, by their configuration.
LOADED: dict[str, int] = {}


class Ranks:
    """The ranks of a process group (None: of all), as one of them. Without a process group: one rank.

    All make as many of these, in the same order. At a meeting every rank says something and hears what all have said. A channel
    belongs to one thread, and all ranks have the same meetings there.
    """

    _made: collections.Counter[str] = collections.Counter()

    def __init__(self, group: Any = None) -> None:
        import torch.distributed as dist

        self.rank, self.world = 0, 1
        #: How often an engine was made for them.
        self.openings = 0
        self._numbers: collections.Counter[str] = collections.Counter()
        self._before: dict[str, str] = {}
        if not (dist.is_available() and dist.is_initialized()):
            return
        group = group or dist.group.WORLD
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        members = hashlib.sha256(repr(dist.get_process_group_ranks(group)).encode()).hexdigest()[:16]
        self._made[members] += 1
        # torchrun may give ranks that it starts again the store of the life before.
        life = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        self._store = dist.PrefixStore(
            f"stoker/{life}/{members}/{self._made[members]}", dist.distributed_c10d._get_default_store()
        )

    def meet(self, channel: str, own: str) -> list[str]:
        """What the ranks say there, in their order. Waits for all."""
        if self.world == 1:
            return [own]
        meeting = self.begin(channel, own)
        pause = _FIRST_LOOK
        while (said := meeting.look()) is None:
            time.sleep(pause)
            pause = min(2 * pause, _LAST_LOOK)
        return said

    def begin(self, channel: str, own: str) -> Meeting:
        """A meeting of which somebody else looks for the end."""
        number, self._numbers[channel] = self._numbers[channel], self._numbers[channel] + 1
        meeting = Meeting(self._store, f"{channel}/{number}", self.rank, self.world, own, self._before.get(channel))
        self._before[channel] = meeting.own_key
        return meeting


class Meeting:
    """One meeting: who has said something so far."""

    def __init__(self, store: Any, key: str, rank: int, world: int, own: str, before: str | None) -> None:
        self._store, self._key, self._world, self._before = store, key, world, before
        self._said: list[str] = []
        self.own_key = f"{key}/{rank}"
        store.set(self.own_key, own)

    def look(self) -> list[str] | None:
        """What all have said; None: not all have. Does not wait for them."""
        while len(self._said) < self._world:
            key = f"{self._key}/{len(self._said)}"
            if not self._store.check([key]):
                return None
            self._said.append(self._store.get(key).decode())
        if self._before is not None:  # all are here, so all have heard what was said before
            self._store.delete_key(self._before)
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
