"""A sweep as a SQL query, for a grid or a table that a database holds.

The query says what the sweep knows, and no more: every closed form stands under its conditions and within the
bounds of the swept values, for which its arithmetic was proven not to overflow; where none applies, the
result is NULL.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from archspec.errors import Problem, SweepError
from archspec.sweeping.axes import Axis
from archspec.sweeping.boxes import boxes
from archspec.sweeping.engine import Asked
from archspec.sweeping.evaluator import MAX_INT
from archspec.sweeping.subject import Region
from archspec.symbolic.path_conditions import Condition
from archspec.symbolic.polynomials import Atom, Poly, Real, Space

DIALECTS = ("duckdb", "spark")
MAX_FORMS = 2_000
MAX_HUGE = 10**38


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
        raise SweepError(
            Problem(f"{dialect} is no dialect of SQL known here", help=f"there are {' and '.join(DIALECTS)}")
        )
    return _Query(sweep, dialect).text(table)


class _Query:
    def __init__(self, sweep: Asked, dialect: str) -> None:
        self.sweep, self.dialect = sweep, dialect
        self.axes, self.space = sweep.subject.axes, sweep.subject.space
        self.free = False  # whether the fields come from a table, of whatever type
        self.forms = self._forms()
        exact = [node for region in self.forms for node in _polys(self.space, region)]
        size = max((self.space.magnitude(poly) for poly in exact), default=0)
        if size >= MAX_HUGE:
            raise SweepError(
                Problem("the counts of this grid can have more than 38 digits", help="sweep smaller values")
            )
        huge = "HUGEINT" if dialect == "duckdb" else "DECIMAL(38, 0)"
        self.integer = "BIGINT" if size <= MAX_INT else huge

    def _forms(self) -> list[Region]:
        """Every region of the grid that has rows."""
        engine = self.sweep.engine
        found: dict[int, Region] = {}
        with np.errstate(all="ignore"):
            for box in boxes(engine.grid):
                found |= {id(region): region for region, _ in engine.assigned(box) if region.keep}
                if len(found) > MAX_FORMS:
                    message = f"more than {MAX_FORMS:,} closed forms are too many for a query"
                    raise SweepError(Problem(message, help="sweep fewer values"))
        if not found:
            self.sweep.demand_rows(sum(1 for _ in self.sweep.batches()))
            raise SweepError(
                Problem("--where leaves no point of the grid", help="loosen it, or sweep other values")
            )
        return list(found.values())

    def text(self, table: str | None) -> str:
        free = self.free = table is not None
        cases = [self.conditions(region, free) for region in self.forms]
        columns = [
            f"{self.column(number, cases)} AS {self.name(name)}"
            for number, name in enumerate(self.sweep.subject.columns)
        ]
        kept = ["t.*"] if free else [f"t.{self.name(axis.name)}" for axis in self.axes]
        lines = [
            "SELECT",
            ",\n".join(f"  {column}" for column in [*kept, *columns]),
            f"FROM {table if free else self.grid()} AS t",
        ]
        if cases != ["TRUE"] and (not free or self.sweep.subject.where):
            lines.append("WHERE " + "\n   OR ".join(f"({case})" for case in cases))
        return "\n".join(lines)

    def name(self, name: str) -> str:
        quote = '"' if self.dialect == "duckdb" else "`"
        return quote + name.replace(quote, quote * 2) + quote

    def grid(self) -> str:
        parts = []
        for number, axis in enumerate(self.axes):
            name, values = self.name(axis.name), axis.values
            whole = f"CAST({{}} AS {self.integer})" if axis.numeric else "{}"
            if isinstance(values, range) and len(values) > 1:
                series = f"{values[0]}, {values[-1]}, {values.step}"
                made = (
                    f"unnest(generate_series({series}))"
                    if self.dialect == "duckdb"
                    else f"explode(sequence({series}))"
                )
                parts.append(f"(SELECT {whole.format('n')} AS {name} FROM (SELECT {made} AS n)) AS a{number}")
            else:
                listed = ", ".join(f"({self.literal(value)})" for value in values)
                parts.append(
                    f"(SELECT {whole.format('n')} AS {name} FROM (VALUES {listed}) AS v(n)) AS a{number}"
                )
        return f"(SELECT * FROM {' CROSS JOIN '.join(parts)})"

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

    def conditions(self, region: Region, free: bool) -> str:
        found = [self.within(axis) for axis in self.axes if axis.numeric] if free else []
        found += [self.condition(condition) for condition in region.conditions]
        return " AND ".join(found) or "TRUE"

    def within(self, axis: Axis) -> str:
        """A whole number within the bounds for which the closed forms hold."""
        name, (low, high) = self.name(axis.name), axis.bounds
        return f"{name} BETWEEN {low} AND {high} AND {name} = FLOOR({name})"

    def condition(self, condition: Condition) -> str:
        terms = condition.left.terms if isinstance(condition.left, Poly) else ()
        for monomial, _ in terms:
            for number, _ in monomial:
                if (
                    number < len(self.axes) and not self.axes[number].numeric
                ):  # left is the axis less a position
                    position = -dict(terms).get((), 0)
                    value = self.axes[number].values[position]
                    name = self.name(self.axes[number].name)
                    return f"{name} IS NULL" if value is None else f"{name} = {self.literal(value)}"
        right = "0" if condition.right is None else self.node(condition.right)
        op = {("==", True): "=", ("==", False): "<>", ("<", True): "<", ("<", False): ">="}[
            condition.op, condition.holds
        ]
        return f"{self.node(condition.left)} {op} {right}"

    def column(self, number: int, cases: list[str]) -> str:
        texts = [self.node(region.values[number]) for region in self.forms]
        if cases == ["TRUE"]:
            return texts[0]
        forms = "\n".join(f"    WHEN {case} THEN {text}" for case, text in zip(cases, texts, strict=True))
        return f"CASE\n{forms}\n  END"

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
            return f"CAST({name} AS {self.integer})" if self.free else name
        if atom.op == "below":
            value = self.poly(atom.args[0])
            return (
                "("
                + " + ".join(f"CASE WHEN {value} > {place} THEN 1 ELSE 0 END" for place in atom.args[1])
                + ")"
            )
        if atom.op not in ("//", "%"):
            return self.rounded(atom)
        left, right = (self.poly(arg) for arg in atom.args)
        a, b = atom.args
        if b.low < 0:
            raise SweepError(
                Problem(
                    "a quotient by a number that can be negative",
                    help="sweep values for which it is positive",
                )
            )
        if b.low == 0:
            right = f"NULLIF({right}, 0)"
        rest = f"({left} % {right})" if a.low >= 0 else f"((({left} % {right}) + {right}) % {right})"
        if atom.op == "%":
            return rest
        top = left if a.low >= 0 else f"({left} - {rest})"
        if self.dialect == "duckdb":
            return f"({top} // {right})"
        if max(abs(a.low), abs(a.high)) > MAX_INT:
            raise SweepError(
                Problem("Spark divides no integers beyond 64 bits exactly", help="sweep smaller values")
            )
        return f"({top} DIV {right})"

    def rounded(self, atom: Atom) -> str:
        real = self.real(atom.args[0])
        functions = {
            "trunc": "TRUNC({0})",
            "floor": "FLOOR({0})",
            "ceil": "CEIL({0})",
            "round": "ROUND_EVEN({0}, 0)",
        }
        if self.dialect == "spark":  # a cast truncates there, and rounds in DuckDB
            functions |= {"trunc": "{0}", "round": "RINT({0})"}
        return f"CAST({functions[atom.op].format(real)} AS {self.integer})"

    def real(self, real: Real) -> str:
        if real.op == "float":
            return self.literal(real.args[0])
        if real.op == "int":
            return f"CAST({self.poly(real.args[0])} AS DOUBLE)"
        left, right = (self.real(arg) for arg in real.args)
        return f"({left} {real.op} {right})"


def _polys(space: Space, region: Region) -> list[Poly]:
    """Every polynomial that a region's query computes."""
    found: dict[int, Poly] = {}
    stack: list[Any] = [*region.values, *(side for c in region.conditions for side in (c.left, c.right))]
    while stack:
        node = stack.pop()
        if isinstance(node, Real):
            stack += node.args
        elif isinstance(node, Poly) and node.number not in found:
            found[node.number] = node
            stack += [
                arg
                for monomial, _ in node.terms
                for number, _ in monomial
                for arg in space.atoms[number].args
            ]
    return list(found.values())
