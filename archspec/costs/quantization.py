"""How weights are stored: in a dtype, or quantized with scales, as a config's quantization_config says.

A :class:`Scheme` gives the bytes of one weight; :func:`scheme_of` finds that of a config, :func:`left_out`
the modules that transformers' quantizers leave as they are. Schemes are held to what the libraries set up for
a weight (bitsandbytes, transformers' fp8), and to the sizes of published checkpoints (GPTQ, mxfp4); AWQ's is
GPTQ's without its index.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import prod

from archspec.errors import ArchspecError, did_you_mean
from archspec.specs.library import folder
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, output_embeddings
from archspec.typing_light import Any, NamedTuple

LINEAR, CONV1D = "Linear", "Conv1D"  # torch's, and transformers' own with its weight the other way
EXPERTS = "experts"  # the two weights of all experts of a layer in one tensor each
KEPT = "kept_in_float32.json"  # transformers' _keep_in_fp32_modules, by model type
_BLOCK, _OUTER = 64, 256  # of bitsandbytes: elements a scale, scales a scale of their own
_MXFP4 = 32


class Scheme(NamedTuple):
    """How weights are quantized; ``bytes_of`` gives the bytes of a weight by its shape.

    ``kinds`` says of which modules the weights are, ``skipped`` which modules are left out by name,
    ``defaults`` whether those are, too, that transformers leaves out where nothing is named, ``layers_only``
    whether all are that are in no list of layers.
    """

    name: str
    kinds: tuple[str, ...]
    bytes_of: Callable[[tuple[int, ...], bool], int]
    skipped: tuple[str, ...] = ()
    defaults: bool = True
    layers_only: bool = False


def int8_bytes(shape: tuple[int, ...], transposed: bool = False) -> int:
    """bitsandbytes' LLM.int8: a byte an element, a float32 an output.

    >>> int8_bytes((300, 100))
    31200
    """
    return prod(shape) + 4 * shape[1 if transposed else 0]


def four_bit_bytes(shape: tuple[int, ...], transposed: bool = False, double: bool = False) -> int:
    """bitsandbytes' nf4 and fp4: half a byte an element, a scale for each 64, the 16 levels.

    A scale is a float32; with double quantization a byte, with a float32 for each 256 scales, their 256
    levels and their mean.

    >>> four_bit_bytes((300, 100)), four_bit_bytes((300, 100), double=True)
    (16940, 16569)
    """
    numel = prod(shape)
    scales = -(-numel // _BLOCK)
    levels = 16 * 4
    if not double:
        return -(-numel // 2) + 4 * scales + levels
    return -(-numel // 2) + scales + 4 * -(-scales // _OUTER) + levels + 256 * 4 + 4


def grouped_bytes(shape: tuple[int, ...], transposed: bool, bits: int, group: int, indexed: bool) -> int:
    """GPTQ's and AWQ's layout: packed elements; for each group of inputs a float16 scale and a packed zero.

    GPTQ's has an index of the group of each input, too; -1 is one group of all.

    >>> grouped_bytes((4096, 4096), False, 4, 128, True)
    8732672
    """
    outputs, inputs = shape[::-1] if transposed else shape
    group = inputs if group == -1 else group
    if inputs % group or inputs * bits % 32 or outputs * bits % 32:
        raise ArchspecError(f"a weight of {outputs} x {inputs} is not packed in groups of {group}")
    groups = inputs // group
    index = 4 * inputs if indexed else 0
    return inputs * outputs * bits // 8 + groups * (2 * outputs + outputs * bits // 8) + index


def block_bytes(shape: tuple[int, ...], blocks: Any, scale: int, static: bool) -> int:
    """transformers' fp8: a byte an element, and a scale for each block of rows and columns, or for all.

    >>> block_bytes((300, 100), (128, 128), 4, False), block_bytes((300, 100), None, 4, False)
    (30012, 30004)
    """
    *outer, rows, columns = shape
    if blocks is None:
        if outer:
            raise ArchspecError("experts in fp8 with one scale for all are not described")
        return prod(shape) + (8 if static else 4)
    experts = prod(outer)
    scales = experts * -(-rows // int(blocks[0])) * -(-columns // int(blocks[1]))
    return prod(shape) + scale * scales + (4 * experts if static else 0)


def mxfp4_bytes(shape: tuple[int, ...], transposed: bool = False) -> int:
    """gpt-oss's experts: half a byte an element, a byte for each 32 inputs.

    >>> mxfp4_bytes((32, 2880, 5760))
    282009600
    """
    experts, inputs, outputs = shape
    return experts * outputs * (-(-inputs // 2) + -(-inputs // _MXFP4))


def named_scheme(name: str) -> Scheme:
    """The scheme of a dtype that users ask for. Errors: :class:`ArchspecError` for one that is not known."""
    known: dict[str, dict[str, Any]] = {
        "int8": {"quant_method": "bitsandbytes", "load_in_8bit": True},
        "int4": {"quant_method": "awq", "bits": 4, "group_size": 128},
        "nf4": {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
        "fp4": {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "fp4"},
        "mxfp4": {"quant_method": "mxfp4"},
    }
    if name not in known:
        raise ArchspecError(f"{name} is no way to store weights", help=did_you_mean(name, known))
    return scheme_of(known[name])


SCHEMES = ("int8", "int4", "nf4", "fp4", "mxfp4")  # by name, without a config


def scheme_of(given: Mapping[str, Any]) -> Scheme:
    """The scheme of a quantization_config. Errors: :class:`ArchspecError` for one that is not described."""
    method = str(given.get("quant_method", "bitsandbytes" if "load_in_4bit" in given else ""))
    readers: dict[str, Callable[[Mapping[str, Any]], Scheme]] = {
        "bitsandbytes": _bitsandbytes,
        "gptq": _gptq,
        "awq": _awq,
        "fp8": _fp8,
        "mxfp4": _mxfp4,
    }
    if method not in readers:
        message = (
            f"the bytes of weights that are quantized by {method or 'an unnamed method'} are not described"
        )
        raise ArchspecError(message, help=f"described: {', '.join(readers)}; a dtype is counted as it says")
    return readers[method](given)


def _bitsandbytes(given: Mapping[str, Any]) -> Scheme:
    skipped = given.get("llm_int8_skip_modules")
    if given.get("load_in_8bit"):
        return Scheme("int8", (LINEAR, CONV1D), int8_bytes, *_named(skipped))
    double = bool(given.get("bnb_4bit_use_double_quant"))
    kind = str(given.get("bnb_4bit_quant_type", "fp4"))
    name = f"{kind}, scales quantized" if double else kind
    if not given.get("load_in_4bit") or kind not in ("nf4", "fp4"):
        raise ArchspecError("bitsandbytes with neither load_in_8bit nor load_in_4bit is not described")
    kinds = (LINEAR, CONV1D)
    return Scheme(name, kinds, lambda shape, t: four_bit_bytes(shape, t, double), *_named(skipped))


def _gptq(given: Mapping[str, Any]) -> Scheme:
    bits, group = _bits(given), int(given.get("group_size", 128))
    if given.get("lm_head"):
        raise ArchspecError("gptq with lm_head is not described")
    if given.get("modules_in_block_to_quantize") or given.get("dynamic"):
        raise ArchspecError("gptq of chosen modules is not described")
    return Scheme(
        f"gptq, {bits} bits", (LINEAR,), lambda shape, t: grouped_bytes(shape, t, bits, group, True)
    )


def _awq(given: Mapping[str, Any]) -> Scheme:
    bits = _bits(given)
    group = int(given.get("group_size", given.get("q_group_size", 128)))
    skipped = tuple(given.get("modules_to_not_convert") or ())
    name = f"awq, {bits} bits"
    return Scheme(name, (LINEAR,), lambda shape, t: grouped_bytes(shape, t, bits, group, False), skipped)


def _bits(given: Mapping[str, Any]) -> int:
    bits = given.get("bits", given.get("w_bit"))
    if bits not in (4, 8):
        raise ArchspecError(f"weights of {bits} bits are not described", help="known: 4 and 8")
    return int(bits)


def _fp8(given: Mapping[str, Any]) -> Scheme:
    for name in ("modules_to_convert", "dequantize"):
        if given.get(name):
            raise ArchspecError(f"fp8 with {name} is not described")
    if given.get("expert_dtype", "fp8") != "fp8":
        raise ArchspecError(f"fp8 with experts in {given['expert_dtype']} is not described")
    blocks = given.get("weight_block_size", (128, 128))
    scale = 1 if given.get("scale_fmt") == "ue8m0" else 4
    static = given.get("activation_scheme") == "static"

    def bytes_of(shape: tuple[int, ...], transposed: bool) -> int:
        return block_bytes(shape, blocks, scale, static)

    return Scheme("fp8", (LINEAR, EXPERTS), bytes_of, *_named(given.get("modules_to_not_convert")))


def _mxfp4(given: Mapping[str, Any]) -> Scheme:
    if given.get("dequantize"):
        raise ArchspecError("mxfp4 with dequantize is not described", help="its weights are of the dtype")
    return Scheme("mxfp4", ("GptOssExperts",), mxfp4_bytes, *_named(given.get("modules_to_not_convert")))


def _named(skipped: Iterable[str] | None) -> tuple[tuple[str, ...], bool]:
    """The modules that are left out by name; where none are, those that transformers leaves out."""
    return tuple(skipped or ()), skipped is None


def left_out(scheme: Scheme, tree: Node, tensors: list[Tensor]) -> list[str]:
    """Patterns of the modules that stay as they are.

    Where none are named these are tied ones, the last one and the output embeddings, as transformers'
    `get_keys_to_not_convert` says; modules that are kept in float32 in any case.
    """
    names = [*scheme.skipped, *_kept(tree)]
    if scheme.defaults:
        parameters = [tensor for tensor in tensors if tensor.kind == "parameter"]
        ends = [end for one in parameters if one.tied_to for end in (one.name, one.tied_to)]
        last = [one.name for one in parameters if one.tied_to is None][-1:]
        names += [name.removesuffix(".weight") for name in (*ends, *last)] + output_embeddings(tree)
    return sorted({name for name in names if name})


def converted(name: str, patterns: Iterable[str]) -> bool:
    """Whether a module of that name is quantized: transformers' `should_convert_module`.

    >>> converted("layer.11.attn", ["layer.1"]), converted("model.lm_head", ["lm_head"])
    (True, False)
    """
    end = r"(?:(?<=\.)|(?=\.|$))"
    return not any(re.match(rf"(?:{one}){end}", name) or name.endswith(one) for one in patterns)


def _kept(tree: Node) -> list[str]:
    """What the classes in a tree keep in float32."""
    known = _kept_by_type()
    found: set[str] = set()

    def visit(node: Node) -> None:
        if node.scope is not None:
            found.update(known.get(node.scope.spec.model_type, ()))
        for child in node.children.values():
            visit(child)

    visit(tree)
    return sorted(found)


@cache
def _kept_by_type() -> dict[str, list[str]]:
    with open(os.path.join(folder(), KEPT), encoding="utf-8") as file:
        found: dict[str, list[str]] = json.load(file)
    return found
