"""The fields that a search chooses if the user names none: width, depth and feed-forward width.

Heads and other widths follow. The config is first scaled to the budget at its own proportions; the grid is
the neighborhood of that config.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import lcm
from typing import NamedTuple

from archspec.configs.origin import RawConfig
from archspec.configs.reader import read_config
from archspec.configs.scope import Scope
from archspec.errors import SweepError
from archspec.render.notation import roles
from archspec.solving.budgets import Goal
from archspec.solving.candidates import Request, free_help
from archspec.solving.shape import Part, linked_widths, parts_of, usual_step

_HEAD_WIDTH = 32  # head widths are multiples of this if the number of heads is given
_POWERS = (128, 64, 32, 16, 8, 4, 2)
# The range of each field, relative to the scaled config.
WIDTHS, DEPTHS, FEED_FORWARDS = (0.62, 1.6), (0.4, 2.5), (0.5, 2.2)
FEW = 4  # fewer key-value heads keep their number in larger configs
STEPS = 64  # sizes of the scaled config have at most so many steps: larger sizes take rounder numbers
LARGEST, MOST = 1 << 17, 1 << 10  # the largest width of the scaled config; its steps if the width is given


class Planned(NamedTuple):
    """A config, the values of the fields to choose, and the fields that follow them.

    No two results should have the same values of the ``distinct`` fields.
    """

    config: RawConfig
    values: dict[str, Sequence[int]]
    ties: dict[str, str]
    distinct: tuple[str, ...]
    notes: tuple[str, ...] = ()


def plan_around(request: Request, goal: Goal, experts: bool) -> Planned:
    """Return the grid for a goal if the user names no fields; with ``experts`` their number is chosen, too.

    Errors: :class:`SweepError` for a config without a width and a depth that determine its size.
    """
    scope = request.scope
    parts = [part for part in parts_of(scope) if part.depths]
    weights = [_weight(part, request, goal) for part in parts]
    if not any(weights):
        raise SweepError(
            "the config has no width and depth that determine its size", help=free_help(scope.spec.model_type)
        )
    part = parts[weights.index(max(weights))]
    config, stays, notes = _without_layer_lists(request.config, part)
    request = request._replace(config=config)
    planner = _Planner(part, request, goal, linked_widths(scope, part), stays, experts)
    if not (planner.width or planner.depth or planner.free_inner):
        raise SweepError(
            "no width, depth or feed-forward width is left to vary", help=free_help(scope.spec.model_type)
        )
    return planner.plan(notes)


def _weight(part: Part, request: Request, goal: Goal) -> int:
    size = request._replace(config=_without_layer_lists(request.config, part)[0]).size(goal.quantity)
    if (own := size({})) is None:
        return part.config_value(part.width) ** 2 * part.config_value(part.depths[0])
    names = (part.depths[0], *part.feed_forward, part.width)
    larger = [size({name: 2 * part.config_value(name)}) for name in names]
    return max((one - own for one in larger if one), default=0)


def _without_layer_lists(config: RawConfig, part: Part) -> tuple[RawConfig, list[str], list[str]]:
    """Return the config without redundant per-layer lists, the fields that other lists need, and notes."""
    scope, depth = part.scope, part.config_value(part.depths[0])
    lists = [name for name, value in scope.raw.items() if isinstance(value, list) and len(value) == depth > 1]
    rest = {name: value for name, value in scope.raw.items() if name not in lists}
    other = Scope(scope.spec, rest, scope.origin)
    counted = [name for name in lists if scope.has(name)]
    if any(other.get(name) != scope.get(name) for name in counted):
        return config, [part.depths[0]], [f"{part.depths[0]} is fixed: {', '.join(counted)} lists each layer"]
    if not lists:
        return config, [], []
    inside = (config := read_config(config)).raw
    for name in part.prefix.split(".")[:-1]:
        inside = inside[name]
    for name in lists:
        inside.pop(scope.given.get(name, name), None)
    notes = [f"{name} does not affect counts and is removed" for name in lists if name not in counted]
    return config, [], notes


class _Planner:
    """Plans with the shape of one part of a config.

    ``linked`` are fields of other parts that follow its width, ``stays`` further fields not to be chosen.
    """

    def __init__(
        self, part: Part, request: Request, goal: Goal, linked: list[str], stays: list[str], experts: bool
    ) -> None:
        self.part, self.request, self.goal, self.linked = part, request, goal, linked
        self.fixed = {part.canonical(name): value for name, value in request.fixed_values.items()}
        self.given = {*self.fixed, *map(part.canonical, (*request.ties, *stays))}
        self.free_inner = [name for name in part.feed_forward if name not in self.given]
        self.width, self.depth = self._first_free([part.width]), self._first_free(part.depths[:1])
        self.experts = self._first_free(part.fields("experts")) if experts else ""
        self.inner = ""

    def _first_free(self, names: Iterable[str]) -> str:
        return next((name for name in names if name not in self.given), "")

    def plan(self, notes: Sequence[str]) -> Planned:
        """Return the grid around the config at its own proportions that reaches the target."""
        size = self.request.size(self.goal.quantity)
        doubled = {name: size({name: 2 * self.part.config_value(name)}) or 0 for name in self.free_inner}
        self.inner = max(doubled, key=lambda name: doubled[name], default="")
        request = self.request._replace(ties={**self.ties(), **self.request.ties})
        size = request.size(self.goal.quantity)
        bounds = [end for end in (self.goal.low, self.goal.high) if end is not None]
        target = self.goal.target or sum(bounds) // len(bounds)
        own, step = self.scaling_field
        most = max(1, LARGEST // step if self.width else MOST)

        def reaches(turn: int) -> bool:  # a turn without a valid config takes the size of the next one
            sizes = (size(self.scale(other)) for other in range(turn, turn + 4))
            return next((one >= target for one in sizes if one is not None), False)

        powers = (2**power for power in range((most - 1).bit_length()))  # small models are counted sooner
        high = next(filter(reaches, powers), most)
        first = bisect_left(range(most), True, high // 2 + 1, high, key=reaches)
        valid = (turn for turn in range(first, first + 4) if size(self.scale(turn)) is not None)
        scaled = self.scale(next(valid, max(1, own // step)))
        distinct = tuple(name for name in (self.width, self.depth) if name)
        return Planned(self.request.config, self.values(scaled), dict(request.ties), distinct, tuple(notes))

    @cached_property
    def groups(self) -> dict[str, int]:
        """Heads -> how many share a key-value head; a few key-value heads keep their number instead."""
        value, pairs = self.part.config_value, self.part.key_value_pairs
        sizes = [(heads, value(heads), value(shared)) for heads, shared in pairs]
        return {heads: own // shared for heads, own, shared in sizes if own % shared == 0 and shared >= FEW}

    def _head_step(self, heads: str) -> int:
        own = [self.part.config_value(one) for other, one in self.part.key_value_pairs if other == heads]
        shared = {name for name, role in roles().items() if role == "key-value heads"}
        given = [value for name, value in self.fixed.items() if name.rpartition(".")[2] in shared and value]
        return lcm(*given) if given else self.groups.get(heads) or lcm(*own)

    @cached_property
    def width_step(self) -> int:
        """A multiple of 128 or 64 that whole heads fit in, else the width's power of two.

        It is 64 without a feed-forward width to adjust. Heads with their own width need not fit.
        """
        own = self.part.config_value(self.part.width)
        free = [(name, self.part.config_value(name)) for name in self.part.heads if name not in self.given]
        widths = [own // number * self._head_step(name) for name, number in free if own % number == 0]
        widths += [_HEAD_WIDTH * self.fixed[name] for name in self.part.heads if self.fixed.get(name)]
        steps = [128, 64] if self.inner else [64]
        if not self.part.fields("head width"):
            steps += [32, 16, 8, 4, 2, 1]
        fitting = (lcm(step, *widths) for step in steps if own % step == 0)
        return next((step for step in fitting if 4 * step <= own), usual_step(own, _POWERS))

    def ties(self) -> dict[str, str]:
        """Return the fields that follow the width, the depth or the heads, in the order in which they do."""
        part, found = self.part, dict[str, str]()
        if self.width or part.width in self.fixed:
            for name in part.heads:
                fitting, own = self._fitting_heads(name), part.config_value(name)
                even = usual_step(own, (8, 4, 2)) if own > 8 else 1
                found[name] = str(fitting) if fitting else self._of_width(name, self._head_step(name), even)
            for name in part.feed_forward:
                found[name] = self._of_width(name, 1, _inner_step(part.config_value(name)))
            width, embeddings = part.config_value(part.width), part.fields("embedding width")
            embeddings = [one for one in embeddings if part.config_value(one) == width]
            found |= dict.fromkeys([*embeddings, *self.linked], part.width)
        if self.inner:
            own = part.config_value(self.inner)
            same = [name for name in part.feed_forward if part.config_value(name) % own == 0]
            found |= {name: f"{self.inner} * {part.config_value(name) // own}" for name in same}
        if self.depth:
            found |= {name: _in_proportion(name, part.depths[0], part, 1) for name in part.depths[1:]}
        for heads, shared in part.key_value_pairs:
            if heads in self.groups and heads not in self.given:
                found[shared] = f"{heads} // {self.groups[heads]}" if self.groups[heads] > 1 else heads
        chosen = {self.width, self.depth, self.inner, *self.given}
        return {name: text for name, text in found.items() if name not in chosen}

    def _fitting_heads(self, heads: str) -> int:
        """Return the number of heads that divides a width, nearest to the config's proportion; 0 if none."""
        width, part = self.fixed.get(self.part.width), self.part
        if not isinstance(width, int) or width < 1 or width > LARGEST:
            return 0
        wanted = width * part.config_value(heads) / part.config_value(part.width)
        step = self._head_step(heads)
        fitting = [number for number in range(step, width + 1, step) if width % number == 0]
        even = [number for number in fitting if width // number % 2 == 0]  # rotary positions come in pairs
        return min(even or fitting, key=lambda number: abs(math.log(number / wanted)), default=0)

    def _of_width(self, name: str, whole: int, even: int) -> str:
        """Return a field in proportion to the width: a multiple of ``whole``; if rounded, of ``even``."""
        own, width = self.part.config_value(name), self.part.config_value(self.part.width)
        if width % own == 0 and self.width_step % (width // own * whole) == 0:
            return f"{self.part.width} // {width // own}"
        if own % width == 0:
            return f"{self.part.width} * {own // width}"
        return _in_proportion(name, self.part.width, self.part, lcm(whole, even))

    @property
    def scaling_field(self) -> tuple[int, int]:
        """The value and the step of the field that scales the config."""
        if self.width:
            return self.part.config_value(self.width), self.width_step
        return (self.part.config_value(self.depth), self.period) if self.depth else (16, 1)

    def scale(self, turn: int) -> dict[str, int]:
        """Return the config in its own proportions, larger with each step."""
        value, found = self.part.config_value, dict[str, int]()
        own, step = self.scaling_field
        share = turn * step / own
        if self.width:
            found[self.width] = turn * step
        if self.depth:
            found[self.depth] = max(1, round(share * value(self.depth) / self.period)) * self.period
        if self.inner:
            width, inner = value(self.part.width), value(self.inner)
            if self.depth and not self.width:
                share = self.fixed.get(self.part.width, width) / width
            found[self.inner] = max(1, round(share * inner / _inner_step(inner))) * _inner_step(inner)
        return found

    @cached_property
    def period(self) -> int:
        """The number of layers after which the kinds of layers repeat."""
        scope, own = self.part.scope, self.part.config_value(self.part.depths[0])
        values = [scope.get(name) for name in scope.spec.fields if roles().get(name) == "layer period"]
        return lcm(*(value for value in values if type(value) is int and value > 0 and own % value == 0))

    def values(self, scaled: Mapping[str, int]) -> dict[str, Sequence[int]]:
        """Return the values around those of the scaled config."""
        found = dict[str, Sequence[int]]()
        if self.width:
            found[self.width] = _values_around(scaled[self.width], self.width_step, WIDTHS)
        if self.depth:
            found[self.depth] = _values_around(scaled[self.depth], self.period, DEPTHS)
        if self.inner:
            step = _inner_step(self.part.config_value(self.inner))
            found[self.inner] = _values_around(scaled[self.inner], step, FEED_FORWARDS)
        if self.experts:
            own = self.part.config_value(self.experts)
            found[self.experts] = range(step := max(1, own // 8), 4 * own + 1, step)
        return found


def _inner_step(own: int) -> int:
    return usual_step(own, [step for step in (256, 128, 64) if own >= 8 * step])


def _values_around(value: int, step: int, shares: tuple[float, float]) -> list[int]:
    while value > STEPS * step:
        step *= 2
    low = min(value * shares[0], value - 3 * step)
    high = max(value * shares[1], value + 4 * step)
    return sorted({value, *range(max(1, round(low / step)) * step, round(high) + 1, step)})


def _in_proportion(name: str, other: str, part: Part, step: int) -> str:
    """Return a field in the config's proportion to another, rounded up to whole steps."""
    own, base = part.config_value(name), part.config_value(other)
    return other if own == base else f"-(-{other} * {own} // {base * step}) * {step}"
