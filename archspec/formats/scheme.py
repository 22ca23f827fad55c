"""The storage of weights: layouts, the formats of formulas/weight_formats.json, the quantized modules.

That file is the only declaration of a format. Help texts, errors, completion and the page read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from archspec.errors import ArchspecError, did_you_mean, option
from archspec.formats.dtypes import TABLE, WEIGHT_DTYPES, dtype_name
from archspec.gguf.types import FILES, Recipe, find_recipe
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, modules, output_embeddings
from archspec.typing_light import Any, NamedTuple

LINEAR, CONV1D, EMBEDDING = "Linear", "Conv1D", "Embedding"
ALL_EXPERTS = "*"
_WORD = 32  # bits of the ints that elements are packed into
_SCALES_PER_SCALE = 256  # bitsandbytes' double quantization
_KEPT_LISTS = {"float16": ("float16", "16-bit", "always"), "bfloat16": ("16-bit", "always")}  # by dtype
_DECODER_LAYERS = (  # optimum.gptq.constants.BLOCK_PATTERNS: the first one that starts a module's name wins
    *("transformer.h", "model.decoder.layers", "gpt_neox.layers", "model.layers"),
    *("model.language_model.layers", "h", "decoder.layers", "layers"),
)
# Paths of subclasses of nn.Linear, which `type(module) is nn.Linear` skips, by model type.
_SUBCLASSES = {"falcon": r"", "llama4_text": r"\.router$", "deepseek_v4": r"\.o_a_proj$"}


def _round_up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


class Layout(NamedTuple):
    """The storage of one matrix of ``rows`` outputs and ``columns`` inputs."""

    bits: int  # per element
    block: tuple[int, int]  # the rows and columns that share a scale; 0 stands for all of them
    scale_bytes: int = 0  # of each scale
    scale_values: int = 0  # values in the model's dtype that are stored with each scale
    zero_bits: int = 0  # of the zero point of each scale
    extra_bytes: int = 0  # stored once per matrix
    extra_values: int = 0  # values in the model's dtype that are stored once per matrix
    index_bytes: int = 0  # per input (GPTQ: its group)
    flat: bool = False  # blocks span rows: the matrix is treated as one row
    nested: bool = False  # scales are quantized, too, with a float32 per 256 scales
    packed: int = 0  # pack elements and zero points into int32; rows and columns are multiples of this
    pad_to: tuple[int, int] = (1, 1)  # pad rows and columns to multiples of these
    pad_groups: int = 1  # pad the number of scales of a row to a multiple of this
    file_bytes: int = 0  # stored in files once per matrix, in addition to the bytes in memory
    file_text: str = ""  # stored in files once per matrix, after % with its dtype, rows and columns
    uneven: str = "pad"  # if the columns do not fill the blocks: "pad", "refuse", or "keep" the dtype

    def bytes(self, rows: int, columns: int, element: int = 2, parts: int = 1) -> int:
        """Return the bytes of a matrix in memory.

        ``element`` is the size of the model's dtype. ``parts`` is the number of matrices that are fused into
        this one; none of them shares its scales.

        >>> Layout(8, (1, 0), scale_bytes=4).bytes(300, 100)  # int8
        31200
        >>> Layout(4, (1, 64), scale_bytes=4, extra_bytes=64, flat=True).bytes(300, 100)  # nf4
        16940
        >>> Layout(4, (1, 128), 2, zero_bits=4, index_bytes=4, packed=32).bytes(4096, 4096)  # GPTQ
        8732672
        """
        if self.packed and (columns % self.packed or rows % self.packed):
            message = f"a weight of {rows} x {columns} cannot be packed in {self.bits} bits"
            raise ArchspecError(message, help=f"its sizes are not multiples of {self.packed}")
        if self.flat:
            rows, columns = 1, rows * columns
        height, width = self.block[0] or rows or 1, self.block[1] or columns or 1
        if columns % width and self.uneven == "keep":
            return rows * columns * element
        if columns % width and self.uneven == "refuse":
            message = f"a weight of {rows} x {columns} cannot be quantized in groups of {width}"
            raise ArchspecError(message, help=f"choose a group size that divides {columns}")
        elements = self.element_bytes(rows, columns)
        rows, columns = _round_up(rows, self.pad_to[0]), _round_up(columns, self.pad_to[1])
        groups = _round_up(-(-columns // width), self.pad_groups)
        scales = max(parts, -(-rows // height)) * groups
        zeros = scales * self.zero_bits // 8
        if self.packed and height == 1:
            zeros = groups * _round_up(rows * self.zero_bits, _WORD) // 8
        nested = 4 * -(-scales // _SCALES_PER_SCALE) if self.nested else 0
        per_scale = self.scale_bytes + self.scale_values * element
        extra = self.extra_bytes + self.extra_values * element + self.index_bytes * columns
        return elements + scales * per_scale + zeros + nested + extra

    def element_bytes(self, rows: int, columns: int) -> int:
        """Return the bytes of the packed elements of a matrix alone, with padding.

        >>> Layout(3, (1, 0), packed=32).element_bytes(32, 64)
        768
        """
        if self.flat:
            rows, columns = 1, rows * columns
        rows, columns = _round_up(rows, self.pad_to[0]), _round_up(columns, self.pad_to[1])
        return rows * _round_up(columns * self.bits, _WORD if self.packed else 8) // 8

    def bytes_in_files(self, rows: int, columns: int, dtype: str) -> int:
        """Return the bytes that files store in addition to :meth:`bytes`, for a model in ``dtype``.

        >>> Layout(4, (1, 64), file_text="[%(rows)d, %(columns)d]").bytes_in_files(300, 100, "float16")
        10
        """
        return self.file_bytes + len(self.file_text % {"rows": rows, "columns": columns, "dtype": dtype})


class Scheme(NamedTuple):
    """The quantization of a model."""

    name: str  # as reports print it
    layout: Layout  # of each quantized module
    classes: Sequence[str] = (LINEAR,)  # of modules that are quantized
    exclude: str = ""  # a regular expression that finds modules to leave unquantized in "Class path."
    choose: Callable[[str, str], Layout | None] | None = None  # path, class -> layout; in place of `layout`
    experts: Layout | None = None  # of one expert in a fused tensor
    experts_class: str = ""  # the only class of experts that `experts` applies to
    config_sizes: bool = False  # `experts` needs the sizes that transformers' FP8Experts reads in the config
    split: str = ""  # the class of experts that are stored as separate Linears; `*` for every class
    skipped: tuple[str, ...] | None = None  # modules to leave unquantized; None for transformers' defaults
    suffix: str = ""  # of the paths that `skipped` and transformers' defaults are matched against
    skip_defaults: bool = False  # skip transformers' defaults in addition to `skipped`
    subclasses: str = ""  # which subclasses of nn.Linear are quantized: none (""), "grouped" ones, or "all"
    inside: str | None = None  # quantize only modules below this path; "" finds the layers of the decoder
    own_names: bool = False  # transformers' lists of skipped modules do not apply
    patterns: tuple[str, ...] = ()  # which `choose` matches modules against
    whole_file: bool = False  # all matrices are quantized, tied ones once; other matrices are refused
    bias_bytes: int = 0  # of an element of a quantized module's bias; 0 for the model's dtype
    cache: Layout | None = None  # of the scale of an attention module's keys, and of that of its values

    def layout_of(self, path: str, cls: str) -> Layout | None:
        """Return the layout of a Linear, Conv1D or Embedding; None if it stays unquantized."""
        if self.choose is not None:
            return self.choose(path, cls)
        if cls not in self.classes or (self.exclude and re.search(self.exclude, f"{cls} {path}.")):
            return None
        return self.layout


class Format(NamedTuple):
    """One weight format of the file."""

    name: str  # which `--weights` takes
    aliases: tuple[str, ...]  # other spellings; case, `-`, `_`, `.` and spaces are ignored
    quantizes: str  # the weights that are quantized
    storage: str  # how they are stored, in words
    leaves: str  # the weights that stay in the model's dtype
    source: str  # the tool, and the code or the files that define the layout
    scheme: Scheme
    group_sizes: tuple[int, ...] = ()  # the inputs that may share a scale; -1 for all of them

    def with_group_size(self, size: int | None) -> Scheme:
        """Return the scheme, with another group size if it is given. Errors: :class:`ArchspecError`.

        >>> find_format("gptq").with_group_size(-1).name
        'gptq (4 bits, group size -1)'
        """
        if size is None:
            return self.scheme
        if size not in self.group_sizes:
            allowed = ", ".join(map(str, self.group_sizes))
            help_ = f"choose from: {allowed}" if allowed else f"leave out {option('group_size')}"
            raise ArchspecError(f"{self.name} does not support {option('group_size', size)}", help=help_)
        name = f"{self.scheme.name.removesuffix(')')}, group size {size})"
        block = 1, max(size, 0)
        return self.scheme._replace(name=name, layout=self.scheme.layout._replace(block=block))


def read_layout(row: dict[str, Any]) -> Layout:
    """Return the layout of an entry of formulas/weight_formats.json."""
    return Layout(**{**row, "block": tuple(row["block"])})


def _format(name: str, row: dict[str, Any]) -> Format:
    """Read one entry. A scheme with `experts` stores fused experts in the same layout."""
    given = {"name": name, **row.get("scheme", {})}
    layout = read_layout(row["layout"])
    given["experts"] = layout if given.get("experts") else None
    words = {key: row[key] for key in ("quantizes", "storage", "leaves", "source")}
    groups = tuple(row.get("group_sizes", ()))
    scheme = Scheme(**given, layout=layout)
    return Format(name, tuple(row["aliases"]), scheme=scheme, group_sizes=groups, **words)


def _normalize(name: str) -> str:
    return "".join(character for character in name.strip().lower() if character not in "-_. ")


FORMATS = {name: _format(name, row) for name, row in TABLE["formats"].items()}
SCHEMES = {name: one.scheme for name, one in FORMATS.items()}
LAYOUTS: dict[str, Layout] = {name: scheme.layout for name, scheme in SCHEMES.items()}
MODELOPT = {name: read_layout(row) for name, row in TABLE["modelopt"].items()}
NAMES = (*SCHEMES, *FILES, *WEIGHT_DTYPES)  # the values of --weights, without aliases
_BY_SPELLING = {_normalize(word): one for one in FORMATS.values() for word in (one.name, *one.aliases)}


def find_format(name: str) -> Format | Recipe | str:
    """Return the format of a name, a type of llama.cpp, or a dtype as torch spells it.

    Errors: :class:`ArchspecError` for an unknown name.

    >>> find_format("bnb-4bit").name, find_format("FP8_E4M3").name, find_format("f16")
    ('nf4', 'fp8', 'float16')
    """
    if (found := find_recipe(name) or _BY_SPELLING.get(_normalize(name))) is not None:
        return found
    if (dtype := dtype_name(name)) in WEIGHT_DTYPES:
        return dtype
    near = did_you_mean(name.lower(), NAMES)
    near = f"{near} " if near.startswith("did you mean") else ""
    raise ArchspecError(f"unknown weight format {name!r}", help=f"{near}choose from: {', '.join(NAMES)}")


def skips_subclass(scheme: Scheme, path: str, model_type: str) -> bool:
    """Return True for a subclass of nn.Linear in transformers that a scheme does not quantize."""
    pattern = _SUBCLASSES.get(model_type)
    if pattern is None or scheme.subclasses == "all":
        return False
    is_grouped = scheme.subclasses == "grouped" and model_type == "deepseek_v4"
    return not is_grouped and re.search(pattern, path) is not None


def unquantized_patterns(scheme: Scheme, tree: Node, tensors: list[Tensor]) -> list[str]:
    """Return patterns of the modules that stay unquantized: transformers' `get_modules_to_not_convert`.

    By default these are tied modules, the last one and the output embeddings. Modules that transformers
    keeps in float32 are always among them.
    """
    if scheme.own_names:
        return []
    names = [*(scheme.skipped or ()), *_float32_patterns(tree, "float16")]
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
    """Return the prefix of the modules that a scheme quantizes. Errors: :class:`ArchspecError`."""
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
    patterns = [one for name in _KEPT_LISTS.get(dtype, ()) for one in _float32_patterns(tree, name)]
    if not patterns:
        return frozenset()
    any_of = re.compile("|".join(one.replace("*", ".*") for one in patterns))
    return frozenset(one.name for one in tensors if one.kind == "parameter" and any_of.search(one.name))


def _float32_patterns(tree: Node, name: str) -> list[str]:
    specs = {one.scope.spec.model_type: one.scope.spec for _, one in modules(tree, layers=True) if one.scope}
    return sorted({pattern for spec in specs.values() for pattern in spec.keep_in_float32.get(name, ())})
