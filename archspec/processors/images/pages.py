"""Image processors of pages of text."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from archspec.processors import resizing
from archspec.processors.canvas import Canvas
from archspec.processors.images.plain import center_crop, pad_to_largest, resize_by_keys
from archspec.processors.parameters import Parameters, Size
from archspec.processors.resizing import align


def donut(p: Parameters, image: Canvas) -> None:
    """Rotate, resize by the shortest edge, shrink into the page and pad; the order is that of the class."""
    size = p.sides()
    if p.name.startswith("Donut") and isinstance(p.given.get("size"), list):
        size = size[::-1]  # of old files, which have the width first
    by_content = p.flag("do_crop_margin") and not p.name.startswith("Donut")
    if by_content and not (p.flag("do_pad") and p.flag("do_thumbnail")):
        p.refuse("do_crop_margin", "is true: the size depends on the content of the image", "set it to false")
    (height, width), (rows, columns) = size, image.size
    turned = (width < height and columns > rows) or (width > height and columns < rows)
    if p.flag("do_align_long_axis") and turned:
        image.resize((columns, rows), "rotated to")
    if p.flag("do_resize"):
        image.resize(resizing.fit_shortest(image.size, min(size)))
    if p.flag("do_thumbnail"):
        image.resize(_thumbnail(image.size, size))
    if p.flag("do_pad"):
        image.pad(size)
    if p.name.startswith("Donut"):
        center_crop(p, image)


def _thumbnail(size: Size, page: Size) -> Size:
    height, width = min(size[0], page[0]), min(size[1], page[1])
    if (height, width) == size:
        return size
    if size[0] > size[1]:
        width = int(size[1] * height / size[0])
    elif size[1] > size[0]:
        height = int(size[0] * width / size[1])
    return height, width


def slanext(p: Parameters, image: Canvas) -> None:
    """Resize by the longest side (SLANeXt)."""
    if p.flag("do_resize"):
        scale = max(p.sides()) / max(image.size)
        image.resize((round(image.size[0] * scale), round(image.size[1] * scale)))
    center_crop(p, image)


def lcnet(p: Parameters, image: Canvas) -> None:
    """Resize by the shortest side to multiples (PP-LCNet)."""
    if p.flag("do_resize") and p.get("resize_short") is not None:
        scale = p.integer("resize_short") / min(image.size)
        divisor = p.integer("size_divisor") if p.get("size_divisor") is not None else 1
        image.resize(
            (align(round(image.size[0] * scale), divisor), align(round(image.size[1] * scale), divisor))
        )
    elif p.flag("do_resize"):
        resize_by_keys(p, image)
    center_crop(p, image)


def text_detection(p: Parameters, image: Canvas) -> None:
    """Resize to multiples of 32, with a limited side (PP-OCR)."""
    if not p.flag("do_resize"):
        return
    limit, kind = p.integer("limit_side_len"), p.choice("limit_type", "max", "min", "resize_long")
    side = min(image.size) if kind == "min" else max(image.size)
    applies = {"max": side > limit, "min": side < limit, "resize_long": True}[kind]
    ratio = float(limit) / side if applies else 1.0
    height, width = (int(edge * ratio) for edge in image.size)
    if p.get("max_side_limit") is not None and max(height, width) > p.integer("max_side_limit"):
        ratio = float(p.integer("max_side_limit")) / max(height, width)
        height, width = int(height * ratio), int(width * ratio)
    image.resize((max(round(height / 32) * 32, 32), max(round(width / 32) * 32, 32)))


def keep(p: Parameters, image: Canvas) -> None:
    """Leave the image to the batch."""


def text_recognition(p: Parameters, images: Sequence[Canvas]) -> None:
    """Resize all lines of text of a call to one width, that of the widest (PP-OCR)."""
    height, width = p.sides()
    widest = max(images, key=lambda image: image.size[1]).size if images else (1, 1)
    found = int(height * max(widest[1] / widest[0], width / height))
    if found > p.integer("max_image_width"):
        found = p.integer("max_image_width")
    else:
        found = min(found, ceil(height * (widest[1] / float(widest[0]))))
    for image in images:
        if p.flag("do_resize"):
            image.resize((height, found))
        center_crop(p, image)
    if p.flag("do_pad") and found < p.sides("pad_size")[1]:
        pad_to_largest(p, images)
