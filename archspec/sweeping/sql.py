"""A sweep as a SQL query, for a grid or a table that a database holds.

The query says what the sweep knows, and no more: every closed form stands under its conditions and within the
bounds of the swept values, for which its arithmetic was proven not to overflow; where none applies, the
result is NULL.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from archspec.errors import SweepError
from archspec.sweeping.axes import Axis
from archspec.sweeping.boxes import boxes
from archspec.sweeping.engine import Asked
from archspec.sweeping.evaluator import MAX_INT
from archspec.sweeping.subject import Region
from archspec.sweeping.table import column_kinds
from archspec.symbolic.decisions import Condition
from archspec.symbolic.polynomials import EXACT_FLOAT, Atom, Poly, Real, Space

DIALECTS = ("duckdb", "spark")
MAX_FORMS = 2_000
MAX_HUGE = 10**38
_BOX = 1 << 22  # points, of which only the conditions are evaluated


def query(sweep: Asked, dialect: str = "duckdb", table: str | None = None) -> str:
    """A SELECT of the swept fields and the columns.

    Without a table the query makes the grid itself, and has the rows of the sweep. With one, it reads the
    swept fields from columns of their names, and adds the tied fields and the columns to each row; what the
    sweep has no closed form for, because it lies outside the bounds of the swept values or transformers
    refuses it, is NULL there.

    Errors: :class:`SweepError` for a dialect that is not one of :data:`DIALECTS`, and for a sweep of too many
    forms.
    """
    if dialect not in DIALECTS:
        help_ = f"there are {' and '.join(DIALECTS)}"
        raise SweepError(f"{dialect} is no dialect of SQL known here", help=help_)
    return _Query(sweep, dialect, table).text()


class _Query:
    """The expressions of one query; with a table, the fields are columns of whatever type it gives them."""

    def __init__(self, sweep: Asked, dialect: str, table: str | None) -> None:
        self.sweep, self.dialect, self.table = sweep, dialect, table
        self.axes, self.space = sweep.subject.axes, sweep.subject.space
        self.forms = self._forms()
        self.kinds = column_kinds(sweep.engine)
        size = max((self.space.magnitude(poly) for poly in _polys(self.space, self.forms)), default=0)
        if size >= MAX_HUGE:
            message = "the counts of this grid can have more than 38 digits"
            raise SweepError(message, help="sweep smaller values")
        huge = "HUGEINT" if dialect == "duckdb" else "DECIMAL(38, 0)"
        self.integer = "BIGINT" if size <= MAX_INT else huge

    def _forms(self) -> list[Region]:
        """Every region of the grid that has rows."""
        engine = self.sweep.engine
        found: dict[int, Region] = {}
        with np.errstate(all="ignore"):
            for box in boxes(engine.grid, _BOX):
                found |= {id(region): region for region, _ in engine.assigned(box) if region.keep}
                if len(found) > MAX_FORMS:
                    message = f"more than {MAX_FORMS:,} closed forms are too many for a query"
                    raise SweepError(message, help="sweep fewer values")
        if not found:
            list(self.sweep.batches())  # where all points are refused, this says why
            message = "--where leaves no point of the grid"
            raise SweepError(message, help="loosen it, or sweep other values")
        return list(found.values())

    def text(self) -> str:
        cases = [self.conditions(region) for region in self.forms]
        kept = ["t.*"] if self.table is not None else [f"t.{self.name(axis.name)}" for axis in self.axes]
        for number, name in enumerate(self.sweep.subject.columns):
            kept.append(f"{self.column(number, cases)} AS {self.name(name)}")
        source = self.grid() if self.table is None else self.table
        lines = [
            "SELECT",
            ",\n".join(f"  {column}" for column in kept),
            f"FROM {source} AS t",
        ]
        if cases != ["TRUE"] and (self.table is None or self.sweep.subject.where):
            lines.append("WHERE " + "\n   OR ".join(f"({case})" for case in cases))
        return "\n".join(lines)

    def name(self, name: str) -> str:
        quote = '"' if self.dialect == "duckdb" else "`"
        return quote + name.replace(quote, quote * 2) + quote

    def grid(self) -> str:
        """All combinations of the swept values."""
        parts = []
        for number, axis in enumerate(self.axes):
            value = f"CAST(n AS {self.integer})" if axis.numeric else "n"
            if isinstance(axis.values, range) and len(axis.values) > 1:
                source = self.series(axis.values)
            else:
                listed = ", ".join(f"({self.literal(value)})" for value in axis.values)
                source = f"(VALUES {listed}) AS v(n)"
            parts.append(f"(SELECT {value} AS {self.name(axis.name)} FROM {source}) AS a{number}")
        return f"(SELECT * FROM {' CROSS JOIN '.join(parts)})"

    def series(self, values: range) -> str:
        """The numbers of a range as a table. Spark shares out its `range`; a sequence is one task's."""
        if self.dialect == "spark":
            return f"(SELECT {values.start} + id * {values.step} AS n FROM range({len(values)}))"
        return f"(SELECT unnest(generate_series({values[0]}, {values[-1]}, {values.step})) AS n)"

    def literal(self, value: Any) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return f"CAST('{value!r}' AS DOUBLE)"
        text = value if isinstance(value, str) else json.dumps(value)
        return "'" + text.replace("'", "''") + "'" if self.dialect == "duckdb" else json.dumps(text)

    def conditions(self, region: Region) -> str:
        found = []
        if self.table is not None:
            found += [self.within(axis) for axis in self.axes if axis.numeric]
        found += [self.condition(condition) for condition in region.conditions]
        return " AND ".join(found) or "TRUE"

    def within(self, axis: Axis) -> str:
        """A whole number within the bounds for which the closed forms hold."""
        name, (low, high) = self.name(axis.name), axis.bounds
        return f"{name} BETWEEN {low} AND {high} AND {name} = FLOOR({name})"

    def condition(self, condition: Condition) -> str:
        terms = dict(condition.left.terms) if isinstance(condition.left, Poly) else {}
        for number in (number for monomial in terms for number, _ in monomial):
            if number < len(self.axes) and not self.axes[number].numeric:
                axis = self.axes[number]
                value = axis.values[-terms.get((), 0)]  # the left side is the axis less a position
                name = self.name(axis.name)
                return f"{name} IS NULL" if value is None else f"{name} = {self.literal(value)}"
        right = "0" if condition.right is None else self.node(condition.right)
        signs = {("==", True): "=", ("==", False): "<>", ("<", True): "<", ("<", False): ">="}
        return f"{self.node(condition.left)} {signs[condition.op, condition.holds]} {right}"

    def column(self, number: int, cases: list[str]) -> str:
        texts = self.texts(number)
        if cases == ["TRUE"]:
            return texts[0]
        forms = "\n".join(f"    WHEN {case} THEN {text}" for case, text in zip(cases, texts, strict=True))
        return f"CASE\n{forms}\n  END"

    def texts(self, number: int) -> list[str]:
        """A column's form in each region, all of the type that follows from its expression."""
        name, wanted = list(self.sweep.subject.columns.items())[number]
        kinds = self.kinds.of(wanted) - {"null"}
        values = [region.values[number] for region in self.forms]
        if kinds & {"text", "list"} or ("bool" in kinds and len(kinds) > 1):
            return [self.as_text(value, name) for value in values]
        if "float" in kinds:
            return [self.as_double(value, name) for value in values]
        plain = all(type(value) is int for value in values)
        return (
            [f"CAST({value} AS {self.integer})" for value in values] if plain else [*map(self.node, values)]
        )

    def as_text(self, value: Any, name: str) -> str:
        """A value as in a column of texts, where a number is as in JSON."""
        if isinstance(value, Real):
            raise SweepError(f"{name} has texts and floats", help="write it in str(...) or float(...)")
        if isinstance(value, Poly):
            return f"CAST({self.poly(value)} AS {'VARCHAR' if self.dialect == 'duckdb' else 'STRING'})"
        return self.literal(value if value is None or isinstance(value, str) else json.dumps(value))

    def as_double(self, value: Any, name: str) -> str:
        """A value as in a column of floats. Errors: :class:`SweepError` for integers that no float holds."""
        most = self.space.magnitude(value) if isinstance(value, Poly) else 0
        if max(most, abs(value) if type(value) is int else 0) > EXACT_FLOAT:
            raise SweepError(f"{name} has floats, and integers that no float holds", help="round it")
        return (
            f"CAST({self.poly(value)} AS DOUBLE)"
            if isinstance(value, Poly)
            else self.node(float(value) if type(value) is int else value)
        )

    def node(self, node: Any) -> str:
        if isinstance(node, Poly):
            return self.poly(node)
        return self.real(node) if isinstance(node, Real) else self.literal(node)

    def poly(self, poly: Poly) -> str:
        """Sums of products: databases share equal subexpressions themselves."""
        parts, sign = [], "+"
        for monomial, coefficient in poly.terms:
            factors = [
                self.atom(self.space.atoms[number]) for number, power in monomial for _ in range(power)
            ]
            sign = "-" if coefficient < 0 else "+"
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            parts.append(f"{sign} {' * '.join(factors)}")
        text = (" ".join(parts) or "0").removeprefix("+ ")
        return text if len(parts) < 2 and " * " not in text and sign == "+" else f"({text})"

    def atom(self, atom: Atom) -> str:
        if atom.op == "axis":
            name = self.name(self.axes[atom.args[0]].name)
            return f"CAST({name} AS {self.integer})" if self.table is not None else name
        if atom.op == "below":
            value = self.poly(atom.args[0])
            turns = (f"CASE WHEN {value} > {place} THEN 1 ELSE 0 END" for place in atom.args[1])
            return f"({' + '.join(turns)})"
        if atom.op in ("min", "max"):
            function = "LEAST" if atom.op == "min" else "GREATEST"
            return f"{function}({', '.join(map(self.poly, atom.args))})"
        return self.divided(atom) if atom.op in ("//", "%") else self.rounded(atom)

    def divided(self, atom: Atom) -> str:
        """Floor division or its rest; a database truncates where one side is negative."""
        a, b = atom.args
        left, right = self.poly(a), self.poly(b)
        if b.low < 0:
            message = "a quotient by a number that can be negative"
            raise SweepError(message, help="sweep values for which it is positive")
        if b.low == 0:
            right = f"NULLIF({right}, 0)"
        rest = f"({left} % {right})" if a.low >= 0 else f"((({left} % {right}) + {right}) % {right})"
        if atom.op == "%":
            return rest
        top = left if a.low >= 0 else f"({left} - {rest})"
        if self.dialect == "duckdb":
            return f"({top} // {right})"
        if max(abs(a.low), abs(a.high)) > MAX_INT:
            message = "Spark divides no integers beyond 64 bits exactly"
            raise SweepError(message, help="sweep smaller values")
        return f"({top} DIV {right})"

    def rounded(self, atom: Atom) -> str:
        written = {
            "trunc": "TRUNC({})",
            "floor": "FLOOR({})",
            "ceil": "CEIL({})",
            "round": "ROUND_EVEN({}, 0)",
        }
        if self.dialect == "spark":  # a cast truncates there, and rounds in DuckDB
            written |= {"trunc": "{}", "round": "RINT({})"}
        return f"CAST({written[atom.op].format(self.real(atom.args[0]))} AS {self.integer})"

    def real(self, real: Real) -> str:
        if real.op == "float":
            return self.literal(real.args[0])
        if real.op == "int":
            return f"CAST({self.poly(real.args[0])} AS DOUBLE)"
        left, right = (self.real(arg) for arg in real.args)
        return f"({left} {real.op} {right})"


def _polys(space: Space, regions: Iterable[Region]) -> list[Poly]:
    """Every polynomial that a query of some regions computes."""
    found: dict[int, Poly] = {}
    stack: list[Any] = []
    for region in regions:
        stack += [*region.values, *(side for c in region.conditions for side in (c.left, c.right))]
    while stack:
        node = stack.pop()
        if isinstance(node, Real):
            stack += node.args
        elif isinstance(node, Poly) and node.number not in found:
            found[node.number] = node
            atoms = (space.atoms[number] for monomial, _ in node.terms for number, _ in monomial)
            stack += [arg for atom in atoms for arg in atom.args]
    return list(found.values())
