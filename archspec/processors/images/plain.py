"""Image processors that turn one file into one tensor of pixels.

A rule changes a canvas by the parameters of a class. A batch rule then changes all canvases of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

from archspec.processors import resizing
from archspec.processors.canvas import Canvas
from archspec.processors.parameters import Parameters
from archspec.processors.resizing import align
from archspec.typing_light import NamedTuple

One = Callable[[Parameters, Canvas], None]
Batch = Callable[[Parameters, Sequence[Canvas]], None]
_YOLOS_MULTIPLE = 16
_VILT_LONGER = 1333 / 800  # of the shorter edge
_LEVIT_SHORTEST = 256 / 224
_CONVNEXT_SQUARE = 384  # from this size on, without a crop


class Rule(NamedTuple):
    """The steps of a class: those of each image, and then those of all images of a call."""

    one: One
    batch: Batch | None = None


def pad_to_largest(p: Parameters, images: Sequence[Canvas]) -> None:
    """Pad all images to ``pad_size``, or to the largest height and width of a call."""
    if p.flag("do_pad"):
        pad_always(p, images)


def pad_always(p: Parameters, images: Sequence[Canvas]) -> None:
    """Pad all images to ``pad_size``, or to the largest of a call."""
    height = max((image.size[0] for image in images), default=0)
    width = max((image.size[1] for image in images), default=0)
    target = p.sides("pad_size") if p.get("pad_size") is not None else (height, width)
    for image in images:
        image.pad(target)


def resize_by_keys(p: Parameters, image: Canvas) -> None:
    """Resize by the keys of ``size``."""
    found = resizing.by_keys(p.size(), image.size)
    if found is None:
        p.refuse("size", f"has keys that {p.name} does not support")
    image.resize(found)


def resize(p: Parameters, image: Canvas) -> None:
    """Resize if the parameters ask for it."""
    if p.flag("do_resize"):
        resize_by_keys(p, image)


def resize_to_sides(p: Parameters, image: Canvas) -> None:
    """Resize to a height and a width."""
    if p.flag("do_resize"):
        image.resize(p.sides())


def center_crop(p: Parameters, image: Canvas) -> None:
    """Crop if the parameters ask for it."""
    if p.flag("do_center_crop"):
        image.crop(p.sides("crop_size"))


def resize_and_crop(p: Parameters, image: Canvas) -> None:
    """Resize and crop, the most common rule."""
    resize(p, image)
    center_crop(p, image)


def detr(p: Parameters, image: Canvas) -> None:
    """Resize by the shortest and the longest edge; YOLOS then rounds down."""
    if not p.flag("do_resize"):
        return
    longest = 1333 if p.get("max_size") is None else p.integer("max_size")
    keys = p.size(longest=longest)
    if p.name.startswith("Mask") and "max_size" in p.given and "size" not in p.given:
        keys["longest_edge"] = longest
    if {*keys} == {"shortest_edge"}:
        p.edges("size", "shortest_edge", "longest_edge")
    found = resizing.by_keys(keys, image.size)
    if found is None:
        p.refuse("size", f"has keys that {p.name} does not support")
    if p.name.startswith("Yolos") and "longest_edge" in keys:
        found = resizing.fit_edges(image.size, keys["shortest_edge"], keys["longest_edge"], keep_tall=False)
        found = found[0] - found[0] % _YOLOS_MULTIPLE, found[1] - found[1] % _YOLOS_MULTIPLE
    if p.name.startswith("Mask") and p.get("size_divisor") not in (None, 0):
        divisor = p.integer("size_divisor")
        found = align(found[0], divisor), align(found[1], divisor)
    image.resize(found)


def convnext(p: Parameters, image: Canvas) -> None:
    """Resize a small image with a margin that is cropped, a large one to a square."""
    if p.flag("do_resize"):
        (edge,) = p.edges("size", "shortest_edge")
        if edge < _CONVNEXT_SQUARE:
            image.resize(resizing.fit_shortest(image.size, int(edge / p.number("crop_pct"))))
            image.crop((edge, edge))
        else:
            image.resize((edge, edge))
    center_crop(p, image)


def poolformer(p: Parameters, image: Canvas) -> None:
    """Resize with a margin for the crop."""
    if p.flag("do_resize") and p.get("crop_pct") is not None:
        keys, fraction = p.size(), p.number("crop_pct")
        if "shortest_edge" in keys:
            image.resize(resizing.fit_shortest(image.size, int(keys["shortest_edge"] / fraction)))
        else:
            height, width = p.sides()
            scaled = int(height / fraction), int(width / fraction)
            image.resize(resizing.fit_shortest(image.size, scaled[0]) if height == width else scaled)
    else:
        resize(p, image)
    center_crop(p, image)


def levit(p: Parameters, image: Canvas) -> None:
    """Resize with a margin for the crop, of 256 to 224."""
    if p.flag("do_resize"):
        keys = p.size()
        if "shortest_edge" in keys:
            edge = int(_LEVIT_SHORTEST * keys["shortest_edge"])
            image.resize(resizing.fit_shortest(image.size, edge))
        else:
            image.resize(p.sides())
    center_crop(p, image)


def vilt(p: Parameters, image: Canvas) -> None:
    """Resize by the shortest edge to multiples; BridgeTower then crops."""
    if p.flag("do_resize"):
        (edge,) = p.edges("size", "shortest_edge")
        longer = int(_VILT_LONGER * edge)
        image.resize(resizing.fit_divisor(image.size, edge, longer, p.integer("size_divisor")))
    if p.name.startswith("Bridge") and p.flag("do_center_crop"):
        (edge,) = p.edges("crop_size", "shortest_edge")
        image.crop((edge, edge))


def sam(p: Parameters, image: Canvas) -> None:
    """Resize by the longest edge."""
    if p.flag("do_resize"):
        (longest,) = p.edges("size", "longest_edge")
        image.resize(resizing.fit_longest(image.size, longest))
    center_crop(p, image)


def dpt(p: Parameters, image: Canvas) -> None:
    """Resize to multiples, and pad to others."""
    if p.flag("do_resize"):
        multiple = p.number("ensure_multiple_of")
        keep = p.flag("keep_aspect_ratio")
        image.resize(resizing.fit_multiple(image.size, p.sides(), multiple, keep))
    if p.name.startswith("CHM"):
        center_crop(p, image)
    if p.flag("do_pad") and p.get("size_divisor") is not None:
        divisor = p.integer("size_divisor")
        image.pad((align(image.size[0], divisor), align(image.size[1], divisor)))


def zoedepth(p: Parameters, image: Canvas) -> None:
    """Pad by a part of each side, and resize to multiples."""
    height, width = image.size
    if p.flag("do_pad"):
        image.pad((height + 2 * int(sqrt(height / 2) * 3), width + 2 * int(sqrt(width / 2) * 3)))
    if p.flag("do_resize"):
        multiple, keep = p.number("ensure_multiple_of"), p.flag("keep_aspect_ratio")
        image.resize(resizing.fit_multiple(image.size, p.sides(), multiple, keep))


def glpn(p: Parameters, image: Canvas) -> None:
    """Round down to multiples."""
    if p.flag("do_resize"):
        divisor = p.integer("size_divisor")
        image.resize((image.size[0] // divisor * divisor, image.size[1] // divisor * divisor))


def perceiver(p: Parameters, image: Canvas) -> None:
    """Crop a part of the shorter side, and resize it."""
    if p.flag("do_center_crop"):
        (height, width), (crop_height, crop_width) = p.sides(), p.sides("crop_size")
        side = min(image.size)
        image.crop((int(height / crop_height * side), int(width / crop_width * side)))
    resize(p, image)


def llava(p: Parameters, image: Canvas) -> None:
    """Pad to a square, resize and crop."""
    if p.flag("do_pad"):
        image.pad((max(image.size), max(image.size)))
    resize_and_crop(p, image)


def owlv2(p: Parameters, image: Canvas) -> None:
    """Pad to a square and resize."""
    if p.flag("do_pad"):
        image.pad((max(image.size), max(image.size)))
    if p.flag("do_resize"):
        image.resize(p.sides())


def janus(p: Parameters, image: Canvas) -> None:
    """Resize by the longest side and pad to a square."""
    if p.flag("do_resize"):
        side, least = p.square(), p.integer("min_size")
        scale = side / max(image.size)
        image.resize((max(round(image.size[0] * scale), least), max(round(image.size[1] * scale), least)))
    if p.flag("do_pad"):
        image.pad((max(image.size), max(image.size)))


def swin2sr(p: Parameters, image: Canvas) -> None:
    """Pad to the next multiple, even from a multiple."""
    key = "pad_size" if type(p.get("pad_size")) is int else "size_divisor"  # its former name
    if p.flag("do_pad"):
        divisor = p.integer(key)
        image.pad(((image.size[0] // divisor + 1) * divisor, (image.size[1] // divisor + 1) * divisor))


def vitmatte(p: Parameters, image: Canvas) -> None:
    """Pad to multiples."""
    key = "size_divisor" if p.get("size_divisibility") is None else "size_divisibility"  # its former name
    if p.flag("do_pad"):
        divisor = p.integer(key)
        image.pad((align(image.size[0], divisor), align(image.size[1], divisor)))


def textnet(p: Parameters, image: Canvas) -> None:
    """Resize by the shortest edge, rounded up to multiples."""
    if p.flag("do_resize"):
        (edge,) = p.edges("size", "shortest_edge")
        divisor = p.integer("size_divisor")
        height, width = resizing.fit_shortest(image.size, edge)
        image.resize((align(height, divisor), align(width, divisor)))
    center_crop(p, image)


def fuyu(p: Parameters, image: Canvas) -> None:
    """Shrink into a size, and pad to it."""
    size = p.sides()
    if p.flag("do_resize") and (image.size[0] > size[0] or image.size[1] > size[1]):
        scale = min(size[0] / image.size[0], size[1] / image.size[1])
        image.resize((int(image.size[0] * scale), int(image.size[1] * scale)))
    if p.flag("do_pad"):
        image.pad(size)


def eomt(p: Parameters, image: Canvas) -> None:
    """Resize, and split along the longer side or pad to a square."""
    resize(p, image)
    keys = p.size()
    if p.flag("do_split_image"):
        (edge,), (height, width) = p.edges("size", "shortest_edge"), image.size
        count = -(-max(height, width) // edge)
        step = edge - ((count * edge - max(height, width)) / (count - 1) if count > 1 else 0)
        starts = [int(place * step) for place in range(image.check_count(count))]
        cut = [min(edge, max(height, width) - start) for start in starts]
        image.split_into(
            [(one, width) if height > width else (height, one) for one in cut], f"{count} pieces"
        )
    if p.flag("do_pad"):
        (shortest,) = p.edges("size", "shortest_edge")
        target = shortest, keys.get("longest_edge", shortest)
        image.tiles = [(max(target[0], one[0]), max(target[1], one[1])) for one in image.tiles]
        image.pad((max(target[0], image.size[0]), max(target[1], image.size[1])))


def sapiens(p: Parameters, image: Canvas) -> None:
    """Resize to a size, or with padding into it."""
    if p.flag("do_resize") and p.flag("do_pad"):
        image.resize(resizing.fit_inside(image.size, *p.sides()))
        image.crop(p.sides())
    elif p.flag("do_resize"):
        resize_by_keys(p, image)
    center_crop(p, image)


def tvp(p: Parameters, image: Canvas) -> None:
    """Resize by the longest edge and crop; images are the frames of a video."""
    if p.flag("do_resize"):
        keys = p.size()
        if {*keys} == {"longest_edge"}:
            longest, (height, width) = keys["longest_edge"], image.size
            ratio = min(height, width) * 1.0 / max(height, width)
            shorter = int(longest * ratio)
            image.resize((longest, shorter) if height >= width else (shorter, longest))
        else:
            resize_by_keys(p, image)
    center_crop(p, image)
