"""What stands in the way of a budget: a constraint that no config keeps, or without which one is nearer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from archspec.errors import Problem
from archspec.solving.budgets import Plan
from archspec.solving.goals import Goal
from archspec.solving.searching.order import Found, Searched
from archspec.sweeping.axes import Axis

_EXCLUDE = "the constraints exclude each other"
_ONE_BY_ONE = "drop them one by one: no single one stands in the way"
Searching = Callable[[Sequence[Goal], Mapping[str, str], int], Searched]


class Obstacles:
    """The constraints of a search, which are dropped one by one to see what there is without them.

    ``search`` looks for goals under conditions, which come by name; ``conditions`` are all of them, and
    ``plan`` shows sizes in the unit of their budget.
    """

    def __init__(
        self,
        search: Searching,
        axes: Sequence[Axis],
        goals: Sequence[Goal],
        conditions: Mapping[str, str],
        plan: Plan,
    ) -> None:
        self.search, self.axes, self.goals, self.conditions, self.plan = search, axes, goals, conditions, plan
        self.bounds = {str(goal): goal for goal in goals if goal != goal.open}

    def _nearest(self, goals: Sequence[Goal], names: Iterable[str]) -> Found | None:
        """The nearest config under some of the conditions."""
        found = self.search(goals, {name: self.conditions[name] for name in names}, 1).found
        return found[0] if found else None

    def _without(self, name: str) -> Found | None:
        """The nearest config where one constraint is dropped."""
        rest = [goal.open if str(goal) == name else goal for goal in self.goals]
        return self._nearest(rest, [other for other in self.conditions if other != name])

    def _described(self, found: Found) -> str:
        pairs = zip(self.goals, found.sizes, strict=True)
        return f"{_values(found)} with {', '.join(self.plan.shown(goal, size) for goal, size in pairs)}"

    def none(self) -> list[Problem]:
        """Why no config keeps all constraints."""
        open_goals = [goal.open for goal in self.goals]
        anything = self.search(open_goals, {}, 1)
        if not anything.found:
            message = "every config of the search is refused:"
            return [Problem(message), *(anything.refusal.problems if anything.refusal else ())]
        return [*self._alone(open_goals)] or [*self._in_the_way()] or [Problem(_EXCLUDE, help=_ONE_BY_ONE)]

    def _alone(self, open_goals: Sequence[Goal]) -> Iterator[Problem]:
        """The constraints that no config keeps, whatever the others say."""
        for name in self.conditions:
            if self._nearest(open_goals, [name]) is None:
                message = f"no config of the search has {name}"
                yield Problem(message, help="change it, or the ranges and steps of the fields in it")
        for name, bound in self.bounds.items():
            near = Goal(bound.quantity, bound.high or bound.low)
            if self._nearest([bound], []) is None and (best := self._nearest([near], [])) is not None:
                nearest = f"the nearest has {best.sizes[0]:,}, at {_values(best)}"
                message = f"no config of the search has {name}: {nearest}"
                yield Problem(message, help="change it, or give the fields other ranges")

    def _in_the_way(self) -> Iterator[Problem]:
        """The constraints without which a config keeps all others."""
        for name in [*self.conditions, *self.bounds]:
            if (best := self._without(name)) is not None:
                message = f"{name} stands in the way: without it there is {self._described(best)}"
                yield Problem(message, help="loosen it")

    def far(self, nearest: Found, within: float) -> list[Problem]:
        """Why no config comes within a share of the budget."""
        message = f"nothing comes within {100 * within:g} % of the budget: the nearest is {_off(nearest)} off"
        first, *rest = self.nearer(nearest)
        return [Problem(f"{message}, {self._described(nearest)}", help=first.message), *rest]

    def nearer(self, best: Found) -> list[Problem]:
        """What keeps the nearest config far off: constraints that double its distance, or ends of ranges."""
        found = []
        bounds = (name for name, bound in self.bounds.items() if bound.target is None)
        for name in [*self.conditions, *bounds]:
            other = self._without(name)
            if other is not None and 2 * other.miss < best.miss:
                there = f"without it there is {self._described(other)}, {_off(other)} off"
                found.append(Problem(f"{name} stands in the way: {there}"))
        pairs = zip(self.goals, best.sizes, strict=True)
        targets = {goal.quantity: (goal.target, size) for goal, size in pairs if goal.target is not None}
        if {"params", "active_params"} <= targets.keys():
            (params, size), (active, active_size) = targets["params"], targets["active_params"]
            if size == active_size and params != active:
                found.append(Problem("every parameter works on each token: active_params is params"))
        if not found:
            found = self._ends(best, {size > target for target, size in targets.values() if size != target})
        return found or [Problem("take smaller steps, or free another field")]

    def _ends(self, best: Found, above: set[bool]) -> list[Problem]:
        """The fields that have no value beyond the best config's, on the sides to which it is off."""
        ends = {0: "smallest"} if True in above else {}
        ends |= {1: "largest"} if False in above else {}
        return [
            Problem(f"{one.name} = {best.values[one.name]:,} is the {which} of its values")
            for one in self.axes
            if len(one.values) > 1 and one.numeric
            for end, which in ends.items()
            if best.values[one.name] == one.bounds[end]
        ]


def _values(found: Found) -> str:
    texts = {name: f"{value:,}" if type(value) is int else value for name, value in found.values.items()}
    return ", ".join(f"{name} = {text}" for name, text in texts.items())


def _off(found: Found) -> str:
    miss = float(100 * found.miss)
    return f"{miss:,.0f} %" if miss >= 1_000 else f"{miss:.3g} %"
