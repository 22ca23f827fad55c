"""Swept numbers: after any operations, a result is right if and only if the path conditions hold."""

from __future__ import annotations

import itertools
import math
import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_specs import over_grid

from archspec.language.values import value_of
from archspec.sweeping.axes import Axis
from archspec.sweeping.evaluator import Evaluator, Grid, boxes
from archspec.symbolic.expressions import Poly
from archspec.symbolic.path_conditions import Number, Path, symbolic_function
from archspec.symbolic.polynomials import Space

Program = Callable[..., Any]


def _int(value: Any) -> Any:
    return value.round_to_int("trunc") if isinstance(value, Number) else int(value)


def _float(value: Any) -> Any:
    return value.to_real() if isinstance(value, Number) else float(value)


def _extreme(name: str, *values: Any) -> Any:
    """min() or max() as the spec language has it."""
    found = symbolic_function(name, list(values))
    return found if found is not None else {"min": min, "max": max}[name](values)


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    **dict(zip(("+", "-", "*"), (operator.add, operator.sub, operator.mul), strict=True)),
    **dict(zip(("//", "%", "/"), (operator.floordiv, operator.mod, operator.truediv), strict=True)),
    "min": lambda a, b: min(a, b),
    "max": lambda a, b: max(a, b),
    "least": lambda a, b: _extreme("min", a, b, 3),
    "most": lambda a, b: _extreme("max", a, b, 3),
    "if": lambda a, b: a if a > b else b + 1,
    "==": lambda a, b: a if a == b else 3,
    "or": lambda a, b: a or b,
    "and": lambda a, b: a and b,
    "int": lambda a, b: _int(a) + b,
    "scaled": lambda a, b: _int(0.7 * a) + b,
    "ceil": lambda a, b: math.ceil(a / 3) + b,
    "floor": lambda a, b: math.floor(a * 0.3) - b,
    "round": lambda a, b: round(a / 4) * b,
    "float": lambda a, b: _float(a) + b,
    "square": lambda a, b: a**2 - b,
    "index": lambda a, b: [5, 6, 7, 8][a] + b if -4 <= a < 4 else b,
    "range": lambda a, b: len(range(a)) * b if isinstance(value_of(a), int) and abs(a) < 100 else b,
    "name": lambda a, b: len(str(a)) + b,
    "key": lambda a, b: {1: 10, 2: 20}.get(a, 30) + b,
    "negative": lambda a, b: -a + abs(b),
    "bool": lambda a, b: (not a) + b,
    "sqrt": lambda a, b: math.sqrt(abs(a)) + b,
}


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """A list of operations on earlier results; the first two are the swept fields, the next two constants."""
    steps = []
    for position in range(draw(st.integers(1, 6))):
        pick = st.integers(0, 3 + position)
        steps.append((draw(st.sampled_from(sorted(_OPERATIONS))), draw(pick), draw(pick)))
    return steps


def run(program: list[tuple[str, int, int]], *inputs: Any) -> Any:
    values = list(inputs)
    for name, left, right in program:
        values.append(_OPERATIONS[name](values[left], values[right]))
    return values[-1]


def outcome(program: list[tuple[str, int, int]], *inputs: Any) -> Any:
    try:
        return run(program, *inputs)
    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
        return type(error)


def same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, float) == isinstance(other, float)


@settings(max_examples=int(os.environ.get("ARCHSPEC_EXAMPLES", "400")), deadline=None)
@given(
    program=programs(), constants=st.tuples(st.integers(-3, 40), st.integers(0, 5)), start=st.integers(-2, 6)
)
def test_a_path_is_taken_wherever_its_conditions_hold(
    program: list[tuple[str, int, int]], constants: tuple[int, int], start: int
) -> None:
    axes = [Axis("a", range(start, start + 7), True), Axis("b", (1, 2, 4, 9, 33), True)]
    space = Space([axis.bounds for axis in axes])
    covered = np.zeros((7, 5), dtype=bool)
    for point in itertools.product(range(7), range(5)):
        if covered[point]:
            continue
        path = Path(space)
        numbers = [path.number(space.axis(k), axes[k].values[place]) for k, place in enumerate(point)]
        found = outcome(program, *numbers, *constants)
        mask, values = over_grid(path, axes, {} if isinstance(found, type) else {"": found})
        assert mask[point], "a path holds at its own point"
        for place in zip(*np.nonzero(mask), strict=True):
            plain = outcome(program, axes[0].values[int(place[0])], axes[1].values[int(place[1])], *constants)
            if isinstance(plain, type) or not values:
                assert plain is found, (program, place)
            else:
                value = values[""][place].item()
                assert same(value, plain), (program, place, value, plain)
        assert not (mask & covered).any(), "paths do not overlap"
        covered |= mask
    assert covered.all()


def number(low: int = 1, high: int = 100, at: int = 7) -> tuple[Path, Any]:
    path = Path(Space([(low, high)]))
    return path, path.number(path.space.axis(0), at)


@pytest.mark.parametrize(
    "use",
    [
        hash,
        str,
        int,
        float,
        list(range(9)).__getitem__,
        lambda n: [0] * n,
        lambda n: range(n),
        lambda n: {7: 1}[n],
        lambda n: divmod(int(n), 2),
        lambda n: math.sqrt(n),
        lambda n: math.log2(n),
        lambda n: 2**n,
        lambda n: "a" * n,
        lambda n: round(n, -1),
        lambda n: bytes(n),
        lambda n: n in {7},
    ],
)
def test_the_plain_value_is_never_used_unseen(use: Callable[[Any], Any]) -> None:
    path, n = number()
    use(n)
    assert path.conditions, "the path must rest on the value"
    (condition,) = path.conditions
    assert condition.op == "==" and condition.holds
    assert condition.left is path.space.add(path.space.axis(0), path.space.constant(7), -1)


def test_what_the_bounds_settle_is_no_condition() -> None:
    path, n = number(2, 50)
    assert n > 1 and n >= 0 and n != 0 and n <= 50 and n * n < 2**63 and bool(n) and n != 51
    assert (n % 1, n // 1 == n, n - n, (n * 6) // 6 == n) == (0, True, 0, True)
    assert not path.conditions


def test_a_number_is_no_int_but_says_what_it_is_here() -> None:
    _, n = number()
    assert not isinstance(n, int) and isinstance(value_of(n), int) and isinstance(value_of(n / 2), float)
    assert isinstance(value_of(n * 2), int) and isinstance(value_of(math.floor(n / 2)), int)


def test_the_extreme_of_numbers_is_no_decision() -> None:
    path, n = number(2, 50)
    least = symbolic_function("min", [n, 9])
    assert (least.value, least.expr.low, least.expr.high) == (7, 2, 9) and not path.conditions
    assert symbolic_function("max", [n, 60, n]) == 60 and symbolic_function("max", [[n, 2]]).expr is n.expr
    assert symbolic_function("min", [n, 1.5]) is None and symbolic_function("min", [3, 4]) is None


def test_exact_division_needs_no_new_atom() -> None:
    path, n = number()
    quotient = (n * n * 6) // (n * 2)
    assert isinstance(quotient.expr, Poly) and quotient.expr is (n * 3).expr and len(path.space.atoms) == 1


@pytest.mark.parametrize("op", ["+", "-", "*", "//", "%", "**"])
def test_an_operation_is_interned(op: str) -> None:
    space = Space([(1, 100), (1, 100)])
    names = {"+": "add", "-": "subtract", "*": "multiply", "//": "floor_divide", "%": "modulo", "**": "power"}
    a, b = space.axis(0), space.constant(3) if op == "**" else space.axis(1)
    found = space.operation(op, a, b)
    assert getattr(space, names[op])(a, b) is found is space.operation(op, a, b)
    assert len(space.atoms) == (3 if op in ("//", "%") else 2)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-4, 4)), min_size=1, max_size=4))
def test_a_product_divided_by_a_factor_is_the_other(terms: list[tuple[int, int, int]]) -> None:
    space = Space([(1, 100), (1, 100)])
    divisor = space.make_poly({((0, 1),): 2, ((1, 1),): 3, (): 1})
    powers = {tuple((axis, p) for axis, p in enumerate(pair) if p): c for *pair, c in terms}
    factor = space.make_poly(powers)
    assert space.quotient(space.multiply(factor, divisor), divisor) is factor
    rest = space.add(space.multiply(factor, divisor), space.axis(1))
    assert space.quotient(rest, divisor) is None


def test_large_integers_are_not_rounded_to_floats() -> None:
    path, n = number(1, 2**60, at=2**54 + 1)
    assert n / 2 == (2**54 + 1) / 2 and path.conditions, "beyond 2**53 the value is a condition"


@pytest.mark.parametrize("high", [10**3, 10**7, 10**10, 10**15])
def test_integers_beyond_64_bits_are_exact(high: int) -> None:
    axes = [Axis("a", (1, high // 3, high), True), Axis("b", (2, high), True)]
    space = Space([axis.bounds for axis in axes])
    a, b = space.axis(0), space.axis(1)
    cube = space.add(space.multiply(space.multiply(a, a), b), space.constant(-7))
    nested = space.floor_divide(cube, space.add(b, space.constant(1)))
    (box,) = boxes(Grid(axes))
    for node, plain in (
        (cube, lambda x, y: x * x * y - 7),
        (nested, lambda x, y: (x * x * y - 7) // (y + 1)),
    ):
        values = np.broadcast_to(Evaluator(space).value(node, box), box.shape).reshape(3, 2)
        for i, j in itertools.product(range(3), range(2)):
            assert int(values[i, j]) == plain(axes[0].values[i], axes[1].values[j])
