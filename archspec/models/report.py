"""Reports made of facts: each declaration gives an attribute, a JSON key with its schema, a line of text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter

from archspec.reports import Block, Table, to_text
from archspec.specs.records import MODALITIES
from archspec.tables.axes import AXES
from archspec.tables.items import size_text
from archspec.terminal import number, size
from archspec.typing_light import Any


class Fact:
    """One fact of a record. Use :func:`fact` to declare it; its annotation in the class is its type."""

    def __init__(self, help: str, read: Callable[[Any], Any] | None, **options: Any) -> None:
        self.help = self.__doc__ = help
        self.read, self.options = read, options
        self.name = self.kind = self.module = ""
        self.owner: type = object

    def __get__(self, one: Any, owner: type | None = None) -> Any:
        """Return the value in a report, and cache it; without ``read`` it is that of the base class."""
        if one is None:
            return self
        if self.read is None:
            return getattr(super(self.owner, one), self.name)
        value = one.__dict__[self.name] = self.read(one)
        return value

    def data(self, one: Any) -> Any:
        """Return the value for JSON in a report, in another object or in a mapping."""
        if (json := self.options.get("json")) is not None:
            value = json(one)
        elif isinstance(one, self.owner):
            value = getattr(one, self.name)
        elif self.read is not None:
            value = self.read(one)
        else:
            value = one[self.name] if isinstance(one, Mapping) else getattr(one, self.name)
        return _as_data(self.kind, value, self.module)

    def line(self, one: Any) -> tuple[str, str]:
        """Return the title and the value as a row of a table; a text of '' hides it."""
        value, text = self.data(one), self.options["text"]
        if text is not None:
            return self.options["title"].format(one), text(value, one)
        shown = "" if value is None else number(value) if type(value) is int else str(value)
        return self.options["title"].format(one), shown


def fact(
    help: str,
    read: Callable[[Any], Any] | None = None,
    *,
    title: str = "",
    text: Callable[[Any, Any], str] | None = None,
    json: Callable[[Any], Any] | None = None,
    kind: str = "",
    least: int | None = 0,
    choices: tuple[Any, ...] = (),
    keys: Mapping[str, str] | None = None,
    optional: bool = False,
) -> Any:
    """Declare a fact of a record.

    For example ``flops: int = fact("FLOPs of one forward pass", title="FLOPs")``.
    ``read`` takes the record, or what stands for it, and returns the value; without it the value is an
    attribute or a key of that. ``title`` labels the value in the text; ``text`` formats it, given the
    value and the report.
    ``json`` reads the value for JSON if it differs from the attribute, ``kind`` is its type if that differs
    from the annotation. For the schema: ``least`` is the smallest number or length (None for any number),
    ``choices`` are all values, ``keys`` all keys of a mapping with their meaning. ``optional`` facts of a
    record are left out together if they are None.
    """
    options = {name: value for name, value in locals().items() if name not in ("help", "read")}
    return Fact(help, read, **options)


class Record:
    """An object of JSON with a fact for each key; :func:`data_of` takes any object with these attributes."""

    _facts: dict[str, Fact] = {}  # noqa: RUF012  # each class has its own

    def __init__(self, *values: Any) -> None:
        self.__dict__.update(zip(self._facts, values, strict=True))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({values})"

    def __init_subclass__(cls) -> None:
        kinds, declared = vars(cls).get("__annotations__", {}), list(vars(cls).items())
        cls._facts = dict(cls._facts)
        for name, value in declared:
            for key, one in value.items() if isinstance(value, dict) else [(name, value)]:
                if isinstance(one, Fact):  # alone, or in a mapping of several
                    one.owner, one.name, one.module = cls, key, cls.__module__
                    one.kind = one.options["kind"] or kinds[key]
                    cls._facts[key] = one
                    setattr(cls, key, one)


def facts_of(record: type[Record]) -> dict[str, Fact]:
    """Return the facts of a record by their names, in order."""
    return record._facts


def data_of(record: type[Record], one: Any) -> dict[str, Any]:
    """Return an object as plain data, by the facts of a record."""
    found = [(fact, fact.data(one)) for fact in facts_of(record).values()]
    return {fact.name: value for fact, value in found if value is not None or not fact.options["optional"]}


def _as_data(kind: str, value: Any, module: str) -> Any:
    """Return a value of an annotated type as plain data; ``module`` declares the records that it names."""
    kind = kind.removesuffix(" | None")
    if value is None:
        return None
    if kind.startswith("list["):
        return [_as_data(kind[5:-1], one, module) for one in value]
    if kind.startswith("dict[str, "):
        return {key: _as_data(kind[10:-1], one, module) for key, one in value.items()}
    record = record_named(kind, module)
    return value if record is None else data_of(record, value)


def record_named(kind: str, module: str) -> type[Record] | None:
    """Return the record with this name in a module, None for another type."""
    found = getattr(sys.modules[module], kind, None)
    return found if isinstance(found, type) and issubclass(found, Record) else None


class OfModel(Record):
    """An object about one model"""

    architecture: str = fact("the class", title="architecture")
    model_type: str = fact("the model type", title="model type")


class Report(Record):
    """Tables and sentences, printed as by the verb of the command line."""

    def blocks(self) -> Iterator[Block]:
        """Yield tables and sentences."""
        raise NotImplementedError

    def as_json(self) -> Any:
        """Return plain data, as the verb prints it with `--json`."""
        return data_of(type(self), self)

    def text(self) -> str:
        """Return the plain text that the command prints to a pipe."""
        return to_text(self.blocks())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from archspec.render.html import blocks_html

        return blocks_html(self.blocks())


def axis_title(name: str) -> str:
    """Return the label of a length of a forward pass."""
    return "batch size" if name == "batch" else name.replace("_", " ")


def lengths_text(lengths: Mapping[str, Any]) -> str:
    """Return the lengths of a forward pass for a sentence.

    >>> lengths_text({"batch": 1, "tokens": 2048, "past": 8})
    'batch size 1, 2,048 tokens, 8 past tokens'
    """
    texts = []
    for name, length in lengths.items():
        if name in MODALITIES:
            texts.append(f"{name} {', '.join(map(str, length))}")
            continue
        if name == "processed":
            continue
        words = axis_title(name) if name != "past" else "past tokens"
        texts.append(f"{words} {length:,}" if name == "batch" else f"{length:,} {words}")
    return ", ".join(texts)


def items_fact(modality: str) -> Fact:
    """Return the fact of the sizes of a modality's items in the ``call`` of a report; none without a call."""
    sizes = f"({', '.join(MODALITIES[modality])})" if len(MODALITIES[modality]) > 1 else "length"
    kind = "list[list[int]]" if len(MODALITIES[modality]) > 1 else "list[int]"
    found: Fact = fact(
        f"{sizes} of each of the {modality} that the model receives",
        lambda self: getattr(self.call.call, modality) if self.call else [],
        title=f"{modality} received",
        text=lambda items, self: ", ".join(
            (f"{count} of " if count > 1 else "") + size_text(size)
            for size, count in _count_sizes(items, self.call)
        ),
        kind=kind,
    )
    return found


def _count_sizes(items: list[Any], call: Any) -> list[tuple[tuple[int, ...], int]]:
    """Return each size once, with its number; without text, one item may stand for the whole batch."""
    sizes = [tuple(one) if isinstance(one, list) else (one,) for one in items]
    times = call.call.batch if len(items) == 1 and call.built.textless else 1
    return [(size, times * sizes.count(size)) for size in dict.fromkeys(sizes)]


def _item_tokens(modality: str) -> Fact:
    """Return the fact of the tokens of a modality's items."""
    found: Fact = fact(
        f"tokens of the text that each of the {modality} takes the place of",
        lambda self: self.call.tokens_by_item.get(modality, []),
        title=f"tokens per {modality[:-1]}",
        text=lambda tokens, _: ", ".join(f"{one:,}" for one in dict.fromkeys(tokens)),
        kind="list[int]",
    )
    return found


def _length_text(name: str, length: int, report: Any) -> str:
    """Return a length; nothing for 0, and for the tokens of a class that does not take a text."""
    is_shown = length and (name != "tokens" or not report.call.built.textless)
    return number(length) if is_shown else ""


class CallReport(OfModel, Report):
    """A report on one forward pass ``call``, an :class:`archspec.Forward`."""

    _axes = {  # noqa: RUF012
        name: fact(
            axis.help,
            attrgetter(f"call.call.{name}"),
            title=axis_title(name) if name != "new_encoder_tokens" else "",
            text=partial(_length_text, name),
            kind="int",
            least=axis.minimum,
        )
        for name, axis in AXES.items()
    }
    _items = {name: items_fact(name) for name in MODALITIES}  # noqa: RUF012
    _tokens = {f"{name[:-1]}_tokens": _item_tokens(name) for name in MODALITIES}  # noqa: RUF012

    def __init__(self, call: Any) -> None:
        self.call, self.architecture = call, call.architecture
        self.model_type = call.scope.spec.model_type

    def input_rows(self) -> list[tuple[str, str]]:
        """Return the lengths and items of the forward pass, and what became of each file, as rows."""
        facts = (*self._axes.values(), *self._items.values(), *self._tokens.values())
        rows = [one.line(self) for one in facts if one.options["title"]]
        return [row for row in (*rows, *_file_rows(self)) if row[1]]


def facts_table(report: Report, name: str, *more: tuple[str, str]) -> Table:
    """Return the table of the facts that have a title, and of more rows; ``name`` is its heading."""
    rows = [one.line(report) for one in facts_of(type(report)).values() if one.options["title"]]
    return Table(f"{name}|", [row for row in (*rows, *more, *_file_rows(report)) if row[1]], header=False)


def _file_rows(report: Report) -> list[tuple[str, str]]:
    """Return what became of each image, video and audio file of a call."""
    files = getattr(getattr(report, "call", None), "files", ())
    return [(file, text) for file, _, text in (line.partition(": ") for line in files)]


def note_lines(notes: list[str]) -> Iterator[str]:
    """Yield notes as lines of a report."""
    return (f"note: {note}" for note in notes)


def bytes_text(count: int) -> str:
    """Return bytes as a number, and in a unit: `437,928,960  (417.6 MiB)`."""
    return f"{number(count)}  ({size(count)})"
