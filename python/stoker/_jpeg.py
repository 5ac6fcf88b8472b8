"""One image at a time."""
from __future__ import annotations

import functools
from typing import Any

from . import _core
from ._array import Array


@functools.lru_cache(maxsize=64)
def _decoder(options: tuple[tuple[str, Any], ...]) -> Any:
    return _core.Decoder({"type": "jpeg", **dict(options)})


def decode_jpeg(data: Any, size: int = 224, **options: Any) -> Array:
    """The pixels of a JPEG file, resized: an :class:`Array` [size, size, 3] of uint8.

    data
        The file's bytes: bytes, memoryview, or any other contiguous buffer.
    size
        Width and height of the result, in pixels.
    options
        Others of the decoder ``jpeg``: ``fit="center_crop"``, ``resize="antialias"``, ``output="float32"`` (then
        [3, size, size], normalised). `stoker describe decoder jpeg` lists them.

    Raises stoker.Error with code 4 for bytes that are no whole JPEG, and 2 for options. Any thread; the GIL is released.
    """
    return Array(_decoder((("size", size), *sorted(options.items()))).decode(data))
