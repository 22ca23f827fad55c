"""A valid config with one value that does not fit: zero, `true` for a number, a list too long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from archspec.configs.scope import Scope
from archspec.specs.exported import ALLOWED
from archspec.specs.records import Spec
from archspec.symbolic.runs.solver import WIDE, is_deep


def misfits(spec: Spec, raw: dict[str, Any], layer_lists: Iterable[str]) -> Iterator[dict[str, Any]]:
    """A config with each field in turn as no model has it; with all layers, or the last, of each kind.

    Numbers are zero also in a config without layers, and in the default one: there a layer refuses nothing.
    """
    raw = {name: value for name, value in raw.items() if value is not None}  # one oddity at a time
    scope = Scope(spec, raw)
    fields = [field.name for field in spec.fields.values() if not field.only_costs]
    numbers = [name for name in fields if type(scope.get(name)) is int]
    bare = {name: 0 for name in numbers if is_deep(name)}
    # A list is as long as layers are many; what is computed from what is zero is given as it was.
    small = {name: value for name, value in raw.items() if not isinstance(value, list)} | bare
    computed = (name for name in numbers if spec.fields[name].computed and name not in {*raw, *spec.fixed})
    small |= {name: scope.get(name) for name in computed if scope.get(name)}
    default = {"model_type": spec.model_type, **bare}
    for start in (
        raw,
        *((small,) if bare else ()),
        *((default,) if bare and WIDE not in spec.fields else ()),
    ):
        yield from ({**start, name: 0} for name in numbers)
    yield from ({**raw, name: True} for name in numbers)
    for name in layer_lists if scope.has("num_hidden_layers") else ():
        layers, value = scope.get("num_hidden_layers"), scope.get(name) if scope.has(name) else None
        for kind in ALLOWED[name] if type(layers) is int else ():
            yield {**raw, name: [kind] * layers}
            yield from [{**raw, name: [*value[:-1], kind]}] if isinstance(value, list) and value[1:] else ()
    for name in fields:
        value = scope.get(name)
        if isinstance(value, str):
            yield {**raw, name: f"{value}-{value}"}
        elif isinstance(value, list) and value:
            unnamed = [[*value[:-1], f"{value[-1]}-{value[-1]}"]] if isinstance(value[-1], str) else []
            yield from ({**raw, name: items} for items in (value[:-1], [*value, value[-1]], *unnamed))
