"""Images cut into crops or into patches: as the processors of Molmo 2, Phi-4-multimodal and MiniCPM-V do."""

from __future__ import annotations

from math import prod
from typing import Any

from archspec.reference.media.receiver import CROPS_OVERLAP, Receiver
from archspec.reference.media.values import integers, random

_POOLED, _POOLED_OF_FRAMES = 2, 3  # patches along the height that become one token


def image_crops(to: Receiver) -> dict[str, Any]:
    """Return the patches of all crops, of an image as a whole and of its tiles, and what each token pools."""
    side, number, grids = _side(to) // to.patch, 0, []
    for height, width in to.call.images:
        edges = height // to.patch, width // to.patch
        if any((edge - CROPS_OVERLAP) % (side - CROPS_OVERLAP) for edge in edges):
            raise ValueError("crops do not cover the image")
        grids.append([*[_ceil(side, _POOLED)] * 2, *(_ceil(edge, _POOLED) for edge in edges)])
        number += 1 + prod((edge - CROPS_OVERLAP) // (side - CROPS_OVERLAP) for edge in edges)
    return {
        "pixel_values": crops(to, number),
        "image_token_pooling": _first_patches(sum(a * b + c * d for a, b, c, d in grids), _POOLED),
        "image_grids": integers(grids),
    }


def video_crops(to: Receiver) -> dict[str, Any]:
    """Return the patches of all frames, each of which is one crop, and what each token pools."""
    rows = _ceil(_side(to) // to.patch, _POOLED_OF_FRAMES)
    grids = [[frames, rows, rows] for frames, _, _ in to.call.videos]
    number = sum(frames for frames, _, _ in grids)
    return {
        "pixel_values_videos": crops(to, number),
        "video_token_pooling": _first_patches(number * rows**2, _POOLED_OF_FRAMES),
        "video_grids": integers(grids),
    }


def crops(to: Receiver, number: int) -> Any:
    """Return the patches of crops, as rows of pixels."""
    return random(to.model, number, (_side(to) // to.patch) ** 2, to.channels * to.patch**2)


def padded_crops(to: Receiver) -> dict[str, Any]:
    """Return an image as a whole and its crops, as many as the largest image has, and masks of padding."""
    import torch

    side, patch, crop = _side(to), to.patch, _crop(to)
    grid = side // patch
    shapes = [(_ceil(height, crop), _ceil(width, crop)) for height, width in to.call.images]
    most = 1 + max(map(prod, shapes))
    mask = torch.ones(len(shapes), most, grid, grid, dtype=torch.long)
    for seen, (height, width), (down, across) in zip(mask, to.call.images, shapes, strict=True):
        whole = torch.zeros(down * grid, across * grid, dtype=torch.long)
        rows = down * grid - (down * crop - height) // patch
        columns = across * grid - (across * crop - width) // patch
        whole[:rows, :columns] = 1
        parts = whole.reshape(down, grid, across, grid).transpose(1, 2)
        seen[1 : 1 + down * across] = parts.reshape(-1, grid, grid)
    return {
        "image_pixel_values": random(to.model, len(shapes), most, to.channels, side, side),
        "image_sizes": integers([[down * crop, across * crop] for down, across in shapes]),
        "image_attention_mask": mask,
    }


def tokens_of_crops(to: Receiver, given: dict[str, Any]) -> list[int]:
    """Return the tokens of each image: one for 2 by 2 patches without padding, and one after each row."""
    found = []
    for seen, (height, width) in zip(
        given["image_attention_mask"], given["image_sizes"].tolist(), strict=True
    ):
        down, across = height // _crop(to), width // _crop(to)
        pooled = seen[1 : 1 + down * across, ::2, ::2]
        half = pooled.shape[-1]
        whole = pooled.reshape(down, across, half, half).transpose(1, 2).reshape(down * half, across * half)
        found.append(half * (half + 1) + 1 + int(whole.sum()) + int(whole[:, 0].sum()))
    return found


def patches_in_row(to: Receiver, sizes: Any, kind: str = "") -> dict[str, Any]:
    """Return the patches of all images as one row of them, and how many each image has."""
    if any(edge % to.patch for one in sizes for edge in one):
        raise ValueError(f"sizes are not multiples of patches of {to.patch} by {to.patch}")
    grids = [[height // to.patch, width // to.patch] for height, width in sizes]
    columns = to.patch * sum(prod(grid) for grid in grids)
    pixels = random(to.model, 1, to.channels, to.patch, columns)
    return {f"pixel_values{kind}": pixels, f"target_sizes{kind}": integers(grids)}


def _crop(to: Receiver) -> int:
    return int(to.find("crop_size", default=_side(to)))


def _side(to: Receiver) -> int:
    assert to.side is not None
    return to.side[0]


def _first_patches(tokens: int, pooled: int) -> Any:
    """Return the patches that each token pools: which ones changes no cost."""
    import torch

    return torch.zeros(tokens, pooled**2, dtype=torch.long)


def _ceil(number: int, unit: int) -> int:
    return -(-number // unit)
