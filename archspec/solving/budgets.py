"""Budgets of a search, as users write them: targets and bounds of sizes and costs, and ranges of ratios."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.lengths import usual_tokens
from archspec.errors import SweepError, did_you_mean, option
from archspec.models.model import Model
from archspec.sizes import number_of
from archspec.solving.laws import LawFacts, find_optimum
from archspec.sweeping.axes import MAX_VALUE
from archspec.sweeping.columns import expression, names_in
from archspec.tables.quantities import BUDGETS, QUANTITIES

# The parameters of :func:`archspec.solve` that are budgets, or belong to one.
BUDGET_OPTIONS = (*BUDGETS, "flops", "tokens", "memory", "compute", "law", "batch", "sequence")
MAX_BUDGET = 2**62
MEMORY = "bytes + cache_bytes"  # of weights and cache during inference
TRAINING = "training_flops"  # of one sequence
_NAMES = {MEMORY: "memory in bytes", TRAINING: "training FLOPs per sequence"}


class Goal(NamedTuple):
    """A target for a quantity, and its bounds."""

    quantity: str
    target: int | None
    low: int | None = None
    high: int | None = None

    def __str__(self) -> str:
        name = _NAMES.get(self.quantity, self.quantity)
        if self.low is not None and self.high is not None:
            return f"{name} in {self.low:,}..{self.high:,}"
        if self.high is not None:
            return f"{name} <= {self.high:,}"
        return f"{name} >= {self.low:,}" if self.low is not None else f"{name} near {self.target:,}"

    @property
    def without_bounds(self) -> Goal:
        """The goal without its bounds."""
        return Goal(self.quantity, self.target)

    def with_tolerance(self, tolerance: Fraction) -> Goal:
        """Return the goal with bounds at a relative distance from its target.

        >>> Goal("params", 1000, None, 1005).with_tolerance(Fraction(1, 100))
        Goal(quantity='params', target=1000, low=990, high=1005)
        """
        if self.target is None:
            return self
        low, high = math.ceil(self.target * (1 - tolerance)), math.floor(self.target * (1 + tolerance))
        return self._replace(low=max(low, self.low or low), high=min(high, self.high or high, MAX_VALUE - 1))


class Plan(NamedTuple):
    """The goals of a search, and the ``lengths`` of the forward pass that costs are counted for.

    ``flops`` is the budget of training FLOPs for all ``tokens``, 0 without one.
    """

    goals: list[Goal]
    lengths: dict[str, Any]
    flops: int
    tokens: int
    optimum: LawFacts | None

    def has(self, *quantities: str) -> bool:
        """Return True if a goal has one of some quantities."""
        return any(one.quantity in quantities for one in self.goals)

    @property
    def sequences(self) -> int:
        """The number of sequences that the training tokens make."""
        return -(-self.tokens // int(self.lengths["tokens"]))

    def text(self, goal: Goal, size: int) -> str:
        """Return a goal's quantity of one config in the unit of its budget."""
        if goal.quantity != TRAINING:
            return f"{_NAMES.get(goal.quantity, goal.quantity)} = {size:,}"
        spent = f"training FLOPs = {size * self.sequences:,} on {self.tokens:,} tokens"
        return f"{spent} (budget: {self.flops:,})"

    def costs(self, model: Model, dtype: str | None) -> dict[str, int]:
        """Return the costs of a config that the plan has budgets for."""
        found: dict[str, int] = {}
        if self.has(TRAINING):
            found["training_flops"] = exact_size(model, TRAINING, dtype, self.lengths) * self.sequences
        if self.has(MEMORY):
            found["memory"] = exact_size(model, MEMORY, dtype, self.lengths)
        if (best := self.optimum) is not None:
            found |= {best.counts: model.count(best.counts), "tokens": best.tokens}
        return found


def plan_of(budgets: Mapping[str, Any], scope: Scope) -> Plan:
    """Read the options of :data:`BUDGET_OPTIONS`.

    Errors: :class:`SweepError` for budgets that contradict each other or are incomplete.
    """
    flops, tokens, memory, compute, law, batch, sequence = (budgets[name] for name in BUDGET_OPTIONS[-7:])
    flags = {name: option(name) for name in BUDGET_OPTIONS}
    for is_wrong, message, help_ in (
        (batch != 1 and memory is None, "{batch} has no effect without {memory}", "leave out {batch}"),
        (
            sequence and flops is memory is None,
            "{sequence} has no effect without {flops} or {memory}",
            "add {flops} and {tokens}, or {memory}, or leave out {sequence}",
        ),
        (sequence is not None and sequence < 1, "{sequence} must be at least 1", "pass a larger {sequence}"),
        (
            tokens is not None and flops is None,
            "{tokens} has no effect without {flops}",
            "add {flops}, or leave out {tokens}",
        ),
        (flops is not None and tokens is None, "{flops} needs {tokens}", "add {tokens}, e.g. 2e11"),
        (batch < 1, "{batch} must be at least 1", "pass a larger {batch}"),
        (
            compute and budgets["params"] and ".." not in str(budgets["params"]),
            "{compute} cannot be combined with a target of {params}",
            "leave out {compute} or {params}, or give {params} a range",
        ),
        (flops and memory, "{flops} cannot be combined with {memory}", "leave out {flops} or {memory}"),
        (
            law and compute is None,
            "{law} has no effect without {compute}",
            "add {compute}, or leave out {law}",
        ),
    ):
        if is_wrong:
            raise SweepError(message.format(**flags), help=help_.format(**flags))
    lengths = {"batch": batch, "tokens": usual_tokens(scope) if sequence is None else sequence}
    spent = 0 if flops is None else _parse_whole(flops, "FLOPs", option("flops", "1e22"))
    trained = 0 if tokens is None else _parse_whole(tokens, "tokens", option("tokens", "2e11"))
    best = None
    if compute is not None:
        best = find_optimum(_parse_whole(compute, "FLOPs", option("compute", "1e21")), law or "chinchilla")
    plan = Plan([], lengths, spent, trained, best)
    return plan._replace(goals=_goals(plan, budgets))


def _goals(plan: Plan, budgets: Mapping[str, Any]) -> list[Goal]:
    goals = []
    if plan.flops:
        target = plan.flops // plan.sequences
        if not 0 < target <= MAX_BUDGET:
            wrong, more, fewer = ("many", "tokens", "flops") if target else ("few", "flops", "tokens")
            message = f"{plan.flops:,} training FLOPs are too {wrong} for {plan.tokens:,} tokens"
            raise SweepError(message, help=f"pass more {option(more)} or fewer {option(fewer)}")
        goals.append(Goal(TRAINING, target))
    if (memory := budgets["memory"]) is not None:
        most = size_of(memory, MEMORY)
        goals.append(Goal(MEMORY, most, None, most))
    if plan.optimum is not None:
        goals.append(Goal(plan.optimum.counts, plan.optimum.params))
    goals += [parse_goal(name, text) for name in BUDGETS if (text := budgets[name]) is not None]
    if not goals:
        flags = [option(name) for name in (*BUDGETS, "flops", "memory", "compute")]
        raise SweepError("no budget is given", help=f"pass one of: {', '.join(flags)}")
    limits = ("bytes", MEMORY)  # next to another target they are only limits
    others = any(one.target is not None for one in goals if one.quantity not in limits)
    return [one._replace(target=None) if others and one.quantity in limits else one for one in goals]


def exact_size(model: Model, quantity: str, dtype: str | None, lengths: Mapping[str, Any]) -> int:
    """Return a goal's quantity of one config, from the exact count."""
    if quantity in QUANTITIES:
        return model.count(quantity)
    if quantity == "bytes":
        return model.params_bytes(dtype)
    call = model.forward(**lengths)
    if quantity == TRAINING:
        return call.training_flops
    return model.params_bytes(dtype) + call.cache_bytes(dtype or model.dtype)


def _parse_whole(text: str | float, name: str, example: str) -> int:
    number = number_of(str(text)) or 0
    if not 0 < number < 10**40:
        wrong = "too large" if number else f"not a number of {name}"
        raise SweepError(f"{text} is {wrong}", help=f"pass a value such as {example}")
    return number


def size_of(text: str | float, quantity: str = "params") -> int:
    """Parse a number of parameters or bytes. Errors: :class:`SweepError` for anything else.

    >>> size_of("7e9"), size_of("1.3b"), size_of("16GiB", "bytes"), size_of("350M")
    (7000000000, 1300000000, 17179869184, 350000000)
    """
    text = str(text).strip()
    of_bytes = quantity in ("bytes", MEMORY)
    number = number_of(text, of_bytes)
    if number is not None and 0 < number <= MAX_BUDGET:
        return number
    examples = "16GiB, 24e9 or ..80GiB" if of_bytes else "7e9, 1.3B, 350M or 6e9..7e9"
    wrong = "too large" if number else f"not a number of {'bytes' if of_bytes else 'parameters'}"
    raise SweepError(f"{option_of(quantity)}: {text} is {wrong}", help=f"pass a value such as {examples}")


def parse_goal(quantity: str, text: str | float) -> Goal:
    """Parse a budget: a size to match, or a range (`..b`, `a..`, `a..b`); bytes are not exceeded.

    >>> parse_goal("params", "7e9")
    Goal(quantity='params', target=7000000000, low=None, high=None)
    >>> parse_goal("params", "6B..7B").high, parse_goal("bytes", "1GiB").high
    (7000000000, 1073741824)
    """
    low, dots, high = str(text).partition("..")
    if not dots:
        target = size_of(low, quantity)
        return Goal(quantity, target, None, target if quantity == "bytes" else None)
    least, most = (size_of(end, quantity) if end.strip() else None for end in (low, high))
    if (least is None and most is None) or (least is not None and most is not None and least > most):
        examples = "6e9..7e9, ..7e9 or 6e9.."
        help_ = f"give {option_of(quantity)} a range such as {examples}, the smaller number first"
        raise SweepError(f"{text} is not a range", help=help_)
    return Goal(quantity, None, least, most)


def option_of(quantity: str) -> str:
    """Return the option of a budget."""
    return option({MEMORY: "memory", TRAINING: "flops"}.get(quantity, quantity))


def _ratio_help() -> str:
    example = option("ratio", {"hidden_size/num_hidden_layers": "100..140"})
    return f"write {option('ratio', {'a/b': 'low..high'})}, e.g. {example}"


def ratio_condition(text: str, given: Any, scope: Scope | None = None) -> str:
    """Return the condition on whole numbers that keeps a ratio `a/b` of fields within a range.

    With ``scope`` the names are checked. Errors: :class:`SweepError` for an invalid ratio or range.

    >>> ratio_condition("hidden_size/n_layer", "100..140")
    'n_layer > 0 and 100 * (n_layer) <= 1 * (hidden_size) and 1 * (hidden_size) <= 140 * (n_layer)'
    """
    parsed = expression(text, option("ratio"))
    tree = parsed.tree
    if not (isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div)):
        raise SweepError(f"{option('ratio')}: {text} is not a ratio", help=_ratio_help())
    if scope is not None:
        known = [*scope.spec.fields, *scope.spec.attribute_map, *scope.raw]
        for name in sorted(names_in([parsed]) - {*known, *QUANTITIES, "bytes"}):
            help_ = did_you_mean(name, known) or "write the names of config fields, e.g. hidden_size"
            raise SweepError(f"{option('ratio')} {text}: {name} is not a config field", help=help_)
    above, below = ast.unparse(tree.left), ast.unparse(tree.right)
    span = "..".join(map(str, given)) if isinstance(given, tuple | list) else str(given)
    low, dots, high = span.partition("..")
    try:
        least, most = (Fraction(end.strip()) if end.strip() else None for end in (low, high if dots else low))
    except (ValueError, ZeroDivisionError):
        message = f"{option('ratio')}: {span} is not a number or a range of numbers"
        raise SweepError(message, help=_ratio_help()) from None
    if least is not None and most is not None and least > most:
        help_ = f"write the smaller number first: {high.strip()}..{low.strip()}"
        raise SweepError(f"{option('ratio')}: {span} is not a range", help=help_)
    found = [f"{below} > 0"]
    if least is not None:
        found.append(f"{least.numerator} * ({below}) <= {least.denominator} * ({above})")
    if most is not None:
        found.append(f"{most.denominator} * ({above}) <= {most.numerator} * ({below})")
    if len(found) == 1:
        raise SweepError(f"{option('ratio')}: {text}={given} has no range", help=_ratio_help())
    return " and ".join(found)
