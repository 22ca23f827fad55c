"""What stands in the way of a budget: the constraint that no config keeps, or without which one comes nearer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from archspec.errors import Problem
from archspec.solving.goals import Goal
from archspec.solving.search import Found, Search
from archspec.sweeping.axes import Axis

Searching = Callable[[Sequence[Goal], Mapping[str, str], int], Search]


class Obstacles:
    """The constraints of a search, which are dropped one by one to see what there is without them.

    ``search`` starts a search for goals under conditions; ``conditions`` are all of them by name.
    """

    def __init__(
        self, search: Searching, axes: Sequence[Axis], goals: Sequence[Goal], conditions: Mapping[str, str]
    ) -> None:
        self.search, self.axes, self.goals, self.conditions = search, axes, list(goals), conditions
        self.bounds = {str(goal): goal for goal in goals if goal.low is not None or goal.high is not None}

    def nearest(self, goals: Sequence[Goal], names: Iterable[str]) -> tuple[Found | None, Search]:
        search = self.search(goals, {name: self.conditions[name] for name in names}, 1)
        return next(iter(search.run()), None), search

    def without(self, name: str) -> Found | None:
        """The nearest config where one constraint is dropped."""
        rest = [goal if str(goal) != name else Goal(goal.quantity, goal.target) for goal in self.goals]
        return self.nearest(rest, [other for other in self.conditions if other != name])[0]

    def described(self, found: Found) -> str:
        sizes = ", ".join(
            f"{goal.quantity} = {size:,}" for goal, size in zip(self.goals, found.sizes, strict=True)
        )
        return f"{_values(found)} with {sizes}"

    def none(self) -> list[Problem]:
        """Why no config keeps all constraints."""
        open_goals = [Goal(goal.quantity, goal.target) for goal in self.goals]
        anything, search = self.nearest(open_goals, [])
        if anything is None:
            refusal = search.engine.refusal
            return [
                Problem("transformers builds none of the configs of the search:"),
                *(refusal[0].problems if refusal else ()),
            ]
        found = []
        for name in self.conditions:
            if self.nearest(open_goals, [name])[0] is None:
                message = f"no config of the search has {name}"
                found.append(Problem(message, help="change it, or the ranges and steps of the fields in it"))
        for name, bound in self.bounds.items():
            near = Goal(bound.quantity, bound.high or bound.low or bound.target)
            if self.nearest([bound], [])[0] is None and (best := self.nearest([near], [])[0]) is not None:
                message = f"no config of the search has {name}: the nearest has {best.sizes[0]:,}, at {_values(best)}"
                found.append(Problem(message, help="change it, or give the fields other ranges"))
        if found:
            return found
        for name in [*self.conditions, *self.bounds]:
            if (best := self.without(name)) is not None:
                message = f"{name} stands in the way: without it there is {self.described(best)}"
                found.append(Problem(message, help="loosen it"))
        return found or [
            Problem(
                "the constraints exclude each other",
                help="drop them one by one: no single one stands in the way",
            )
        ]

    def far(self, nearest: Found, within: float) -> list[Problem]:
        """Why no config comes within a share of the budget."""
        message = f"nothing comes within {100 * within:g} % of the budget: the nearest is {_off(nearest)} off"
        first, *rest = self.nearer(nearest)
        return [Problem(f"{message}, {self.described(nearest)}", help=first.message), *rest]

    def nearer(self, best: Found) -> list[Problem]:
        """What keeps the nearest config as far off as it is: constraints without which another is twice as near, and ends."""
        found = []
        for name in [
            *self.conditions,
            *(name for name, bound in self.bounds.items() if bound.target is None),
        ]:
            other = self.without(name)
            if other is not None and 2 * other.miss < best.miss:
                text = f"{name} stands in the way: without it there is {self.described(other)}, {_off(other)} off"
                found.append(Problem(text))
        targets = {
            goal.quantity: (goal.target, size)
            for goal, size in zip(self.goals, best.sizes, strict=True)
            if goal.target
        }
        if {"params", "active_params"} <= set(targets):
            (wanted, size), (wanted_active, active) = targets["params"], targets["active_params"]
            if size == active and wanted != wanted_active:
                found.append(Problem("every parameter works on each token: active_params is params"))
        return found or self.ends(best) or [Problem("take smaller steps, or free another field")]

    def ends(self, best: Found) -> list[Problem]:
        """The fields that have no value beyond the best config's, in the direction in which it is off."""
        pairs = [
            (size, goal.target)
            for size, goal in zip(best.sizes, self.goals, strict=True)
            if goal.target is not None
        ]
        sides = {0: "smallest"} if any(size > target for size, target in pairs) else {}
        sides |= {1: "largest"} if any(size < target for size, target in pairs) else {}
        return [
            Problem(f"{one.name} = {best.values[one.name]:,} is the {side} of its values")
            for one in self.axes
            if len(one.values) > 1 and one.numeric
            for end, side in sides.items()
            if best.values[one.name] == one.bounds[end]
        ]


def _values(found: Found) -> str:
    return ", ".join(
        f"{field} = {value:,}" if type(value) is int else f"{field} = {value}"
        for field, value in found.values.items()
    )


def _off(found: Found) -> str:
    return f"{float(100 * found.miss):.3g} %"
