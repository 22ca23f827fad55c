"""A quantization scheme: which modules it quantizes, in which layout, and which it leaves alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from archspec.errors import ArchspecError
from archspec.formats.float32 import HALF, listed, named_modules
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, output_embeddings
from archspec.typing_light import NamedTuple

LINEAR, CONV1D, EMBEDDING = "Linear", "Conv1D", "Embedding"
Layout = Callable[[int, int, int], int]  # bytes by outputs, inputs and the bytes of an unquantized element
Choose = Callable[[str, str], Layout | None]  # the layout of a module by its path and class
_BLOCKS = (  # optimum.gptq.constants.BLOCK_PATTERNS: the first one that a module's name starts with
    *("transformer.h", "model.decoder.layers", "gpt_neox.layers", "model.layers"),
    *("model.language_model.layers", "h", "decoder.layers", "layers"),
)
_SUBCLASSES = {  # subclasses of nn.Linear, which `type(module) is nn.Linear` leaves alone, by model type
    "falcon": r"",
    "llama4_text": r"\.router$",
    "deepseek_v4": r"\.o_a_proj$",
}


class Scheme(NamedTuple):
    """How a model is quantized.

    Attributes:
        name: The format as reports print it.
        choose: The layout of a Linear, Conv1D or Embedding by its path and class; None leaves it alone.
        fused: The bytes of one expert in a fused tensor by the tensor's name, outputs and inputs.
        sized: ``fused`` holds for experts of the sizes that transformers' FP8Experts reads in the config.
        each: Every expert is stored as separate Linears, which ``choose`` knows by their paths.
        split_class: The only class of experts that is stored as separate Linears without ``each``.
        experts_class: The only class of experts that ``fused`` quantizes.
        skipped: The modules to leave alone; None for transformers' defaults.
        defaults: Leave transformers' defaults alone in addition to ``skipped``.
        subclasses: Which subclasses of nn.Linear are quantized: none, "grouped" ones, or "all".
        blocks_only: Quantize the layers of the decoder only.
        block: The path of these layers, if the config states it.
        own_names: ``choose`` decides alone; transformers' lists of modules do not apply.
        patterns: The patterns that ``choose`` matches modules against.
        ties: Tied weights are quantized, once.
        rest: The dtype of all other weights, if the format fixes it.
        whole: Refuse models with matrices that the format would have to store in another way.
        notes: Facts to print next to the total.
    """

    name: str
    choose: Choose
    fused: Callable[[str, int, int], int] | None = None
    sized: bool = False
    each: bool = False
    split_class: str = ""
    experts_class: str = ""
    skipped: tuple[str, ...] | None = None
    defaults: bool = False
    subclasses: str = ""
    blocks_only: bool = False
    block: str = ""
    own_names: bool = False
    patterns: tuple[str, ...] = ()
    ties: bool = False
    rest: str = ""
    whole: bool = False
    notes: tuple[str, ...] = ()


def same_for(kinds: Iterable[str], layout: Callable[[int, int], int]) -> Choose:
    """One layout for all modules of some classes."""
    kinds = frozenset(kinds)
    return lambda path, cls: (lambda rows, columns, element: layout(rows, columns)) if cls in kinds else None


def is_linear_subclass(path: str, model_type: str) -> bool:
    """Return True for modules whose class in transformers is a subclass of nn.Linear."""
    pattern = _SUBCLASSES.get(model_type)
    return pattern is not None and re.search(pattern, path) is not None


def left_out(scheme: Scheme, tree: Node, tensors: list[Tensor]) -> list[str]:
    """Patterns of the modules that stay unquantized: transformers' `get_modules_to_not_convert`.

    By default these are tied modules, the last one and the output embeddings. Modules that transformers
    keeps in float32 are always among them.
    """
    if scheme.own_names:
        return []
    names = [*(scheme.skipped or ()), *listed(tree, HALF)]
    if scheme.skipped is None or scheme.defaults:
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


def block_prefix(tree: Node) -> str:
    """The prefix of the layers that optimum's GPTQ quantizes. Errors: :class:`ArchspecError` without one."""
    names = [path for path, _ in named_modules(tree)]
    for pattern in _BLOCKS:
        if any(name.startswith(pattern) for name in names):
            return pattern
    raise ArchspecError(f"gptq quantizes the layers of a decoder, and {tree.cls} has none that it knows")
