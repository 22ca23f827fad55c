"""A formula at other fields of its config: the count there, and the closed form of its branch."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

import sympy

from archspec.configs.json_text import as_json
from archspec.configs.origin import RawConfig, merge_overrides
from archspec.configs.overrides import as_typed, owner
from archspec.configs.reader import expand_items, read_config, split_indices
from archspec.configs.scope import Scope, SubConfig
from archspec.costs.lengths import check_lengths, check_runs
from archspec.costs.records import Call, Step
from archspec.errors import ArchspecError, FormulaError, Problem
from archspec.symbolic.closed_form import ClosedForm, exact
from archspec.symbolic.validity.checks import exactly

Fields = Mapping[str, Any]


class Source(Protocol):
    """What a formula's config came from: a model, which gives itself at other fields."""

    @property
    def scope(self) -> Scope: ...
    @property
    def set_notes(self) -> tuple[str, ...]: ...
    def at(self, set: Fields | None = None, /, **fields: Any) -> Source: ...


class OfScope:
    """A config that no model was loaded from."""

    set_notes: tuple[str, ...] = ()

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def at(self, set: Fields | None = None, /, **fields: Any) -> OfScope:
        config = RawConfig(dict(self.scope.raw), self.scope.origin)
        config = read_config(config, merge_overrides(set, fields))
        scope = Scope(self.scope.spec, config.raw, config.origin)
        scope.validate()
        return OfScope(scope)


class Placed(ClosedForm):
    """A closed form that knows where its config came from.

    ``source`` is where, ``notes`` are said of one that :func:`at` gave.
    """

    source: Source | None = None
    notes: tuple[str, ...] = ()


Form = TypeVar("Form", bound=Placed)


class Spot(NamedTuple):
    """A config at which a formula is asked for: as it is given, and as what follows from others follows.

    ``notes`` are of fields that are given, and enter no count.
    """

    given: Source
    scope: Scope
    call: Call | Step | None
    notes: tuple[str, ...]


def evaluated(formula: Placed, fields: Fields) -> int:
    """The exact count at other fields, which is the formula's own number where it holds there.

    Errors: :class:`ConfigError` for what transformers refuses, :class:`FormulaError` for a field that the
    formula replaces.
    """
    with _at_these(formula, fields):
        spot = _spot(formula, fields)
        count = exact(spot.scope, formula.architecture, formula.quantity, spot.call) * formula.scale
        if not formula.definitions and _number(formula, _values(formula, spot)) == count:
            return count
        try:
            there = _of(formula, spot)
        except FormulaError:
            return count  # there is no closed form there
        same = there.assumptions == formula.assumptions and there.definitions == formula.definitions
        if same and _number(formula, there.config_values) != count:
            raise FormulaError(f"the closed form does not give the exact {formula.quantity}, {count:,}")
        return count


def counted(formula: Placed, fields: Fields) -> int:
    """The exact count at other fields, without a look at the formula. Errors: those of :func:`evaluated`."""
    with _at_these(formula, fields):
        spot = _spot(formula, fields)
        return exact(spot.scope, formula.architecture, formula.quantity, spot.call) * formula.scale


def at(formula: Form, fields: Fields) -> Form:
    """The closed form at other fields. Errors: those of :func:`evaluated`."""
    with _at_these(formula, fields):
        spot = _spot(formula, fields)
        there = _of(formula, spot)
    known = {*formula.assumptions, *formula.stated}
    new = [text for text in there.assumptions if text not in known]
    there.notes = (*spot.notes, *([f"another branch: {'; '.join(new)}"] if new else ()))
    return there


@contextmanager
def _at_these(formula: Placed, fields: Fields) -> Iterator[None]:
    """Says with an error at which fields it is."""
    try:
        yield
    except ArchspecError as error:
        typed = [as_typed(name, as_json(value)) for name, value in fields.items()]
        first = error.problems[0]
        message = f"at {', '.join(typed or formula.stated)}: {first.message}"
        raise type(error)(Problem(message, help=first.help)) from None


def substituted(formula: Form, fields: Fields) -> Form:
    """The closed form at other fields, with their numbers in place of their symbols."""
    there = at(formula, fields)
    names = tuple(canonical(formula, path) for path in fields)
    lists = tuple(f"{name}[" for name in names)
    chosen = [name for name in there.symbols if name in names or name.startswith(lists)]
    numbers = {name: there.symbols[name] for name in chosen if name not in there.definitions}
    table = {sympy.Symbol(name): exactly(value) for name, value in numbers.items()}
    return there.replaced(table, [f"{name} = {value}" for name, value in numbers.items()])


def under(formula: Form, replacement: Mapping[str, Any], stated: Iterable[str]) -> Form:
    """The closed form with fields replaced by expressions of others, all at once, where it is that there.

    Errors: :class:`ConfigError` for what transformers refuses at the config's values.
    """
    named = {sympy.Symbol(canonical(formula, name)): expr for name, expr in replacement.items()}
    if len(named) < len(replacement):
        message = f"two of {', '.join(replacement)} are names of one field"
        raise FormulaError(message, help="keep one of the two assumptions")
    for symbol in named:
        if symbol in formula.replacements and symbol not in formula.expr.free_symbols:
            raise FormulaError(f"{symbol} is replaced already", help="assume all of it at once")
    other = copy.copy(formula)
    said = [_said(text, expr, named) for text, expr in zip(stated, named.values(), strict=True)]
    other.replacements, other.stated = formula.composed(named), [*formula.stated, *said]
    return at(other, {})


def numbers(formula: Placed) -> dict[str, int | float]:
    """The numbers of the config that may stand in an assumption, by the names of their symbols."""
    names = [*formula.config_values, *formula.absent, *formula.pinned]
    names = [name for name in names if name not in formula.definitions]
    found = {name: _length_or_field((formula.source or formula).scope, formula.call, name) for name in names}
    return {name: value for name, value in found.items() if _is_number(value)}


def _said(text: str, expr: Any, named: Mapping[Any, Any]) -> str:
    """An assumption as it is noted: a field on the right that is replaced, too, is the config's own."""
    own = sorted(symbol.name for symbol in expr.free_symbols & named.keys())
    stated = " = ".join(part.strip() for part in text.split("=", 1))
    return f"{stated}, with the config's own {' and '.join(own)}" if own else stated


def canonical(formula: Placed, path: str) -> str:
    """The name of a field's symbol, where other names are given: `n_embd` for `hidden_size`."""
    scope, name, indices = formula.scope, *split_indices(path)
    prefix = scope.origin.path if name.startswith(scope.origin.path) else ""
    names = name.removeprefix(prefix).split(".")
    for place, part in enumerate(names):
        names[place] = scope.canonical(part)
        value = scope.get(names[place]) if scope.has(names[place]) else None
        scope = value.scope if isinstance(value, SubConfig) else scope
    return prefix + ".".join(names) + "".join(f"[{index}]" for index in indices)


def value_at(scope: Scope, path: str) -> Any:
    """A field's value, by its dotted path; an item of a list by its index, None where the list has none."""
    field, indices = split_indices(path.removeprefix(scope.origin.path))
    try:
        scope, leaf = owner(scope, field)
    except (AttributeError, AssertionError):
        return None  # of a part that this config does not have
    value = scope.get(leaf) if scope.has(leaf) else scope.raw.get(leaf)
    for index in indices:
        value = value[index] if isinstance(value, list | tuple) and index < len(value) else None
    return value


def _spot(formula: Placed, fields: Fields) -> Spot:
    """The config and the call with other fields, and with what follows from them by the assumptions."""
    follows = {symbol.name: expr for symbol, expr in formula.replacements.items()}
    read = {symbol.name for expr in follows.values() for symbol in expr.free_symbols}
    for path in fields:
        if (name := canonical(formula, path)) in follows.keys() - read:
            raise FormulaError(f"{path} is replaced: this formula has {name} = {follows[name]}")
    lengths = formula.call.lengths() if formula.call else {}
    call = _called(formula.call, {name: value for name, value in fields.items() if name in lengths})
    fields = {name: value for name, value in fields.items() if name not in lengths}
    source = formula.source or OfScope(formula.scope)
    given = source.at(_whole(source.scope, fields)) if fields else source
    there = given
    if follows:
        known = {name: _length_or_field(given.scope, call, name) for name in read}
        table = {sympy.Symbol(name): exactly(value) for name, value in known.items() if _is_number(value)}
        found = {name: _size(formula, name, expr.xreplace(table)) for name, expr in follows.items()}
        call = _called(call, {name: value for name, value in found.items() if name in lengths})
        found = {name: value for name, value in found.items() if name not in lengths}
        there = source.at(_whole(source.scope, {**fields, **found}))
        kept = {name: value for name, value in known.items() if name not in {*found, *lengths}}
        for name, value in kept.items():
            if (other := value_at(there.scope, name)) != value:
                raise _ambiguous(name, value, other, found)
    if call is not None:
        check_runs(there.scope, formula.architecture)
        check_lengths(there.scope, formula.architecture, call)
    return Spot(given, there.scope, call, given.set_notes if fields else ())


def _ambiguous(name: str, before: Any, after: Any, replaced: Fields) -> FormulaError:
    """The error for an assumption that reads a field whose default depends on the replaced fields."""
    given = ", ".join(f"{field} = {value}" for field, value in replaced.items())
    return FormulaError(
        f"the assumption reads {name}, which is computed from other fields: it is {before}, "
        f"and with {given} it becomes {after}",
        help=f"fix it with --set {name}={before}, or write the assumption without {name}",
    )


def _size(formula: Placed, name: str, number: Any) -> int | float:
    """What a replaced field comes to. Errors: :class:`FormulaError` where that is not a whole number."""
    if number.is_Integer:
        return int(number)
    if isinstance(formula.config_values.get(name), float) and number.is_Rational:
        return float(number)
    raise FormulaError(f"{name} = {number} is not a whole number", help="write // to round a quotient down")


def _of(formula: Form, spot: Spot) -> Form:
    """The closed form at a config, under the assumptions of a formula and in its unit."""
    there = type(formula).of(spot.scope, formula.architecture, formula.quantity, spot.call)
    there.source = spot.given
    if formula.replacements:
        read = {symbol for expr in formula.replacements.values() for symbol in expr.free_symbols}
        names = sorted(symbol.name for symbol in {*formula.replacements, *read})
        given = {name: _length_or_field(spot.given.scope, formula.call, name) for name in names}
        there.config_values = {**there.config_values, **{n: v for n, v in given.items() if _is_number(v)}}
        there = there.replaced(formula.replacements, formula.stated)
        count = exact(spot.scope, formula.architecture, formula.quantity, spot.call)
        if there.evaluate() != count:
            raise FormulaError(f"the closed form does not give the exact {formula.quantity}, {count:,}")
    return there.scaled(formula.scale, formula.quantity_name)


def _values(formula: Placed, spot: Spot) -> dict[str, Any]:
    """What a formula's symbols are worth at a config; those that it lacks are left out."""
    replaced = {symbol.name for symbol in formula.replacements}
    scopes = {name: spot.given.scope if name in replaced else spot.scope for name in formula.symbols}
    found = {name: _length_or_field(scope, spot.call, name) for name, scope in scopes.items()}
    return {name: value for name, value in found.items() if _is_number(value)}


def _number(formula: Placed, values: Mapping[str, Any]) -> Any:
    """The formula's number at other values; None where it is none."""
    if not formula.symbols.keys() <= values.keys():
        return None
    try:
        return formula.substituted({name: values[name] for name in formula.symbols})
    except FormulaError:
        return None


def _called(call: Call | Step | None, lengths: Fields) -> Call | Step | None:
    if call is None or not lengths:
        return call
    for name, value in lengths.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise FormulaError(f"{name}: {value!r} is no length", help="write a whole number")
    return call.at(dict(lengths))


def _length_or_field(scope: Scope, call: Call | Step | None, name: str) -> Any:
    lengths = call.lengths() if call else {}
    return lengths[name] if name in lengths else value_at(scope, name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(scope: Scope, fields: Fields) -> dict[str, Any]:
    return expand_items(lambda path: value_at(scope, path), fields)
