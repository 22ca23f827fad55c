"""The fields of a config, and how a count answers to each, as reports."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cached_property

from archspec.configs.checks import default_kinds
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, UnknownArchitectureError
from archspec.language.expression import Expression, names
from archspec.language.trees import text_of
from archspec.models.report import Report
from archspec.reports import Block, Table, shortened
from archspec.specs.records import Spec, cost_expressions, leaves
from archspec.typing_light import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from archspec.models.elsewhere import Placed


MAX_STEP = 128  # how large an increase `sensitivity` tries


class FieldValue(NamedTuple):
    """A field of a config: ``field`` is its path, ``types`` are what it takes, by the spec language's names.

    ``symbol`` is its name in formulas, which differs where the config calls it otherwise; ``given`` says
    whether the config gives it, ``computed``, whether its default is worked out from other fields.
    ``choices`` are the texts that its spec tells apart.
    """

    field: str
    symbol: str
    types: tuple[str, ...]
    value: Any
    given: bool
    computed: bool
    choices: tuple[str, ...]


class Fields(Report):
    """The fields that a spec reads of a config, those of parts by their paths; :attr:`archspec.Model.fields`.

    Any of them can be set: :meth:`archspec.Model.at`. Which enter a count is for a formula to say
    (:attr:`archspec.Formula.entering`). A field of type `any` enters costs alone.

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
        if "num_labels" not in scope.spec.fields:
            self.fields.append(_num_labels(scope))

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[FieldValue]:
        return iter(self.fields)

    def __getitem__(self, path: str) -> FieldValue:
        return {one.field: one for one in self.fields}[path]

    def as_json(self) -> list[dict[str, Any]]:
        """Plain data, an entry for each field."""
        return [
            one._asdict() | {"types": list(one.types), "choices": list(one.choices)} for one in self.fields
        ]

    def blocks(self) -> Iterator[Block]:
        """A row for each field."""
        yield Table("field|value|type|said by", [*map(_value_row, self.fields)])


def _value_row(one: FieldValue) -> tuple[str, ...]:
    said = "the config" if one.given else "other fields" if one.computed else "the default"
    value = shortened(one.value) if isinstance(one.value, list) else json.dumps(one.value, default=str)
    return one.field, value, " | ".join(one.types), said


def _fields(scope: Scope) -> Iterator[FieldValue]:
    """The fields of a config that can be set, each part's in its place."""
    for name, field in scope.spec.fields.items():
        if name in scope.spec.fixed or name in scope.spec.readonly:
            continue
        value = scope.get(name)
        if field.sub_config is None:
            path = scope.origin.path + scope.given.get(name, name)
            types = field.types or default_kinds(field, field.default and scope.read(field.default))
            follows = field.default is not None and bool(names(field.default.tree))
            symbol = scope.origin.path + name
            yield FieldValue(
                path, symbol, types, value, name in scope.raw, follows, _choices(scope.spec, name)
            )
        elif isinstance(value, SubConfig):
            yield from _part(value)


def _part(value: SubConfig) -> Iterator[FieldValue]:
    try:
        yield from _fields(value.scope)
    except UnknownArchitectureError:
        return  # a part that nothing builds needs no spec


def _choices(spec: Spec, name: str) -> tuple[str, ...]:
    """The texts that a spec holds a field to, or compares it with."""
    found: list[str] = []
    for expression in _expressions(spec):
        if name in names(expression.tree):
            for node in ast.walk(expression.tree):
                if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == name:
                    found += filter(None, map(text_of, ast.walk(node.comparators[0])))
    return tuple(dict.fromkeys(found))


def _expressions(spec: Spec) -> Iterator[Expression]:
    yield from spec.require
    yield from (field.default for field in spec.fields.values() if field.default is not None)
    for module in spec.modules.values():
        yield from (*leaves(module.body), *module.where.values(), *module.require)
        yield from cost_expressions(module)


def _num_labels(scope: Scope) -> FieldValue:
    """The labels of a head, which every config has."""
    given = "num_labels" in scope.raw or scope.raw.get("id2label") is not None
    path = f"{scope.origin.path}num_labels"
    return FieldValue(path, path, ("int",), scope.get("num_labels"), given, computed=False, choices=())


def entering(formula: Placed) -> Iterator[str]:
    """The fields that enter a formula: those that it names, and those of which another value changes it.

    The form alone does not tell: a list decides how many layers there are of a kind, and which field made it.
    """
    from archspec.models.elsewhere import OfScope
    from archspec.symbolic.closed_form import exact, others

    source = formula.source or OfScope(formula.scope)
    counted = exact(source.scope, formula.architecture, formula.quantity, formula.call)

    def changes(one: FieldValue) -> bool:
        """Whether another value of a field, where it is taken, gives another count."""
        for value in others(one.value, one.choices):
            try:
                there = source.at({one.field: value}).scope
                if exact(there, formula.architecture, formula.quantity, formula.call) != counted:
                    return True
            except ArchspecError:
                continue
        return False

    named = {name.partition("[")[0] for name in (*formula.symbols, *formula.flags)}
    for one in Fields(source.scope):
        of_costs = "any" in one.types and formula.call is None  # no count depends on it
        if one.symbol in named or (not of_costs and changes(one)):
            yield one.field


class Sensitivity(NamedTuple):
    """How a quantity answers to one field at a config.

    ``step`` is the exact change of the count for ``by`` more, the smallest increase that can be built; both
    are None where none of those tried can be built. ``derivative`` is the partial derivative of the formula,
    ``elasticity`` the percent that it gives for one percent more. They are None for a field without a symbol.
    """

    field: str
    value: int | float
    step: int | None
    by: int | None
    derivative: float | None
    elasticity: float | None


class Sensitivities(Report):
    """How a quantity answers to each field at a config, made by :meth:`archspec.Model.sensitivity`.

    ``formula`` is the closed form whose partial derivatives are taken. Steps are counted, as
    `archspec count --set` does: fields with a computed default follow, and other branches are taken.

    >>> import archspec
    >>> print(archspec.load("GPT2Model").sensitivity())
    params of GPT2Model = 124,439,808
    <BLANKLINE>
    field        value  step      change  partial derivative  elasticity
    n_embd         768   +12  +3,292,212             198,847      1.2272
    n_layer         12    +1  +7,087,872         7.08787e+06      0.6835
    n_inner       3072    +1     +18,444              18,444      0.4553
    vocab_size   50257    +1        +768                 768      0.3102
    n_positions   1024    +1        +768                 768      0.0063
    <BLANKLINE>
    note: change is counted like `archspec count --set`; step is the smallest increase that can be built
    note: derivatives and elasticities are partial: all other symbols stay fixed, and roundings are ignored
    note: they hold in the branch with add_cross_attention = False; n_embd % n_head == 0; n_embd > 0
    note: n_head does not enter the count
    """

    def __init__(self, formula: Placed) -> None:
        self.formula = formula

    @cached_property
    def fields(self) -> list[Sensitivity]:
        """Every field that enters, the most elastic first."""
        from archspec.models.elsewhere import value_at
        from archspec.render.growth import slopes

        formula, prefix = self.formula, self.formula.scope.origin.path
        base, found, slope = formula.evaluate(), list[Sensitivity](), slopes(formula)
        fields = [name for name in formula.symbols if name not in formula.definitions]
        indirect = {prefix + name for name in {*formula.absent} - {*self.unused}} | {*formula.pinned}
        for name in [*fields, *sorted(indirect - {*formula.definitions})]:
            value = formula.symbols.get(name, value_at(formula.scope, name))
            by, step = self._step(name, value, base)
            derivative = slope.get(name)
            elastic = None if derivative is None else derivative * float(value) / base if base else 0.0
            found.append(Sensitivity(name, value, step, by, derivative, elastic))
        return sorted(found, key=lambda row: -abs(row.elasticity or 0.0))

    def _step(self, name: str, value: int | float, base: int) -> tuple[int | None, int | None]:
        """The smallest increase of a field that can be built, and the exact change of the count."""
        from archspec.models.elsewhere import counted

        for by in range(1, MAX_STEP + 1):
            try:
                return by, counted(self.formula, {name: value + by}) - base
            except ArchspecError:
                continue
        return None, None

    @property
    def unused(self) -> tuple[str, ...]:
        """The numeric fields that do not enter."""
        return self.formula.unused

    def as_json(self) -> dict[str, Any]:
        """Plain data, as `archspec sensitivity --json` prints it."""
        return {
            "architecture": self.formula.architecture,
            "model_type": self.formula.model_type,
            "quantity": self.formula.quantity,
            "value": self.formula.evaluate(),
            "fields": [row._asdict() for row in self.fields],
            "branch": self.formula.assumptions,
            "unused": list(self.unused),
        }

    def blocks(self) -> Iterator[Block]:
        """The count, each field, and those that do not enter."""
        formula = self.formula
        yield f"{formula.quantity_name} of {formula.architecture} = {formula.evaluate():,}"
        yield ""
        head = "field|>value|>step|>change|>partial derivative|>elasticity"
        yield Table(head, [*map(_sensitivity_row, self.fields)])
        yield ""
        yield (
            "note: change is counted like `archspec count --set`; "
            "step is the smallest increase that can be built"
        )
        yield (
            "note: derivatives and elasticities are partial: all other symbols stay fixed, "
            "and roundings are ignored"
        )
        if formula.assumptions:
            yield f"note: they hold in the branch with {'; '.join(formula.assumptions)}"
        for row in self.fields:
            if row.by is None:
                yield f"note: {row.field}: no increase up to {MAX_STEP} can be built"
        for name in self.unused:
            yield f"note: {name} does not enter the count"


def _sensitivity_row(one: Sensitivity) -> tuple[str, ...]:
    step, change = ("-", "-") if one.by is None or one.step is None else (f"+{one.by}", f"{one.step:+,}")
    slope = "-" if one.derivative is None else f"{one.derivative:,.6g}"
    elasticity = "-" if one.elasticity is None else f"{one.elasticity:.4f}"
    return one.field, str(one.value), step, change, slope, elasticity
