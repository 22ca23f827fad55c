"""The shape of a config: its width, depth, heads and feed-forward width, and their proportions."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError
from archspec.render.notation import standard
from archspec.sweeping.axes import Axis

_FEED_FORWARD = re.compile(r"intermediate_size|ffn_(dim|hidden)|feed_?forward|^(mlp_dim|hidden_dim|d_inner)$")
_HEADS = re.compile(r"(^|_)(n|num)_([a-z_]+_)?heads$|attention_heads$")
_LINKED = re.compile(  # widths of other parts
    r"^(out|text|thinker|backbone|encoder|projector|vision|audio)_hidden_size$|(out|output|projection)_dim$"
    r"|^(hidden_size_global|condition_dim)$"
)
_PLAIN = SimpleNamespace(log=math.log, log2=math.log2, gcd=math.gcd, maximum=max)
_SHARED = re.compile(r"(kv|key_value)_heads$")


class Roles(NamedTuple):
    """The fields that make the shape of one config, by their dotted paths.

    Only those with a size of their own: what transformers works out from other fields follows by itself.
    """

    scope: Scope
    prefix: str
    width: str
    depths: tuple[str, ...]
    heads: tuple[str, ...]
    key_value_heads: tuple[str, ...]
    feed_forward: tuple[str, ...]

    def own(self, path: str) -> int:
        """The value that the config has for a field."""
        return int(self.scope.get(path.removeprefix(self.prefix)))

    def canonical(self, path: str) -> str:
        """A field's path under the name that its spec gives it."""
        if not path.startswith(self.prefix):
            return path
        return self.prefix + self.scope.canonical(path.removeprefix(self.prefix))

    @property
    def fields(self) -> list[str]:
        """All fields, the width first."""
        return [self.width, *self.depths, *self.heads, *self.key_value_heads, *self.feed_forward]

    @property
    def shared(self) -> list[tuple[str, str]]:
        """The heads that share heads of keys and values, each with the number of these."""
        named = [(_SHARED.sub("attention_heads", name), name) for name in self.key_value_heads]
        return [(one if one in self.heads else self.heads[0], name) for one, name in named if self.heads]

    @property
    def embedding_widths(self) -> list[str]:
        """The widths of embeddings that are as wide as the model."""
        names = [self.prefix + name for name in alike(self.scope, "embedding_size")]
        return [name for name in names if self.own(name) == self.own(self.width)]

    @property
    def expert_counts(self) -> list[str]:
        return [self.prefix + name for name in alike(self.scope, "num_experts")]

    def ratios(self) -> Iterator[tuple[str, str]]:
        """The pairs of fields whose quotients are the proportions."""
        for depth in self.depths[:1]:
            yield self.width, depth
        for depth in self.depths[1:]:
            yield depth, self.depths[0]
        for heads in self.heads:
            yield self.width, heads
        yield from self.shared
        for inner in self.feed_forward:
            yield inner, self.width


def roles(scope: Scope, prefix: str = "") -> Roles | None:
    """The fields that make a config's shape, None for one without a width; known by the symbols of notation.

    >>> import archspec
    >>> found = roles(archspec.load("GPT2LMHeadModel").scope)
    >>> found.width, found.depths, found.heads, found.feed_forward
    ('n_embd', ('n_layer',), ('n_head',), ())
    """
    widths = alike(scope, "hidden_size")
    if not widths:
        return None
    fields = [name for name in scope.spec.fields if _is_own_size(scope, name)]
    heads = [*alike(scope, "num_attention_heads"), *(name for name in fields if _HEADS.search(name))]
    inner = [*alike(scope, "intermediate_size"), *(name for name in fields if _FEED_FORWARD.search(name))]
    found = [
        [*alike(scope, "num_hidden_layers")[:1], *alike(scope, "decoder_layers")],
        [name for name in heads if not is_shared(name)],
        [name for name in heads if is_shared(name)],
        inner,
    ]
    width = "embed_dim" if "embed_dim" in widths else widths[0]  # beside it, `hidden_size` is another part's
    return Roles(scope, prefix, prefix + width, *(_paths(prefix, names) for names in found))


def is_shared(name: str) -> bool:
    """Whether a field is a number of heads of keys and values, which others share."""
    return _SHARED.search(name) is not None


def alike(scope: Scope, usual: str) -> list[str]:
    """The sizes of a config that share a symbol, the one that transformers calls by its usual name first."""
    glyphs = standard()
    names = [name for name in glyphs if glyphs[name].text == glyphs[usual].text]
    return [name for name in dict.fromkeys([scope.canonical(usual), *names]) if _is_own_size(scope, name)]


def parts(scope: Scope) -> list[Roles]:
    """The shapes of a config and of its sub-configs, those that have a width."""
    found = (roles(inner, prefix) for inner, prefix in _scopes(scope, ""))
    return [one for one in found if one is not None]


def linked(scope: Scope, part: Roles) -> list[str]:
    """The fields of a config's other parts that have to be as wide as one: what they give it, or take of it.

    >>> import archspec
    >>> scope = archspec.load("Glm4vForConditionalGeneration").scope
    >>> linked(scope, next(one for one in parts(scope) if one.prefix == "text_config."))
    ['vision_config.out_hidden_size']
    """
    width, found = part.own(part.width), list[str]()
    for inner, prefix in _scopes(scope, ""):
        own = alike(inner, "hidden_size")
        names = [name for name in inner.spec.fields if name not in own and _LINKED.search(name)]
        if len(own) > 1:  # as wide as `embed_dim` within, and as `hidden_size` at its end
            names.append("hidden_size")
        sizes = [name for name in names if _is_own_size(inner, name) and inner.get(name) == width]
        found += [prefix + name for name in sizes if prefix + name != part.width]
    return found


def _scopes(scope: Scope, prefix: str) -> Iterator[tuple[Scope, str]]:
    """A config and its sub-configs, each with its path."""
    yield scope, prefix
    for name in scope.spec.fields:
        try:
            value = scope.get(name)
            inner = value.scope if isinstance(value, SubConfig) else None
        except ArchspecError:  # what is wrong with a config is said where it is built
            continue
        if inner is not None:
            yield from _scopes(inner, f"{prefix}{name}.")


def _paths(prefix: str, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(prefix + name for name in dict.fromkeys(names))


def _is_own_size(scope: Scope, name: str) -> bool:
    """Whether a field is a size that the config has, and not one that is worked out."""
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


class Proportion(NamedTuple):
    """A quotient of two fields and what it is in the config; the ends that no axis varies are numbers."""

    above: str | int
    below: str | int
    own: float


class Round(NamedTuple):
    """What a number costs that is not round: as much for each power of two up to ``full`` that is missing."""

    full: int
    cost: float


DEPTH, WIDTH, INNER = Round(4, 0.02), Round(1024, 0.02), Round(256, 0.01)


class Shape(NamedTuple):
    """What the configs of a grid are measured by: the proportions of the config, and how round numbers are.

    ``usual`` are the fields that no proportion speaks of, with the values that the config has.
    """

    proportions: tuple[Proportion, ...]
    usual: dict[str, int]
    round: dict[str, Round]

    def distance(self, codes: Mapping[str, Any]) -> Any:
        """How far configs are from the proportions: the sum of the logarithms of what they differ by."""
        by, total = _functions(codes), 0.0
        for above, below, own in self.proportions:
            quotient = end_of(above, codes, by) / end_of(below, codes, by)
            total = total + abs(by.log(quotient / own))
        for name, usual in self.usual.items():
            total = total + abs(by.log(by.maximum(codes[name], 0.5) / usual))
        return total

    def strain(self, codes: Mapping[str, Any]) -> Any:
        """The distance, and what numbers that are not round add to it."""
        by, total = _functions(codes), self.distance(codes)
        for name, (full, cost) in self.round.items():
            missing = by.log2(full / by.gcd(codes[name], full))
            total = total + cost * missing
        return total


def end_of(end: str | int, codes: Mapping[str, Any], by: Any) -> Any:
    """A proportion's end: the number that it is, or a field's, which is no less than a half."""
    return end if isinstance(end, int) else by.maximum(codes[end], 0.5)


def _functions(codes: Mapping[str, Any]) -> Any:
    """NumPy's functions where codes are arrays, Python's own where they are its numbers."""
    if isinstance(next(iter(codes.values()), 0), int):
        return _PLAIN
    import numpy as np

    return np


def shape_of(
    listed: Sequence[Roles], axes: Sequence[Axis], usual: Mapping[str, int], tied: Collection[str]
) -> Shape:
    """The shape that configs of a grid are measured by; fields that are tied to others are left out."""
    varied = {axis.name for axis in axes if axis.numeric and len(axis.values) > 1}
    settled = {axis.name: axis.values[0] for axis in axes if axis.numeric and len(axis.values) == 1}
    found, spoken_of, round_ = [], set[str](), dict[str, Round]()
    for part in listed:
        names = {part.canonical(name): name for name in [*varied, *settled, *tied]}
        free = {canonical: name for canonical, name in names.items() if name in varied}
        for above, below in part.ratios():
            ends = [free.get(end) or settled.get(names.get(end, ""), part.own(end)) for end in (above, below)]
            follows = any(names.get(end) in tied for end in (above, below))
            if follows or not {above, below} & free.keys() or 0 in ends:
                continue
            found.append(Proportion(ends[0], ends[1], part.own(above) / part.own(below)))
            spoken_of |= {free[end] for end in (above, below) if end in free}
        kinds = {**dict.fromkeys(part.depths, DEPTH), part.width: WIDTH}
        kinds |= dict.fromkeys(part.feed_forward, INNER)
        round_ |= {free[name]: kind for name, kind in kinds.items() if name in free}
    others = {name: usual[name] for name in varied - spoken_of}
    return Shape(tuple(found), others, round_)


def told(
    listed: Sequence[Roles], chosen: Iterable[str], following: Collection[str], tied: Iterable[str]
) -> list[str]:
    """The proportions of a config that a search keeps to, as texts.

    Those of fields that are chosen, be it to others or to fields that stay, and of those that follow them;
    what is tied from outside keeps to no proportion.
    """
    found = list[str]()
    for part in listed:
        free, follows, outside = (
            {part.canonical(name) for name in names} for names in (chosen, following, tied)
        )
        for above, below in part.ratios():
            ends = {above, below}
            kept = ends <= free | follows or (ends & free and not ends & follows)
            if kept and not ends & outside:
                quotient = f"{above}/{below.removeprefix(part.prefix)}"
                found.append(f"{quotient} = {part.own(above) / part.own(below):.5g}")
    return found


def usual_steps(listed: Sequence[Roles]) -> dict[str, int]:
    """The steps in which people take widths: the largest of some powers of two that the config's own has."""
    found = dict[str, int]()
    for part in listed:
        found[part.width] = usual_step(part.own(part.width), (128, 64))
        found |= {name: usual_step(part.own(name), (256, 128, 64)) for name in part.feed_forward}
    return found


def usual_step(own: int, steps: Sequence[int]) -> int:
    """The first of some steps that a number is a multiple of, else 1."""
    return next((step for step in steps if own % step == 0), 1)
