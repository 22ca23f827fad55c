"""The type of each tensor of a GGUF file, as llama-quantize chooses it.

The rules are those of llama.cpp/src/llama-quant.cpp, written as data in formulas/gguf_types.json. `kept` are
names of tensors that are never quantized. Of `choices`, the first entry that fits the tensor applies: in each
of its `steps`, the first row [files, condition, type] that fits sets the type. The conditions read:

- `file` is the type of the whole file, `type` the type chosen so far, `category` the kind of tensor
- `columns`, `matrices` of the tensor; `fits` if its columns fill blocks of the file's default type
- `position` of the tensor among those of its category, `layer` that llama-quantize assigns to it
- `more_bits` for the layers that get more bits: the first and last eighth, and every third layer between
- `arch`, `layers`, `heads`, `key_value_heads`, `experts`, `gqa` and `is_70b` of the model
- `imatrix` if the user has an importance matrix
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from math import prod

from archspec.errors import ArchspecError, Place, Source
from archspec.language.evaluator import Evaluator
from archspec.language.expression import Expression, parse
from archspec.language.yaml_reader import Scalar
from archspec.specs.files import folder
from archspec.typing_light import Any, NamedTuple

_FILE = "gguf_types.json"
with open(os.path.join(folder(), _FILE), encoding="utf-8") as _text:
    _TABLE: dict[str, Any] = json.load(_text)
VERSION: str = _TABLE["version"]
BLOCKS: dict[str, list[int]] = _TABLE["types"]  # type -> elements and bytes of a block
STORED_BLOCKS = {  # number of a type in a file -> its name, elements and bytes of a block
    number: (name, *(BLOCKS | _TABLE["other_types"])[name]) for name, number in _TABLE["type_numbers"].items()
}
FILE_NUMBERS: dict[str, str] = _TABLE["numbers"]  # of general.file_type -> type of the file
FILES: dict[str, str] = _TABLE["files"]  # type of a file -> default type of its tensors
_SPELLINGS = {name.lower(): name for name in FILES}
_SPELLINGS |= {alias.lower(): name for alias, name in _TABLE["aliases"].items()}
_SHARED = {"f16", "bf16", "f32"}  # also spellings of dtypes: a file's type only in capitals
_CATEGORIES = [(re.compile(pattern), name) for pattern, name in _TABLE["categories"]]
_TENSOR_TYPES = [name for name in BLOCKS if name != "I32"]
_OPTIONS = {"--output-tensor-type": "output", "--token-embedding-type": "embedding"}
_FLAGS = {"--pure": "pure", "--leave-output-tensor": "leave_output", "--imatrix": "imatrix"}
_BY_NAME = "--tensor-type"
# Regular expressions that Python and C++ read in the same way.
_PATTERN = re.compile(r"(?!.*[(|^$*+?][*+?])(?:[\w.|()^$*+?-]|\\[.d]|\[\^?[\w.-]+\])+", re.ASCII)


class Recipe(NamedTuple):
    """A command line of llama-quantize."""

    file: str  # a name of FILES
    pure: bool = False  # all quantized tensors in the file's default type
    leave_output: bool = False  # output.weight is not quantized
    imatrix: bool = False  # an importance matrix is given, which changes some types
    output: str = ""  # the type of output.weight, or of tied embeddings
    embedding: str = ""  # the type of token embeddings
    by_name: tuple[tuple[str, str], ...] = ()  # patterns of names, each with the type; the first one applies

    def type_of(self, name: str) -> str:
        """Return the type that a pattern sets for a tensor; "" if none does."""
        return next((kind for pattern, kind in self.by_name if re.search(pattern, name)), "")


class Hyperparameters(NamedTuple):
    """The metadata of a file that the choice of types depends on; heads are those of the first layer."""

    arch: str  # llama.cpp's name
    layers: int
    heads: int
    key_value_heads: int
    experts: int


class FileTensor(NamedTuple):
    """A tensor of a GGUF file."""

    name: str
    sources: tuple[str, ...]  # transformers' names of the tensors that it is made of
    shape: tuple[int, ...]  # the outermost dimension first, as in torch
    type: str

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes of its blocks, without padding."""
        elements, size = BLOCKS[self.type]
        return self.numel // elements * size


def find_recipe(text: str) -> Recipe | None:
    """Return what a type of llama-quantize, with its options, stands for; None if it is not such a type.

    Case is ignored, except in F16, BF16 and F32: lowercase letters mean a dtype. Errors:
    :class:`ArchspecError` for an unknown option.

    >>> find_recipe("q4_k_m").file, find_recipe("Q4_0 --pure --token-embedding-type Q8_0").embedding
    ('Q4_K_M', 'Q8_0')
    >>> find_recipe("BF16").file, find_recipe("bf16"), find_recipe("nf4")
    ('BF16', None, None)
    """
    name, *words = text.split() or [""]
    file = _SPELLINGS.get(name.lower().removeprefix("gguf-").replace("-", "_"))
    if file is None or (name.lower() in _SHARED and name != file):
        return None
    given: dict[str, Any] = {}
    while words:
        option, equals, value = words.pop(0).partition("=")
        if option in _FLAGS and not equals:
            given[_FLAGS[option]] = True
            continue
        if option not in (*_OPTIONS, _BY_NAME):
            help_ = f"choose from: {', '.join([*_FLAGS, *_OPTIONS, _BY_NAME])}"
            raise ArchspecError(f"unknown option {option!r} of llama-quantize", help=help_)
        value = value or (words.pop(0) if words else "")
        pattern, _, kind = value.partition("=") if option == _BY_NAME else ("", "", value)
        if kind.upper() not in _TENSOR_TYPES:
            help_ = f"choose from: {', '.join(_TENSOR_TYPES)}"
            raise ArchspecError(f"{option} takes a type of tensors, not {kind!r}", help=help_)
        if option == _BY_NAME:
            entry = _check_pattern(pattern.lower()), kind.upper()
            given["by_name"] = (*given.get("by_name", ()), entry)
        else:
            given[_OPTIONS[option]] = kind.upper()
    return Recipe(file, **given)


def _check_pattern(pattern: str) -> str:
    with suppress(re.error):
        if _PATTERN.fullmatch(pattern) and re.compile(pattern):
            return pattern
    help_ = f"write {_BY_NAME} NAME=TYPE; NAME may contain . * + ? | ^ $ \\. \\d ( ) [ ]"
    raise ArchspecError(f"{pattern!r} is not a supported pattern of tensors' names", help=help_)


def choose_types(converted: Iterable[FileTensor], recipe: Recipe, model: Hyperparameters) -> list[FileTensor]:
    """Return tensors in the order and with the types that llama-quantize gives them.

    ``converted`` has the types of the unquantized file. Errors: :class:`ArchspecError` for shapes that
    llama-quantize refuses.
    """
    tensors = sorted(converted, key=lambda one: (_block_index(one.name), one.name))
    names = [one.name for one in tensors]
    counts, positions = Counter(map(_category, names)), Counter[str]()
    values: dict[str, Any] = {**model._asdict(), "imatrix": recipe.imatrix, "file": recipe.file}
    values["gqa"] = model.heads // model.key_value_heads if model.key_value_heads else 0
    values["is_70b"] = _is_true(_TABLE["sizes_70b"], values)
    values["tied"] = "output" not in counts
    found = []
    for one in tensors:
        if is_quantizable(one, model.arch) and not (recipe.leave_output and _category(one.name) == "output"):
            category = _category(one.name)
            if not (named := recipe.type_of(one.name)) and not recipe.pure:
                values |= _values_of(one, category, positions[category], counts, values)
            one = one._replace(type=_type(one, category, named, recipe, values))
            positions[category] += not named
        found.append(one)
    return found


def is_quantizable(one: FileTensor, arch: str) -> bool:
    """Return True if llama-quantize may change the type of a tensor."""
    if len(without_ones(one.shape)) < 2 or re.search("|".join(_TABLE["kept"]), one.name):
        return False
    pattern = _TABLE["kept_by_arch"].get(arch)
    return pattern is None or not re.search(pattern, one.name)


def without_ones(shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape as GGUF stores it: without outermost dimensions of 1.

    >>> without_ones((1, 1, 64)), without_ones((1,))
    ((64,), (1,))
    """
    while len(shape) > 1 and shape[0] == 1:
        shape = shape[1:]
    return tuple(shape)


def _type(one: FileTensor, category: str, named: str, recipe: Recipe, values: dict[str, Any]) -> str:
    default = FILES[recipe.file]
    stated = {"token_embd": recipe.embedding, "output": recipe.output}.get(category)
    if stated and not (named and one.name == "per_layer_token_embd.weight"):
        if one.shape[-1] % BLOCKS[stated][0]:
            message = f"{one.name} has {one.shape[-1]} columns, which do not fill blocks of {stated}"
            raise ArchspecError(message, help="choose another type for this tensor")
        return stated
    if BLOCKS[default][0] == 1:
        return default
    is_output = category == "output" or (category == "token_embd" and values["tied"])
    if named or recipe.pure:
        chosen = named or default
    elif is_output and recipe.output:
        chosen = recipe.output
    else:
        chosen = _choose(values | {"category": "output" if is_output else category, "type": default})
    return _fit(one, chosen)


def _values_of(
    one: FileTensor, category: str, position: int, counts: Counter[str], values: dict[str, Any]
) -> dict[str, Any]:
    """Return the values that conditions read of one tensor."""
    layers = counts[category] if category == "attn_v" else values["layers"]
    layer = position
    if category.startswith("ffn_") and values["experts"] > 1:
        layer = _block_index(one.name)
        if not 0 <= layer < layers:
            raise ArchspecError(f"llama-quantize refuses {one.name}: it is not in one of {layers} layers")
    return {
        "name": one.name,
        "position": position,
        "layer": layer,
        "matrices": one.shape[-3] if len(one.shape) > 2 else 1,
        "fits": one.shape[-1] % BLOCKS[FILES[values["file"]]][0] == 0,
        "more_bits": layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2,
        "precise": re.search(r"attn_q_[ab]|nextn\.eh_proj", one.name) is not None,
    }


def _choose(values: dict[str, Any]) -> str:
    """Return the type that the first entry of `choices` that fits gives."""
    for entry in _TABLE["choices"]:
        tensors, files = entry.get("tensors", "*"), entry.get("files", "*")
        if not (_lists(tensors, values["category"]) and _lists(files, values["file"])):
            continue
        if not _is_true(entry.get("if", ""), values):
            continue
        for step in entry["steps"]:
            rows = (row[2] for row in step if _lists(row[0], values["file"]) and _is_true(row[1], values))
            values["type"] = next(rows, values["type"])
        break
    return str(values["type"])


def _fit(one: FileTensor, chosen: str) -> str:
    """Return the type, or the one that llama-quantize falls back to if columns do not fill its blocks."""
    if one.shape[-1] % BLOCKS[chosen][0] == 0:
        return chosen
    if chosen not in _TABLE["fallbacks"] and BLOCKS[chosen][0] > 32:
        message = f"refuses {one.name}: its {one.shape[-1]} columns do not fill blocks of {chosen}"
        raise ArchspecError(f"llama-quantize {message}", help="choose another type, such as Q4_0")
    other = _TABLE["fallbacks"].get(chosen, chosen)
    return other if one.shape[-1] % BLOCKS[other][0] == 0 else "F16"


def _block_index(name: str) -> int:
    found = re.match(r"blk\.(\d+)\.", name)
    return int(found[1]) if found else -1


def _category(name: str) -> str:
    return next((category for pattern, category in _CATEGORIES if pattern.search(name)), "other")


def _lists(names: str, name: str) -> bool:
    return names == "*" or name in names.split()


def _is_true(condition: str, values: dict[str, Any]) -> bool:
    return not condition or bool(Evaluator().evaluate(expression(condition), values))


@cache
def expression(text: str) -> Expression:
    """Return an expression of the data files."""
    return parse(Scalar(text, Place(Source(_FILE, text), 1, 1), False, text))
