"""What kind of values a field has, as far as its declaration and its name tell."""

from __future__ import annotations

import ast

from archspec.errors import UnknownArchitectureError
from archspec.language.trees import callee
from archspec.specs.records import CONFIGS, Field, SpecLibrary

DEEP = ("layer", "depth", "block")
WIDE = "image_size"  # drawn small: tables of every patch may be made in Python


def part_types(library: SpecLibrary, field: Field) -> list[str]:
    """The model types between which a sub-config's default chooses, or the only one, if counted."""
    tree = field.default.tree if field.default else None
    first = tree.args[0] if isinstance(tree, ast.Call) and tree.args else None
    both = (first.body, first.orelse) if isinstance(first, ast.IfExp) else ()
    types = [str(branch.value) for branch in both if isinstance(branch, ast.Constant)]
    if callee(tree) in CONFIGS and isinstance(first, ast.Name):
        types.append(first.id)
    try:
        return [model_type for model_type in types if not library.load(model_type).refuse]
    except UnknownArchitectureError:  # not described yet
        return []


def kinds_of(field: Field) -> set[str]:
    return {kind.partition("[")[0] for kind in field.types}


def is_deep(name: str) -> bool:
    return any(part in name for part in DEEP)
