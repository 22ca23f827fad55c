"""Image processors that fit a grid of patches into a budget of pixels or tokens."""

from __future__ import annotations

from math import ceil, floor, sqrt

from archspec.processors.canvas import Canvas
from archspec.processors.images.patches import pixel_limits, whole_patches
from archspec.processors.parameters import Parameters, Size
from archspec.processors.resizing import align

_GLM_IMAGE_RATIO = 4  # the most of longer to shorter side


def glm_image(p: Parameters, image: Canvas) -> None:
    """Resize to half the size, within limits of both edges (GLM-Image)."""
    factor = p.integer("patch_size") * p.integer("merge_size")
    if not p.flag("do_resize"):
        whole_patches(p, image, factor)
        return
    shortest, longest = (round(sqrt(limit)) for limit in pixel_limits(p))
    if min(image.size) < factor or max(image.size) / min(image.size) > _GLM_IMAGE_RATIO:
        image.refuse(f"is smaller than {factor}, or has an aspect ratio of more than {_GLM_IMAGE_RATIO}")
    scale = shortest / min(image.size) if min(image.size) < shortest else 1.0
    scale = longest / max(image.size) if max(image.size) * scale > longest else scale
    rows, columns = (max(factor, round(edge // 2 * scale / factor) * factor) for edge in image.size)
    if max(rows, columns) > longest:
        beta = max(rows, columns) / longest
        rows, columns = (max(factor, floor(edge / beta / factor) * factor) for edge in (rows, columns))
    image.resize((rows, columns))


def glm5(p: Parameters, image: Canvas) -> None:
    """Resize into whole patches with a limited number of tokens, and pad (GLM-5)."""
    factor, step = p.integer("patch_size") * p.integer("merge_size"), p.integer("temporal_patch_size")
    if p.get("patch_expand_factor") not in (None, 1):
        p.refuse("patch_expand_factor", "is not supported", "set it to 1")
    if not p.flag("do_resize"):
        whole_patches(p, image, factor)
        return
    (height, width), frames = image.size, image.frames or step
    token = step * factor**2
    least, most = p.integer("min_image_tokens") * token, p.integer("max_image_tokens") * token
    target = _glm5_target(image, frames, step, factor, (least, most))
    scale = min(target[0] / height, target[1] / width)
    scale = min(1.0, scale) if frames * height * width >= least else scale
    rows, columns = (
        max(1, min(limit, floor(edge * scale))) for limit, edge in zip(target, image.size, strict=True)
    )
    image.resize((rows, columns))
    image.pad(target)


def _glm5_target(image: Canvas, frames: int, step: int, factor: int, limits: Size) -> Size:
    (height, width), (least, most) = image.size, limits
    whole = max(step, round(frames / step) * step)
    target = align(height, factor), align(width, factor)
    if whole * target[0] * target[1] < least:
        scale = sqrt(least / (frames * height * width))
        target = align(max(1, ceil(height * scale)), factor), align(max(1, ceil(width * scale)), factor)
    if whole * target[0] * target[1] <= most:
        return target
    if most < whole * factor**2:
        image.refuse("has more frames than max_image_tokens allows")
    low, high, target = 1, height, (factor, factor)
    while low <= high:
        middle = (low + high) // 2
        found = align(middle, factor), align(max(1, floor(width * middle / height)), factor)
        if whole * found[0] * found[1] <= most:
            target, low = found, middle + 1
        else:
            high = middle - 1
    return target


def neomme(p: Parameters, image: Canvas) -> None:
    """Resize into limits of pixels and of the longest side, and pad to whole patches (NeoMME)."""
    if p.flag("do_resize"):
        image.resize(_neomme_size(p, image.size))
    patch = p.integer("patch_size")
    image.pad((align(image.size[0], patch), align(image.size[1], patch)))


def _neomme_size(p: Parameters, size: Size) -> Size:
    least, most = p.edges("size", "min_pixels", "max_pixels") if p.get("size") is not None else (0, None)
    longest, pixels = p.integer("max_side") if p.get("max_side") is not None else None, size[0] * size[1]
    scale = (least / pixels) ** 0.5 if pixels < least else 1.0
    scale = min(scale, longest / max(size)) if longest else scale
    scale = min(scale, (most / pixels) ** 0.5) if most else scale
    if scale == 1.0:
        return size

    def fits(rows: int, columns: int) -> bool:
        return (not longest or max(rows, columns) <= longest) and (not most or rows * columns <= most)

    rows, columns = (max(1, round(edge * scale)) for edge in size)
    if not fits(rows, columns):
        rows, columns = (max(1, floor(edge * scale)) for edge in size)
        if most and rows * columns > most:
            return (max(1, most // columns), columns) if rows >= columns else (rows, max(1, most // rows))
        return rows, columns
    if pixels < least and rows * columns < least:
        larger = max(1, ceil(size[0] * scale)), max(1, ceil(size[1] * scale))
        return larger if fits(*larger) else (rows, columns)
    return rows, columns


def nemotron(p: Parameters, image: Canvas) -> None:
    """Resize to a grid with a limited number of patches; the limit depends on the images of a call."""
    patch, merge = p.integer("patch_size"), round(1 / p.number("downsample_ratio", 1e-3, 1))
    least, most = p.integer("min_num_patches"), p.integer("max_num_patches")
    available = (p.integer("max_model_len", 5) - 4) * merge**2
    most = max(min(max(available, least), most), least)
    rows, columns = (round(edge / patch + 0.5) for edge in image.size)
    factor = min(sqrt(most / (rows * columns)), 1.0)
    rows, columns = floor(factor * rows), floor(factor * columns)
    if most > least and 0 < rows * columns < least:
        factor = sqrt(least / (rows * columns))
        rows, columns = ceil(factor * rows), ceil(factor * columns)
    rows = _align_within(rows, merge, columns, most)
    columns = _align_within(columns, merge, rows, most)
    image.resize((rows * patch, columns * patch))


def _align_within(edge: int, merge: int, other: int, most: int) -> int:
    rest = edge % merge
    if not rest:
        return edge
    larger = edge + merge - rest
    return larger if larger * other <= most else max(merge, edge - rest)


def inkling(p: Parameters, image: Canvas) -> None:
    """Pad to whole patches."""
    height, width = p.sides()
    image.pad((align(image.size[0], height), align(image.size[1], width)))
