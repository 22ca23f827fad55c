"""Forward passes with images, videos and audio to compare: items, sizes, and the text around them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

from archspec.configs.scope import Scope
from archspec.costs.media.items import takes
from archspec.costs.media.sizes import sizes_of, value_text
from archspec.costs.records import Call, Step
from archspec.errors import ArchspecError
from archspec.reference.classes import config_of, model_class
from archspec.reference.media import by_type
from archspec.reference.media.receiver import Receiver, kinds_of
from archspec.reference.media.running import least_tokens
from archspec.reference.verdicts import Refused, Unavailable
from archspec.specs.records import MODALITIES
from archspec.verifying.blame import Config
from archspec.verifying.costs.fitting import merge_configs

TEXT = 7  # tokens in addition to those of media
_ENCODED = 9  # tokens of an encoder of text, or of a Q-Former
_SIDE, _FRAMES, _SAMPLES, _MEL_FRAMES = (224, 224), 4, 16000, 160
_LAYERS = 2
_NOT_FIELDS = ("dtype", "transformers_version", "_name_or_path", "per_layer_config")  # derived ones, too
_DEPTH = re.compile(
    r"(num_hidden|num|n|encoder|decoder|num_encoder|num_decoder|hidden)_(layers?|blocks)|depth|num_res_blocks"
)
_SHARED = "num_kv_shared_layers"
_LISTS = re.compile(
    r".*(indexes|indices|_index|deepstack_visual.*|feature_layers?|extract_layers|cross_attention_layers)"
)


def takes_media(architecture: str, model_type: str) -> bool:
    """Return True if the reference class takes images, videos or audio. Errors: :class:`Unavailable`."""
    forward = model_class(architecture, model_type).forward
    return bool(kinds_of({*inspect.signature(forward).parameters}, model_type))


def keeps_text(model: Any) -> bool:
    """Return True if a class runs on text without media, and keeps a cache."""
    to = Receiver(model, Call(1, 1))
    return to.has_text and to.keeps_cache and not to.decodes


def media_calls(scope: Scope, architecture: str, model: Any) -> Iterator[Call]:
    """Yield forward passes of one and of several items, of two sizes, and steps after those with text.

    Errors: :class:`Unavailable` if no number of tokens is known.
    """
    to, why, none = Receiver(model, Call(1, 1)), "it takes no media", True
    for batch, given in _items(media_sizes(scope, architecture, to), to):
        try:
            for call in _with_text(model, Call(batch, 1, **given), to):
                none = False
                yield call
        except Unavailable as error:  # of a size that the class does not take
            why = str(error) if none else why
    if none:
        raise Unavailable(why)


def _items(sizes: dict[str, list[Any]], to: Receiver) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield a batch and the sizes of its items, of each kind and of all kinds.

    The first few have the first size, as it may be the only one that a class takes.
    """
    for kind, (first, *others) in sizes.items():
        mixed = (first, others[0] if others and kind != "audios" and to.mixes else first, first)
        found: list[tuple[int, tuple[Any, ...]]] = [(1, (first,)), *((1, (one,)) for one in others)]
        if to.decodes or not to.has_text:
            found.insert(1, (3, mixed))
        else:
            found.insert(2, (2, (first, first)))
            found += [(1, mixed), (2, (first, first, *mixed[1:]))]
        yield from ((batch, {kind: items}) for batch, items in found)
        if kind != "audios" and (patches := to.double_patches(kind, first)):
            yield 1, {kind: (first,), "padded": ((kind, patches),)}
    if len(sizes) > 1:
        yield 2, {kind: (first,) * 2 for kind, (first, *_) in sizes.items()}


def _with_text(model: Any, call: Call, to: Receiver) -> Iterator[Call]:
    if not to.has_text:
        yield call
        return
    if "qformer_input_ids" in to.names:
        call = call._replace(encoder_tokens=_ENCODED, new_encoder_tokens=_ENCODED)
    least = least_tokens(model, call) if to.reads_ids else 0
    whole = call._replace(tokens=TEXT if to.decodes else least + TEXT)
    if to.decodes and to.reads_ids and to.config.model_type not in by_type.TEXT_OR_AUDIO:
        whole = whole._replace(encoder_tokens=least + _ENCODED, new_encoder_tokens=least + _ENCODED)
    yield whole
    if to.keeps_cache:
        yield whole._replace(tokens=1 if call.batch == 1 else 3, past=whole.tokens, new_encoder_tokens=0)


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
        step = unit if to.takes_patches else to.patch * to.windows if to.windows else 32
        sizes = [(height, width), (height + step, width + 2 * step)]
        sizes += [] if to.takes_patches else [(height + 19, width + 5)]
        found[kind] = [(frames, *size) for size in sizes] if kind == "videos" else sizes
    return found


def shallow(model_type: str, raw: Config) -> Config:
    """Return a config with few layers in each of its parts."""
    try:
        config = config_of(model_type, raw)
    except (Refused, Unavailable):
        return raw
    return merge_configs(_few_layers(config), raw)


def _few_layers(config: Any) -> Config:
    stated = inspect.signature(type(config)).parameters
    fields = {name: one for name, one in vars(config).items() if name in stated and name[0] != "_"}
    outputs = [len(one) for name, one in fields.items() if name.endswith("out_indices") and one]
    least = max(_LAYERS, *outputs, len(getattr(config, "out_indices", None) or ()))
    found: Config = {}
    for name, value in fields.items():
        if hasattr(value, "to_dict"):
            if inner := _few_layers(value):
                given = {key: one for key, one in value.to_diff_dict().items() if key not in _NOT_FIELDS}
                found[name] = merge_configs(given, inner)
        elif _DEPTH.fullmatch(name) and type(value) is int and value > least:
            by_layer = {
                key: one for key, one in fields.items() if isinstance(one, list | tuple) and len(one) == value
            }
            chosen = _each_kind([*zip(*by_layer.values(), strict=True)], least)
            if fields.get(_SHARED):  # of each kind one more, which takes the keys of the first
                found[_SHARED], chosen = len(chosen), chosen * 2
            found |= {name: len(chosen)} | {key: [one[i] for i in chosen] for key, one in by_layer.items()}
        elif name.endswith("out_indices") and value:
            found[name] = [one + (name == "out_indices") for one in range(len(value))]
        elif _LISTS.fullmatch(name) and _are_layers(value):
            found |= {} if all(-_LAYERS <= one < _LAYERS for one in value) else {name: _shorter(name, value)}
    return found | _last_stages(config, found)


def _are_layers(value: Any) -> bool:
    return isinstance(value, list | tuple) and {*map(type, value)} == {int}


def _last_stages(config: Any, found: Config) -> Config:
    """Return the outputs of a backbone whose stages are layers: as many as before, the last ones."""
    names, depths = getattr(config, "stage_names", ()), [found[one] for one in found if _DEPTH.fullmatch(one)]
    stages, outputs = getattr(config, "num_hidden_layers", 0), len(getattr(config, "out_indices", None) or ())
    if not depths or len(names) != stages + 1:
        return {}
    last = [*range(depths[0] + 1)][-outputs:]
    return {"out_indices": last, "out_features": [names[one] for one in last]}


def _shorter(name: str, layers: Sequence[int]) -> list[int]:
    """Return which of few layers are chosen; as many as before if their outputs are concatenated."""
    if "deepstack" in name or "block" in name or "cross" in name:
        return [*range(_LAYERS)][-len(layers) :] if "cross" not in name else [_LAYERS - 1]
    return [min(max(one, -_LAYERS - 1), _LAYERS - 1) for one in layers]


def _each_kind(layers: list[Any], least: int) -> list[int]:
    """Return the places of one layer of each kind, of a number at least."""
    first = sorted({str(layer): place for place, layer in reversed([*enumerate(layers)])}.values())
    return first if len(first) >= least else [*range(least)]


def item_sizes(point: Any) -> set[tuple[str, Any]]:
    """Return the modality and the size of each item."""
    if not isinstance(point, Call | Step):
        return set()
    return {(modality, size) for modality in MODALITIES for size in getattr(point, modality)}


def other_size(point: Any, taken: set[tuple[str, Any]]) -> str:
    """Return the only size of a call's items if one of another size was taken; '' for other calls."""
    sizes = item_sizes(point)
    if len(sizes) != 1 or sizes & taken or (isinstance(point, Call) and point.past):
        return ""
    [(modality, size)] = sizes
    return value_text(sizes_of(size)) if modality in {one for one, _ in taken} else ""
