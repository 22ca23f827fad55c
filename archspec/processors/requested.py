"""The images, videos and audios of a call as a user writes them, and the tensors that the model receives."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import islice

from archspec.configs.origin import Origin
from archspec.configs.reader import read_json_file
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, option
from archspec.processors.canvas import Trace
from archspec.processors.processor import Processor, read
from archspec.tables.items import size_text
from archspec.typing_light import Any, NamedTuple

_FILES = ("preprocessor_config.json", "processor_config.json")  # the first that is next to the config
MAX_ITEMS = 4096  # items of one call
_FORMS = {  # how each modality is written, and an example
    "images": (r"(?:(?P<times>\d+)@)?(?P<width>\d+)x(?P<height>\d+)", "WIDTHxHEIGHT", "1024x768"),
    "videos": (r"(?P<frames>\d+)@(?P<width>\d+)x(?P<height>\d+)", "FRAMES@WIDTHxHEIGHT", "16@448x448"),
    "audios": (r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[sf]?)", "seconds, frames or samples", "30s"),
}
_ORDERS = {"images": "(height, width)", "videos": "(frames, height, width)", "audios": "a number"}
_ASSUMED = "processor: defaults"
Size = tuple[int, ...]


class Requested(NamedTuple):
    """The sizes of a call's tensors by modality, and a line on what became of each file.

    ``assumed`` are the modalities that defaults of transformers' processors apply to, one tensor a file.
    """

    sizes: dict[str, tuple[Any, ...]]
    lines: tuple[str, ...]
    assumed: tuple[str, ...] = ()


def read_items(scope: Scope, given: Mapping[str, Sequence[Any]], processed: bool) -> Requested:
    """Return the tensors of the items that a user gives.

    An image is `1024x768` (width×height) or (768, 1024) (height, width); `4@1024x768` are four. A video is
    `16@448x448` or (16, 448, 448). An audio is `30s`, `480000` (samples), or `3000f` or 3000 as the model
    receives it. Other sizes go through the model's processor unless they are ``processed``.

    Errors: :class:`ArchspecError` for other values, and for files that no processor is known for.
    """
    if processed and not any(given.values()):
        message = f"{option('processed')} has no effect without images, videos or audio"
        raise ArchspecError(message, help=f"leave out {option('processed')}")
    sizes, lines, assumed = dict[str, tuple[Any, ...]](), list[str](), list[str]()
    for modality, items in given.items():
        found = [*islice((one for item in items for one in items_of(modality, item)), MAX_ITEMS + 1)]
        if len(found) > MAX_ITEMS:
            raise ArchspecError(
                f"{modality}: more than {MAX_ITEMS:,} items", help=f"pass at most {MAX_ITEMS:,}"
            )
        if not found:
            continue
        tensors, more = _tensors(scope, modality, found, processed)
        sizes[modality] = tuple(size if len(size) > 1 else size[0] for size in tensors)
        lines += more
        if more and more[-1].startswith(_ASSUMED) and len(tensors) == len(found):
            assumed.append(modality)
    return Requested(sizes, tuple(lines), tuple(assumed))


class Item(NamedTuple):
    """One item: its size, or the number of an audio with its unit: s, f, or none for samples."""

    size: Size
    number: float = 0
    unit: str = ""
    is_file: bool = True


def items_of(modality: str, given: Any) -> list[Item]:
    """Return the items that a user gives as one text or size. Errors: see :func:`read_items`."""
    if isinstance(given, Item):
        return [given]
    pattern, form, example = _FORMS[modality]
    if isinstance(given, str):
        found = re.fullmatch(pattern, given.strip(), re.ASCII)
        if found is None or len(given) > 40:
            name = option(modality if "=" in option("x", 1) else modality[:-1], example)
            raise ArchspecError(f"{given!r} is not {form}", help=f"write {name}")
        parts = found.groupdict()
        if modality == "audios":
            number = float(parts["number"])
            return [Item((int(number),), number, parts["unit"], parts["unit"] != "f")]
        names = ("frames", "height", "width") if modality == "videos" else ("height", "width")
        times = min(int(parts.get("times") or 1), MAX_ITEMS + 1)
        return [Item(tuple(int(parts[name]) for name in names))] * times
    sizes = [given] if modality == "audios" else given
    count = {"images": 2, "videos": 3, "audios": 1}[modality]
    is_list = isinstance(sizes, list | tuple)
    if not is_list or len(sizes) != count or any(type(size) is not int for size in sizes):
        message = f"{modality}: {given!r} is not {_ORDERS[modality]}"
        raise ArchspecError(message, help=f"write {option(modality, [example])}")
    return [Item(tuple(sizes), is_file=modality != "audios")]


def _tensors(scope: Scope, modality: str, items: list[Item], processed: bool) -> tuple[list[Size], list[str]]:
    if processed or not any(item.is_file for item in items):
        if wrong := next((item for item in items if item.unit == "s" or min(item.size) < 1), None):
            what = "seconds" if wrong.unit == "s" else "a size of 0"
            help_ = f"leave out {option('processed')}" if processed else "pass sizes of at least 1"
            raise ArchspecError(f"{modality}: {what} cannot be a tensor's size", help=help_)
        return [item.size for item in items], []
    processor = _processor(scope)
    if processor is None:
        message = f"the processor of {scope.spec.model_type} is not supported"
        raise ArchspecError(message, help=f"pass the sizes of the tensors, with {option('processed', True)}")
    if not all(item.is_file for item in items):
        raise ArchspecError("audios mixes files and frames", help="write all in seconds, or all in frames")
    if modality == "audios":
        files: list[Any] = [_samples(item, processor.sampling_rate) for item in items]
        traces = processor.trace_audios(files)
    else:
        files = [item.size for item in items]
        traces = processor.trace_images(files) if modality == "images" else processor.trace_videos(files)
    texts = [_line(modality, file, trace) for file, trace in zip(files, traces, strict=True)]
    lines = [*dict.fromkeys(texts)]
    return [size for trace in traces for size in trace.tensors], [*lines, f"processor: {processor.source}"]


def _samples(item: Item, rate: int) -> int:
    return round(item.number * rate) if item.unit == "s" else item.size[0]


def _line(modality: str, file: Any, trace: Trace) -> str:
    """Return what became of a file: `image 1024×768: resized to 1036×784`."""
    what = size_text(file) if isinstance(file, tuple) else f"of {file:,} samples"
    return f"{modality[:-1]} {what}: {', '.join(trace.steps) or 'unchanged'}"


def _processor(scope: Scope) -> Processor | None:
    return read(scope.spec.model_type, scope.raw, _preprocessor(scope.origin))


def _preprocessor(origin: Origin) -> dict[str, Any] | None:
    """Return the file next to the config; None without one."""
    folder = os.path.dirname(origin.name)
    if not origin.text or os.path.basename(origin.name) != "config.json":
        return None
    paths = (os.path.join(folder, name) for name in _FILES)
    path = next((path for path in paths if os.path.isfile(path)), None)
    return None if path is None else read_json_file(path)
