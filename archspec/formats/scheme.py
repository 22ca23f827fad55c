"""A quantization scheme: which modules it quantizes, in which layout, and which it leaves unquantized."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from archspec.errors import ArchspecError
from archspec.formats.float32 import listed, named_modules
from archspec.formats.layouts import Layout
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, output_embeddings
from archspec.typing_light import NamedTuple

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
    names = [*(scheme.skipped or ()), *listed(tree, "float16")]
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
    names = [path for path, _ in named_modules(tree)]
    for prefix in _DECODER_LAYERS:
        if any(name.startswith(prefix) for name in names):
            return prefix
    raise ArchspecError(f"gptq does not support {tree.cls}: optimum does not know the names of its layers")
