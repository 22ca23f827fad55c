"""Classes of transformers on torch's meta device, and their tensors as rows to compare with a spec's."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout
from functools import cache, partial
from typing import Any, NamedTuple

from archspec.reference.classes import config_of, model_class
from archspec.reference.shortcuts import shorten_functions
from archspec.reference.verdicts import verdict
from archspec.tree.tensors import Tensor


class Row(NamedTuple):
    """One tensor as it is compared: every parameter and persistent buffer has one.

    ``embedding`` is its part in the embedding split: `output`, `table`, or empty.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    trainable: bool
    tied_to: str | None
    embedding: str


def spec_rows(tensors: list[Tensor]) -> list[Row]:
    """Return the rows of a spec's tensors."""
    return [Row(t.name, t.shape, t.kind, t.trainable, t.tied_to, t.embedding) for t in tensors]


def module_rows(model: Any) -> list[Row]:
    """Return the rows of any torch module; ties are found by the identity of the Parameter."""
    buffers = list(model.named_buffers(remove_duplicate=False))
    saved = set(model.state_dict(keep_vars=True)) if buffers else set()
    named = [("parameter", *one) for one in model.named_parameters(remove_duplicate=False)]
    named += [("buffer", name, buffer) for name, buffer in buffers if name in saved]
    split, first = _embedding_split(model), dict[int, str]()
    rows = []
    for kind, name, tensor in named:
        canonical = first.setdefault(id(tensor), name)
        tied_to = None if canonical == name else canonical
        is_parameter = kind == "parameter"
        trainable, part = is_parameter and tensor.requires_grad, split.get(id(tensor), "")
        rows.append(Row(name, tuple(tensor.shape), kind, trainable, tied_to, part if is_parameter else ""))
    return rows


def _embedding_split(model: Any) -> dict[int, str]:
    """Return the embedding split by identity: `output` for get_output_embeddings(), else `table`."""
    from torch import nn

    found = {id(module.weight): "table" for module in model.modules() if isinstance(module, nn.Embedding)}
    own = getattr(model, "lm_head", None)  # a plain module lacks the method
    output = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else own
    layers = output if isinstance(output, nn.ModuleList) else [output]
    weights = (getattr(layer, "weight", None) for layer in layers)
    return found | {id(weight): "output" for weight in weights if isinstance(weight, nn.Parameter)}


def transformers_rows(architecture: str, raw: dict[str, Any], model_type: str) -> list[Row]:
    """Return a row for every parameter and persistent buffer.

    Errors: :class:`archspec.reference.Refused` if the config class or the constructor refuses the config,
    else :class:`archspec.reference.Unavailable`.
    """
    cls = model_class(architecture, model_type)
    return module_rows(build(cls, config_of(model_type, raw)))


def build(cls: Any, config: Any) -> Any:
    """Return an instance on meta, built as transformers loads a checkpoint. Errors: Refused, Unavailable."""
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(redirect_stdout(io.StringIO()))  # PE prints which docstrings it lacks
        warnings.simplefilter("ignore")
        try:
            for context in _contexts():
                stack.enter_context(context())
            return cls(config)
        except Exception as error:  # a constructor may raise anything
            raise verdict(error) from error


@cache
def _contexts() -> tuple[Callable[[], Any], ...]:
    """Return the contexts of a construction; transformers' imports by name are slow."""
    import torch
    from transformers.initialization import meta_device_safe_creation_ops
    from transformers.monkey_patching import apply_patches

    return apply_patches, partial(torch.device, "meta"), meta_device_safe_creation_ops, shorten_functions
