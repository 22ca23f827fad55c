"""The images, videos and audios of a call as a user writes them, and the tensors that the model receives."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import islice

from archspec.configs.origin import Origin
from archspec.configs.reader import find_file, read_json_file
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, option
from archspec.processors.canvas import Trace
from archspec.processors.processor import Processor, read
from archspec.tables.items import EXAMPLES, size_text
from archspec.typing_light import Any, NamedTuple

_FILES = ("preprocessor_config.json", "processor_config.json")  # the first that is next to the config
MAX_ITEMS = 4096  # items of one call
_FORMS = {  # how each modality is written, after `4@` for several items
    "images": (r"(?P<width>\d+)x(?P<height>\d+)", "WIDTHxHEIGHT"),
    "videos": (r"(?P<frames>\d+)@(?P<width>\d+)x(?P<height>\d+)", "FRAMES@WIDTHxHEIGHT"),
    "audios": (r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[sf]?)", "seconds, frames or samples"),
}
_ORDERS = {"images": "(height, width)", "videos": "(frames, height, width)", "audios": "a number"}
_ASSUMED = "defaults"
Size = tuple[int, ...]


class File(NamedTuple):
    """A file of a user, how many tensors it becomes, and how."""

    modality: str
    name: str  # `image 1024×768`
    steps: str
    tensors: int


class Requested(NamedTuple):
    """The sizes of a call's tensors by modality, the files that they come from, and the processor.

    ``assumed`` are the modalities that defaults of transformers' processors apply to, one tensor a file;
    ``padded`` are the patches of each tensor of a modality that the processor pads to a fixed number.
    """

    sizes: dict[str, tuple[Any, ...]]
    files: tuple[File, ...] = ()
    processor: str = ""
    assumed: tuple[str, ...] = ()
    padded: tuple[tuple[str, int], ...] = ()

    def lines(self, tokens: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
        """Return a line for each kind of file, with the tokens of all its tensors, and for the processor."""
        found, left = list[str](), {modality: iter(each) for modality, each in tokens.items()}
        for file in self.files:
            own = [*islice(left.get(file.modality, iter(())), file.tensors)]
            found.append(f"{file.name}: {file.steps}" + (f", {sum(own):,} tokens" if own else ""))
        return (*dict.fromkeys(found), *([f"processor: {self.processor}"] if self.processor else ()))


def read_items(scope: Scope, given: Mapping[str, Sequence[Any]], processed: bool) -> Requested:
    """Return the tensors of the items that a user gives.

    An image is `1024x768` (width×height) or (768, 1024) (height, width); `4@1024x768` are four. A video is
    `16@448x448` or (16, 448, 448); `2@16@448x448` are two. An audio is `30s`, `480000` (samples), or `3000f`
    or 3000 as the model receives it. Other sizes go through the model's processor unless ``processed``.

    Errors: :class:`ArchspecError` for other values, and for files that no processor is known for.
    """
    if processed and not any(given.values()):
        message = f"{option('processed')} has no effect without images, videos or audio"
        raise ArchspecError(message, help=f"leave out {option('processed')}")
    sizes, files, source, assumed = dict[str, tuple[Any, ...]](), list[File](), "", list[str]()
    padded = list[tuple[str, int]]()
    for modality, items in given.items():
        found = [*islice((one for item in items for one in items_of(modality, item)), MAX_ITEMS + 1)]
        if len(found) > MAX_ITEMS:
            message = f"{modality}: more than {MAX_ITEMS:,} items"
            raise ArchspecError(message, help=f"pass at most {MAX_ITEMS:,}")
        if not found:
            continue
        if processed or not any(item.is_file for item in found):
            tensors = _check_tensors(modality, found, processed)
        else:
            processor = _processor(scope)
            traces = _traces(processor, modality, found)
            tensors, source = [size for trace in traces for size in trace.tensors], processor.source
            files += [_file(modality, trace) for trace in traces]
            if traces[0].patches:
                padded.append((modality, traces[0].patches))
            if source.startswith(_ASSUMED) and len(tensors) == len(found):
                assumed.append(modality)
        sizes[modality] = tuple(size if len(size) > 1 else size[0] for size in tensors)
    return Requested(sizes, tuple(files), source, tuple(assumed), tuple(padded))


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
    (pattern, form), example = _FORMS[modality], EXAMPLES[modality]
    if isinstance(given, str):
        found = re.fullmatch(rf"(?:(?P<times>\d+)@)?{pattern}", given.strip(), re.ASCII)
        if found is None or len(given) > 40:
            raise ArchspecError(f"{given!r} is not {form}", help=f"write {option(modality, [example])}")
        parts = found.groupdict()
        times = min(int(parts["times"] or 1), MAX_ITEMS + 1)
        if modality == "audios":
            number = float(parts["number"])
            return [Item((int(number),), number, parts["unit"], parts["unit"] != "f")] * times
        names = ("frames", "height", "width") if modality == "videos" else ("height", "width")
        return [Item(tuple(int(parts[name]) for name in names))] * times
    sizes = [given] if modality == "audios" else given
    count = {"images": 2, "videos": 3, "audios": 1}[modality]
    is_list = isinstance(sizes, list | tuple)
    if not is_list or len(sizes) != count or any(type(size) is not int for size in sizes):
        message = f"{modality}: {given!r} is not {_ORDERS[modality]}"
        raise ArchspecError(message, help=f"write {option(modality, [example])}")
    return [Item(tuple(sizes), is_file=modality != "audios")]


def _check_tensors(modality: str, items: list[Item], processed: bool) -> list[Size]:
    """Return the sizes of items that are tensors already."""
    if wrong := next((item for item in items if item.unit == "s" or min(item.size) < 1), None):
        what = "seconds" if wrong.unit == "s" else "a size of 0"
        help_ = f"leave out {option('processed')}" if processed else "pass sizes of at least 1"
        raise ArchspecError(f"{modality}: {what} cannot be a tensor's size", help=help_)
    return [item.size for item in items]


def _traces(processor: Processor, modality: str, items: list[Item]) -> list[Trace]:
    """Return what becomes of files."""
    if not all(item.is_file for item in items):
        raise ArchspecError("audios mixes files and frames", help="write all in seconds, or all in frames")
    if modality == "audios":
        return processor.trace_audios([_samples(item, processor.sampling_rate) for item in items])
    files: list[Any] = [item.size for item in items]
    return processor.trace_images(files) if modality == "images" else processor.trace_videos(files)


def _samples(item: Item, rate: int) -> int:
    return round(item.number * rate) if item.unit == "s" else item.size[0]


def _file(modality: str, trace: Trace) -> File:
    what = size_text(trace.file) if modality != "audios" else f"of {trace.file[0]:,} samples"
    return File(
        modality, f"{modality[:-1]} {what}", ", ".join(trace.steps) or "unchanged", len(trace.tensors)
    )


def _processor(scope: Scope) -> Processor:
    found = read(scope.spec.model_type, scope.raw, _preprocessor(scope.origin))
    if found is None:
        message = f"the processor of {scope.spec.model_type} is not supported"
        raise ArchspecError(message, help=f"pass the sizes of the tensors, with {option('processed', True)}")
    return found


def _preprocessor(origin: Origin) -> dict[str, Any] | None:
    """Return the file next to the config; None without one."""
    if not origin.text or os.path.basename(origin.name) != "config.json":
        return None
    path = find_file(origin.name, _FILES)
    return None if path is None else read_json_file(path)
