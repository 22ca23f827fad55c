"""The exact counts of a model, as a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from archspec.errors import ArchspecError, option
from archspec.formats.dtypes import dtype_bytes, dtype_name
from archspec.models.report import OfModel, Record, Report, bytes_text, fact, facts_table, note_lines
from archspec.reports import Block, Table
from archspec.specs.library import TRANSFORMERS_VERSION
from archspec.tables.quantities import QUANTITIES
from archspec.terminal import number, share
from archspec.tree.overview import Part, every_row, overview, rows
from archspec.tree.tensors import tie_notes, tied_json
from archspec.typing_light import Any


class Module(Record):
    """a module, or identical layers of a list"""

    name: str = fact("the path from the enclosing module; `0-11` for layers of a list")
    copies: int = fact("number of identical layers", least=1)
    params: int = fact("parameters of all copies; a tied tensor is counted in its first module")
    share: float = fact("the share of the model's parameters, from 0 to 1")
    children: list[Module] = fact("its printed submodules")


class Tied(Record):
    """tied tensors that differ only in layer indices"""

    tensors: list[str] = fact("their names", least=1)
    tied_to: str = fact("the tensor that the first one is tied to")
    params: int = fact("parameters that counting each tied tensor would add")


class Counts(OfModel, Report):
    """The exact counts of one architecture for one config; made by :meth:`archspec.Model.counts`.

    ``quantities`` has the counts by name, ``depth`` limits the levels of ``modules``.

    >>> import archspec
    >>> counts = archspec.load({"model_type": "bert"}).counts(dtype="bf16", depth=1)
    >>> counts.architecture, counts.params, counts.bytes
    ('BertModel', 109482240, 218964480)
    """

    _quantities = {name: fact(one.help, title=one.title, kind="int") for name, one in QUANTITIES.items()}  # noqa: RUF012
    dtype: str = fact("the dtype of unquantized parameters: the requested one, else the config's")
    format: str = fact("the weight formats that `bytes` assumes")
    bytes: int | None = fact(
        "bytes of the parameters; null if the dtype or quantization is unsupported",
        title="bytes in {0.format}",
        text=lambda count, _: "" if count is None else bytes_text(count),
    )
    modules: list[Part] = fact(
        "the printed modules, in order",
        kind="list[Module]",
        json=lambda self: self._list_rows(self.modules),
    )
    tied: list[dict[str, Any]] = fact("tied tensors, the largest first", kind="list[Tied]")
    notes: list[str] = fact("notes on this count")
    transformers_version: str = fact(
        "the version of transformers that the specs match",
        lambda self: TRANSFORMERS_VERSION,
        title="transformers",
        text=lambda version, _: f"{version} (the version that the specs match)",
    )
    params: int

    def __init__(self, model: Any, dtype: str | None, depth: int | None) -> None:
        self.architecture, self.model_type, tensors = model.architecture, model.model_type, model.tensors()
        self.quantities, self.depth = {name: model.count(name) for name in QUANTITIES}, depth
        vars(self).update(self.quantities)
        self.modules, self.tied = overview(model.root, tensors, depth), tied_json(tensors)
        self.notes = [*tie_notes(tensors, self.params), *model.notes]
        self.dtype = self.format = model.dtype if dtype is None else dtype_name(dtype)
        self.bytes = None
        try:
            self.bytes = model.params_bytes(dtype)
            if dtype is None and model.dtype_note is not None:
                self.notes.append(model.dtype_note)
            if dtype is None and model.is_quantized:
                stored = model.weights()
                self.format = stored.format
                self.notes += stored.notes
        except ArchspecError as error:
            if dtype is not None:
                raise
            message = error.problems[0].message
            self.notes.append(
                f"bytes are not reported: {message}; pass {option('dtype', 'bf16')} for unquantized weights"
            )
        if dtype is not None and dtype_bytes(dtype) == 1:
            scales = "archspec memory --weights reports quantized weights"
            self.notes.append(f"{dtype}: 1 byte per parameter, without scales; {scales}")

    def _list_rows(self, parts: Iterable[Part]) -> list[dict[str, Any]]:
        total = self.params or 1
        return [
            {**part._asdict(), "share": part.params / total, "children": self._list_rows(part.children)}
            for part in parts
        ]

    def blocks(self) -> Iterator[Block]:
        """Yield the counts, the modules with the most parameters, and the notes."""
        yield facts_table(self, "count")
        shown = rows(self.modules) if self.depth is None else list(every_row(self.modules))
        if shown:
            yield ""
            yield Table("module|>params|>share|>per copy", [_row(*row, self.params) for row in shown])
        yield from ["", *note_lines(self.notes)] if self.notes else []


def _row(level: int, part: Part, whole: int) -> tuple[str, ...]:
    """Return the cells of a module; the class follows a name that is only a number."""
    number_alone = part.cls and part.copies == 1 and part.name.rpartition(".")[2].isdecimal()
    label = f"{part.name} ({part.cls})" if number_alone else part.name
    times = f" ×{part.copies}" if part.copies > 1 else ""
    each = number(part.each) if len(part.spots) > 1 and part.each is not None else ""
    return "  " * level + label + times, number(part.params), share(part.params, whole), each
