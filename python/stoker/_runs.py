"""Runs of the program that have ended."""
from __future__ import annotations

import json
import os
import pathlib
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
            summary = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # that of a run which is writing it, or another program's
            continue
        rows.append({"run": str(path.parent), **_flat(summary)})
    rows.sort(key=lambda row: (row.get("started_unix_s") or 0, row["run"]))
    if frame is None:
        frame = _has_pandas()
    if not frame:
        return rows
    import pandas

    return pandas.DataFrame(rows)


def _has_pandas() -> bool:
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True


def _flat(value: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, below in value.items():
        if isinstance(below, dict):
            result.update(_flat(below, f"{prefix}{key}."))
        else:
            result[prefix + key] = below
    return result
