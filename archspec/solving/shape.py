"""The shape of a config: its width, depth, heads and feed-forward widths, and their proportions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError
from archspec.render.notation import roles
from archspec.sweeping.axes import Axis


class Part(NamedTuple):
    """The fields that make the shape of a config or a sub-config, by dotted path.

    Only fields with their own value count: those that transformers computes from others follow them.
    """

    scope: Scope
    prefix: str
    width: str
    depths: tuple[str, ...]
    heads: tuple[str, ...]
    key_value_heads: tuple[str, ...]
    feed_forward: tuple[str, ...]

    def config_value(self, path: str) -> int:
        """Return the config's value of a field."""
        return int(self.scope.get(path.removeprefix(self.prefix)))

    def canonical(self, path: str) -> str:
        """Return a field's path under the name that its spec uses."""
        if not path.startswith(self.prefix):
            return path
        return self.prefix + self.scope.canonical(path.removeprefix(self.prefix))

    def fields(self, role: str) -> list[str]:
        """Return the fields with a role, by dotted path."""
        return [self.prefix + name for name in sizes(self.scope, role)]

    @property
    def key_value_pairs(self) -> list[tuple[str, str]]:
        """Heads with the number of key-value heads that they share."""
        named = [(name.replace("key_value", "attention"), name) for name in self.key_value_heads]
        return [(one if one in self.heads else self.heads[0], name) for one, name in named if self.heads]

    def ratios(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs of fields whose quotients are the proportions."""
        if self.depths:
            yield self.width, self.depths[0]
        yield from ((depth, self.depths[0]) for depth in self.depths[1:])
        yield from ((self.width, heads) for heads in self.heads)
        yield from self.key_value_pairs
        yield from ((inner, self.width) for inner in self.feed_forward)


def sizes(scope: Scope, role: str) -> list[str]:
    """Return the fields with a role and a positive value in a config, the usual name's field first."""
    listed = [name for name, its in roles().items() if its == role]
    usual = scope.canonical(listed[0])
    names = dict.fromkeys([usual, *listed] if roles().get(usual, role) == role else listed)
    return [name for name in names if _has_own_size(scope, name)]


def _has_own_size(scope: Scope, name: str) -> bool:
    field = scope.spec.fields.get(name)
    if field is None or name in (*scope.spec.fixed, *scope.spec.readonly):
        return False
    if field.computed and scope.raw.get(name) is None:
        return False
    try:
        value = scope.get(name)
    except ArchspecError:
        return False
    return type(value) is int and value > 0


def part_of(scope: Scope, prefix: str = "") -> Part | None:
    """Return the shape of one config, None for a config without a width.

    >>> import archspec
    >>> found = part_of(archspec.load("GPT2LMHeadModel").scope)
    >>> found.width, found.depths, found.heads, found.feed_forward
    ('n_embd', ('n_layer',), ('n_head',), ())
    """
    widths = sizes(scope, "width")
    if not widths:
        return None
    depths = [*sizes(scope, "depth")[:1], *sizes(scope, "decoder depth")]
    lists = (depths, *(sizes(scope, role) for role in ("heads", "key-value heads", "feed-forward width")))
    width = "embed_dim" if "embed_dim" in widths else widths[0]  # next to it, `hidden_size` is an output's
    paths = (tuple(prefix + name for name in dict.fromkeys(names)) for names in lists)
    return Part(scope, prefix, prefix + width, *paths)


def parts_of(scope: Scope) -> list[Part]:
    """Return the shapes of a config and of its sub-configs."""
    found = (part_of(inner, prefix) for inner, prefix in _scopes(scope, ""))
    return [one for one in found if one is not None]


def linked_widths(scope: Scope, part: Part) -> list[str]:
    """Return the fields of other parts that must equal a part's width.

    >>> import archspec
    >>> scope = archspec.load("Glm4vForConditionalGeneration").scope
    >>> linked_widths(scope, next(one for one in parts_of(scope) if one.prefix == "text_config."))
    ['vision_config.out_hidden_size']
    """
    width, found = part.config_value(part.width), list[str]()
    for inner, prefix in _scopes(scope, ""):
        names = sizes(inner, "linked width")
        if len(sizes(inner, "width")) > 1:  # `embed_dim` within, and `hidden_size` at the output
            names.append("hidden_size")
        found += [prefix + name for name in names if _has_own_size(inner, name) and inner.get(name) == width]
    return [path for path in found if path != part.width]


def _scopes(scope: Scope, prefix: str) -> Iterator[tuple[Scope, str]]:
    yield scope, prefix
    for name in scope.spec.fields:
        try:
            value = scope.get(name)
            inner = value.scope if isinstance(value, SubConfig) else None
        except ArchspecError:  # reported when the config is built
            continue
        if inner is not None:
            yield from _scopes(inner, f"{prefix}{name}.")


class Round(NamedTuple):
    """The cost of a number that is not round: per missing power of two, up to ``full``."""

    full: int
    cost: float


DEPTH, WIDTH, FEED_FORWARD = Round(4, 0.02), Round(1024, 0.02), Round(256, 0.01)


class Shape(NamedTuple):
    """The comparison of configs of a grid with the original config.

    ``proportions`` are quotients of two fields with the config's value; ``fixed`` are the values of fields
    that do not vary; ``usual`` are the config's values of fields in no proportion; ``round`` says which
    fields should be round numbers.
    """

    proportions: tuple[tuple[str, str, float], ...]
    fixed: dict[str, int]
    usual: dict[str, int]
    round: dict[str, Round]

    def distance(self, codes: Mapping[str, int]) -> float:
        """Return the sum of the absolute logarithms of how much proportions differ from the config's."""
        ends = self.fixed | {name: max(code, 0.5) for name, code in codes.items()}
        total = sum(abs(math.log(ends[above] / ends[below] / own)) for above, below, own in self.proportions)
        return total + sum(abs(math.log(ends[name] / usual)) for name, usual in self.usual.items())

    def strain(self, codes: Mapping[str, int]) -> float:
        """Return the distance plus the costs of numbers that are not round."""
        rough = ((cost, full / math.gcd(codes[name], full)) for name, (full, cost) in self.round.items())
        return self.distance(codes) + sum(cost * math.log2(missing) for cost, missing in rough)

    def without_field(self, name: str) -> Shape:
        """Return the shape without the comparisons that a field is part of."""
        proportions = tuple(one for one in self.proportions if name not in one[:2])
        usual = {other: value for other, value in self.usual.items() if other != name}
        round_ = {other: kind for other, kind in self.round.items() if other != name}
        return Shape(proportions, self.fixed, usual, round_)

    @property
    def texts(self) -> list[str]:
        """The proportions as texts."""
        return [f"{above}/{below} = {own:.5g}" for above, below, own in self.proportions]


def shape_of(
    parts: Sequence[Part], axes: Sequence[Axis], usual: Mapping[str, int], tied: Collection[str]
) -> Shape:
    """Return the shape by which configs of a grid are compared, without fields that are tied to others."""
    varied = {axis.name for axis in axes if axis.numeric and len(axis.values) > 1}
    given = {axis.name: axis.values[0] for axis in axes if axis.numeric and len(axis.values) == 1}
    found, fixed, round_ = list[tuple[str, str, float]](), dict[str, int](), dict[str, Round]()
    for part in parts:
        names = {part.canonical(name): name for name in [*varied, *given, *tied]}
        for above, below in part.ratios():
            ends = {names.get(path, path): part.config_value(path) for path in (above, below)}
            values = {end: given.get(end, own) for end, own in ends.items()}
            if varied.isdisjoint(ends) or not {*ends}.isdisjoint(tied) or 0 in values.values():
                continue
            first, second = ends
            found.append((first, second, part.config_value(above) / part.config_value(below)))
            fixed |= {end: value for end, value in values.items() if end not in varied}
        kinds = {**dict.fromkeys(part.depths, DEPTH), part.width: WIDTH}
        kinds |= dict.fromkeys(part.feed_forward, FEED_FORWARD)
        round_ |= {names[path]: kind for path, kind in kinds.items() if names.get(path) in varied}
    compared = {end for above, below, _ in found for end in (above, below)}
    return Shape(tuple(found), fixed, {name: usual[name] for name in sorted(varied - compared)}, round_)


def usual_step(own: int, steps: Iterable[int]) -> int:
    """Return the first of some steps that a number is a multiple of, else 1."""
    return next((step for step in steps if own % step == 0), 1)


def usual_steps(parts: Sequence[Part]) -> dict[str, int]:
    """Return the usual steps of widths: the largest power of two that divides the config's value."""
    found = dict[str, int]()
    for part in parts:
        found[part.width] = usual_step(part.config_value(part.width), (128, 64))
        found |= {name: usual_step(part.config_value(name), (256, 128, 64)) for name in part.feed_forward}
    return found
