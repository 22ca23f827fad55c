"""The bytes of a model's weights as they are stored: by dtype, or quantized with their scales."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from math import prod

from archspec.errors import ArchspecError
from archspec.formats.dtypes import dtype_bytes
from archspec.formats.scheme import (
    ALL_EXPERTS,
    CONV1D,
    EMBEDDING,
    LINEAR,
    Scheme,
    is_converted,
    is_linear_subclass,
    kept_in_float32,
    start_of,
    unquantized_patterns,
)
from archspec.terminal import number
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, joined, modules
from archspec.typing_light import NamedTuple

_MATRICES = (LINEAR, CONV1D, EMBEDDING)
_NAMED_LINEARS = ("BridgeTowerTransform",)
_GATED, _UNGATED = {"gate_up_proj", "down_proj"}, {"up_proj", "down_proj"}  # the parameters of fused experts
_PLAIN = re.compile(r"(^|\.)(gate|router|wpe|position_embeddings?|embed_positions)\.weight$")  # of GGUF
_CHOOSE = "choose another weight format, or a dtype"


class Stored(NamedTuple):
    """Weights in one format; the bytes include their scales."""

    format: str
    elements: int
    bytes: int


class Weights:
    """Unique parameters as they are stored; made by :meth:`archspec.Model.weights`.

    ``scheme`` is None if all are in ``dtype``; otherwise ``dtype`` is that of unquantized weights. Buffers
    are not included. ``tree`` and ``tensors`` are the model's, ``left_out`` are patterns of the modules that
    the scheme leaves unquantized.
    """

    def __init__(self, tree: Node, tensors: list[Tensor], dtype: str, scheme: Scheme | None = None) -> None:
        self.tree, self.tensors, self.scheme = tree, tensors, scheme
        self.dtype = scheme.rest or dtype if scheme else dtype
        self.left_out = unquantized_patterns(scheme, tree, tensors) if scheme else []

    @property
    def bytes(self) -> int:
        """All bytes, those of scales, zeros and tables included."""
        return sum(stored.bytes for stored in self.table)

    @cached_property
    def upcast(self) -> int:
        """Unquantized parameters that transformers loads in float32, although :attr:`dtype` has 16 bits."""
        if self.scheme is not None and self.scheme.own_names:  # a format that transformers does not load
            return 0
        kept = kept_in_float32(self.tree, self._unique, self.dtype)
        packed = self._packed if self.scheme is not None else {}
        return sum(one.numel for one in self._unique if one.name in kept and one.name not in packed)

    @property
    def loaded(self) -> list[Stored]:
        """:attr:`table` as the weights are in memory: those in :attr:`upcast` in float32."""
        if not self.upcast:
            return self.table
        *quantized, (dtype, elements, _) = self.table
        rest = elements - self.upcast
        wide = Stored("float32", self.upcast, self.upcast * dtype_bytes("float32"))
        return [*quantized, Stored(dtype, rest, rest * dtype_bytes(dtype)), wide]

    @property
    def loaded_bytes(self) -> int:
        """All bytes of :attr:`loaded`."""
        return sum(stored.bytes for stored in self.loaded)

    @cached_property
    def table(self) -> list[Stored]:
        """The quantized weights, then the others.

        Errors: :class:`ArchspecError` if the scheme quantizes nothing, or cannot pack a weight.
        """
        elements = sum(tensor.numel for tensor in self._unique)
        found = []
        if self.scheme is not None:
            own = sum(tensor.numel for tensor in self._unique if tensor.name in self._packed)
            found.append(Stored(self.scheme.name, own, sum(self._packed.values())))
            elements -= own
        return [*found, Stored(self.dtype, elements, elements * dtype_bytes(self.dtype))]

    @property
    def format(self) -> str:
        """The formats of all weights, as a report names them."""
        return " + ".join(stored.format for stored in self.table if stored.elements)

    @cached_property
    def notes(self) -> list[str]:
        """Facts to print next to the total: experts that stay unquantized, patterns without a module."""
        if self.scheme is None:
            return []
        found = []
        stays = [one for one in self._unique if one.name not in self._packed and len(one.shape) == 3]
        if routed := sum(one.numel for one in stays if one.active != one.numel):
            found.append(
                f"{number(routed)} parameters of experts stay in {self.dtype}: {self.scheme.name} does not "
                "quantize experts that are stored in one tensor"
            )
        names = [path for path, _ in modules(self.tree, layers=True)]
        for pattern in (*self.scheme.patterns, *(self.scheme.skipped or ())):
            if not _matches_any(pattern, names):
                found.append(f"{pattern!r} is listed as unquantized and matches no module of {self.tree.cls}")
        return found

    @cached_property
    def _unique(self) -> list[Tensor]:
        return [tensor for tensor in self.tensors if tensor.kind == "parameter" and not tensor.tied_to]

    @cached_property
    def _packed(self) -> dict[str, int]:
        assert self.scheme is not None
        found = dict(self._pack(self.scheme))
        if not found:
            message = f"{self.scheme.name} quantizes none of the weights of {self.tree.cls}"
            raise ArchspecError(message, help=_CHOOSE)
        for tensor in self._unique if self.scheme.whole_file else ():
            named = tensor.name.removesuffix(".weight") in self.scheme.patterns  # left alone on purpose
            in_rest = bool(self.scheme.rest) and _PLAIN.search(tensor.name) and not _is_routed(tensor)
            if tensor.name not in found and not (named or len(tensor.shape) < 2 or in_rest):
                message = f"{tensor.name} of {self.tree.cls} in {self.scheme.name} is not supported"
                raise ArchspecError(message, help=_CHOOSE)
        return found

    def _pack(self, scheme: Scheme) -> Iterator[tuple[str, int]]:
        copies = {one.name for one in self.tensors if one.tied_to}
        tied = copies | {one.tied_to for one in self.tensors if one.tied_to}
        start = start_of(scheme, self.tree)
        for path, node, model_type in _typed_modules(self.tree):
            if not path.startswith(start) or not is_converted(path, self.left_out):
                continue
            if not node.leaf:
                yield from self._experts(path, node, scheme)
                continue
            weight = f"{path}.weight"
            size = self._matrix(path, node, model_type, scheme)
            if size is None or (scheme.whole_file and weight in copies):
                continue
            if weight in tied and not scheme.whole_file:
                raise ArchspecError(f"{path} is tied and quantized on its own: not supported")
            yield weight, size

    def _matrix(self, path: str, node: Node, model_type: str, scheme: Scheme) -> int | None:
        """Return the bytes of a quantized matrix; None if the scheme leaves it alone."""
        cls = node.layer if node.cls in _NAMED_LINEARS else node.cls
        quantized = scheme.subclasses == "all" or (scheme.subclasses, model_type) == (
            "grouped",
            "deepseek_v4",
        )
        if cls not in _MATRICES or (
            node.cls == LINEAR and is_linear_subclass(path, model_type) and not quantized
        ):
            return None
        layout = scheme.layout_of(path, cls)
        if layout is None:
            return None
        rows, columns = next(tensor for tensor in node.tensors if tensor.name == "weight").shape
        rows, columns = (columns, rows) if node.cls == CONV1D else (rows, columns)
        return layout.bytes(rows, columns, dtype_bytes(self.dtype))

    def _experts(self, path: str, node: Node, scheme: Scheme) -> Iterator[tuple[str, int]]:
        """Yield each fused tensor of experts that a scheme quantizes.

        Errors: :class:`ArchspecError` for experts of a shape that is not supported.
        """
        shapes: dict[str, tuple[int, ...]] = {
            name: child.tensors[0].shape
            for name, child in node.children.items()
            if child.leaf and len(child.tensors) == 1 and len(child.tensors[0].shape) == 3
        }
        split = bool(shapes) and scheme.split in (ALL_EXPERTS, node.cls)
        if scheme.experts_class:
            if node.cls != scheme.experts_class:
                return
        elif not split and not (scheme.experts and path.endswith(".experts")):
            return
        elif set(node.children) not in (_GATED, _UNGATED) or set(node.children) != set(shapes):
            raise ArchspecError(f"the experts {path} of {self.tree.cls} in {scheme.name} are not supported")
        transposed = _is_transposed(shapes)
        if scheme.config_sizes and not _has_sizes(node, shapes, transposed):
            message = f"{scheme.name} of transformers builds {path} of {self.tree.cls} in another shape"
            raise ArchspecError(message, help=_CHOOSE)
        element = dtype_bytes(self.dtype)
        for name in sorted((_GATED | _UNGATED) & shapes.keys()):
            experts, *sizes = shapes[name]
            rows, columns = reversed(sizes) if transposed else sizes
            parts = ("gate_proj", "up_proj") if name == "gate_up_proj" else (name,)
            if scheme.experts is not None:
                yield f"{path}.{name}", experts * scheme.experts.bytes(rows, columns, element, len(parts))
                continue
            layouts = [scheme.layout_of(f"{path}.0.{part}", LINEAR) for part in parts]
            if all(layouts):
                each = (layout.bytes(rows // len(parts), columns, element) for layout in layouts if layout)
                yield f"{path}.{name}", experts * sum(each)
            elif any(layouts):
                raise ArchspecError(
                    f"{path} with only some of its experts' weights in {scheme.name} is not supported"
                )


def _typed_modules(node: Node, prefix: str = "", model_type: str = "") -> Iterator[tuple[str, Node, str]]:
    """Yield every module with its path and the model type that its class belongs to."""
    if node.scope is not None:
        model_type = node.scope.spec.model_type
    yield prefix, node, model_type
    for name, child in node.children.items():
        yield from _typed_modules(child, joined(prefix, name), model_type)


def _is_transposed(shapes: dict[str, tuple[int, ...]]) -> bool:
    """Return True if the inputs come first, as in Llama 4, Aria and gpt-oss.

    >>> _is_transposed({"gate_up_proj": (8, 64, 96), "down_proj": (8, 48, 64)})
    True
    """
    if not shapes.keys() >= _GATED:
        return False
    (_, first, last), (_, inner, outer) = shapes["gate_up_proj"], shapes["down_proj"]
    return first == outer and last == 2 * inner and not (last == inner and first == 2 * outer)


def _has_sizes(node: Node, shapes: dict[str, tuple[int, ...]], transposed: bool) -> bool:
    """Return True if experts have the sizes that transformers' FP8Experts takes from the config."""
    scope = node.scope
    if scope is None:
        return False
    names = (("num_local_experts", "num_experts"), ("moe_intermediate_size", "intermediate_size"))
    read = [next((scope.get(scope.canonical(n)) for n in both if scope.has(n)), None) for both in names]
    wide = scope.get("hidden_size") if scope.has("hidden_size") else None
    for name, (experts, *sizes) in shapes.items():
        rows, columns = reversed(sizes) if transposed else sizes
        inner, outer = (columns, rows) if name == "down_proj" else (rows, columns)
        inner = inner // 2 if name == "gate_up_proj" else inner
        if [experts, inner, outer] != [*read, wide]:
            return False
    return True


def _is_routed(tensor: Tensor) -> bool:
    return prod(tensor.shape) != tensor.numel


def _matches_any(pattern: str, names: list[str]) -> bool:
    """Return True if a pattern of any of the tools' kinds matches a module."""
    from fnmatch import fnmatchcase

    text = pattern.removeprefix("re:")
    with suppress(re.error):
        if any(re.match(text, name) or name.endswith(text) for name in names):
            return True
    return any(fnmatchcase(name, text) for name in names)
