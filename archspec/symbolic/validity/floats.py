"""Where the floats of a formula give the same number as exact arithmetic.

transformers computes with floats, and a formula with the decimal numbers that they are written as. Both agree
where each step is exact in binary: the fields are multiples of 1/1024, and no step needs more than 53 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from archspec.symbolic.polynomials import EXACT_FLOAT, Real

BITS = 10  # of a fraction that a field may have


def bits(value: float, most: int = 2 * BITS) -> int | None:
    """How many binary digits a number has after its point; None for more than `most`.

    >>> bits(4.0), bits(2.75), bits(0.1)
    (0, 2, None)
    """
    return next((count for count in range(most + 1) if (value * 2**count).is_integer()), None)


class Exactness:
    """Tells which expressions are exact; ``limits`` are the nodes with their scales, of 53 bits at most."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.limits: dict[tuple[Real, int], None] = {}

    def exact(self, real: Real, rounded: bool = False) -> bool:
        """Return True if every step is exact; of one that is rounded next, the last may be a division."""
        sides = real.args if rounded and real.op == "/" else (real,)
        found = [self.scale(side) for side in sides]
        if any(scale is None for scale in found):
            return False
        most = max(scale or 0 for scale in found)
        if len(sides) > 1:
            self.limits |= dict.fromkeys((side, most) for side in sides)
        return True

    def scale(self, real: Real) -> int | None:
        """How many binary digits a value may have after its point; None where a step is not exact."""
        if real.op == "float":
            return bits(real.args[0])
        if real.op == "field":
            return None if bits(self.values[real.args[0]], BITS) is None else BITS
        if real.op == "int":
            return 0
        if real.op not in ("+", "*"):
            return None
        found = [self.scale(side) for side in real.args]
        if any(scale is None for scale in found):
            return None
        scale = sum(one or 0 for one in found) if real.op == "*" else max(one or 0 for one in found)
        self.limits[real, scale] = None
        return scale

    def too_long(self) -> Iterator[tuple[Real, int]]:
        """The nodes that are limited, each with the largest value that it may have."""
        yield from ((real, EXACT_FLOAT // 2**scale) for real, scale in self.limits)
