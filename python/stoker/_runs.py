"""Runs of the program that have ended."""
from __future__ import annotations

import json
import os
import pathlib
import stat
from typing import Any


def runs(folder: str | os.PathLike[str] = "runs", *, frame: bool | None = None) -> Any:
    """All runs below a folder that have a summary.json, the oldest first: what `stoker runs` lists, with all figures.

    A pandas.DataFrame with a row for each where pandas is installed, else a list of dicts; `frame` says which of the two. The
    columns are the members of summary.json, with a dot between a member and its own ("device.idle_share"), and `run`, the
    directory. What was not measured is absent (NaN in a DataFrame). `stoker describe` and docs/figures.md say what they mean.
    """
    rows = []
    for path in pathlib.Path(folder).rglob("summary.json"):
        try:
            summary = json.loads(_text_of(path))
            rows.append({"run": str(path.parent), **_flat(summary)})
        except (OSError, ValueError, RecursionError):  # that of a run which is writing it, or another program's
            continue
    rows.sort(key=lambda row: (_number(row.get("started_unix_s")), row["run"]))
    if frame is None:
        frame = _has_pandas()
    if not frame:
        return rows
    import pandas

    return pandas.DataFrame(rows)


_MOST_BYTES = 64 << 20


def _text_of(path: pathlib.Path) -> bytes:
    """A file that anybody may have put there: a FIFO, a device or an endless file is an OSError."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            raise OSError(f"{path}: not a summary of a run")
        return file.read(_MOST_BYTES)


def _number(value: Any) -> float:
    return value if isinstance(value, (int, float)) else 0


def _has_pandas() -> bool:
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not an object")
    result: dict[str, Any] = {}
    for key, below in value.items():
        if isinstance(below, dict):
            result.update(_flat(below, f"{prefix}{key}."))
        else:
            result[prefix + key] = below
    return result
