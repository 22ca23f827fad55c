"""Goals of a search: sizes to match, bounds to keep, and ranges of ratios, as users write them."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

from archspec.errors import Place, Problem, Source, SweepError
from archspec.sizes import number_of
from archspec.sweeping.axes import MAX_VALUE
from archspec.sweeping.subject import expression

MAX_BUDGET = 2**62
MEMORY = "bytes + cache_bytes"  # of weights and cache during inference
TRAINING = "training_flops"  # of one sequence
_NAMES = {MEMORY: "memory in bytes", TRAINING: "training FLOPs per sequence"}


class Goal(NamedTuple):
    """A target for a quantity, and the bounds that it must keep."""

    quantity: str
    target: int | None
    low: int | None = None
    high: int | None = None

    @property
    def name(self) -> str:
        """The quantity as messages name it."""
        return _NAMES.get(self.quantity, self.quantity)

    def __str__(self) -> str:
        if self.low is not None and self.high is not None:
            return f"{self.name} in {self.low:,}..{self.high:,}"
        if self.high is not None:
            return f"{self.name} <= {self.high:,}"
        return f"{self.name} >= {self.low:,}" if self.low is not None else f"{self.name} near {self.target:,}"

    @property
    def unbounded(self) -> Goal:
        """The goal without its bounds."""
        return Goal(self.quantity, self.target)

    def banded(self, tolerance: Fraction) -> Goal:
        """The goal with bounds at a relative distance from its target.

        >>> Goal("params", 1000, None, 1005).banded(Fraction(1, 100))
        Goal(quantity='params', target=1000, low=990, high=1005)
        """
        if self.target is None:
            return self
        low, high = math.ceil(self.target * (1 - tolerance)), math.floor(self.target * (1 + tolerance))
        high = min(high, MAX_VALUE - 1)  # bounds are compared as integers of 64 bits
        least = low if self.low is None else max(low, self.low)
        return self._replace(low=least, high=high if self.high is None else min(high, self.high))

    def miss(self, size: int) -> Fraction:
        """The relative distance of a size from the target, 0 without a target."""
        return Fraction(abs(size - self.target), self.target) if self.target is not None else Fraction(0)


def size_of(text: str | float, quantity: str = "params") -> int:
    """Parse a number of parameters or bytes. Errors: :class:`SweepError` for anything else.

    >>> size_of("7e9"), size_of("1.3b"), size_of("16GiB", "bytes"), size_of("350M")
    (7000000000, 1300000000, 17179869184, 350000000)
    """
    text = str(text).strip()
    number = number_of(text, quantity == "bytes")
    if number is not None and 0 < number <= MAX_BUDGET:
        return number
    _refuse(text, f"{text} is not a size", "write 7e9, 1.3B, 350M, 16GiB, or a range such as 6e9..7e9")


def goal(quantity: str, text: str | float) -> Goal:
    """Parse a budget: a size to match, or a range (`..b`, `a..`, `a..b`); bytes are not exceeded.

    >>> goal("params", "7e9")
    Goal(quantity='params', target=7000000000, low=None, high=None)
    >>> goal("params", "6B..7B").high, goal("bytes", "1GiB").high
    (7000000000, 1073741824)
    """
    low, dots, high = str(text).partition("..")
    if not dots:
        target = size_of(low, quantity)
        return Goal(quantity, target, None, target if quantity == "bytes" else None)
    least, most = (size_of(end, quantity) if end.strip() else None for end in (low, high))
    if (least is None and most is None) or (least is not None and most is not None and least > most):
        _refuse(str(text), f"{text} is not a range", "write 6e9..7e9, ..7e9 or 6e9..")
    return Goal(quantity, None, least, most)


def _refuse(text: str, message: str, help_: str) -> NoReturn:
    raise SweepError(Problem(message, Place(Source("budget", text), 1, 1, max(1, len(text))), help=help_))


def ratio_condition(text: str, given: Any) -> str:
    """Return the condition on whole numbers that keeps a ratio `a/b` within a range.

    >>> ratio_condition("hidden_size/n_layer", "100..140")
    'n_layer > 0 and 100 * (n_layer) <= (hidden_size) and (hidden_size) <= 140 * (n_layer)'
    """
    tree = expression(text, "--ratio").tree
    if not (isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div)):
        help_ = "write a/b=low..high, e.g. hidden_size/num_hidden_layers=100..140"
        _refuse(text, f"{text} is not a ratio", help_)
    above, below = ast.unparse(tree.left), ast.unparse(tree.right)
    span = "..".join(map(str, given)) if isinstance(given, tuple | list) else str(given)
    low, dots, high = span.partition("..")
    found = [f"{below} > 0"]
    if low.strip():
        factor, other = _factors(low, text, given)
        found.append(f"{factor} * ({below}) <= {other}({above})")
    if (high if dots else low).strip():
        factor, other = _factors(high if dots else low, text, given)
        found.append(f"{other}({above}) <= {factor} * ({below})")
    if len(found) == 1:
        _refuse(f"{text}={given}", f"{text} has no range", "write a/b=low..high")
    return " and ".join(found)


def _factors(end: str, text: str, given: Any) -> tuple[int, str]:
    """A bound as a fraction: its numerator, and its denominator as a factor in an expression."""
    try:
        number = Fraction(end.strip())
    except (ValueError, ZeroDivisionError):
        _refuse(f"{text}={given}", f"{end} is not a number", "write a/b=low..high")
    return number.numerator, "" if number.denominator == 1 else f"{number.denominator} * "
