"""Explanations of a failed search: the constraints without which a config would match the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from archspec.errors import Problem
from archspec.solving.budgets import Plan
from archspec.solving.goals import Goal
from archspec.solving.search import Found, Searched
from archspec.sweeping.axes import Axis


class Diagnosis(NamedTuple):
    """The constraints of a search, which are dropped one at a time to see what they cost.

    ``search`` finds the nearest config for goals under conditions, which have names.
    """

    search: Callable[[Sequence[Goal], Mapping[str, str]], Searched]
    axes: Sequence[Axis]
    plan: Plan
    conditions: Mapping[str, str]

    def _without_each(self, bounds: Sequence[Goal]) -> Iterator[tuple[str, Found]]:
        """Each constraint that can be dropped, with the nearest config without it."""
        goals = self.plan.goals
        targets = any(goal.target is not None for goal in goals)
        for name in self.conditions:
            others = {other: text for other, text in self.conditions.items() if other != name}
            if found := self.search(goals, others).found:
                yield f"{name} is the obstacle", found[0]
        for bound in bounds:
            near = bound.unbounded if targets else Goal(bound.quantity, bound.high or bound.low)
            rest = [near if goal == bound else goal for goal in goals]
            if found := self.search(rest, self.conditions).found:
                yield f"{bound} is the obstacle", found[0]

    def shown(self, found: Found) -> str:
        """A config with its sizes."""
        texts = {name: f"{value:,}" if type(value) is int else value for name, value in found.values.items()}
        values = ", ".join(f"{name} = {text}" for name, text in texts.items())
        pairs = zip(self.plan.goals, found.sizes, strict=True)
        return f"{values} with {', '.join(self.plan.shown(goal, size) for goal, size in pairs)}"

    def none(self) -> list[Problem]:
        """Why no config keeps all constraints."""
        anything = self.search([goal.unbounded for goal in self.plan.goals], {})
        if not anything.found:
            message = "every config in the search is invalid:"
            return [Problem(message), *(anything.refusal.problems if anything.refusal else ())]
        bounds = [goal for goal in self.plan.goals if goal != goal.unbounded]
        found = [
            Problem(f"{obstacle}: the nearest config without it is {self.shown(best)}", help="loosen it")
            for obstacle, best in self._without_each(bounds)
        ]
        help_ = "drop them one at a time, or give the fields other ranges and steps"
        return found or [Problem("the constraints contradict each other", help=help_)]

    def far(self, nearest: Found, within: float) -> list[Problem]:
        """Why no config is within a percentage of the budget."""
        message = f"no config is within {100 * within:g} % of the budget; the nearest is {_off(nearest)} off"
        first, *rest = self.obstacles(nearest)
        return [Problem(f"{message}, {self.shown(nearest)}", help=first), *map(Problem, rest)]

    def obstacles(self, best: Found) -> list[str]:
        """Why the nearest config is far off: constraints that double its distance, or ends of ranges."""
        bounds = [goal for goal in self.plan.goals if goal != goal.unbounded and goal.target is None]
        found = [
            f"{obstacle}: without it, {self.shown(other)} is {_off(other)} off"
            for obstacle, other in self._without_each(bounds)
            if 2 * other.miss < best.miss
        ]
        pairs = zip(self.plan.goals, best.sizes, strict=True)
        targets = {goal.quantity: (goal.target, size) for goal, size in pairs if goal.target is not None}
        if {"params", "active_params"} <= targets.keys():
            (params, size), (active, active_size) = targets["params"], targets["active_params"]
            if size == active_size and params != active:
                found.append("every parameter is active: active_params equals params")
        if not found:
            above = {size > target for target, size in targets.values() if size != target}
            ends = [("smallest", 0)] * (True in above) + [("largest", 1)] * (False in above)
            found = [
                f"{one.name} = {best.values[one.name]:,} is the {which} of its values"
                for one in self.axes
                if len(one.values) > 1 and one.numeric
                for which, end in ends
                if best.values[one.name] == one.bounds[end]
            ]
        return found or ["take smaller steps, or free another field"]


def _off(found: Found) -> str:
    miss = float(100 * found.miss)
    return f"{miss:,.0f} %" if miss >= 1_000 else f"{miss:.3g} %"
