"""The kinds of values that an expression can have, from its text and the kinds of its names alone.

A kind is "int", "float", "bool", "null", "text", "list" or "unknown". An expression has a set of kinds:
`a if c else b` has those of both.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from archspec.language.operations import KINDS_OF_RESULTS
from archspec.typing_light import Any

_METHODS = {
    **dict.fromkeys(("startswith", "endswith"), "bool"),
    **dict.fromkeys(("lower", "strip"), "text"),
    **dict.fromkeys(("index", "count"), "int"),
}


class Kinds(NamedTuple):
    """The kinds that a value can have; ``items`` are those of a list's items."""

    kinds: frozenset[str]
    items: frozenset[str] = frozenset()

    def with_(self, other: Kinds) -> Kinds:
        """Return the kinds of either."""
        return Kinds(self.kinds | other.kinds, self.items | other.items)


Local = Mapping[str, Kinds]


def of(*kinds: str) -> Kinds:
    """Return some kinds of values that are not lists."""
    return Kinds(frozenset(kinds))


def listed(items: Kinds) -> Kinds:
    """Return the kinds of a list of some items."""
    return Kinds(frozenset({"list"}), items.kinds | items.items)


UNKNOWN = of("unknown")
_UNKNOWN_LIST = listed(UNKNOWN)


def kinds_of_value(value: Any) -> Kinds:
    """Return the kinds of a plain value.

    >>> sorted(kinds_of_value([1, 2.5]).items), kinds_of_value(True).kinds
    (['float', 'int'], frozenset({'bool'}))
    """
    if isinstance(value, list | tuple):
        return listed(_union(map(kinds_of_value, value)))
    if isinstance(value, dict):
        return _UNKNOWN_LIST
    named = {bool: "bool", int: "int", float: "float", str: "text", type(None): "null"}
    return of(named.get(type(value), "unknown"))


def _union(every: Any) -> Kinds:
    found = of()
    for one in every:
        found = found.with_(one)
    return found


class Reader:
    """Reads the kinds of expressions; ``name`` gives those of a name, ``attribute`` those of `part.field`."""

    def __init__(self, name: Callable[[str], Kinds], attribute: Callable[[ast.Attribute], Kinds]) -> None:
        self.of_name, self.of_attribute = name, attribute

    def read(self, node: ast.expr, local: Local) -> Kinds:
        """Return the kinds of an expression; ``local`` are the names that loops bind."""
        match node:
            case ast.Constant(value=value):
                return kinds_of_value(value)
            case ast.Name(id=name):
                return local[name] if name in local else self.of_name(name)
            case ast.Attribute():
                return self.of_attribute(node)
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return of("bool")
            case ast.BoolOp(values=parts):
                return self._either(parts, local)
            case ast.IfExp(body=one, orelse=other):
                return self._either([one, other], local)
            case ast.UnaryOp(operand=operand):
                return _number(self.read(operand, local))
            case ast.BinOp():
                return self._operation(node, local)
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return listed(self._either(parts, local))
            case ast.Dict() | ast.DictComp():
                return _UNKNOWN_LIST
            case ast.ListComp() | ast.GeneratorExp():
                return self._loop(node, local)
            case ast.Subscript(value=inner):
                found = self.read(inner, local)
                is_slice = isinstance(node.slice, ast.Slice) or found.kinds == {"text"}
                return found if is_slice else Kinds(found.items or UNKNOWN.kinds)
            case ast.Call(func=ast.Attribute(attr="split")):
                return listed(of("text"))
            case ast.Call(func=ast.Attribute(attr=method)):
                return of(_METHODS.get(method, "unknown"))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._function(name, arguments, local)
        return UNKNOWN

    def _either(self, nodes: Sequence[ast.expr], local: Local) -> Kinds:
        return _union(self.read(node, local) for node in nodes)

    def _operation(self, node: ast.BinOp, local: Local) -> Kinds:
        left, right = self.read(node.left, local), self.read(node.right, local)
        if isinstance(node.op, ast.Div):
            return of("float")
        kinds = (left.kinds | right.kinds) - {"null"}
        if kinds & {"list", "text"} and isinstance(node.op, ast.Add | ast.Mult):
            return Kinds(kinds & {"list", "text", "unknown"}, left.items | right.items)
        if isinstance(node.op, ast.Pow) and _may_be_negative(node.right):
            kinds |= {"float"}
        if {"float"} in (_number(left).kinds, _number(right).kinds):
            return of("float")
        return _number(Kinds(kinds))

    def _loop(self, node: ast.ListComp | ast.GeneratorExp, local: Local) -> Kinds:
        inner = dict(local)
        for one in node.generators:
            items = self.read(one.iter, inner).items
            targets = [name for name in ast.walk(one.target) if isinstance(name, ast.Name)]
            inner |= {name.id: Kinds(items) if len(targets) == 1 else UNKNOWN for name in targets}
        return listed(self.read(node.elt, inner))

    def _function(self, name: str, arguments: Sequence[ast.expr], local: Local) -> Kinds:
        """Return the kinds of a function's result, which may depend on its arguments."""
        kind = KINDS_OF_RESULTS.get(name, "unknown")
        taken = [self.read(argument, local) for argument in arguments]
        first = taken[0] if taken else of()
        items = first.items or UNKNOWN.kinds
        match kind:
            case "ints":
                return listed(of("int"))
            case "items":
                return Kinds(frozenset({"list"}), items if taken else frozenset())
            case "one" if taken:
                return Kinds(items) if len(taken) == 1 else _union(taken)
            case "total" if taken:
                return _number(Kinds(items)).with_(taken[1] if len(taken) > 1 else of("int"))
            case "rounded" if taken:
                return of("int") if len(taken) == 1 else _number(first)
            case "number" if taken:
                return _number(first)
            case "one" | "total" | "rounded" | "number":
                return UNKNOWN
        return of(kind)


def _number(value: Kinds) -> Kinds:
    """Return the kinds of `+value`: of true and false it is an int."""
    return Kinds(frozenset("int" if kind == "bool" else kind for kind in value.kinds - {"null"}), value.items)


def _may_be_negative(node: ast.expr) -> bool:
    """Return True unless an exponent is a number or a name, whose sizes are not negative."""
    if isinstance(node, ast.Constant):
        return type(node.value) is not int or node.value < 0
    return not isinstance(node, ast.Name | ast.Attribute)
