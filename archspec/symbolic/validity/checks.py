"""Every condition that a closed form relies on: comparisons of expressions, and values of flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import sympy

from archspec.symbolic.assumptions import Assumptions, Loop
from archspec.symbolic.decisions import Condition, Decision, Lookup, value_at
from archspec.symbolic.fields import Relation
from archspec.symbolic.path_conditions import Path
from archspec.symbolic.polynomials import Poly, Real
from archspec.symbolic.validity.floats import Exactness
from archspec.symbolic.validity.side import Decided

MOST = 4  # conditions of one test in the turns of a loop
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
_SIGNS = {("==", True): "==", ("==", False): "!=", ("<", True): "<", ("<", False): ">="}


class Check(NamedTuple):
    """A comparison of two SymPy expressions over the fields that has to hold."""

    op: str
    left: Any
    right: Any


class Validity(NamedTuple):
    """``checks`` compare expressions, ``flags`` are the values that fields which only decide must have.

    ``numbers`` are all numeric fields with their values at the config, ``computed`` the fields that the
    config leaves to be computed from others.
    """

    checks: tuple[Check, ...]
    flags: dict[str, Any]
    numbers: dict[str, Any]
    computed: frozenset[str]


def validity(path: Assumptions, decided: Decided, flags: Mapping[str, Any]) -> Validity:
    """The conditions that a formula relies on, once its tree is built and its rows are counted."""
    for loop in path.loops:
        if loop.unrolled:
            _unroll(path, loop)
    numbers = {**decided.numbers, **path.values}
    floats, found = Exactness(numbers), dict[Check, None]()
    pinned: set[str] = set()
    for condition in _tightest([*path.conditions, *decided.path.conditions]):
        if isinstance(condition.right, Real):
            sides = (condition.left, condition.right)
            if not all(side.op == "float" or floats.exact(side) for side in sides):
                pinned |= condition.left.axes | condition.right.axes
                continue
        found[_check(path, condition)] = None
    for op, real in _rounded(path):
        if op == "round" or not floats.exact(real, rounded=True):
            pinned |= real.axes
    for real, most in floats.too_long():
        if real.axes:
            found[Check("<=", path.fields.shown(real), sympy.Integer(most))] = None
    found |= {Check(*check): None for check in path.checks if not _trivial(*check)}
    values = {**flags, **decided.values}
    lists = tuple(f"{name}[" for name, value in values.items() if isinstance(value, list))
    values = {name: value for name, value in values.items() if not name.startswith(lists)}
    defined = {sympy.Symbol(name): value for name, (_, value) in path.definitions.items()}
    for name in sorted(pinned - path.definitions.keys()):
        if isinstance(numbers[name], float):
            values[name] = numbers[name]
        else:
            found[Check("==", sympy.Symbol(name), sympy.Integer(numbers[name]))] = None
    plain = [Check(op, _plain(left, defined), _plain(right, defined)) for op, left, right in found]
    return Validity(tuple(dict.fromkeys(plain)), values, numbers, frozenset(decided.computed))


def settle_loops(
    path: Assumptions, counted: set[tuple[Loop, str]], guards: set[tuple[Loop, str]], closed: Any
) -> None:
    """Marks the loops whose turns are told apart by more than tests with a closed form.

    ``counted`` are the tests whose turns have one, ``guards`` those that tell rows apart; ``closed`` gives
    the closed form of a relation.
    """
    for loop in path.loops:
        if loop.chose & loop.decisive:
            loop.unrolled = True
        covered: set[Any] = set()
        for text in loop.tests:
            relations = [one for one in loop.relations(text) if loop.symbol in one.axes]
            for relation in relations:
                if len(loop.outcomes(text)) == 1:
                    sides = loop.relation(text)
                    found = None if sides is None else closed(sides, loop)
                    if found is None:
                        continue
                    path.check("==", found[0 if True in loop.outcomes(text) else 1], loop.turns)
                elif (loop, text) in guards and (loop, text) not in counted:
                    continue
                covered.add(_key_of(relation))
        told = (one for decisions, _ in loop.history for one in decisions)
        if not all(
            isinstance(one, Condition) and _key(one.op, one.left, one.right) in covered for one in told
        ):
            loop.unrolled = True


def _key(op: str, left: Any, right: Any) -> Any:
    return (op, frozenset({left, right})) if op == "==" else (op, left, right)


def _key_of(relation: Relation) -> Any:
    """The condition that a test of two sides is decided by."""
    if not relation.op:
        return None
    left, right = relation.sides
    if relation.op in ("==", "!="):
        return _key("==", left, right)
    return _key("<", left, right) if relation.op in ("<", ">=") else _key("<", right, left)


def _unroll(path: Assumptions, loop: Loop) -> None:
    """Notes that a loop has the turns that it has, and what was decided in each of them."""
    if loop.free:
        path.check("==", loop.turns, sympy.Integer(loop.length))
    alike: dict[Any, dict[Condition, None]] = {}  # by what is compared, in any turn
    for decisions, places in loop.history:
        for one in decisions:
            key = one.place if isinstance(one, Lookup) else _key(one.op, one.left, one.right)
            there = Path(path.fields)
            _instantiate(there, path, one, places)
            alike.setdefault(key, {}).update(there.conditions)
    for conditions in alike.values():
        tight = list(_tightest(conditions))
        if len(tight) > MOST:  # fields that are as they are say it in fewer words
            axes = {axis for one in tight for side in (one.left, one.right) if side for axis in side.axes}
            tight = [_fixed(path, axis) for axis in sorted(axes)]
        path.conditions.update(dict.fromkeys(tight))


def _fixed(path: Assumptions, name: str) -> Condition:
    """The condition that a field has the value that it has."""
    fields, value = path.fields, path.values[name]
    if isinstance(value, int):
        there = fields.field(name, True)
        assert isinstance(there, Poly)
        return Condition("==", fields.subtract(there, fields.constant(value)), None, True)
    return Condition("==", fields.field(name, False), fields.literal(value), True)


def _instantiate(there: Path, path: Assumptions, decision: Decision, places: Mapping[Any, int]) -> None:
    """Notes a decision of one turn as a condition on the fields."""
    fields = path.fields
    if isinstance(decision, Lookup):
        place = fields.at(decision.place, places)
        if not _indexed(place):
            value = value_at(fields, place, {**path.values, **places})
            there.compare("==", place, fields.constant(value), True)
        return
    left, right = fields.at(decision.left, places), fields.at(decision.right, places)
    if left is not right and not _indexed(left) and not _indexed(right):
        there.compare(decision.op, left, right, decision.holds)


def _rounded(path: Assumptions) -> Iterator[tuple[str, Real]]:
    """The floats that become whole numbers, those of a loop in each of its turns."""
    for op, real in list(path.fields.rounded):
        if not _indexed(real):
            yield op, real
            continue
        for loop in path.loops:
            if loop.symbol in real.axes:
                turns = (path.fields.at(real, places) for _, places in loop.history)
                yield from ((op, there) for there in turns if not _indexed(there))


def _indexed(expr: Poly | Real) -> bool:
    return any(isinstance(axis, sympy.Dummy) for axis in expr.axes)


def _tightest(conditions: Iterable[Condition]) -> Iterator[Condition]:
    """Conditions without those that others imply: of `i < k` for several i, the largest."""
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


def _check(path: Assumptions, condition: Condition) -> Check:
    """A condition as a comparison without negative terms, a constant on the right."""
    op, fields = _SIGNS[condition.op, condition.holds], path.fields
    if condition.right is not None:
        return Check(op, fields.shown(condition.left), fields.shown(condition.right))
    terms = condition.left.terms
    left, right = (
        fields.shown(fields.poly({monomial: sign * c for monomial, c in terms if sign * c > 0}))
        for sign in (1, -1)
    )
    return Check(op, left, right) if left.free_symbols else Check(_TURNED[op], right, left)


def _trivial(op: str, left: Any, right: Any) -> bool:
    return bool(op == "<=" and (right - left).is_nonnegative)


def _plain(expr: Any, defined: Mapping[Any, Any]) -> Any:
    """An expression over symbols without assumptions; numbers that are no field are constants."""
    expr = sympy.sympify(expr)
    plain = expr.xreplace({symbol: sympy.Symbol(symbol.name) for symbol in expr.free_symbols})
    return plain.xreplace({symbol: exactly(value) for symbol, value in defined.items()})


def exactly(value: int | float) -> Any:
    """A number as SymPy has it: of a float the decimal number that it is written as."""
    return sympy.Rational(repr(value)) if isinstance(value, float) else sympy.Integer(value)
