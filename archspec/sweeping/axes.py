"""The fields of a sweep with their values (``hidden_size=256:8192:128``), and the columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from decimal import Decimal
from itertools import chain, islice
from math import prod
from typing import Any, NamedTuple

from archspec.arguments import describe_value
from archspec.configs.overrides import parse_override, split_at_commas, split_settings
from archspec.errors import UNICODE_HELP, Place, Source, SweepError, option

Columns = str | Sequence[str] | Mapping[str, str]
MAX_POINTS = 10**12
MAX_VALUE = 2**63 - 1
_MAX_LISTED = 1_000_000
_HELP = "write field=first:last, field=first:last:step, field=first:last:*factor, or field=a,b,c"
_NUMBER = r"(-?[0-9][0-9_]*(?:\.[0-9]+)?)"
_RANGE = re.compile(rf"{_NUMBER}:{_NUMBER}(?::(\*?){_NUMBER})?$")


class Axis(NamedTuple):
    """A field's dotted path and its values in order; ``numeric`` is True if all of them are ints."""

    name: str
    values: Sequence[Any]
    numeric: bool

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest code of a value."""
        if not self.numeric:
            return 0, len(self.values) - 1
        ends = (self.values[0], self.values[-1]) if isinstance(self.values, range) else self.values
        return min(ends), max(ends)

    def code(self, position: int) -> int:
        """Return the number that stands for the value at a position: the value, or the position."""
        return int(self.values[position]) if self.numeric else position


def parse_axis(text: str) -> Axis:
    """Parse a field with its values; a range includes its last value if a step reaches it.

    Errors: :class:`SweepError` for an invalid or empty list of values.

    >>> parse_axis("hidden_size=256:1024:256").values, parse_axis("d=64:512:*2,7").values
    (range(256, 1025, 256), (64, 128, 256, 512, 7))
    """
    path, _, rest = text.partition("=")
    start = Place(Source(option("set"), text), 1, 1)
    if not rest.strip():
        raise SweepError(f"{text!r} has no values", start, help=_HELP)
    name = parse_override(f"{path}=0")[0]
    parts = [
        _values(name, item.strip(), start._replace(column=len(path) + 2 + offset))
        for offset, item in split_at_commas(rest)
    ]
    return axis(name, parts[0] if len(parts) == 1 else chain.from_iterable(parts))


def _values(name: str, item: str, place: Place) -> Sequence[Any]:
    match = _RANGE.match(item)
    if match is None:
        if ":" in item and not item.startswith(("[", "{", '"')):
            raise SweepError(f"{item!r} is not a range", place, help=_HELP)
        return [parse_override(f"{name}={item}")[1]]
    first, last, step = (Decimal(match[group] or 1) for group in (1, 2, 4))
    if last < first:
        message = f"the range {item} is empty: its last value {last} is below its first value {first}"
        raise SweepError(message, place, help=_HELP)
    if step <= 0:
        raise SweepError(f"the step {step} must be positive", place, help=_HELP)
    if match[3]:
        if first < 1 or step < 2 or step % 1:
            message = "a geometric range must start at 1 or more, with an integer factor of at least 2"
            raise SweepError(message, place, help=_HELP)
        powers = [first]
        while powers[-1] * step <= last:
            powers.append(powers[-1] * step)
        return [int(value) for value in powers]
    if "." not in item:
        return range(int(match[1]), int(match[2]) + 1, int(match[4] or 1))
    return [float(first + step * turn) for turn in range(min(int((last - first) / step), _MAX_LISTED) + 1)]


def axis(name: str, values: Any) -> Axis:
    """Return a field with values of any kind: a range, a list, text as it is typed, or one value.

    Errors: :class:`SweepError` for no values, too many values, and ints beyond 64 bits.
    """
    if isinstance(values, str) and re.search(r"[:,]", values):
        return parse_axis(f"{name}={values}")
    if not isinstance(values, range):
        values = values.tolist() if hasattr(values, "tolist") else values
        several = isinstance(values, Sequence | Iterator | Set) and not isinstance(values, str | bytes)
        values = tuple(islice(values, _MAX_LISTED + 1)) if several else (values,)
        if len(values) > _MAX_LISTED:
            raise SweepError(
                f"{name} has more than {_MAX_LISTED:,} values", help="use a range: field=first:last:step"
            )
        values = tuple(value if type(value) in (int, bool) else _plain_value(name, value) for value in values)
    if not values:
        raise SweepError(f"{name} has an empty list of values", help=_HELP)
    found = Axis(name, values, isinstance(values, range) or all(type(value) is int for value in values))
    low, high = found.bounds
    if found.numeric and (high - low >= MAX_VALUE or max(-low, high) > MAX_VALUE):
        message = f"{name} ranges from {describe_value(low)} to {describe_value(high)}, beyond 64 bits"
        raise SweepError(message, help="sweep a shorter range of smaller values")
    return found


def _plain_value(name: str, value: Any) -> Any:
    """Return a value, which may be NumPy's, as a config has it."""
    value = value.item() if getattr(value, "ndim", None) == 0 else value
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise SweepError(f"{name}: {value!r} is not Unicode text", help=UNICODE_HELP) from None
    except (TypeError, ValueError, RecursionError):
        help_ = "use numbers, strings, booleans, null, and lists or mappings of these"
        raise SweepError(f"{name}: {describe_value(value)} is not a value of a config", help=help_) from None
    return value


def axes_of(given: Mapping[str, Any] | Sequence[str], most: int = MAX_POINTS) -> tuple[Axis, ...]:
    """Return the fields of a mapping of fields to values, or of texts with one or several fields.

    Errors: :class:`SweepError` for a field that is given twice, and for a grid of more than `most` points.
    """
    if isinstance(given, Mapping):
        axes = [axis(name, values) for name, values in given.items()]
    else:
        texts = [given] if isinstance(given, str) else given
        axes = [parse_axis(one) for text in texts for one in split_settings(text)]
    names = [one.name for one in axes]
    for name in names:
        if names.count(name) > 1:
            help_ = f"pass all its values at once: {option('set', {name: 'a,b,c'})}"
            raise SweepError(f"{name} is set twice", help=help_)
    sizes = [len(one.values) for one in axes]
    if prod(sizes) > most:
        shown = " x ".join(f"{size:,}" for size in sizes)
        message = f"the grid has {shown} = {prod(sizes):,} configs, more than {most:,}"
        raise SweepError(message, help="use larger steps or fewer fields")
    return tuple(axes)


def named_columns(columns: Columns) -> dict[str, str]:
    """Return columns, name -> expression, of a text, a list or a mapping.

    Errors: :class:`SweepError` for no columns, and for a name that is missing or repeated.

    >>> named_columns("params,ratio=intermediate_size / hidden_size,min(params, 5)")
    {'params': 'params', 'ratio': 'intermediate_size / hidden_size', 'min(params, 5)': 'min(params, 5)'}
    """
    if isinstance(columns, Mapping):
        pairs = list(columns.items())
    elif isinstance(columns, str):
        named = [re.split(r"^\s*([A-Za-z_]\w*)=(?!=)", item) for _, item in split_at_commas(columns)]
        pairs = [(one[1] if len(one) > 1 else one[0].strip(), one[-1].strip()) for one in named]
    else:
        pairs = [(name, name) for name in columns]
    found, names = dict(pairs), [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise SweepError(f"{option('columns')}: {twice} is given twice", help="name each column once")
    if not found or not all(found):
        help_ = f"name every column, e.g. {option('columns', 'params,bytes')}"
        raise SweepError(f"{option('columns')} has an empty name", help=help_)
    return found
