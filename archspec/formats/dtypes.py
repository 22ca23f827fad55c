"""The dtypes of formulas/weight_formats.json: names, bytes of an element, and other spellings."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from archspec.errors import ArchspecError
from archspec.specs.files import folder
from archspec.typing_light import Any

ASSUMED = "float32"  # the dtype of a config without one, because torch creates parameters in it

with open(os.path.join(folder(), "weight_formats.json"), encoding="utf-8") as _file:
    TABLE: dict[str, dict[str, Any]] = json.load(_file)
_DTYPES = TABLE["dtypes"]
DTYPE_BYTES: dict[str, int] = {name: row["bytes"] for name, row in _DTYPES.items()}
WEIGHT_DTYPES = tuple(name for name, size in DTYPE_BYTES.items() if size > 1 and "int" not in name)
_FIXED_BYTES = {"int64": 8}  # only tensors of a fixed dtype have these, such as counters in a cache
SHORT_NAMES = {row["short"]: name for name, row in _DTYPES.items() if "short" in row}
_SPELLINGS = {alias: name for name, row in _DTYPES.items() for alias in (name, *row.get("aliases", ()))}
_SPELLINGS |= SHORT_NAMES


def dtype_name(name: str) -> str:
    """Return a dtype as torch spells it, and an unknown name unchanged.

    >>> dtype_name("bf16"), dtype_name("F16"), dtype_name("torch.half"), dtype_name("nf4")
    ('bfloat16', 'float16', 'float16', 'nf4')
    """
    return _SPELLINGS.get(name.strip().lower().replace("-", "_").removeprefix("torch."), name)


def dtype_bytes(name: str) -> int:
    """Return the bytes of one element. Errors: :class:`ArchspecError` for an unknown dtype."""
    if (size := DTYPE_BYTES.get(dtype_name(name))) is None:
        known = ", ".join([*DTYPE_BYTES, *SHORT_NAMES])
        help_ = f"choose from: {known}; for quantized weights, use archspec memory --weights, e.g. nf4"
        raise ArchspecError(f"unknown dtype {name!r}", help=help_)
    return size


def element_bytes(name: str) -> int:
    """Return :func:`dtype_bytes`, also for the dtypes that only tensors of a fixed dtype have.

    >>> element_bytes("int64"), element_bytes("bf16")
    (8, 2)
    """
    return _FIXED_BYTES.get(name) or dtype_bytes(name)


def stated_dtype(raw: Mapping[str, Any]) -> str | None:
    """Return the dtype of a config; None for a config without one."""
    named = raw.get("dtype") or raw.get("torch_dtype")
    return dtype_name(named.removeprefix("torch.")) if isinstance(named, str) and named != "auto" else None
