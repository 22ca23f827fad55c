"""The grid that a search for a budget goes over: the values of its free fields, and of those given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from archspec.arguments import described
from archspec.configs.choice import choose
from archspec.configs.origin import RawConfig
from archspec.configs.overrides import check_overrides, idle_fields, owner
from archspec.configs.reader import read_config
from archspec.configs.scope import Scope
from archspec.errors import SweepError
from archspec.language.values import describe
from archspec.solving.goals import MAX_BUDGET
from archspec.specs.library import Library
from archspec.sweeping.axes import MAX_VALUE, Axis, axes_of

REACH = 16  # a free field is looked for between its value in the config over this, and its value times this


class Grid(NamedTuple):
    """The axes of a search, and the value of each field from which the shape of a config is measured."""

    axes: Sequence[Axis]
    usual: dict[str, int]


def free_grid(
    config: RawConfig,
    architecture: str | None,
    given: Sequence[Axis],
    free: Sequence[str],
    multiple: Mapping[str, int],
    usual_steps: Mapping[str, int],
    library: Library,
) -> Grid:
    """The grid of some free fields, in steps of ``multiple``; ``given`` are values of these and of others.

    A field without values and without a multiple takes its usual step.

    Errors: :class:`SweepError` for a field that is free twice or has no values.
    """
    if twice := next((name for name in free if list(free).count(name) > 1), None):
        raise SweepError(f"{twice} is free twice", help="name each field once")
    rising = {one.name: _rising(one) for one in given}
    config = read_config(config, {one.name: one.values[0] for one in given if len(one.values) == 1})
    axes: dict[str, Sequence[Any]] = {name: one.values for name, one in rising.items()}
    usual: dict[str, int] = {}
    for name in free:
        one = rising.get(name)
        step = multiple.get(name, 1 if one else usual_steps.get(name, 1))
        if type(step) is not int or not 0 < step <= MAX_VALUE:
            message = f"--multiple {name}: {described(step)} is not a positive whole number of 64 bits"
            raise SweepError(message, help="write --multiple hidden_size=128")
        own = _own(config, architecture, name, library)
        if one is None or one.numeric or step > 1:
            axes[name] = values = _values(name, one, own, step)
            usual[name] = own if _is_size(own) else int(values[len(values) // 2])
    for name in multiple:
        if name not in free:
            help_ = f"add it to the free fields: {', '.join(free)}"
            raise SweepError(f"--multiple {name}: {name} is not free", help=help_)
    listed = axes_of(axes, MAX_BUDGET)
    for one in listed:
        usual.setdefault(one.name, int(one.values[0]) or 1 if one.numeric else 1)
    return Grid(listed, usual)


def _rising(one: Axis) -> Axis:
    """An axis whose range rises, as sizes do along it."""
    falls = isinstance(one.values, range) and one.values.step < 0
    return one._replace(values=one.values[::-1]) if falls else one


def _values(name: str, given: Axis | None, own: Any, step: int) -> Sequence[int]:
    """The multiples of a step among the values that are given, else those near the config's own value."""
    values: Sequence[int]
    if given is not None and isinstance(span := given.values, range):
        values = _multiples(span[max(0, -((span.start - 1) // span.step)) :], step)  # of the positive ones
    elif given is not None:
        values = [value for value in given.values if _is_size(value) and value % step == 0]
    elif _is_size(own):
        low = max(1, -(-own // REACH))
        values = range(-(-low // step) * step, own * REACH + 1, step)
    else:
        message = f"{name} is {describe(own)} in the config, which says nothing on how large it may be"
        example = "true,false" if isinstance(own, bool) else "first:last"
        raise SweepError(message, help=f"give its values: --set {name}={example}")
    if not len(values):
        message = f"{name} has no value that is a multiple of {step}"
        raise SweepError(message, help="give it a larger range, or a smaller step")
    return values


def _multiples(span: range, step: int) -> range:
    """The multiples of a step in a rising range.

    >>> _multiples(range(64, 400, 96), 128), _multiples(range(1, 9, 2), 2)
    (range(256, 400, 384), range(0, 0))
    """
    both = math.gcd(span.step, step)
    if span.start % both:
        return range(0)
    turns = -span.start // both * pow(span.step // both, -1, step // both) % (step // both)
    return range(span.start + turns * span.step, span.stop, math.lcm(step, span.step))


def _is_size(value: Any) -> bool:
    return type(value) is int and value > 0


def scope_of(config: RawConfig, architecture: str | None, library: Library) -> Scope:
    """A config as its spec sees it."""
    chosen = choose(config, architecture, library)
    return Scope(library.load(chosen.model_type), chosen.config.raw, chosen.config.origin)


def _own(config: RawConfig, architecture: str | None, name: str, library: Library) -> Any:
    """The value that a config has for a field."""
    chosen = choose(config, architecture, library)
    spec = library.load(chosen.model_type)
    check_overrides(spec, {name: 1}, chosen.config)
    if idle := idle_fields(spec, [name], chosen.config):
        raise SweepError(f"{idle[name]}: nothing is solved for it", help="free a field that counts depend on")
    scope, leaf = owner(scope_of(config, architecture, library), name)
    if not scope.has(leaf):  # a field of every config, as dtype is
        raise SweepError(f"{name} is no size that is chosen", help="leave it out of --free")
    return scope.get(leaf)
