"""Arrays in memory of the engine's."""
from __future__ import annotations

from typing import Any


class Array:
    """An array in the engine's memory, which every framework takes without a copy.

    ``torch.from_dlpack(a)``, ``jax.numpy.from_dlpack(a)``, ``numpy.from_dlpack(a)`` and ``numpy.asarray(a)`` share its
    memory; ``jax.numpy.asarray(a)`` does where JAX can. It lives as long as the last of them does, also after the loader is closed; see ``max_held`` of
    :class:`Loader` for how much may be held. It may be written to: nobody else reads it.

    ``shape`` is a tuple of int, ``dtype`` a name such as "uint8", "float32" or "int64" (those of a loader's batch), or "bfloat16",
    which NumPy does not have.
    """

    __slots__ = ("_view", "dtype", "shape")

    def __init__(self, view: Any, dtype: str = "", shape: tuple[int, ...] = ()) -> None:
        self._view = view
        self.shape = shape
        self.dtype = dtype
        if not dtype:
            memory = memoryview(view)
            self.shape = tuple(memory.shape or ())
            self.dtype = {"B": "uint8", "f": "float32", "q": "int64"}[memory.format]

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._view.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._view.__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        if self.dtype.startswith(("bfloat", "float8")):
            raise TypeError(f"NumPy has no {self.dtype}: take the array by from_dlpack of PyTorch or JAX")
        array = numpy.asarray(self._view)
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"an array of {array.dtype} does not become {dtype} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __jax_array__(self) -> Any:
        import jax

        return jax.numpy.from_dlpack(self)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        """PyTorch's functions and operators take arrays as tensors."""
        import torch

        def tensors(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(map(tensors, value))
            return torch.from_dlpack(value) if isinstance(value, cls) else value

        return function(*map(tensors, arguments), **{name: tensors(value) for name, value in (keywords or {}).items()})

    def __eq__(self, other: Any) -> Any:
        """Value by value, as arrays of other frameworks compare."""
        if hasattr(other, "__array__") and not isinstance(other, Array):
            return NotImplemented  # the other one knows how
        return self.__array__() == (other.__array__() if isinstance(other, Array) else other)

    def __ne__(self, other: Any) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    __hash__ = object.__hash__

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"stoker.Array(shape={self.shape}, dtype={self.dtype!r})"
