"""`archspec.solve`: configs near a budget, ranked by how close their shape is to the original config's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from archspec.arguments import check_arguments_of, describe_value
from archspec.configs.choice import choose, source_of
from archspec.configs.overrides import idle_fields
from archspec.configs.reader import read_config
from archspec.costs.builder import cost_facts
from archspec.costs.excess import notes_of
from archspec.costs.forward import check_supported
from archspec.costs.records import Call
from archspec.errors import Problem, SweepError, option
from archspec.formats.dtypes import dtype_name
from archspec.formats.stated import assumed_note, check_unquantized
from archspec.models.model import Model, Source, load
from archspec.models.report import lengths_text
from archspec.solving.budgets import (
    BUDGET_OPTIONS,
    MEMORY,
    TRAINING,
    Goal,
    Plan,
    exact_size,
    plan_of,
    ratio_condition,
)
from archspec.solving.candidates import Request, grid_of
from archspec.solving.diagnosis import Diagnosis
from archspec.solving.planning import Planned, plan_around
from archspec.solving.search import Found, Ranking, Searched, search
from archspec.solving.shape import parts_of, shape_of, usual_steps
from archspec.solving.solutions import Solution as Solution
from archspec.solving.solutions import Solutions as Solutions
from archspec.solving.solutions import complete
from archspec.specs.search_path import Specs, library_of
from archspec.sweeping.axes import axes_of, axis
from archspec.sweeping.subject import Subject
from archspec.tables.quantities import BUDGETS
from archspec.tree.runnable import run_problems

_DEFAULTS = "no config given: proportions are transformers' defaults and may differ from a checkpoint's"
TOLERANCE = Fraction(1, 100)  # within this of the budget the shape decides
FAR = Fraction(1, 20)  # a miss that is explained in a note
MOST_PERCENT = 10**9  # larger percentages make no difference
ASTRAY = Fraction(1, 2)  # the largest miss of a config whose fields the user did not choose


@check_arguments_of("solve")
def solve(  # noqa: PLR0913 - the options of the verb
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
    """Return the configs that meet a budget, those closest to the proportions of `config` first.

    Without ``free``, width, depth and feed-forward width are searched, and the heads are derived. Configs
    within ``tolerance`` percent of the budget (default: 1, or 0 with ``free`` and ``ratio``, or one free
    field) come first, ranked by how close their proportions are to those of ``config``. Others are ranked
    by size. The search is exhaustive: see docs/how-to/find-a-config.md.

    Errors: :class:`SweepError` if there is no solution; it names the constraint that prevents one.

    >>> import archspec
    >>> best = archspec.solve("LlamaForCausalLM", params="7b", top=1)
    >>> best[0].values["hidden_size"], best[0].values["num_hidden_layers"], best[0].params
    (4096, 32, 6939742208)
    """
    budgets = {name: value for name, value in locals().items() if name in BUDGET_OPTIONS}
    library = library_of(specs)
    source, architecture = source_of(config, architecture, library)
    listed = free.split(",") if isinstance(free, str) else free or ()
    names = [name.strip() for name in listed if name.strip()]
    request = Request(read_config(source), architecture, axes_of(set), dict(tie or {}), dtype, {}, library)
    plan = plan_of(budgets, request.scope)
    request = request._replace(lengths=plan.lengths)
    _check_budgets(request, plan)
    if not 1 <= top <= 1_000:
        raise SweepError(f"{option('top')} must be from 1 to 1,000, not {top}", help="pass 1 to 1,000")
    limit = _parse_percent("within", within, None if names else ASTRAY)
    prefers_nearest = bool(names) and (bool(ratio) or len(names) == 1)
    near = _parse_percent("tolerance", tolerance, None if prefers_nearest else TOLERANCE) or Fraction(0)
    near = min(near, near if limit is None else limit)
    given = (ratio or {}).items()
    conditions = {f"{text} in {span}": ratio_condition(text, span, request.scope) for text, span in given}
    conditions |= {text: text for text in ([where] if isinstance(where, str) else where or ())}
    return _Solver(request, plan, names, multiple or {}, conditions, bool(near)).solutions(near, limit, top)


def _check_budgets(request: Request, plan: Plan) -> None:
    """Raise :class:`ArchspecError` for budgets of costs or bytes that a config does not have."""
    if request.dtype is None and plan.has("bytes", MEMORY):
        check_unquantized(request.config, "solve")
    if not plan.has(TRAINING, MEMORY):
        return
    scope, chosen = request.scope, choose(request.config, request.architecture, request.library)
    check_supported(scope, chosen.architecture)
    if cost_facts(scope, chosen.architecture, Call(1, 1).replace(dict(request.lengths))).encodes:
        names = f"{option('memory')} and {option('flops')}"
        message = f"{names} are not supported for encoder-decoders such as {chosen.architecture}"
        raise SweepError(message, help=f"pass {option('params')} or {option('bytes')}")


def _parse_percent(name: str, given: float | None, default: Fraction | None) -> Fraction | None:
    if given is None:
        return default
    if not 0 <= given <= MOST_PERCENT:
        value = f"{given:g}" if isinstance(given, float) else describe_value(given)
        message = f"--{name} must be a percentage from 0 to {MOST_PERCENT:,}, not {value}"
        raise SweepError(message, help=f"pass --{name} 1 for 1% of the budget")
    return Fraction(str(given)) / 100


class _Solver:
    """A search for configs that meet a plan under conditions, which have names for messages."""

    def __init__(
        self,
        request: Request,
        plan: Plan,
        names: list[str],
        multiple: Mapping[str, int],
        conditions: Mapping[str, str],
        by_shape: bool,
    ) -> None:
        self.asked, self.plan, self.names, self.conditions = request, plan, names, conditions
        self.planned = Planned(request.config, {}, dict(request.ties), ())
        if not names:
            by_name = {goal.quantity: goal for goal in plan.goals}
            goal = by_name.get("active_params", plan.goals[0])
            self.planned = plan_around(request, goal, {"params", "active_params"} <= by_name.keys())
        self.request = request._replace(config=self.planned.config, ties=self.planned.ties)
        self.free = names or [*self.planned.values]
        self.parts = parts_of(self.request.scope)
        given = {name: axis(name, values) for name, values in self.planned.values.items()}
        given |= {one.name: one for one in request.given}
        steps = usual_steps(self.parts) if by_shape else {}
        self.axes, usual = grid_of(self.request, [*given.values()], self.free, multiple, steps)
        self.shape = shape_of(self.parts, self.axes, usual, self.planned.ties)
        self.subject = self._subject(plan.goals, conditions)

    def _subject(self, goals: Sequence[Goal], conditions: Mapping[str, str]) -> Subject:
        """Return the grid with the goals' quantities as columns."""
        columns = {f"goal {rank}": goal.quantity for rank, goal in enumerate(goals)}
        return self.request.subject(self.axes, columns, conditions)

    def _search_nearest(self, goals: Sequence[Goal], where: Mapping[str, str], most: int = 1) -> Searched:
        ranking = Ranking(goals, most, self.shape, False, self.planned.distinct)
        return search(self._subject(goals, where), ranking)

    def solutions(self, near: Fraction, limit: Fraction | None, top: int) -> Solutions:
        """Return the best configs: by shape if they miss the goals by at most ``near``, else the nearest.

        Errors: :class:`SweepError` if the nearest is beyond a limit.
        """
        goals, found = self.plan.goals, list[Found]()
        if near:
            banded = [goal.with_tolerance(near) for goal in goals]
            found = search(self.subject, Ranking(banded, top, self.shape, True, self.planned.distinct)).found
        by_shape = bool(found)
        found = found or self._search_nearest(goals, self.conditions, top).found
        diagnosis = Diagnosis(self._search_nearest, self.axes, self.plan, self.conditions)
        if not found:
            raise SweepError(diagnosis.nothing_found())
        if limit is not None and found[0].miss > limit:
            raise SweepError(diagnosis.too_far(found[0], float(limit)))
        listed = [self._solution(one) for one in found if limit is None or one.miss <= limit]
        notes = [*self._notes(found[0], by_shape)]
        if near and not by_shape:
            notes.append(f"no config is within {float(100 * near):g}% of the budget; these are the nearest")
        if found[0].miss > FAR:
            notes += diagnosis.obstacles(found[0])
        ranking = ""
        if by_shape and (proportions := " and ".join(self.shape.texts)):
            has_target = any(goal.target is not None for goal in goals)
            within = f"{float(100 * near):g}% of the budget" if has_target else "the budget's bounds"
            ranking = f"ranked by closeness to {proportions}, among configs within {within}"
        # the sizes that differ between configs: those with a budget, and all parameters
        sizes = {"params", *(goal.quantity for goal in goals)}
        sizes |= {"active_params" for one in listed if one.active_params != one.params}
        return Solutions(listed, ranking, self.plan.optimum, [one for one in BUDGETS if one in sizes], notes)

    def _notes(self, best: Found, by_shape: bool) -> Iterator[str]:
        plan, subject = self.plan, self.subject
        yield from self.planned.notes
        if self.asked.dtype is None and plan.has("bytes", MEMORY):
            yield from filter(None, [assumed_note(self.asked.config)])
        fields = [*(one.name for one in self.axes), *subject.ties]
        yield from idle_fields(subject.spec, fields, subject.config).values()
        if by_shape and not self.asked.config.raw.keys() - {"model_type"}:
            yield _DEFAULTS
        if plan.has(TRAINING, MEMORY):
            yield f"costs are for a forward pass with {lengths_text(plan.lengths)}"
        if plan.flops:
            yield from notes_of(self._model(best).forward(**plan.lengths))

    def _model(self, found: Found) -> Model:
        subject = self.subject
        return load(subject.config, subject.architecture, subject.with_ties(found.values), subject.library)

    def _solution(self, found: Found) -> Solution:
        settled, dtype, model = self.subject.with_ties(found.values), self.subject.dtype, self._model(found)
        for goal, size in zip(self.plan.goals, found.sizes, strict=True):
            counted = exact_size(model, goal.quantity, dtype, self.plan.lengths)
            if counted != size:
                message = f"a bug of archspec: {goal.quantity} is {counted:,} at {found.values}, not {size:,}"
                raise SweepError(message)
        if (problem := next(run_problems(model.scope, model.architecture, model.root), None)) is not None:
            raise SweepError([Problem("a bug of archspec: a proposed config cannot run"), problem])
        varied = [one.name for one in self.axes if len(one.values) > 1 and one.name not in self.free]
        chosen = [*self.free, *(name for name in self.planned.ties if name not in self.asked.ties)]
        if not self.names:  # in the usual order: width, depth, heads, feed-forward width
            shapes = ((p.width, *p.depths, *p.heads, *p.key_value_heads, *p.feed_forward) for p in self.parts)
            places = [name for shape in shapes for name in shape]
            chosen.sort(key=lambda name: places.index(name) if name in places else len(places))
        sizes = (model.params, model.active_params, model.non_embedding_params, model.params_bytes(dtype))
        config = complete(model, dtype_name(dtype) if dtype else None)
        values = {name: settled[name] for name in [*varied, *chosen]}
        return Solution(values, *sizes, found.miss, config, self.plan.costs(model, dtype), None)
