"""Image processors that split a file into tiles, each in its own way."""

from __future__ import annotations

from math import ceil, floor, sqrt

from archspec.processors import grids
from archspec.processors.canvas import Canvas
from archspec.processors.images.tiles import MOST_LISTED, most_tiles
from archspec.processors.parameters import MOST, Parameters, Size
from archspec.processors.resizing import round_to
from archspec.tables.items import size_text

_ARIA_SIDES = (490, 980)
_ARIA_GRIDS = [  # heights and widths
    (490 * rows, 490 * columns)
    for rows, columns in (
        *(
            (1, 2),
            (1, 3),
            (1, 4),
            (1, 5),
            (1, 6),
            (1, 7),
            (1, 8),
            (2, 4),
            (2, 3),
            (2, 2),
            (2, 1),
            (3, 1),
            (3, 2),
        ),
        *((4, 1), (4, 2), (5, 1), (6, 1), (7, 1), (8, 1)),
    )
]
_MOLMO_MARGINS, _MOLMO_POOLING = [4, 4], [2, 2]
_PHI_LEAST = 10  # pixels of a side
_STEP_SHORT = 32  # pixels: below, an elongated image becomes a square


def minicpm(p: Parameters, image: Canvas) -> None:
    """Resize the whole image, and slices of a large one (MiniCPM-V)."""
    resolution, patch = p.integer("scale_resolution"), p.integer("patch_size")
    most = most_tiles(p, "max_slice_nums")
    factor = patch * (2 if p.choice("downsample_mode", "4x", "16x") == "4x" else 4)
    if p.get("small_image_upsize") == "adaptive":
        p.refuse("small_image_upsize", "is adaptive: the size depends on the content", 'set it to "always"')
    if not p.flag("do_resize"):
        p.refuse("do_resize", "is false, which is not supported", "set it to true")
    grid = grids.slices(image.size, most, resolution) if p.flag("slice_mode") else None
    enlarge = grid is None and p.get("small_image_upsize") in (None, "always")
    whole = _minicpm_size(image.size, resolution, factor, enlarge)
    image_size = image.size
    image.resize(whole)
    if grid is not None:
        rows, columns = grid
        cell = _divide(image_size[0], rows) / rows, _divide(image_size[1], columns) / columns
        part = _minicpm_size(cell, resolution, factor, True)
        image.split(rows, columns, part, first=[whole])


def _divide(length: float, divisor: int) -> int:
    return int(max(round_to(length, divisor), divisor))


def _minicpm_size(size: tuple[float, float], resolution: int, factor: int, enlarge: bool) -> Size:
    height, width = size
    if height * width > resolution * resolution or enlarge:
        ratio = width / height
        height = int(resolution / sqrt(ratio))
        width = int(height * ratio)
    return _divide(height, factor), _divide(width, factor)


def lfm2(p: Parameters, image: Canvas) -> None:
    """Split a large image, with the whole image after the tiles (LFM2-VL)."""
    patch, factor = p.integer("encoder_patch_size"), p.integer("downsample_factor")
    side = p.integer("tile_size")
    least, most = most_tiles(p, "min_tiles"), most_tiles(p, "max_tiles")
    splits = p.flag("do_image_splitting") and not least == most == 1
    if splits and least > most:
        p.refuse("min_tiles", "is larger than max_tiles")
    total, unit = patch * factor, patch**2 * factor**2
    limit, file = p.integer("max_image_tokens") * unit, image.size
    rounded = [max(patch, round_to(edge, total)) for edge in file]
    whole = _lfm2_size(file, total, p.integer("min_image_tokens") * unit, limit)
    if splits and rounded[0] * rounded[1] > limit * p.number("max_pixels_tolerance"):
        found = grids.unordered_grids(least, most)
        columns, rows = grids.nearest_ratio(file, (side, side), found)
        thumbnail = [whole] if p.flag("use_thumbnail") and rows * columns != 1 else []
        image.split(rows, columns, (side, side), last=thumbnail)
    else:
        image.resize(whole)
    if p.flag("do_pad"):
        tile = (side // patch) ** 2 if p.flag("do_image_splitting") else 0
        image.pad_patches(max(p.integer("max_image_tokens") * factor**2, tile))


def _lfm2_size(size: Size, factor: int, least: int, most: int) -> Size:
    rows, columns = (max(factor, round(edge / factor) * factor) for edge in size)
    if rows * columns > most:
        beta = sqrt(size[0] * size[1] / most)
        rows, columns = (max(factor, floor(edge / beta / factor) * factor) for edge in size)
    elif rows * columns < least:
        beta = sqrt(least / (size[0] * size[1]))
        rows, columns = (ceil(edge * beta / factor) * factor for edge in size)
    return rows, columns


def perception(p: Parameters, image: Canvas) -> None:
    """Split into tiles, with a thumbnail before them (Perception LM)."""
    tile, most = p.integer("tile_size"), most_tiles(p, "max_num_tiles")
    if not p.flag("do_resize"):
        return
    if p.get("vision_input_type") != "thumb+tile":
        image.resize((tile, tile))
        return
    columns, rows = _perception_grid(image.size, tile, most) if most > 1 else (1, 1)
    image.split(rows, columns, (tile, tile), first=[(tile, tile)])


def _perception_grid(size: Size, tile: int, most: int) -> grids.Grid:
    (height, width), best, best_size = size, None, (0.0, 0.0)
    ratio, found = width / height, grids.factor_grids(most)
    for columns, rows in found:
        if columns * tile >= width and rows * tile >= height:
            scaled = _perception_size(size, columns * tile, rows * tile)
            better = scaled[0] >= best_size[0] if ratio < 1.0 else scaled[1] >= best_size[1]
            if best is None or better:
                best, best_size = (columns, rows), scaled
    if best is not None:
        return best
    ratios = {columns / rows: [] for columns, rows in found}  # type: dict[float, list[grids.Grid]]
    for columns, rows in found:
        ratios[columns / rows].append((columns, rows))
    if ratio >= 1:
        nearest = min((one for one in ratios if one <= ratio), key=lambda one: abs(one - ratio))
        return max(ratios[nearest], key=lambda grid: grid[0])
    nearest = min((one for one in ratios if one > ratio), key=lambda one: abs(1 / one - 1 / ratio))
    return max(ratios[nearest], key=lambda grid: grid[1])


def _perception_size(size: Size, width: int, height: int) -> tuple[float, float]:
    ratio, factor = size[1] / size[0], min(width / size[1], height / size[0])
    if ratio > 1.0:
        return factor * size[1], floor(factor * size[1] / ratio)
    return floor(factor * size[0] * ratio), factor * size[0]


def step3(p: Parameters, image: Canvas) -> None:
    """Split into windows, with the whole image after them (Step 3)."""
    (side, _), patch = p.sides(), p.integer("patch_size")
    height, width = image.size
    if min(height, width) < _STEP_SHORT and max(width / height, height / width) > 4:
        height = width = max(height, width)
        image.pad((height, width))
    longest = p.integer("max_image_size")
    if max(height, width) > longest:
        scale = longest / max(height, width)
        width, height = int(width * scale), int(height * scale)
        image.resize((height, width))
    short, long = min(height, width), max(height, width)
    window = (min(short, patch) if long / short > 4 else patch) if long > side else short
    if long <= side and long / short <= 1.5:
        window = 0
    image.resize((side, side))
    if window:
        rows, columns = (
            max(1, (edge // window + (edge % window > 0.2 * window)) if edge >= window else 1)
            for edge in (height, width)
        )
        image.split(rows, columns, (patch, patch), last=[(side, side)])


def molmo(p: Parameters, image: Canvas) -> None:
    """Resize to the canvas of overlapping crops, into which the model's costs split it (Molmo 2)."""
    side, patch = p.square(), p.integer("patch_size")
    if p.get("overlap_margins") != _MOLMO_MARGINS:
        p.refuse("overlap_margins", "is not supported", f"set it to {_MOLMO_MARGINS}")
    if p.get("pooling_size") not in (None, _MOLMO_POOLING):
        p.refuse("pooling_size", "is not supported", f"set it to {_MOLMO_POOLING}")
    if side % patch:
        p.refuse("patch_size", f"does not divide size, {side}")
    margin = sum(_MOLMO_MARGINS) * patch
    window = side - margin
    if window < 1:
        p.refuse("size", "leaves no pixels of a crop after overlap_margins")
    inner = image.size[0] - margin, image.size[1] - margin
    rows, columns = _molmo_grid(inner, window, most_tiles(p, "max_crops"))
    image.resize((rows * window + margin, columns * window + margin))
    image.note(f"{columns}×{rows} crops of {size_text((side, side))} that overlap, after the whole image")


def _molmo_grid(size: Size, window: int, most: int) -> grids.Grid:
    found = sorted(grids.grids(1, most), key=lambda grid: (grid[0] * grid[1], grid[0]))
    scales = [  # negative for an image that is smaller than the overlap of crops
        min(grids.single(grid[side] * window / size[side]) if size[side] else float("inf") for side in (0, 1))
        for grid in found
    ]
    if all(scale < 1 for scale in scales):
        return found[scales.index(max(scales))]
    fitting = [1e10 if scale < 1 else scale for scale in scales]
    return found[fitting.index(min(fitting))]


def anyres(p: Parameters, image: Canvas) -> None:
    """Keep the size: the model computes its own tiles from it (LLaVA-NeXT, LLaVA-OneVision)."""
    best = grids.best_resolution(image.size, _resolutions(p, "image_grid_pinpoints"))
    if best is None:
        image.refuse("fits none of image_grid_pinpoints")
    image.note(f"resized and padded to {size_text(best)} for tiles")


def _resolutions(p: Parameters, key: str, default: list[Size] | None = None) -> list[Size]:
    value = p.get(key)
    if value is None and default is not None:
        return default
    found = [one for one in value or () if _is_size(one)] if isinstance(value, list | tuple) else []
    if not found or len(found) != len(value) or len(found) > MOST_LISTED:
        help_ = "write a list such as [[336, 672], [672, 336]]"
        p.refuse(key, f"must be a list of at most {MOST_LISTED:,} heights and widths", help_)
    return [(one[0], one[1]) for one in found]


def _is_size(value: object) -> bool:
    is_pair = isinstance(value, list | tuple) and len(value) == 2
    return is_pair and all(type(edge) is int and 0 < edge <= MOST for edge in value)  # type: ignore[attr-defined]


def aria(p: Parameters, image: Canvas) -> None:
    """Resize by the longest side and pad to a square, also of each part of a split image."""
    side = p.choice("max_image_size", *_ARIA_SIDES)
    least, file = p.integer("min_image_size", 1, side), image.size
    if p.flag("split_image"):
        best = grids.best_resolution(file, _resolutions(p, "split_resolutions", _ARIA_GRIDS))
        if best is None:
            image.refuse("fits none of split_resolutions")
        image.split(ceil(best[0] / side), ceil(best[1] / side), (side, side))
        return
    scale = side / max(file)
    height, width = (max(int(edge * scale), least) for edge in file)
    image.resize((height, side) if file[1] >= file[0] else (side, width))
    image.pad((side, side))


def phi4(p: Parameters, image: Canvas) -> None:
    """Resize into a canvas of crops, into which the model's costs split it."""
    side, most = p.square(), most_tiles(p, "dynamic_hd")
    height, width = image.size
    columns, rows = ceil(width / float(side)), ceil(height / float(side))
    if columns * rows > most:
        found = grids.unordered_grids(1, most)
        columns, rows = grids.nearest_ratio(image.size, (side, side), found)
    target = rows * side, columns * side
    if target[1] / width < target[0] / height:
        scaled = int(height * (target[1] / width)), target[1]
    else:
        scaled = target[0], int(width * (target[0] / height))
    if min(scaled) < _PHI_LEAST:
        image.refuse(f"becomes {size_text(scaled)}, below the 10 pixels that the class needs")
    if [ceil(edge / side) for edge in scaled] != [rows, columns]:
        image.refuse("has a crop of nothing but padding, which is not supported")
    image.resize(scaled)
    image.note(f"padded to {columns}×{rows} crops of {size_text((side, side))}, after the whole image")
