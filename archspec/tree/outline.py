"""A module tree with the parameters of each module, identical layers folded, as `print(model)` shows it."""

from __future__ import annotations

from archspec.errors import ArchspecError
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, joined
from archspec.typing_light import NamedTuple


class Item(NamedTuple):
    """A module, or ``copies`` identical layers of a ModuleList.

    ``name`` is the attribute (`0-11` for layers that are folded), ``label`` the class with its sizes where it
    has tensors of its own. ``params`` and ``buffers`` count the elements of all copies; a tied tensor counts
    where it stands first. ``marks`` say what is tied or frozen here.
    """

    path: str
    name: str
    label: str
    copies: int
    params: int
    buffers: int
    marks: tuple[str, ...]
    children: tuple[Item, ...]


def outline(root: Node, tensors: list[Tensor]) -> Item:
    """The modules of a tree; ``tensors`` are what :func:`archspec.tree.tensors.tensors` gives for it."""
    return _scaled(_Outliner(tensors).item(root, "", "")[0], 1)


def checked_depth(depth: int | None) -> int | None:
    """A number of levels that are shown, None for all. Errors: :class:`ArchspecError`."""
    if depth is not None and (type(depth) is not int or depth < 0):
        raise ArchspecError(f"depth is {depth!r}", help="give a number of levels from 0, or None for all")
    return depth


class _Outliner:
    def __init__(self, tensors: list[Tensor]) -> None:
        self.tensors = {tensor.name: tensor for tensor in tensors}
        self.kinds: dict[object, int] = {}

    def item(self, node: Node, path: str, name: str) -> tuple[Item, int]:
        """A module, its numbers those of one copy, and a number that identical modules share."""
        own = [(leaf.name, self.tensors[joined(path, leaf.name)]) for leaf in node.tensors]
        children: list[Item] = []
        kinds: list[int] = []
        for key, child in node.children.items():
            item, kind = self.item(child, joined(path, key), key)
            if node.cls == "ModuleList" and kinds and kinds[-1] == kind:
                first = children[-1]
                span = f"{first.name.partition('-')[0]}-{key}"
                children[-1] = first._replace(name=span, copies=first.copies + 1)
            else:
                children.append(item)
                kinds.append(kind)
        params, buffers = (
            sum(t.numel for _, t in own if t.kind == kind and t.tied_to is None)
            + sum(getattr(child, counter) * child.copies for child in children)
            for kind, counter in (("parameter", "params"), ("buffer", "buffers"))
        )
        marks, label = _marks(own), _label(node, own)
        facts = (label, params, buffers, tuple(mark.partition(" to ")[0] for mark in marks))
        inside = tuple((kind, child.name, child.copies) for kind, child in zip(kinds, children, strict=True))
        kind = self.kinds.setdefault((facts, inside), len(self.kinds))
        return Item(path, name, label, 1, params, buffers, marks, tuple(children)), kind


def _scaled(item: Item, outer: int) -> Item:
    """The numbers of all copies in place of those of one."""
    copies = outer * item.copies
    children = tuple(_scaled(child, copies) for child in item.children)
    return item._replace(params=item.params * copies, buffers=item.buffers * copies, children=children)


def _marks(own: list[tuple[str, Tensor]]) -> tuple[str, ...]:
    marks = [f"{name} tied to {t.tied_to}".lstrip() for name, t in own if t.tied_to]
    parameters = [t for _, t in own if t.kind == "parameter"]
    if parameters and not any(t.trainable for t in parameters):
        marks.append("frozen")
    return tuple(marks)


def _label(node: Node, own: list[tuple[str, Tensor]]) -> str:
    """The class, with what its tensors tell of the constructor's arguments.

    Linear, Conv1D and Embedding are written as torch and transformers print them.
    """
    shapes = {name: tensor.shape for name, tensor in own}
    weight = shapes.get("weight", ())
    bias = "bias" in shapes
    if node.cls == "Linear" and len(weight) == 2 and len(shapes) == 1 + bias:
        return f"Linear(in_features={weight[1]}, out_features={weight[0]}, bias={bias})"
    if node.cls == "Conv1D" and len(weight) == 2:
        return f"Conv1D(nf={weight[1]}, nx={weight[0]})"
    if node.cls == "Embedding" and len(weight) == 2:
        return f"Embedding({weight[0]}, {weight[1]})"
    if node.cls in ("LayerNorm", "RMSNorm") and weight and bias == (node.cls == "LayerNorm"):
        return f"{node.cls}({weight})"
    if node.cls in ("Parameter", "Buffer"):
        return f"{node.cls}{shapes.get('', ())}"
    inside = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    return f"{node.cls}({inside})" if node.leaf else node.cls
