"""Token ids with placeholders: as many as the model itself makes of each image, video or audio."""

from __future__ import annotations

import inspect
from typing import Any
from weakref import WeakKeyDictionary

from archspec.reference.contents import configs_in
from archspec.reference.media import by_type
from archspec.reference.media.crops import tokens_of_crops
from archspec.reference.media.receiver import Receiver
from archspec.reference.media.tensors import MAKERS, Inputs
from archspec.reference.media.values import integers, random

_CODES = {"image": 1, "video": 2, "audio": 3}  # of mm_token_type_ids
_PLACEHOLDERS = WeakKeyDictionary[Any, dict[Any, dict[str, list[int]]]]()
_FIRST_WORD = 5  # the ids before are often special
_MOST_WORDS = 10000


def _media(to: Receiver) -> dict[str, Inputs]:
    """Return the arguments for images, videos and audio; a Q-Former's text comes with its images."""
    given = {kind: make(to) for kind, make in MAKERS.items()}
    if "qformer_input_ids" in to.names:
        for taken in (given[kind] for kind in given if given[kind]):
            taken["qformer_input_ids"] = _words(to, to.call.encoder_tokens)
    return given


def placeholders(to: Receiver, given: dict[str, Inputs]) -> dict[str, list[int]]:
    """Return how many tokens each image, video and audio becomes, by kind; counted once for a model."""
    known = _PLACEHOLDERS.setdefault(to.model, {})
    key = (to.call.batch, to.items)
    if key not in known:
        known[key] = _count_placeholders(to, given)
    return known[key]


def _count_placeholders(to: Receiver, given: dict[str, Inputs]) -> dict[str, list[int]]:
    found = {}
    for kind, taken in given.items():
        get = _features_of(to.model, kind, taken)
        field = by_type.TOKENS_OF_ITEM.get((to.config.model_type, kind))
        if get is None and "pixel_values_videos" in taken:  # frames run like images
            taken = {"pixel_values": taken["pixel_values_videos"]}
            get = _features_of(to.model, "image", taken)
        if taken and field is not None and _token(to, kind) is not None:
            sizes = getattr(to.call, f"{kind}s")
            found[kind] = [int(to.find(field)) * (size[0] if kind == "video" else 1) for size in sizes]
        elif "image_pixel_values" in taken:
            found[kind] = tokens_of_crops(to, taken)
        elif taken and get is None and "feature_attention_mask" in taken:
            found[kind] = _lengths(to.model, taken["feature_attention_mask"])
        elif taken and get is not None and _token(to, kind) is not None:
            found[kind] = _rows(get, taken, getattr(to.call, f"{kind}s"))
    return found


def _token(to: Receiver, kind: str) -> int | None:
    found = to.find(f"{kind}_token_id", f"{kind}_token_index")
    return found if isinstance(found, int) else None


def _features_of(model: Any, kind: str, given: Inputs) -> Any:
    """Return the method, of a model or one inside, that encodes media and names their inputs."""
    methods = [getattr(module, f"get_{kind}_features", None) for module in model.modules()]
    return max(
        (one for one in methods if one is not None), key=lambda one: len(_taken(one, given)), default=None
    )


def _taken(get: Any, given: Inputs) -> Inputs:
    names = inspect.signature(inspect.unwrap(get)).parameters
    return {name: value for name, value in given.items() if name in names}


def _rows(get: Any, given: Inputs, items: tuple[Any, ...]) -> list[int]:
    """Return how many features each item becomes."""
    import torch

    if "input_ids" in inspect.signature(inspect.unwrap(get)).parameters:  # which need to have them already
        return _lengths(get.__self__, given["input_features_mask"])
    output = get(**_taken(get, given))
    pooled = getattr(output, "pooler_output", None)
    if pooled is None and getattr(output, "deepstack_features", None):  # Granite 4 Vision's
        pooled = output.deepstack_features[0][1]
    pooled = getattr(output, "last_hidden_state", output) if pooled is None else pooled
    if isinstance(pooled, torch.Tensor) and pooled.ndim == 2:  # all of them, one after the other
        if len({*items}) > 1:
            raise ValueError("how many features each of the unlike items becomes is not known")
        return [pooled.shape[0] // len(items)] * len(items)
    return [one.reshape(-1, one.shape[-1]).shape[0] for one in pooled]


def _lengths(model: Any, mask: Any) -> list[int]:
    """Return how many features each audio becomes, of those that a mask lets through."""
    count = "_get_feat_extract_output_lengths"
    tower = next(module for module in model.modules() if hasattr(module, count))
    _, lengths = getattr(tower, count)(mask.sum(-1))
    return [int(length) for length in lengths]


def tokens_of_media(to: Receiver) -> int:
    """Return the least tokens of a sequence: those of its media, and a word before each."""
    counts = placeholders(to, _media(to))
    if "image_embeds_position_mask" in to.names:
        return int(to.find("latent_query_num") * len(to.call.images) // to.call.batch)
    return max(len(row) for row, _ in _sequences(to, counts))


def _sequences(to: Receiver, counts: dict[str, list[int]]) -> list[tuple[list[int], list[int]]]:
    """Return the ids and types of the tokens of media, by sequence."""
    word = _word(to)
    rows = [(list[int](), list[int]()) for _ in range(to.call.batch)]
    for kind, each in counts.items():
        for place, count in enumerate(each):
            row, types = rows[place * len(rows) // len(each)]
            row += [word] + [_token(to, kind) or 0] * count
            types += [0] + [_CODES[kind]] * count
    return rows


def prompt(to: Receiver, counts: dict[str, list[int]], tokens: int) -> Inputs:
    """Return token ids of a length, with the placeholders of a sequence before its text.

    Errors: ValueError if the placeholders are more than the tokens.
    """
    rows, word = _sequences(to, counts), _word(to)
    if max(len(row) for row, _ in rows) > tokens:
        raise ValueError(f"the placeholders are more than {tokens} tokens")
    seen = [len(types) + types.count(0) for _, types in rows]  # with a token before and after each item
    for row, types in rows:
        types += [0] * (tokens - len(row))
        row += [word] * (tokens - len(row))
    found = {"input_ids": integers([row for row, _ in rows])}
    if "mm_token_type_ids" in to.names:
        found["mm_token_type_ids"] = integers([types for _, types in rows])
    if "moe_mm_token_type_ids" in to.names:
        found["moe_mm_token_type_ids"] = integers([[1] * one + [0] * (tokens - one) for one in seen])
    return found


def _word(to: Receiver) -> int:
    """Return the id of an ordinary token."""
    fields = [item for config in configs_in(to.config) for item in vars(config).items()]
    special = {value for name, value in fields if name.endswith(("_id", "_index")) and isinstance(value, int)}
    return next(word for word in range(_FIRST_WORD, _MOST_WORDS) if word not in special)


def inputs(to: Receiver) -> Inputs:
    """Return the inputs of a forward pass, whose media are not in the past."""
    given = _media(to)
    found = {name: value for taken in given.values() for name, value in taken.items()}
    if to.decodes:
        if "input_ids" not in to.names and any(len(items) not in (0, to.call.batch) for items in to.items):
            raise ValueError("an encoder-decoder takes one item for each sequence")
        if "decoder_input_ids" in to.names:
            found["decoder_input_ids"] = _words(to, to.call.tokens)
        else:  # SpeechT5's frames
            shape = (to.call.batch, to.call.tokens, to.config.num_mel_bins)
            found["decoder_input_values"] = random(to.model, *shape)
    if "input_ids" in to.names:
        tokens = to.call.encoder_tokens if to.decodes else to.call.tokens
        if tokens:
            found |= prompt(to, placeholders(to, given), tokens)
        if to.config.model_type == "udop":  # boxes of words, as parts of the page
            found["bbox"] = random(to.model, to.call.batch, tokens, 4)
        if to.config.model_type == "layoutlmv3":  # of words, as the processor gives them
            found["bbox"] = integers([[[0] * 4] * tokens] * to.call.batch)
    if "image_embeds_position_mask" in to.names and to.call.images:
        found["image_embeds_position_mask"] = _positions(to)
    return found


def _words(to: Receiver, tokens: int) -> Any:
    return integers([[_word(to)] * tokens] * to.call.batch)


def _positions(to: Receiver) -> Any:
    """Return a mask of the tokens that are an image's: the first of each sequence."""
    count = to.find("latent_query_num") * len(to.call.images) // to.call.batch
    if count > to.call.tokens:
        raise ValueError(f"the placeholders are more than {to.call.tokens} tokens")
    return integers([[1] * count + [0] * (to.call.tokens - count)] * to.call.batch)
