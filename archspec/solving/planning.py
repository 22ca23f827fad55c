"""What is free where no field is named: the width, the depth and the feed-forward width; heads follow.

A first config of about the budget's size is found by growing the config at its own proportions; the grid is
what lies around it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import lcm
from typing import Any, NamedTuple

from archspec.configs.origin import RawConfig
from archspec.configs.reader import read_config
from archspec.configs.scope import Scope
from archspec.errors import SweepError
from archspec.solving.budgets import Counted, nearest
from archspec.solving.free_fields import scope_of
from archspec.solving.proportions import Roles, alike, is_shared, linked, parts, usual_step

_HEAD_SIZE = 32  # of which the size of heads is a multiple where their number is given
_POWERS = (128, 64, 32, 16, 8, 4, 2)
_PERIODS = ("period", "interval", "pattern")
_NAME = "name the fields to choose: --free FIELD,..."
# What is looked at, in shares of a first config of the budget's size.
WIDTHS, DEPTHS, INNERS = (0.62, 1.6), (0.4, 2.5), (0.5, 2.2)
FEW_DEPTHS, FEW_STEPS = (0.67, 1.5), 16  # where each depth takes its time
FEW = 4  # heads of keys and values: fewer of them stay as many in larger configs
STEPS = 64  # of which the first config's sizes have no more: larger ones are multiples of rounder numbers
LARGEST, MOST = 1 << 17, 1 << 10  # the first config's width; its turns where that is given


class Planned(NamedTuple):
    """A config, the values of the fields to choose, and the fields that follow them.

    ``distinct`` are fields of which no two configs are to have the same values.
    """

    config: RawConfig
    values: dict[str, Sequence[int]]
    ties: dict[str, str]
    distinct: tuple[str, ...]
    notes: tuple[str, ...] = ()


def plan_around(counted: Counted, ties: Mapping[str, str], experts: bool) -> Planned:
    """The grid for a budget of a config, some of whose fields are settled or tied to others.

    With ``experts`` their number is chosen, too. Errors: :class:`SweepError` for a config without a width and
    a depth that make its size.
    """
    scope = scope_of(counted.config, counted.architecture, counted.library)
    listed = [part for part in parts(scope) if part.depths]
    weights = [_weight(part, counted, ties) for part in listed]
    if not any(weights):
        raise SweepError("the config has no width and depth that make its size", help=_NAME)
    chosen = listed[weights.index(max(weights))]
    config, stays, notes = _unlisted(counted.config, chosen)
    planner = Planner(chosen, linked(scope, chosen), counted.settled, [*ties, *stays], experts)
    if not any((planner.width, planner.depth, planner.free_inner)):
        raise SweepError("no width, depth or feed-forward width is left to choose", help=_NAME)
    return planner.plan(counted._replace(config=config), ties, notes)


def _weight(part: Roles, counted: Counted, ties: Mapping[str, str]) -> int:
    """What a part has of the size, by how that grows with it: a class may read other parts alone."""
    size = counted._replace(config=_unlisted(counted.config, part).config).sized(ties)
    if (own := size({})) is None:
        return part.own(part.width) ** 2 * part.own(part.depths[0])
    larger = [size({name: 2 * part.own(name)}) for name in (part.depths[0], *part.feed_forward, part.width)]
    return max(one - own for one in larger if one is not None) if any(larger) else 0


class _Unlisted(NamedTuple):
    """A config without lists of layers, the depth if it stays for others, and what is to be said of both."""

    config: RawConfig
    stays: list[str]
    notes: list[str]


def _unlisted(config: RawConfig, part: Roles) -> _Unlisted:
    """The config without lists that transformers would work out alike, or that enter no count."""
    scope, depth = part.scope, part.own(part.depths[0])
    lists = [name for name, value in scope.raw.items() if isinstance(value, list) and len(value) == depth > 1]
    rest = {name: value for name, value in scope.raw.items() if name not in lists}
    other = Scope(scope.spec, rest, scope.origin)
    counted = [name for name in lists if scope.has(name)]
    if any(other.get(name) != scope.get(name) for name in counted):
        said = f"{part.depths[0]} stays as it is: {', '.join(counted)} names each layer"
        return _Unlisted(config, [part.depths[0]], [said])
    if not lists:
        return _Unlisted(config, [], [])
    config = read_config(config)
    inside = config.raw
    for name in part.prefix.split(".")[:-1]:
        inside = inside[name]
    for name in lists:
        inside.pop(scope.given.get(name, name), None)
    idle = [f"{name} enters no count, and is left out" for name in lists if name not in counted]
    return _Unlisted(config, [], idle)


class Planner:
    """Plans with the shape of one part of a config.

    ``others`` are fields elsewhere that are as wide, ``settled`` those that are given, ``tied`` others that
    are not to be chosen; with ``experts`` their number is chosen, too.
    """

    def __init__(
        self,
        part: Roles,
        others: Sequence[str],
        settled: Mapping[str, Any],
        tied: Iterable[str],
        experts: bool,
    ) -> None:
        self.others = others
        self.part, self.settled = part, {part.canonical(name): value for name, value in settled.items()}
        self.given = {*self.settled, *(part.canonical(name) for name in tied)}
        self.width, self.inner = self._free([part.width]), ""
        self.depth = self._free(part.depths[:1])
        self.experts = self._free(part.expert_counts) if experts else ""

    @property
    def free_inner(self) -> list[str]:
        """The feed-forward widths that are to be chosen, or follow the one that is."""
        return [name for name in self.part.feed_forward if name not in self.given]

    def _free(self, names: Iterable[str]) -> str:
        """The first of some fields that is to be chosen; nothing where there is none."""
        return next((name for name in names if name not in self.given), "")

    def plan(self, counted: Counted, others: Mapping[str, str], notes: Sequence[str]) -> Planned:
        """The grid around the first config that has the target's size; ``others`` are ties that are given."""
        size = counted.sized(others)
        doubled = {name: size({name: 2 * self.part.own(name)}) or 0 for name in self.free_inner}
        self.inner = max(doubled, key=lambda name: doubled[name], default="")
        ties = {**self.ties(), **others}
        size = counted.sized(ties)
        own, step = self.driver
        most = max(1, LARGEST // step if self.width else MOST)
        turn = nearest(lambda turn: size(self.grown(turn)), counted.target, max(1, own // step), most)
        first = self.grown(turn)
        values = self.values(first, bool(self.depth) and self._told_apart(counted, ties, first))
        distinct = tuple(name for name in (self.width, self.depth) if name)
        return Planned(counted.config, values, ties, distinct, tuple(notes))

    def _told_apart(self, counted: Counted, ties: Mapping[str, str], first: Mapping[str, int]) -> bool:
        """Whether each depth is counted on its own, which takes its time."""
        depths = range(first[self.depth], first[self.depth] + 3 * self.period, self.period)
        values = {**{name: [value] for name, value in first.items()}, self.depth: depths}
        return counted.forms(ties, values) >= len(depths)

    @cached_property
    def groups(self) -> dict[str, int]:
        """The heads that share one of keys and values, by the heads; few of these stay as many."""
        pairs = [(heads, self.part.own(heads), self.part.own(shared)) for heads, shared in self.part.shared]
        return {heads: own // shared for heads, own, shared in pairs if own % shared == 0 and shared >= FEW}

    def _whole(self, heads: str) -> int:
        """What a number of heads is a multiple of, so that each one of keys and values has as many."""
        given = [value for name, value in self.settled.items() if is_shared(name) and value]
        own = [self.part.own(shared) for other, shared in self.part.shared if other == heads]
        return lcm(*given) if given else self.groups.get(heads) or lcm(*own)

    @cached_property
    def width_step(self) -> int:
        """A multiple of 128 or 64 that whole heads fit in, else of the powers of two in the width.

        It is 64 where there is no feed-forward width to give way. Heads of a size of their own need not fit.
        """
        own = self.part.own(self.part.width)
        free = [(name, self.part.own(name)) for name in self.part.heads if name not in self.given]
        sizes = [own // number * self._whole(name) for name, number in free if own % number == 0]
        sizes += [_HEAD_SIZE * self.settled[name] for name in self.part.heads if self.settled.get(name)]
        own_sizes = alike(self.part.scope, "head_dim") or alike(self.part.scope, "qk_nope_head_dim")
        wanted = [128, 64] if self.inner else [64]
        steps = wanted if own_sizes else [*wanted, 32, 16, 8, 4, 2, 1]
        fitting = (lcm(step, *sizes) for step in steps if own % step == 0)
        return next((step for step in fitting if 4 * step <= own), usual_step(own, _POWERS))

    def ties(self) -> dict[str, str]:
        """The fields that follow the width, the depth or the heads, in the order in which they do."""
        part, found = self.part, dict[str, str]()
        if self.width or part.width in self.settled:
            for name in part.heads:
                if number := self._fitting(name):
                    found[name] = str(number)
                    continue
                round_ = usual_step(part.own(name), (8, 4, 2)) if part.own(name) > 8 else 1
                found[name] = self._of_width(name, self._whole(name), round_)
            found |= {name: self._of_width(name, 1, inner_step(part.own(name))) for name in part.feed_forward}
            found |= dict.fromkeys([*part.embedding_widths, *self.others], part.width)
        if self.inner:
            own = part.own(self.inner)
            same = [name for name in part.feed_forward if part.own(name) % own == 0]
            found |= {name: f"{self.inner} * {part.own(name) // own}" for name in same}
        if self.depth:
            found |= {name: _scaled(name, part.depths[0], part, 1) for name in part.depths[1:]}
        for heads, shared in part.shared:
            if heads in self.groups and heads not in self.given:
                found[shared] = f"{heads} // {self.groups[heads]}" if self.groups[heads] > 1 else heads
        chosen = {self.width, self.depth, self.inner, *self.given}
        return {name: text for name, text in found.items() if name not in chosen}

    def _fitting(self, heads: str) -> int:
        """The number of heads that divides a given width and is nearest the config's proportion, or 0."""
        width, part = self.settled.get(self.part.width), self.part
        if not isinstance(width, int) or width < 1 or width > LARGEST:
            return 0
        wanted, whole = width * part.own(heads) / part.own(part.width), self._whole(heads)
        fitting = [number for number in range(whole, width + 1, whole) if width % number == 0]
        even = [number for number in fitting if width // number % 2 == 0]  # rotary positions come in pairs
        return min(even or fitting, key=lambda number: abs(math.log(number / wanted)), default=0)

    def _of_width(self, name: str, whole: int, round_: int) -> str:
        """A field that keeps its proportion to the width: a multiple of ``whole``, and better a round one."""
        own, width = self.part.own(name), self.part.own(self.part.width)
        if width % own == 0 and self.width_step % (width // own * whole) == 0:
            return f"{self.part.width} // {width // own}"
        if own % width == 0:
            return f"{self.part.width} * {own // width}"
        return _scaled(name, self.part.width, self.part, lcm(whole, round_))

    @property
    def driver(self) -> tuple[int, int]:
        """What grows with each turn: its value in the config, and its step."""
        if self.width:
            return self.part.own(self.width), self.width_step
        if self.depth:
            return self.part.own(self.depth), self.period
        return 16, 1

    def grown(self, turn: int) -> dict[str, int]:
        """The config at its own proportions, larger with each turn."""
        part, found = self.part, dict[str, int]()
        own, step = self.driver
        share = turn * step / own
        if self.width:
            found[self.width] = turn * step
        if self.depth:
            found[self.depth] = max(1, round(share * part.own(self.depth) / self.period)) * self.period
        if self.inner:
            if self.depth and not self.width:
                share = self.settled.get(part.width, part.own(part.width)) / part.own(part.width)
            step = inner_step(part.own(self.inner))
            found[self.inner] = max(1, round(share * part.own(self.inner) / step)) * step
        return found

    @cached_property
    def period(self) -> int:
        """The layers after which kinds of layers come again."""
        scope = self.part.scope
        values = [scope.get(name) for name in scope.spec.fields if name.endswith(_PERIODS)]
        own = self.part.own(self.part.depths[0])
        return lcm(*(value for value in values if type(value) is int and value > 0 and own % value == 0))

    def values(self, first: Mapping[str, int], told_apart: bool) -> dict[str, Sequence[int]]:
        """The values around those of a first config, with few depths where each is ``told_apart``."""
        found = dict[str, Sequence[int]]()
        if self.width:
            found[self.width] = _around(first[self.width], self.width_step, WIDTHS)
        if self.depth:
            shares, steps = (DEPTHS, STEPS) if not told_apart else (FEW_DEPTHS, FEW_STEPS)
            found[self.depth] = _around(first[self.depth], self.period, shares, steps)
        if self.inner:
            found[self.inner] = _around(first[self.inner], inner_step(self.part.own(self.inner)), INNERS)
        if self.experts:
            own = self.part.own(self.experts)
            step = max(1, own // 8)
            found[self.experts] = range(step, 4 * own + 1, step)
        return found


def inner_step(own: int) -> int:
    """The multiple of 256, 128 or 64 that a feed-forward width is, of some steps; else any is as good."""
    return usual_step(own, [step for step in (256, 128, 64) if own >= 8 * step])


def _around(value: int, step: int, shares: tuple[float, float], steps: int = STEPS) -> list[int]:
    """Values around one, some steps at least to either side."""
    while value > steps * step:
        step *= 2
    low = min(value * shares[0], value - 3 * step)
    high = max(value * shares[1], value + 4 * step)
    return sorted({value, *range(max(1, round(low / step)) * step, round(high) + 1, step)})


def _scaled(name: str, other: str, part: Roles, step: int) -> str:
    """A field that keeps its proportion to another, rounded up to whole steps."""
    own, base = part.own(name), part.own(other)
    return other if own == base else f"-(-{other} * {own} // {base * step}) * {step}"
