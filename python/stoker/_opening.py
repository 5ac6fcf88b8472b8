"""The engine that saves the state of many ranks, made by all of them or by none."""
from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from . import _core
from ._log import note, warn
from ._ranks import Ranks, Service

#: Exit codes of mistakes, which end the program; all other errors are a tier's.
_MISTAKES = (2, 70)


class Attempt(threading.Thread):
    """Work that a tier may keep for ever, on a thread of its own, which the program does not wait for at its end."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(name="stoker-tier", daemon=True)
        self._work = work
        self.value: Any = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.value = self._work()
        except BaseException as error:  # noqa: BLE001  told by wait()
            self.error = error

    @property
    def mistake(self) -> bool:
        """It failed by no tier's fault."""
        return self.error is not None and getattr(self.error, "code", 70) in _MISTAKES

    def wait(self, seconds: float) -> str:
        """Empty: it has ended well. Else why it has not, as far as this was waited for."""
        self.join(seconds)
        if self.is_alive():
            return f"a tier did not answer within {seconds:g} s"
        return "" if self.error is None else str(self.error)


class Opening:
    """The engine, on its way. One thread at a time; all ranks make the same calls."""

    def __init__(self, config: Any, overrides: list[str], ranks: Ranks, whole: Any, goes_on_from: int) -> None:
        ranks.openings += 1
        self._ranks = ranks
        group, self._service = None, None
        if ranks.world > 1:
            group = _core.Meetings(ranks.rank, ranks.world)
            self._service = Service(ranks, group, f"engine-{ranks.openings}")
        together = _core.Together(group, whole.tensors, whole.shares, goes_on_from)
        settings = [*overrides, "checkpoint.every_steps=1", "checkpoint.resume=latest", "checkpoint.snapshot=async"]
        self._making = Attempt(lambda: _core.Checkpointer(config, settings, together, note, warn))
        self._loading: Attempt | None = None
        #: The last result() was an error, on some rank: this one is of no use any more.
        self.failed = False

    def result(self, patience: float) -> tuple[Any, str]:
        """The engine; or None, and why there is none now. Raises what is no tier's fault."""
        # Until all have made theirs nobody waits for the others in it.
        why = "" if self._loading else self._agree(self._making, patience)
        if not why:
            if self._loading is None:
                self._loading = Attempt(self._making.value.load)
            why = self._agree(self._loading, patience)
        return (None, why) if why else (self._making.value, "")

    def _agree(self, attempt: Attempt, patience: float) -> str:
        why = attempt.wait(patience)
        said = self._ranks.meet("opened", json.dumps([why, attempt.error is not None]))
        if attempt.mistake:
            raise attempt.error  # type: ignore[misc]
        all_said = [json.loads(text) for text in said]
        self.failed = any(failed for _, failed in all_said)
        return next((text for text, _ in all_said if text), "")

    def end(self) -> None:
        """Ends what serves the engine, when that is closed."""
        if self._service is not None:
            self._service.end()
