"""Image processors that split a file into tiles, each one a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

from archspec.processors import grids, resizing
from archspec.processors.canvas import MOST_TILES, Canvas
from archspec.processors.images.plain import center_crop, resize
from archspec.processors.parameters import Parameters, Size
from archspec.processors.resizing import align, fit_canvas
from archspec.tables.items import size_text

MOST_LISTED = 1_000  # tiles that a file may allow; a grid is sought among all with that many
_IDEFICS_LONGEST = 4096


def most_tiles(p: Parameters, key: str) -> int:
    """Return the most tiles that a file allows."""
    return p.integer(key, 1, MOST_LISTED)


def got_ocr(p: Parameters, image: Canvas) -> None:
    """Split into the grid with the nearest aspect ratio (GOT-OCR2, InternVL, Aya Vision)."""
    most = most_tiles(p, "max_patches")
    if not (p.flag("crop_to_patches") and most > 1):
        resize(p, image)
        return
    size = p.sides()
    found = grids.by_product(grids.grids(p.integer("min_patches"), most))
    columns, rows = grids.nearest_ratio(image.size, size, found)
    image.split(rows, columns, size, last=[size] if rows * columns > 1 else ())


def cohere(p: Parameters, image: Canvas) -> None:
    """Split into the grid that enlarges an image least (Cohere2 Vision)."""
    if not p.flag("crop_to_patches"):
        resize(p, image)
        return
    size = p.sides()
    columns, rows = grids.least_upscaled(image.size, size[0], most_tiles(p, "max_patches"))
    image.split(rows, columns, size, last=[size] if rows * columns > 1 else ())


def ovis(p: Parameters, image: Canvas) -> None:
    """Split into the smallest grid that keeps the pixels, with the whole image before it."""
    most = most_tiles(p, "max_patches")
    if not (p.flag("crop_to_patches") and most > 1):
        resize(p, image)
        center_crop(p, image)
        return
    size = p.sides()
    if p.flag("use_covering_area_grid"):
        columns, rows = grids.covering(image.size, size[0], most)
    else:
        found = grids.by_product(grids.grids(p.integer("min_patches"), most))
        columns, rows = grids.nearest_ratio(image.size, size, found)
    image.split(rows, columns, size, first=[size] if rows * columns > 1 else ())


def deepseek_ocr(p: Parameters, image: Canvas) -> None:
    """Split what is larger than a tile; the whole image becomes a square."""
    tile, file, unlimited = p.integer("tile_size"), image.size, p.name.startswith("Unlimited")
    crop = p.flag("crop_to_patches")
    whole = max(p.sides()) if unlimited else p.sides()[0] if crop else tile
    if crop and max(file) > tile:
        found = grids.by_product(grids.grids(p.integer("min_patches"), most_tiles(p, "max_patches")))
        columns, rows = grids.nearest_ratio(file, (tile, tile), found)
        image.split(rows, columns, (tile, tile))
    if unlimited and not crop and whole <= p.integer("maximum_pad_value"):
        image.resize((whole, whole))
    else:
        scale = whole / max(file)
        image.resize((round(file[0] * scale), round(file[1] * scale)), "the whole image resized to")
        image.pad((max(image.size), max(image.size)))
    image.tiles = [*image.tiles, image.size]


def gemma3(p: Parameters, image: Canvas) -> None:
    """Resize, and add crops of an elongated image (pan and scan)."""
    crops = _pan_and_scan(p, image.size) if p.flag("do_pan_and_scan") else []
    pieces = [image.size, *crops]
    resize(p, image)
    if crops:
        keys = p.size() if p.flag("do_resize") else {}
        pieces = [resizing.by_keys(keys, piece) or piece for piece in pieces if min(piece) > 0]
        image.split_into(pieces, f"and {len(crops)} crops")


def _pan_and_scan(p: Parameters, size: Size) -> list[Size]:
    """Return the sizes of the crops."""
    (height, width), least = size, p.integer("pan_and_scan_min_crop_size")
    longer, shorter = max(size), min(size)
    if longer / shorter < p.number("pan_and_scan_min_ratio_to_activate"):
        return []
    count = max(2, min(longer // least, floor(longer / shorter + 0.5)))
    count = min(p.integer("pan_and_scan_max_num_crops", 1, MOST_LISTED), count)
    step = ceil(longer / count)
    if min(step, shorter) < least:
        return []
    edges = [min(step, longer - step * place) for place in range(count)]
    return [(height, edge) if width >= height else (edge, width) for edge in edges]


def idefics2(p: Parameters, image: Canvas) -> None:
    """Split into quarters with the whole image after them; resize each one."""
    (height, width), pieces = image.size, [image.size]
    if p.flag("do_image_splitting"):
        top, left = height // 2, width // 2
        pieces = [(top, left), (top, width - left), (height - top, left), (height - top, width - left)]
        pieces.append(image.size)
    if p.flag("do_resize"):
        if min(edge for piece in pieces for edge in piece) < 1:
            image.refuse("becomes a tile without pixels")
        pieces = [_idefics2_size(p, piece) for piece in pieces]
    if len(pieces) == 1:
        image.resize(pieces[0])
    else:
        image.split_into(pieces, "split into quarters, and the whole image")


def _idefics2_size(p: Parameters, size: Size) -> Size:
    keys = p.size()
    if "height" in keys:
        return p.sides()
    shortest, longest = p.edges("size", "shortest_edge", "longest_edge")
    (height, width), ratio = size, size[1] / size[0]
    if width >= height and width > longest:
        height, width = int(longest / ratio), longest
    elif height > width and height > longest:
        height, width = longest, int(longest * ratio)
    return max(height, shortest), max(width, shortest)


def pad_tiles(p: Parameters, images: Sequence[Canvas]) -> None:
    """Pad all tiles of a call to the largest."""
    sizes = [size for image in images for size in image.tiles or [image.size]]
    if not p.flag("do_pad") or len({*sizes}) < 2:
        return
    largest = max(size[0] for size in sizes), max(size[1] for size in sizes)
    for image in images:
        if image.tiles:
            image.split_into([largest] * len(image.tiles), f"padded to {size_text(largest)}")
        else:
            image.pad(largest)


def idefics3(p: Parameters, image: Canvas) -> None:
    """Resize to whole tiles and split into them, with the whole image after them."""
    (tile,), file = p.edges("max_image_size", "longest_edge"), image.size
    splits = p.flag("do_image_splitting")
    if p.flag("do_resize"):
        keys = p.size()
        if "longest_edge" in keys:
            longest = keys["longest_edge"]
            if splits and p.name.startswith("Ultra"):
                longest = _cap(p, file, longest, tile)
            image.resize(_idefics3_size(file, longest))
        else:
            image.resize(p.sides())
    if not splits:
        image.resize((tile, tile))
        return
    height, width = _whole_tiles(image.size, tile)
    image.resize((height, width))
    if height > tile or width > tile:
        image.split(height // tile, width // tile, (tile, tile), last=[(tile, tile)])


def _idefics3_size(size: Size, longest: int) -> Size:
    """Return the size with a given longest edge, the other one even, below the largest that is supported."""
    ratio = size[1] / size[0]
    if size[1] >= size[0]:
        shorter = int(longest / ratio)
        size = max(shorter + shorter % 2, 1), longest
    else:
        shorter = int(longest * ratio)
        size = longest, max(shorter + shorter % 2, 1)
    ratio = size[1] / size[0]
    if max(size) <= _IDEFICS_LONGEST:
        return size
    if size[1] >= size[0]:
        return max(int(_IDEFICS_LONGEST / ratio), 1), _IDEFICS_LONGEST
    return _IDEFICS_LONGEST, max(int(_IDEFICS_LONGEST * ratio), 1)


def _whole_tiles(size: Size, tile: int) -> Size:
    ratio = size[1] / size[0]
    if size[1] >= size[0]:
        width = align(size[1], tile)
        return align(int(width / ratio), tile), width
    height = align(size[0], tile)
    return height, align(int(height * ratio), tile)


def _cap(p: Parameters, size: Size, longest: int, tile: int) -> int:
    """Return the longest edge that gives a limited number of tiles."""
    most = p.integer("max_image_tiles")
    if longest > MOST_TILES * tile:
        p.refuse("size.longest_edge", f"is more than {MOST_TILES:,} tiles of {tile:,} pixels")
    while longest > tile:
        height, width = _whole_tiles(_idefics3_size(size, longest), tile)
        if height * width // tile**2 <= most:
            break
        longest -= tile
    return longest


def llama4(p: Parameters, image: Canvas) -> None:
    """Resize into a canvas of tiles, with the whole image after them."""
    side, file = p.square(), image.size
    if not p.flag("do_resize"):
        p.refuse("do_resize", f"is false, which {p.name} rejects", "set it to true")
    found = [
        (rows * side, columns * side) for rows, columns in grids.factor_grids(most_tiles(p, "max_patches"))
    ]
    largest = p.flag("resize_to_max_canvas")
    target = grids.best_canvas(file, found, largest, singles=True)
    limit = target if largest else (min(max(file[0], side), target[0]), min(max(file[1], side), target[1]))
    height, width = fit_canvas(file, limit, "floor")
    image.resize((max(height, 1), max(width, 1)))
    image.pad(target)
    rows, columns = target[0] // side, target[1] // side
    image.split(rows, columns, (side, side), last=[(side, side)] if rows * columns > 1 else ())


def mllama(p: Parameters, image: Canvas) -> None:
    """Resize into a canvas of tiles; one tensor stands for all tiles of an image."""
    for key in ("do_resize", "do_pad"):
        if not p.flag(key):
            p.refuse(key, f"is false, which {p.name} rejects", "set it to true")
    side, most = p.square(), most_tiles(p, "max_image_tiles")
    found = [(rows * side, columns * side) for rows, columns in grids.grids(1, most)]
    target = grids.best_canvas(image.size, found)
    limit = tuple(min(max(edge, side), most_) for edge, most_ in zip(image.size, target, strict=True))
    height, width = fit_canvas(image.size, (limit[0], limit[1]), "floor")
    image.resize((max(height, 1), max(width, 1)))
    image.pad(target)
    image.split(1, 1, (side, side))
    image.steps[-1] = f"{target[1] // side}×{target[0] // side} tiles, padded to {most} in one tensor"
