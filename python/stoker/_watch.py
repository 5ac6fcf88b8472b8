"""Where the time of one's own training loop goes."""
from __future__ import annotations

import collections
import json
import os
import tempfile
from typing import Any

from . import _core
from ._loader import Loader
from ._log import note


class watch:  # noqa: N801
    """Measures a training loop: how long it waits for data, how long the device is idle, and why.

    >>> with stoker.watch(loader, optimizer) as run:
    ...     for epoch in range(loader.epoch, 90):
    ...         for images, labels in loader:
    ...             ...
    ...             optimizer.step()
    Single reads from tier 'data' take long and few are under way at a time: more workers. It costs 31 % of the device's time.
      try: loader.workers=16 (at best +45 % images/s)
      the trainer waited 31.4 % of its time for data; the device lost 31.2 % for it

    A step is from the moment a batch comes until ``optimizer.step()`` returns, or without an optimizer until the next batch
    is asked for. On a GPU its time is that of CUDA events: idle time within a step is not seen. Elsewhere the device is busy
    as long as the step's Python code runs.

    Parameters
    ----------
    loader
        The Loader of the loop. One watch at a time.
    optimizer
        PyTorch's; None: there is none.
    device
        Such as "cuda"; None: that of the optimizer's parameters.
    port
        While the loop runs, http://127.0.0.1:PORT shows the status page and answers /metrics (Prometheus), /healthz and
        /api/status. 0: any free port, which the logger "stoker" names at level INFO. None: no server.
    quiet
        Do not print the verdict at the end.

    After the block (and within it, so far):

    verdict, next, evidence
        One or two sentences; the setting to try next; and what they are concluded from, a list of str.
    level
        "fine", "moderate", "input_bound", "host_bound", ...: the word for programs.
    data_wait_share, device_idle_share
        0 to 1, of the loop's time and of the device's.
    images_per_s
        Over the whole loop.
    summary
        All figures, as the program's summary.json has them.
    """

    def __init__(
        self,
        loader: Loader,
        optimizer: Any = None,
        *,
        device: Any = None,
        port: int | None = None,
        name: str = "run",
        quiet: bool = False,
    ) -> None:
        self._loader = loader
        self._optimizer = optimizer
        self._device = device
        self._port = port
        self._name = name
        self._quiet = quiet
        self._core: Any = None
        self._in_step = False
        self._clock: Any = None
        self._hook: Any = None
        self._ended = False

    def __enter__(self) -> watch:
        if self._loader._watch is not None:
            raise RuntimeError("this loader is watched already")
        device = self._device or _device_of(self._optimizer)
        self._clock = _clock_of(device)
        self._folder = tempfile.TemporaryDirectory(prefix="stoker-watch-")
        folder = os.path.join(self._folder.name, self._name)
        os.mkdir(folder)
        sinks = []
        if self._port is not None:
            address = {"listen": f"127.0.0.1:{self._port}"} if self._port else {"port": "auto"}
            sinks.append({"type": "prometheus", "linger": 0, **address})
        self._core = _core.Watch(
            self._loader._core, self._name, str(device or "cpu"), self._clock is not None, folder, sinks, note
        )
        register = getattr(self._optimizer, "register_step_post_hook", None)
        if register is not None:
            self._hook = register(lambda *_: self._done())
        self._loader._watch = self
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._end("" if error is None else f"{type(error).__name__}: {error}")

    def _end(self, error: str) -> None:
        if self._ended:
            return
        self._ended = True
        self._done()
        self._loader._watch = None
        if self._hook is not None:
            self._hook.remove()
        self._collect(wait=True)
        self._core.end(error)
        self._summary = json.loads(self._core.record())
        self._core = None
        self._folder.cleanup()
        if not self._quiet:
            print(self, flush=True)

    # What the iteration of the loader calls.

    def _wait(self) -> None:
        self._done()
        self._core.wait()

    def _took(self, batch: Any) -> None:
        if batch is None:
            self._core.take(0, 0)
            return
        self._core.take(batch.size, batch.epoch)
        self._in_step = True

    def _begins(self) -> None:
        """The step, on the device: behind the copy of its batch."""
        if self._clock is not None:
            self._clock.begin()

    def _done(self) -> None:
        if not self._in_step:
            return
        self._in_step = False
        if self._clock is not None:
            self._clock.end()
        self._core.done()
        self._collect(wait=False)
        self._core.report()

    def _collect(self, wait: bool) -> None:
        if self._clock is not None:
            for begin, end in self._clock.finished(wait):
                self._core.stepped(begin, end)

    @property
    def summary(self) -> dict[str, Any]:
        return self._summary if self._ended else json.loads(self._core.record())

    @property
    def level(self) -> str:
        return self.summary["verdict"]["level"]

    @property
    def verdict(self) -> str:
        return self.summary["verdict"]["text"]

    @property
    def evidence(self) -> list[str]:
        return self.summary["verdict"]["evidence"]

    @property
    def next(self) -> str:
        return self.summary["verdict"]["next"]

    @property
    def data_wait_share(self) -> float | None:
        return self.summary.get("io_share")

    @property
    def device_idle_share(self) -> float | None:
        return self.summary.get("device", {}).get("idle_share")

    @property
    def images_per_s(self) -> float | None:
        return self.summary.get("images_per_s")

    def __str__(self) -> str:
        tried = [f"try: {self.next}"] if self.next else []
        return "\n  ".join([self.verdict, *tried, *self.evidence])


def _device_of(optimizer: Any) -> Any:
    for group in getattr(optimizer, "param_groups", []):
        for parameter in group["params"]:
            return parameter.device
    return None


def _clock_of(device: Any) -> Any:
    """The clock of a device that has events."""
    return _CudaClock(device) if device is not None and str(device).startswith("cuda") else None


class _CudaClock:
    """When the GPU began and ended each step, in seconds since this was made."""

    def __init__(self, device: Any) -> None:
        import torch

        self._torch = torch
        self._device = torch.device(device)
        torch.cuda.synchronize(self._device)
        self._zero = self._event()
        self._zero.synchronize()
        self._steps: collections.deque[list[Any]] = collections.deque()

    def _event(self) -> Any:
        event = self._torch.cuda.Event(enable_timing=True)
        event.record(self._torch.cuda.current_stream(self._device))
        return event

    def begin(self) -> None:
        self._steps.append([self._event()])

    def end(self) -> None:
        self._steps[-1].append(self._event())

    def finished(self, wait: bool) -> list[tuple[float, float]]:
        times = []
        while self._steps and len(self._steps[0]) == 2:
            begin, end = self._steps[0]
            if wait:
                end.synchronize()
            elif not end.query():
                break
            self._steps.popleft()
            times.append((self._zero.elapsed_time(begin) / 1e3, self._zero.elapsed_time(end) / 1e3))
        return times
