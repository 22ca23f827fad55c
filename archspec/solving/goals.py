"""Budgets as people write them: sizes, ranges of sizes, and ranges of ratios."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

from archspec.errors import Place, Problem, Source, SweepError
from archspec.sweeping.subject import expression

MAX_BUDGET = 2**62
_UNITS = {"": 1, **{letter: 1000**power for power, letter in enumerate("kMGTP", 1)}}
_UNITS |= {f"{letter}i": 1024**power for power, letter in enumerate("KMGTP", 1)} | {"K": 1000}
_SIZE = re.compile(r"(?P<number>\d[\d_]*(?:\.\d+)?(?:[eE]\d+)?) ?(?P<unit>(?:[KMGTP]i|[kKMGTP])?)(?P<b>B?)$")


class Goal(NamedTuple):
    """A size to come near (`target`), and the bounds it has to keep."""

    quantity: str
    target: int | None
    low: int | None = None
    high: int | None = None

    def __str__(self) -> str:
        if self.low is not None and self.high is not None:
            return f"{self.quantity} in {self.low:,}..{self.high:,}"
        if self.high is not None:
            return f"{self.quantity} <= {self.high:,}"
        return (
            f"{self.quantity} >= {self.low:,}"
            if self.low is not None
            else f"{self.quantity} near {self.target:,}"
        )

    def keeps(self, size: int) -> bool:
        return (self.low is None or size >= self.low) and (self.high is None or size <= self.high)


def size_of(text: str | float, quantity: str = "params") -> int:
    """A number of parameters or bytes as people write it.

    Errors: :class:`SweepError` for what is no positive whole number.

    >>> size_of("7e9"), size_of("1.3B"), size_of("16GiB", "bytes"), size_of("350M")
    (7000000000, 1300000000, 17179869184, 350000000)
    """
    shown = str(text).strip()
    match = _SIZE.match(shown)
    if match and match["number"]:
        billion = match["b"] and not match["unit"] and quantity != "bytes"
        number = Fraction(match["number"].replace("_", "")) * (10**9 if billion else _UNITS[match["unit"]])
        if number.denominator == 1 and 0 < number <= MAX_BUDGET:
            return int(number)
    _refuse(shown, f"{shown} is no size", "write 7e9, 1.3B, 350M, 16GiB, or a range such as 6e9..7e9")


def goal(quantity: str, text: str | float) -> Goal:
    """A budget: a size to come near, or `..b`, `a..`, `a..b` to stay within; a plain number of bytes is not
    exceeded.

    >>> goal("params", "7e9")
    Goal(quantity='params', target=7000000000, low=None, high=None)
    >>> goal("params", "6B..7B").high, goal("bytes", "1GiB").high
    (7000000000, 1073741824)
    """
    low, dots, high = str(text).partition("..")
    if not dots:
        target = size_of(low, quantity)
        return Goal(quantity, target, None, target if quantity == "bytes" else None)
    ends = [size_of(end, quantity) if end.strip() else None for end in (low, high)]
    if ends == [None, None] or (ends[0] is not None and ends[1] is not None and ends[0] > ends[1]):
        _refuse(str(text), f"{text} is no range", "write 6e9..7e9, ..7e9 or 6e9..")
    return Goal(quantity, None, ends[0], ends[1])


def _refuse(text: str, message: str, help_: str) -> NoReturn:
    raise SweepError(Problem(message, Place(Source("budget", text), 1, 1, max(1, len(text))), help=help_))


def ratio_condition(text: str, given: Any) -> str:
    """`a/b` and its range as a condition on whole numbers.

    >>> ratio_condition("hidden_size/n_layer", "100..140")
    'n_layer > 0 and 100 * (n_layer) <= (hidden_size) and (hidden_size) <= 140 * (n_layer)'
    """
    tree = expression(text, "--ratio").tree
    if not (isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div)):
        _refuse(
            text, f"{text} is no ratio", "write a/b=low..high, e.g. hidden_size/num_hidden_layers=100..140"
        )
    above, below = ast.unparse(tree.left), ast.unparse(tree.right)
    low, dots, high = (
        (str(given[0]), "..", str(given[1]))
        if isinstance(given, tuple | list)
        else str(given).partition("..")
    )
    found = [f"{below} > 0"]
    for end, order in ((low, "{0} * ({1}) <= {2}({3})"), (high if dots else low, "{2}({3}) <= {0} * ({1})")):
        if end.strip():
            try:
                number = Fraction(end.strip())
            except (ValueError, ZeroDivisionError):
                _refuse(f"{text}={given}", f"{end} is no number", "write a/b=low..high")
            times = f"{number.denominator} * " if number.denominator != 1 else ""
            found.append(order.format(number.numerator, below, times, above))
    if len(found) == 1:
        _refuse(f"{text}={given}", f"{text} has no range", "write a/b=low..high")
    return " and ".join(found)
