"""Patches with their positions, padded to the most, as Gemma 4's processors cut images and videos."""

from __future__ import annotations

from typing import Any

from archspec.reference.media.receiver import POSITIONS, Receiver
from archspec.reference.media.values import integers, random

_PADDED = [-1, -1]  # the position of padding
_COLORS = 3


def image_patches(to: Receiver) -> dict[str, Any]:
    """Return patches of each image, and their columns and rows."""
    patches, positions = _cut(to, "images", list(to.call.images))
    return {"pixel_values": patches, next(iter(POSITIONS & to.names)): positions}


def video_patches(to: Receiver) -> dict[str, Any]:
    """Return patches of the frames of all videos, one after the other."""
    counts = [frames for frames, _, _ in to.call.videos]
    sizes = [size for frames, *size in to.call.videos for _ in range(frames)]
    patches, positions = _cut(to, "videos", sizes)
    return {
        "pixel_values_videos": patches,
        "video_position_ids": positions,
        "num_frames_per_video": integers(counts),
    }


def _cut(to: Receiver, kind: str, sizes: list[Any]) -> tuple[Any, Any]:
    side = to.padded_patch
    whole = to.patch * to.merge
    if any(edge % whole for size in sizes for edge in size):
        raise ValueError(f"sizes are not multiples of patches of {whole} by {whole}")
    grids = [(height // side, width // side) for height, width in sizes]
    most = to.patch_count(kind, [rows * columns for rows, columns in grids])
    placed = [
        [[column, row] for row in range(rows) for column in range(columns)]
        + [_PADDED] * (most - rows * columns)
        for rows, columns in grids
    ]
    return random(to.model, len(grids), most, _COLORS * side**2), integers(placed)
