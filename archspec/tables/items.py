"""The options for the images, videos and audio of a forward pass, and for the text next to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from archspec.tables.axes import AXES, CALLS
from archspec.tables.option import Option
from archspec.typing_light import Any

MODALITIES = {  # inputs in addition to text, with the axes of one item
    "images": ("height", "width"),
    "videos": ("frames", "height", "width"),
    "audios": ("length",),
}
EXAMPLES = {"images": "1024x768", "videos": "16@448x448", "audios": "30s"}  # of a file
_VERBS = tuple(verb for verb in CALLS if verb != "sensitivity")
# fmt: off
ITEM_OPTIONS = (
    Option("text_tokens", "int | None",
           "text tokens per sequence; the tokens of images, videos and audio are added", _VERBS, metavar="N"),
    Option("images", "Sequence[Any]",
           "an image, e.g. 1024x768 (width x height), or several, 4@1024x768; repeat it for other sizes",
           _VERBS, default=(), metavar="SIZE"),
    Option("videos", "Sequence[Any]", "a video, e.g. 16@448x448 (frames, width x height), or 2@16@448x448",
           _VERBS, default=(), metavar="SIZE"),
    Option("audios", "Sequence[Any]",
           "an audio file, e.g. 30s, 480000 (samples) or 4@30s; 3000f are feature frames or samples as the "
           "model receives them", _VERBS, default=(), metavar="LENGTH"),
    Option("processed", "bool", "the sizes are those of the tensors that the model receives", _VERBS,
           default=False),
)
# fmt: on
ITEMS = tuple(option.name for option in ITEM_OPTIONS)
LENGTHS = (  # that a sweep varies: those of a forward pass, numbers of items, sizes of an item
    *(*AXES, "text_tokens", *MODALITIES),
    *dict.fromkeys(axis for axes in MODALITIES.values() for axis in axes),
)


def size_text(size: Sequence[Any]) -> str:
    """Return the size of an item as users write it: width×height, frames@width×height, or a length.

    >>> size_text((768, 1024)), size_text((16, 448, 448)), size_text((480000,))
    ('1024×768', '16@448×448', '480,000')
    """
    if len(size) == 1:
        return f"{size[0]:,}"
    *frames, height, width = size
    return "".join(f"{number}@" for number in frames) + f"{width}×{height}"


def written_size(size: Iterable[int]) -> str:
    """Return the size of a tensor as an option takes it.

    >>> written_size((768, 1024)), written_size((3000,))
    ('1024x768', '3000f')
    """
    edges = [*size]
    return f"{edges[0]}f" if len(edges) == 1 else size_text(edges).replace("×", "x")


def lengths_in(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the axes and items that are given among the local values of a function that takes them.

    >>> lengths_in({"self": None, "batch": 2, "tokens": None})
    {'batch': 2}
    """
    given = {name: values[name] for name in AXES if values.get(name) is not None}
    return given | {name: values[name] for name in ITEMS if values.get(name)}
