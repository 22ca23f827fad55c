"""Image processors that turn a file into a grid of patches, of a number that depends on its size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import ceil, floor, sqrt

from archspec.processors import resizing
from archspec.processors.canvas import Canvas
from archspec.processors.parameters import Parameters, Size
from archspec.processors.resizing import align
from archspec.tables.items import size_text

_LIMITS = {"shortest_edge": "min_pixels", "longest_edge": "max_pixels"}  # -> their former names
_CHANNELS = (1, 3)
_SOFT_TOKENS = (70, 140, 280, 560, 1120)  # that Gemma 4 supports


def pixel_limits(p: Parameters) -> tuple[int, int]:
    """Return the minimum and maximum number of pixels, which a size has in place of its edges."""
    former = "size" not in p.call
    least, most = (
        p.integer(name) if former and p.get(name) is not None else p.edges("size", edge)[0]
        for edge, name in _LIMITS.items()
    )
    return least, most


def whole_patches(p: Parameters, image: Canvas, factor: int) -> None:
    """Refuse an image that is not resized, and cannot be cut into whole patches."""
    if image.size[0] % factor or image.size[1] % factor:
        image.refuse(f"has sides that are not multiples of {factor}, and do_resize is false")


def resize_to_pixels(
    p: Parameters, image: Canvas, limits: tuple[int, int], frames: Size = (1, 1), size: Size | None = None
) -> None:
    """Resize to whole merged patches with a limited number of pixels."""
    factor = p.integer("patch_size") * p.integer("merge_size")
    size = size or image.size
    if resizing.is_elongated(size):
        image.refuse("has an aspect ratio of more than 200, which the class rejects")
    image.resize(resizing.fit_pixels(size, factor, *limits, frames))


def qwen(p: Parameters, image: Canvas) -> None:
    """Resize to whole patches with a limited number of pixels (Qwen2-VL)."""
    if not p.flag("do_resize"):
        whole_patches(p, image, p.integer("patch_size") * p.integer("merge_size"))
        return
    limits = pixel_limits(p)
    size = image.size
    if p.name.startswith("Paddle"):
        size = _enlarge(size, p.integer("patch_size") * p.integer("merge_size"))
    resize_to_pixels(p, image, limits, size=size)


def _enlarge(size: Size, factor: int) -> Size:
    height, width = size
    if height < factor:
        height, width = factor, round(width * factor / height)
    if 0 < width < factor:
        height, width = round(height * factor / width), factor
    return max(height, 1), max(width, 1)


def glm(p: Parameters, image: Canvas) -> None:
    """Resize to whole patches with a limited number of pixels in a temporal patch (GLM-4V)."""
    factor = p.integer("patch_size") * p.integer("merge_size")
    if p.get("patch_expand_factor") not in (None, 1):
        p.refuse("patch_expand_factor", "is not supported", "set it to 1")
    if not p.flag("do_resize"):
        whole_patches(p, image, factor)
        return
    frames = p.integer("temporal_patch_size")
    shortest, longest = p.edges("size", "shortest_edge", "longest_edge")
    size = resizing.enlarge_to_factor(image.size, factor)
    resize_to_pixels(p, image, (shortest, longest), (frames, frames), size)


def emu(p: Parameters, image: Canvas) -> None:
    """Resize to multiples of the spatial factor with a limited number of pixels."""
    if p.flag("do_resize"):
        names = tuple(_LIMITS.values())
        by_size = p.name.startswith("Apertus")
        limits = p.edges("size", *names) if by_size else [p.integer(name) for name in names]
        if p.name.startswith("Emu3") and image.size[0] in _CHANNELS:
            image.refuse("has so few rows that the class takes them for channels")
        if resizing.is_elongated(image.size):
            image.refuse("has an aspect ratio of more than 200, which the class rejects")
        image.resize(resizing.fit_pixels(image.size, p.integer("spatial_factor"), limits[0], limits[1]))


def note_batch(p: Parameters, images: Sequence[Canvas]) -> None:
    """Report the padding that a model cuts off by the sizes of the images."""
    if p.flag("do_pad") and len({image.size for image in images}) > 1:
        largest = [max(image.size[side] for image in images) for side in (0, 1)]
        for image in images:
            image.note(f"padded to {size_text(largest)} in the batch")


def pixtral(p: Parameters, image: Canvas) -> None:
    """Shrink into a square, and round up to whole patches."""
    if p.flag("do_resize"):
        keys, patch = p.size(), p.sides("patch_size")
        limit = (keys["longest_edge"],) * 2 if "longest_edge" in keys else p.sides()
        ratio = max(image.size[0] / limit[0], image.size[1] / limit[1])
        height, width = image.size
        if ratio > 1:
            height, width = floor(height / ratio), floor(width / ratio)
        image.resize((align(height, patch[0]), align(width, patch[1])))
    if p.flag("do_center_crop"):
        image.crop(p.sides("crop_size"))


def siglip2(p: Parameters, image: Canvas) -> None:
    """Resize to at most a number of patches; a tensor has that number."""
    patch, most = p.integer("patch_size"), p.integer("max_num_patches")
    if p.flag("do_resize"):
        image.resize(resizing.fit_patches(image.size, patch, most))
    _cut_to_patches(image, patch, most)
    image.pad_patches(most)


def _cut_to_patches(image: Canvas, patch: int, most: int) -> None:
    rows, columns = image.size[0] // patch, image.size[1] // patch
    image.resize((rows * patch, columns * patch), "cut to")
    if rows * columns > most:
        image.refuse(f"has more than {most:,} patches")


def gemma4(p: Parameters, image: Canvas) -> None:
    """Resize to at most a number of patches, of whole pooling windows."""
    tokens, patch = p.choice("max_soft_tokens", *_SOFT_TOKENS), p.integer("patch_size")
    pool = p.integer("pooling_kernel_size")
    most, side = tokens * pool**2, pool * patch
    if p.flag("do_resize"):
        image.resize(_gemma4_size(image, most * patch**2, side, most // pool**2 * side))
    else:
        whole_patches(p, image, patch)
    _cut_to_patches(image, patch, most)
    image.pad_patches(tokens if p.name.startswith("Gemma4Unified") else most)  # whose patches are merged ones


def _gemma4_size(image: Canvas, pixels: int, side: int, longest: int) -> Size:
    height, width = image.size
    factor = sqrt(pixels / (height * width))
    rows, columns = (floor(factor * edge / side) * side for edge in image.size)
    if rows == 0 and columns:
        rows, columns = side, min(floor(width / height) * side, longest)
    elif columns == 0 and rows:
        rows, columns = min(floor(height / width) * side, longest), side
    if rows * columns > pixels:
        image.refuse("becomes larger than the class supports")
    return rows, columns


def pix2struct(p: Parameters, image: Canvas) -> None:
    """Resize to at most a number of patches, whatever the size of a file."""
    if p.get("is_vqa"):
        p.refuse("is_vqa", "is set: the height of the header with the question is unknown", "set it to false")
    most, patch = p.integer("max_patches"), p.sides("patch_size")
    scale = sqrt(most * (patch[0] / image.size[0]) * (patch[1] / image.size[1]))
    rows, columns = (
        max(min(floor(scale * edge / part), most), 1) for edge, part in zip(image.size, patch, strict=True)
    )
    image.resize((rows * patch[0], columns * patch[1]))
    image.pad_patches(most)


def kimi(p: Parameters, image: Canvas) -> None:
    """Shrink to a limited number of patches, and pad to whole merged ones."""
    patch, merge, most = p.integer("patch_size"), p.integer("merge_size"), p.integer("max_patches")
    if not p.flag("do_resize"):
        whole_patches(p, image, patch)
        return
    longest = p.edges("size", "max_height")[0] * patch
    (height, width), factor = image.size, merge * patch
    count = max(1.0, height // patch) * max(1.0, width // patch)
    scale = min(1.0, sqrt(most / count), longest / height, longest / width)
    rows, columns = (min(max(1, int(edge * scale)), longest) for edge in image.size)
    image.resize((rows, columns))
    image.pad((align(rows, factor), align(columns, factor)))


def muse(p: Parameters, image: Canvas) -> None:
    """Resize to the grid of a limited number of tokens with the nearest aspect ratio."""
    key = "max_video_frame_tokens" if image.frames else "max_image_tokens"
    side, most = p.integer("patch_size") * p.integer("merge_size"), p.integer(key)
    if not p.flag("do_resize"):
        whole_patches(p, image, p.integer("patch_size"))
        return
    (height, width) = image.size
    rows, columns = height / side, width / side
    ratio = columns / rows
    if rows * columns > most:
        rows = (most / ratio) ** 0.5
        columns = rows * ratio
    grids = {*product((floor(rows), ceil(rows)), (floor(columns), ceil(columns)))}
    fitting = [grid for grid in grids if min(grid) >= 1 and grid[0] * grid[1] <= most]
    fitting = fitting or [(max(1, round(rows)), max(1, round(columns)))]
    best = min(fitting, key=lambda grid: abs(grid[0] / grid[1] - height / width))
    image.resize((best[0] * side, best[1] * side))
