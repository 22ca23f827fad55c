"""NumPy evaluates symbolic expressions over boxes.

A value that depends on few axes is a small array, and is kept between boxes. Integers are 64 bits wide if the
bounds prove that no step overflows on the whole grid, and Python's own otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from archspec.sweeping.boxes import Array, Box
from archspec.symbolic.decisions import Condition
from archspec.symbolic.polynomials import Atom, Poly, Real, Space

MAX_INT = 2**63 - 1
_KEPT = 1 << 18  # numbers of the arrays that are kept between boxes
_UFUNCS: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_UFUNCS |= {"//": np.floor_divide, "%": np.remainder, "min": np.minimum, "max": np.maximum}
_ROUNDED: dict[str, Any] = {"trunc": np.trunc, "floor": np.floor, "ceil": np.ceil, "round": np.rint}


class Evaluator:
    """Evaluates the expressions of one space over boxes."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._kept: dict[Any, Any] = {}
        self._kept_numbers = 0
        self._plans: dict[int, tuple[Atom, Poly, Poly]] = {}
        self._wide: dict[int, bool] = {}

    def value(self, node: Any, box: Box, out: Array | None = None) -> Any:
        """Return the values of an expression: an array, or a number that holds everywhere."""
        if isinstance(node, Poly):
            return self.poly(node, box, out=out)
        return self._real(node, box) if isinstance(node, Real) else node

    def holds(self, condition: Condition, box: Box) -> Any:
        """Return where a condition holds: an array of bools, or one bool."""
        left = self.value(condition.left, box)
        right = 0 if condition.right is None else self.value(condition.right, box)
        found = left < right if condition.op == "<" else left == right
        return found if condition.holds else np.logical_not(found)

    def is_wide(self, poly: Poly) -> bool:
        """Return True if a step of the evaluation can overflow 64 bits somewhere on the grid."""
        if poly.number not in self._wide:
            self._wide[poly.number] = self.space.magnitude(poly) > MAX_INT
        return self._wide[poly.number]

    def poly(self, poly: Poly, box: Box, wide: bool = False, out: Array | None = None) -> Any:
        """Return the values of a polynomial, as Python's integers if it is part of a wide one.

        Values that fill the box are in ``out`` if it is given.
        """
        if (constant := poly.constant) is not None:
            return constant
        wide = wide or self.is_wide(poly)
        if not wide and box.points(poly.axes) == box.size > 1:
            return self._horner(poly, box, False, np.empty(box.shape, np.int64) if out is None else out)
        return self._keep((poly.number, wide), poly, box, lambda: self._horner(poly, box, wide, None))

    def _horner(self, poly: Poly, box: Box, wide: bool, out: Array | None) -> Any:
        def step(ufunc: Any, left: Any, right: Any) -> Any:
            fills = out is not None and np.broadcast_shapes(np.shape(left), np.shape(right)) == out.shape
            return ufunc(left, right, out=out) if fills else ufunc(left, right)

        atom, inner, rest = self._plan(poly, box)
        total = self._atom(atom, box).astype(object if wide else np.int64, copy=False)
        if inner.constant != 1:
            total = step(np.multiply, self.poly(inner, box, wide, out), total)
        return step(np.add, total, self.poly(rest, box, wide)) if rest.terms else total

    def _plan(self, poly: Poly, box: Box) -> tuple[Atom, Poly, Poly]:
        """Return a polynomial as ``atom * inner + rest``, with the atom that has the most values in a box.

        The others then depend on fewer values: most of the arithmetic is on small arrays.
        """
        if poly.number not in self._plans:
            powers: Counter[int] = Counter()
            for monomial, _ in poly.terms:
                powers |= Counter(dict(monomial))
            atoms = self.space.atoms
            chosen = max(powers, key=lambda number: (box.points(atoms[number].axes), -powers[number]))
            inner, rest = {}, {}
            for monomial, coefficient in poly.terms:
                left = dict(monomial)
                if chosen not in left:
                    rest[monomial] = coefficient
                    continue
                left[chosen] -= 1
                inner[tuple((number, power) for number, power in left.items() if power)] = coefficient
            self._plans[poly.number] = atoms[chosen], self.space.poly(inner), self.space.poly(rest)
        return self._plans[poly.number]

    def _atom(self, atom: Atom, box: Box) -> Array:
        if atom.op == "axis":
            return box.axis(atom.args[0])
        found: Array = self._keep(("atom", atom.number), atom, box, lambda: self._operation(atom, box))
        return found

    def _operation(self, atom: Atom, box: Box) -> Any:
        if atom.op == "below":
            return np.searchsorted(np.array(atom.args[1]), self.poly(atom.args[0], box)).astype(np.int64)
        if atom.op in _ROUNDED:
            return _ROUNDED[atom.op](self._real(atom.args[0], box)).astype(np.int64)
        wide = any(map(self.is_wide, atom.args))
        values = [self.poly(arg, box, wide) for arg in atom.args]
        if wide and atom.op in ("//", "%") and isinstance(values[1], np.ndarray):
            values[1] = np.where(values[1] == 0, 1, values[1])  # Python's integers raise outside the region
        return reduce(_UFUNCS[atom.op], values)

    def _real(self, real: Real, box: Box) -> Any:
        """Return the values of a double-precision expression."""
        if real.op == "float":
            return real.args[0]
        if real.op == "int":
            return np.asarray(self.poly(real.args[0], box)).astype(np.float64)

        def make() -> Any:
            return _UFUNCS[real.op](*(self._real(arg, box) for arg in real.args))

        return self._keep(("real", real.number), real, box, make)

    def _keep(self, name: Any, node: Any, box: Box, make: Callable[[], Any]) -> Any:
        """Return a value that is made once for all boxes with the same values of its axes."""
        place = box.key(node.axes)
        if place is None:
            return make()
        key = (name, place)
        if key not in self._kept:
            found = make()
            self._kept_numbers += np.size(found)
            if self._kept_numbers > _KEPT:
                self._kept.clear()
                self._kept_numbers = np.size(found)
            self._kept[key] = found
        return self._kept[key]
