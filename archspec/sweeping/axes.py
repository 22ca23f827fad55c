"""What is typed of a sweep: its fields with their values (``hidden_size=256:8192:128``), and the columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from decimal import Decimal
from itertools import count, islice, takewhile
from math import prod
from typing import Any, NamedTuple

from archspec.arguments import described
from archspec.configs.overrides import owner, parse_override, split_at_commas, split_settings
from archspec.configs.scope import Scope
from archspec.errors import UNICODE_HELP, Place, Source, SweepError

Columns = str | Sequence[str] | Mapping[str, str]
MAX_POINTS = 10**12
MAX_LISTED = 1_000_000
MAX_VALUE = 2**63 - 1
_HELP = "write field=first:last, field=first:last:step, field=first:last:*factor, or field=a,b,c"
_RANGE = re.compile(
    r"(?P<first>-?[0-9][0-9_]*):(?P<last>-?[0-9][0-9_]*)(?::(?P<times>\*)?(?P<step>-?[0-9][0-9_]*))?$"
)
_DECIMAL = re.compile(
    r"(?P<first>-?[0-9]+(?:\.[0-9]+)?):(?P<last>-?[0-9]+(?:\.[0-9]+)?):(?P<step>[0-9]+(?:\.[0-9]+)?)$"
)


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
    start = Place(Source("--set", text), 1, 1)
    if not equals or not rest.strip():
        raise SweepError(f"{text!r} gives no values", start, help=_HELP)
    name = parse_override(f"{path}=0")[0]
    parts = []
    for offset, item in split_at_commas(rest):
        place = start._replace(column=len(path) + 2 + offset)
        parts.append((_values(name, item.strip(), place), place))
    if len(parts) == 1:
        return axis(name, parts[0][0])
    for values, place in parts:
        if values[MAX_LISTED:]:
            raise SweepError(f"a list of more than {MAX_LISTED:,} values", place, help="give one range")
    return axis(name, [value for values, _ in parts for value in values])


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
        several = isinstance(values, Sequence | Iterator | Set) and not isinstance(
            values, str | bytes | bytearray
        )
        listed = tuple(islice(values, MAX_LISTED + 1)) if several else (values,)
        if listed[MAX_LISTED:]:
            raise SweepError(f"{name} has more than {MAX_LISTED:,} values", help="give one range")
        values = tuple(value if type(value) in (int, bool) else _plain(name, value) for value in listed)
    if not values:
        raise SweepError(f"{name} has no values", help=_HELP)
    found = Axis(name, values, isinstance(values, range) or all(type(value) is int for value in values))
    huge = [end for end in found.bounds if abs(end) > MAX_VALUE] if found.numeric else []
    if huge:
        reached = f"{huge[0]:,}" if abs(huge[0]) < MAX_VALUE**4 else described(huge[0])
        raise SweepError(f"{name} reaches {reached}, beyond 64 bits", help=f"up to {MAX_VALUE:,} is swept")
    if isinstance(values, range) and (values[-1] - values[0]) // values.step >= MAX_VALUE:
        raise SweepError(f"{name} has more than {MAX_VALUE:,} values", help="give a shorter range")
    return found


def _plain(name: str, value: Any) -> Any:
    """A value as a config can hold it, also of NumPy's. Errors: :class:`SweepError` for anything else."""
    value = value.item() if getattr(value, "ndim", None) == 0 else value
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise SweepError(f"{name}: {value!r} is not Unicode text", help=UNICODE_HELP) from None
    except (TypeError, ValueError, RecursionError):
        help_ = "give numbers, texts, booleans, null, and lists or mappings of these"
        raise SweepError(f"{name}: {described(value)} is not a value of a config", help=help_) from None
    return value


def axes_of(given: Mapping[str, Any] | Sequence[str], most: int = MAX_POINTS) -> tuple[Axis, ...]:
    """Axes from a mapping of fields to values, or from texts as they are typed, one or several.

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
            raise SweepError(f"{name} is set twice", help=f"give all its values at once: {name}=a,b,c")
    sizes = [len(one.values) for one in axes]
    if prod(sizes) > most:
        shown = " x ".join(f"{size:,}" for size in sizes)
        help_ = f"up to {most:,} are swept: take larger steps"
        raise SweepError(f"a grid of {shown} = {prod(sizes):,} points", help=help_)
    return tuple(axes)


def columns_of(text: str) -> dict[str, str]:
    """Columns as they are typed, name -> expression.

    Errors: :class:`SweepError` for a name that is missing, or there twice.

    >>> columns_of("params,ratio=intermediate_size / hidden_size,min(params, 5)")
    {'params': 'params', 'ratio': 'intermediate_size / hidden_size', 'min(params, 5)': 'min(params, 5)'}
    """
    found: dict[str, str] = {}
    for _, item in split_at_commas(text):
        named = re.match(r"\s*([A-Za-z_]\w*)=(?!=)(.+)", item)
        name, expression = (part.strip() for part in (named.groups() if named else (item, item)))
        if not name or name in found:
            wrong = f"{name} stands there twice" if name else "a name is missing"
            raise SweepError(f"--columns {text}: {wrong}", help="write names with commas between them")
        found[name] = expression
    return found


def named_columns(columns: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Columns, name -> expression, of a text, a list or a mapping. Errors: as of :func:`columns_of`."""
    if isinstance(columns, str):
        columns = columns_of(columns)
    named = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    if len(named) < len(columns):
        message = f"columns={list(columns)}: a column stands there twice"
        raise SweepError(message, help="name each once")
    if not named:
        raise SweepError("no columns are asked for", help="name one, e.g. params")
    return named


def value_at(scope: Scope, path: str) -> Any:
    """The value of a field by its dotted path."""
    scope, leaf = owner(scope, path)
    return scope.get(leaf)


def _values(name: str, item: str, place: Place) -> Sequence[Any]:
    """The values of one part of a list."""
    if match := _RANGE.match(item):
        first, last, step = (int(match[key] or 1) for key in ("first", "last", "step"))
        if match["times"]:
            if first < 1 or step < 2 or last < first:
                message = "a range of powers starts at 1 or more and grows by a factor of 2 or more"
                raise SweepError(message, place, help=_HELP)
            return list(takewhile(lambda value: value <= last, (first * step**power for power in count())))
        if step <= 0:
            raise SweepError(f"the step {step} goes nowhere", place, help="a step is a positive number")
        if last < first:
            raise SweepError(f"{item} is empty: {last} is below {first}", place, help=_HELP)
        return range(first, last + 1, step)
    if match := _DECIMAL.match(item):
        start, end, by = (Decimal(match[key]) for key in ("first", "last", "step"))
        if by <= 0 or end < start or (end - start) / by > 100_000:
            raise SweepError(f"{item} is empty or endless", place, help=_HELP)
        return [float(start + by * turn) for turn in range(int((end - start) / by) + 1)]
    if ":" in item and not item.startswith(("[", "{", '"')):
        raise SweepError(f"{item!r} is no range", place, help=_HELP)
    return [parse_override(f"{name}={item}")[1]]
