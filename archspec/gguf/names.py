"""The tensors of a GGUF file before quantization: llama.cpp's names, and transformers' tensors in each.

formulas/gguf.json records what llama.cpp's converter does with the tensors of each class. A name without its
indices, such as `model.layers.{}.mlp.down_proj.weight`, has a list of outputs: the name in the file, and its
shape unless it is the same, as expressions in the sizes `d0`, `d1`, ... of the tensor, the number `n` of
tensors that are stacked, and fields of the config. An empty list is a tensor that the converter drops.
`metadata` are expressions, too; `has_attention` is true if the first layer has attention. `usual` are values
of the default config for :func:`stated_values`. `ropes` are the validated types of rotary embeddings.
`predicts` is the largest number of layers for multi-token prediction. `unsupported` are conditions of configs
that llama.cpp rejects.
`metadata_bytes` are conditions, each with a constant and the bytes for each layer; null if they are unknown.
They are also unknown if one of the `keys` that the converter reads, or a type of rotary embeddings, is not
among `recorded`, if a key that is null is not among `nullable`, or if not all `nulls` are null, or not all
`stated` keys are stated. Each class has its `keys`, in addition to those of all classes. `rope_keys` are
those of the default rotary embeddings.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError
from archspec.gguf.types import FileTensor, Hyperparameters, expression, without_ones
from archspec.language.expression import EvaluationError
from archspec.specs.files import folder
from archspec.tree.tensors import Tensor
from archspec.typing_light import Any, NamedTuple

_Json = Mapping[str, Any]
_HELP = "choose a weight format that is not llama.cpp's, such as nf4; formulas/gguf.json lists the classes"
_STATED = {  # keys of configs, the names of their values, and the values of null
    "classifier_pooling": ("pooling", ""),
    "num_nextn_predict_layers": ("nextn", 0),
    "pad_token_id": ("padding", -1),
}
UNSTATED: dict[str, Any] = {"rope_type": "", "keys": [], "factors": 0, "text": "", **dict(_STATED.values())}


@cache
def _table() -> dict[str, Any]:
    with open(os.path.join(folder(), "gguf.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


class Converted(NamedTuple):
    """A file before quantization; the bytes of its metadata are without names and vocabulary, if known."""

    tensors: list[FileTensor]
    metadata: Hyperparameters
    metadata_bytes: int | None
    leaves_out_prediction: bool  # checkpoints may have layers for multi-token prediction, which it lacks


def convert_tensors(scope: Scope, architecture: str, tensors: Iterable[Tensor], dtype: str) -> Converted:
    """Return the tensors that llama.cpp's converter writes for a model, and the metadata that matters.

    ``dtype`` is the GGUF type of matrices, such as F16. Errors: :class:`ArchspecError` for a class that
    llama.cpp does not support, or a model whose conversion was not validated.
    """
    row = _table()["classes"].get(architecture)
    if row is None:
        raise ArchspecError(f"llama.cpp's formats are not supported for {architecture}", help=_HELP)
    values = UNSTATED | row["usual"] | (given := stated_values(scope.raw))
    values["keys"] += row.get("rope_keys", []) if "rope_type" not in given else []
    _check_validated(row, values, architecture, scope)
    sources: dict[str, list[Tensor]] = {}
    rules: dict[str, list[str]] = {}
    for one in tensors:
        if one.tied_to is None:
            for name, *rule in _outputs(one.name, row, architecture):
                sources.setdefault(name, []).append(one)
                rules.setdefault(name, rule)
    found = [_file_tensor(name, sources[name], rules[name], scope, dtype, values) for name in sources]
    for name, condition, size in row.get("generated", ()):
        if evaluate(scope, condition, values):
            found.append(FileTensor(name, (), (_size(scope, size, values),), "F32"))
    values["has_attention"] = any(map(re.compile(r"blk\.0\.attn_(q|k|qkv)\.weight").match, sources))
    counts = {key: f"({text}) or 0" if key == "experts" else text for key, text in row["metadata"].items()}
    sizes = {key: _size(scope, text, values) for key, text in counts.items()}
    model = Hyperparameters(row["arch"], **sizes)
    reads, stated = {*_table()["keys"], *row.get("keys", ())}, {*values["keys"]}
    nulls = reads & null_fields(scope)
    is_known = reads & stated | {values["rope_type"]} <= {"", *row.get("recorded", ())}
    is_known &= {*row.get("nulls", ())} <= nulls <= {*row.get("nullable", ())}
    is_known &= {*row.get("stated", ())} <= stated
    entries = [one for one in row["metadata_bytes"] or () if not one[0] or evaluate(scope, one[0], values)]
    size = sum(constant + each * model.layers for _, constant, each in entries) if is_known else 0
    return Converted(found, model, size or None, bool(values["nextn"] or row.get("predicts_always")))


def stated_values(raw: _Json) -> dict[str, Any]:
    """Return values that a config states and that the converter reads, in addition to the fields of specs."""
    found: dict[str, Any] = {}
    part = (raw.get("thinker_config") or raw).get("text_config")
    if isinstance(part, Mapping):
        raw, found["text"] = {**raw, **part}, next(iter(part.get("architectures") or ()), "")
    rope = next((raw[key] for key in ("rope_parameters", "rope_scaling") if raw.get(key)), None)
    parts = [raw]
    if isinstance(rope, Mapping):
        parts += [rope, rope := rope.get("full_attention") or rope]
        kind = rope.get("rope_type") or rope.get("type")
        found["rope_type"] = "" if kind in (None, "default", "mrope") else kind
        found["factors"] = len(rope.get("long_factor") or ())
    found["keys"] = [key for one in parts for key, value in one.items() if value is not None]
    for key in raw.keys() & _STATED:
        name, null = _STATED[key]
        found[name] = null if raw[key] is None else raw[key]
    return found


def null_fields(scope: Scope) -> set[str]:
    """Return the fields of a config that are null."""
    fields = scope.spec.fields.items()
    nullable = {name for name, field in fields if "None" in field.types or scope.raw.get(name, 0) is None}
    part = scope.get("text_config") if "text_config" in scope.spec.fields else None
    found = null_fields(part.scope) if isinstance(part, SubConfig) else set[str]()
    return found | {name for name in nullable if scope.raw.get(name, 0) is None or scope.get(name) is None}


def _check_validated(row: _Json, values: dict[str, Any], name: str, scope: Scope) -> None:
    problem, text = "", values["text"]  # the class that the converter prefers
    if text and _table()["classes"].get(text, {}).get("arch") != row["arch"]:
        problem = f"with text_config.architectures {values['text']}"
    elif values["rope_type"] not in ("", *row["ropes"]):
        problem = f"with rotary embeddings of type {values['rope_type']!r}"
    elif values["nextn"] > row["predicts"]:
        problem = f"with num_nextn_predict_layers {values['nextn']}"
    else:
        conditions = row.get("unsupported", {}).items()
        problem = next((text for text, condition in conditions if evaluate(scope, condition, values)), "")
    if problem:
        way = f"state {problem.split()[1]} in the config, or " if problem.startswith("without") else ""
        raise ArchspecError(f"llama.cpp's formats are not supported for {name} {problem}", help=way + _HELP)


def _outputs(name: str, row: _Json, architecture: str) -> Iterator[list[str]]:
    """Yield the name in the file, and the rest of the rule, for each output of a tensor."""
    parts = name.split(".")
    places = [place for place, part in enumerate(parts) if part.isdecimal()]
    indices = [parts[place] for place in places]
    known = _table()["rules"][row["rules"]]
    rules = known.get(template(parts, places), known.get(template(parts, places[:1])))
    if rules is None:
        raise ArchspecError(f"the conversion of {name} of {architecture} to GGUF is unsupported", help=_HELP)
    for target, *rest in rules:
        yield [target.format(*indices), *rest]


def template(parts: Sequence[str], places: Sequence[int]) -> str:
    """Return a name without the indices at some places."""
    return ".".join("{}" if place in places else part for place, part in enumerate(parts))


def _file_tensor(
    name: str, sources: list[Tensor], rule: list[str], scope: Scope, dtype: str, values: dict[str, Any]
) -> FileTensor:
    shape = tuple(sources[0].shape)
    if rule and rule[0] == "squeezed":
        shape = tuple(size for size in shape if size != 1)
    elif rule and rule[0]:
        sizes = {f"d{index}": size for index, size in enumerate(shape)} | {"n": len(sources)}
        shape = tuple(_size(scope, text, values | sizes) for text in rule[0].split("; "))
    if 0 in shape:
        raise ArchspecError(f"llama.cpp's formats are not supported for {name} without elements", help=_HELP)
    if len(sources) > 1 and not rule:
        raise ArchspecError(f"{name} is made of several tensors: not supported", help=_HELP)
    own = rule[1] if len(rule) > 1 else usual_type(name, shape, dtype)
    return FileTensor(name, tuple(one.name for one in sources), without_ones(shape), own)


def usual_type(name: str, shape: Sequence[int], dtype: str) -> str:
    """Return the type of most tensors: F32 for vectors and norms."""
    is_small = len(shape) < 2 or name.endswith("_norm.weight") or not name.endswith(".weight")
    return "F32" if is_small else dtype


def evaluate(scope: Scope, text: str, values: dict[str, Any]) -> Any:
    """Return the value of an expression. Errors: :class:`ArchspecError`."""
    try:
        return scope.evaluate(expression(text), values)
    except EvaluationError as error:
        raise ArchspecError(f"a size of the GGUF file is unknown: {error.message}", help=_HELP) from None


def _size(scope: Scope, text: str, values: dict[str, Any]) -> int:
    if not isinstance(found := evaluate(scope, text, values), int):
        raise ArchspecError(f"a size of the GGUF file is unknown: {text}", help=_HELP)
    return found
