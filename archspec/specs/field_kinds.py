"""What kind of values a field has, as far as its declaration and its name tell."""

from __future__ import annotations

import ast
from typing import Any

from archspec.errors import UnknownArchitectureError
from archspec.language.trees import callee
from archspec.specs.records import CONFIGS, Field, SpecLibrary

DEEP = ("layer", "depth", "block")
WIDE = "image_size"  # drawn small: tables of every patch may be made in Python


def branches(library: SpecLibrary, field: Field, sole: bool = False) -> list[str]:
    """The counted model types between which a sub-config's own default chooses; ``sole``: or the only one."""
    tree = field.default.tree if field.default else None
    first = tree.args[0] if isinstance(tree, ast.Call) and tree.args else None
    both = (first.body, first.orelse) if isinstance(first, ast.IfExp) else ()
    types = [str(branch.value) for branch in both if isinstance(branch, ast.Constant)]
    if sole and callee(tree) in CONFIGS and isinstance(first, ast.Name):
        types.append(first.id)
    return [model_type for model_type in types if not library.load(model_type).refuse]


def part_types(library: SpecLibrary, field: Field) -> list[str]:
    """The model types between which a sub-config's default chooses, those that are described."""
    try:
        return branches(library, field, sole=True)
    except UnknownArchitectureError:
        return []


def kinds_of(field: Field) -> set[str]:
    return {kind.partition("[")[0] for kind in field.types}


def is_deep(name: str) -> bool:
    return any(part in name for part in DEEP)


def runs(items: list[Any]) -> bool:
    """Whether each item is a pair of texts and of how often they repeat."""
    pairs = all(isinstance(item, list) and len(item) == 2 for item in items)
    return bool(items) and pairs and all(isinstance(item[0], list) and type(item[1]) is int for item in items)


def ints(items: list[Any]) -> bool:
    return bool(items) and all(type(item) is int for item in items)
