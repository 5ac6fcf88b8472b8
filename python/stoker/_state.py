"""States of training, as trees of tensors and of what JSON has."""
from __future__ import annotations

import collections
import copy
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
#: Those that the tensors of a set have. Tensors of others are kept as their bytes, in a last dimension.
SET_TYPES = ("F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL")
_KEPT = {DTYPES[name] for name in SET_TYPES}

#: Containers that pack() keeps, beside dict, list, tuple and torch.Size.
_MAPPINGS = {"OrderedDict": collections.OrderedDict, "Counter": collections.Counter, "defaultdict": collections.defaultdict}
_FACTORIES = {factory.__name__: factory for factory in (int, float, str, bool, list, tuple, dict, set)}
#: How deep containers may be nested: Python's own limit leaves room for the callers.
_MOST_LEVELS = 200


def mistake(text: str) -> Error:
    """An Error of the caller's."""
    error = Error(text)
    error.code = 2  # type: ignore[attr-defined]
    return error


def step_of(checkpoint_id: Any) -> int:
    """The step that a number, or a path ending in ``20`` or ``step-0000000020``, stands for."""
    found = re.fullmatch(r"(?:step-)?(\d{1,18})", os.path.basename(os.path.normpath(str(checkpoint_id))))
    if found is None:
        raise mistake(f"checkpoint_id must be a step, or a path that ends in one such as step-20, and not {checkpoint_id!r}")
    return int(found[1])


def is_tensor(value: Any) -> bool:
    return hasattr(value, "__dlpack__")


def is_torch(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "torch"


def on_host(value: Any) -> Any:
    """The tensor in C order in the host's memory, and its values as they are: itself, where it is so."""
    if is_torch_tensor(value):
        return value.detach().resolve_conj().resolve_neg().cpu().contiguous()
    dtype, flags = getattr(value, "dtype", None), getattr(value, "flags", None)
    if flags is not None and not (flags.c_contiguous and flags.writeable and getattr(dtype, "isnative", True)):
        return value.astype(dtype.newbyteorder("="), order="C")  # DLPack has no read-only arrays
    return value


def is_torch_tensor(value: Any) -> bool:
    return "torch" in sys.modules and isinstance(value, sys.modules["torch"].Tensor)


def dtype_of(value: Any) -> str:
    return getattr(value.dtype, "name", None) or str(value.dtype).removeprefix("torch.")


def as_bytes(value: Any) -> Any:
    """The memory of a tensor in C order: its bytes, in a last dimension."""
    return value.reshape(*value.shape, 1).view(sys.modules["torch"].uint8 if is_torch(value) else "uint8")


def as_saved(value: Any) -> Any:
    """The tensor as a set has it: in the host's memory, in C order, of a type of sets. Not a copy where it is so."""
    value = on_host(value)
    return value if not hasattr(value, "dtype") or dtype_of(value) in _KEPT else as_bytes(value)


def in_place(value: Any) -> bool:
    """Whether a set can be read right into it: it is in C order in the host's memory, and its values are what is there."""
    if is_torch(value):
        return value.device.type == "cpu" and value.is_contiguous() and not value.is_conj() and not value.is_neg()
    flags = getattr(value, "flags", None)
    return flags is None or bool(flags.c_contiguous and flags.writeable)


def fresh(name: str, dtype: str, shape: tuple[int, ...]) -> Any:
    """Memory for a tensor: PyTorch's where it is loaded, else NumPy's."""
    if "torch" in sys.modules:
        import torch

        return torch.empty(shape, dtype=getattr(torch, DTYPES[dtype]))
    if dtype == "BF16":
        raise mistake(f"tensor '{name}': NumPy has no {dtype}: import torch before")
    import numpy

    return numpy.empty(shape, dtype=DTYPES[dtype])


def of_type(memory: Any, name: str, dtype: str | None) -> Any:
    """A tensor whose bytes a set had, as it was before. None: the set has its type."""
    if dtype is None:
        return memory
    shape = tuple(memory.shape[:-1])
    if is_torch(memory):
        kind = getattr(sys.modules["torch"], dtype, None)
        if kind is None:
            raise mistake(f"tensor '{name}': this PyTorch has no {dtype}")
        return memory.view(kind).reshape(shape)
    try:
        return memory.view(dtype).reshape(shape)
    except TypeError:
        raise mistake(f"tensor '{name}': NumPy has no {dtype}: import torch before") from None


def free_name(wanted: str, taken: Mapping[str, Any]) -> str:
    """A name that no other tensor of the set has: `wanted`, where a set can have it."""
    base = name = wanted.encode(errors="backslashreplace").decode()
    number = 1
    while name in taken or name in ("", "__metadata__"):
        number += 1
        name = f"{base}#{number}"
    return name


def pack(value: Any, path: str, name: Callable[[str], str], tensors: dict[str, Any] | None, level: int = 0) -> Any:
    """The value as JSON; its tensors go into `tensors`, by name(path). None: there may be none.

    Whatever unpack() makes of it is equal to the value, and of its type. stoker.Error, with the path, where that cannot be.
    """
    if level > _MOST_LEVELS:
        raise mistake(f"{path[:100]}...: a checkpoint holds at most {_MOST_LEVELS} containers within each other")

    def below(item: Any, key: Any) -> Any:
        return pack(item, f"{path}.{key}", name, tensors, level + 1)

    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if abs(value) < 2**63 else {"$int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is str and value.isprintable() or kind is str and not any("\ud800" <= letter <= "\udfff" for letter in value):
        return value
    if kind is list:
        return [below(item, place) for place, item in enumerate(value)]
    if kind is tuple or (kind.__name__ == "Size" and is_torch(value)):
        packed = {"$tuple": [below(item, place) for place, item in enumerate(value)]}
        return packed if kind is tuple else {**packed, "of": "Size"}
    if kind is dict or kind in _MAPPINGS.values():
        return _pack_mapping(value, path, below, level)
    if "numpy" in sys.modules and isinstance(value, sys.modules["numpy"].generic):
        plain = value.item()
        if type(plain) in (bool, int, float) and value.dtype.kind in "biuf":
            return {"$numpy": [value.dtype.name, below(plain, "item")]}
    elif is_tensor(value) and tensors is not None:
        return _pack_tensor(value, path, name, tensors)
    raise mistake(f"{path}: a checkpoint cannot hold a {kind.__module__}.{kind.__qualname__} as it is: give tensors, numbers, texts, "
                  "and lists, tuples and dicts of them")  # fmt: skip


def _pack_mapping(value: Any, path: str, below: Callable[[Any, Any], Any], level: int) -> Any:
    items = [[pack(key, f"{path}: a key", str, None, level + 1), below(item, key)] for key, item in value.items()]
    if type(value) is dict and all(isinstance(key, str) and not key.startswith("$") for key, _ in items):
        return dict(items)
    packed: dict[str, Any] = {"$items": items}
    if type(value) is dict:
        return packed
    packed["of"] = type(value).__name__
    if type(value) is collections.defaultdict and value.default_factory is not None:
        packed["factory"] = getattr(value.default_factory, "__name__", "")
        if _FACTORIES.get(packed["factory"]) is not value.default_factory:
            raise mistake(f"{path}: a checkpoint cannot hold the function that makes this defaultdict's values: give a dict")
    if getattr(value, "__dict__", None):
        packed["vars"] = below(vars(value), "__dict__")  # the versions of modules, in what state_dict() gives
    return packed


def _has_dlpack(tensor: Any) -> bool:
    """Older releases of PyTorch have none for bool."""
    try:
        tensor.__dlpack__()
    except (RuntimeError, TypeError, BufferError):
        return False
    return True


def _pack_tensor(value: Any, path: str, name: Callable[[str], str], tensors: dict[str, Any]) -> Any:
    kind, what = type(value), ""
    if is_torch_tensor(value):
        torch = sys.modules["torch"]
        if kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            what = f"{kind.__name__}: stoker.dcp saves what ranks have together"
        elif value.layout is not torch.strided or value.is_quantized or value.device.type == "meta":
            what = f"tensor that is sparse, quantized or without memory ({value.layout}, {value.dtype}, on {value.device})"
    elif kind.__module__ == "numpy" and value.dtype.kind not in "biufc":
        what = f"NumPy array of {value.dtype}"
    saved, kept = None, True
    try:
        if not what:
            saved, kept = as_saved(value), not hasattr(value, "dtype") or dtype_of(value) in _KEPT
            if kept and is_torch_tensor(saved) and not _has_dlpack(saved):
                saved, kept = as_bytes(saved), False
    except (RuntimeError, TypeError, ValueError) as error:
        what = f"tensor of {getattr(value, 'dtype', 'that type')} ({error})"
    if what:
        raise mistake(f"{path}: a checkpoint cannot hold a {what}")
    key = free_name(name(path), tensors)
    tensors[key] = saved
    return {"$tensor": key} if kept else {"$tensor": key, "dtype": dtype_of(value)}


def unpack(value: Any, tensor: Callable[[Any, list[Any]], Any], path: list[Any]) -> Any:
    """What pack() was given, with tensor(its JSON, keys that lead to it) for each tensor."""
    if isinstance(value, list):
        return [unpack(item, tensor, [*path, place]) for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if "$tensor" in value:
        return tensor(value, path)
    if "$float" in value:
        return float(value["$float"])
    if "$int" in value:
        return int(value["$int"], 16)
    if "$numpy" in value:
        import numpy

        return numpy.dtype(value["$numpy"][0]).type(unpack(value["$numpy"][1], tensor, path))
    if "$tuple" in value:
        items = tuple(unpack(item, tensor, [*path, place]) for place, item in enumerate(value["$tuple"]))
        return sys.modules["torch"].Size(items) if value.get("of") == "Size" and "torch" in sys.modules else items
    if "$items" not in value:
        return {key: unpack(below, tensor, [*path, key]) for key, below in value.items()}
    made: Any = _MAPPINGS.get(value.get("of", ""), dict)()
    if "factory" in value:
        made.default_factory = _FACTORIES[value["factory"]]
    for packed, below in value["$items"]:
        key = unpack(packed, tensor, path)
        made[key] = unpack(below, tensor, [*path, key])
    if "vars" in value:
        vars(made).update(unpack(value["vars"], tensor, path))
    return made


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
        state = copy.copy(state)  # of its type, with the versions of modules
        for key, item in state.items():
            if is_tensor(item) and item.data_ptr() not in parameters:
                state[key] = item.clone()
    return state
