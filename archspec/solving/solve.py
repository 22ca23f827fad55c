"""`archspec.solve`: the configs that come nearest a budget."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from archspec.configs.choice import choose
from archspec.configs.overrides import check_overrides
from archspec.configs.reader import read_config
from archspec.configs.scope import Scope
from archspec.errors import Problem, SweepError
from archspec.language.expression import describe
from archspec.models.model import load, source_of
from archspec.solving.completion import complete
from archspec.solving.diagnosis import Obstacles
from archspec.solving.goals import MAX_BUDGET, Goal, goal, ratio_condition
from archspec.solving.search import Found, Search
from archspec.specs.library import shipped
from archspec.sweeping.axes import Axis, axes_of, axis
from archspec.sweeping.files import whole_file
from archspec.sweeping.subject import Subject

_LONG: dict[str | None, str] = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64"}
FAR = Fraction(1, 20)  # a miss that is worth a word
REACH = 16  # a free field is looked for between its value in the config over this, and its value times this


class Solution(NamedTuple):
    """A config that comes near the budget.

    ``values`` are the free fields, ``config`` the whole config.json; ``miss`` is the largest relative distance from
    a target, exactly.
    """

    values: dict[str, int]
    params: int
    active_params: int
    bytes: int
    miss: Fraction
    config: dict[str, Any]

    def save(self, folder: str) -> str:
        """Writes the config.json into a folder, which is made where it is missing; gives its path."""
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise SweepError(f"{folder}: {error.strerror or error}") from None
        path = os.path.join(folder, "config.json")
        with whole_file(path) as partial, open(partial, "w", encoding="utf-8") as file:
            json.dump(self.config, file, indent=2, ensure_ascii=False)
            file.write("\n")
        return path


class Solutions(list[Solution]):
    """Solutions, the nearest first; :attr:`notes` says what keeps the nearest from coming nearer, where it is far off."""

    def __init__(self, found: Iterable[Solution], explain: Callable[[], list[Problem]]) -> None:
        super().__init__(found)
        self._explain = explain

    @cached_property
    def notes(self) -> list[str]:
        if not self or self[0].miss <= FAR:
            return []
        return [problem.message for problem in self._explain()]


class _Task:
    """A budget as a search: the grid of the free fields, the constraints by name, and the goals."""

    def __init__(
        self,
        source: Any,
        architecture: str | None,
        fields: Any,
        free: Sequence[str],
        multiple: Mapping[str, int],
        ties: Mapping[str, str],
        dtype: str | None,
    ) -> None:
        source, self.architecture = source_of(source, architecture)
        self.config = read_config(source)
        self.ties, self.dtype = ties, dtype
        if twice := next((name for name in free if list(free).count(name) > 1), None):
            raise SweepError(Problem(f"{twice} is free twice", help="name each field once"))
        given = {one.name: one for one in axes_of(fields)}
        fixed = {one.name: one.values[0] for one in given.values() if len(one.values) == 1}
        self.usual: dict[str, int] = {}
        axes: dict[str, Axis] = dict(given)
        for name in free:
            axes[name] = self.domain(name, given.get(name), fixed, multiple.get(name, 1))
        for name in multiple:
            if name not in free:
                raise SweepError(
                    Problem(
                        f"--multiple {name}: {name} is not free",
                        help=f"add it to the free fields: {', '.join(free)}",
                    )
                )
        self.axes = axes_of({name: one.values for name, one in axes.items()}, MAX_BUDGET)
        for one in self.axes:
            self.usual.setdefault(one.name, int(one.values[0]) or 1 if one.numeric else 1)

    def domain(self, name: str, given: Axis | None, fixed: Mapping[str, Any], multiple: int) -> Axis:
        """The values that a free field may take, as steps of `multiple`."""
        if type(multiple) is not int or multiple < 1:
            raise SweepError(
                Problem(
                    f"--multiple {name}={multiple} is no positive whole number",
                    help="write --multiple hidden_size=128",
                )
            )
        own = self.own(name, fixed)
        known = type(own) is int and own > 0
        values: Sequence[Any]
        if given is not None and not given.numeric and multiple == 1:
            return given
        if given is not None and isinstance(span := given.values, range) and span.start > 0:
            first = next((value for value in span[:multiple] if value % multiple == 0), None)
            values = range(first, span[-1] + 1, math.lcm(multiple, span.step)) if first is not None else []
        elif given is not None:
            values = [
                value for value in given.values if type(value) is int and value > 0 and value % multiple == 0
            ]
        elif known:
            low = max(1, -(-own // REACH))
            values = range(-(-low // multiple) * multiple, own * REACH + 1, multiple)
        else:
            message = f"{name} is {describe(own)} in the config, which says nothing on how large it may be"
            given_as = "true,false" if isinstance(own, bool) else "first:last"
            raise SweepError(Problem(message, help=f"give its values: --set {name}={given_as}"))
        if not len(values):
            raise SweepError(
                Problem(
                    f"{name} has no value that is a multiple of {multiple}",
                    help="give it a larger range, or a smaller step",
                )
            )
        self.usual[name] = own if known else int(values[len(values) // 2])
        return axis(name, values)

    def own(self, name: str, fixed: Mapping[str, Any]) -> Any:
        config = read_config(self.config, fixed)
        model_type, _ = choose(config, self.architecture)
        spec = shipped().load(model_type)
        check_overrides(spec, {name: 1}, config)
        scope: Any = Scope(spec, config.raw, config.origin)
        *outer, leaf = name.split(".")
        for part in outer:
            scope = scope.get(part).scope
        return scope.get(leaf)

    def search(self, goals: Sequence[Goal], conditions: Mapping[str, str], most: int) -> Search:
        columns = {f"goal {number}": goal.quantity for number, goal in enumerate(goals)}
        subject = Subject(
            self.config, self.axes, self.architecture, self.ties, columns, conditions, self.dtype
        )
        return Search(subject, goals, most, self.usual)


def solve(
    config: Any,
    free: str | Sequence[str],
    *,
    params: str | float | None = None,
    active_params: str | float | None = None,
    bytes: str | float | None = None,
    dtype: str | None = None,
    fields: Mapping[str, Any] | Sequence[str] = (),
    multiple: Mapping[str, int] | None = None,
    ratio: Mapping[str, Any] | None = None,
    tie: Mapping[str, str] | None = None,
    where: str | Sequence[str] = (),
    within: float | None = None,
    most: int = 10,
    architecture: str | None = None,
) -> Solutions:
    """The configs that come nearest a budget, the nearest first.

    ``free`` are the fields to choose, each between a sixteenth of its value in the config and sixteen times that, unless
    ``fields`` says otherwise, in steps of ``multiple``. ``params`` and ``active_params`` are sizes to come near
    (``"7e9"``, ``"1.3B"``) or ranges to keep (``"6e9..7e9"``); ``bytes`` (at ``dtype``, else the config's own) is not
    exceeded, and come near where no other size is. ``ratio`` keeps quotients of fields within ranges, ``where`` any
    condition, ``tie`` makes fields follow others, ``fields`` sets fields that are not free. With several sizes the
    largest relative miss counts; what is equally near is ranked by how little the shape differs from the config's.

    The sizes are exact, and so is the search: no config that was not found comes nearer. A field that enters the size
    as a polynomial is solved for where the grid is too large to look at each point.

    Errors: :class:`SweepError` when there is no solution; it says which constraint stands in the way.

    >>> import archspec
    >>> best = archspec.solve("LlamaForCausalLM", ["hidden_size", "num_hidden_layers"], params="7e9", most=1,
    ...                       multiple={"hidden_size": 128}, ratio={"hidden_size/num_hidden_layers": "100..140"},
    ...                       tie={"intermediate_size": "8 * hidden_size // 3"})
    >>> best[0].values, best[0].params
    ({'hidden_size': 3840, 'num_hidden_layers': 38}, 6970049280)
    """
    asked = {"params": params, "active_params": active_params, "bytes": bytes}
    goals = [goal(quantity, text) for quantity, text in asked.items() if text is not None]
    if not goals:
        raise SweepError(Problem("no budget is given", help="give params, active_params or bytes"))
    if any(
        one.target is not None for one in goals if one.quantity != "bytes"
    ):  # then bytes are only what there is room for
        goals = [one._replace(target=None) if one.quantity == "bytes" else one for one in goals]
    names = (
        [name.strip() for name in free.split(",") if name.strip()] if isinstance(free, str) else list(free)
    )
    if not names:
        raise SweepError(
            Problem("no field is free", help="name those to choose: --free hidden_size,num_hidden_layers")
        )
    if not 1 <= most <= 1_000:
        raise SweepError(Problem(f"{most} solutions are not listed", help="ask for 1 to 1,000"))
    if within is not None and not 0 <= within < math.inf:
        raise SweepError(
            Problem(f"within {100 * within:g} % of the budget is nothing", help="give a percentage from 0")
        )
    task = _Task(config, architecture, fields, names, multiple or {}, tie or {}, dtype)
    conditions = {f"{text} in {given}": ratio_condition(text, given) for text, given in (ratio or {}).items()}
    conditions |= {text: text for text in ([where] if isinstance(where, str) else where)}
    obstacles = Obstacles(task.search, task.axes, goals, conditions)
    search = task.search(goals, conditions, most)
    found = search.run()
    if not found:
        raise SweepError(obstacles.none())
    if within is not None and found[0].miss > Fraction(str(within)):
        raise SweepError(obstacles.far(found[0], within))
    near = [one for one in found if within is None or one.miss <= Fraction(str(within))]
    listed = [_solution(search.subject, names, one, dtype) for one in near]
    return Solutions(listed, lambda: obstacles.nearer(found[0]))


def _solution(subject: Subject, free: Sequence[str], found: Found, dtype: str | None) -> Solution:
    model = load(subject.config, subject.architecture, subject.settled(found.values))
    for one, size in zip(subject.columns.values(), found.sizes, strict=True):
        exact = model.params_bytes(dtype) if one.text == "bytes" else getattr(model, one.text)
        if exact != size:
            raise SweepError(
                f"a bug of archspec: {one.text} is {exact:,} at {found.values}, and not {size:,}"
            )
    chosen = [one.name for one in subject.axes if len(one.values) > 1 or one.name in free]
    values = {name: found.values[name] for name in [*(name for name in chosen if name not in free), *free]}
    written = complete(model, _LONG.get(dtype, dtype) if dtype else None)
    return Solution(values, model.params, model.active_params, model.params_bytes(dtype), found.miss, written)
