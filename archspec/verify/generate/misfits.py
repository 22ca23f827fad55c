"""A valid config with one value that does not fit: zero, `true` for a number, a text that nothing names, a
list too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from archspec.configs.scope import Scope
from archspec.specs.field_kinds import WIDE, is_deep
from archspec.specs.layer_types import ALLOWED
from archspec.specs.records import Spec
from archspec.verify.generate.wanted import given_names


def misfits(spec: Spec, raw: dict[str, Any], layer_lists: Iterable[str]) -> Iterator[dict[str, Any]]:
    """A config with each of its numbers zero, or no number; each text one that nothing names; each list
    too short, too long.

    Then with all layers of a kind that transformers knows, and with the last one, in each of some lists of
    layers.
    """
    scope = Scope(spec, raw)
    numbers = [name for name in spec.fields if type(scope.get(name)) is int]
    more = [name for name in given_names(spec) if name in spec.fixed and type(scope.get(name)) is int]
    yield from ({**raw, name: 0} for name in numbers if scope.get(name))
    yield from ({**raw, name: True} for name in (*numbers, *more))
    yield from without_layers(spec, raw, numbers)
    for name in layer_lists if scope.has("num_hidden_layers") else ():
        layers = scope.get("num_hidden_layers")
        value = scope.get(name) if scope.has(name) else None
        others = value[:-1] if isinstance(value, list) else []
        for kind in ALLOWED[name] if type(layers) is int else ():
            yield {**raw, name: [kind] * layers}
            yield from [{**raw, name: [*others, kind]}] if others else ()
    for name in spec.fields:
        value = scope.get(name)
        if isinstance(value, str):
            yield {**raw, name: f"{value}-{value}"}
        elif isinstance(value, list) and value:
            yield from ({**raw, name: items} for items in (value[:-1], [*value, value[-1]]))
            if (other := _misnamed(value)) is not None:
                yield {**raw, name: other}


def without_layers(spec: Spec, raw: dict[str, Any], numbers: list[str]) -> Iterator[dict[str, Any]]:
    """A config, and the default one, with no layers and one number zero: what only a layer refuses is not
    refused there.
    """
    bare = {name: 0 for name in numbers if is_deep(name)}
    if bare:
        scope = Scope(spec, raw)  # transformers may compute a number also where it is given
        left = [name for name in numbers if spec.fields[name].computed and name not in {*raw, *spec.fixed}]
        computed = {name: scope.get(name) for name in left}
        # A list is as long as layers are many.
        small = {name: value for name, value in raw.items() if not isinstance(value, list)} | computed
        default = (
            [{"model_type": spec.model_type}] if WIDE not in spec.fields else []
        )  # its tables may be made in Python
        for start in (small, *default):
            yield from ({**start, **bare, name: 0} for name in numbers)


def _misnamed(items: list[Any]) -> list[Any] | None:
    """A list whose last text is another one, also if that is in a list within it; None where there are no
    texts.
    """
    for place, item in reversed([*enumerate(items)]):
        other = (
            f"{item}-{item}" if isinstance(item, str) else _misnamed(item) if isinstance(item, list) else None
        )
        if other is not None:
            return [*items[:place], other, *items[place + 1 :]]
    return None
