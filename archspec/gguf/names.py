"""The tensors of a GGUF file before quantization: llama.cpp's names, and transformers' tensors in each.

formulas/gguf.json records what llama.cpp's converter does with the tensors of each class. A name without its
indices, such as `model.layers.{}.mlp.down_proj.weight`, has a list of outputs: the name in the file, and its
shape unless it is the same, as expressions in the sizes `d0`, `d1`, ... of the tensor, the number `n` of
tensors that are stacked, and fields of the config. An empty list is a tensor that the converter drops.
`metadata` are expressions in the config's fields; `has_attention` is true if the first layer has attention.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.gguf.types import FileTensor, Hyperparameters, expression, without_ones
from archspec.language.expression import EvaluationError
from archspec.specs.files import folder
from archspec.tree.tensors import Tensor
from archspec.typing_light import Any

_HELP = "choose a weight format that is not llama.cpp's, such as nf4; formulas/gguf.json lists the classes"
_ROPE_KEYS = ("rope_parameters", "rope_scaling")


@cache
def _table() -> dict[str, Any]:
    with open(os.path.join(folder(), "gguf.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def convert_tensors(
    scope: Scope, architecture: str, tensors: Iterable[Tensor], dtype: str
) -> tuple[list[FileTensor], Hyperparameters]:
    """Return the tensors that llama.cpp's converter writes for a model, and the metadata that matters.

    ``dtype`` is the GGUF type of matrices, such as F16. Errors: :class:`ArchspecError` for a class that
    llama.cpp does not support, or a model whose conversion was not validated.
    """
    row = _table()["classes"].get(architecture)
    if row is None:
        raise ArchspecError(f"llama.cpp's formats are not supported for {architecture}", help=_HELP)
    sources: dict[str, list[Tensor]] = {}
    outputs: dict[str, list[str]] = {}
    for one in tensors:
        if one.tied_to is None:
            for name, *rest in _outputs(one.name, row, architecture):
                sources.setdefault(name, []).append(one)
                outputs.setdefault(name, rest)
    found = [_file_tensor(name, sources[name], outputs[name], scope, dtype) for name in sources]
    found += _generated_tensors(row, scope, architecture)
    has_attention = any(re.match(r"blk\.0\.attn_(q|k|qkv)\.weight", one.name) for one in found)
    known = {"has_attention": has_attention, "nextn": _predicted_layers(scope.raw, row)}
    sizes = {key: _evaluate(scope, text, known) for key, text in row["metadata"].items()}
    return found, Hyperparameters(row["arch"], **sizes)


def _outputs(name: str, row: Mapping[str, Any], architecture: str) -> Iterator[list[str]]:
    """Yield the name in the file, and the rest of the rule, for each output of a tensor."""
    parts = name.split(".")
    places = [place for place, part in enumerate(parts) if part.isdecimal()]
    indices = [parts[place] for place in places]
    known = _table()["rules"][row["rules"]]
    rules = known.get(_template(parts, places), known.get(_template(parts, places[:1])))
    if rules is None:
        message = f"the conversion of {name} of {architecture} to GGUF is not supported"
        raise ArchspecError(message, help=_HELP)
    for target, *rest in rules:
        yield [target.format(*indices), *rest]


def _template(parts: Sequence[str], places: Sequence[int]) -> str:
    return ".".join("{}" if place in places else part for place, part in enumerate(parts))


def _file_tensor(name: str, sources: list[Tensor], rule: list[str], scope: Scope, dtype: str) -> FileTensor:
    first = sources[0].shape
    shape = tuple(first)
    if rule and rule[0] == "squeezed":
        shape = tuple(size for size in first if size != 1)
    elif rule and rule[0]:
        values = {f"d{index}": size for index, size in enumerate(first)} | {"n": len(sources)}
        shape = tuple(_evaluate(scope, text, values) for text in rule[0].split(", "))
    elif len(sources) > 1:
        raise ArchspecError(f"{name} is made of several tensors: not supported", help=_HELP)
    is_small = len(shape) < 2 or name.endswith("_norm.weight") or not name.endswith(".weight")
    own = rule[1] if len(rule) > 1 else "F32" if is_small else dtype
    return FileTensor(name, tuple(one.name for one in sources), without_ones(shape), own)


def _generated_tensors(row: Mapping[str, Any], scope: Scope, architecture: str) -> Iterator[FileTensor]:
    """Yield the tensors that the converter computes from the config: factors of rotary embeddings."""
    rope = _rope_parameters(scope.raw) or row.get("rope", {})
    kind = rope.get("rope_type") or rope.get("type") or ""
    if kind not in ("", "default", *row["ropes"]):
        message = f"the conversion of {architecture} with rotary embeddings of type {kind!r} is not supported"
        raise ArchspecError(message, help=_HELP)
    known = {"rope_type": kind, "factors": len(rope.get("long_factor") or ())}
    for name, condition, size in row.get("generated", ()):
        if _evaluate(scope, condition, known):
            yield FileTensor(name, (), (_evaluate(scope, size, known),), "F32")


def _predicted_layers(raw: Mapping[str, Any], row: Mapping[str, Any]) -> Any:
    """Return the number of layers for multi-token prediction, which transformers does not build."""
    key = "num_nextn_predict_layers"
    part = raw.get("text_config")
    return (part.get(key) if isinstance(part, Mapping) else None) or raw.get(key, row.get("nextn", 0)) or 0


def _rope_parameters(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of rotary embeddings, of layers with full attention if they depend on layers."""
    parts = [part for part in (raw.get("text_config"), raw) if isinstance(part, Mapping)]
    given = (part.get(key) for part in parts for key in _ROPE_KEYS)
    found = next((one for one in given if isinstance(one, Mapping)), {})
    own = found.get("full_attention", found)
    return own if isinstance(own, Mapping) else {}


def _evaluate(scope: Scope, text: str, values: dict[str, Any]) -> int:
    try:
        found = scope.evaluate(expression(text), values)
    except EvaluationError as error:
        raise ArchspecError(f"a size of the GGUF file is unknown: {error.message}", help=_HELP) from None
    if not isinstance(found, int):
        raise ArchspecError(f"a size of the GGUF file is unknown: {text}", help=_HELP)
    return found
