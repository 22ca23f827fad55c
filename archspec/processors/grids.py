"""Grids of tiles that image processors choose from, by aspect ratio and size."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from math import ceil, log

from archspec.processors.parameters import Size

Grid = tuple[int, int]  # in the order of the class: columns and rows, or rows and columns
_UNFIT = 1e10  # a scale that is worse than all others


def single(value: float) -> float:
    """Return the nearest 32-bit float, as torch computes."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def grids(least: int, most: int) -> list[Grid]:
    """Return all pairs with a limited product, in the order of the first number and the second."""
    return [
        (first, second)
        for first in range(1, most + 1)
        for second in range(1, most // first + 1)
        if first * second >= least
    ]


def by_product(found: list[Grid]) -> list[Grid]:
    """Sort grids by their number of tiles; equal ones keep their order."""
    return sorted(found, key=lambda grid: grid[0] * grid[1])


def unordered_grids(least: int, most: int) -> list[Grid]:
    """Return the pairs by product, those of one product in the order of a set, as some classes sort them."""
    first = [(one, other) for one in range(1, least + 1) for other in range(1, least + 1)]
    later = (
        pair
        for number in range(least + 1, most + 1)
        for pair in (
            *((one, number) for one in range(1, number)),
            *((number, one) for one in range(1, number + 1)),
        )
    )
    return by_product([*{pair for pair in (*first, *later) if least <= pair[0] * pair[1] <= most}])


def factor_grids(most: int) -> list[Grid]:
    """Return pairs by decreasing product; all of one ratio are at the place of the first of them."""
    ratios: dict[float, list[Grid]] = {}
    for count in range(most, 0, -1):
        for factor in (one for one in range(1, count + 1) if count % one == 0):
            ratios.setdefault(factor / (count // factor), []).append((factor, count // factor))
    return [grid for group in ratios.values() for grid in group]


def nearest_ratio(size: Size, tile: Size, candidates: list[Grid]) -> Grid:
    """Return the columns and rows with the nearest aspect ratio; the larger grid if an image is large."""
    ratio, area = size[1] / size[0], size[0] * size[1]
    best, best_difference = (1, 1), float("inf")
    for grid in candidates:
        difference = abs(ratio - grid[0] / grid[1])
        larger = area > 0.5 * tile[0] * tile[1] * grid[0] * grid[1]
        if difference < best_difference or (difference == best_difference and larger):
            best, best_difference = grid, difference
    return best


def least_upscaled(size: Size, tile: int, most: int) -> Grid:
    """Return the columns and rows that enlarge an image least, else reduce it least (Cohere2 Vision)."""
    candidates = by_product(grids(1, most))
    scales = [min(tile * grid[0] / size[1], tile * grid[1] / size[0]) for grid in candidates]
    if all(scale < 1 for scale in scales):
        return candidates[scales.index(max(scales))]
    fitting = [_UNFIT if scale < 1.0 else scale for scale in scales]
    return candidates[fitting.index(min(fitting))]


def best_canvas(size: Size, canvases: list[Size], largest: bool = False, singles: bool = False) -> Size:
    """Return the canvas that enlarges an image least, else reduces it least (Llama 4, Mllama).

    Args:
        size: Height and width of the image.
        canvases: Heights and widths.
        largest: Enlarge as much as possible instead.
        singles: Compare as 32-bit floats.
    """
    as_float = single if singles else float
    scales = [
        min(as_float(as_float(height) / as_float(size[0])), as_float(as_float(width) / as_float(size[1])))
        for height, width in canvases
    ]
    enlarging = [scale for scale in scales if scale >= 1]
    chosen = (max(enlarging) if largest else min(enlarging)) if enlarging else max(scales)
    fitting = [canvas for canvas, scale in zip(canvases, scales, strict=True) if scale == chosen]
    return min(fitting, key=lambda canvas: canvas[0] * canvas[1])


def covering(size: Size, tile: int, most: int, threshold: float = 0.9) -> Grid:
    """Return the smallest grid whose tiles keep most of an image's area (Ovis 2); rows and columns."""
    area, found = size[0] * size[1], []
    for grid in by_product(grids(1, most)):
        kept = sum(count * _kept_area(region, tile) for region, count in _regions(size, grid))
        found.append((grid, kept / area))
    enough = [one for one in found if one[1] > threshold]
    if enough:
        return min(enough, key=lambda one: (one[0][0] * one[0][1], -one[1]))[0]
    return min(found, key=lambda one: (-one[1], one[0][0] * one[0][1]))[0]


def _regions(size: Size, grid: Grid) -> Iterator[tuple[Size, int]]:
    """Yield the sizes of the cells of a grid, and their counts; the last row and column take the rest."""
    height, width = size[0] // grid[0], size[1] // grid[1]
    last = size[0] - (grid[0] - 1) * height, size[1] - (grid[1] - 1) * width
    yield (height, width), (grid[0] - 1) * (grid[1] - 1)
    yield (height, last[1]), grid[0] - 1
    yield (last[0], width), grid[1] - 1
    yield last, 1


def _kept_area(region: Size, side: int) -> float:
    longer, shorter = max(region), min(region)
    return side * (shorter / longer * side) if longer > side else longer * shorter


def slices(size: Size, most: int, resolution: int) -> Grid | None:
    """Return the rows and columns of slices near a resolution (MiniCPM-V); None for a small image."""
    ratio = log(size[1] / size[0])
    count = min(ceil(size[0] * size[1] / (resolution * resolution)), most)
    if count <= 1:
        return None
    best, least = (1, 1), float("inf")
    for number in (one for one in (count - 1, count, count + 1) if one != 1 and one <= most):
        for rows in (one for one in range(1, number + 1) if number % one == 0):
            error = abs(ratio - log(number // rows / rows))
            if error < least or (error == least and rows > best[0]):
                best, least = (rows, number // rows), error
    return best


def best_resolution(size: Size, resolutions: list[Size]) -> Size | None:
    """Return the resolution that keeps most pixels of an image, and wastes least (LLaVA-NeXT)."""
    best, kept, wasted = None, 0, float("inf")
    for resolution in resolutions:
        scale = min(resolution[1] / size[1], resolution[0] / size[0])
        scaled = int(size[0] * scale) * int(size[1] * scale)
        effective = min(scaled, size[0] * size[1])
        waste = resolution[0] * resolution[1] - effective
        if effective > kept or (effective == kept and waste < wasted):
            best, kept, wasted = resolution, effective, waste
    return best
