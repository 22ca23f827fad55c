"""Sizes of images, videos and audios: as a call has them, and those that only the class knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from archspec.errors import ArchspecError, option
from archspec.language.values import value_of
from archspec.tables.items import size_text
from archspec.typing_light import Any, NamedTuple

UNKNOWN = object()  # a size that the class decides, if it takes only one
_EXAMPLES = {"images": "224x224", "videos": "16@224x224", "audios": "3000f"}


class Media(NamedTuple):
    """For each modality, its groups of items of one size: their number and their size.

    A size of :data:`UNKNOWN` is the only one that the class takes.
    """

    images: tuple[Any, ...] = ()
    videos: tuple[Any, ...] = ()
    audios: tuple[Any, ...] = ()

    @property
    def cache_key(self) -> Any:
        """The value that the cache of modules compares."""
        return tuple(self)


class Maps(list[Any]):
    """The sizes of the feature maps that a backbone returns, each a list of height and width."""

    @property
    def cache_key(self) -> Any:
        """The value that the cache of modules compares."""
        return tuple((type(one).__name__, getattr(one, "cache_key", one)) for size in self for one in size)


class UnknownSize(ArchspecError):
    """The class takes items of any size, and none is given."""

    modality = ""


def unknown_size(modality: str) -> UnknownSize:
    """Return the error for a class that takes items of any size, if none is given."""
    name = option(modality, [_EXAMPLES[modality]])
    found = UnknownSize(f"the size of the {modality} is missing", help=f"pass {name}, for example")
    found.modality = modality
    return found


def missing_items(modality: str, name: str) -> UnknownSize:
    """Return the error for a class that does not run without items of a modality, if none is given."""
    given = option(modality, [_EXAMPLES[modality]])
    found = UnknownSize(f"{name} does not run without {modality}", help=f"pass {given}, for example")
    found.modality = modality
    return found


def sizes_of(item: Any) -> tuple[Any, ...]:
    """Return the size of an item as a tuple; the size of an audio is a number."""
    return item if isinstance(item, tuple) else (item,)


def item_of(sizes: Iterable[Any]) -> Any:
    """Return an item of a size, the inverse of :func:`sizes_of`.

    >>> item_of([224, 224]), item_of([3000])
    ((224, 224), 3000)
    """
    found = tuple(sizes)
    return found if len(found) > 1 else found[0]


def group_items(items: Iterable[Any]) -> tuple[Any, ...]:
    """Return the items of one modality by size: the number of each size, in the order of its first item.

    >>> group_items([(224, 224), (64, 64), (224, 224)])
    ((2, (224, 224)), (1, (64, 64)))
    """
    return tuple((count, sizes_of(item)) for item, count in Counter(items).items())


def value_text(size: Iterable[Any]) -> str:
    """Return the size of an item at the values of its symbols: width×height."""
    return size_text([value_of(one) for one in size])
