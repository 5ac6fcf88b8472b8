"""Arguments of Python's callers, before they reach the engine."""
from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable
from typing import Any

from ._state import mistake


def whole(name: str, value: Any, least: int, most: int = (1 << 63) - 1) -> int:
    """A whole number, NumPy's included. stoker.Error: it is not a whole number, or outside these bounds."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        bounds = f"from {least} on" if most == (1 << 63) - 1 else f"from {least} to {most}"
        raise mistake(f"{name} must be a whole number {bounds}, got {value!r}") from None
    return number


def one_of(name: str, value: Any, known: Iterable[Any]) -> Any:
    """A value out of a few."""
    known = list(known)
    if value not in known:
        raise mistake(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    return value


def refuse_unknown(function: str, keywords: Iterable[str], known: Iterable[str]) -> None:
    """TypeError, as Python has it, for an argument that the function does not have."""
    known = list(known)
    for name in keywords:
        if name in known:
            continue
        alike = difflib.get_close_matches(name, known, 1)
        hint = f" (did you mean {alike[0]!r}?)" if alike else f" (it has {', '.join(known)})"
        raise TypeError(f"{function} has no argument {name!r}{hint}")
