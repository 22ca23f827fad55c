"""The steps from a file to the tensors of a model, as they are computed and reported."""

from __future__ import annotations

from collections.abc import Iterable

from archspec.errors import ArchspecError
from archspec.processors.parameters import Size
from archspec.tables.items import size_text
from archspec.typing_light import NamedTuple, NoReturn

MOST_TILES = 10_000  # of an image


class Trace(NamedTuple):
    """A file, the sizes of its tensors in order, and the steps that lead to them.

    Sizes are (height, width) of images, (frames, height, width) of videos, and one number of audio files.
    ``patches`` are those of each tensor if the processor pads to a fixed number, else 0.
    """

    file: tuple[int, ...]
    tensors: tuple[tuple[int, ...], ...]
    steps: tuple[str, ...]
    patches: int = 0

    def __str__(self) -> str:
        """Return a line for a report."""
        return ", ".join((size_text(self.file), *self.steps))


class Canvas:
    """An image as a processor changes it, and the tiles that it is split into."""

    def __init__(self, size: Size, frames: int = 0) -> None:
        self.file = (frames, *size) if frames else size
        self.size, self.frames = size, frames
        self.tiles: list[Size] = []
        self.segments: list[int] = []  # frames of each part of a video
        self.steps: list[str] = []
        self.patches = 0

    def refuse(self, message: str, help_: str = "pass another size") -> NoReturn:
        what = f"a video of {self.file[0]:,} frames of" if self.frames else "an image of"
        raise ArchspecError(f"{what} {size_text(self.file[-2:])} pixels {message}", help=help_)

    def resize(self, size: Size, verb: str = "resized to") -> None:
        """Change the size; refuse a side without pixels, as transformers does."""
        if min(size) < 1:
            self.refuse(f"becomes {size_text(size)}, which has no pixels", "pass less unequal sides")
        if size != self.size:
            self.steps.append(f"{verb} {size_text(size)}")
        self.size = size

    def crop(self, size: Size) -> None:
        self.resize(size, "center-cropped to")

    def pad(self, size: Size) -> None:
        """Pad to a size; refuse a smaller one, as transformers does."""
        if size[0] < self.size[0] or size[1] < self.size[1]:
            self.refuse(
                f"becomes {size_text(self.size)}, which is larger than the padded size {size_text(size)}"
            )
        self.resize(size, "padded to")

    def pad_patches(self, count: int) -> None:
        """Pad the patches of each tensor to a number."""
        self.patches = count
        self.note(f"padded to {count:,} patches")

    def note(self, text: str) -> None:
        self.steps.append(text)

    def split(
        self, rows: int, columns: int, tile: Size, last: Iterable[Size] = (), first: Iterable[Size] = ()
    ) -> None:
        """Split the image into tiles, with other images of it before and after them."""
        self.split_into(
            [tile] * self.check_count(rows * columns), f"{columns}×{rows} tiles of {size_text(tile)}"
        )
        for size in last:
            self.note(f"the whole image at {size_text(size)}")
        self.tiles = [*first, *self.tiles, *last]
        for size in first:
            self.note(f"the whole image at {size_text(size)}")

    def check_count(self, count: int) -> int:
        """Return a number of tiles that is not too large."""
        if count > MOST_TILES:
            self.refuse(f"becomes {count:,} tiles, more than the {MOST_TILES:,} that are supported")
        return count

    def split_into(self, tiles: list[Size], text: str) -> None:
        if min((edge for tile in tiles for edge in tile), default=1) < 1:
            self.refuse("becomes a tile without pixels", "pass less unequal sides")
        self.tiles = tiles
        self.note(text)

    def segment(self, longest: int) -> None:
        """Split a video into segments of frames."""
        count = self.check_count(-(-self.frames // longest))
        self.segments = [min(longest, self.frames - longest * place) for place in range(count)]
        if count > 1:
            self.note(f"{count} segments of {longest} frames")

    def trace(self) -> Trace:
        """Return the result."""
        sizes = self.tiles or [self.size]
        counts = self.segments or ([self.frames] if self.frames else [])
        parts: list[tuple[int, ...]] = [(count,) for count in counts] or [()]
        tensors = tuple((*frames, *size) for frames in parts for size in sizes)
        return Trace(self.file, tensors, tuple(self.steps), self.patches)
