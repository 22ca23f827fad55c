"""`archspec.solve`: the configs that come nearest a budget."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, Unpack

from archspec.configs.choice import source_of
from archspec.configs.reader import read_config
from archspec.errors import Problem, SweepError
from archspec.models.model import load
from archspec.solving.best import Found
from archspec.solving.budgets import Budgets, Plan, exact, goals_of, planned
from archspec.solving.completion import complete
from archspec.solving.diagnosis import Obstacles
from archspec.solving.free_fields import free_grid
from archspec.solving.goals import Goal, ratio_condition
from archspec.solving.search import Searched, search
from archspec.specs.search_path import Specs, library_of
from archspec.sweeping.files import whole_file
from archspec.sweeping.subject import Subject
from archspec.tree.counts import dtype_name

FAR = Fraction(1, 20)  # a miss that is worth a word


class Solution(NamedTuple):
    """A config that comes near the budget.

    ``values`` are the free fields, ``config`` the whole config.json; ``miss`` is the largest relative
    distance from a target, exactly; ``costs`` are those that a plan has a budget of.
    """

    values: dict[str, int]
    params: int
    active_params: int
    bytes: int
    miss: Fraction
    config: dict[str, Any]
    costs: dict[str, int] = {}  # noqa: RUF012  # never changed

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
    """Solutions, the nearest first; :attr:`notes` says what keeps a far one from coming nearer."""

    def __init__(self, found: Iterable[Solution], explain: Callable[[], list[Problem]]) -> None:
        super().__init__(found)
        self._explain = explain

    @cached_property
    def notes(self) -> list[str]:
        if not self or self[0].miss <= FAR:
            return []
        return [problem.message for problem in self._explain()]


def solve(
    config: Any,
    free: str | Sequence[str],
    *,
    dtype: str | None = None,
    set: Mapping[str, Any] | Sequence[str] = (),
    multiple: Mapping[str, int] | None = None,
    ratio: Mapping[str, Any] | None = None,
    tie: Mapping[str, str] | None = None,
    where: str | Sequence[str] = (),
    within: float | None = None,
    top: int = 10,
    architecture: str | None = None,
    specs: Specs = (),
    **budgets: Unpack[Budgets],
) -> Solutions:
    """The configs that come nearest a budget, the nearest first.

    ``free`` are the fields to choose, each between a sixteenth of its value in the config and sixteen times
    that, unless ``set`` says otherwise, in steps of ``multiple``. ``params`` and ``active_params`` are
    sizes to come near (``"7e9"``, ``"1.3B"``) or ranges to keep (``"6e9..7e9"``); ``bytes`` (at ``dtype``,
    else the config's own) is not exceeded, and come near where no other size is; other budgets are those of
    :class:`archspec.solving.budgets.Plan`. ``ratio`` keeps quotients of fields within ranges, ``where`` any
    condition, ``tie`` makes fields follow others, ``set`` sets those that are not free; ``within`` is in per
    cent. Of several sizes the largest relative miss counts; of equally near ones the usual shape is first.

    The sizes are exact, and so is the search: no config that was not found comes nearer.

    Errors: :class:`SweepError` when there is no solution; it says which constraint stands in the way.

    >>> import archspec
    >>> best = archspec.solve("LlamaForCausalLM", ["hidden_size", "num_hidden_layers"], params="7e9",
    ...     top=1, multiple={"hidden_size": 128}, ratio={"hidden_size/num_hidden_layers": "100..140"},
    ...     tie={"intermediate_size": "8 * hidden_size // 3"})
    >>> best[0].values, best[0].params
    ({'hidden_size': 3840, 'num_hidden_layers': 38}, 6970049280)
    """
    (plan, sizes), names, conditions = planned(budgets), _names(free), _conditions(ratio or {}, where)
    goals, limit = goals_of(sizes, plan), _limit(top, within)
    library = library_of(specs)
    source, architecture = source_of(config, architecture, library)
    raw = read_config(source)
    axes, usual = free_grid(raw, architecture, set, names, multiple or {}, library)

    def subject(wanted: Sequence[Goal], under: Mapping[str, str]) -> Subject:
        columns = {f"goal {number}": goal.quantity for number, goal in enumerate(wanted)}
        return Subject(raw, axes, architecture, tie or {}, columns, under, dtype, plan.lengths, library)

    def searched(wanted: Sequence[Goal], under: Mapping[str, str], at_most: int) -> Searched:
        return search(subject(wanted, under), wanted, at_most, usual)

    found, _ = searched(goals, conditions, top)
    obstacles = Obstacles(searched, axes, goals, conditions)
    if not found:
        raise SweepError(obstacles.none())
    if found[0].miss > limit:
        raise SweepError(obstacles.far(found[0], float(limit)))
    whole = subject(goals, conditions)
    listed = [_solution(whole, names, one, plan) for one in found if one.miss <= limit]
    return Solutions(listed, lambda: obstacles.nearer(found[0]))


def _names(free: str | Sequence[str]) -> list[str]:
    listed = free.split(",") if isinstance(free, str) else free
    names = [name.strip() for name in listed if name.strip()]
    if not names:
        help_ = "name those to choose: --free hidden_size,num_hidden_layers"
        raise SweepError("no field is free", help=help_)
    return names


def _conditions(ratio: Mapping[str, Any], where: str | Sequence[str]) -> dict[str, str]:
    """The conditions on fields, by what they are called in messages."""
    ratios = {f"{text} in {given}": ratio_condition(text, given) for text, given in ratio.items()}
    return ratios | {text: text for text in ([where] if isinstance(where, str) else where)}


def _limit(top: int, within: float | None) -> Fraction | float:
    """The miss that a solution may have."""
    if not 1 <= top <= 1_000:
        raise SweepError(f"{top} solutions are not listed", help="ask for 1 to 1,000")
    if within is None:
        return math.inf
    if not 0 <= within < math.inf:
        message = f"within {within:g} % of the budget is nothing"
        raise SweepError(message, help="give a percentage from 0")
    return Fraction(str(within)) / 100


def _solution(subject: Subject, free: Sequence[str], found: Found, plan: Plan) -> Solution:
    settings, dtype = subject.settled(found.values), subject.dtype
    model = load(subject.config, subject.architecture, settings, subject.library)
    for one, size in zip(subject.columns.values(), found.sizes, strict=True):
        counted = exact(model, one.text, dtype, plan.lengths)
        if counted != size:
            message = f"a bug of archspec: {one.text} is {counted:,} at {found.values}, and not {size:,}"
            raise SweepError(message)
    varied = [one.name for one in subject.axes if len(one.values) > 1 and one.name not in free]
    values = {name: found.values[name] for name in [*varied, *free]}
    written = complete(model, dtype_name(dtype) if dtype else None)
    size, costs = model.params_bytes(dtype), plan.costs(model, dtype)
    return Solution(values, model.params, model.active_params, size, found.miss, written, costs)
