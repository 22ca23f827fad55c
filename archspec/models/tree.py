"""The modules and the tensors of a model, as text, HTML for notebooks, and plain data."""

from __future__ import annotations

from collections.abc import Iterator

from archspec.arguments import check_arguments
from archspec.models.report import OfModel, Record, Report, data_of, fact, facts_table, note_lines
from archspec.render.html import blocks_html, module_blocks, module_rows
from archspec.reports import Block, Table, to_text
from archspec.terminal import number
from archspec.tree.outline import Item, checked_depth
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.costs.weights import Weights


class Module(Record):
    """A module, or identical layers of a list. The outermost one is the model."""

    module: str = fact(
        "the path in the model, empty for the model itself; of merged layers, that of the first"
    )
    name: str = fact("the attribute; `0-11` for merged layers")
    label: str = fact("the class, with its sizes if it has tensors")
    copies: int = fact("identical layers that are merged into this one", least=1)
    params: int = fact("parameters of all copies; a tied tensor counts in its first module")
    buffers: int = fact("elements of the persistent buffers of all copies")
    marks: list[str] = fact("ties and frozen parameters")
    children: list[Module] = fact("its submodules; absent below the requested depth", optional=True)


class Tensor(Record):
    """a tensor"""

    name: str = fact("the name in named_parameters(), or in named_buffers()")
    shape: list[int] = fact("the shape")
    numel: int = fact("elements")
    kind: str = fact("the kind of tensor in torch", choices=("parameter", "buffer"))
    trainable: bool = fact("requires_grad")
    tied_to: str | None = fact("the tensor that it is tied to, or null")


class Tensors(OfModel):
    """Every parameter in torch's order, then every persistent buffer: `archspec.Model.tensors()`."""

    tensors: list[Tensor] = fact("the tensors", lambda model: model.tensors())


class StoredTensor(Record):
    """a tensor of a GGUF file"""

    name: str = fact("the name in the file")
    sources: list[str] = fact("transformers' names of the tensors in it; empty if the converter computes it")
    shape: list[int] = fact("the shape, the outermost dimension first")
    type: str = fact("the type that llama-quantize chooses")
    bytes: int = fact("its bytes, without padding")


class FileTensors(OfModel, Report):
    """The tensors of a GGUF file, in its order, and the bytes around them."""

    bytes: int = fact("bytes of all tensors", lambda self: self.file.bytes, title="bytes of tensors")
    header_bytes: int = fact(
        "bytes of the header: names, shapes and types of the tensors",
        lambda self: self.file.header_bytes,
        title="header",
    )
    metadata_bytes: int = fact(
        "bytes of hyperparameters in the metadata, without vocabulary and names; null if unknown",
        lambda self: self.file.metadata_bytes,
        kind="int | None",
        title="metadata without vocabulary",
    )
    padding_bytes: int = fact(
        "bytes between tensors, which start at multiples of 32", lambda self: self.file.padding_bytes
    )
    tensors: list[StoredTensor] = fact("the tensors", lambda self: self.file.tensors)
    notes: list[str] = fact("notes on the file", lambda self: self.file.notes)

    def __init__(self, model: Any, weights: Weights) -> None:
        weights.tensors()  # another weight format is refused
        self.architecture, self.model_type, self.file = model.architecture, model.model_type, weights.file

    def blocks(self) -> Iterator[Block]:
        """Yield the sizes and a row for each tensor."""
        rows = [
            (one.name, one.type, str(one.shape), number(one.bytes), ", ".join(one.sources[:2]))
            for one in self.tensors
        ]
        yield from (
            facts_table(self, "tensors"),
            "",
            Table("tensor|type|shape|>bytes|transformers' name", rows),
        )
        yield from note_lines(self.notes)


class Tree(Report):
    """The modules of a model, with identical layers merged; made by :attr:`archspec.Model.tree`.

    ``root`` is the model, with the attributes of its JSON. ``depth`` hides deeper levels.

    >>> import archspec
    >>> tree = archspec.load("BertForMaskedLM").tree
    >>> print(tree.text(depth=1))
    module                         params    share  per copy
    BertForMaskedLM           109,514,298  100.00%
      (bert): BertModel       108,891,648   99.43%
      (cls): BertOnlyMLMHead      622,650    0.57%
    >>> [child.name for child in tree.root.children]
    ['bert', 'cls']
    """

    def __init__(self, root: Item) -> None:
        self.root = root

    @check_arguments
    def table(self, depth: int | None = None) -> Table:
        """Return the rows of the text: module, parameters of all copies, their share, those of one copy."""
        rows = module_rows(self.root, checked_depth(depth), "x")
        listed = [("  " * level + name, *cells) for level, (name, *cells) in rows]
        caption = "params: parameters of all copies of a layer; per copy: parameters of one copy"
        return Table("module|>params|>share|>per copy|", listed, caption=caption)

    def blocks(self) -> Iterator[Block]:
        """Yield the table of all levels."""
        yield self.table()

    @check_arguments
    def text(self, depth: int | None = None) -> str:
        """Return the text that `archspec tree` prints to a pipe."""
        return to_text([self.table(depth)])

    @check_arguments
    def html(self, depth: int | None = None) -> str:
        """Return an HTML table with a row for each module; all strings are escaped."""
        return blocks_html(module_blocks(self.root, checked_depth(depth)))

    @check_arguments
    def as_json(self, depth: int | None = None) -> dict[str, Any]:
        """Return plain data, as `archspec tree --json` prints it."""
        return data_of(Module, _cut(self.root, checked_depth(depth)))

    def _repr_html_(self) -> str:
        return self.html()


def _cut(item: Item, depth: int | None) -> dict[str, Any]:
    deeper = None if depth is None else depth - 1
    children = None if depth == 0 else [_cut(one, deeper) for one in item.children]
    return item._asdict() | {"module": item.path, "children": children}
