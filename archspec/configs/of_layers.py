"""`per_layer_config`: what single layers have of their own, by the layer's index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from archspec.configs.checks import misfit
from archspec.language.values import describe, here, shown
from archspec.specs.records import Field, Spec
from archspec.typing_light import Any


def own(field: Field, given: Mapping[Any, Any]) -> dict[int, dict[str, Any]]:
    """Of each layer the fields that it may have of its own."""
    names = field.of_layers or ()
    return {int(index): {name: own[name] for name in names if name in own} for index, own in given.items()}


def faults(
    field: Field, given: Mapping[Any, Any], spec: Spec, shared: Callable[[str], Any], layers: int
) -> Iterator[str]:
    """What transformers does not take: an index that is none, a field that all layers share, a value.

    ``shared`` gives the value that a field has for all layers, which a layer may repeat.
    """
    for index, fields in given.items():
        if not (str(index).isascii() and str(index).isdecimal()) or int(index) >= layers:
            yield f"{shown(index)} is no index of {here(layers)} layers"
        elif not isinstance(fields, Mapping):
            yield f"layer {index}: {describe(fields)} is not a mapping"
        else:
            for name, value in fields.items():
                if fault := _fault(field, name, value, spec, shared):
                    yield f"layer {index}{fault}"


def _fault(field: Field, name: str, value: Any, spec: Spec, shared: Callable[[str], Any]) -> str:
    """Why a layer cannot have a value of its own; empty where it can."""
    if name not in (field.of_layers or ()):
        if value == shared(name):
            return ""
        return f" has a {name} of its own, which this spec does not describe"
    known = spec.fields.get(name)
    fault = misfit(known, known.types or ("int",), value) if known is not None else None
    return f": {name}: {fault}" if fault else ""
