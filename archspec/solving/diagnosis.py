"""Explanations of a failed search: the constraints without which a config would match the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from archspec.errors import Problem, option
from archspec.solving.budgets import TRAINING, Goal, Plan, option_of
from archspec.solving.search import Found, Searched
from archspec.sweeping.axes import Axis


class Obstacle(NamedTuple):
    """A constraint, the best config without it, and what to do."""

    name: str
    best: Found
    help: str


class Diagnosis(NamedTuple):
    """The constraints of a search, which are dropped one at a time to see their effect.

    ``search`` finds the nearest config for goals under conditions, which have names.
    """

    search: Callable[[Sequence[Goal], Mapping[str, str]], Searched]
    axes: Sequence[Axis]
    plan: Plan
    conditions: Mapping[str, str]

    def _without_each(self, bounds: Sequence[Goal]) -> Iterator[Obstacle]:
        goals = self.plan.goals
        has_target = any(goal.target is not None for goal in goals)
        for name in self.conditions:
            others = {other: text for other, text in self.conditions.items() if other != name}
            found = self.search(goals, others).found
            yield from (Obstacle(name, best, f"relax {name}") for best in found)
        for bound in bounds:
            near = bound.without_bounds if has_target else Goal(bound.quantity, bound.high or bound.low)
            rest = [near if goal == bound else goal for goal in goals]
            for best in self.search(rest, self.conditions).found:
                size = best.sizes[goals.index(bound)]
                change = "raise" if bound.high is not None and size > bound.high else "lower"
                help_ = f"{change} {option_of(bound.quantity)} to {size:,}"
                yield Obstacle(str(bound), best, help_ if bound.quantity != TRAINING else f"relax {bound}")

    def _text(self, found: Found) -> str:
        texts = {name: f"{value:,}" if type(value) is int else value for name, value in found.values.items()}
        values = ", ".join(f"{name} = {text}" for name, text in texts.items())
        pairs = zip(self.plan.goals, found.sizes, strict=True)
        return f"{values} with {', '.join(self.plan.text(goal, size) for goal, size in pairs)}"

    def nothing_found(self) -> list[Problem]:
        """Explain why no config meets all constraints."""
        anything = self.search([goal.without_bounds for goal in self.plan.goals], {})
        if not anything.found:
            refused = anything.refusal.problems if anything.refusal else ()
            return [Problem("no config in the search is valid; the first error:"), *refused]
        bounds = [goal for goal in self.plan.goals if goal != goal.without_bounds]
        found = list[Problem]()
        for one in self._without_each(bounds):
            nearest = f"without this limit the nearest is {self._text(one.best)}"
            found.append(Problem(f"no config meets {one.name}; {nearest}", help=one.help))
        ranges = f", or change ranges and steps of fields with {option('set')} and {option('multiple')}"
        help_ = f"leave them out one at a time{ranges}"
        return found or [Problem("the constraints contradict each other", help=help_)]

    def too_far(self, nearest: Found, within: float) -> list[Problem]:
        """Explain why no config is within a percentage of the budget."""
        message = f"no config is within {100 * within:g}% of the budget"
        off = f"{message}; the nearest deviates by {_deviation(nearest)}: {self._text(nearest)}"
        first, *rest = self.obstacles(nearest)
        return [Problem(off, help=first), *map(Problem, rest)]

    def obstacles(self, best: Found) -> list[str]:
        """Explain a large miss: constraints that double it, or ends of ranges."""
        goals = self.plan.goals
        found = [
            f"relax {one.name}: without it, {self._text(one.best)} deviates by {_deviation(one.best)}"
            for one in self._without_each([one for one in goals if one.target is None])
            if 2 * one.best.miss < best.miss
        ]
        sizes = {one.quantity: size for one, size in zip(goals, best.sizes, strict=True)}
        targets = {one.quantity: one.target for one in goals if one.target is not None}
        both = [(named.get("params"), named.get("active_params")) for named in (sizes, targets)]
        if None not in both[1] and both[0][0] == both[0][1] and both[1][0] != both[1][1]:
            found.append("every parameter is active: active_params equals params")
        is_above = {sizes[name] > target for name, target in targets.items() if sizes[name] != target}
        varied, ends = [one for one in self.axes if len(one.values) > 1 and one.numeric], list[str]()
        for is_on_side, end, more, bound in (
            (True in is_above, "smallest", "smaller", 0),
            (False in is_above, "largest", "larger", 1),
        ):
            at_end = [one.name for one in varied if best.values[one.name] == one.bounds[bound]]
            if is_on_side and at_end:
                values = ", ".join(f"{name} = {best.values[name]:,}" for name in at_end)
                ends.append(f"allow {more} values with {option('set')}; the {end} in this search: {values}")
        multiple, free = option("multiple"), option("free")
        closer = f"to get closer, choose smaller steps with {multiple}, or other fields with {free}"
        return found or ends or [closer]


def _deviation(found: Found) -> str:
    miss = float(100 * found.miss)
    return f"{miss:,.0f}%" if miss >= 1_000 else f"{miss:.3g}%"
