"""Heights and widths after transformers' resizing functions, in the same floating-point operations."""

from __future__ import annotations

from math import ceil, floor, sqrt

from archspec.processors.parameters import Size

_MAX_RATIO = 200  # of the sides of an image, in the models of Qwen's kind


def fit_shortest(size: Size, edge: int) -> Size:
    """Return the size with a given shortest edge (get_resize_output_image_size)."""
    height, width = size
    short, long = (width, height) if width <= height else (height, width)
    other = int(edge * long / short)
    return (other, edge) if width <= height else (edge, other)


def fit_edges(size: Size, shortest: int, longest: int, keep_tall: bool = True) -> Size:
    """Return the size with a given shortest edge, or less if the longest is limited (DETR).

    With ``keep_tall`` an image higher than wide keeps its size if its width is right, even with rounding.
    """
    height, width = size
    smaller, larger, raw = float(min(size)), float(max(size)), 0.0
    if larger / smaller * shortest > longest:
        raw = longest * smaller / larger
        shortest = round(raw)
    if (height <= width and height == shortest) or (keep_tall and width <= height and width == shortest):
        return size
    if width < height:
        return int((raw or shortest) * height / width), shortest
    return shortest, int((raw or shortest) * width / height)


def fit_inside(size: Size, max_height: int, max_width: int) -> Size:
    """Return the largest size with the same aspect ratio inside a rectangle."""
    scale = min(max_height / size[0], max_width / size[1])
    return int(size[0] * scale), int(size[1] * scale)


def fit_longest(size: Size, longest: int) -> Size:
    """Return the size with a given longest edge, rounded (SAM)."""
    scale = longest * 1.0 / max(size)
    return int(size[0] * scale + 0.5), int(size[1] * scale + 0.5)


def by_keys(keys: dict[str, int], size: Size) -> Size | None:
    """Return the size after resizing by the keys of a processor's size; None if they are not supported."""
    if "longest_edge" in keys and "shortest_edge" in keys:
        return fit_edges(size, keys["shortest_edge"], keys["longest_edge"])
    if "shortest_edge" in keys:
        return fit_shortest(size, keys["shortest_edge"])
    if "max_height" in keys:
        return fit_inside(size, keys["max_height"], keys["max_width"])
    return (keys["height"], keys["width"]) if "height" in keys else None


def round_to(value: float, factor: float) -> float:
    """Return the nearest multiple of a factor."""
    return round(value / factor) * factor


def fit_pixels(size: Size, factor: int, least: int, most: int, frames: Size = (1, 1)) -> Size:
    """Return the nearest multiples of a factor with a limited number of pixels (smart_resize).

    Args:
        size: Height and width.
        factor: Both sides become multiples of it.
        least: The minimum number of pixels, of all frames together.
        most: The maximum.
        frames: The number of frames, and the same rounded to whole temporal patches.
    """
    (height, width), (count, whole) = size, frames
    rows, columns = round(height / factor) * factor, round(width / factor) * factor
    if whole * rows * columns > most:
        beta = sqrt(count * height * width / most)
        rows = max(factor, floor(height / beta / factor) * factor)
        columns = max(factor, floor(width / beta / factor) * factor)
    elif whole * rows * columns < least:
        beta = sqrt(least / (count * height * width))
        rows, columns = ceil(height * beta / factor) * factor, ceil(width * beta / factor) * factor
    return rows, columns


def is_elongated(size: Size) -> bool:
    """Return True for an aspect ratio that the models of Qwen's kind reject."""
    return max(size) / min(size) > _MAX_RATIO


def enlarge_to_factor(size: Size, factor: int) -> Size:
    """Return a size with both sides at least a factor (GLM-4V)."""
    if min(size) >= factor:
        return size
    scale = max(factor / size[0], factor / size[1])
    return int(size[0] * scale), int(size[1] * scale)


def fit_patches(size: Size, patch: int, most: int) -> Size:
    """Return the largest multiples of a patch with a limited number of patches (SigLIP 2)."""

    def scale_edge(scale: float, edge: int) -> int:
        return int(max(patch, ceil(edge * scale / patch) * patch))

    precision = 1e-5
    low, high = precision / 10, 100.0
    while high - low >= precision:
        middle = (low + high) / 2
        rows, columns = scale_edge(middle, size[0]) / patch, scale_edge(middle, size[1]) / patch
        low, high = (middle, high) if rows * columns <= most else (low, middle)
    return scale_edge(low, size[0]), scale_edge(low, size[1])


def fit_multiple(size: Size, target: Size, multiple: float, keep_aspect_ratio: bool) -> Size:
    """Return a target size, or with the aspect ratio kept the nearer one, in multiples (DPT)."""
    scale_height, scale_width = target[0] / size[0], target[1] / size[1]
    if keep_aspect_ratio:
        nearer = scale_width if abs(1 - scale_width) < abs(1 - scale_height) else scale_height
        scale_height = scale_width = nearer
    scaled = scale_height * size[0], scale_width * size[1]
    rows, columns = (int(round_to(one, multiple)) for one in scaled)
    return rows, columns


def fit_divisor(size: Size, shorter: int, longer: int, divisor: int) -> Size:
    """Return a size with limited edges, rounded down to multiples (ViLT)."""
    scale = shorter / min(size)
    rows, columns = (shorter, scale * size[1]) if size[0] < size[1] else (scale * size[0], shorter)
    if max(rows, columns) > longer:
        scale = longer / max(rows, columns)
        rows, columns = scale * rows, scale * columns
    return int(rows + 0.5) // divisor * divisor, int(columns + 0.5) // divisor * divisor


def fit_canvas(size: Size, target: Size, rounded: str = "ceil") -> Size:
    """Return the largest size with the same aspect ratio inside a canvas of tiles."""
    scale_height, scale_width = target[0] / size[0], target[1] / size[1]
    step = ceil if rounded == "ceil" else floor
    if scale_width < scale_height:
        return min(step(size[0] * scale_width), target[0]), target[1]
    return target[0], min(step(size[1] * scale_height), target[1])


def align(value: int, factor: int) -> int:
    """Return the next multiple of a factor."""
    return -(-value // factor) * factor
