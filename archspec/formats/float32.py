"""The parameters that transformers keeps in float32 in a model of 16 bits.

The key `keep_in_float32` of a spec lists patterns of names: under ``float16`` those of its classes'
`_keep_in_fp32_modules`, under ``16-bit`` those of `_keep_in_fp32_modules_strict`, and under ``always``
parameters that are built in float32 whatever the dtype is. Source: `from_pretrained` in
transformers/modeling_utils.py and core_model_loading.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, joined

_LISTS = {"float16": ("float16", "16-bit", "always"), "bfloat16": ("16-bit", "always")}  # by dtype


def kept_in_float32(tree: Node, tensors: list[Tensor], dtype: str) -> frozenset[str]:
    """Return the names of a model's parameters that transformers loads in float32 in a 16-bit model."""
    patterns = [one for name in _LISTS.get(dtype, ()) for one in listed(tree, name)]
    if not patterns:
        return frozenset()
    any_of = re.compile("|".join(one.replace("*", ".*") for one in patterns))
    return frozenset(one.name for one in tensors if one.kind == "parameter" and any_of.search(one.name))


def listed(tree: Node, name: str) -> list[str]:
    """Return the patterns in one list of the model types in a tree."""
    specs = {one.scope.spec.model_type: one.scope.spec for _, one in named_modules(tree) if one.scope}
    return sorted({pattern for spec in specs.values() for pattern in spec.keep_in_float32.get(name, ())})


def named_modules(node: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
    """Yield every module with its path, torch layers included, as torch's `named_modules()`."""
    yield prefix, node
    for name, child in node.children.items():
        yield from named_modules(child, joined(prefix, name))
