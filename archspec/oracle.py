"""What transformers builds: a class instantiated on torch's meta device, as a list of tensors."""

from __future__ import annotations

import os
import warnings
from typing import Any

from archspec.tensors import Tensor

Row = tuple[str, tuple[int, ...], str, bool, str | None]


class Refused(Exception):
    """transformers does not build this class from this config."""


def transformers_rows(architecture: str, raw: dict[str, Any], model_type: str) -> list[Row]:
    """(name, shape, kind, trainable, tied to) of every parameter and persistent buffer.

    Errors: :class:`Refused` with what the config class or the constructor raised.
    """
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    transformers.logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            settings = {key: value for key, value in raw.items() if key != "model_type"}
            config = CONFIG_MAPPING[model_type](**settings)
            with torch.device("meta"):
                model = getattr(transformers, architecture)(config)
        except Exception as error:  # whatever the constructor raises is its refusal
            raise Refused(f"{type(error).__name__}: {error}") from error
    return module_rows(model)


def module_rows(model: Any) -> list[Row]:
    """The rows of any torch module; ties are found by the identity of the Parameter."""
    first: dict[int, str] = {}
    rows: list[Row] = []
    for name, parameter in model.named_parameters(remove_duplicate=False):
        canonical = first.setdefault(id(parameter), name)
        tied_to = None if canonical == name else canonical
        rows.append((name, tuple(parameter.shape), "parameter", parameter.requires_grad, tied_to))
    saved = set(model.state_dict(keep_vars=True))
    for name, buffer in model.named_buffers(remove_duplicate=False):
        if name in saved:
            canonical = first.setdefault(id(buffer), name)
            rows.append((name, tuple(buffer.shape), "buffer", False, None if canonical == name else canonical))
    return rows


def spec_rows(tensors: list[Tensor]) -> list[Row]:
    return [(t.name, t.shape, t.kind, t.trainable, t.tied_to) for t in tensors]
