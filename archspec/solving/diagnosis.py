"""Explanations of a failed search: the constraints without which a config would match the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from archspec.errors import Problem
from archspec.solving.budgets import Goal, Plan
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
        goals = self.plan.goals
        has_target = any(goal.target is not None for goal in goals)
        for name in self.conditions:
            others = {other: text for other, text in self.conditions.items() if other != name}
            yield from ((f"{name} is the obstacle", best) for best in self.search(goals, others).found)
        for bound in bounds:
            near = bound.without_bounds if has_target else Goal(bound.quantity, bound.high or bound.low)
            rest = [near if goal == bound else goal for goal in goals]
            yield from (
                (f"{bound} is the obstacle", best) for best in self.search(rest, self.conditions).found
            )

    def _text(self, found: Found) -> str:
        texts = {name: f"{value:,}" if type(value) is int else value for name, value in found.values.items()}
        values = ", ".join(f"{name} = {text}" for name, text in texts.items())
        pairs = zip(self.plan.goals, found.sizes, strict=True)
        return f"{values} with {', '.join(self.plan.text(goal, size) for goal, size in pairs)}"

    def nothing_found(self) -> list[Problem]:
        """Explain why no config keeps all constraints."""
        anything = self.search([goal.without_bounds for goal in self.plan.goals], {})
        if not anything.found:
            refused = anything.refusal.problems if anything.refusal else ()
            return [Problem("every config in the search is invalid:"), *refused]
        bounds = [goal for goal in self.plan.goals if goal != goal.without_bounds]
        found = [
            Problem(f"{obstacle}: the nearest config without it is {self._text(best)}", help="loosen it")
            for obstacle, best in self._without_each(bounds)
        ]
        help_ = "drop them one at a time, or give the fields other ranges and steps"
        return found or [Problem("the constraints contradict each other", help=help_)]

    def too_far(self, nearest: Found, within: float) -> list[Problem]:
        """Explain why no config is within a percentage of the budget."""
        limit, off = f"{100 * within:g} %", _percent_off(nearest)
        message = f"no config is within {limit} of the budget; the nearest is {off} off"
        first, *rest = self.obstacles(nearest)
        return [Problem(f"{message}, {self._text(nearest)}", help=first), *map(Problem, rest)]

    def obstacles(self, best: Found) -> list[str]:
        """Explain a large miss: constraints that double it, or ends of ranges."""
        goals = self.plan.goals
        found = [
            f"{obstacle}: without it, {self._text(other)} is {_percent_off(other)} off"
            for obstacle, other in self._without_each([one for one in goals if one.target is None])
            if 2 * other.miss < best.miss
        ]
        sizes = {one.quantity: size for one, size in zip(goals, best.sizes, strict=True)}
        targets = {one.quantity: one.target for one in goals if one.target is not None}
        both = [(named.get("params"), named.get("active_params")) for named in (sizes, targets)]
        if None not in both[1] and both[0][0] == both[0][1] and both[1][0] != both[1][1]:
            found.append("every parameter is active: active_params equals params")
        is_above = {sizes[name] > target for name, target in targets.items() if sizes[name] != target}
        ends = [("smallest", 0)] * (True in is_above) + [("largest", 1)] * (False in is_above)
        varied = [one for one in self.axes if len(one.values) > 1 and one.numeric]
        found = found or [
            f"{one.name} = {best.values[one.name]:,} is the {which} of its values"
            for one in varied
            for which, end in ends
            if best.values[one.name] == one.bounds[end]
        ]
        return found or ["take smaller steps, or free another field"]


def _percent_off(found: Found) -> str:
    miss = float(100 * found.miss)
    return f"{miss:,.0f} %" if miss >= 1_000 else f"{miss:.3g} %"
