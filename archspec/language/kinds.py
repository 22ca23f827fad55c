"""The kinds of values that an expression can have, from its text and the kinds of its names alone.

A kind is "int", "float", "bool", "null", "text", "list" or "unknown". An expression has a set of kinds:
`a if c else b` has those of both.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import NamedTuple

from archspec.typing_light import Any

_BY_NAME = {  # functions whose result has one kind, whatever they take
    **dict.fromkeys(("len", "int", "ceil", "floor", "nth_prime"), "int"),
    **dict.fromkeys(("float", "sqrt", "log", "log2"), "float"),
    **dict.fromkeys(("bool", "any", "all", "is_list", "is_int"), "bool"),
    "str": "text",
}
_METHODS = {
    **dict.fromkeys(("startswith", "endswith"), "bool"),
    **dict.fromkeys(("lower", "strip"), "text"),
    **dict.fromkeys(("index", "count"), "int"),
}
_LISTS = ("list", "tuple", "reversed", "sorted", "set")


class Kinds(NamedTuple):
    """The kinds that a value can have; ``items`` are those of a list's items."""

    kinds: frozenset[str]
    items: frozenset[str] = frozenset()

    def with_(self, other: Kinds) -> Kinds:
        return Kinds(self.kinds | other.kinds, self.items | other.items)


def of(*kinds: str) -> Kinds:
    return Kinds(frozenset(kinds))


UNKNOWN = of("unknown")


def listed(items: Kinds) -> Kinds:
    return Kinds(frozenset({"list"}), items.kinds | items.items)


def kinds_of_value(value: Any) -> Kinds:
    """The kinds of a plain value.

    >>> sorted(kinds_of_value([1, 2.5]).items), kinds_of_value(True).kinds
    (['float', 'int'], frozenset({'bool'}))
    """
    if isinstance(value, list | tuple):
        items = [kinds_of_value(item) for item in value]
        return listed(Kinds(frozenset().union(*(item.kinds | item.items for item in items))))
    if isinstance(value, dict):
        return Kinds(frozenset({"list"}), UNKNOWN.kinds)
    named = {bool: "bool", int: "int", float: "float", str: "text", type(None): "null"}
    return of(named.get(type(value), "unknown"))


class Reader:
    """Reads the kinds of expressions; ``name`` gives those of a name, ``attribute`` those of `part.field`."""

    def __init__(self, name: Callable[[str], Kinds], attribute: Callable[[ast.Attribute], Kinds]) -> None:
        self.of_name, self.of_attribute = name, attribute

    def read(self, node: ast.expr, local: Mapping[str, Kinds]) -> Kinds:
        """The kinds of an expression; ``local`` are the names that loops bind."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        return UNKNOWN if method is None else method(node, local)

    def _constant(self, node: ast.Constant, local: Mapping[str, Kinds]) -> Kinds:
        return kinds_of_value(node.value)

    def _name(self, node: ast.Name, local: Mapping[str, Kinds]) -> Kinds:
        return local[node.id] if node.id in local else self.of_name(node.id)

    def _attribute(self, node: ast.Attribute, local: Mapping[str, Kinds]) -> Kinds:
        return self.of_attribute(node)

    def _compare(self, node: ast.Compare, local: Mapping[str, Kinds]) -> Kinds:
        return of("bool")

    def _boolop(self, node: ast.BoolOp, local: Mapping[str, Kinds]) -> Kinds:
        return self._any(node.values, local)

    def _ifexp(self, node: ast.IfExp, local: Mapping[str, Kinds]) -> Kinds:
        return self._any([node.body, node.orelse], local)

    def _any(self, nodes: list[ast.expr], local: Mapping[str, Kinds]) -> Kinds:
        first, *others = (self.read(node, local) for node in nodes)
        for other in others:
            first = first.with_(other)
        return first

    def _unaryop(self, node: ast.UnaryOp, local: Mapping[str, Kinds]) -> Kinds:
        if isinstance(node.op, ast.Not):
            return of("bool")
        return _number(self.read(node.operand, local))

    def _binop(self, node: ast.BinOp, local: Mapping[str, Kinds]) -> Kinds:
        left, right = self.read(node.left, local), self.read(node.right, local)
        if isinstance(node.op, ast.Div):
            return of("float")
        kinds = (left.kinds | right.kinds) - {"null"}
        if kinds & {"list", "text"} and isinstance(node.op, ast.Add | ast.Mult):
            found = (kinds & {"list", "text", "unknown"}) or kinds
            return Kinds(frozenset(found), left.items | right.items)
        if isinstance(node.op, ast.Pow) and _may_be_negative(node.right):
            kinds |= {"float"}
        both = [_number(side).kinds for side in (left, right)]
        if any(side == {"float"} for side in both):
            return of("float")
        return Kinds(frozenset("int" if kind == "bool" else kind for kind in kinds))

    def _list(self, node: ast.List | ast.Tuple, local: Mapping[str, Kinds]) -> Kinds:
        return listed(self._any(node.elts, local)) if node.elts else listed(of())

    _tuple = _list

    def _dict(self, node: ast.expr, local: Mapping[str, Kinds]) -> Kinds:
        return Kinds(frozenset({"list"}), UNKNOWN.kinds)

    _dictcomp = _dict

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp, local: Mapping[str, Kinds]) -> Kinds:
        inner = dict(local)
        for one in node.generators:
            items = self.read(one.iter, inner).items
            targets = [name for name in ast.walk(one.target) if isinstance(name, ast.Name)]
            inner |= {name.id: Kinds(items) if len(targets) == 1 else UNKNOWN for name in targets}
        return listed(self.read(node.elt, inner))

    _generatorexp = _listcomp

    def _subscript(self, node: ast.Subscript, local: Mapping[str, Kinds]) -> Kinds:
        value = self.read(node.value, local)
        if isinstance(node.slice, ast.Slice) or value.kinds == {"text"}:
            return value
        return Kinds(value.items) if value.items else UNKNOWN

    def _call(self, node: ast.Call, local: Mapping[str, Kinds]) -> Kinds:
        if isinstance(node.func, ast.Attribute):
            named = _METHODS.get(node.func.attr)
            return of(named) if named else listed(of("text")) if node.func.attr == "split" else UNKNOWN
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _BY_NAME:
            return of(_BY_NAME[name])
        taken = [self.read(argument, local) for argument in node.args]
        if name == "range":
            return listed(of("int"))
        if not taken:
            return listed(of()) if name in _LISTS else UNKNOWN
        first = taken[0]
        if name in _LISTS:
            return Kinds(frozenset({"list"}), first.items or UNKNOWN.kinds)
        if name in ("min", "max"):
            return Kinds(first.items or UNKNOWN.kinds) if len(taken) == 1 else self._any(node.args, local)
        if name in ("sum", "prod"):
            items = _number(Kinds(first.items or UNKNOWN.kinds))
            return items.with_(taken[1] if len(taken) > 1 else of("int"))
        if name == "round":
            return of("int") if len(taken) == 1 else _number(first)
        return _number(first) if name == "abs" else UNKNOWN


def _number(value: Kinds) -> Kinds:
    """The kinds of `+value`: of true and false it is an int."""
    return Kinds(frozenset("int" if kind == "bool" else kind for kind in value.kinds - {"null"}), value.items)


def _may_be_negative(node: ast.expr) -> bool:
    """Return True unless an exponent is a number or a name, whose sizes are not negative."""
    if isinstance(node, ast.Constant):
        return type(node.value) is not int or node.value < 0
    return not isinstance(node, ast.Name | ast.Attribute)
