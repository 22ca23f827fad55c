"""The bytes of a model's weights as they are stored: by dtype, or quantized with their scales."""

from __future__ import annotations

import re
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cached_property

from archspec.costs.quantized import Quantized, Sizes, unique_parameters
from archspec.errors import ArchspecError
from archspec.formats.dtypes import dtype_bytes
from archspec.formats.scheme import Scheme, kept_in_float32
from archspec.gguf.file import File
from archspec.gguf.types import FileTensor
from archspec.terminal import number
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, modules
from archspec.typing_light import NamedTuple


class Stored(NamedTuple):
    """Weights in one format; the bytes include their scales."""

    format: str
    elements: int
    bytes: int


class Weights:
    """Unique parameters as they are stored; made by :meth:`archspec.Model.weights`.

    ``scheme`` is None if all are in ``dtype``; otherwise ``dtype`` is the dtype of unquantized weights.
    Buffers are not included. ``tree`` is the model's. A GGUF ``file`` has its own tensors, and no scheme.
    """

    def __init__(
        self,
        tree: Node,
        tensors: list[Tensor],
        dtype: str,
        scheme: Scheme | None = None,
        file: File | None = None,
    ) -> None:
        self.tree, self.dtype, self.scheme, self.file = tree, dtype, scheme, file
        self._unique = unique_parameters(tensors)
        self._quantized = Quantized(scheme, tree, tensors, dtype) if scheme else None

    @property
    def bytes(self) -> int:
        """All bytes, including scales, zero points and lookup tables."""
        return sum(stored.bytes for stored in self.table)

    @cached_property
    def upcast_params(self) -> int:
        """Number of 16-bit parameters that transformers loads in float32."""
        if self.file or (self.scheme and self.scheme.own_names):  # transformers does not load these formats
            return 0
        kept = kept_in_float32(self.tree, self._unique, self.dtype) - self._sizes.keys()
        return sum(one.numel for one in self._unique if one.name in kept)

    @property
    def loaded_table(self) -> list[Stored]:
        """:attr:`table` for weights in memory, where :attr:`upcast_params` parameters are in float32.

        Metadata of quantized weights that only files contain are not included.
        """
        if self.file is not None:
            return self.table
        *quantized, (dtype, elements, bytes_) = self.table
        in_memory = sum(one.memory for one in self._sizes.values())
        found = [Stored(name, packed, in_memory) for name, packed, _ in quantized]
        if not self.upcast_params:
            return [*found, Stored(dtype, elements, bytes_)]
        upcast = self.upcast_params
        return [*found, _in_dtype(elements - upcast, dtype), _in_dtype(upcast, "float32")]

    @property
    def loaded_bytes(self) -> int:
        """All bytes of :attr:`loaded_table`."""
        return sum(stored.bytes for stored in self.loaded_table)

    @cached_property
    def table(self) -> list[Stored]:
        """One row per format, quantized weights first: ``format``, ``elements`` and ``bytes``.

        Errors: :class:`ArchspecError` for a scheme that cannot quantize the weights.
        """
        if self.file is not None:
            return [Stored(name, *sizes) for name, sizes in self.file.elements_by_type.items()]
        elements = sum(one.numel for one in self._unique)
        if self.scheme is None:
            return [_in_dtype(elements, self.dtype)]
        packed = sum(one.numel for one in self._unique if one.name in self._sizes)
        quantized = Stored(
            self.scheme.name, packed, sum(one.memory + one.more_in_files for one in self._sizes.values())
        )
        return [quantized, _in_dtype(elements - packed, self.dtype)]

    def tensors(self) -> list[FileTensor]:
        """Return the tensors of a GGUF file: ``name``, ``sources``, ``shape``, ``type`` and ``bytes``.

        ``sources`` are transformers' names. Errors: :class:`ArchspecError` for another weight format.

        >>> import archspec
        >>> archspec.load("LlamaForCausalLM").weights("Q4_K_M").tensors()[0]
        FileTensor(name='output.weight', sources=('lm_head.weight',), shape=(32000, 4096), type='Q6_K')
        """
        if self.file is None:
            message = f"tensors of {self.format} are not listed"
            raise ArchspecError(message, help="choose a type of llama.cpp, such as Q4_K_M")
        return self.file.tensors

    @property
    def left_out(self) -> list[str]:
        """Patterns of the modules that the scheme does not quantize."""
        return self._quantized.left_out if self._quantized else []

    @property
    def is_quantized(self) -> bool:
        """True if a part of the weights is not in a dtype."""
        return self.scheme is not None or self.file is not None

    @property
    def format(self) -> str:
        """The formats of all weights, as printed in reports."""
        return " + ".join(stored.format for stored in self.table if stored.elements)

    @cached_property
    def notes(self) -> list[str]:
        """Notes on the total: experts that stay unquantized, patterns that match no module."""
        if self.scheme is None:
            return self.file.notes if self.file else []
        digits = "files contain about 18 more bytes per matrix: nested_offset as text, depending on its value"
        found = [digits] if self.scheme.layout.nested else []
        stays = [one for one in self._unique if one.name not in self._sizes and len(one.shape) == 3]
        if routed := sum(one.numel for one in stays if one.active != one.numel):
            found.append(
                f"{number(routed)} expert parameters stay in {self.dtype}: {self.scheme.name} does not "
                "quantize experts that are stored in one tensor"
            )
        names = [path for path, _ in modules(self.tree, layers=True)]
        for pattern in (*self.scheme.patterns, *(self.scheme.skipped or ())):
            if not _matches_any(pattern, names):
                found.append(
                    f"{pattern!r} is listed as unquantized, but matches no module of {self.tree.cls}"
                )
        return found

    @property
    def quantized_names(self) -> set[str]:
        """The names of the parameters that are stored in the quantized format."""
        return {*self._sizes}

    @property
    def element_bytes(self) -> dict[str, int]:
        """The bytes of each quantized parameter's packed elements, without scales."""
        return {name: one.elements for name, one in self._sizes.items() if one.elements}

    @property
    def _sizes(self) -> dict[str, Sizes]:
        return self._quantized.sizes if self._quantized else {}


def _in_dtype(elements: int, dtype: str) -> Stored:
    return Stored(dtype, elements, elements * dtype_bytes(dtype))


def _matches_any(pattern: str, names: list[str]) -> bool:
    text = pattern.removeprefix("re:")
    with suppress(re.error):
        if any(re.match(text, name) or name.endswith(text) for name in names):
            return True
    return any(fnmatchcase(name, text) for name in names)
