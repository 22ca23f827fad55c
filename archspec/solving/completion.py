"""A model's config written out in full, as transformers reads it."""

from __future__ import annotations

from typing import Any

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, SweepError
from archspec.models.model import Model, load
from archspec.specs.library import TRANSFORMERS_VERSION, Library
from archspec.specs.records import SpecLibrary


def complete(model: Model, dtype: str | None = None) -> dict[str, Any]:
    """The config.json of a model: every field that a count depends on, with what else the config says.

    A default that transformers works out from other fields is left to it. The result is read back and
    counted.

    Errors: :class:`SweepError` when the written config has another count, which is a bug.

    >>> import archspec
    >>> written = complete(archspec.load("GPT2LMHeadModel", set={"n_layer": 24}))
    >>> written["architectures"], written["n_layer"], written["n_embd"]
    (['GPT2LMHeadModel'], 24, 768)
    """
    for fields in (_fields(model.scope), _given(model.scope)):  # a default that is named may change others
        config = {"architectures": [model.architecture], "model_type": model.model_type, **fields}
        if dtype:
            config.pop("torch_dtype", None)
            config["dtype"] = dtype
        config["transformers_version"] = TRANSFORMERS_VERSION
        found = _params(config, model.spec.library)
        if found == model.params:
            return config
    raise SweepError(f"a bug of archspec: the written config has {found} parameters, not {model.params:,}")


def _params(config: dict[str, Any], library: SpecLibrary) -> int | None:
    assert isinstance(library, Library)
    try:
        return load(config, specs=library).params
    except ArchspecError:
        return None


def _given(scope: Scope) -> dict[str, Any]:
    """What the config says, under the names that it has there."""
    rest = {name: value for name, value in scope.raw.items() if name not in ("architectures", "model_type")}
    return {scope.given.get(name, name): value for name, value in rest.items()}


def _fields(scope: Scope) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in scope.spec.fields.items():
        given, written = scope.raw.get(name), scope.given.get(name, name)
        if name in {*scope.spec.fixed, *scope.spec.readonly} or (given is None and field.computed):
            continue  # worked out, be it from what the config says
        value = scope.get(name)
        if isinstance(value, SubConfig):
            found[written] = {"model_type": value.model_type, **_fields(value.scope)}
        elif value is not None or name in scope.raw:
            found[written] = value
    return found | {name: value for name, value in _given(scope).items() if name not in found}
