"""Budgets of a plan as goals: FLOPs of training, memory of serving, compute that a law turns into a size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from archspec.arguments import unknown_argument
from archspec.configs.origin import RawConfig
from archspec.configs.scope import Scope
from archspec.costs.lengths import USUAL_TOKENS, usual_tokens
from archspec.errors import ArchspecError, SweepError
from archspec.models.model import Model, load
from archspec.sizes import number_of
from archspec.solving.goals import MAX_BUDGET, MEMORY, TRAINING, Goal, goal, size_of
from archspec.solving.laws import Optimum, optimum
from archspec.solving.searching.regions import Regions
from archspec.specs.library import Library
from archspec.sweeping.axes import axes_of
from archspec.sweeping.subject import Subject
from archspec.tables.quantities import BUDGETS, QUANTITIES
from archspec.tree.runnable import unrunnable

Size = Callable[[Mapping[str, int]], int | None]  # with some fields set; None where that is refused


class Plan(NamedTuple):
    """What is planned for, beside sizes.

    ``flops`` are those of training on ``tokens`` tokens in sequences of ``sequence``; ``memory`` holds
    weights and a cache of ``batch`` sequences of that length (2048, or as many positions as there are);
    ``compute`` is what ``law`` turns into a size.
    """

    flops: str | float | None = None
    tokens: str | float | None = None
    memory: str | float | None = None
    compute: str | float | None = None
    law: str | None = None
    batch: int = 1
    sequence: int | None = None

    @property
    def lengths(self) -> dict[str, int]:
        """The call that columns are of: one sequence to train on, or a whole cache."""
        return {"batch": 1 if self.flops is not None else self.batch, "tokens": self.length}

    @property
    def length(self) -> int:
        """Positions of a sequence. Errors: :class:`SweepError` for none."""
        if self.sequence is not None and self.sequence < 1:
            raise SweepError(f"a sequence of {self.sequence} positions is none", help="give --sequence 2048")
        return USUAL_TOKENS if self.sequence is None else self.sequence

    def settled(self, scope: Scope) -> Plan:
        """The same with sequences that are as long as usual at a config, unless it says how long."""
        return self if self.sequence is not None else self._replace(sequence=usual_tokens(scope))

    @property
    def sequences(self) -> int:
        """How many sequences are trained on."""
        return -(-self.trained // self.length)

    @property
    def trained(self) -> int:
        """The tokens that are trained on."""
        return _whole(self.tokens, "tokens", "--tokens 2e11")

    @property
    def training(self) -> int:
        """The budget of training FLOPs, on all tokens."""
        return _whole(self.flops, "FLOPs", "--flops 1e22")

    def shown(self, goal: Goal, size: int) -> str:
        """A goal's quantity of one config in the unit of its budget."""
        if goal.quantity != TRAINING:
            return f"{goal.name} = {size:,}"
        spent = f"training FLOPs = {size * self.sequences:,} on {self.trained:,} tokens"
        return f"{spent} (budget: {self.training:,})"

    @property
    def optimum(self) -> Optimum | None:
        """What the law gives the compute."""
        if self.compute is None:
            return None
        return optimum(_whole(self.compute, "compute", "--compute 1e21"), self.law or "chinchilla")

    def goals(self) -> list[Goal]:
        """Errors: :class:`SweepError` for a plan that leaves something open."""
        found = []
        if (self.flops is None) != (self.tokens is None):
            raise SweepError("FLOPs of training are those of some tokens", help="give --flops and --tokens")
        if self.flops is not None and self.memory is not None:
            raise SweepError("a budget is of training or of serving", help="give --flops or --memory")
        if self.law is not None and self.compute is None:
            raise SweepError(f"{self.law} has no compute to share out", help="give --compute 1e21")
        if self.flops is not None:
            target = self.training // self.sequences
            if not 0 < target <= MAX_BUDGET:
                wrong = "many" if target else "few"
                message = f"{self.training:,} training FLOPs are too {wrong} for {self.trained:,} tokens"
                help_ = (
                    "give fewer --flops or more --tokens" if target else "give more --flops or fewer --tokens"
                )
                raise SweepError(message, help=help_)
            found.append(Goal(TRAINING, target))
        if self.memory is not None:
            most = size_of(self.memory, "bytes")
            found.append(Goal(MEMORY, most, None, most))
        if (best := self.optimum) is not None:
            found.append(Goal(best.counts, best.params))
        return found

    def costs(self, model: Model, dtype: str | None) -> dict[str, int]:
        """What a config costs of what is planned for."""
        found: dict[str, int] = {}
        if self.flops is not None:
            one = model.forward(**self.lengths).training_flops
            found |= {"training_flops": one * self.sequences}
        if self.memory is not None:
            found |= {"memory": exact(model, MEMORY, dtype, self.lengths)}
        if (best := self.optimum) is not None:
            found |= {best.counts: model.count(best.counts), "tokens": best.tokens}
        return found


BUDGET_OPTIONS = (*BUDGETS, *Plan._fields)  # parameters of :func:`archspec.solve`


def planned(budgets: Mapping[str, Any]) -> tuple[Plan, dict[str, Any]]:
    """The quantity that is planned, and the sizes.

    Errors: :class:`SweepError` for lengths that no budget depends on.
    """
    given = dict(budgets)
    plan: dict[str, Any] = {name: given.pop(name) for name in Plan._fields if name in given}
    found = Plan(**plan)
    if found.batch != 1 and found.memory is None:
        raise SweepError("batch has no effect without memory", help="give --memory, or leave out batch")
    if found.sequence is not None and found.flops is None and found.memory is None:
        message = "sequence has no effect without flops or memory"
        raise SweepError(message, help="give --flops and --tokens, or --memory, or leave out sequence")
    return found, given


def goals_of(budgets: Mapping[str, Any], plan: Plan) -> list[Goal]:
    """What to come near and to keep; beside another size to come near, bytes are only a limit."""
    if unknown := next((name for name in budgets if name not in BUDGETS), None):
        raise unknown_argument("solve", unknown, (*BUDGETS, *Plan._fields))
    sizes = [goal(name, text) for name in BUDGETS if (text := budgets.get(name)) is not None]
    goals = [*plan.goals(), *sizes]
    if not goals:
        raise SweepError("no budget is given", help=f"give {', '.join(BUDGETS[:-1])} or {BUDGETS[-1]}")
    return _limits(goals)


def _limits(goals: Sequence[Goal]) -> list[Goal]:
    limits = ("bytes", MEMORY)
    others = any(one.target is not None for one in goals if one.quantity not in limits)
    return [one._replace(target=None) if others and one.quantity in limits else one for one in goals]


def exact(model: Model, quantity: str, dtype: str | None, lengths: Mapping[str, int]) -> int:
    """A goal's quantity of one config, counted plainly."""
    if quantity in QUANTITIES:
        return model.count(quantity)
    if quantity == "bytes":
        return model.params_bytes(dtype)
    call = model.forward(**lengths)
    if quantity == TRAINING:
        return call.training_flops
    return model.params_bytes(dtype) + call.cache_bytes(dtype or model.dtype)


def _whole(text: str | float | None, name: str, example: str) -> int:
    """A number as people write it, which may be larger than 64 bits."""
    number = number_of(str(text)) or 0
    if not 0 < number < 10**40:
        raise SweepError(f"{text} is no number of {name}", help=f"write {example}")
    return number


class Counted(NamedTuple):
    """What a plan counts: a goal's size of a config with some fields settled, at a dtype and for a call."""

    config: RawConfig
    architecture: str | None
    settled: dict[str, Any]
    goal: Goal
    dtype: str | None
    lengths: Mapping[str, int]
    library: Library

    @property
    def target(self) -> int:
        """The size to come near, or what lies within the bounds."""
        bounds = [end for end in (self.goal.low, self.goal.high) if end is not None]
        return self.goal.target or sum(bounds) // len(bounds)

    def sized(self, ties: Mapping[str, str]) -> Size:
        """Counts configs some of whose fields follow others."""
        subject = self._subject(ties, {})

        def size(values: Mapping[str, int]) -> int | None:
            try:
                settings = subject.settled({**self.settled, **values})
                model = load(subject.config, subject.architecture, settings, subject.library)
                if next(unrunnable(model.scope, model.architecture, model.root), None) is not None:
                    return None
                return exact(model, self.goal.quantity, self.dtype, self.lengths)
            except ArchspecError:
                return None

        return size

    def forms(self, ties: Mapping[str, str], values: Mapping[str, Sequence[int]]) -> int:
        """How many closed forms the size has over some values of fields."""
        subject = self._subject(ties, values)
        regions = Regions(subject)
        most = [reversed(range(len(axis.values))) for axis in subject.axes]
        for point in product(*most):  # the deepest first: a region reaches from its loops' lengths down
            regions.visit(point)
        return len(regions.found)

    def _subject(self, ties: Mapping[str, str], values: Mapping[str, Sequence[int]]) -> Subject:
        axes = axes_of({**{name: [value] for name, value in self.settled.items()}, **values})
        config, lengths, library = self.config, self.lengths, self.library
        return Subject(config, axes, self.architecture, ties, lengths=lengths, specs=library)


def nearest(size: Callable[[int], int | None], target: int, own: int, most: int) -> int:
    """The turn at which a size that grows with turns first reaches a target, or ``most`` of them.

    Where transformers refuses a config, the next one that it takes speaks for it; where it takes none, the
    config's ``own`` turn is as good as any.

    >>> nearest(lambda turn: turn**3, 1000, 32, 99), nearest(lambda turn: None, 5, 32, 99)
    (10, 32)
    """

    def reached(turn: int) -> bool | None:
        sizes = (size(other) for other in range(turn, turn + 4))
        return next((one >= target for one in sizes if one is not None), None)

    low, high = 0, 1
    while high < most and not reached(high):
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return next((turn for turn in range(high, high + 4) if size(turn) is not None), own)
