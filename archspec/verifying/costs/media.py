"""Forward passes with images, videos and audio to compare: items, sizes, and the text around them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

from archspec.configs.scope import Scope
from archspec.costs.media.items import takes
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.reference.classes import config_of, model_class
from archspec.reference.media.receiver import Receiver, kinds_of
from archspec.reference.media.running import least_tokens
from archspec.reference.verdicts import Refused, Unavailable
from archspec.specs.records import Spec
from archspec.verifying.blame import Config

TEXT = 7  # tokens in addition to those of media
_ENCODED = 9  # tokens of an encoder of text, or of a Q-Former
_SIDE, _FRAMES, _SAMPLES, _MEL_FRAMES = (224, 224), 4, 16000, 160
_LAYERS = 2
_NOT_FIELDS = ("dtype", "transformers_version", "_name_or_path", "per_layer_config")  # derived ones, too
_MROPE = {
    "rope_type": "default",
    "rope_theta": 10000.0,
    "mrope_section": [8, 12, 12],
    "partial_rotary_factor": 0.5,
}
_LLAMA4: Config = {"hidden_size": 1408, "vision_output_dim": 4096, "image_size": 336}
_FITTING: dict[str, Config] = {  # as in the configs of checkpoints
    "aria": {"vision_config": {"model_type": "idefics3_vision", "image_size": 490, "patch_size": 14}},
    "aya_vision": {"vision_config": {"model_type": "siglip_vision_model", "num_attention_heads": 16}},
    "blip-2": {"image_token_id": 50265},
    "gemma3": {"vision_config": {"image_size": 896, "patch_size": 14}},
    **{
        name: {f"{part}_config": {"model_type": f"{name}_{part}"} for part in ("vision", "audio")}
        for name in ("gemma4", "gemma4_unified")
    },
    "glm46v": {"text_config": {"model_type": "glm4v_text", "rope_parameters": _MROPE}},
    "glm4v": {"text_config": {"rope_parameters": _MROPE}},
    "glm4v_moe": {"text_config": {"head_dim": 128, "rope_parameters": _MROPE}},
    "glmga": {"text_config": {"model_type": "glm4v_text", "rope_parameters": _MROPE}},
    "idefics3": {"vision_config": {"image_size": 256}},
    "instructblip": {"image_token_id": 50265},
    "instructblipvideo": {"video_token_id": 50265},
    "janus": {"vision_config": {"projection_dim": 4096}},
    "llama4": {"vision_config": _LLAMA4},
    "llama4_vision_model": _LLAMA4,
    "qwen2_vl": {
        "vision_config": {"hidden_size": 3584},
        "text_config": {"hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4},
    },
    "shieldgemma2": {"vision_config": {"image_size": 896, "patch_size": 14}},
    "smolvlm": {"vision_config": {"image_size": 256}},
}
_DEPTH = re.compile(
    r"(num_hidden|num|n|encoder|decoder|num_encoder|num_decoder|hidden)_(layers?|blocks)|depth|num_res_blocks"
)
_LISTS = re.compile(r".*(indexes|indices|_index|deepstack_visual.*|feature_layers?|cross_attention_layers)")


def default_config(spec: Spec) -> Config:
    """Return the default config of a model type, with other sizes where those of its parts do not fit."""
    raw = {"model_type": spec.model_type, **spec.valid_config, **_FITTING.get(spec.model_type, {})}
    try:
        return merge_configs(raw, _fitting_width(config_of(spec.model_type, raw)))
    except (Refused, Unavailable):
        return raw


def _fitting_width(config: Any) -> Config:
    """Return the width of the vision tower's output if it is not the width of the text."""
    vision, text = getattr(config, "vision_config", None), getattr(config, "text_config", None)
    width, out = getattr(text, "hidden_size", None), getattr(vision, "out_hidden_size", None)
    return {"vision_config": {"out_hidden_size": width}} if width and out and width != out else {}


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
    """Yield a batch and the sizes of its items, of each kind and of all kinds."""
    for kind, (first, *others) in sizes.items():
        mixed = (first, others[0] if others and kind != "audios" and to.mixes else first, first)
        for one in (first, *others):
            yield 1, {kind: (one,)}
        if to.decodes or not to.has_text:
            yield 3, {kind: mixed}
        else:
            yield 1, {kind: mixed}
            yield 2, {kind: (first,) * 2}
            yield 2, {kind: (first, first, *mixed[1:])}
    if len(sizes) > 1:
        yield 2, {kind: (first,) * 2 for kind, (first, *_) in sizes.items()}


def _with_text(model: Any, call: Call, to: Receiver) -> Iterator[Call]:
    if not to.has_text:
        yield call
        return
    if "qformer_input_ids" in to.names:
        call = call._replace(encoder_tokens=_ENCODED, new_encoder_tokens=_ENCODED)
    least = least_tokens(model, call) if "input_ids" in to.names else 0
    whole = call._replace(tokens=TEXT if to.decodes else least + TEXT)
    if to.decodes and "input_ids" in to.names:
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
        step = unit if to.takes_patches else 32
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
    found: Config = {}
    for name, value in fields.items():
        if hasattr(value, "to_dict"):
            if inner := _few_layers(value):
                given = {key: one for key, one in value.to_diff_dict().items() if key not in _NOT_FIELDS}
                found[name] = merge_configs(given, inner)
        elif _DEPTH.fullmatch(name) and type(value) is int and value > _LAYERS:
            by_layer = {
                key: one for key, one in fields.items() if isinstance(one, list) and len(one) == value
            }
            chosen = _each_kind([*zip(*by_layer.values(), strict=True)])
            found |= {name: len(chosen)} | {key: [one[i] for i in chosen] for key, one in by_layer.items()}
        elif (
            _LISTS.fullmatch(name)
            and isinstance(value, list | tuple)
            and all(type(one) is int for one in value)
        ):
            found |= {} if all(-_LAYERS <= one < _LAYERS for one in value) else {name: _shorter(name, value)}
    return found


def _shorter(name: str, layers: Sequence[int]) -> list[int]:
    """Return which of few layers are chosen; as many as before if their outputs are concatenated."""
    if "deepstack" in name or "block" in name or "cross" in name:
        return [*range(_LAYERS)][-len(layers) :] if "cross" not in name else [_LAYERS - 1]
    return [min(max(one, -_LAYERS - 1), _LAYERS - 1) for one in layers]


def _each_kind(layers: list[Any]) -> list[int]:
    """Return the places of one layer of each kind, of two at least."""
    first = sorted({str(layer): place for place, layer in reversed([*enumerate(layers)])}.values())
    return first if len(first) >= _LAYERS else [*range(_LAYERS)]


def merge_configs(base: Config, over: Config) -> Config:
    """Return a config whose parts have the fields of both; the second one's win."""
    both = {name for name in base if isinstance(base[name], dict) and isinstance(over.get(name), dict)}
    return {**base, **over, **{name: merge_configs(base[name], over[name]) for name in both}}
