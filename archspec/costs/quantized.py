"""The sizes of the weights that a scheme quantizes: matrices, fused experts, scales of a quantized cache."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from archspec.errors import ArchspecError
from archspec.formats.dtypes import dtype_bytes
from archspec.formats.scheme import (
    ALL_EXPERTS,
    CONV1D,
    EMBEDDING,
    LINEAR,
    Layout,
    Scheme,
    is_converted,
    skips_subclass,
    start_of,
    unquantized_patterns,
)
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, join_path
from archspec.typing_light import NamedTuple

_ATTENTION = "MultiheadAttention"  # its out_proj is an instance of a subclass of nn.Linear
_NAMED_LINEARS = ("BridgeTowerTransform",)
_GATED, _UNGATED = {"gate_up_proj", "down_proj"}, {"up_proj", "down_proj"}  # the parameters of fused experts
_EXPERT_FIELDS = "num_local_experts num_experts", "moe_intermediate_size intermediate_size", "hidden_size"
CHOOSE = "choose another weight format, or a dtype such as bf16"


class Sizes(NamedTuple):
    """The bytes of a quantized parameter."""

    memory: int
    more_in_files: int
    elements: int = 0  # of the memory, those of the packed elements


class Quantized:
    """The parameters of a model that a scheme quantizes; ``dtype`` is that of the other ones.

    ``left_out`` are patterns of modules that stay unquantized.
    """

    def __init__(self, scheme: Scheme, tree: Node, tensors: list[Tensor], dtype: str) -> None:
        self.scheme, self.tree, self.tensors, self.dtype = scheme, tree, tensors, dtype
        self.left_out = unquantized_patterns(scheme, tree, tensors)

    @cached_property
    def sizes(self) -> dict[str, Sizes]:
        """The sizes of each quantized parameter by its name.

        Errors: :class:`ArchspecError` for a scheme that cannot quantize the weights.
        """
        scheme = self.scheme
        found = {**dict(self._pack(scheme)), **dict(self._cache_scales(scheme))}
        if not found:
            message = f"{scheme.name} cannot quantize {self.tree.cls}, which has no supported layers"
            raise ArchspecError(message, help=CHOOSE)
        for tensor in unique_parameters(self.tensors) if scheme.whole_file else ():
            is_left_out = tensor.name.removesuffix(".weight") in scheme.patterns
            if tensor.name not in found and not (is_left_out or len(tensor.shape) < 2):
                message = f"{tensor.name} of {self.tree.cls} in {scheme.name} is not supported"
                raise ArchspecError(message, help=CHOOSE)
        return found

    def _pack(self, scheme: Scheme) -> Iterator[tuple[str, Sizes]]:
        copies = {one.name: one.tied_to for one in self.tensors if one.tied_to}
        start = start_of(scheme, self.tree)
        for path, node, model_type in _typed_modules(self.tree):
            if not path.startswith(start) or not is_converted(path + scheme.suffix, self.left_out):
                continue
            if not node.leaf:
                yield from self._fused_experts(path, node, scheme)
                continue
            weight, size = f"{path}.weight", self._matrix(path, node, model_type, scheme)
            if size is None or (scheme.whole_file and weight in copies):
                continue
            if weight in {*copies, *copies.values()} and not scheme.whole_file:
                raise ArchspecError(f"{path} is tied and quantized on its own: not supported")
            yield weight, size
            bias = [one for one in node.tensors if one.name == "bias"]
            if bias and scheme.bias_bytes not in {0, dtype_bytes(self.dtype)}:
                yield f"{path}.bias", Sizes(scheme.bias_bytes * bias[0].shape[0], 0)

    def _cache_scales(self, scheme: Scheme) -> Iterator[tuple[str, Sizes]]:
        """Yield the scale of each `k_proj` and `v_proj`, for a quantized KV cache."""
        if scheme.cache is None:
            return
        ends = [one for one in _typed_modules(self.tree) if one[0].endswith((".k_proj", ".v_proj"))]
        if len({model_type for _, _, model_type in ends}) != 1:
            message = f"the scales of a quantized KV cache of {self.tree.cls} are not supported"
            raise ArchspecError(message, help=CHOOSE)
        yield from ((f"{path}.scale", self._sizes(scheme.cache, 0, 0)) for path, _, _ in ends)

    def _matrix(self, path: str, node: Node, model_type: str, scheme: Scheme) -> Sizes | None:
        is_subclass = scheme.subclasses == "all" and node.layer == LINEAR
        cls = node.layer if node.cls in _NAMED_LINEARS or is_subclass else node.cls
        output = f"{path}.out_proj"
        has_output = node.layer == _ATTENTION and scheme.subclasses == "all"
        if has_output and scheme.layout_of(output, LINEAR):
            message = f"{output} of {self.tree.cls} in {scheme.name} is not supported"
            raise ArchspecError(message, help=CHOOSE)
        if cls not in (LINEAR, CONV1D, EMBEDDING):
            return None
        if node.cls == LINEAR and skips_subclass(scheme, path, model_type):
            return None
        if (layout := scheme.layout_of(path, cls)) is None:
            return None
        rows, columns = next(tensor for tensor in node.tensors if tensor.name == "weight").shape
        rows, columns = (columns, rows) if node.cls == CONV1D else (rows, columns)
        return self._sizes(layout, rows, columns)

    def _sizes(self, layout: Layout, rows: int, columns: int, count: int = 1, parts: int = 1) -> Sizes:
        size = layout.bytes(rows, columns, dtype_bytes(self.dtype), parts)
        more, elements = layout.bytes_in_files(rows, columns, self.dtype), layout.element_bytes(rows, columns)
        return Sizes(count * size, count * more, count * elements)

    def _fused_experts(self, path: str, node: Node, scheme: Scheme) -> Iterator[tuple[str, Sizes]]:
        """Yield each fused tensor of experts that a scheme quantizes.

        Errors: :class:`ArchspecError` for experts of a shape that is not supported.
        """
        shapes = {
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
        sizes = _expert_sizes(shapes)
        if scheme.config_sizes and not _has_config_sizes(node, sizes):
            message = f"{scheme.name} of transformers builds {path} of {self.tree.cls} in another shape"
            raise ArchspecError(message, help=CHOOSE)
        for name in sorted((_GATED | _UNGATED) & sizes.keys()):
            experts, rows, columns = sizes[name]
            parts = ("gate_proj", "up_proj") if name == "gate_up_proj" else (name,)
            if scheme.experts is not None:
                yield f"{path}.{name}", self._sizes(scheme.experts, rows, columns, experts, len(parts))
                continue
            layouts = [scheme.layout_of(f"{path}.0.{part}", LINEAR) for part in parts]
            found = [self._sizes(one, rows // len(parts), columns, experts) for one in layouts if one]
            if found and len(found) < len(parts):
                message = f"{path} with only some of its experts' weights in {scheme.name} is not supported"
                raise ArchspecError(message)
            if found:
                yield f"{path}.{name}", Sizes(*map(sum, zip(*found, strict=True)))


def unique_parameters(tensors: list[Tensor]) -> list[Tensor]:
    """Return the parameters, tied ones once."""
    return [one for one in tensors if one.kind == "parameter" and not one.tied_to]


def _typed_modules(node: Node, path: str = "", model_type: str = "") -> Iterator[tuple[str, Node, str]]:
    if node.scope is not None:
        model_type = node.scope.spec.model_type
    yield path, node, model_type
    for name, child in node.children.items():
        yield from _typed_modules(child, join_path(path, name), model_type)


def _expert_sizes(shapes: dict[str, tuple[int, int, int]]) -> dict[str, tuple[int, int, int]]:
    """Return the number of experts, and the outputs and inputs of each one.

    Llama 4, Aria and gpt-oss store the inputs first.

    >>> _expert_sizes({"gate_up_proj": (8, 64, 96), "down_proj": (8, 48, 64)})
    {'gate_up_proj': (8, 96, 64), 'down_proj': (8, 64, 48)}
    """
    transposed = False
    if shapes.keys() >= _GATED:
        (_, first, last), (_, inner, outer) = shapes["gate_up_proj"], shapes["down_proj"]
        transposed = first == outer and last == 2 * inner and not (last == inner and first == 2 * outer)
    return {
        name: (experts, columns, rows) if transposed else (experts, rows, columns)
        for name, (experts, rows, columns) in shapes.items()
    }


def _has_config_sizes(node: Node, sizes: dict[str, tuple[int, int, int]]) -> bool:
    """Return True if experts have the sizes that transformers' FP8Experts takes from the config."""
    scope = node.scope
    if scope is None:
        return False
    expected = [
        next((scope.get(scope.canonical(name)) for name in names.split() if scope.has(name)), None)
        for names in _EXPERT_FIELDS
    ]
    for name, (experts, rows, columns) in sizes.items():
        inner, outer = (columns, rows) if name == "down_proj" else (rows, columns)
        if [experts, inner // 2 if name == "gate_up_proj" else inner, outer] != expected:
            return False
    return True
