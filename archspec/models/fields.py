"""The fields of a config, and the sensitivity of a count to each, as reports."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from archspec.configs.checks import default_kinds
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, UnknownArchitectureError, list_names
from archspec.language.expression import names, text_of
from archspec.models.report import OfModel, Record, Report, fact, note_lines
from archspec.reports import Block, Table, short_list
from archspec.specs.records import Spec, cost_expressions, leaves
from archspec.typing_light import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from archspec.models.branches import Source
    from archspec.symbolic.closed_form import ClosedForm

MAX_STEP = 128  # the largest increase that `sensitivity` tries


class FieldValue(NamedTuple):
    """A config field: its path ``field``, the accepted ``types`` (as written in specs), and its ``value``.

    ``symbol`` is its name in formulas. ``given`` is True if the config sets it, ``computed`` is True if its
    default depends on other fields. ``choices`` are the strings that its spec distinguishes.
    """

    field: str
    symbol: str
    types: tuple[str, ...]
    value: Any
    given: bool
    computed: bool
    choices: tuple[str, ...]


class Fields(Report):
    """The config fields that the spec reads, by path; made by :attr:`archspec.Model.fields`.

    :meth:`archspec.Model.with_fields` sets them; :attr:`archspec.Formula.relevant_fields` names those that
    change a count. A field of type `any` changes only costs.

    >>> import archspec
    >>> fields = archspec.load({"model_type": "gpt2", "n_layer": 24}).fields
    >>> print(*fields.text().splitlines()[6:10], sep="\\n")
    n_embd                  768          int         the default
    n_layer                 24           int         the config
    n_head                  12           int         the default
    n_inner                 3072         int | None  other fields
    >>> fields["n_inner"].value, fields["n_inner"].computed
    (3072, True)
    """

    def __init__(self, scope: Scope) -> None:
        self.fields = [*_fields(scope)]
        if "num_labels" not in scope.spec.fields:  # every config has it
            given = "num_labels" in scope.raw or scope.raw.get("id2label") is not None
            path, value = f"{scope.origin.path}num_labels", scope.get("num_labels")
            self.fields.append(FieldValue(path, path, ("int",), value, given, computed=False, choices=()))

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[FieldValue]:
        return iter(self.fields)

    def __getitem__(self, path: str) -> FieldValue:
        return {one.field: one for one in self.fields}[path]

    def as_json(self) -> list[dict[str, Any]]:
        """Return plain data, an entry for each field."""
        return [one._asdict() | {"types": [*one.types], "choices": [*one.choices]} for one in self.fields]

    def blocks(self) -> Iterator[Block]:
        """Yield a table with a row for each field."""
        rows = []
        for one in self.fields:
            source = "the config" if one.given else "other fields" if one.computed else "the default"
            is_list = isinstance(one.value, list)
            value = short_list(one.value) if is_list else json.dumps(one.value, default=str)
            rows.append((one.field, value, " | ".join(one.types), source))
        yield Table("field|value|type|set by", rows)


def _fields(scope: Scope) -> Iterator[FieldValue]:
    """Yield the fields of a config that can be set, including those of its sub-configs."""
    spec, path = scope.spec, scope.origin.path
    for name, field in spec.fields.items():
        if name in spec.fixed or name in spec.readonly:
            continue
        value = scope.get(name)
        if field.sub_config is None:
            types = field.types or default_kinds(field, field.default and scope.read(field.default))
            computed = field.default is not None and bool(names(field.default.tree))
            given, typed = name in scope.raw, path + scope.given.get(name, name)
            yield FieldValue(typed, path + name, types, value, given, computed, _choices(spec, name))
        elif isinstance(value, SubConfig):
            with suppress(UnknownArchitectureError):  # a sub-config that nothing builds needs no spec
                yield from _fields(value.scope)


def _choices(spec: Spec, name: str) -> tuple[str, ...]:
    """Return the strings that a spec compares a field with."""
    found: list[str] = []
    expressions = [*spec.require, *(field.default for field in spec.fields.values() if field.default)]
    for module in spec.modules.values():
        expressions += [*leaves(module.body), *module.where.values(), *module.require]
        expressions += cost_expressions(module)
    trees = [one.tree for one in expressions if name in names(one.tree)]
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == name:
            found += filter(None, map(text_of, ast.walk(node.comparators[0])))
    return tuple(dict.fromkeys(found))


def entering_fields(formula: ClosedForm, source: Source) -> Iterator[str]:
    """Yield the fields that a formula names, and those of which another value changes the count.

    The form alone is not enough: a field may make a list that decides how many layers of a kind there are.
    """
    from archspec.symbolic.closed_form import exact_count, other_values

    subject = formula.architecture, formula.quantity, formula.call
    counted = exact_count(source.scope, *subject)

    def changes(one: FieldValue) -> bool:
        for value in other_values(one.value, one.choices):
            with suppress(ArchspecError):
                if exact_count(source.with_fields({one.field: value}).scope, *subject) != counted:
                    return True
        return False

    named = {name.partition("[")[0] for name in (*formula.symbols, *formula.flags)}
    for one in Fields(source.scope):
        only_costs = "any" in one.types and formula.call is None
        if one.symbol in named or (not only_costs and changes(one)):
            yield one.field


class Sensitivity(Record):
    """The sensitivity of a quantity to one field"""

    field: str = fact("the field, of a sub-config by its path")
    value: int | float = fact("its value in the config", least=None)
    step: int | None = fact("the smallest valid increase of the field; null if none up to 128 is valid")
    change: int | None = fact("the exact change of the quantity for an increase of `step`", least=None)
    derivative: float | None = fact(
        "the partial derivative of the formula, ignoring rounding; null for a field without a symbol",
        least=None,
    )
    elasticity: float | None = fact(
        "the change of the quantity in percent if the field grows by 1%", least=None
    )


class Sensitivities(OfModel, Report):
    """Derivatives of a quantity with respect to each field; made by :meth:`archspec.Model.sensitivity`.

    Steps are counted like `archspec count --set`: computed defaults are updated, and other branches may
    apply. ``formula`` is the differentiated formula.

    >>> import archspec
    >>> print(*str(archspec.load("GPT2Model").sensitivity()).splitlines()[:4], sep="\\n")
    params of GPT2Model = 124,439,808
    <BLANKLINE>
    field        value  step      change  partial derivative  elasticity
    n_embd         768   +12  +3,292,212             198,847      1.2272
    """

    quantity: str = fact("the name of the quantity, such as params", lambda self: self.formula.quantity)
    value: int = fact(
        "the value for the config; in bytes if a dtype is given",
        lambda self: self.formula.evaluate(),
        least=None,
    )
    fields: list[Sensitivity] = fact(
        "every field that affects the quantity, the most elastic first", lambda self: self._sensitivities()
    )
    branch: list[str] = fact(
        "the conditions under which the derivatives are valid", lambda self: self.formula.assumptions
    )
    unused: tuple[str, ...] = fact(
        "numeric fields that do not affect the quantity",
        lambda self: self.formula.unused_fields,
        kind="list[str]",
    )

    def __init__(self, formula: ClosedForm, count: Callable[[dict[str, Any]], int]) -> None:
        self.formula, self._count = formula, count
        self.architecture, self.model_type = formula.architecture, formula.model_type
        self._refused = dict[str, str]()  # why the last step of a field is invalid

    def _sensitivities(self) -> list[Sensitivity]:
        from archspec.models.branches import value_at
        from archspec.render.growth import slopes

        formula, prefix = self.formula, self.formula.scope.origin.path
        base, found, slope = formula.evaluate(), list[Sensitivity](), slopes(formula)
        symbols = [name for name in formula.symbols if name not in formula.definitions]
        indirect = {prefix + name for name in {*formula.absent} - {*self.unused}} | {*formula.pinned}
        for name in [*symbols, *sorted(indirect - {*formula.definitions})]:
            value, derivative = formula.symbols.get(name, value_at(formula.scope, name)), slope.get(name)
            elastic = None if derivative is None else derivative * float(value) / base if base else 0.0
            found.append(Sensitivity(name, value, *self._step(name, value, base), derivative, elastic))
        return sorted(found, key=lambda row: -abs(row.elasticity or 0.0))

    def _step(self, name: str, value: int | float, base: int) -> tuple[int | None, int | None]:
        """Return the smallest valid increase of a field, and the exact change of the count."""
        for step in range(1, MAX_STEP + 1):
            try:
                return step, self._count({name: value + step}) - base
            except ArchspecError as error:
                self._refused[name] = error.problems[0].message
        return None, None

    def blocks(self) -> Iterator[Block]:
        """Yield the count, a row for each field, and notes."""
        yield f"{self.formula.quantity_name} of {self.architecture} = {self.value:,}"
        head = "field|>value|>step|>change|>partial derivative|>elasticity"
        yield from ("", Table(head, [*map(_row, self.fields)]), "")
        notes = [
            "step is the smallest valid increase; change is its exact effect, with computed defaults updated",
            "derivatives and elasticities are partial: other fields stay fixed, and rounding is ignored",
        ]
        if self.branch:
            notes.append(f"derivatives and elasticities are valid for {'; '.join(self.branch)}")
        stuck = (row.field for row in self.fields if row.step is None)
        none = f"no increase up to +{MAX_STEP} is valid"
        notes += [f"{field} has no step: {none}; the last error: {self._refused[field]}" for field in stuck]
        yield from note_lines([*notes, *unused_notes(self.unused)])


def unused_notes(unused: Sequence[str]) -> list[str]:
    """Return a note on fields that do not affect a quantity; none if there are no such fields."""
    verb = "does" if len(unused) == 1 else "do"
    return [f"{list_names(unused, 'and')} {verb} not affect the result"] if unused else []


def _row(one: Sensitivity) -> tuple[str, ...]:
    step = "-" if one.step is None else f"+{one.step}"
    change = "-" if one.change is None else f"{one.change:+,}"
    slope = "-" if one.derivative is None else f"{one.derivative:,.6g}"
    elasticity = "-" if one.elasticity is None else f"{one.elasticity:.4f}"
    return one.field, str(one.value), step, change, slope, elasticity
