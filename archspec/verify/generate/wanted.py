"""What the conditions of a spec want of its fields: numbers, lengths, types of sub-configs, fields within
them.
"""

from __future__ import annotations

import ast

from archspec.language.expression import names
from archspec.specs.records import Spec
from archspec.specs.references import conditions, expressions, reads
from archspec.verify.generate.sampling import EDGES


def above_zero(tree: ast.expr) -> set[str]:
    """The names that a condition wants above zero."""
    found: set[str] = set()
    for node in ast.walk(tree):
        bound = (
            (type(node.ops[0]), ast.unparse(node.comparators[0])) if isinstance(node, ast.Compare) else None
        )
        if isinstance(node, ast.Compare) and bound in ((ast.Gt, "0"), (ast.GtE, "1")):
            found |= names(node.left) | {
                part.attr for part in ast.walk(node.left) if isinstance(part, ast.Attribute)
            }
    return found


def parts_read(spec: Spec) -> dict[str, list[str]]:
    """Of each sub-config: the fields that the spec reads."""
    found: dict[str, list[str]] = {}
    for node in (node for expression in expressions(spec) for node in ast.walk(expression.tree)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr != "get":
            found.setdefault(node.value.id, []).append(node.attr)
    return found


def parts_above_zero(spec: Spec, parts: dict[str, list[str]]) -> dict[str, list[str]]:
    """Of each sub-config: those of the fields that are read which a condition wants above zero."""
    above = set[str]().union(*(above_zero(condition.tree) for condition in conditions(spec)))
    found = {part: [name for name in read if name in above] for part, read in parts.items()}
    return {part: read for part, read in found.items() if read}


def constants(spec: Spec) -> dict[str, list[int]]:
    """Of each field: the numbers that conditions have it with, and one more than each (`d_model // 2 !=
    1`).
    """
    found: dict[str, set[int]] = {}
    for condition in conditions(spec):
        for node in (node for node in ast.walk(condition.tree) if isinstance(node, ast.Compare)):
            numbers = {
                part.value
                for part in ast.walk(node)
                if isinstance(part, ast.Constant) and type(part.value) is int
            }
            for name in names(node):
                near = {number for one in numbers for number in (one, one + 1) if number > 0}
                found.setdefault(spec.attribute_map.get(name, name), set()).update(near - {*EDGES})
    return {name: sorted(numbers) for name, numbers in found.items()}


def lengths(spec: Spec) -> dict[str, list[int]]:
    """Of each list: how long a condition wants it (`len(out_indices) == 4`)."""
    found: dict[str, list[int]] = {}
    for node in (node for condition in conditions(spec) for node in ast.walk(condition.tree)):
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Call)
            and ast.unparse(node.left.func) == "len"
        ):
            listed, wanted = node.left.args[0], getattr(node.comparators[0], "value", None)
            if isinstance(listed, ast.Name) and type(wanted) is int and wanted > 0:
                found.setdefault(listed.id, []).append(wanted)
    return found


def asked(spec: Spec) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Of each sub-config: the texts that its `model_type` is compared with, and what `.get("name")` asks
    it for.
    """
    types: dict[str, list[str]] = {}
    gets: dict[str, list[str]] = {}
    for node in (node for expression in expressions(spec) for node in ast.walk(expression.tree)):
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Attribute)
            and node.left.attr == "model_type"
        ):
            texts = [
                part.value
                for part in ast.walk(node)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            types.setdefault(ast.unparse(node.left.value), []).extend(texts)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            name, whole = node.args[0], node.func.value
            given = [
                call.args[0]
                for call in ast.walk(whole)
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "given"
            ]
            for part in [
                ast.unparse(whole),
                *(str(one.value) for one in given if isinstance(one, ast.Constant)),
            ]:
                gets.setdefault(part, []).extend([str(name.value)] if isinstance(name, ast.Constant) else [])
    return types, gets


def given_names(spec: Spec) -> list[str]:
    """The names under which given() looks for a field."""
    return sorted(
        {name for one in expressions(spec) for name in reads(one.tree) - names(one.tree) if "." not in name}
    )
