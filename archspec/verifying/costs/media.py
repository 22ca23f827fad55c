"""Forward passes with images, videos and audio to compare: items, sizes, and the text around them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from archspec.configs.scope import Scope
from archspec.costs.items import takes
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.reference.media.receiver import Receiver
from archspec.reference.media.running import least_tokens
from archspec.reference.verdicts import Refused, Unavailable
from archspec.verifying.blame import Config

TEXT = 7  # tokens beside those of media
_SIDE, _FRAMES, _SAMPLES, _MEL_FRAMES = (224, 224), 4, 16000, 160
_LAYERS = 2
_NOT_FIELDS = ("dtype", "transformers_version", "_name_or_path")
_DEPTH = re.compile(
    r"(num_hidden|num|n|encoder|decoder|num_encoder|num_decoder|hidden)_(layers?|blocks)|depth|num_res_blocks"
)
_LISTS = re.compile(r".*(indexes|indices|_index|deepstack_visual.*)")


def media_calls(scope: Scope, architecture: str, model: Any) -> Iterator[Call]:
    """Yield forward passes of one and of several items, of two sizes, and steps after those with text.

    Errors: :class:`Unavailable` if no number of tokens is known.
    """
    to, why, none = Receiver(model, Call(1, 1)), "it takes no media", True
    for kind, sizes in media_sizes(scope, architecture, to).items():
        for batch, items in _items(sizes, to):
            try:
                for call in _with_text(model, Call(batch, 1, **{kind: items}), to):
                    none = False
                    yield call
            except Unavailable as error:  # of a size that the class does not take
                why = str(error) if none else why
    if none:
        raise Unavailable(why)


def _items(sizes: list[Any], to: Receiver) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield a batch and the sizes of its items."""
    first, *others = sizes
    mixed = (first, others[0] if others and to.mixes else first, first)
    for one in sizes:
        yield 1, (one,)
    if to.decodes or not to.has_text:
        yield 3, mixed
    else:
        yield 1, mixed
        yield 2, (first,) * 2
        yield 2, (first, first, *mixed[1:])


def _with_text(model: Any, call: Call, to: Receiver) -> Iterator[Call]:
    if not to.has_text:
        yield call
        return
    least = 0 if to.decodes else least_tokens(model, call)
    whole = call._replace(tokens=least + TEXT)
    yield whole
    if to.keeps_cache:
        yield whole._replace(tokens=1, past=whole.tokens)
        yield whole._replace(tokens=3, past=whole.tokens)


def media_sizes(scope: Scope, architecture: str, to: Receiver) -> dict[str, list[Any]]:
    """Return sizes of items by kind: the only or usual one first, then others that a class may refuse."""
    try:
        taken = takes(scope, architecture)
    except ArchspecError:
        taken = {}
    found: dict[str, list[Any]] = {}
    for kind in to.kinds:
        given = taken.get(kind)
        if kind == "audios":
            length = given[0] if given else to.length or (_SAMPLES if to.takes_samples else _MEL_FRAMES)
            found[kind] = [length, length - length // 5 - 3]
            continue
        frames = given[0] if given and kind == "videos" else to.frames or _FRAMES * to.frames_of_patch
        unit = to.patch * to.merge
        height, width = (
            given[-2:] if given else (4 * unit, 6 * unit) if to.takes_patches else to.side or _SIDE
        )
        step = unit if to.takes_patches else 32
        sizes = [(height, width), (height + step, width + 2 * step)]
        sizes += [] if to.takes_patches else [(height + 19, width + 5)]
        found[kind] = [(frames, *size) for size in sizes] if kind == "videos" else sizes
    return found


def shallow(model_type: str, raw: Config) -> Config:
    """Return a config with few layers in each of its parts."""
    from archspec.reference.classes import config_of

    try:
        config = config_of(model_type, raw)
    except (Refused, Unavailable):
        return raw
    return _merged(_few_layers(config), raw)


def _few_layers(config: Any) -> Config:
    found: Config = {}
    stated = inspect.signature(type(config)).parameters
    for name, value in vars(config).items():
        if name not in stated:
            continue
        if hasattr(value, "to_dict"):
            if inner := _few_layers(value):
                given = {key: one for key, one in value.to_diff_dict().items() if key not in _NOT_FIELDS}
                found[name] = _merged(given, inner)
        elif _DEPTH.fullmatch(name) and type(value) is int and value > _LAYERS:
            found[name] = _LAYERS
        elif _LISTS.fullmatch(name) and isinstance(value, list) and all(type(one) is int for one in value):
            found |= {name: [_LAYERS - 1]} if value and min(value) >= 0 and max(value) >= _LAYERS else {}
    return found


def _merged(base: Config, over: Config) -> Config:
    """Return a config whose parts have the fields of both; the second one's win."""
    both = {name for name in base if isinstance(base[name], dict) and isinstance(over.get(name), dict)}
    return {**base, **over, **{name: _merged(base[name], over[name]) for name in both}}
