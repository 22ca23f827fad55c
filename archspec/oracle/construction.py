"""A class of transformers instantiated on torch's meta device, where tensors have shapes and no memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, partial
from typing import Any

from archspec.oracle.classes import config_of, model_class
from archspec.oracle.rows import Row, module_rows
from archspec.oracle.shortcuts import shortcuts
from archspec.oracle.verdicts import verdict


def transformers_rows(architecture: str, raw: dict[str, Any], model_type: str) -> list[Row]:
    """A row for every parameter and persistent buffer.

    Errors: :class:`archspec.oracle.Refused` with what the config class or the constructor raised;
    :class:`archspec.oracle.Unavailable` where that says nothing about the config.
    """
    cls = model_class(architecture, model_type)
    return module_rows(built(cls, config_of(model_type, raw)))


def built(cls: Any, config: Any) -> Any:
    """An instance on meta, under the contexts in which transformers itself loads a checkpoint."""
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        try:
            for context in _contexts():
                stack.enter_context(context())
            return cls(config)
        except Exception as error:  # whatever the constructor raises is its refusal
            raise verdict(error) from error


@cache
def _contexts() -> tuple[Callable[[], Any], ...]:
    """What is entered for each model; looked up once, as transformers' own imports by name are slow."""
    import torch
    from transformers.initialization import meta_device_safe_creation_ops
    from transformers.monkey_patching import apply_patches

    return apply_patches, partial(torch.device, "meta"), meta_device_safe_creation_ops, shortcuts
