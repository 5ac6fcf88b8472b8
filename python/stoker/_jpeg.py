"""One image at a time."""
from __future__ import annotations

import functools
import json
from typing import Any

from . import _core
from ._array import Array
from ._state import mistake


@functools.lru_cache(maxsize=64)
def _decoder(options: str) -> Any:
    return _core.Decoder(json.loads(options))


def _plain(value: Any) -> Any:
    """Numbers of NumPy's as Python's own."""
    if hasattr(value, "item"):
        return value.item()
    raise mistake(f"an option of decode_jpeg() must be what JSON has, got {value!r}")


def decode_jpeg(data: Any, size: int = 224, **options: Any) -> Array:
    """The pixels of a JPEG file, resized: an :class:`Array` [size, size, 3] of uint8.

    data
        The file's bytes: bytes, memoryview, or any other contiguous buffer.
    size
        Width and height of the result, in pixels.
    options
        Others of the decoder ``jpeg``: ``fit="center_crop"``, ``resize="antialias"``, ``output="float32"`` (then
        [3, size, size], normalised), ``limits={"max_pixels": 1000000}``. `stoker describe decoder jpeg` lists them.

    Raises stoker.Error with code 4 for bytes that are no whole JPEG, and 2 for options. Any thread; the GIL is released.
    """
    sections: dict[str, Any] = {"type": "jpeg", "size": size}
    for name, value in options.items():
        *above, last = name.split(".")
        section = sections
        for part in above:
            section = section.setdefault(part, {})
        section[last] = value
    key = json.dumps(sections, sort_keys=True, default=_plain)
    return Array(_decoder(key).decode(data))
