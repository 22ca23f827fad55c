"""The exact quantities of a list of tensors, by the names of the closed forms."""

from __future__ import annotations

from collections.abc import Mapping

from archspec.errors import ArchspecError
from archspec.quantities import QUANTITIES
from archspec.tree.tensors import Tensor
from archspec.typing_light import Any

ASSUMED = "float32"  # the dtype of a config that states none, as torch makes parameters
DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int64": 8}
DTYPE_BYTES |= dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "int8", "uint8"), 1)
_SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64", "fp8": "float8_e4m3fn"}
_QUANTIZED = ("int4", "nf4", "fp4", "mxfp4", "nvfp4", "awq", "gptq", "q8_0")
_SPELLINGS = _SHORT | {
    "f32": "float32",
    "float": "float32",
    "f16": "float16",
    "half": "float16",
    "f64": "float64",
    "double": "float64",
    **dict.fromkeys(("fp8_e4m3", "fp8_e4m3fn", "float8", "float8_e4m3", "e4m3", "f8"), "float8_e4m3fn"),
    **dict.fromkeys(("fp8_e5m2", "e5m2"), "float8_e5m2"),
    "bfloat": "bfloat16",
    "i8": "int8",
    "u8": "uint8",
    "long": "int64",
    "i64": "int64",
}


def dtype_name(name: str) -> str:
    """A dtype as torch spells it; an unknown name as it is.

    >>> dtype_name("bf16"), dtype_name("F16"), dtype_name("torch.half"), dtype_name("nf4")
    ('bfloat16', 'float16', 'float16', 'nf4')
    """
    if not isinstance(name, str):
        return name
    plain = name.strip().lower().replace("-", "_").removeprefix("torch.")
    return plain if plain in DTYPE_BYTES else _SPELLINGS.get(plain, name)


def dtype_bytes(name: str) -> int:
    """Bytes of one element. Errors: :class:`ArchspecError` for a dtype that is not in the table.

    >>> dtype_bytes("bf16"), dtype_bytes("float32")
    (2, 4)
    """
    size = DTYPE_BYTES.get(dtype_name(name)) if isinstance(name, str) else None
    if size is None:
        help_ = (
            "--weights of memory and cache takes formats of quantized weights" if name in _QUANTIZED else ""
        )
        raise ArchspecError(
            f"{name} is not a dtype known here: {', '.join([*DTYPE_BYTES, *_SHORT])}", help=help_
        )
    return size


def quantities_of(found: list[Tensor]) -> dict[str, int]:
    """Each of `archspec.quantities.QUANTITIES` as an exact int."""
    own = [tensor for tensor in found if tensor.tied_to is None]
    return {name: _whole(sum(map(quantity.term, own))) for name, quantity in QUANTITIES.items()}


def _whole(count: Any) -> Any:
    """The parts of all experts together are whole."""
    return int(count) if hasattr(count, "denominator") else count


def stated_dtype(raw: Mapping[str, Any]) -> str | None:
    """The dtype that a config states, None if it states none."""
    named = raw.get("dtype") or raw.get("torch_dtype")
    return dtype_name(named.removeprefix("torch.")) if isinstance(named, str) and named != "auto" else None


def dtype_of(raw: Mapping[str, Any]) -> str:
    """The dtype that a config states; float32 if it states none."""
    return stated_dtype(raw) or ASSUMED


def known_bytes(dtype: str) -> int | None:
    """The bytes of a dtype; None for one that is not known."""
    try:
        return dtype_bytes(dtype)
    except ArchspecError:
        return None
