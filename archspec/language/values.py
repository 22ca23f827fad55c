"""The types of config values, and how values read in messages."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from archspec.errors import list_names
from archspec.typing_light import Any

MAX_INT = 2**63 - 1
LAYERS = "layers"
_NAMES = {"dict": "mapping", "tuple": "list", "Node": "module"}
_NAMES |= {"Scope": "sub-config", "SubConfig": "sub-config"}
_PHRASES = {  # one value of a kind, and several
    "int": ("an integer", "integers"),
    "float": ("a float", "floats"),
    "number": ("a number", "numbers"),
    "bool": ("true or false", "true or false"),
    "str": ("a string", "strings"),
    "list": ("a list", "lists"),
    "dict": ("a mapping", "mappings"),
    "None": ("null", "null"),
    "any": ("any value", "any values"),
    LAYERS: ("a mapping", "mappings"),
}
KINDS: dict[str, tuple[type, ...]] = {
    **{kind.__name__: (kind,) for kind in (int, float, bool, str)},
    "list": (list, tuple),
    "dict": (dict, Mapping),
    "None": (type(None),),
    "any": (object,),
    LAYERS: (Mapping,),  # fields of single layers, by the layer's index: layers[head_dim]
}


def value_of(value: Any) -> Any:
    """Return the value of a symbolic number, to check its type or print it; any other value unchanged.

    Never decide on the result: a symbolic number records the decisions on itself.
    """
    return getattr(value, "value", value)


def has_kind(value: Any, kinds: Iterable[str]) -> bool:
    """Return True for a value of one of the kinds; booleans are not numbers, and items of lists are checked.

    >>> has_kind(True, ("int",)), has_kind([1, 2], ("list[int]",)), has_kind([1, "a"], ("list[int]",))
    (False, True, False)
    """
    value = value_of(value)
    for kind in kinds:
        base, _, inner = kind.partition("[")
        fits = isinstance(value, KINDS[base]) and (not isinstance(value, bool) or base in ("bool", "any"))
        wanted = parse_kinds(inner[:-1]) if inner and base != LAYERS else ()
        if fits and (not wanted or all(has_kind(item, wanted) for item in value)):
            return True
    return False


def parse_kinds(text: str) -> tuple[str, ...]:
    """Return the kinds of a written type; nothing for a text that is not a type.

    >>> parse_kinds("int | list[int | None]"), parse_kinds("list[size]"), parse_kinds("layers[head_dim]")
    (('int', 'list[int | None]'), (), ('layers[head_dim]',))
    """
    kinds, depth, start = [], 0, 0
    for position, letter in enumerate(f"{text}|"):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "|" and not depth:
            kinds.append(text[start:position].strip())
            start = position + 1
    for kind in kinds:
        base, bracket, inner = kind.partition("[")
        whole = not bracket or (kind.endswith("]") and (base == LAYERS or parse_kinds(inner[:-1])))
        if base not in KINDS or not whole:
            return ()
    return tuple(kinds)


def kind_of(value: Any) -> str:
    """Return the kind of a default's value; '' for a value that configs cannot have."""
    value = value_of(value)
    named = (name for name, types in KINDS.items() if name != "any" and isinstance(value, types))
    return "bool" if isinstance(value, bool) else next(named, "")


def numbers(value: Any) -> list[Any]:
    """Return the numbers in a value, also those of lists within lists."""
    if isinstance(value, list | tuple):
        return [number for item in value for number in numbers(item)]
    kind = type(value_of(value))
    return [value] if issubclass(kind, int | float) and kind is not bool else []


def has_negative(tree: ast.expr) -> bool:
    """Return True for an expression with a negative number: `-1`, `[-1] * 25`, not an index `sizes[-1:]`."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return isinstance(tree.operand, ast.Constant) or has_negative(tree.operand)
    if isinstance(tree, ast.Subscript):  # an index counts from the end
        return has_negative(tree.value)
    return any(has_negative(child) for child in ast.iter_child_nodes(tree) if isinstance(child, ast.expr))


def without_tuple(value: Any) -> Any:
    """Return a tuple as a list."""
    return list(value) if isinstance(value, tuple) else value


def short_repr(value: Any) -> str:
    """Return a value as short text for a message."""
    from reprlib import repr as short

    return _cut(short(value))


def _cut(text: str) -> str:
    return text if len(text) < 60 else text[:57] + "..."


def describe(value: Any) -> str:
    """Return a value's kind, for messages.

    >>> describe(None), describe(True), describe([1])
    ('null', 'true', 'a list')
    """
    value = value_of(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    name = type(value).__name__
    if name not in ("int", "float", "str"):
        return f"a {_NAMES.get(name, name.lower())}"
    text = "too large" if name == "int" and value.bit_length() >= 4_096 else repr(value)
    return f"the {'string' if name == 'str' else 'number'} {_cut(text)}"


def names_of(kinds: Iterable[str]) -> str:
    """Return kinds of values as a phrase.

    >>> names_of(["int", "None"]), names_of(["list[str]"]), names_of(["float", "int"])
    ('an integer or null', 'a list of strings', 'a number')
    """
    kinds = [*kinds]
    if {"int", "float"} <= {*kinds}:
        kinds = ["number", *(kind for kind in kinds if kind not in ("int", "float"))]
    return list_names([_name_of(kind) for kind in kinds])


def _name_of(kind: str) -> str:
    base, _, inner = kind.partition("[")
    if base != "list" or not inner:
        return _PHRASES[base][0]
    return f"a list of {list_names([_PHRASES[one.partition('[')[0]][1] for one in parse_kinds(inner[:-1])])}"
