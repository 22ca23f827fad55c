"""The parameters that transformers keeps in float32 in a model of 16 bits.

For a model type formulas/kept_in_float32.json lists patterns of names: under ``float16`` those of its
classes' `_keep_in_fp32_modules`, under ``16-bit`` those of `_keep_in_fp32_modules_strict`, and under
``always`` parameters that are built in float32 whatever the dtype is. Source: `from_pretrained` in
transformers/modeling_utils.py and core_model_loading.py.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache

from archspec.specs.library import folder
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, joined

KEPT = "kept_in_float32.json"
HALF, STRICT, ALWAYS = "float16", "16-bit", "always"
_LISTS = {"float16": (HALF, STRICT, ALWAYS), "bfloat16": (STRICT, ALWAYS)}  # those that apply, by dtype


def kept_in_float32(tree: Node, tensors: list[Tensor], dtype: str) -> frozenset[str]:
    """The names of a model's parameters that transformers loads in float32 although the dtype has 16 bits."""
    patterns = [one for name in _LISTS.get(dtype, ()) for one in listed(tree, name)]
    if not patterns:
        return frozenset()
    any_of = re.compile("|".join(one.replace("*", ".*") for one in patterns))
    return frozenset(one.name for one in tensors if one.kind == "parameter" and any_of.search(one.name))


def listed(tree: Node, name: str) -> list[str]:
    """The patterns in one list of the classes in a tree."""
    known = _by_type()
    types = {node.scope.spec.model_type for _, node in named_modules(tree) if node.scope is not None}
    return sorted({pattern for one in types for pattern in known.get(one, {}).get(name, ())})


def named_modules(node: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """Every module with its path, torch layers included, as torch's `named_modules()`."""
    yield prefix, node
    for name, child in node.children.items():
        yield from named_modules(child, joined(prefix, name))


@cache
def _by_type() -> dict[str, dict[str, list[str]]]:
    with open(os.path.join(folder(), KEPT), encoding="utf-8") as file:
        found: dict[str, dict[str, list[str]]] = json.load(file)
    return found
