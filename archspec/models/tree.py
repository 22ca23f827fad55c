"""The modules of a model as people look at them: text, HTML for notebooks, plain data."""

from __future__ import annotations

from archspec.arguments import checked
from archspec.render.html import module_rows, modules_html
from archspec.reports import Table, plain
from archspec.tree.outline import Item, checked_depth
from archspec.typing_light import Any


class Tree:
    """The modules of a model with their parameters, identical layers folded; :attr:`archspec.Model.tree`.

    ``root`` is the whole as :class:`archspec.tree.outline.Item`, whose ``children`` are what it is made of.
    A ``depth`` leaves out what is below that level.

    >>> import archspec
    >>> tree = archspec.load("BertForMaskedLM").tree
    >>> print(tree.text(depth=1))
    module                         params    share  each
    BertForMaskedLM           109,514,298  100.00%
      (bert): BertModel       108,891,648   99.43%
      (cls): BertOnlyMLMHead      622,650    0.57%
    >>> [child.name for child in tree.root.children]
    ['bert', 'cls']
    """

    def __init__(self, root: Item) -> None:
        self.root = root

    @checked()
    def table(self, depth: int | None = None) -> Table:
        """The rows of the text: module, parameters of all copies, their share, those of one copy."""
        rows = module_rows(self.root, checked_depth(depth), "x")
        listed = [("  " * level + name, *cells) for level, (name, *cells) in rows]
        caption = "params: of all copies of a layer; each: of one of them"
        return Table("module|>params|>share|>each|", listed, caption=caption)

    @checked()
    def text(self, depth: int | None = None) -> str:
        """What `archspec tree` prints where nobody looks on."""
        return plain([self.table(depth)])

    @checked()
    def html(self, depth: int | None = None) -> str:
        """A table, a row for each module; every text is escaped."""
        return f"<div>{modules_html(self.root, checked_depth(depth))}</div>"

    @checked()
    def as_json(self, depth: int | None = None) -> dict[str, Any]:
        """Plain data, as `archspec tree --json` prints it."""
        return _as_json(self.root, checked_depth(depth))

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.html()


def _as_json(item: Item, depth: int | None, level: int = 0) -> dict[str, Any]:
    found = item._asdict() | {"marks": list(item.marks)}
    found = {"module" if name == "path" else name: value for name, value in found.items()}
    del found["children"]
    if depth is None or level < depth:
        found["children"] = [_as_json(child, depth, level + 1) for child in item.children]
    return found
