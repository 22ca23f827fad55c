"""The lengths and items of forward passes that a sweep varies, next to the fields of a config."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod
from typing import Any

from archspec.configs.scope import Scope
from archspec.errors import SweepError, option
from archspec.models.report import axis_title, lengths_text
from archspec.processors.requested import MAX_ITEMS, Item, items_of
from archspec.specs.records import GRID, MODALITIES
from archspec.sweeping.axes import Axis
from archspec.tables.axes import AXES
from archspec.tables.items import EXAMPLES, ITEMS, LENGTHS

MAX_POINTS = 100_000  # each takes a few milliseconds
_NUMBERS = (*AXES, "text_tokens")
_UNITS = {"s": "seconds", "f": "frames", "": "samples"}  # of an audio


def swept_lengths(names: Iterable[str], scope: Scope) -> list[str]:
    """Return the names that are lengths; a field of the config with the same name takes precedence."""
    fields = {*scope.spec.fields, *scope.spec.attribute_map, *scope.raw}
    return [name for name in names if name in LENGTHS and name not in fields]


class Lengths:
    """The lengths of the forward passes of a grid.

    ``given`` are those of all points, as :meth:`archspec.Model.forward` takes them, and ``names`` those that
    are swept or tied: numbers, and sizes of the items. ``only`` is the modality of a class that takes nothing
    else. With items (``has_items``) each combination of lengths is evaluated; otherwise lengths are symbolic.

    Errors: :class:`SweepError` for a length that is also given, and for a size of images or videos.
    """

    def __init__(self, given: Mapping[str, Any], names: Collection[str], only: str | None) -> None:
        self.given, self.names, self.only = dict(given), frozenset(names), only
        self.owners = {name: self._owner(name) for name in GRID if name in self.names}
        swept = {*self.owners.values(), *(self.names & {*MODALITIES})}
        self.modalities = [modality for modality in MODALITIES if modality in swept]
        self.has_items = bool(self.modalities or only or any(self.given.get(name) for name in MODALITIES))
        for name in sorted(self.names & self.given.keys() & {*_NUMBERS}):
            message = f"{name} is in {option('set')} or {option('tie')}, and in {option(name)}"
            raise SweepError(message, help="leave out one of the two")

    def _owner(self, name: str) -> str:
        """Return the modality whose items have a size: for a height, images unless there are videos."""
        takers = [modality for modality, sizes in MODALITIES.items() if name in sizes]
        known = self.names | {"videos"} if "frames" in self.names else self.names
        named = [one for one in takers if one in known or self.given.get(one) or one == self.only]
        if len(named) > 1:
            help_ = f"leave out the {named[0]} or the {named[1]}"
            raise SweepError(f"{name} is ambiguous: it can be of {' or of '.join(named)}", help=help_)
        return (named or takers)[0]

    def check_points(self, axes: Sequence[Axis]) -> None:
        """Raise :class:`SweepError` for too many combinations of lengths with items."""
        sizes = [len(one.values) for one in axes if one.name in self.names]
        if self.has_items and prod(sizes) > MAX_POINTS:
            message = f"the grid has {prod(sizes):,} combinations of lengths"
            help_ = f"use larger steps: with images, videos or audio at most {MAX_POINTS:,} are evaluated"
            raise SweepError(message, help=help_)

    def fields_in(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields among the fields and lengths of a point."""
        return {name: value for name, value in settings.items() if name not in self.names}

    def values(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lengths that columns and ties can use, of the fields and lengths of a point."""
        given = {name: length for name, length in self.given.items() if name in _NUMBERS}
        return given | {name: value for name, value in settings.items() if name in self.names}

    def lengths_at(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the lengths at a point, as :meth:`archspec.Model.forward` takes them.

        Errors: :class:`SweepError` for invalid numbers and sizes of items.
        """
        found = {**self.given, **{name: settings[name] for name in _NUMBERS if name in self.names}}
        for modality in self.modalities:
            number = settings[modality] if modality in self.names else None
            sizes = {name: settings[name] for name, owner in self.owners.items() if owner == modality}
            found[modality] = self._items(modality, number, sizes)
        return found

    def _items(self, modality: str, number: Any, sizes: Mapping[str, Any]) -> list[Item]:
        """Return the items of a point: as given, in some sizes, as often as a number."""
        given = self.given.get(modality, ())
        if isinstance(number, str | list | tuple):  # items, as the option takes them
            if given:
                message = f"{modality}: {option('set')} and {option(modality)} both have sizes"
                raise SweepError(message, help=f"leave out {option(modality)}, or sweep the number")
            given, number = [number] if isinstance(number, str) else number, None
        items = [item for one in given for item in items_of(modality, one)]
        missing = [name for name in MODALITIES[modality] if name not in sizes]
        if missing and not items:
            help_ = f"pass {option(modality, [EXAMPLES[modality]])}, or sweep or tie {' and '.join(missing)}"
            raise SweepError(f"{modality} need a size", help=help_)
        items = items or [Item((0,) * len(MODALITIES[modality]))]
        for name, size in sizes.items():
            is_float = items[0].unit == "s" and type(size) is float
            if not (type(size) is int or is_float) or size < 1:
                help_ = "sweep integers of at least 1; in ties, // rounds down"
                raise SweepError(f"{name} must be an integer of at least 1, not {size!r}", help=help_)
        items = [_with_sizes(item, modality, sizes) for item in items]
        return items if number is None else self._repeat(modality, items, number)

    def _repeat(self, modality: str, items: list[Item], number: Any) -> list[Item]:
        least = 1 if self.only else 0
        if type(number) is not int or number < least:
            message = f"{modality} must be an integer of at least {least}, or a size, not {number!r}"
            raise SweepError(message, help=f"sweep {modality}={least}:8, for example")
        if len(items) > 1:
            message = f"the number of {modality} is swept, and {option(modality)} gives {len(items)}"
            raise SweepError(message, help=f"pass {option(modality, [EXAMPLES[modality]])} once")
        return items * min(number, MAX_ITEMS + 1)

    def title(self, name: str) -> str:
        """Return the label of a field or length: a field's name, `image height (pixels)`."""
        if name not in self.names:
            return name
        if name in MODALITIES:
            return f"number of {name}"
        if name not in self.owners:
            return f"{name} tokens" if name == "past" else axis_title(name)
        modality = self.owners[name]
        if name == "frames":
            return "frames per video"
        unit = "pixels"
        if name == "length":
            given = [item for one in self.given.get(modality, ()) for item in items_of(modality, one)]
            is_file = given[0].is_file if given else not self.given.get("processed")
            unit = _UNITS[given[0].unit if given and is_file else "" if is_file else "f"]
        return f"{modality[:-1]} {name} ({unit})"

    def text(self, tokens: int | None) -> str:
        """Return the lengths of all points for a sentence, with the tokens if all points have as many."""
        is_batch = self.only in self.modalities or self.given.get(self.only or "")  # items are the batch
        given = {**({} if is_batch else {"batch": 1}), **self.given}
        if tokens is not None and not self.only:
            given["tokens"] = tokens
        known = {name: given[name] for name in (*AXES, *ITEMS) if given.get(name)}
        varied = (self.names - {*MODALITIES}) | {*self.owners.values()}
        return lengths_text({name: length for name, length in known.items() if name not in varied})


def _with_sizes(item: Item, modality: str, sizes: Mapping[str, Any]) -> Item:
    size = [sizes.get(name, old) for name, old in zip(MODALITIES[modality], item.size, strict=True)]
    return item._replace(size=tuple(map(int, size)), number=sizes.get("length", item.number))
