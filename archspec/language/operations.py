"""Python's operators and functions as the spec language has them: the same values, within limits.

A computation that would not end, or would fill the memory, is an error like any other that Python raises.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable
from functools import lru_cache, reduce
from itertools import count

from archspec.typing_light import Any

MAX_ITEMS = 1_000_000
MAX_BITS = 4_096
MAX_DIVISIONS = 10_000_000
_MAX_END = 2**53
_ITEMS = (list, tuple, str)
_CONTAINERS = (*_ITEMS, dict)


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        if exponent * base.bit_length() > MAX_BITS:
            raise OverflowError("the power is too large")
        if exponent < 0:
            return float(base) ** exponent
    return base**exponent


def _limit(items: int) -> None:
    if items > MAX_ITEMS:
        raise OverflowError(f"a list of more than {MAX_ITEMS:,} items")


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, _ITEMS) and isinstance(b, _ITEMS):
        _limit(len(a) + len(b))
    return a + b


def _multiply(a: Any, b: Any) -> Any:
    for items, times in ((a, b), (b, a)):
        if isinstance(items, _ITEMS) and isinstance(times, int):
            _limit(len(items) * times)
    return a * b


def _modulo(a: Any, b: Any) -> Any:
    if isinstance(a, str):
        raise TypeError("a string cannot be divided")
    return a % b


def _range(*ends: Any) -> range:
    if any(isinstance(end, int) and abs(end) > _MAX_END for end in ends):
        raise OverflowError("the range is too long")
    return range(*ends)


def _round(number: Any, digits: Any = None) -> Any:
    if isinstance(digits, int) and abs(digits) > 400:
        raise OverflowError("too many digits")
    return round(number, digits)


def _prod(items: Iterable[Any]) -> Any:
    product: Any = 1
    for item in items:
        product = _multiply(product, item)
        if isinstance(product, int) and product.bit_length() > MAX_BITS:
            raise OverflowError("the product is too large")
    return product


def _sum(items: Iterable[Any], start: Any = 0) -> Any:
    return reduce(_add, items, start) if isinstance(start, list | tuple) else sum(items, start)


def _nth_prime(after: int, n: int) -> int:
    """Return the n-th prime after a number.

    >>> [_nth_prime(6, n) for n in (1, 2, 3)], _nth_prime(19_999_999, 1)
    ([7, 11, 13], 20000003)
    """
    if n * math.isqrt(max(after, 0) + 100 * n) > MAX_DIVISIONS:
        raise OverflowError("the prime is too far away")
    found = max(after, 1)
    for _ in range(n):
        found = _next_prime(found)
    return found


@lru_cache(maxsize=10_000)  # formulas ask for each in turn
def _next_prime(number: int) -> int:
    return next(filter(_is_prime, count(number + 1)))


def _is_prime(number: int) -> bool:
    if number % 2 == 0:
        return number == 2
    return all(number % divisor for divisor in range(3, math.isqrt(number) + 1, 2))


def total_size(value: Any, known: dict[int, int] | None = None) -> int:
    """Return the number of items in a value, nested ones included: it bounds the work of a comparison.

    Items that are one object count each time they occur, because comparing and printing visit them each time;
    ``known`` are the sizes of objects that were visited.

    >>> total_size(7), total_size([1, 2]), total_size([[0] * 1000] * 1000)
    (0, 2, 1001000)
    """
    if not isinstance(value, _CONTAINERS):
        return 0
    known = {} if known is None else known
    if id(value) not in known:
        items = value.values() if isinstance(value, dict) else () if isinstance(value, str) else value
        inner = [total_size(item, known) for item in items if isinstance(item, _CONTAINERS)]
        known[id(value)] = len(value) + sum(inner)
    return known[id(value)]


def _text(value: Any) -> str:
    if isinstance(value, list | tuple | dict):
        raise TypeError("a list cannot be converted to a string")
    return str(value)


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: _add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _modulo,
    ast.Pow: _power,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (len, min, max, int, float, bool, abs, list, tuple, any, all)},
    **{f.__name__: f for f in (enumerate, zip, reversed, sorted, set)},
    **{f.__name__: f for f in (math.ceil, math.floor, math.sqrt, math.log2, math.log)},
    "range": _range,
    "round": _round,
    "sum": _sum,
    "prod": _prod,
    "nth_prime": _nth_prime,
    "str": _text,
    "is_list": lambda value: isinstance(value, list | tuple),
    "is_int": lambda value: isinstance(value, int) and not isinstance(value, bool),
}
METHODS: dict[type, tuple[str, ...]] = {  # of values; modules have others
    str: ("split", "startswith", "endswith", "lower", "strip"),
    dict: ("get",),
    list: ("index", "count"),
}
