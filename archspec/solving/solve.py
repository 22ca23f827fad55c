"""`archspec.solve`: the configs that come near a budget, those of the family's own shape first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from archspec.arguments import GRID, described, takes
from archspec.configs.choice import source_of
from archspec.configs.origin import RawConfig
from archspec.configs.overrides import idle_fields
from archspec.configs.reader import read_config
from archspec.costs.notes.excess import notes_of
from archspec.errors import Problem, SweepError
from archspec.formats.dtypes import dtype_name
from archspec.formats.stated import assumed_note, check_unquantized
from archspec.models.model import Model, Source, load
from archspec.solving.budgets import BUDGET_OPTIONS, Counted, Plan, exact, goals_of, planned
from archspec.solving.diagnosis import Obstacles
from archspec.solving.free_fields import Grid, free_grid, scope_of
from archspec.solving.goals import MEMORY, Goal, ratio_condition
from archspec.solving.planning import Planned, plan_around
from archspec.solving.proportions import parts, shape_of, told, usual_steps
from archspec.solving.searching.order import Found, Order, Searched
from archspec.solving.searching.search import search
from archspec.solving.solutions import Solution as Solution
from archspec.solving.solutions import Solutions as Solutions
from archspec.solving.solutions import complete
from archspec.specs.library import Library
from archspec.specs.search_path import Specs, library_of
from archspec.sweeping.axes import Axis, axes_of, axis
from archspec.sweeping.subject import Subject
from archspec.tables.quantities import BUDGETS
from archspec.tree.runnable import unrunnable

_DEFAULTS = "no config is given: the proportions are transformers' defaults, which need not be a checkpoint's"
NEAR = Fraction(1, 100)  # a miss that a config of the usual shape may have, unless said otherwise
FAR = Fraction(1, 20)  # a miss that is worth a word
MOST_PERCENT = 10**9  # of a tolerance: more of them find nothing else
ASTRAY = Fraction(1, 2)  # a miss beyond which a shape that was not asked for is none for the budget


@takes("solve", set=GRID)
def solve(
    config: Source,
    free: str | Sequence[str] = (),
    *,
    dtype: str | None = None,
    set: Mapping[str, Any] | Sequence[str] = (),
    multiple: Mapping[str, int] | None = None,
    ratio: Mapping[str, Any] | None = None,
    tie: Mapping[str, str] | None = None,
    where: Sequence[str] | str = (),
    tolerance: float | None = None,
    within: float | None = None,
    top: int = 10,
    architecture: str | None = None,
    specs: Specs = (),
    params: str | float | None = None,
    active_params: str | float | None = None,
    non_embedding_params: str | float | None = None,
    bytes: str | float | None = None,
    flops: str | float | None = None,
    tokens: str | float | None = None,
    memory: str | float | None = None,
    compute: str | float | None = None,
    law: str | None = None,
    sequence: int | None = None,
    batch: int = 1,
) -> Solutions:
    """Return the configs that meet a budget, those with the config's own proportions first.

    Without ``free``, width, depth and feed-forward width are chosen, and the heads follow. Of the configs
    within ``tolerance`` per cent of the budget (1), those whose proportions are nearest the config's come
    first; beyond it, and at a tolerance of 0, the nearest sizes. The search is exhaustive and exact: see
    docs/solve.md.

    Errors: :class:`SweepError` if there is no solution; it names the constraint that prevents one.

    >>> import archspec
    >>> best = archspec.solve("LlamaForCausalLM", params="7b", top=1)
    >>> best[0].values["hidden_size"], best[0].values["num_hidden_layers"], best[0].params
    (4096, 32, 6939742208)
    """
    plan, sizes = planned({name: value for name, value in locals().items() if name in BUDGET_OPTIONS})
    library = library_of(specs)
    source, architecture = source_of(config, architecture, library)
    raw, given, names = read_config(source), axes_of(set), _names(free)
    plan = plan.settled(scope_of(raw, architecture, library))
    asked = Asked(raw, architecture, given, names, dict(tie or {}), multiple or {}, dtype, plan, library)
    if not 1 <= top <= 1_000:
        raise SweepError(f"{top} solutions are not listed", help="ask for 1 to 1,000")
    limit = _percent("within", within) if within is not None else None if names else ASTRAY
    nearest = bool(names) and (bool(ratio) or len(names) == 1)
    near = NEAR if tolerance is None else _percent("a tolerance of", tolerance)
    near = Fraction(0) if tolerance is None and nearest else near if limit is None else min(near, limit)
    return Solving(asked, _goals(asked, sizes), _conditions(ratio or {}, where)).solutions(near, limit, top)


def _goals(asked: Asked, sizes: Mapping[str, Any]) -> list[Goal]:
    goals = goals_of(sizes, asked.plan)
    if asked.dtype is None and _in_bytes(goals):
        check_unquantized(asked.config, "solve")
    return goals


def _in_bytes(goals: Sequence[Goal]) -> bool:
    return any(one.quantity in ("bytes", MEMORY) for one in goals)


class Asked(NamedTuple):
    """A config, the fields that are given values, those to choose, those that follow, and what it is for."""

    config: RawConfig
    architecture: str | None
    given: tuple[Axis, ...]
    free: list[str]
    tie: dict[str, str]
    multiple: Mapping[str, int]
    dtype: str | None
    plan: Plan
    library: Library


class Solving:
    """A search for configs that meet goals under conditions, which come by what messages call them."""

    def __init__(self, asked: Asked, goals: Sequence[Goal], conditions: Mapping[str, str]) -> None:
        self.asked, self.goals, self.conditions = asked, goals, conditions
        self.outlook = Planned(asked.config, {}, asked.tie, ()) if asked.free else self._outlook()
        self.free = asked.free or list(self.outlook.values)
        self.parts = parts(scope_of(self.outlook.config, asked.architecture, asked.library))

    def _outlook(self) -> Planned:
        """What to choose where that is not said."""
        config, architecture, given, _, tie, _, dtype, plan, library = self.asked
        by_name = {goal.quantity: goal for goal in self.goals}
        goal = by_name.get("active_params", self.goals[0])
        settled = {one.name: one.values[0] for one in given if len(one.values) == 1}
        counted = Counted(config, architecture, settled, goal, dtype, plan.lengths, library)
        return plan_around(counted, tie, {"params", "active_params"} <= by_name.keys())

    def _grid(self, by_shape: bool) -> Grid:
        """The grid to search; where shape decides, in steps as people take them."""
        given = {one.name: one for one in self.asked.given}
        found = {name: axis(name, values) for name, values in self.outlook.values.items()}
        steps = usual_steps(self.parts) if by_shape else {}
        axes = [*{**found, **given}.values()]
        multiple, architecture = self.asked.multiple, self.asked.architecture
        return free_grid(
            self.outlook.config, architecture, axes, self.free, multiple, steps, self.asked.library
        )

    def _subject(self, axes: Sequence[Axis], wanted: Sequence[Goal], under: Mapping[str, str]) -> Subject:
        columns = {f"goal {rank}": goal.quantity for rank, goal in enumerate(wanted)}
        ties, architecture, dtype = self.outlook.ties, self.asked.architecture, self.asked.dtype
        lengths, library = self.asked.plan.lengths, self.asked.library
        config = self.outlook.config
        subject = Subject(config, axes, architecture, ties, columns, under, dtype, lengths, library)
        subject.runs = True
        return subject

    def solutions(self, near: Fraction, limit: Fraction | None, top: int) -> Solutions:
        """The best configs: those of the usual shape that miss the goals by no more than ``near``.

        Where there are none, the nearest. Errors: :class:`SweepError` where these are beyond a limit.
        """
        axes, usual = self._grid(bool(near))
        shape = shape_of(self.parts, axes, usual, self.outlook.ties)
        order = Order(top, shape, distinct=self.outlook.distinct)

        def searched(wanted: Sequence[Goal], under: Mapping[str, str], at_most: int) -> Searched:
            return search(self._subject(axes, wanted, under), wanted, order._replace(most=at_most))

        whole, found = self._subject(axes, self.goals, self.conditions), list[Found]()
        if near:
            banded = [goal.banded(near) for goal in self.goals]
            found = search(whole, banded, order._replace(by_shape=True)).found
        shaped = bool(found)
        found = found or searched(self.goals, self.conditions, top).found
        obstacles = Obstacles(searched, axes, self.goals, self.conditions, self.asked.plan)
        if not found:
            raise SweepError(obstacles.none())
        if limit is not None and found[0].miss > limit:
            raise SweepError(obstacles.far(found[0], float(limit)))
        listed = [self._solution(whole, one) for one in found if limit is None or one.miss <= limit]

        plan = self.asked.plan

        def notes() -> Iterator[str]:
            yield from self.outlook.notes
            if (
                self.asked.dtype is None
                and _in_bytes(self.goals)
                and (note := assumed_note(self.asked.config))
            ):
                yield note
            yield from idle_fields(
                whole.spec, [*(one.name for one in axes), *whole.ties], whole.config
            ).values()
            if shaped and not self.asked.config.raw.keys() - {"model_type"}:
                yield _DEFAULTS
            if near and not shaped:
                yield f"nothing comes within {float(100 * near):g} % of the budget: these are the nearest"
            if plan.flops is not None or plan.memory is not None:
                lengths = ", ".join(f"{name} {length:,}" for name, length in plan.lengths.items())
                yield f"costs are those of a call with {lengths}"
            if plan.flops is not None:
                yield from notes_of(self._model(whole, found[0]).forward(**plan.lengths))
            if listed[0].miss > FAR:
                yield from (problem.message for problem in obstacles.nearer(found[0]))

        order_told, law = self._order(near) if shaped else "", plan.optimum
        return Solutions(listed, order_told, law, self._columns(listed), notes)

    def _model(self, subject: Subject, found: Found) -> Model:
        return load(subject.config, subject.architecture, subject.settled(found.values), subject.library)

    def _solution(self, subject: Subject, found: Found) -> Solution:
        settled, dtype, plan = subject.settled(found.values), subject.dtype, self.asked.plan
        model = self._model(subject, found)
        for one, size in zip(subject.columns.values(), found.sizes, strict=True):
            counted = exact(model, one.text, dtype, plan.lengths)
            if counted != size:
                message = f"a bug of archspec: {one.text} is {counted:,} at {found.values}, and not {size:,}"
                raise SweepError(message)
        if (problem := next(unrunnable(model.scope, model.architecture, model.root), None)) is not None:
            raise SweepError([Problem("a bug of archspec: a proposed config cannot run"), problem])
        varied = [one.name for one in subject.axes if len(one.values) > 1 and one.name not in self.free]
        chosen = [*self.free, *(name for name in self.outlook.ties if name not in self.asked.tie)]
        if not self.asked.free:  # as people write shapes: width, depth, heads, feed-forward width
            places = {
                name: place for place, name in enumerate(one for part in self.parts for one in part.fields)
            }
            chosen.sort(key=lambda name: places.get(name, len(places)))
        return Solution(
            {name: settled[name] for name in [*varied, *chosen]},
            model.params,
            model.active_params,
            model.non_embedding_params,
            model.params_bytes(dtype),
            found.miss,
            complete(model, dtype_name(dtype) if dtype else None),
            plan.costs(model, dtype),
        )

    def _columns(self, found: Sequence[Solution]) -> list[str]:
        """The sizes that tell configs apart: those that were asked for, and all parameters."""
        telling = {"params", *(goal.quantity for goal in self.goals)}
        telling |= {"active_params" for one in found if one.active_params != one.params}
        return [name for name in BUDGETS if name in telling]

    def _order(self, near: Fraction) -> str:
        """In which order configs come, where that is by their shape."""
        own_ties = [name for name in self.outlook.ties if name not in self.asked.tie]
        proportions = told(self.parts, self.free, own_ties, self.asked.tie)
        if not proportions:
            return ""
        aimed = any(goal.target is not None for goal in self.goals)
        within = f"{float(100 * near):g} % of the budget" if aimed else "the budget's bounds"
        first = f"of all within {within}, those nearest the config's own proportions come first"
        return f"{first}: {', '.join(proportions)}"


def _names(free: str | Sequence[str]) -> list[str]:
    listed = free.split(",") if isinstance(free, str) else free or ()
    return [name.strip() for name in listed if name.strip()]


def _conditions(ratio: Mapping[str, Any], where: str | Sequence[str]) -> dict[str, str]:
    """The conditions on fields, by what they are called in messages."""
    ratios = {f"{text} in {given}": ratio_condition(text, given) for text, given in ratio.items()}
    return ratios | {text: text for text in ([where] if isinstance(where, str) else where or ())}


def _percent(name: str, given: float) -> Fraction:
    if not 0 <= given <= MOST_PERCENT:
        shown = f"{given:g}" if isinstance(given, float) else described(given)
        message = f"{name} {shown} % of the budget is out of range"
        raise SweepError(message, help=f"give a percentage from 0 to {MOST_PERCENT:,}")
    return Fraction(str(given)) / 100
