"""Arrays in memory of the loader's."""
from __future__ import annotations

from typing import Any


class Array:
    """An array in the loader's memory, which every framework takes without a copy.

    ``torch.from_dlpack(a)``, ``jax.numpy.from_dlpack(a)``, ``numpy.from_dlpack(a)`` and ``numpy.asarray(a)`` share its
    memory; ``jax.numpy.asarray(a)`` does where JAX can. It lives as long as the last of them does, also after the loader is closed; see ``max_held`` of
    :class:`Loader` for how much may be held. It may be written to: nobody else reads it.

    ``shape`` is a tuple of int, ``dtype`` one of "uint8", "float32" and "int64".
    """

    __slots__ = ("_view", "dtype", "shape")

    def __init__(self, view: Any) -> None:
        memory = memoryview(view)
        self._view = view
        self.shape: tuple[int, ...] = tuple(memory.shape or ())
        self.dtype: str = {"B": "uint8", "f": "float32", "q": "int64"}[memory.format]

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._view.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._view.__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        array = numpy.asarray(self._view)
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"an array of {array.dtype} does not become {dtype} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __jax_array__(self) -> Any:
        import jax

        return jax.numpy.from_dlpack(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"stoker.Array(shape={self.shape}, dtype={self.dtype!r})"
