"""Image processors of pages of text."""

from __future__ import annotations

from archspec.processors import resizing
from archspec.processors.canvas import Canvas
from archspec.processors.images import center_crop
from archspec.processors.parameters import Parameters, Size


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
