"""The search of a grid with NumPy: every point is evaluated, or one field is solved for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import count
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np

from archspec.errors import SweepError
from archspec.solving.ranking import Ranking, Searched
from archspec.sweeping.axes import Axis
from archspec.sweeping.boxes import Array, Box, Grid, boxes
from archspec.sweeping.engine import Engine, part_of
from archspec.sweeping.evaluator import MAX_INT
from archspec.sweeping.subject import Region, Subject
from archspec.symbolic.polynomials import Poly

MAX_POINTS = 200_000_000  # of a grid that is evaluated in full
MAX_SOLVED = 50_000_000  # combinations of the other fields if one is solved for
_KEYS = 3  # the strain, the largest miss, the sum of misses
_HELD = 1_000  # configs, and four times those asked for, are kept before the worst are dropped

Along = Callable[[Array], Array]  # a function of positions along the first axis, in a box of the others


def search_arrays(subject: Subject, ranking: Ranking) -> Searched:
    """The best configs of a subject's grid, whose columns are the goals' quantities.

    Errors: :class:`SweepError` for a grid that is too large to evaluate and has no field to solve for.
    """
    axes = subject.axes
    points = prod(len(axis.values) for axis in axes)
    reasons = []
    for axis in (
        sorted(axes, key=lambda axis: -len(axis.values)) if len(axes) == 1 or points > MAX_POINTS else ()
    ):
        others = points // len(axis.values)
        if others > MAX_SOLVED:
            reasons.append(f"{axis.name} leaves {others:,} combinations of the others")
            continue
        try:
            return _solve_for(axis, subject, ranking)
        except _Unsolvable as reason:
            reasons.append(f"{axis.name} {reason}")
    if points > MAX_POINTS:
        sizes = " x ".join(f"{axis.name}: {len(axis.values):,}" for axis in axes)
        message = (
            f"the search has {points:,} points ({sizes}), and no field to solve for: {'; '.join(reasons)}"
        )
        help_ = "narrow it: --multiple field=128, --set field=first:last, fewer free fields"
        raise SweepError(message, help=help_)
    best, engine = _Best(axes, ranking), Engine(subject)
    for batch in engine.batches():
        codes = [batch.box.axis(number) for number in range(len(axes))]
        best.offer(batch.columns, codes, np.broadcast_to(batch.valid, batch.box.shape))
    return best.searched(engine)


class _Best:
    """The best of the points that are offered.

    Points come as arrays: a size for each goal, and for each axis the code of its value.
    """

    def __init__(self, axes: Sequence[Axis], ranking: Ranking) -> None:
        self.axes, self.ranking, self.goals, self.shape = axes, ranking, ranking.goals, ranking.shape
        self.shape_first = ranking.shape_first
        self.distinct = [number for number, axis in enumerate(axes) if axis.name in ranking.distinct]
        self.held: list[list[Array]] = []  # keys, codes, sizes
        self.worst: float = np.inf  # the first key of the last config that is kept

    def offer(self, sizes: Sequence[Array], codes: Sequence[Array], valid: Array) -> Array:
        """Keep the good points; return which points could be good, invalid ones included."""
        for goal, size in zip(self.goals, sizes, strict=True):
            if goal.low is not None:
                valid = valid & (size >= goal.low)
            if goal.high is not None:
                valid = valid & (size <= goal.high)
        key = self.shape.distance(self.named(codes), np) if self.shape_first else self._misses(sizes)[0]
        good: Array = np.broadcast_to(key <= self.worst, valid.shape)
        chosen = np.flatnonzero(valid & good)
        if len(chosen):
            columns = [np.broadcast_to(one, valid.shape).reshape(-1)[chosen] for one in (*codes, *sizes)]
            self.held.append([*self._keys(columns), *columns])
            if sum(len(columns[0]) for columns in self.held) > max(4 * self.ranking.most, _HELD):
                self._prune()
        return good

    def named(self, codes: Sequence[Array]) -> dict[str, Array]:
        """Codes by the names of their axes."""
        return {axis.name: code for axis, code in zip(self.axes, codes, strict=True)}

    def _misses(self, sizes: Sequence[Array]) -> tuple[Any, Any]:
        """The largest relative miss of each point, and the sum of misses."""
        wanted = [(goal.target, size) for goal, size in zip(self.goals, sizes, strict=True)]
        misses = [np.abs(size - one).astype(float) / one for one, size in wanted if one is not None]
        return (reduce(np.maximum, misses), sum(misses)) if misses else (0.0, 0.0)

    def _keys(self, columns: Sequence[Array]) -> list[Array]:
        codes, sizes = columns[: len(self.axes)], columns[len(self.axes) :]
        misses, strain = self._misses(sizes), self.shape.strain(self.named(codes), np)
        keys = [strain, *misses] if self.shape_first else [*misses, strain]
        return [np.broadcast_to(key, len(columns[0])) for key in keys]

    def _prune(self) -> None:
        columns = [np.concatenate(parts) for parts in zip(*self.held, strict=True)]
        order = np.lexsort(columns[: _KEYS + len(self.axes)][::-1])
        if self.distinct:
            values = np.stack([columns[_KEYS + number][order] for number in self.distinct])
            order = order[np.sort(np.unique(values, axis=1, return_index=True)[1])]
        order = order[: self.ranking.most]
        self.held = [[column[order] for column in columns]]
        if len(order) == self.ranking.most:
            self.worst = float(self.held[0][0][-1])

    def searched(self, engine: Engine) -> Searched:
        """The best configs by their exact keys."""
        ranked = []
        if self.held:
            self._prune()
            for row in zip(*(column.tolist() for column in self.held[0]), strict=True):
                strain, codes = row[0 if self.shape_first else _KEYS - 1], row[_KEYS : _KEYS + len(self.axes)]
                ranked.append(self.ranking.rank(self.axes, codes, row[_KEYS + len(self.axes) :], strain))
        found = [one for _, one in sorted(ranked, key=itemgetter(0))]
        return Searched(found, engine.refusal[0] if engine.refusal is not None else None)


class _Unsolvable(Exception):
    """The reason why a field cannot be solved for."""


def _solve_for(axis: Axis, subject: Subject, ranking: Ranking) -> Searched:
    """Search by solving for one field at every combination of the others.

    Errors: :class:`_Unsolvable` unless sizes are polynomials along the axis that never fall.
    """
    if not isinstance(axis.values, range):
        raise _Unsolvable("is not a range")
    axes = sorted(subject.axes, key=lambda one: one.name != axis.name)
    return _Solver(subject.over(axes), axis.values, _Best(axes, ranking)).solve()


class _Solver:
    """A solver for the first axis: good sizes lie around one root, or between two bounds."""

    def __init__(self, subject: Subject, steps: range, best: _Best) -> None:
        self.subject, self.steps, self.best = subject, steps, best
        self.engine = Engine(subject)
        self.turns = best.ranking.most + 1
        if best.shape_first and (kind := best.shape.round.get(subject.axes[0].name)):
            self.turns *= kind.full  # a round number may be as many steps away

    def solve(self) -> Searched:
        engine, lengths = self.engine, [len(axis.values) for axis in self.subject.axes]
        self._check(engine.region(tuple(length - 1 for length in lengths)))
        self._check(engine.region(tuple(0 for _ in lengths)))
        first, *others = self.subject.axes
        with np.errstate(all="ignore"):
            for box in boxes(Grid([first._replace(values=first.values[:1]), *others])):
                for region, mask in engine.assigned(box):
                    self._check(region)
                    engine.note_refusal(region)
                    if region.keep:
                        inner, _, mask = part_of(box, mask)
                        self._offer_nearest(region, inner, np.broadcast_to(mask, inner.shape))
        return self.best.searched(engine)

    def _check(self, region: Region) -> None:
        for condition in region.conditions:
            if any(side is not None and 0 in side.axes for side in (condition.left, condition.right)):
                raise _Unsolvable("decides which modules exist, or whether the config is valid")
        atoms = self.subject.space.atoms
        for size in region.values:
            for monomial, coefficient in size.terms if isinstance(size, Poly) else ():
                along = [number for number, _ in monomial if 0 in atoms[number].axes]
                if along not in ([], [0]):
                    raise _Unsolvable("enters through a quotient or a remainder")
                if along and (coefficient < 0 or any(atoms[number].low < 0 for number, _ in monomial)):
                    raise _Unsolvable("can also make the size smaller")

    def _offer_nearest(self, region: Region, box: Box, mask: Array) -> None:
        """Offer, at each point of a box, the positions whose sizes or shapes are best."""
        sizes = [self._size(size, box) for size in region.values]
        codes = [box.axis(number) for number in range(1, len(self.subject.axes))]
        low, high = np.zeros(box.shape, np.int64), np.full(box.shape, len(self.steps) - 1)
        for goal, size in zip(self.best.goals, sizes, strict=True):
            if goal.high is not None:
                high = np.minimum(high, self._first(_above(size, goal.high + 1), box) - 1)
            if goal.low is not None:
                low = np.maximum(low, self._first(_above(size, goal.low), box))
        possible = mask & (low <= high)
        high = np.maximum(low, high)
        rising = self._shape_rise(codes) if self.best.shape_first else self._miss_rise(sizes)
        start = np.clip(self._first(rising, box), low, high)
        for first, direction in ((start - 1, -1), (start, 1)):
            open_ = possible
            for turn in range(self.turns):
                at = first + direction * turn
                open_ = open_ & (at >= low) & (at <= high)
                if not open_.any():
                    break
                here = self._value(at)
                open_ = open_ & self.best.offer([size(at) for size in sizes], [here, *codes], open_)

    def _value(self, at: Array) -> Array:
        return self.steps.start + at * self.steps.step

    def _size(self, size: Any, box: Box) -> Along:
        """A size along the axis, by Horner's scheme with its coefficients in a box."""
        if not isinstance(size, Poly):
            return lambda at: np.full(at.shape, size)
        evaluator = self.engine.evaluator
        powers: dict[int, dict[Any, int]] = {}
        for monomial, coefficient in size.terms:
            others = tuple(part for part in monomial if part[0] != 0)
            powers.setdefault(dict(monomial).get(0, 0), {})[others] = coefficient
        parts = {power: evaluator.poly(evaluator.space.poly(terms), box) for power, terms in powers.items()}
        first, *rest = [parts.get(power, 0) for power in range(max(parts), -1, -1)]
        wide = evaluator.space.magnitude(size) > MAX_INT

        def along(at: Array) -> Array:
            x = self._value(at.astype(object) if wide else at)
            return np.asarray(reduce(lambda total, values: total * x + values, rest, first + 0 * x))

        return along

    def _miss_rise(self, sizes: Sequence[Along]) -> Along:
        """A rising function whose sign is that of the largest miss: negative if the size is too small."""
        wanted = [(goal.target, size) for goal, size in zip(self.best.goals, sizes, strict=True)]
        misses = [(target, _above(size, target)) for target, size in wanted if target is not None]

        def rise(at: Array) -> Array:
            off = [above(at) / target for target, above in misses]
            return np.asarray(reduce(np.minimum, off) + reduce(np.maximum, off))

        return rise

    def _shape_rise(self, codes: Sequence[Array]) -> Along:
        """The change of the shape's distance to the next position: negative before the best position."""

        def distance(at: Array) -> Any:
            return self.best.shape.distance(self.best.named([self._value(at), *codes]), np)

        return lambda at: np.broadcast_to(distance(at + 1) - distance(at), at.shape)

    def _first(self, rising: Along, box: Box) -> Array:
        """The first position at which a rising function is not negative, else the axis's length.

        The first guess is that the function is a line; bisection takes over from there.
        """
        low, last = np.zeros(box.shape, np.int64), np.full(box.shape, len(self.steps) - 1)
        high = last + 1
        start = rising(low)
        guess = np.ceil(-start / (rising(last) - start) * last).astype(np.int64)
        for turn in count():
            open_ = low < high
            if not open_.any():
                break
            at = np.clip(guess + turn - 1, low, high - 1) if turn < 3 else (low + high) // 2
            met = rising(at) >= 0
            high = np.where(open_ & met, at, high)
            low = np.where(open_ & ~met, at + 1, low)
        return low


def _above(size: Along, bound: int) -> Along:
    """How much larger a size is than a bound: exact before it is rounded, so that its sign is right."""
    return lambda at: np.asarray(size(at) - bound).astype(float)
