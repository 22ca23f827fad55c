"""The bytes of a model's weights as they are stored: by dtype, or quantized with their scales."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from archspec.costs.quantization import CONV1D, EXPERTS, Scheme, converted, left_out
from archspec.errors import ArchspecError
from archspec.tree.counts import dtype_bytes
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, joined
from archspec.typing_light import NamedTuple

_PACKED = {"gate_up_proj", "down_proj"}  # the parameters of experts that are quantized


class Stored(NamedTuple):
    """The weights that are stored alike; the bytes with their scales."""

    format: str
    elements: int
    bytes: int


class Weights:
    """Unique parameters as they are stored; made by :meth:`archspec.Model.weights`.

    ``scheme`` is None where all are in ``dtype``; of a quantized model the rest is. Buffers are left out.
    ``tree`` and ``tensors`` are the model's, ``left_out`` are the modules that the scheme leaves as they are.
    """

    def __init__(self, tree: Node, tensors: list[Tensor], dtype: str, scheme: Scheme | None = None) -> None:
        self.tree, self.tensors, self.dtype, self.scheme = tree, tensors, dtype, scheme
        self.left_out = left_out(scheme, tree, tensors) if scheme else []

    @property
    def bytes(self) -> int:
        """All bytes, those of scales, zeros and tables included."""
        return sum(stored.bytes for stored in self.table)

    @cached_property
    def table(self) -> list[Stored]:
        """What is quantized, then what is not.

        Errors: :class:`ArchspecError` where the scheme has nothing to quantize, or not in this shape.
        """
        unique = [tensor for tensor in self.tensors if tensor.kind == "parameter" and not tensor.tied_to]
        elements = sum(tensor.numel for tensor in unique)
        found = []
        if self.scheme is not None:
            packed = dict(self._packed(self.scheme))
            if not packed:
                message = f"{self.scheme.name} is described for none of the weights of {self.tree.cls}"
                raise ArchspecError(message, help="its weights stay in their dtype")
            own = sum(tensor.numel for tensor in unique if tensor.name in packed)
            found.append(Stored(self.scheme.name, own, sum(packed.values())))
            elements -= own
        return [*found, Stored(self.dtype, elements, elements * dtype_bytes(self.dtype))]

    def _packed(self, scheme: Scheme) -> Iterator[tuple[str, int]]:
        """Each weight that is quantized, and its bytes."""
        tied = {end for one in self.tensors if one.tied_to for end in (one.name, one.tied_to)}
        for path, node in _named(self.tree):
            if not converted(path, self.left_out):
                continue
            if scheme.layers_only and not any(part.isdigit() for part in path.split(".")):
                continue
            if node.leaf and node.cls in scheme.kinds:
                if f"{path}.weight" in tied:
                    raise ArchspecError(f"{path} is tied, and quantized by itself: not described")
                weight = next(tensor for tensor in node.tensors if tensor.name == "weight")
                yield f"{path}.weight", scheme.bytes_of(weight.shape, node.cls == CONV1D)
            elif _experts(path, node, scheme):
                for name in sorted(_PACKED):
                    shape = node.children[name].tensors[0].shape
                    yield f"{path}.{name}", scheme.bytes_of(shape, False)


def _experts(path: str, node: Node, scheme: Scheme) -> bool:
    """Whether a scheme takes the weights of all experts together.

    Errors: :class:`ArchspecError` for experts that a scheme would take in a shape that is not described.
    """
    if node.cls in scheme.kinds:
        return True
    if EXPERTS not in scheme.kinds or not path.endswith(".experts"):
        return False
    if set(node.children) != _PACKED:
        raise ArchspecError(f"{path} in {scheme.name} is not described")
    return True


def _named(node: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """Every module by its name, layers of torch's too, as torch's `named_modules()`."""
    yield prefix, node
    for name, child in node.children.items():
        yield from _named(child, joined(prefix, name))
