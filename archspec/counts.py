"""The exact quantities of a list of tensors, by the names of the closed forms."""

from __future__ import annotations

from archspec.tensors import Tensor


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
        "active_params": sum(t.active for t in parameters),
        "embedding_params": embedding,
        "non_embedding_params": params - embedding,
        "buffers": sum(t.numel for t in own if t.kind == "buffer"),
    }
