"""Budgets: sizes, training FLOPs, inference memory, and compute that a scaling law turns into a size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.lengths import usual_tokens
from archspec.errors import SweepError
from archspec.models.model import Model
from archspec.sizes import number_of
from archspec.solving.goals import MAX_BUDGET, MEMORY, TRAINING, Goal, goal, size_of
from archspec.solving.laws import Optimum, optimum
from archspec.tables.quantities import BUDGETS, QUANTITIES

# The parameters of :func:`archspec.solve` that are budgets, or belong to one.
BUDGET_OPTIONS = (*BUDGETS, "flops", "tokens", "memory", "compute", "law", "batch", "sequence")


class Plan(NamedTuple):
    """The goals of a search, and the call that costs are counted for.

    ``flops`` is the budget of training FLOPs for all ``tokens``, 0 without one.
    """

    goals: list[Goal]
    lengths: dict[str, int]
    flops: int
    tokens: int
    optimum: Optimum | None

    @property
    def in_bytes(self) -> bool:
        """Return True if a goal depends on the dtype."""
        return any(one.quantity in ("bytes", MEMORY) for one in self.goals)

    @property
    def counts_calls(self) -> bool:
        """Return True if a goal is a cost of a call."""
        return any(one.quantity in (TRAINING, MEMORY) for one in self.goals)

    @property
    def sequences(self) -> int:
        """The number of sequences that the training tokens make."""
        return -(-self.tokens // self.lengths["tokens"])

    def shown(self, goal: Goal, size: int) -> str:
        """A goal's quantity of one config in the unit of its budget."""
        if goal.quantity != TRAINING:
            return f"{goal.name} = {size:,}"
        spent = f"training FLOPs = {size * self.sequences:,} on {self.tokens:,} tokens"
        return f"{spent} (budget: {self.flops:,})"

    def costs(self, model: Model, dtype: str | None) -> dict[str, int]:
        """The costs of a config that the plan has budgets for."""
        found: dict[str, int] = {}
        quantities = [one.quantity for one in self.goals]
        if TRAINING in quantities:
            found["training_flops"] = exact(model, TRAINING, dtype, self.lengths) * self.sequences
        if MEMORY in quantities:
            found["memory"] = exact(model, MEMORY, dtype, self.lengths)
        if (best := self.optimum) is not None:
            found |= {best.counts: model.count(best.counts), "tokens": best.tokens}
        return found


def plan_of(budgets: Mapping[str, Any], scope: Scope) -> Plan:
    """Read the options of :data:`BUDGET_OPTIONS`.

    Errors: :class:`SweepError` for budgets that contradict each other or are incomplete.
    """
    flops, tokens, memory = budgets.get("flops"), budgets.get("tokens"), budgets.get("memory")
    compute, law = budgets.get("compute"), budgets.get("law")
    batch, sequence = budgets.get("batch", 1), budgets.get("sequence")
    uncalled = flops is None and memory is None
    for fault, message, help_ in (
        (batch != 1 and memory is None, "batch requires memory", "add --memory, or remove batch"),
        (
            sequence is not None and uncalled,
            "sequence requires flops or memory",
            "add --flops and --tokens, or --memory, or remove sequence",
        ),
        (sequence is not None and sequence < 1, "a sequence has 1 token or more", "write --sequence 2048"),
        ((flops is None) != (tokens is None), "flops and tokens go together", "give --flops and --tokens"),
        (
            flops is not None and memory is not None,
            "flops and memory cannot be combined",
            "give --flops or --memory",
        ),
        (law is not None and compute is None, "law requires compute", "add --compute 1e21"),
    ):
        if fault:
            raise SweepError(message, help=help_)
    lengths = {"batch": batch, "tokens": usual_tokens(scope) if sequence is None else sequence}
    spent = 0 if flops is None else _whole(flops, "FLOPs", "--flops 1e22")
    trained = 0 if tokens is None else _whole(tokens, "tokens", "--tokens 2e11")
    best = None
    if compute is not None:
        best = optimum(_whole(compute, "FLOPs", "--compute 1e21"), law or "chinchilla")
    plan = Plan([], lengths, spent, trained, best)
    return plan._replace(goals=_goals(plan, budgets))


def _goals(plan: Plan, budgets: Mapping[str, Any]) -> list[Goal]:
    goals = []
    if plan.flops:
        target = plan.flops // plan.sequences
        if not 0 < target <= MAX_BUDGET:
            wrong, more, fewer = ("many", "tokens", "flops") if target else ("few", "flops", "tokens")
            message = f"{plan.flops:,} training FLOPs are too {wrong} for {plan.tokens:,} tokens"
            raise SweepError(message, help=f"give more --{more} or fewer --{fewer}")
        goals.append(Goal(TRAINING, target))
    if (memory := budgets.get("memory")) is not None:
        most = size_of(memory, "bytes")
        goals.append(Goal(MEMORY, most, None, most))
    if plan.optimum is not None:
        goals.append(Goal(plan.optimum.counts, plan.optimum.params))
    goals += [goal(name, text) for name in BUDGETS if (text := budgets.get(name)) is not None]
    if not goals:
        raise SweepError("no budget is given", help=f"give {', '.join(BUDGETS[:-1])} or {BUDGETS[-1]}")
    limits = ("bytes", MEMORY)  # next to another target they are only limits
    others = any(one.target is not None for one in goals if one.quantity not in limits)
    return [one._replace(target=None) if others and one.quantity in limits else one for one in goals]


def exact(model: Model, quantity: str, dtype: str | None, lengths: Mapping[str, int]) -> int:
    """A goal's quantity of one config, from the exact count."""
    if quantity in QUANTITIES:
        return model.count(quantity)
    if quantity == "bytes":
        return model.params_bytes(dtype)
    call = model.forward(**lengths)
    if quantity == TRAINING:
        return call.training_flops
    return model.params_bytes(dtype) + call.cache_bytes(dtype or model.dtype)


def _whole(text: str | float, name: str, example: str) -> int:
    """Parse a number that may exceed 64 bits."""
    number = number_of(str(text)) or 0
    if not 0 < number < 10**40:
        raise SweepError(f"{text} is not a number of {name}", help=f"write {example}")
    return number
