"""The config that a search starts from, and the grid of candidates around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from archspec.arguments import describe_value
from archspec.configs.choice import choose
from archspec.configs.origin import RawConfig
from archspec.configs.overrides import check_overrides, idle_fields, owner
from archspec.configs.reader import read_config
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, ConfigError, SweepError, option
from archspec.language.values import describe
from archspec.models.model import load
from archspec.solving.budgets import MAX_BUDGET, exact_size
from archspec.specs.library import Library
from archspec.sweeping.axes import MAX_VALUE, Axis, axes_of
from archspec.sweeping.subject import Subject
from archspec.tree.runnable import run_problems

REACH = 16  # the default range of a free field: its value in the config divided by this, to that times this


class Request(NamedTuple):
    """A config to resize, with the values and ties of fields that the user gives."""

    config: RawConfig
    architecture: str | None
    given: tuple[Axis, ...]
    ties: Mapping[str, str]
    dtype: str | None
    lengths: Mapping[str, Any]
    library: Library

    @property
    def scope(self) -> Scope:
        """The config as its spec reads it."""
        chosen = choose(self.config, self.architecture, self.library)
        return Scope(self.library.load(chosen.model_type), chosen.config.raw, chosen.config.origin)

    @property
    def fixed_values(self) -> dict[str, Any]:
        """The fields that are given one value."""
        return {one.name: one.values[0] for one in self.given if len(one.values) == 1}

    def subject(
        self,
        axes: Sequence[Axis],
        columns: Mapping[str, str] | None = None,
        where: Mapping[str, str] | None = None,
    ) -> Subject:
        """Return the grid of configs with fields at the values of axes."""
        options = self.ties, columns, where, self.dtype, self.lengths, self.library
        found = Subject(self.config, axes, self.architecture, *options)
        found.runs, found.costs = True, found.costs._replace(needs_cache=False)  # encoders have memory, too
        return found

    def size(self, quantity: str) -> Callable[[Mapping[str, int]], int | None]:
        """Return a function from field values to a quantity; the quantity is None for an invalid config."""
        subject = self.subject(axes_of({name: [value] for name, value in self.fixed_values.items()}))

        def size(values: Mapping[str, int]) -> int | None:
            try:
                settings = subject.with_ties({**self.fixed_values, **values})
                model = load(subject.config, subject.architecture, settings, subject.library)
                if next(run_problems(model.scope, model.architecture, model.root), None) is not None:
                    return None
                return exact_size(model, quantity, self.dtype, self.lengths)
            except ArchspecError:
                return None

        return size


class Grid(NamedTuple):
    """The axes of a search, and the value of each field that shapes are compared with."""

    axes: Sequence[Axis]
    usual: dict[str, int]


def grid_of(
    request: Request,
    given: Sequence[Axis],
    free: Sequence[str],
    multiple: Mapping[str, int],
    usual_steps: Mapping[str, int],
) -> Grid:
    """Return the grid over free fields in steps of ``multiple``; ``given`` are values of any field.

    A field without values and without a multiple takes its usual step.

    Errors: :class:`SweepError` for a field that is listed twice or has no values.
    """
    if twice := next((name for name in free if list(free).count(name) > 1), None):
        raise SweepError(f"{option('free')}: {twice} is listed twice", help="list each field once")
    if other := next((name for name in multiple if name not in free), None):
        help_ = f"add {other} to {option('free')}, or choose from: {', '.join(free)}"
        raise SweepError(f"{option('multiple')}: {other} is not in {option('free')}", help=help_)
    rising = dict[str, Axis]()
    for one in given:
        falls = isinstance(one.values, range) and one.values.step < 0
        rising[one.name] = one._replace(values=one.values[::-1]) if falls else one
    fixed = {one.name: one.values[0] for one in given if len(one.values) == 1}
    request = request._replace(config=read_config(request.config, fixed))
    axes: dict[str, Sequence[Any]] = {name: one.values for name, one in rising.items()}
    usual: dict[str, int] = {}
    for name in free:
        own_axis = rising.get(name)
        step = multiple.get(name, 1 if own_axis else usual_steps.get(name, 1))
        if type(step) is not int or not 0 < step <= MAX_VALUE:
            message = f"{option('multiple')} {name}: {describe_value(step)} is not a positive 64-bit integer"
            raise SweepError(message, help=f"pass e.g. {option('multiple', {name: 128})}")
        own = _config_value(request, name)
        if own_axis is None or own_axis.numeric or step > 1:
            axes[name] = values = _values(name, own_axis, own, step)
            usual[name] = own if _is_size(own) else int(values[len(values) // 2])
    listed = axes_of(axes, MAX_BUDGET)
    for one in listed:
        usual.setdefault(one.name, int(one.values[0]) or 1 if one.numeric else 1)
    return Grid(listed, usual)


def free_help(model_type: str) -> str:
    """Return the help line of an error that fields named by the user would solve."""
    listed = f"archspec sensitivity {model_type}"
    return f"pass the fields to vary with {option('free')}; run {listed} to see those that affect counts"


def _values(name: str, given: Axis | None, own: Any, step: int) -> Sequence[int]:
    """Return the multiples of a step among the given values, else near the config's own value."""
    values: Sequence[int]
    if given is not None and isinstance(span := given.values, range):
        values = _multiples(span[max(0, -((span.start - 1) // span.step)) :], step)  # of the positive ones
    elif given is not None:
        values = [value for value in given.values if _is_size(value) and value % step == 0]
    elif _is_size(own):
        values = _multiples(range(max(1, -(-own // REACH)), own * REACH + 1), step)
    else:
        message = f"{name} is {describe(own)} in the config, so its range is unknown"
        example = "true,false" if isinstance(own, bool) else "first:last"
        raise SweepError(message, help=f"pass its values: {option('set', {name: example})}")
    if not len(values):
        message = f"{name} has no value that is a multiple of {step}"
        wider = option("set", {name: "FIRST:LAST"})
        raise SweepError(message, help=f"choose a smaller multiple, or widen the range with {wider}")
    return values


def _multiples(span: range, step: int) -> range:
    """Return the multiples of a step in a rising range.

    >>> _multiples(range(64, 400, 96), 128), _multiples(range(1, 9, 2), 2)
    (range(256, 400, 384), range(0, 0))
    """
    first = next((value for value in span[:step] if value % step == 0), None)
    return range(0) if first is None else range(first, span.stop, math.lcm(step, span.step))


def _is_size(value: Any) -> bool:
    return type(value) is int and value > 0


def _config_value(request: Request, name: str) -> Any:
    scope = request.scope
    config = RawConfig(scope.raw, scope.origin)
    try:
        check_overrides(scope.spec, {name: 1}, config)
    except ConfigError as error:
        first = error.problems[0]
        message = f"{name} is not a number" if scope.has(name) else first.message.removeprefix(f"{name}: ")
        help_ = f"leave out {name}" if scope.has(name) else first.help
        raise SweepError(f"{option('free')}: {message}", help=help_) from None
    if idle := idle_fields(scope.spec, [name], config):
        help_ = f"list only fields that affect the counts in {option('free')}"
        raise SweepError(f"{idle[name]}, so it cannot be in {option('free')}", help=help_)
    scope, leaf = owner(scope, name)
    if not scope.has(leaf):  # a field of every config, such as dtype
        raise SweepError(f"{option('free')}: {name} is not a size", help=f"leave out {name}")
    return scope.get(leaf)
