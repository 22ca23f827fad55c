"""NumPy evaluates symbolic expressions over boxes.

A value is an array with a dimension for each dimension of the grid, of size 1 along those that the expression
does not depend on. So a value that depends on few axes is cheap, and is kept between boxes. Integers are 64
bits wide if the bounds prove that no step overflows, and Python's own otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from archspec.sweeping.boxes import Array, Box
from archspec.symbolic.decisions import Condition
from archspec.symbolic.polynomials import Atom, Poly, Real, Space

MAX_INT = 2**63 - 1
_KEPT = 4_096  # most arrays that are kept between boxes, and
_KEPT_NUMBERS = 1 << 18  # most numbers in them
_UFUNCS: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_UFUNCS |= {"//": np.floor_divide, "%": np.remainder, "min": np.minimum, "max": np.maximum}
_ROUNDED: dict[str, Any] = {"trunc": np.trunc, "floor": np.floor, "ceil": np.ceil, "round": np.rint}


class Evaluator:
    """Evaluates the expressions of one space over boxes."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._kept: dict[Any, Any] = {}
        self._kept_numbers = 0
        self._plans: dict[int, tuple[Atom, list[tuple[int, Poly]]]] = {}
        self._narrow: dict[int, bool] = {}

    def value(self, node: Any, box: Box) -> Any:
        """Return the values of an expression: an array, or a number that holds everywhere."""
        if isinstance(node, Poly):
            return self.poly(node, box)
        return self.real(node, box) if isinstance(node, Real) else node

    def holds(self, condition: Condition, box: Box) -> Any:
        """Return where a condition holds: an array of bools, or one bool."""
        left = self.value(condition.left, box)
        right = 0 if condition.right is None else self.value(condition.right, box)
        found = left < right if condition.op == "<" else left == right
        return found if condition.holds else np.logical_not(found)

    def poly(self, poly: Poly, box: Box, out: Array | None = None) -> Any:
        """Return the values of a polynomial, in ``out`` if they fill the box."""
        if (constant := poly.constant) is not None:
            return constant
        if not self._is_narrow(poly, box):
            return self._keep("poly", poly, box, lambda: self._horner(poly, box, object, None))
        if box.points(poly.axes) == box.size > 1:
            return self._horner(poly, box, np.int64, np.empty(box.shape, np.int64) if out is None else out)
        return self._keep("poly", poly, box, lambda: self._horner(poly, box, np.int64, None))

    def real(self, real: Real, box: Box) -> Any:
        """Return the values of a double-precision expression."""
        if real.op == "float":
            return real.args[0]
        if real.op == "int":
            return self._keep("real", real, box, lambda: _as(np.float64, self.poly(real.args[0], box)))
        return self._keep(
            "real", real, box, lambda: _UFUNCS[real.op](*(self.real(arg, box) for arg in real.args))
        )

    def split(self, poly: Poly, atom: int) -> list[tuple[int, Poly]]:
        """Return the coefficients of the powers of an atom, highest first."""
        powers: dict[int, dict[Any, int]] = {}
        for monomial, coefficient in poly.terms:
            power = next((p for a, p in monomial if a == atom), 0)
            powers.setdefault(power, {})[tuple(part for part in monomial if part[0] != atom)] = coefficient
        return [(power, self.space.poly(powers[power])) for power in sorted(powers, reverse=True)]

    def _keep(self, kind: str, node: Any, box: Box, make: Callable[[], Any]) -> Any:
        """Return a value that is made once for all boxes with the same values of its axes."""
        box_key = box.key(node.axes)
        if box_key is None:
            return make()
        key = (kind, node.number, box_key)
        if key not in self._kept:
            found = make()
            size = getattr(found, "size", 1)
            if len(self._kept) >= _KEPT or self._kept_numbers + size > _KEPT_NUMBERS:
                self._kept.clear()
                self._kept_numbers = 0
            self._kept[key] = found
            self._kept_numbers += size
        return self._kept[key]

    def _is_narrow(self, poly: Poly, box: Box) -> bool:
        """Return True if no step of the evaluation overflows 64 bits, on the whole grid or in this box."""
        if poly.number not in self._narrow:
            self._narrow[poly.number] = self.space.magnitude(poly) <= MAX_INT
        if self._narrow[poly.number]:
            return True

        def bound(atom: Atom) -> int:
            if atom.op != "axis":
                return int(max(abs(atom.low), abs(atom.high)))
            values = box.axis(atom.args[0])
            return max(abs(int(values.min())), abs(int(values.max())))

        return self.space.magnitude(poly, bound) <= MAX_INT

    def _horner(self, poly: Poly, box: Box, dtype: Any, out: Array | None) -> Any:
        """Evaluate a polynomial by Horner's scheme; arrays that fill the box go into ``out``."""

        def step(ufunc: Any, left: Any, right: Any) -> Any:
            fills = out is not None and prod(np.broadcast_shapes(np.shape(left), np.shape(right))) == box.size
            return ufunc(left, right, out=out) if fills else ufunc(left, right)

        atom, parts = self._plan(poly, box)
        factor = _as(dtype, self._atom(atom, box))
        power, first = parts[0]
        total = _as(dtype, self.poly(first, box, out))
        for lower, coefficient in parts[1:]:
            for _ in range(power - lower):
                total = factor if isinstance(total, int) and total == 1 else step(np.multiply, total, factor)
            if coefficient.terms:
                total = step(np.add, total, self.poly(coefficient, box))
            power = lower
        return total

    def _plan(self, poly: Poly, box: Box) -> tuple[Atom, list[tuple[int, Poly]]]:
        """Return the atom to factor out, the one with the most values in a box, and its coefficients.

        The coefficients then depend on fewer values: most of the arithmetic is on small arrays.
        """
        if poly.number not in self._plans:
            powers: dict[int, int] = {}
            for number, power in (part for monomial, _ in poly.terms for part in monomial):
                powers[number] = max(power, powers.get(number, 0))
            atoms = self.space.atoms
            chosen = max(powers, key=lambda number: (box.points(atoms[number].axes), -powers[number]))
            parts = self.split(poly, chosen)
            if parts[-1][0]:
                parts.append((0, self.space.constant(0)))
            self._plans[poly.number] = (atoms[chosen], parts)
        return self._plans[poly.number]

    def _atom(self, atom: Atom, box: Box) -> Any:
        if atom.op == "axis":
            return box.axis(atom.args[0])
        return self._keep("atom", atom, box, lambda: self._operation(atom, box))

    def _operation(self, atom: Atom, box: Box) -> Any:
        if atom.op == "below":
            return np.searchsorted(np.array(atom.args[1]), self.poly(atom.args[0], box)).astype(np.int64)
        if atom.op in _ROUNDED:
            return _ROUNDED[atom.op](self.real(atom.args[0], box)).astype(np.int64)
        values = [self.poly(arg, box) for arg in atom.args]
        if any(isinstance(value, int) and abs(value) > MAX_INT for value in values):
            values = [_as(object, value) for value in values]  # NumPy cannot compare such an int to 64 bits
        return reduce(_UFUNCS[atom.op], values)


def _as(dtype: Any, found: Any) -> Any:
    return found.astype(dtype, copy=False) if isinstance(found, np.ndarray) else found
