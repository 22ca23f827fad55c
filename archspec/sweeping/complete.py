"""A model's config written out in full, as transformers reads it."""

from __future__ import annotations

from typing import Any

from archspec.errors import SweepError
from archspec.model import Model, load
from archspec.scope import Scope, SubConfig

_VERSION = "5.23.0"  # of transformers, which the specs describe


def complete(model: Model, dtype: str | None = None) -> dict[str, Any]:
    """The config.json of a model: every field that a count depends on, with what else the config says.

    A default that transformers works out from other fields is left to it. The result is read back and counted.

    Errors: :class:`SweepError` when the written config has another count, which is a bug.

    >>> import archspec
    >>> written = complete(archspec.load("GPT2LMHeadModel", overrides={"n_layer": 24}))
    >>> written["architectures"], written["n_layer"], written["n_embd"]
    (['GPT2LMHeadModel'], 24, 768)
    """
    config = {"architectures": [model.architecture], "model_type": model.model_type, **_fields(model.scope)}
    config.pop("torch_dtype" if dtype else "", None)
    if dtype:
        config["dtype"] = dtype
    config["transformers_version"] = _VERSION
    if (found := load(config).params) != model.params:
        raise SweepError(f"a bug of archspec: the written config has {found:,} parameters, not {model.params:,}")
    return config


def _fields(scope: Scope) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in scope.spec.fields.items():
        given = scope.raw.get(name)
        if given is None and (field.computed or name not in scope.raw) and field.computed:
            continue
        value = scope.get(name)
        if isinstance(value, SubConfig):
            found[name] = {"model_type": value.model_type, **_fields(value.scope)}
        elif value is not None or name in scope.raw:
            found[name] = value
    rest = {name: value for name, value in scope.raw.items() if name not in found and name not in scope.spec.fixed}
    return {**found, **{name: value for name, value in rest.items() if name not in ("architectures", "model_type")}}
