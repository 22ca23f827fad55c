"""A closed form for other field values: the config, the forward pass and the count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

import sympy

from archspec.configs.json_text import as_json
from archspec.configs.overrides import as_typed, owner
from archspec.configs.reader import expand_items, split_indices
from archspec.configs.scope import Scope, SubConfig
from archspec.costs.lengths import check_lengths, check_runs
from archspec.costs.records import Call, Step
from archspec.errors import ArchspecError, FormulaError, Problem, option
from archspec.symbolic.closed_form import ClosedForm, exact_count
from archspec.symbolic.fields import exact_number

Fields = Mapping[str, Any]
Lengths = Call | Step | None
Form = TypeVar("Form", bound=ClosedForm)


class Source(Protocol):
    """The origin of a formula's config: a model, or what stands for one in a test."""

    @property
    def scope(self) -> Scope: ...
    @property
    def set_notes(self) -> tuple[str, ...]: ...
    def with_fields(self, set: Fields | None = None, /, **fields: Any) -> Source: ...


class Spot(NamedTuple):
    """A config and a forward pass for other field values: ``given`` ones; ``scope`` applies assumptions.

    ``notes`` name given fields without effect.
    """

    given: Source
    scope: Scope
    call: Lengths
    notes: tuple[str, ...]


@contextmanager
def named_errors(form: ClosedForm, fields: Fields) -> Iterator[None]:
    """Prefix errors with the fields."""
    try:
        yield
    except ArchspecError as error:
        typed = [as_typed(name, as_json(value)) for name, value in fields.items()]
        first = error.problems[0]
        message = f"at {', '.join(typed or form.stated)}: {first.message}"
        raise type(error)(Problem(message, help=first.help)) from None


def spot_at(form: ClosedForm, source: Source, fields: Fields) -> Spot:
    """Return the config and the forward pass for other field values, with the assumptions applied."""
    follows = {symbol.name: expr for symbol, expr in form.replacements.items()}
    read = {symbol.name for expr in follows.values() for symbol in expr.free_symbols}
    for path in fields:
        if (name := canonical_name(form.scope, path)) in follows.keys() - read:
            message = f"{path} cannot be set: this formula assumes {name} = {follows[name]}"
            raise FormulaError(message, help=f"leave out {path}, or the assumption")
    lengths = form.call.lengths() if form.call else {}
    call = _call_at(form.call, fields, lengths)
    fields = {name: value for name, value in fields.items() if name not in lengths}
    there = given = source.with_fields(_with_lists(source.scope, fields)) if fields else source
    if follows:
        known = {name: _value(given.scope, call, name) for name in read}
        numbers = numbers_of(given.scope, call, read)
        table = {sympy.Symbol(name): exact_number(value) for name, value in numbers.items()}
        found = {name: _size(form, name, expr.xreplace(table)) for name, expr in follows.items()}
        call = _call_at(call, found, lengths)
        found = {name: value for name, value in found.items() if name not in lengths}
        there = source.with_fields(_with_lists(source.scope, {**fields, **found}))
        for name in sorted(known.keys() - {*found, *lengths}):
            if (other := value_at(there.scope, name)) != known[name]:
                raise _ambiguity_error(name, known[name], other, found)
    if call is not None:
        check_runs(there.scope, form.architecture)
        check_lengths(there.scope, form.architecture, call)
    return Spot(given, there.scope, call, given.set_notes if fields else ())


def count_at(form: ClosedForm, spot: Spot) -> int:
    """Return the exact count there, in the unit of the formula."""
    return exact_count(spot.scope, form.architecture, form.quantity, spot.call) * form.scale


def form_at(form: Form, spot: Spot) -> Form:
    """Return the closed form there, under the same assumptions and in the same unit."""
    there = type(form).derive(spot.scope, form.architecture, form.quantity, spot.call)
    if form.replacements:
        names = {symbol.name for symbol in form.replacements}
        names |= {one.name for expr in form.replacements.values() for one in expr.free_symbols}
        there.config_values = {**there.config_values, **numbers_of(spot.given.scope, form.call, names)}
        there = there.replace(form.replacements, form.stated)
    there = there.multiply(form.scale, form.quantity_name)
    if form.replacements and there.evaluate() != (count := count_at(form, spot)):
        raise FormulaError(f"the closed form does not give the exact {form.quantity}, {count:,}")
    return there


def numbers_of(scope: Scope, call: Lengths, names: Iterable[str]) -> dict[str, int | float]:
    """Return the fields and lengths that are numbers, by symbol."""
    found = {name: _value(scope, call, name) for name in sorted(names)}
    return {name: value for name, value in found.items() if type(value) in (int, float)}


def canonical_name(scope: Scope, path: str) -> str:
    """Return the name of a field's symbol for any of its names: `n_embd` for `hidden_size`."""
    prefix, (name, indices) = scope.origin.path, split_indices(path)
    prefix = prefix if name.startswith(prefix) else ""
    names = name.removeprefix(prefix).split(".")
    for place, part in enumerate(names):
        names[place] = scope.canonical(part)
        value = scope.get(names[place]) if scope.has(names[place]) else None
        scope = value.scope if isinstance(value, SubConfig) else scope
    return prefix + ".".join(names) + "".join(f"[{index}]" for index in indices)


def value_at(scope: Scope, path: str) -> Any:
    """Return the value of a field by its dotted path, or of a list item; None if it does not exist."""
    field, indices = split_indices(path.removeprefix(scope.origin.path))
    try:
        scope, leaf = owner(scope, field)
    except (AttributeError, AssertionError):
        return None  # a field of a missing sub-config
    value = scope.get(leaf) if scope.has(leaf) else scope.raw.get(leaf)
    for index in indices:
        value = value[index] if isinstance(value, list | tuple) and index < len(value) else None
    return value


def _call_at(call: Lengths, fields: Fields, lengths: Fields) -> Lengths:
    given = {name: value for name, value in fields.items() if name in lengths}
    for name, value in given.items():
        if type(value) is not int or value < 0:
            raise FormulaError(f"{name}: {value!r} is not a length", help="write an integer of at least 0")
    return call.replace(given) if call and given else call


def _size(form: ClosedForm, name: str, number: Any) -> int | float:
    if number.is_Integer:
        return int(number)
    if isinstance(form.config_values.get(name), float) and number.is_Rational:
        return float(number)
    message = f"{name} = {float(number):.10g} is not an integer"
    raise FormulaError(message, help="use // to round a quotient down, e.g. 8*hidden_size//3")


def _ambiguity_error(name: str, before: Any, after: Any, replaced: Fields) -> FormulaError:
    """Return the error for an assumption that reads a field whose default depends on the replaced fields."""
    given = ", ".join(f"{field} = {value}" for field, value in replaced.items())
    return FormulaError(
        f"the assumption reads {name}, which is computed from other fields: it is {before}, "
        f"and with {given} it becomes {after}",
        help=f"fix it with {option('set', {name: before})}, or write the assumption without {name}",
    )


def _value(scope: Scope, call: Lengths, name: str) -> Any:
    lengths = call.lengths() if call else {}
    return lengths[name] if name in lengths else value_at(scope, name)


def _with_lists(scope: Scope, fields: Fields) -> dict[str, Any]:
    return expand_items(lambda path: value_at(scope, path), fields)
