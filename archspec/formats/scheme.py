"""How weights are stored: the layout of a matrix, the modules that a scheme quantizes, those in float32."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from archspec.errors import ArchspecError
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, modules, output_embeddings
from archspec.typing_light import NamedTuple

_WORD = 32  # bits of the ints that elements are packed into
_SCALES_PER_SCALE = 256  # bitsandbytes' double quantization
_KEPT_LISTS = {"float16": ("float16", "16-bit", "always"), "bfloat16": ("16-bit", "always")}  # by dtype
LINEAR, CONV1D, EMBEDDING = "Linear", "Conv1D", "Embedding"
ALL_EXPERTS = "*"
_DECODER_LAYERS = (  # optimum.gptq.constants.BLOCK_PATTERNS: the first one that starts a module's name wins
    *("transformer.h", "model.decoder.layers", "gpt_neox.layers", "model.layers"),
    *("model.language_model.layers", "h", "decoder.layers", "layers"),
)
_SUBCLASSES = {  # paths of subclasses of nn.Linear, which `type(module) is nn.Linear` skips, by model type
    "falcon": r"",
    "llama4_text": r"\.router$",
    "deepseek_v4": r"\.o_a_proj$",
}


class Layout(NamedTuple):
    """How one matrix of ``rows`` outputs and ``columns`` inputs is stored.

    Attributes:
        bits: Bits per element.
        block: The rows and columns that share a scale; 0 stands for all of them.
        scale_bytes: Bytes of a scale.
        scale_values: Values in the model's dtype that are stored with each scale (MLX: a scale and a bias).
        zero_bits: Bits of the zero point of each scale.
        extra_bytes: Bytes that are stored once per matrix.
        extra_values: Values in the model's dtype that are stored once per matrix.
        index_bytes: Bytes per input (GPTQ: its group).
        flat: Blocks span rows: the matrix is treated as one row.
        nested: Scales are quantized, too, with a float32 per 256 scales.
        packed: Elements and zero points are packed into int32, so that their bits must fill it.
        uneven: What happens if the columns do not fill the blocks: "pad", "refuse", or "keep" the dtype.
    """

    bits: int
    block: tuple[int, int]
    scale_bytes: int = 0
    scale_values: int = 0
    zero_bits: int = 0
    extra_bytes: int = 0
    extra_values: int = 0
    index_bytes: int = 0
    flat: bool = False
    nested: bool = False
    packed: bool = False
    uneven: str = "pad"

    def bytes(self, rows: int, columns: int, element: int = 2, parts: int = 1) -> int:
        """Return the bytes of a matrix.

        ``element`` is the size of the model's dtype. ``parts`` is the number of matrices that are fused into
        this one; none of them shares its scales.

        >>> Layout(8, (1, 0), scale_bytes=4).bytes(300, 100)  # int8
        31200
        >>> Layout(4, (1, 64), scale_bytes=4, extra_bytes=64, flat=True).bytes(300, 100)  # nf4
        16940
        >>> Layout(4, (1, 128), 2, zero_bits=4, index_bytes=4, packed=True).bytes(4096, 4096)  # GPTQ
        8732672
        """
        if self.flat:
            rows, columns = 1, rows * columns
        height, width = self.block[0] or rows or 1, self.block[1] or columns or 1
        if columns % width and self.uneven == "keep":
            return rows * columns * element
        if columns % width and self.uneven == "refuse":
            raise ArchspecError(f"a weight of {rows} x {columns} cannot be quantized in groups of {width}")
        if self.packed and (columns * self.bits % _WORD or (self.zero_bits and rows * self.bits % _WORD)):
            raise ArchspecError(f"a weight of {rows} x {columns} cannot be packed in {self.bits} bits")
        scales = max(parts, -(-rows // height)) * -(-columns // width)
        elements = rows * -(-columns * self.bits // 8)
        nested = 4 * -(-scales // _SCALES_PER_SCALE) if self.nested else 0
        per_scale = self.scale_bytes + self.scale_values * element
        extra = self.extra_bytes + self.extra_values * element + self.index_bytes * columns
        return elements + scales * per_scale + scales * self.zero_bits // 8 + nested + extra


class Scheme(NamedTuple):
    """How a model is quantized.

    Attributes:
        name: The format as reports print it.
        layout: The layout of each quantized module.
        classes: The classes of modules that are quantized.
        exclude: A regular expression that finds modules to leave unquantized in "Class path.".
        choose: Replaces ``layout`` and ``classes``: the layout of a module by its path and class, or None.
        experts: The layout of one expert in a fused tensor.
        experts_class: The only class of experts that ``experts`` applies to.
        config_sizes: ``experts`` needs the sizes that transformers' FP8Experts reads in the config.
        split: The class of experts that are stored as separate Linears; `*` for every class.
        skipped: The modules to leave unquantized; None for transformers' defaults.
        skip_defaults: Skip transformers' defaults in addition to ``skipped``.
        subclasses: Which subclasses of nn.Linear are quantized: none (""), "grouped" ones, or "all".
        inside: Quantize only modules below this path; "" finds the layers of the decoder.
        own_names: transformers' lists of skipped modules do not apply.
        patterns: The patterns that ``choose`` matches modules against.
        whole_file: All matrices are quantized, tied ones once; models with other matrices are refused.
        rest: The dtype of all other weights, if the format fixes it.
    """

    name: str
    layout: Layout
    classes: Sequence[str] = (LINEAR,)
    exclude: str = ""
    choose: Callable[[str, str], Layout | None] | None = None
    experts: Layout | None = None
    experts_class: str = ""
    config_sizes: bool = False
    split: str = ""
    skipped: tuple[str, ...] | None = None
    skip_defaults: bool = False
    subclasses: str = ""
    inside: str | None = None
    own_names: bool = False
    patterns: tuple[str, ...] = ()
    whole_file: bool = False
    rest: str = ""

    def layout_of(self, path: str, cls: str) -> Layout | None:
        """Return the layout of a Linear, Conv1D or Embedding; None if it stays unquantized."""
        if self.choose is not None:
            return self.choose(path, cls)
        if cls not in self.classes or (self.exclude and re.search(self.exclude, f"{cls} {path}.")):
            return None
        return self.layout


def is_linear_subclass(path: str, model_type: str) -> bool:
    """Return True for modules whose class in transformers is a subclass of nn.Linear."""
    pattern = _SUBCLASSES.get(model_type)
    return pattern is not None and re.search(pattern, path) is not None


def unquantized_patterns(scheme: Scheme, tree: Node, tensors: list[Tensor]) -> list[str]:
    """Return patterns of the modules that stay unquantized: transformers' `get_modules_to_not_convert`.

    By default these are tied modules, the last one and the output embeddings. Modules that transformers
    keeps in float32 are always among them.
    """
    if scheme.own_names:
        return []
    names = [*(scheme.skipped or ()), *_kept(tree, "float16")]
    if scheme.skipped is None or scheme.skip_defaults:
        parameters = [tensor for tensor in tensors if tensor.kind == "parameter"]
        ends = [end for one in parameters if one.tied_to for end in (one.name, one.tied_to)]
        last = [one.name for one in parameters if one.tied_to is None][-1:]
        names += [name.removesuffix(".weight") for name in (*ends, *last)] + output_embeddings(tree)
    return sorted({name for name in names if name})


def is_converted(name: str, patterns: Iterable[str]) -> bool:
    """Return True if a module of that name is quantized: transformers' `should_convert_module`.

    >>> is_converted("layer.11.attn", ["layer.1"]), is_converted("model.lm_head", ["lm_head"])
    (True, False)
    """
    end = r"(?:(?<=\.)|(?=\.|$))"
    try:
        return not any(re.match(rf"(?:{one}){end}", name) or name.endswith(one) for one in patterns)
    except re.error as error:
        raise ArchspecError(f"a pattern of modules to leave unquantized is invalid: {error}") from None


def start_of(scheme: Scheme, tree: Node) -> str:
    """Return the prefix of the modules that a scheme quantizes.

    Errors: :class:`ArchspecError` for a model without the decoder layers that optimum's GPTQ knows.
    """
    if scheme.inside != "":
        return scheme.inside or ""
    names = [path for path, _ in modules(tree, layers=True)]
    for prefix in _DECODER_LAYERS:
        if any(name.startswith(prefix) for name in names):
            return prefix
    raise ArchspecError(f"gptq does not support {tree.cls}: optimum does not know the names of its layers")


def kept_in_float32(tree: Node, tensors: list[Tensor], dtype: str) -> frozenset[str]:
    """Return the names of a model's parameters that transformers loads in float32 in a 16-bit model.

    The key `keep_in_float32` of a spec lists patterns of names: under ``float16`` those of its classes'
    `_keep_in_fp32_modules`, under ``16-bit`` those of `_keep_in_fp32_modules_strict`, and under ``always``
    parameters that are built in float32 whatever the dtype is. Source: `from_pretrained` in
    transformers/modeling_utils.py and core_model_loading.py.
    """
    patterns = [one for name in _KEPT_LISTS.get(dtype, ()) for one in _kept(tree, name)]
    if not patterns:
        return frozenset()
    any_of = re.compile("|".join(one.replace("*", ".*") for one in patterns))
    return frozenset(one.name for one in tensors if one.kind == "parameter" and any_of.search(one.name))


def _kept(tree: Node, name: str) -> list[str]:
    """The patterns in one list of the model types in a tree."""
    specs = {one.scope.spec.model_type: one.scope.spec for _, one in modules(tree, layers=True) if one.scope}
    return sorted({pattern for spec in specs.values() for pattern in spec.keep_in_float32.get(name, ())})
