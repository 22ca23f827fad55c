"""Inputs of a formula's code at other configs, and the counts that the code has to give there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import archspec
from archspec.configs.origin import RawConfig
from archspec.configs.reader import read_config
from archspec.configs.scope import Scope, SubConfig
from archspec.costs.records import Call, Step
from archspec.costs.training.activations import validated_activations
from archspec.errors import ArchspecError
from archspec.models.branches import value_at
from archspec.render.conditions import identifier, prepare
from archspec.specs.exported import ALLOWED
from archspec.symbolic.closed_form import other_values

Case = tuple[dict[str, Any], dict[str, Any], int | None]
Lengths = dict[str, int]
_LENGTHS = {
    "batch": (0, 1, 2, 3),
    "tokens": (0, 1, 2, 3, 5, 5000),
    "past": (0, 0, 1, 7),
    "encoder_tokens": (1, 2, 513),
    "new_encoder_tokens": (0, 2, 514),
}


def field_at(scope: Scope, path: str) -> Any:
    """Return the value of an input of code at a config."""
    if found := re.fullmatch(r"len\((.*)\)", path):
        value = field_at(scope, found[1])
        return len(value) if isinstance(value, list | tuple) else None
    if found := re.fullmatch(r"given\((.*)\)", path):
        *parts, last = found[1].removeprefix(scope.origin.path).split(".")
        for part in parts:
            scope = scope.get(part).scope
        name = scope.canonical(last)
        return scope.raw.get(name) if scope.given.get(name, name) == last else None
    if path.endswith(".model_type"):
        part = value_at(scope, path.removesuffix(".model_type"))
        return part.model_type if isinstance(part, SubConfig) else None
    return value_at(scope, path)


def inputs_at(formula: archspec.Formula, scope: Scope, lengths: Lengths | None = None) -> dict[str, Any]:
    """Return all inputs of a formula's code at a config, by their identifiers."""
    known, names = lengths or {}, prepare(formula).inputs
    return {identifier(name): known[name] if name in known else field_at(scope, name) for name in names}


def run_python(code: Any, row: dict[str, Any]) -> int | None:
    """Return the number that Python code gives, None if it refuses."""
    try:
        value = eval(code, {}, dict(row))
    except (ValueError, TypeError, NameError, ZeroDivisionError):
        return None
    assert type(value) is int
    return value


def exact(model: archspec.Model, quantity: str, call: Call | Step | None) -> int:
    """Return a quantity as its verb reports it. Errors: :class:`ArchspecError` if the verb refuses."""
    if call is None:
        return model.count(quantity)
    encoder = call.encoder_tokens or None
    if isinstance(call, Step):
        return validated_activations(model.scope, model.architecture, call.batch, call.tokens, encoder).bytes
    found = model.forward(call.batch, call.tokens, call.past, encoder, call.new_encoder_tokens)
    return found.cache_elements() if quantity == "cache_elements" else int(getattr(found, quantity))


def cases(formula: archspec.Formula, model: archspec.Model, chance: Random, tries: int) -> Iterator[Case]:
    """Yield the config and some near it: the changes, the inputs of the code, the count or None."""
    lengths = formula.call.lengths() if formula.call else {}
    yield {}, inputs_at(formula, model.scope, lengths), exact(model, formula.quantity, formula.call)
    inputs, about = (found := prepare(formula)).inputs, found.fields
    fields = [one for one in model.fields if "any" not in one.types]
    fields = [one for one in fields if one.field in about or one.field.split(".")[-1] not in ALLOWED]
    read = [one for one in fields if one.field in about]
    for _ in range(tries):
        drawn = read if read and chance.random() < 0.7 else fields
        changed: dict[str, Any] = {}
        for one in chance.sample(drawn, min(len(drawn), chance.choice((1, 1, 1, 2, 3)))):
            others = [*other_values(one.value, one.choices), None, *_more(one.value, chance)]
            changed[one.field] = chance.choice(others)
        call = formula.call and formula.call.replace(_lengths(formula, lengths, chance))
        try:
            row = inputs_at(formula, _unchecked(model, changed), call.lengths() if call else None)
        except ArchspecError:
            continue  # a value of a wrong type
        try:
            count = exact(model.with_fields(changed), formula.quantity, call)
        except ArchspecError:
            if not changed.keys() <= about:
                continue  # it may be refused for a field that the code is not given
            if any(value is None and f"given({name})" in inputs for name, value in changed.items()):
                continue  # code cannot distinguish null from an absent field
            count = None
        yield {**changed, **(call.lengths() if call else {})}, row, count


def _unchecked(model: archspec.Model, changed: dict[str, Any]) -> Scope:
    """Return a config with some fields changed, whose values have the right types but are not checked."""
    config = read_config(RawConfig(dict(model.scope.raw), model.scope.origin), changed)
    scope = Scope(model.scope.spec, config.raw, config.origin, demanding=False)
    for name in changed:
        value_at(scope, name)
    return scope


def _lengths(formula: archspec.Formula, lengths: Lengths, chance: Random) -> Lengths:
    """Return the lengths of another call; a training step is without past."""
    found = {name: chance.choice((value, value, value, *_LENGTHS[name])) for name, value in lengths.items()}
    found = {name: value if lengths[name] or name == "past" else 0 for name, value in found.items()}
    is_step = formula.quantity == "training_flops"
    return found | ({"past": 0, "new_encoder_tokens": found["encoder_tokens"]} if is_step else {})


def _more(value: Any, chance: Random) -> list[Any]:
    if isinstance(value, bool) or not isinstance(value, int | float | list):
        return []
    if isinstance(value, list):
        return [[chance.choice((item, item * 2, item + 1)) if type(item) is int else item for item in value]]
    return [value * 2, value * 4, value // 2 or 1, value + 2, value * 1.1] if value else [2]
