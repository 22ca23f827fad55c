"""Every condition that a closed form relies on: comparisons of expressions, and values of flags.

transformers computes with floats, and a formula with the decimal numbers that they are written as. Both give
the same number if each step is exact in binary: the fields are multiples of 1/1024, and no step needs more
than 53 bits. Elsewhere the fields keep their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import Any, NamedTuple

import sympy

from archspec.symbolic.assumptions import Assumptions
from archspec.symbolic.expressions import Condition, Lookup, Real, value_at
from archspec.symbolic.fields import (
    Relation,
    exact_number,
    has_index,
    in_turn,
    sympy_form,
    without_assumptions,
)
from archspec.symbolic.loops import Loop, Test
from archspec.symbolic.path_conditions import Path
from archspec.symbolic.polynomials import EXACT_FLOAT
from archspec.symbolic.validity.config import ConfigConditions

BITS = 10  # of a fraction that a field may have
MOST = 4  # conditions of one test in all iterations
TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_SIGNS = {("==", True): "==", ("==", False): "!=", ("<", True): "<", ("<", False): ">="}


class Check(NamedTuple):
    """A comparison of two SymPy expressions over the fields that has to hold."""

    op: str
    left: Any
    right: Any


class Validity(NamedTuple):
    """The conditions of a formula: comparisons, and values of fields; what they are for the config."""

    checks: tuple[Check, ...]
    flags: dict[str, Any]  # the values that fields which only decide must have
    numbers: dict[str, Any]  # all numeric fields with their values for the config
    computed: frozenset[str]  # the fields that the config leaves to be computed from others


def validity(notes: Assumptions, config: ConfigConditions, flags: Mapping[str, Any]) -> Validity:
    """Return the conditions that a formula relies on, once its rows are counted."""
    conditions = dict(notes.path.conditions)
    for loop in notes.loops:
        if loop.unrolled:
            _unroll(notes, loop, conditions)
    numbers = {**config.numbers, **notes.values}
    floats, found = Exactness(numbers), dict[Check, None]()
    pinned: set[str] = set()
    for condition in _drop_implied([*conditions, *config.path.conditions]):
        sides = [] if condition.right is None else [condition.left, condition.right]
        if all(side.op == "float" or floats.is_exact(side) for side in sides):
            found[_check(notes, condition)] = None
        else:
            pinned |= condition.axes
    for op, real in _rounded_floats(notes):
        if op == "round" or not floats.is_exact(real, rounded=True):
            pinned |= real.axes
    for (real, scale), _ in floats.limits.items():
        if real.axes:
            most = exact_number(EXACT_FLOAT // 2**scale)
            found[Check("<=", sympy_form(notes.space, real), most)] = None
    checks = (Check(*one) for one in notes.checks)
    found |= {one: None for one in checks if one.op != "<=" or not (one.right - one.left).is_nonnegative}
    values = {**flags, **config.values}
    lists = tuple(f"{name}[" for name, value in values.items() if isinstance(value, list))
    values = {name: value for name, value in values.items() if not name.startswith(lists)}
    for name in sorted(pinned - notes.definitions.keys()):
        if isinstance(numbers[name], float):
            values[name] = numbers[name]
        else:
            found[Check("==", sympy.Symbol(name), exact_number(numbers[name]))] = None
    defined = {sympy.Symbol(name): exact_number(value) for name, (_, value, _) in notes.definitions.items()}
    plain = (  # numbers that are not fields are constants
        Check(one.op, *(without_assumptions(side).xreplace(defined) for side in one[1:])) for one in found
    )
    return Validity(tuple(dict.fromkeys(plain)), values, numbers, frozenset(config.computed))


def settle_loops(
    notes: Assumptions, counted: set[tuple[Loop, str]], guards: set[tuple[Loop, str]], closed: Any
) -> None:
    """Mark the loops whose iterations differ by more than tests with a closed form (``counted``).

    ``guards`` are the tests that distinguish rows; ``closed`` gives the closed form of a relation.
    """
    for loop in notes.loops:
        if loop.chose & loop.decisive:
            loop.unrolled = True
        covered: set[Any] = set()
        for text in loop.tests:
            outcomes = loop.outcomes(text)
            for relation in loop.relations(text):
                if loop.symbol not in relation.axes:
                    continue
                if len(outcomes) == 1:
                    sides = loop.relation(text)
                    found = None if sides is None else closed(sides, loop)
                    if found is None:
                        continue
                    notes.check("==", found[0 if True in outcomes else 1], loop.length_expr)
                elif (loop, text) in guards and (loop, text) not in counted:
                    continue
                covered |= _conditions_of(notes.path, relation)
        decisions = (one for turn in loop.history for one in turn.decisions if not isinstance(one, Test))
        loop.unrolled |= not all(isinstance(one, Condition) and one[:3] in covered for one in decisions)


def _conditions_of(path: Path, relation: Relation) -> set[Any]:
    """Return the conditions, without their outcomes, that can decide a comparison."""
    if not relation.op:
        return set()
    left, right = relation.sides
    if relation.op in ("==", "!="):
        asked = [("==", left, right), ("==", right, left)]
    else:
        asked = [("<", left, right) if relation.op in ("<", ">=") else ("<", right, left)]
    conditions = (path.condition(*one, True) for one in asked)
    return {one[:3] for one in conditions if one is not None}


def _unroll(notes: Assumptions, loop: Loop, conditions: dict[Condition, None]) -> None:
    if loop.has_free_length:
        notes.check("==", loop.length_expr, exact_number(loop.length))
    same: dict[Any, Path] = {}  # by what is compared, in any iteration
    for turn in loop.history:
        for one in turn.decisions:
            if not isinstance(one, Test):
                key = one.place if isinstance(one, Lookup) else one[:3]
                _instantiate(same.setdefault(key, Path(notes.space)), notes, one, turn.places)
    for path in same.values():
        tight = list(_drop_implied(path.conditions))
        if len(tight) > MOST:  # fixed fields say it in fewer words
            fixed = Path(notes.space)
            for axis in sorted({axis for one in tight for axis in one.axes}):
                fixed.fix(notes.field(axis, notes.values[axis]))
            tight = list(fixed.conditions)
        conditions.update(dict.fromkeys(tight))


def _instantiate(
    path: Path, notes: Assumptions, decision: Condition | Lookup, places: Mapping[Any, int]
) -> None:
    """Record a decision of one iteration as a condition on the fields."""
    space = notes.space
    if isinstance(decision, Lookup):
        place = in_turn(space, decision.place, places)
        if not has_index(place.axes):
            value = value_at(space.atoms, place, {**notes.values, **places})
            path.compare("==", place, space.constant(value), True)
        return
    left = in_turn(space, decision.left, places)
    right = space.constant(0) if decision.right is None else in_turn(space, decision.right, places)
    if not has_index(left.axes | right.axes):
        path.compare(decision.op, left, right, decision.holds)


def _rounded_floats(notes: Assumptions) -> Iterator[tuple[str, Real]]:
    """Yield the floats that become integers, those of a loop in each of its iterations."""
    for op, real in list(notes.space.rounded):
        if not has_index(real.axes):
            yield op, real
            continue
        for loop in notes.loops:
            if loop.symbol in real.axes:
                turns = (in_turn(notes.space, real, turn.places) for turn in loop.history)
                yield from ((op, there) for there in turns if not has_index(there.axes))


def _drop_implied(conditions: Iterable[Condition]) -> Iterator[Condition]:
    """Yield conditions without those that others imply: of `i < k` for several i, the largest."""
    found: dict[Any, Condition] = {}
    for one in conditions:
        key: Any = one
        if one.op == "<" and one.right is None:
            key = (tuple(term for term in one.left.terms if term[0]), one.holds)
            other = found.get(key)
            if other is not None and (_constant(other) >= _constant(one)) == one.holds:
                continue
        found[key] = one
    yield from found.values()


def _constant(condition: Condition) -> int:
    return int(dict(condition.left.terms).get((), 0))


def _check(notes: Assumptions, condition: Condition) -> Check:
    """Return a condition as a comparison without negative terms, a constant on the right."""
    op, space = _SIGNS[condition.op, condition.holds], notes.space
    if condition.right is not None:
        return Check(op, sympy_form(space, condition.left), sympy_form(space, condition.right))
    sides = ({term: sign * c for term, c in condition.left.terms if sign * c > 0} for sign in (1, -1))
    left, right = (sympy_form(space, space.make_poly(side)) for side in sides)
    return Check(op, left, right) if left.free_symbols else Check(TURNED[op], right, left)


class Exactness:
    """Finds the floats that are exact; ``limits`` are expressions, with binary digits after the point."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.limits: dict[tuple[Real, float], None] = {}

    def is_exact(self, real: Real, rounded: bool = False) -> bool:
        """Return True if every step is exact; before rounding, the last step may be a division."""
        sides = real.args if rounded and real.op == "/" else (real,)
        scale = max(map(self._scale, sides))
        if scale < inf and len(sides) > 1:
            self.limits |= dict.fromkeys((side, scale) for side in sides)
        return scale < inf

    def _scale(self, real: Real) -> float:
        """Return the binary digits after the point of a value; infinity if a step is not exact."""
        if real.op == "float":
            return _bit_length(real.args[0], 2 * BITS)
        if real.op == "field":
            return max(BITS, _bit_length(self.values[real.args[0]], BITS))
        if real.op not in ("+", "*"):
            return 0 if real.op == "int" else inf
        scales = [self._scale(side) for side in real.args]
        scale = sum(scales) if real.op == "*" else max(scales)
        if scale < inf:
            self.limits[real, scale] = None
        return scale


def _bit_length(value: float, most: int) -> float:
    return next((count for count in range(most + 1) if (value * 2**count).is_integer()), inf)
