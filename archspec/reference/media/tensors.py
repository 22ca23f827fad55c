"""Tensors of images, videos and audio of stated sizes, as processors make them, with all their masks."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from archspec.reference.media import by_type
from archspec.reference.media.crops import crops, image_crops, padded_crops, patches_in_row, video_crops
from archspec.reference.media.positioned import image_patches, video_patches
from archspec.reference.media.receiver import FEATURES, POSITIONS, Receiver
from archspec.reference.media.values import integers, ones, random

Inputs = dict[str, Any]
_MELS = (
    "num_mel_bins",
    "feature_size",
    "feature_projection_input_dim",
    "input_feat_per_channel",
    "n_mels",
    "input_dim",
    "input_size",
    "model_in_dim",
    "mel_dim",
)
_VIDEO_MERGE = 2  # by default of the processor of Video-LLaMA 3


def images(to: Receiver) -> Inputs:
    """Return the arguments for the images of a forward pass."""
    return (_cut_images(to) or _whole_images(to)) if to.call.images else {}


def _cut_images(to: Receiver) -> Inputs:
    """Return images that a processor cuts into patches or tiles; nothing for whole images."""
    sizes = to.call.images
    if to.grid_name:
        return _patches(to, [(1, height, width) for height, width in sizes], to.grid_name)
    if POSITIONS & to.names:
        return image_patches(to)
    if "image_sizes" in to.names and to.find("image_grid_pinpoints"):
        return _tiles(to)
    if "flattened_patches" in to.names:
        counts = [(height // to.patch) * (width // to.patch) for height, width in sizes]
        shape = (len(sizes), to.patch_count("images", counts), 2 + to.channels * to.patch**2)
        return {"flattened_patches": random(to.model, *shape)}
    makers = {
        "spatial_shapes": _padded_patches,
        "target_sizes": lambda to: patches_in_row(to, to.call.images),
        "image_token_pooling": image_crops,
        "image_pixel_values": padded_crops,
        "aspect_ratio_ids": _mllama_tiles,
    }
    return next((make(to) for name, make in makers.items() if name in to.names), {})


def _whole_images(to: Receiver) -> Inputs:
    sizes = to.call.images
    shape = (max(height for height, _ in sizes), max(width for _, width in sizes))
    batch, n = to.call.batch, len(sizes)
    grouped = "pixel_attention_mask" in to.names or to.config.model_type in by_type.BY_SEQUENCE
    lead = (batch, _each(to)) if grouped else (n,)
    if to.config.model_type in by_type.PAIRS:
        lead = n, 2
    found = {"pixel_values": random(to.model, *lead, to.channels, *shape)}
    if to.config.model_type == "molmo2_vision":
        return {"pixel_values": crops(to, n)}
    if "high_res_pixel_values" in to.names:
        side = to.config.high_res_vision_config.image_size
        found["high_res_pixel_values"] = random(to.model, n, to.channels, side, side)
    if to.lists_sizes:
        return found | {"image_sizes": integers(sizes)}
    if len({*sizes}) > 1:
        raise ValueError("images of several sizes in one call")
    if grouped and "pixel_attention_mask" in to.names:
        found["pixel_attention_mask"] = ones(*lead, *shape)
    if "interpolate_pos_encoding" in to.names and shape != to.side:
        found["interpolate_pos_encoding"] = True
    if "image_encoder_embeddings" in to.names:
        found["image_attention_mask"] = ones(batch, to.call.tokens, _each(to))
    return found | _prompts(to, shape)


def _prompts(to: Receiver, shape: tuple[int, int]) -> Inputs:
    """Return what segmentation models take with images: SegGPT an example, OneFormer a task."""
    n = len(to.call.images)
    names = {"prompt_pixel_values", "prompt_masks"} & to.names
    found = {name: random(to.model, n, to.channels, *shape) for name in names}
    return found | ({"task_inputs": ones(n, to.config.task_seq_len)} if "task_inputs" in to.names else {})


def videos(to: Receiver) -> Inputs:
    """Return the arguments for the videos of a forward pass."""
    sizes = to.call.videos
    if not sizes:
        return {}
    if "video_grid_thw" in to.names:
        found = _patches(to, sizes, "video_grid_thw")
        return {"pixel_values_videos": found.pop("pixel_values"), **found}
    if "video_position_ids" in to.names:
        return video_patches(to)
    if "video_token_pooling" in to.names:
        return video_crops(to)
    if "target_sizes_videos" in to.names:
        return patches_in_row(to, [size for frames, *size in sizes for _ in range(frames)], "_videos")
    if len({*sizes}) > 1:
        raise ValueError("videos of several sizes in one call")
    frames, height, width = sizes[0]
    name = "pixel_values_videos" if "pixel_values_videos" in to.names else "pixel_values"
    one_by_one = to.config.model_type in by_type.FRAME_BY_FRAME
    lead = (len(sizes) * frames,) if one_by_one else (len(sizes), frames)
    found = {name: random(to.model, *lead, to.channels, height, width)}
    if "interpolate_pos_encoding" in to.names and (height, width) != to.side:
        found["interpolate_pos_encoding"] = True
    return found


def audios(to: Receiver) -> Inputs:
    """Return the arguments for the audio of a forward pass."""
    lengths = to.call.audios
    if not lengths:
        return {}
    if "feature_lens" in to.names:  # one after the other
        features = random(to.model, _mels(to), sum(lengths))
        return {"input_features": features, "feature_lens": integers(lengths)}
    tower = to.tower("audio")
    longest = max(lengths)
    if tower.model_type in by_type.WHOLE_CHUNKS:
        chunk = 2 * tower.n_window
        longest = -(-longest // chunk) * chunk
    found = _waveform(to, longest) if "input_values" in to.names else _spectrogram(to, longest)
    for name in _audio_masks(to, found):
        found[name] = integers([[1] * one + [0] * (longest - one) for one in lengths])
        if to.config.model_type in by_type.BOOL_MASKS:
            found[name] = found[name].bool()
    if "audio_mel_mask" in to.names:  # of padding
        found["audio_mel_mask"] = ~ones(len(lengths), longest).bool()
    if "chunk_sample_lengths" in to.names:
        found["chunk_sample_lengths"] = integers([one * tower.hop_length for one in lengths])
    if len({*lengths}) > 1 and len(found) == 1:
        raise ValueError("audio of several lengths in one call")
    return found


def _waveform(to: Receiver, longest: int) -> Inputs:
    """Return samples, and frames with as many as a second encoder makes of the samples."""
    n = len(to.call.audios)
    if to.config.model_type == "audio-spectrogram-transformer":
        return {"input_values": random(to.model, n, longest, to.config.num_mel_bins)}
    if to.config.model_type not in by_type.WITH_CHANNELS:
        return {"input_values": random(to.model, n, longest)}
    found = {"input_values": random(to.model, n, to.find("audio_channels", default=1), longest)}
    if "input_features" in to.names:
        frames = to.model.acoustic_encoder(found["input_values"]).shape[-1]
        found["input_features"] = random(to.model, n, frames, _mels(to))
    return found


def _spectrogram(to: Receiver, longest: int) -> Inputs:
    n, mels = len(to.call.audios), _mels(to)
    if to.config.model_type in ("clap", "clap_audio_model"):
        return {"input_features": random(to.model, n, 1, longest, mels), "is_longer": ones(n, 1).bool()}
    shape = (mels, longest) if to.tower("audio").model_type in by_type.MELS_FIRST else (longest, mels)
    return {next(name for name in FEATURES if name in to.names): random(to.model, n, *shape)}


def _audio_masks(to: Receiver, found: Inputs) -> set[str]:
    """Return the arguments that say which frames, or samples, are not padding."""
    if to.config.model_type in by_type.UNMASKED:
        return set()
    masks = set() if "input_values" in found else {"input_features_mask", "feature_attention_mask"}
    return to.names & (masks | ({"padding_mask"} if "input_ids" in to.names else set()))


def _mels(to: Receiver) -> int:
    """Return the features of a frame."""
    tower = to.tower("audio")
    if tower.model_type in by_type.MELS:
        return by_type.MELS[tower.model_type]
    stacked = by_type.STACKED_FRAMES.get(tower.model_type, getattr(tower, "num_stacked_frames", 1))
    return int(to.find(*_MELS, among=tower, default=80)) * int(stacked)


def _patches(to: Receiver, sizes: Any, grid: str) -> Inputs:
    """Return patches of images of any size, one after the other, as Qwen2-VL's processor cuts them."""
    merged = to.tower("vision").model_type in by_type.MERGED_PATCHES
    deep, side = to.frames_of_patch, to.patch * (to.merge if merged else 1)
    if any(h % side or w % side or (f > 1 and f % deep) for f, h, w in sizes):
        raise ValueError(f"sizes are not multiples of patches of {deep} frames and {side} by {side}")
    grids = [(-(-f // deep), h // side, w // side) for f, h, w in sizes]
    square = to.config.model_type in by_type.SQUARE_PATCHES
    shape = (to.channels, side, side) if square else (to.channels * deep * side**2,)
    shape = (side, side, to.channels) if merged else shape
    name = "hidden_states" if "hidden_states" in to.names else "pixel_values"
    rows = (1,) if to.config.model_type in by_type.PATCHES_IN_ROW else ()
    found = {name: random(to.model, *rows, sum(prod(one) for one in grids), *shape)}
    found[grid] = integers([one[1:] for one in grids] if grid == "image_grid_hw" else grids)
    merges = "video_merge_sizes" if grid == "video_grid_thw" else "image_merge_sizes"
    merge = _VIDEO_MERGE if merges == "video_merge_sizes" else to.merge
    return found | {one: integers([merge] * len(grids)) for one in {merges, "merge_sizes"} & to.names}


def _each(to: Receiver) -> int:
    """Return how many images each sequence has."""
    each, more = divmod(len(to.call.images), to.call.batch)
    if more:
        raise ValueError("sequences with unequal numbers of images")
    return each


def _padded_patches(to: Receiver) -> Inputs:
    """Return patches of each image, padded to the most, as Siglip2's processor cuts them."""
    if any(size % to.patch for one in to.call.images for size in one):
        raise ValueError(f"sizes are not multiples of patches of {to.patch} by {to.patch}")
    shapes = [(height // to.patch, width // to.patch) for height, width in to.call.images]
    counts = [prod(shape) for shape in shapes]
    most = to.patch_count("images", counts)
    return {
        "pixel_values": random(to.model, len(shapes), most, to.channels * to.patch**2),
        "pixel_attention_mask": integers([[1] * count + [0] * (most - count) for count in counts]),
        "spatial_shapes": integers(shapes),
    }


def _tiles(to: Receiver) -> Inputs:
    """Return tiles of the tower's size, as many as the class's own function counts for an image's size."""
    from transformers.models.llava_next.modeling_llava_next import image_size_to_num_patches

    side, pins = to.side, to.find("image_grid_pinpoints")
    assert side is not None
    tiles = max(image_size_to_num_patches(size, pins, side[0]) for size in to.call.images)
    shape = (len(to.call.images), tiles, to.channels, *side)
    return {"pixel_values": random(to.model, *shape), "image_sizes": integers(to.call.images)}


def _mllama_tiles(to: Receiver) -> Inputs:
    """Return Mllama's images: all of the tiles that an image may have."""
    batch, n, tiles = to.call.batch, _each(to), to.find("max_num_tiles", default=4)
    return {
        "pixel_values": random(to.model, batch, n, tiles, to.channels, *to.call.images[0]),
        "aspect_ratio_ids": ones(batch, n),
        "aspect_ratio_mask": ones(batch, n, tiles),
        "cross_attention_mask": ones(batch, to.call.tokens, n, tiles),
    }


MAKERS: dict[str, Callable[[Receiver], Inputs]] = {"image": images, "video": videos, "audio": audios}
