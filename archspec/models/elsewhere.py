"""A closed form at other fields of its config: the count there, and the closed form of that branch."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

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
Form = TypeVar("Form", bound=ClosedForm)


class Source(Protocol):
    """The origin of a formula's config, e.g. a model; ``at`` gives it with other fields."""

    @property
    def scope(self) -> Scope: ...
    @property
    def set_notes(self) -> tuple[str, ...]: ...
    def at(self, set: Fields | None = None, /, **fields: Any) -> Source: ...


class OfScope:
    """A config that was not loaded from a model."""

    set_notes: tuple[str, ...] = ()

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def at(self, set: Fields | None = None, /, **fields: Any) -> OfScope:
        config = RawConfig(dict(self.scope.raw), self.scope.origin)
        config = read_config(config, merge_overrides(set, fields))
        scope = Scope(self.scope.spec, config.raw, config.origin)
        scope.validate()
        return OfScope(scope)


class Spot(NamedTuple):
    """A config and call with other fields: ``given`` as they were given, ``scope`` with assumptions applied.

    ``notes`` name given fields without effect.
    """

    given: Source
    scope: Scope
    call: Call | Step | None
    notes: tuple[str, ...]


class Branch(NamedTuple, Generic[Form]):
    """A closed form at other fields, the source of its config, and notes on both."""

    form: Form
    source: Source
    notes: tuple[str, ...]


class Branches(Generic[Form]):
    """A closed form at other fields of its config.

    Methods raise :class:`ConfigError` for a config that transformers refuses, and :class:`FormulaError` for
    a field that the formula replaces; both name the fields.
    """

    def __init__(self, form: Form, source: Source | None) -> None:
        self.form, self.source = form, source or OfScope(form.scope)

    def count(self, fields: Fields) -> int:
        """The exact count at other fields, without the formula."""
        with self._named(fields):
            return self._exact(self._spot(fields)) * self.form.scale

    def evaluate(self, fields: Fields) -> int:
        """The exact count at other fields, compared with the formula if it holds there."""
        with self._named(fields):
            form, spot = self.form, self._spot(fields)
            count = self._exact(spot) * form.scale
            if not form.definitions and _number(form, self._values(spot)) == count:
                return count
            try:
                there = self._form(spot)
            except FormulaError:
                return count  # no closed form in that branch
            same = there.assumptions == form.assumptions and there.definitions == form.definitions
            if same and _number(form, there.config_values) != count:
                raise FormulaError(f"the closed form does not give the exact {form.quantity}, {count:,}")
            return count

    def at(self, fields: Fields) -> Branch[Form]:
        """The closed form at other fields."""
        with self._named(fields):
            spot = self._spot(fields)
            there = self._form(spot)
        known = {*self.form.assumptions, *self.form.stated}
        new = [text for text in there.assumptions if text not in known]
        notes = (*spot.notes, *([f"another branch: {'; '.join(new)}"] if new else ()))
        return Branch(there, spot.given, notes)

    def substitute(self, fields: Fields) -> Branch[Form]:
        """The closed form at other fields, with their values in place of their symbols."""
        branch = self.at(fields)
        names = tuple(canonical(self.form.scope, path) for path in fields)
        lists = tuple(f"{name}[" for name in names)
        form = branch.form
        chosen = [name for name in form.symbols if name in names or name.startswith(lists)]
        numbers = {name: form.symbols[name] for name in chosen if name not in form.definitions}
        table = {sympy.Symbol(name): exactly(value) for name, value in numbers.items()}
        stated = [f"{name} = {value}" for name, value in numbers.items()]
        return branch._replace(form=form.replaced(table, stated))

    def assume(self, replacement: Mapping[str, Any], texts: Iterable[str]) -> Branch[Form]:
        """The closed form with fields replaced by expressions of others, all at once."""
        form = self.form
        named = {sympy.Symbol(canonical(form.scope, name)): expr for name, expr in replacement.items()}
        if len(named) < len(replacement):
            message = f"two of {', '.join(replacement)} are names of one field"
            raise FormulaError(message, help="keep one of the two assumptions")
        for symbol in named:
            if symbol in form.replacements and symbol not in form.expr.free_symbols:
                raise FormulaError(f"{symbol} is already replaced", help="state all assumptions at once")
        other, stated = copy.copy(form), list(form.stated)
        for text, expr in zip(texts, named.values(), strict=True):
            own = sorted(symbol.name for symbol in expr.free_symbols & named.keys())
            said = " = ".join(part.strip() for part in text.split("=", 1))
            stated.append(f"{said}, with the config's own {' and '.join(own)}" if own else said)
        other.replacements, other.stated = form.composed(named), stated
        return Branches(other, self.source).at({})

    def numbers(self) -> dict[str, int | float]:
        """The numbers of the config that an assumption may read, by symbol."""
        form = self.form
        names = sorted({*form.config_values, *form.absent, *form.pinned} - {*form.definitions})
        found = {name: _length_or_field(self.source.scope, form.call, name) for name in names}
        return {name: value for name, value in found.items() if _is_number(value)}

    @contextmanager
    def _named(self, fields: Fields) -> Iterator[None]:
        """Prefix errors with the fields."""
        try:
            yield
        except ArchspecError as error:
            typed = [as_typed(name, as_json(value)) for name, value in fields.items()]
            first = error.problems[0]
            message = f"at {', '.join(typed or self.form.stated)}: {first.message}"
            raise type(error)(Problem(message, help=first.help)) from None

    def _exact(self, spot: Spot) -> int:
        return exact(spot.scope, self.form.architecture, self.form.quantity, spot.call)

    def _spot(self, fields: Fields) -> Spot:
        """The config and the call with other fields, and with the assumptions applied."""
        form, source = self.form, self.source
        follows = {symbol.name: expr for symbol, expr in form.replacements.items()}
        read = {symbol.name for expr in follows.values() for symbol in expr.free_symbols}
        for path in fields:
            if (name := canonical(form.scope, path)) in follows.keys() - read:
                raise FormulaError(f"{path} is replaced: this formula has {name} = {follows[name]}")
        lengths = form.call.lengths() if form.call else {}
        call = _call_at(form.call, {name: value for name, value in fields.items() if name in lengths})
        fields = {name: value for name, value in fields.items() if name not in lengths}
        given = source.at(_whole(source.scope, fields)) if fields else source
        there = given
        if follows:
            known = {name: _length_or_field(given.scope, call, name) for name in read}
            table = {sympy.Symbol(name): exactly(value) for name, value in known.items() if _is_number(value)}
            found = {name: self._size(name, expr.xreplace(table)) for name, expr in follows.items()}
            call = _call_at(call, {name: value for name, value in found.items() if name in lengths})
            found = {name: value for name, value in found.items() if name not in lengths}
            there = source.at(_whole(source.scope, {**fields, **found}))
            for name in sorted(known.keys() - {*found, *lengths}):
                if (other := value_at(there.scope, name)) != known[name]:
                    raise _ambiguous(name, known[name], other, found)
        if call is not None:
            check_runs(there.scope, form.architecture)
            check_lengths(there.scope, form.architecture, call)
        return Spot(given, there.scope, call, given.set_notes if fields else ())

    def _size(self, name: str, number: Any) -> int | float:
        """The value of a replaced field. Errors: :class:`FormulaError` if it is not a whole number."""
        if number.is_Integer:
            return int(number)
        if isinstance(self.form.config_values.get(name), float) and number.is_Rational:
            return float(number)
        raise FormulaError(
            f"{name} = {number} is not a whole number", help="write // to round a quotient down"
        )

    def _form(self, spot: Spot) -> Form:
        """The closed form at a config, under the assumptions of this one and in its unit."""
        form = self.form
        there = type(form).of(spot.scope, form.architecture, form.quantity, spot.call)
        if form.replacements:
            names = {symbol.name for symbol in form.replacements}
            names |= {one.name for expr in form.replacements.values() for one in expr.free_symbols}
            given = {name: _length_or_field(spot.given.scope, form.call, name) for name in sorted(names)}
            there.config_values = {**there.config_values, **{n: v for n, v in given.items() if _is_number(v)}}
            there = there.replaced(form.replacements, form.stated)
            if there.evaluate() != (count := self._exact(spot)):
                raise FormulaError(f"the closed form does not give the exact {form.quantity}, {count:,}")
        return there.scaled(form.scale, form.quantity_name)

    def _values(self, spot: Spot) -> dict[str, Any]:
        """The values of the formula's symbols at a config, without those that it does not have."""
        replaced = {symbol.name for symbol in self.form.replacements}
        scopes = {name: spot.given.scope if name in replaced else spot.scope for name in self.form.symbols}
        found = {name: _length_or_field(scope, spot.call, name) for name, scope in scopes.items()}
        return {name: value for name, value in found.items() if _is_number(value)}


def canonical(scope: Scope, path: str) -> str:
    """The name of a field's symbol for any of its names: `n_embd` for `hidden_size`."""
    prefix, (name, indices) = scope.origin.path, split_indices(path)
    prefix = prefix if name.startswith(prefix) else ""
    names = name.removeprefix(prefix).split(".")
    for place, part in enumerate(names):
        names[place] = scope.canonical(part)
        value = scope.get(names[place]) if scope.has(names[place]) else None
        scope = value.scope if isinstance(value, SubConfig) else scope
    return prefix + ".".join(names) + "".join(f"[{index}]" for index in indices)


def value_at(scope: Scope, path: str) -> Any:
    """The value of a field by its dotted path, or of a list item; None if it does not exist."""
    field, indices = split_indices(path.removeprefix(scope.origin.path))
    try:
        scope, leaf = owner(scope, field)
    except (AttributeError, AssertionError):
        return None  # a field of a missing sub-config
    value = scope.get(leaf) if scope.has(leaf) else scope.raw.get(leaf)
    for index in indices:
        value = value[index] if isinstance(value, list | tuple) and index < len(value) else None
    return value


def _ambiguous(name: str, before: Any, after: Any, replaced: Fields) -> FormulaError:
    """The error for an assumption that reads a field whose default depends on the replaced fields."""
    given = ", ".join(f"{field} = {value}" for field, value in replaced.items())
    return FormulaError(
        f"the assumption reads {name}, which is computed from other fields: it is {before}, "
        f"and with {given} it becomes {after}",
        help=f"fix it with --set {name}={before}, or write the assumption without {name}",
    )


def _number(form: ClosedForm, values: Mapping[str, Any]) -> int | None:
    """The value of a formula at values of its symbols; None if they do not give a count."""
    try:
        return form.substituted({name: values[name] for name in form.symbols})
    except (KeyError, FormulaError):
        return None


def _call_at(call: Call | Step | None, lengths: Fields) -> Call | Step | None:
    for name, value in lengths.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise FormulaError(f"{name}: {value!r} is not a length", help="write a whole number")
    return call.at(dict(lengths)) if call and lengths else call


def _length_or_field(scope: Scope, call: Call | Step | None, name: str) -> Any:
    lengths = call.lengths() if call else {}
    return lengths[name] if name in lengths else value_at(scope, name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(scope: Scope, fields: Fields) -> dict[str, Any]:
    return expand_items(lambda path: value_at(scope, path), fields)
