"""The fields that a sweep varies, and their values: ``hidden_size=256:8192:128``, ``num_labels=2,4``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from archspec.configs.overrides import parse_override
from archspec.errors import Place, Problem, Source, SweepError

MAX_POINTS = 10**12
MAX_LISTED = 1_000_000
MAX_VALUE = 2**63 - 1
_HELP = "write field=first:last, field=first:last:step, field=first:last:*factor, or field=a,b,c"
_RANGE = re.compile(r"(?P<first>-?\d[\d_]*):(?P<last>-?\d[\d_]*)(?::(?P<times>\*)?(?P<step>-?\d[\d_]*))?$")
_DECIMAL = re.compile(r"(?P<first>-?\d+(?:\.\d+)?):(?P<last>-?\d+(?:\.\d+)?):(?P<step>\d+(?:\.\d+)?)$")


class Axis(NamedTuple):
    """A field's dotted path and the values it takes, in order; `numeric` where all of them are ints."""

    name: str
    values: Sequence[Any]
    numeric: bool

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest number of a value: itself, or its position where it is no int."""
        if not self.numeric:
            return 0, len(self.values) - 1
        ends = (self.values[0], self.values[-1]) if isinstance(self.values, range) else self.values
        return min(ends), max(ends)

    def code(self, position: int) -> int:
        """The number that stands for the value at a position."""
        return int(self.values[position]) if self.numeric else position


def parse_axis(text: str) -> Axis:
    """An axis as it is typed; a range includes its last value where a step lands on it.

    Errors: :class:`SweepError` for what is no list of values, or an empty one.

    >>> parse_axis("hidden_size=256:1024:256").values, parse_axis("num_labels=2,4,8:10").values
    (range(256, 1025, 256), (2, 4, 8, 9, 10))
    >>> parse_axis("hidden_act=relu,gelu").values, parse_axis("d=64:512:*2").values
    (('relu', 'gelu'), (64, 128, 256, 512))
    """
    path, equals, rest = text.partition("=")
    if not equals or not rest.strip():
        _refuse(text, 0, f"{text!r} gives no values", _HELP)
    name = parse_override(f"{path}=0")[0]
    values: list[Any] = []
    only: range | None = None
    items = list(_items(rest))
    for start, item in items:
        found = _values(text, len(path) + 1 + start, name, item)
        if isinstance(found, range):
            only = found if len(items) == 1 else None
            if only is None and len(found) > MAX_LISTED:
                _refuse(
                    text,
                    len(path) + 1 + start,
                    f"a list of more than {MAX_LISTED:,} values",
                    "give one range",
                )
        if only is None:
            values += found
    return axis(name, only if only is not None else values)


def axis(name: str, values: Any) -> Axis:
    """An axis from values of any kind: a range, a list, text as it is typed, or one value.

    Errors: :class:`SweepError` for no values at all, and for ints beyond 64 bits.

    >>> axis("hidden_size", "64:256:64").values, axis("num_labels", 3).values
    (range(64, 257, 64), (3,))
    """
    if isinstance(values, str) and re.search(r"[:,]", values):
        return parse_axis(f"{name}={values}")
    if not isinstance(values, range):
        if hasattr(values, "tolist"):
            values = values.tolist()
        listed = values if isinstance(values, Sequence) and not isinstance(values, str) else None
        if listed is None:
            listed = list(values) if isinstance(values, Iterator | set | frozenset) else [values]
        values = tuple(
            value.item() if hasattr(value, "item") else value for value in listed
        )  # numpy's numbers as Python's
    if not len(values):
        raise SweepError(Problem(f"{name} has no values", help=_HELP))
    numeric = isinstance(values, range) or all(type(value) is int for value in values)
    found = Axis(name, values, numeric)
    huge = (
        next((end for end in found.bounds if not -MAX_VALUE <= end <= MAX_VALUE), None) if numeric else None
    )
    if huge is not None:
        raise SweepError(
            Problem(f"{name} reaches {huge:,}, beyond 64 bits", help=f"up to {MAX_VALUE:,} is swept")
        )
    return found


def axes_of(given: Mapping[str, Any] | Sequence[str], most: int = MAX_POINTS) -> tuple[Axis, ...]:
    """Axes from a mapping of fields to values, or from texts as they are typed, one or several.

    Errors: :class:`SweepError` for a field that is given twice, and for a grid of more than `most` points.
    """
    if isinstance(given, Mapping):
        axes = [axis(name, values) for name, values in given.items()]
    else:
        axes = [parse_axis(text) for text in ([given] if isinstance(given, str) else given)]
    points, seen = 1, set()
    for one in axes:
        if one.name in seen:
            raise SweepError(
                Problem(f"{one.name} is set twice", help=f"give all its values at once: {one.name}=a,b,c")
            )
        seen.add(one.name)
        points *= len(one.values)
    if points > most:
        sizes = " x ".join(f"{len(one.values):,}" for one in axes)
        help_ = f"up to {most:,} are swept: take larger steps"
        raise SweepError(Problem(f"a grid of {sizes} = {points:,} points", help=help_))
    return tuple(axes)


def _items(text: str) -> Iterator[tuple[int, str]]:
    """The parts between commas that are in no bracket and no quotes, with their offsets."""
    depth, quoted, start = 0, False, 0
    for position, letter in enumerate(text):
        if letter == '"' and (position == 0 or text[position - 1] != "\\"):
            quoted = not quoted
        elif not quoted:
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                yield start, text[start:position]
                start = position + 1
    yield start, text[start:]


def _values(text: str, offset: int, name: str, item: str) -> Sequence[Any]:
    item = item.strip()
    if match := _RANGE.match(item):
        first, last, step = (int(match[key] or 1) for key in ("first", "last", "step"))
        if match["times"]:
            return _powers(text, offset, first, last, step)
        if step <= 0:
            _refuse(text, offset, f"the step {step} goes nowhere", "a step is a positive number")
        if last < first:
            _refuse(text, offset, f"{item} is empty: {last} is below {first}", _HELP)
        return range(first, last + 1, step)
    if match := _DECIMAL.match(item):
        return _decimals(text, offset, match)
    if ":" in item and not item.startswith(("[", "{", '"')):
        _refuse(text, offset, f"{item!r} is no range", _HELP)
    return [parse_override(f"{name}={item}")[1]]


def _powers(text: str, offset: int, first: int, last: int, factor: int) -> list[int]:
    if first < 1 or factor < 2 or last < first:
        _refuse(
            text, offset, "a range of powers starts at 1 or more and grows by a factor of 2 or more", _HELP
        )
    values = [first]
    while values[-1] * factor <= last:
        values.append(values[-1] * factor)
    return values


def _decimals(text: str, offset: int, match: re.Match[str]) -> list[float]:
    from decimal import Decimal

    first, last, step = (Decimal(match[key]) for key in ("first", "last", "step"))
    if step <= 0 or last < first or (last - first) / step > 100_000:
        _refuse(text, offset, f"{match[0]} is empty or endless", _HELP)
    return [float(first + step * turn) for turn in range(int((last - first) / step) + 1)]


def _refuse(text: str, offset: int, message: str, help_: str) -> NoReturn:
    raise SweepError(Problem(message, Place(Source("--set", text), 1, offset + 1), help=help_))
