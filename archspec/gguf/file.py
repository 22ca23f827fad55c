"""A GGUF file of a model: its tensors with their types, and the bytes around them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from archspec.configs.scope import Scope
from archspec.gguf.names import convert_tensors
from archspec.gguf.types import BLOCKS, FileTensor, Recipe, choose_types
from archspec.terminal import number
from archspec.tree.tensors import Tensor

ALIGNMENT = 32  # of the data of each tensor (GGUF_DEFAULT_ALIGNMENT)
_HEAD_BYTES = 24  # magic number, version, numbers of tensors and of metadata entries
_NEEDS_IMATRIX = {"IQ3_XXS", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ1_M", "IQ1_S"}
_BASES = {"bfloat16": "BF16", "float32": "F32"}  # other dtypes are converted to F16


class File:
    """The file that llama-quantize writes for a model.

    ``tensors`` are in the order of the file. ``dropped`` are the parameters that the file does not contain,
    such as those of a vision tower. ``metadata_bytes`` are those of the hyperparameters, without the model's
    name and the vocabulary; None if they are unknown.
    """

    def __init__(
        self, scope: Scope, architecture: str, tensors: Iterable[Tensor], recipe: Recipe, dtype: str
    ) -> None:
        given = [one for one in tensors if one.tied_to is None]
        self.converted = convert_tensors(scope, architecture, given, _BASES.get(dtype, "F16"))
        self.metadata_bytes = self.converted.metadata_bytes
        self.recipe = recipe
        self.tensors = choose_types(self.converted.tensors, recipe, self.converted.metadata)
        used = {name for one in self.tensors for name in one.sources}
        self.dropped = [one for one in given if one.kind == "parameter" and one.name not in used]

    @property
    def bytes(self) -> int:
        """Bytes of all tensors."""
        return sum(one.bytes for one in self.tensors)

    @property
    def padding_bytes(self) -> int:
        """Bytes between tensors, each of which starts at a multiple of 32 bytes."""
        return sum(-one.bytes % ALIGNMENT for one in self.tensors)

    @property
    def header_bytes(self) -> int:
        """Bytes of the head and of the list of tensors, without metadata."""
        return _HEAD_BYTES + sum(24 + len(one.name.encode()) + 8 * len(one.shape) for one in self.tensors)

    @cached_property
    def notes(self) -> list[str]:
        """Notes on what the file contains, and on what its types depend on."""
        found = []
        if self.dropped:
            count, first = number(sum(one.numel for one in self.dropped)), self.dropped[0].name
            found.append(f"the file does not contain {count} parameters, such as {first}")
        if self.converted.leaves_out_prediction:
            found.append("the file does not contain layers for multi-token prediction")
        if not self.recipe.imatrix and any(self._needs_imatrix(one) for one in self.tensors):
            name = self.recipe.file
            found.append(f"llama-quantize requires an importance matrix for {name}; types are those without")
        return found

    def _needs_imatrix(self, one: FileTensor) -> bool:
        if one.name in ("output.weight", "token_embd.weight", "per_layer_token_embd.weight"):
            return False
        return one.type in _NEEDS_IMATRIX or (one.type == "Q2_K" and self.recipe.file == "Q2_K_S")

    @property
    def elements_by_type(self) -> dict[str, tuple[int, int]]:
        """Elements and bytes of each type, those of the file first."""
        kinds = ((kind, [one for one in self.tensors if one.type == kind]) for kind in BLOCKS)
        found = {
            kind: (sum(x.numel for x in ones), sum(x.bytes for x in ones)) for kind, ones in kinds if ones
        }
        return dict(sorted(found.items(), key=lambda item: -item[1][1]))
