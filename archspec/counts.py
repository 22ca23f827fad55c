"""The exact quantities of a list of tensors, by the names of the closed forms."""

from __future__ import annotations

from typing import Any

from archspec.errors import ArchspecError
from archspec.tensors import Tensor

DTYPE_BYTES = {
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float64": 8,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int8": 1,
    "uint8": 1,
}
_SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64", "fp8": "float8_e4m3fn"}


def dtype_bytes(name: str) -> int:
    """Bytes of one element. Errors: :class:`ArchspecError` for a dtype that is not in the table.

    >>> dtype_bytes("bf16"), dtype_bytes("float32")
    (2, 4)
    """
    size = DTYPE_BYTES.get(_SHORT.get(name, name))
    if size is None:
        raise ArchspecError(f"{name} is not a dtype known here: {', '.join([*DTYPE_BYTES, *_SHORT])}")
    return size


def counted(found: list[Tensor]) -> dict[str, int]:
    """Each of `archspec.quantities.QUANTITIES` as an exact int."""
    own = [t for t in found if t.tied_to is None]
    parameters = [t for t in own if t.kind == "parameter"]
    tables = {t.name for t in found if t.layer == "Embedding" or t.output_embedding}
    tables |= {t.tied_to for t in found if t.tied_to and t.name in tables}
    embedding = sum(t.numel for t in parameters if t.name in tables)
    params = sum(t.numel for t in parameters)
    return {
        "params": params,
        "trainable_params": sum(t.numel for t in parameters if t.trainable),
        "active_params": _whole(sum(t.active for t in parameters)),
        "embedding_params": embedding,
        "non_embedding_params": params - embedding,
        "buffers": sum(t.numel for t in own if t.kind == "buffer"),
    }


def _whole(active: Any) -> Any:
    """The parts of all experts together are whole."""
    return int(active) if hasattr(active, "denominator") else active
