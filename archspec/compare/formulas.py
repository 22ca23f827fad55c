"""The closed forms of differences: SymPy expressions over the fields of both configs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy

from archspec.compare.alignment import Alignment, Change, key
from archspec.errors import ArchspecError, FormulaError
from archspec.render.order import sort_terms
from archspec.render.printers import CodePrinter
from archspec.symbolic.fields import without_assumptions
from archspec.tree.tensors import fold_layers

if TYPE_CHECKING:
    from archspec.models.formula import Formula


class Forms(NamedTuple):
    """The closed form of each change, or None, and that of the total difference.

    A field whose value differs is written `A.field` and `B.field`; ``values`` gives the value of each symbol.
    ``missing`` is the reason if all are missing.
    """

    changes: tuple[Any, ...]
    total: Any
    values: dict[str, int | float]
    missing: str = ""


def forms(found: Alignment) -> Forms:
    """Return the closed forms of a diff, compared with the exact numbers, or why they are missing."""
    missing = ""
    try:
        if found.changes:
            return _forms(found)
    except ArchspecError as error:
        missing = str(error)
    return Forms((None,) * len(found.changes), None, {}, missing)


def _forms(found: Alignment) -> Forms:
    labelled = zip(found[:2], found.prefixes, "AB", strict=True)
    sides = [_Side(model.formula, prefix, label) for model, prefix, label in labelled]
    sides[0].rename_fields(sides[1])
    sides[1].rename_fields(sides[0])
    ours, theirs = sides[0].values, sides[1].values
    clashing = {name for name, value in ours.items() if theirs.get(name, value) != value}
    for side in sides:
        side.rename(clashing)
    values = {**sides[0].renamed, **sides[1].renamed}
    exact = {sympy.Symbol(name): sympy.Rational(repr(value)) for name, value in values.items()}
    changes = tuple(_change_expression(change, sides, exact) for change in found.changes)
    total = sympy.expand(sides[1].expr - sides[0].expr)
    if total.subs(exact, simultaneous=True) != found.totals[1] - found.totals[0]:
        raise FormulaError("the closed form of the difference does not give the exact number")
    return Forms(changes, total, dict(sorted(values.items())))


def as_python(expr: Any) -> str:
    """Return an expression in Python's syntax over field names.

    >>> as_python(sympy.Symbol("hidden_size") ** 2 + sympy.Symbol("hidden_size"))
    'hidden_size**2 + hidden_size'
    """
    prints = CodePrinter("python")
    terms = sort_terms(sympy.Add.make_args(sympy.expand(expr)))
    text = prints.print_sum(sorted(terms, key=lambda term: bool(term.could_extract_minus_sign())))
    if not any(symbol.name[:2] in ("A.", "B.") for symbol in expr.free_symbols):
        return text
    factored = prints.print_sum([sympy.factor(expr)]) if expr.is_polynomial() else text
    return min(text, factored, key=len)


def _change_expression(change: Change, sides: list[_Side], exact: dict[Any, Any]) -> Any:
    before, after = (sympy.Add(*(side.sums.get(name, 0) for name in change.keys)) for side in sides)
    expr = sympy.expand(after - before)
    return expr if expr.subs(exact, simultaneous=True) == change.params else None


class _Side:
    """One model's closed form, as sums over its folded tensor names."""

    def __init__(self, formula: Formula, prefix: str, label: str) -> None:
        self.label, self.expr = label, formula.expr
        self.values = dict(formula.config_values)
        self.renamed: dict[str, int | float] = {}
        self.sums: dict[str, Any] = {}
        for tensor in formula.tensors:
            if tensor.kind == "parameter":
                name = fold_layers(key(re.sub(r"\{[^}]*\}", "0", tensor.name), prefix))
                self.sums[name] = self.sums.get(name, 0) + without_assumptions(tensor.numel)

    def rename_fields(self, other: _Side) -> None:
        """Rename a part's own fields as in a composite: `hidden_size` becomes `text_config.hidden_size`."""
        table = {}
        for name in [name for name in self.values if name not in other.values]:
            longer = (long for long in other.values if long.endswith(f".{name}"))
            same = [long for long in longer if other.values[long] == self.values[name]]
            if len(same) == 1 and same[0] not in self.values:
                table[sympy.Symbol(name)] = sympy.Symbol(same[0])
                self.values[same[0]] = self.values.pop(name)
        self.substitute(table)

    def substitute(self, table: dict[Any, Any]) -> None:
        self.expr = self.expr.xreplace(table)
        self.sums = {name: sympy.sympify(expr).xreplace(table) for name, expr in self.sums.items()}

    def rename(self, clashing: set[str]) -> None:
        """Prefix the fields that have another value on the other side with the letter of this side."""
        names = {name: f"{self.label}.{name}" if name in clashing else name for name in self.values}
        self.substitute({sympy.Symbol(name): sympy.Symbol(new) for name, new in names.items()})
        used = {symbol.name for symbol in self.expr.free_symbols}
        self.renamed = {new: self.values[name] for name, new in names.items() if new in used}
