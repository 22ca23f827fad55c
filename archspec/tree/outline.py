"""A module tree with the parameters of each module, identical layers folded, as `print(model)` shows it."""

from __future__ import annotations

from archspec.errors import ArchspecError, option
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, join_path
from archspec.typing_light import NamedTuple


class Item(NamedTuple):
    """A module, or ``copies`` identical layers of a ModuleList."""

    path: str
    name: str  # the attribute: `0-11` for folded layers
    label: str  # the class, with its sizes for a layer with tensors
    copies: int
    params: int  # the elements of all copies; a tied tensor counts under its first name
    buffers: int
    marks: tuple[str, ...]  # ties and frozen parameters
    children: tuple[Item, ...]


def outline(root: Node, tensors: list[Tensor]) -> Item:
    """Return all modules of a tree; ``tensors`` are those of :func:`archspec.tree.tensors.tensors`."""
    item, _ = _fold(root, "", "", {tensor.name: tensor for tensor in tensors}, {})
    return _scale(item, 1)


def checked_depth(depth: int | None) -> int | None:
    """Return a number of levels, None for all. Errors: :class:`ArchspecError` for a negative one."""
    if depth is not None and depth < 0:
        help_ = f"pass {option('depth', 0)} or more, or leave it out for all levels"
        raise ArchspecError(f"{option('depth')} must be an integer of at least 0, not {depth}", help=help_)
    return depth


def _fold(
    node: Node, path: str, name: str, tensors: dict[str, Tensor], kinds: dict[object, int]
) -> tuple[Item, int]:
    """Return a module with the numbers of one copy, and a number that identical modules share."""
    own = [(leaf.name, tensors[join_path(path, leaf.name)]) for leaf in node.tensors]
    children: list[tuple[Item, int]] = []
    for key, child in node.children.items():
        item, kind = _fold(child, join_path(path, key), key, tensors, kinds)
        if node.cls == "ModuleList" and children and children[-1][1] == kind:
            first = children.pop()[0]
            item = first._replace(name=f"{first.name.partition('-')[0]}-{key}", copies=first.copies + 1)
        children.append((item, kind))
    unique = [tensor for _, tensor in own if tensor.tied_to is None]
    params = sum(tensor.numel for tensor in unique if tensor.kind == "parameter")
    params += sum(child.params * child.copies for child, _ in children)
    buffers = sum(tensor.numel for tensor in unique if tensor.kind == "buffer")
    buffers += sum(child.buffers * child.copies for child, _ in children)
    marks, label = _marks(own), _label(node, own)
    facts = (label, params, buffers, tuple(mark.partition(" to ")[0] for mark in marks))
    inside = tuple((kind, child.name, child.copies) for child, kind in children)
    item = Item(path, name, label, 1, params, buffers, marks, tuple(child for child, _ in children))
    return item, kinds.setdefault((facts, inside), len(kinds))


def _scale(item: Item, outer: int) -> Item:
    """Return a module with the numbers of all its copies."""
    copies = outer * item.copies
    children = tuple(_scale(child, copies) for child in item.children)
    return item._replace(params=item.params * copies, buffers=item.buffers * copies, children=children)


def _marks(own: list[tuple[str, Tensor]]) -> tuple[str, ...]:
    marks = [f"{name} tied to {t.tied_to}".lstrip() for name, t in own if t.tied_to]
    parameters = [t for _, t in own if t.kind == "parameter"]
    frozen = parameters and not any(t.trainable for t in parameters)
    return (*marks, "frozen") if frozen else tuple(marks)


def _label(node: Node, own: list[tuple[str, Tensor]]) -> str:
    """Return the class with its sizes; Linear, Conv1D and Embedding as torch and transformers print them."""
    shapes = {name: tensor.shape for name, tensor in own}
    weight, bias = shapes.get("weight", ()), "bias" in shapes
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
