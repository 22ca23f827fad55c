"""A sweep as a SQL query, for a grid or for a table of a database.

Every closed form appears under its conditions, and within the bounds of the swept values: there its
arithmetic does not overflow. Where none applies, the result is NULL.
"""

from __future__ import annotations

import json
from typing import Any

from archspec.errors import SweepError, option
from archspec.sweeping.engine import Asked
from archspec.sweeping.evaluator import MAX_INT, boxes
from archspec.sweeping.subject import Region
from archspec.sweeping.table import column_kinds
from archspec.symbolic.expressions import Atom, Condition, Poly, Real
from archspec.symbolic.polynomials import EXACT_FLOAT

DIALECTS = ("duckdb", "spark")
_MAX_FORMS = 2_000
_BOX = 1 << 22  # points, of which only the conditions are evaluated
_ROUNDED = {  # a cast truncates in Spark, and rounds in DuckDB
    "duckdb": {"trunc": "TRUNC({})", "floor": "FLOOR({})", "ceil": "CEIL({})", "round": "ROUND_EVEN({}, 0)"},
    "spark": {"trunc": "{}", "floor": "FLOOR({})", "ceil": "CEIL({})", "round": "RINT({})"},
}
_OPERATORS = {("==", True): "=", ("==", False): "<>", ("<", True): "<", ("<", False): ">="}


def query(sweep: Asked, dialect: str = "duckdb", table: str | None = None) -> str:
    """Return a SELECT of the swept fields and the columns.

    Without a table the query makes the grid itself, and has the rows of the sweep. With one, it reads the
    swept fields from columns of their names, and adds the tied fields and the columns. These are NULL in rows
    outside the bounds of the swept values, and in those that transformers refuses.

    Errors: :class:`SweepError` for an unknown dialect, and for a sweep of too many closed forms.
    """
    if dialect not in DIALECTS:
        raise SweepError(f"unknown SQL dialect {dialect!r}", help=f"choose {' or '.join(DIALECTS)}")
    writer = _Writer(sweep, dialect, table)
    text = writer.text()
    if writer.largest <= MAX_INT:
        return text
    if writer.largest >= 10**38:
        message = "the counts of this grid can have more than 38 digits"
        raise SweepError(message, help="sweep smaller values")
    writer.integer = "HUGEINT" if dialect == "duckdb" else "DECIMAL(38, 0)"
    return writer.text()


def _regions_with_rows(sweep: Asked) -> list[Region]:
    """Return every region of the grid that has rows."""
    found: dict[int, Region] = {}
    for box in boxes(sweep.engine.grid, _BOX):
        found |= {id(region): region for region, _ in sweep.engine.assign_regions(box) if region.keep}
        if len(found) > _MAX_FORMS:
            message = f"a query has at most {_MAX_FORMS:,} closed forms"
            raise SweepError(message, help="sweep fewer values")
    if not found:
        list(sweep.batches())  # raises the reason if all points are refused
        message = f"{option('where')} excludes every config of the grid"
        raise SweepError(message, help=f"relax {option('where')}, or sweep other values")
    return list(found.values())


class _Writer:
    """Writes the expressions of one query, and records the ``largest`` integer that they compute."""

    def __init__(self, sweep: Asked, dialect: str, table: str | None) -> None:
        self.subject, self.dialect, self.table = sweep.subject, dialect, table
        self.axes, self.space = sweep.subject.axes, sweep.subject.space
        self.forms, self.kinds = _regions_with_rows(sweep), column_kinds(sweep.engine)
        self.integer, self.largest = "BIGINT", 0

    def text(self) -> str:
        cases = [self._conditions(region) for region in self.forms]
        kept = ["t.*"] if self.table is not None else [f"t.{self._name(axis.name)}" for axis in self.axes]
        for number, name in enumerate(self.subject.columns):
            kind = self.kinds[number]
            values = [self._write_as(region.values[number], name, kind) for region in self.forms]
            column = values[0]
            if cases != ["TRUE"]:
                whens = (f"    WHEN {case} THEN {value}" for case, value in zip(cases, values, strict=True))
                column = "\n".join(["CASE", *whens, "  END"])
            kept.append(f"{column} AS {self._name(name)}")
        source = self._grid() if self.table is None else self.table
        lines = ["SELECT", ",\n".join(f"  {column}" for column in kept), f"FROM {source} AS t"]
        if cases != ["TRUE"] and (self.table is None or self.subject.where):
            lines.append("WHERE " + "\n   OR ".join(f"({case})" for case in cases))
        return "\n".join(lines)

    def _name(self, name: str) -> str:
        quote = '"' if self.dialect == "duckdb" else "`"
        return quote + name.replace(quote, quote * 2) + quote

    def _grid(self) -> str:
        """Write all combinations of the swept values."""
        parts = []
        for number, axis in enumerate(self.axes):
            value = f"CAST(n AS {self.integer})" if axis.numeric else "n"
            if not isinstance(axis.values, range) or len(axis.values) == 1:
                source = f"(VALUES {', '.join(f'({self._literal(one)})' for one in axis.values)}) AS v(n)"
            elif self.dialect == "spark":  # range runs on all executors, a sequence on one
                start, step = axis.values.start, axis.values.step
                source = f"(SELECT {start} + id * {step} AS n FROM range({len(axis.values)}))"
            else:
                ends = f"{axis.values[0]}, {axis.values[-1]}, {axis.values.step}"
                source = f"(SELECT unnest(generate_series({ends})) AS n)"
            parts.append(f"(SELECT {value} AS {self._name(axis.name)} FROM {source}) AS a{number}")
        return f"(SELECT * FROM {' CROSS JOIN '.join(parts)})"

    def _literal(self, value: Any) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, bool | int):
            return str(value).upper()
        if isinstance(value, float):
            return f"CAST('{value!r}' AS DOUBLE)"
        text = value if isinstance(value, str) else json.dumps(value)
        return "'" + text.replace("'", "''") + "'" if self.dialect == "duckdb" else json.dumps(text)

    def _conditions(self, region: Region) -> str:
        found = []
        for axis in self.axes if self.table is not None else ():
            if axis.numeric:  # a whole number within the bounds
                name, (low, high) = self._name(axis.name), axis.bounds
                found.append(f"{name} BETWEEN {low} AND {high} AND {name} = FLOOR({name})")
        found += [self._condition(condition) for condition in region.conditions]
        return " AND ".join(found) or "TRUE"

    def _condition(self, condition: Condition) -> str:
        terms = dict(condition.left.terms) if isinstance(condition.left, Poly) else {}
        for number in (number for monomial in terms for number, _ in monomial):
            if number < len(self.axes) and not self.axes[number].numeric:
                value = self.axes[number].values[-terms.get((), 0)]  # the left side is axis - position
                name = self._name(self.axes[number].name)
                return f"{name} IS NULL" if value is None else f"{name} = {self._literal(value)}"
        right = "0" if condition.right is None else self._node(condition.right)
        return f"{self._node(condition.left)} {_OPERATORS[condition.op, condition.holds]} {right}"

    def _write_as(self, value: Any, name: str, kind: str) -> str:
        """Write a column's value in one region as a value of the column's kind."""
        is_whole = isinstance(value, Poly) or type(value) is int
        if kind == "text" and isinstance(value, Poly):
            return f"CAST({self._write_poly(value)} AS {'VARCHAR' if self.dialect == 'duckdb' else 'STRING'})"
        if kind == "text" and not isinstance(value, Real):  # numbers are as in JSON
            return self._literal(value if value is None or isinstance(value, str) else json.dumps(value))
        if kind == "float" and is_whole:
            size = self.space.magnitude(value) if isinstance(value, Poly) else abs(value)
            if size > EXACT_FLOAT:
                raise SweepError(f"{name} has floats, and integers that no float holds", help="round it")
            return f"CAST({self._node(value)} AS DOUBLE)"
        own = {Real: "float", float: "float", bool: "bool"}.get(type(value))
        if value is None or is_whole or kind == own:
            return f"CAST({value} AS {self.integer})" if type(value) is int else self._node(value)
        raise SweepError(f"{name} has values of several types", help="write it in str(...) or float(...)")

    def _node(self, node: Any) -> str:
        if isinstance(node, Poly):
            return self._write_poly(node)
        self.largest = max(self.largest, abs(node)) if type(node) is int else self.largest
        return self._write_real(node) if isinstance(node, Real) else self._literal(node)

    def _write_poly(self, poly: Poly) -> str:
        """Write a sum of products: databases share equal subexpressions themselves."""
        self.largest = max(self.largest, self.space.magnitude(poly))
        parts, sign = [], "+"
        for monomial, coefficient in poly.terms:
            atoms = [self.space.atoms[number] for number, power in monomial for _ in range(power)]
            factors = [self._atom(atom) for atom in atoms]
            sign = "-" if coefficient < 0 else "+"
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            parts.append(f"{sign} {' * '.join(factors)}")
        text = (" ".join(parts) or "0").removeprefix("+ ")
        return text if len(parts) < 2 and " * " not in text and sign == "+" else f"({text})"

    def _atom(self, atom: Atom) -> str:
        if atom.op == "axis":
            name = self._name(self.axes[atom.args[0]].name)
            return f"CAST({name} AS {self.integer})" if self.table is not None else name
        if atom.op == "below":
            value = self._write_poly(atom.args[0])
            cases = (f"CASE WHEN {value} > {place} THEN 1 ELSE 0 END" for place in atom.args[1])
            return f"({' + '.join(cases)})"
        if atom.op in ("min", "max"):
            function = "LEAST" if atom.op == "min" else "GREATEST"
            return f"{function}({', '.join(map(self._write_poly, atom.args))})"
        if atom.op in ("//", "%"):
            return self._write_division(atom)
        rounded = _ROUNDED[self.dialect][atom.op].format(self._write_real(atom.args[0]))
        return f"CAST({rounded} AS {self.integer})"

    def _write_division(self, atom: Atom) -> str:
        """Write floor division or its rest; a database truncates if one side is negative."""
        a, b = atom.args
        left, right = self._write_poly(a), self._write_poly(b)
        if b.low < 0:
            message = "a divisor of the closed forms can be negative"
            raise SweepError(message, help="sweep values for which it is positive")
        if b.low == 0:
            right = f"NULLIF({right}, 0)"
        rest = f"({left} % {right})" if a.low >= 0 else f"((({left} % {right}) + {right}) % {right})"
        if atom.op == "%":
            return rest
        if self.dialect == "spark" and max(abs(a.low), abs(a.high)) > MAX_INT:
            raise SweepError("Spark cannot divide integers beyond 64 bits", help="sweep smaller values")
        top = left if a.low >= 0 else f"({left} - {rest})"
        return f"({top} {'//' if self.dialect == 'duckdb' else 'DIV'} {right})"

    def _write_real(self, real: Real) -> str:
        if real.op == "float":
            return self._literal(real.args[0])
        if real.op == "int":
            return f"CAST({self._write_poly(real.args[0])} AS DOUBLE)"
        left, right = (self._write_real(arg) for arg in real.args)
        return f"({left} {real.op} {right})"
