"""The exact quantities of a list of tensors, by the names of the closed forms."""

from __future__ import annotations

from collections.abc import Mapping

from archspec.errors import ArchspecError
from archspec.quantities import QUANTITIES
from archspec.tree.tensors import Tensor
from archspec.typing_light import Any

DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int64": 8}
DTYPE_BYTES |= dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "int8", "uint8"), 1)
_SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64", "fp8": "float8_e4m3fn"}


def dtype_name(name: str) -> str:
    """A dtype as torch spells it: `bf16` is `bfloat16`."""
    return _SHORT.get(name, name) if isinstance(name, str) else name


def dtype_bytes(name: str) -> int:
    """Bytes of one element. Errors: :class:`ArchspecError` for a dtype that is not in the table.

    >>> dtype_bytes("bf16"), dtype_bytes("float32")
    (2, 4)
    """
    size = DTYPE_BYTES.get(dtype_name(name)) if isinstance(name, str) else None
    if size is None:
        raise ArchspecError(f"{name} is not a dtype known here: {', '.join([*DTYPE_BYTES, *_SHORT])}")
    return size


def quantities_of(found: list[Tensor]) -> dict[str, int]:
    """Each of `archspec.quantities.QUANTITIES` as an exact int."""
    own = [tensor for tensor in found if tensor.tied_to is None]
    return {name: _whole(sum(map(quantity.term, own))) for name, quantity in QUANTITIES.items()}


def _whole(count: Any) -> Any:
    """The parts of all experts together are whole."""
    return int(count) if hasattr(count, "denominator") else count


def dtype_of(raw: Mapping[str, Any]) -> str:
    """The dtype that a config names; float32 where it names none."""
    named = raw.get("dtype") or raw.get("torch_dtype")
    return named.removeprefix("torch.") if isinstance(named, str) and named != "auto" else "float32"
