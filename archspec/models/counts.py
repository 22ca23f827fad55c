"""The exact counts of a model, as a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from archspec.errors import ArchspecError
from archspec.formats.dtypes import dtype_bytes
from archspec.models.costs import Costs
from archspec.models.report import Report
from archspec.reports import Block, Table
from archspec.specs.library import TRANSFORMERS_VERSION
from archspec.tables.quantities import QUANTITIES
from archspec.terminal import number, share, size
from archspec.tree.overview import Part, every_row, overview, rows
from archspec.tree.tensors import Tensor
from archspec.tree.ties import tie_notes, tied_json
from archspec.typing_light import Any

_SCALES = "quantized weights have scales, which archspec memory --weights counts"


class Counts(Report):
    """The counts of a model, its bytes, where its parameters are; made by :meth:`archspec.Model.counts`.

    ``architecture`` and ``model_type`` are what was counted, ``quantities`` by name, ``bytes`` those of all
    parameters in ``format``, None if they cannot be counted, ``dtype`` that of unquantized parameters;
    ``modules`` are what is opened of the model down to ``depth``, ``tied`` what is tied, ``notes`` what a
    user should know.

    >>> import archspec
    >>> print(archspec.load({"model_type": "bert"}).counts(dtype="bf16", depth=1))
    architecture           BertModel
    model type             bert
    params                 109,482,240
    trainable              109,482,240
    active                 109,482,240
    active without lookup  85,646,592
    embedding              23,835,648
    non-embedding          85,646,592
    persistent buffers     0
    bytes in bf16          218,964,480  (208.8 MiB)
    transformers           5.24.0 (the version that the specs describe)
    <BLANKLINE>
    module          params   share  each
    embeddings  23,837,184  21.77%
    encoder     85,054,464  77.69%
    pooler         590,592   0.54%
    <BLANKLINE>
    note: neither the config nor you name a class: BertModel is counted, without any head
    """

    def __init__(
        self,
        model: Costs,
        tensors: list[Tensor],
        quantities: dict[str, int],
        notes: list[str],
        dtype: str | None = None,
        depth: int | None = None,
    ) -> None:
        self.architecture, self.model_type = model.architecture, model.model_type
        self.quantities = quantities
        self.dtype, self.depth = dtype or model.dtype, depth
        self.modules: list[Part] = overview(model.root, tensors, depth)
        self.tied = tied_json(tensors)
        self.notes = [*tie_notes(tensors, self.params), *notes]
        self.bytes: int | None = None
        self.format = self.dtype
        try:
            if dtype is None and model.dtype_note is not None:
                self.notes.append(model.dtype_note)
            self.bytes = model.params_bytes(dtype)
            if dtype is None and model.is_quantized:
                stored = model.weights()
                self.format = stored.format
                self.notes += stored.notes
        except ArchspecError as error:
            if dtype is not None:
                raise
            message = error.problems[0].message
            self.notes.append(f"bytes are not reported: {message}; choose a dtype with --dtype")
        if dtype is not None and dtype_bytes(dtype) == 1:
            self.notes.append(f"{dtype} is a byte per parameter; {_SCALES}")

    @property
    def params(self) -> int:
        """Unique parameters, tied ones once."""
        return self.quantities["params"]

    def as_json(self) -> dict[str, Any]:
        """Plain data, as `archspec count --json` prints it."""
        return {
            "architecture": self.architecture,
            "model_type": self.model_type,
            **self.quantities,
            "dtype": self.dtype,
            "format": self.format,
            "bytes": self.bytes,
            "modules": [*self._modules(self.modules)],
            "tied": self.tied,
            "notes": self.notes,
            "transformers_version": TRANSFORMERS_VERSION,
        }

    def _modules(self, parts: Iterable[Part]) -> Iterator[dict[str, Any]]:
        for part in parts:
            yield {
                "name": part.name,
                "copies": part.copies,
                "params": part.params,
                "share": part.params / self.params if self.params else 0.0,
                "children": [*self._modules(part.children)],
            }

    def blocks(self) -> Iterator[Block]:
        """The counts, the modules that show where the parameters are, the notes."""
        facts = [("architecture", self.architecture), ("model type", self.model_type)]
        facts += [(quantity.title, number(self.quantities[name])) for name, quantity in QUANTITIES.items()]
        if self.bytes is not None:
            facts.append((f"bytes in {self.format}", f"{number(self.bytes)}  ({size(self.bytes)})"))
        facts.append(("transformers", f"{TRANSFORMERS_VERSION} (the version that the specs describe)"))
        yield Table("count|", facts, header=False)
        shown = rows(self.modules) if self.depth is None else list(every_row(self.modules))
        if shown:
            yield ""
            cells = [_row(level, part, self.params) for level, part in shown]
            yield Table("module|>params|>share|>each", cells)
        if self.notes:
            yield ""
        yield from (f"note: {note}" for note in self.notes)


def _row(level: int, part: Part, whole: int) -> tuple[str, ...]:
    """A module with its parameters, those of all copies and of one; a number for a name says little."""
    number_alone = part.cls and part.copies == 1 and part.name.rpartition(".")[2].isdecimal()
    label = f"{part.name} ({part.cls})" if number_alone else part.name
    times = f" ×{part.copies}" if part.copies > 1 else ""
    each = number(part.each) if len(part.spots) > 1 and part.each is not None else ""
    return "  " * level + label + times, number(part.params), share(part.params, whole), each
