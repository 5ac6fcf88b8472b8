"""States of training, as trees of tensors and of what JSON has."""
from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ._core import Error

#: safetensors' names of types, as NumPy and PyTorch call them.
DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu",
}  # fmt: skip


def mistake(text: str) -> Error:
    """An Error of the caller's."""
    error = Error(text)
    error.code = 2  # type: ignore[attr-defined]
    return error


def step_of(checkpoint_id: Any) -> int:
    """The step that a number, or a path ending in ``20`` or ``step-0000000020``, stands for."""
    found = re.fullmatch(r"(?:step-)?(\d+)", os.path.basename(os.path.normpath(str(checkpoint_id))))
    if found is None:
        raise mistake(f"checkpoint_id must be a step, or a path that ends in one such as step-20, and not {checkpoint_id!r}")
    return int(found[1])


def is_tensor(value: Any) -> bool:
    return hasattr(value, "__dlpack__")


def is_torch(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "torch"


def on_host(value: Any) -> Any:
    """The tensor in C order in the host's memory: itself, where it is so."""
    if "torch" in sys.modules:
        import torch

        if isinstance(value, torch.Tensor):
            return value.detach().cpu().contiguous()
    flags = getattr(value, "flags", None)
    return value.copy(order="C") if flags is not None and not flags.c_contiguous else value


def in_place(value: Any) -> bool:
    """Whether a set can be read right into it: it is in C order in the host's memory."""
    if is_torch(value):
        return value.device.type == "cpu" and value.is_contiguous()
    flags = getattr(value, "flags", None)
    return flags is None or bool(flags.c_contiguous)


def fresh(name: str, dtype: str, shape: tuple[int, ...]) -> Any:
    """Memory for a tensor: PyTorch's where it is loaded, else NumPy's."""
    if "torch" in sys.modules:
        import torch

        return torch.empty(shape, dtype=getattr(torch, DTYPES[dtype]))
    if dtype == "BF16":
        raise mistake(f"tensor '{name}': NumPy has no {dtype}: import torch before")
    import numpy

    return numpy.empty(shape, dtype=DTYPES[dtype])


def pack(value: Any, path: str, name: Callable[[str], str], tensors: dict[str, Any]) -> Any:
    """The value as JSON; its tensors go into `tensors`, by name(path)."""
    if is_tensor(value):
        tensors[name(path)] = value
        return {"$tensor": name(path)}
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, Mapping):
        items = [(key, pack(below, f"{path}.{key}", name, tensors)) for key, below in value.items()]
        if all(isinstance(key, str) and not key.startswith("$") for key, _ in items):
            return dict(items)
        return {"$items": [[pack(key, path, name, tensors), below] for key, below in items]}
    if isinstance(value, (list, tuple)):
        below = [pack(item, f"{path}.{place}", name, tensors) for place, item in enumerate(value)]
        return below if isinstance(value, list) else {"$tuple": below}
    raise mistake(f"{path}: a checkpoint holds tensors and what JSON has, and not a {type(value).__name__}")


def unpack(value: Any, tensor: Callable[[str, list[Any]], Any], path: list[Any]) -> Any:
    """What pack() was given, with tensor(name, keys that lead to it) for each tensor."""
    if isinstance(value, list):
        return [unpack(item, tensor, [*path, place]) for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if "$tensor" in value:
        return tensor(value["$tensor"], path)
    if "$float" in value:
        return float(value["$float"])
    if "$tuple" in value:
        return tuple(unpack(item, tensor, [*path, place]) for place, item in enumerate(value["$tuple"]))
    if "$items" in value:
        pairs = [(unpack(key, tensor, path), below) for key, below in value["$items"]]
        return {key: unpack(below, tensor, [*path, key]) for key, below in pairs}
    return {key: unpack(below, tensor, [*path, key]) for key, below in value.items()}


def at(value: Any, path: list[Any]) -> Any:
    """What lies there in a tree; None: nothing."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


class Names:
    """The names of tensors: by parameter in an optimizer's state, where its model is saved with it."""

    def __init__(self, parts: Mapping[str, Any]) -> None:
        modules = {part: value for part, value in parts.items() if hasattr(value, "named_parameters")}
        self._parameters: dict[int, str] = {}
        for part, module in modules.items():
            for name, parameter in module.named_parameters():
                self._parameters.setdefault(id(parameter), name if len(modules) == 1 else f"{part}.{name}")

    def of(self, part: str, value: Any) -> Callable[[str], str]:
        """From the path of a tensor in this part's state to its name."""
        groups = getattr(value, "param_groups", None)
        if not groups:
            return lambda path: path
        parameters = [parameter for group in groups for parameter in group["params"]]
        known = {str(place): self._parameters.get(id(parameter)) for place, parameter in enumerate(parameters)}

        def name(path: str) -> str:
            rest = path.removeprefix(f"{part}.state.")
            place, _, key = rest.partition(".")
            return f"{part}.{known[place]}.{key}" if rest != path and known.get(place) else path

        return name


def state_of(value: Any, copy_early: bool) -> Any:
    """The state of an object that has one (state_dict), or the value itself.

    copy_early: tensors of a module that are no parameters are copied, for its next forward pass changes them.
    """
    if not hasattr(value, "state_dict"):
        return value
    state = value.state_dict()
    if copy_early and hasattr(value, "parameters"):
        parameters = {parameter.data_ptr() for parameter in value.parameters()}
        state = {key: item.clone() if is_tensor(item) and item.data_ptr() not in parameters else item
                 for key, item in state.items()}
    return state
