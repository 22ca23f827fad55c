"""Terms, under the reading: expressions of a draft, built, folded and decided as Python syntax trees.

A config field stands under its absolute path (`text_config.hidden_size` is one name here), a local
name (a parameter of a module, a loop's variable) begins with `$`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from archspec.language.operations import COMPARE

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.In: ast.NotIn,
}
_OPPOSITE |= {b: a for a, b in _OPPOSITE.items()}


def text(node: ast.expr) -> str:
    """
    >>> text(binary(ast.Mult, name("a"), constant(2)))
    'a * 2'
    """
    return ast.unparse(node)


def constant(value: Any) -> ast.expr:
    if isinstance(value, bool | None | str):
        return ast.Constant(value)
    if isinstance(value, int | float):
        return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))
    if isinstance(value, list | tuple):
        return ast.List([constant(item) for item in value], ast.Load())
    if isinstance(value, dict):
        return ast.Dict([constant(key) for key in value], [constant(item) for item in value.values()])
    raise TypeError(f"{type(value).__name__} is not a value of the spec language")


def name(identifier: str) -> ast.expr:
    return ast.Name(identifier, ast.Load())


def call(function: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(name(function), list(arguments), [])


def is_constant(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return True


def value_of(node: ast.expr) -> Any:
    return ast.literal_eval(node)


def is_given(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "given"


def names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def variables(node: ast.AST) -> set[str]:
    """The names in an expression that are no functions."""
    return names(node) - {
        part.func.id
        for part in ast.walk(node)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
    }


def binary(op: type[ast.operator], left: ast.expr, right: ast.expr) -> ast.expr:
    """The operation, without what adds nothing (`x * 1`, `x + 0`); constants are folded."""
    if is_constant(left) and is_constant(right):
        try:
            return constant(BINARY[op](value_of(left), value_of(right)))
        except (ArithmeticError, TypeError):
            return ast.BinOp(left, op(), right)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, ast.Constant) and type(one.value) is int:
            neutral = (one.value == 1 and op is ast.Mult) or (one.value == 0 and op is ast.Add)
            if neutral or (
                one is right
                and ((one.value == 0 and op is ast.Sub) or (one.value == 1 and op in (ast.FloorDiv, ast.Pow)))
            ):
                return other
    # (x + 1) - 1, (x - 1) + 1
    if (
        op in (ast.Add, ast.Sub)
        and isinstance(right, ast.Constant)
        and isinstance(right.value, int)
        and isinstance(left, ast.BinOp)
    ):
        inner = left.right
        if (
            isinstance(left.op, ast.Add | ast.Sub)
            and isinstance(inner, ast.Constant)
            and isinstance(inner.value, int)
        ):
            total = inner.value * (1 if isinstance(left.op, ast.Add) else -1) + right.value * (
                1 if op is ast.Add else -1
            )
            return (
                binary(ast.Add, left.left, constant(total))
                if total >= 0
                else ast.BinOp(left.left, ast.Sub(), constant(-total))
            )
    return ast.BinOp(left, op(), right)


def compare(left: ast.expr, op: type[ast.cmpop], right: ast.expr) -> ast.expr:
    return ast.Compare(left, [op()], [right])


def compared(left: ast.expr, op: type[ast.cmpop], right: ast.expr) -> ast.expr:
    """A comparison, of each side of a conditional where both are known.

    >>> text(compared(ast.parse("'a' if n > 2 else 'b'", mode="eval").body, ast.Eq, constant("b")))
    'n <= 2'
    """
    if isinstance(left, ast.IfExp) and all(map(is_constant, (left.body, left.orelse, right))):
        return conditional(left.test, compared(left.body, op, right), compared(left.orelse, op, right))
    if is_constant(left) and is_constant(right):
        try:
            return ast.Constant(bool(COMPARE[op](value_of(left), value_of(right))))
        except TypeError:
            pass
    return compare(left, op, right)


def subscript(value: ast.expr, index: ast.expr) -> ast.expr:
    """An item, taken where it is known which one it is."""
    if isinstance(value, ast.IfExp):
        return conditional(value.test, subscript(value.body, index), subscript(value.orelse, index))
    number = value_of(index) if not isinstance(index, ast.Slice) and is_constant(index) else None
    if isinstance(value, ast.List) and type(number) is int and -len(value.elts) <= number < len(value.elts):
        return value.elts[number]
    if isinstance(value, ast.ListComp) and isinstance(index, ast.Name) and len(value.generators) == 1:
        loop = value.generators[0]
        over = loop.iter
        counted = isinstance(over, ast.Call) and text(over.func) == "range" and len(over.args) == 1
        if counted and not loop.ifs and isinstance(loop.target, ast.Name):
            return substitute(value.elt, {loop.target.id: index})
    return ast.Subscript(value, index, ast.Load())


def listed(items: list[ast.expr]) -> ast.expr:
    """A list of expressions; that of all items of an argument is the argument."""
    first = items[0].value if items and isinstance(items[0], ast.Subscript) else None
    if isinstance(first, ast.Name) and all(
        isinstance(item, ast.Subscript)
        and getattr(item, "whole", 0) == len(items)
        and text(item) == f"{first.id}[{index}]"
        for index, item in enumerate(items)
    ):
        return first
    return ast.List(items, ast.Load())


def negation(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Constant):
        return ast.Constant(not node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.BoolOp) and all(is_boolean(part) for part in node.values):
        join = either if isinstance(node.op, ast.And) else both
        return join([negation(part) for part in node.values])
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return ast.Compare(node.left, [_OPPOSITE[type(node.ops[0])]()], node.comparators)
    return ast.UnaryOp(ast.Not(), node)


def both(parts: Iterable[ast.expr]) -> ast.expr:
    return _joined(ast.And, parts, True)


def either(parts: Iterable[ast.expr]) -> ast.expr:
    """
    >>> text(either(ast.parse("[kind == 'a', kind != 'b', width > 2]", mode="eval").body.elts))
    "kind != 'b' or width > 2"
    """
    return _joined(ast.Or, parts, False)


def _joined(op: type[ast.boolop], parts: Iterable[ast.expr], neutral: bool) -> ast.expr:
    flat: dict[str, ast.expr] = {}
    for part in parts:
        inner = part.values if isinstance(part, ast.BoolOp) and isinstance(part.op, op) else [part]
        for one in inner:
            if isinstance(one, ast.Constant) and bool(one.value) == neutral:
                continue
            if isinstance(one, ast.Constant):
                return ast.Constant(not neutral)
            flat.setdefault(text(one), one)
    fixed, weak = (ast.Eq, ast.NotEq) if op is ast.And else (ast.NotEq, ast.Eq)
    known = dict(pair for one in flat.values() if (pair := _against_constant(one, fixed)) is not None)

    def said(one: ast.expr) -> bool:
        """Whether another part says it: `kind != "b"` beside `kind == "a"`, or the other way round in an
        `or`."""
        pair = _against_constant(one, weak)
        return pair is not None and pair[0] in known and known[pair[0]] != pair[1]

    items = [one for one in flat.values() if not said(one)]
    if not items:
        return ast.Constant(neutral)
    return items[0] if len(items) == 1 else ast.BoolOp(op(), items)


def _against_constant(node: ast.expr, op: type[ast.cmpop]) -> tuple[str, Any] | None:
    """What is compared, and the text that it is compared with."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], op):
        other = node.comparators[0]
        return (
            (text(node.left), other.value)
            if isinstance(other, ast.Constant) and isinstance(other.value, str)
            else None
        )
    return None


def conditional(test: ast.expr, then: ast.expr, other: ast.expr) -> ast.expr:
    """`then if test else other`, folded."""
    if isinstance(test, ast.Constant):
        return then if test.value else other
    if text(then) == text(other):
        return then
    if isinstance(then, ast.Constant) and isinstance(other, ast.Constant):
        if then.value is True and other.value is False and is_boolean(test):
            return test
        if then.value is False and other.value is True:
            return negation(test)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return conditional(test.operand, other, then)
    if text(test) == text(then) or (
        is_boolean(test) and isinstance(then, ast.Constant) and then.value is True and is_boolean(other)
    ):
        return either([test, other]) if is_boolean(test) else ast.BoolOp(ast.Or(), [test, other])
    if text(test) == text(other) or (
        is_boolean(test) and isinstance(other, ast.Constant) and other.value is False and is_boolean(then)
    ):
        return both([test, then]) if is_boolean(test) else ast.BoolOp(ast.And(), [test, then])
    if isinstance(other, ast.IfExp) and text(other.body) == text(then):
        return conditional(either([test, other.test]), then, other.orelse)
    if isinstance(other, ast.IfExp) and text(other.orelse) == text(then):
        return conditional(either([test, negation(other.test)]), then, other.body)
    if isinstance(then, ast.IfExp) and text(then.orelse) == text(other):
        return conditional(both([test, then.test]), then.body, other)
    if isinstance(then, ast.IfExp) and text(then.body) == text(other):
        return conditional(both([test, negation(then.test)]), then.orelse, other)
    return ast.IfExp(test, then, other)


def is_boolean(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        return all(is_boolean(part) for part in node.values)
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


class Substitute(ast.NodeTransformer):
    """Names replaced by expressions, once each: an expression may stand at two places of the tree."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values
        self.done: dict[
            int, tuple[ast.AST, ast.AST]
        ] = {}  # the node too, which keeps its id from another one

    def visit(self, node: ast.AST) -> ast.AST:
        if id(node) not in self.done:
            self.done[id(node)] = node, super().visit(node)
        return self.done[id(node)][1]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.values.get(node.id, node)


def substitute(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    if not values or not names(node) & values.keys():
        return node
    import copy

    found = Substitute(values).visit(copy.deepcopy(node))
    assert isinstance(found, ast.expr)
    return found


class _Fold(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return binary(type(node.op), node.left, node.right)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        text_of = isinstance(node.func, ast.Name) and node.func.id == "str" and len(node.args) == 1
        return ast.Constant(str(value_of(node.args[0]))) if text_of and is_constant(node.args[0]) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        return compared(node.left, type(node.ops[0]), node.comparators[0]) if len(node.ops) == 1 else node


def folded(node: ast.expr) -> ast.expr:
    """An expression with what is known of it worked out, once numbers stand for its names.

    >>> text(folded(ast.parse("12 % 5 == 0 or a + 0 > 2", mode="eval").body))
    'False or a > 2'
    """
    import copy

    found = _Fold().visit(copy.deepcopy(node))
    assert isinstance(found, ast.expr)
    return found


class Facts:
    """What is known to hold on the way to a statement; decides conditions that follow from it."""

    def __init__(self, parent: Facts | None = None) -> None:
        self.truths: dict[str, bool] = dict(parent.truths) if parent else {}
        self.equal: dict[str, Any] = dict(parent.equal) if parent else {}

    def learn(self, node: ast.expr, holds: bool) -> None:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.learn(node.operand, not holds)
            return
        self.truths[text(node)] = holds
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) == holds:
            for part in node.values:
                self.learn(part, holds)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            op, left, right = node.ops[0], text(node.left), node.comparators[0]
            opposite = ast.Compare(node.left, [_OPPOSITE[type(op)]()], node.comparators)
            self.truths[text(opposite)] = not holds
            if holds and isinstance(op, ast.Eq | ast.Is) and is_constant(right):
                self.equal[left] = value_of(right)
            if not holds and isinstance(op, ast.NotEq | ast.IsNot) and is_constant(right):
                self.equal[left] = value_of(right)
        elif holds:
            self.truths[text(ast.Compare(node, [ast.Is()], [ast.Constant(None)]))] = False

    def decide(self, node: ast.expr) -> ast.expr:
        """The condition, as far as it is still open."""
        if isinstance(node, ast.Constant):
            return ast.Constant(bool(node.value))
        known = self.truths.get(text(node))
        if known is not None:
            return ast.Constant(known)
        if text(node) in self.equal:
            return ast.Constant(bool(self.equal[text(node)]))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return negation(self.decide(node.operand))
        if isinstance(node, ast.BoolOp):
            join = both if isinstance(node.op, ast.And) else either
            return join([self.decide(part) for part in node.values])
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            negative = self.truths.get(text(negation(node)))
            if negative is not None:
                return ast.Constant(not negative)
            right = node.comparators[0]
            left: Any = self.equal.get(text(node.left), ...)
            if left is ... and is_constant(node.left):
                left = value_of(node.left)
            if left is not ... and is_constant(right):
                try:
                    return ast.Constant(bool(COMPARE[type(node.ops[0])](left, value_of(right))))
                except TypeError:
                    return node
        return node

    def simplify(self, node: ast.expr) -> ast.expr:
        """A value, with the conditionals decided that can be."""
        if isinstance(node, ast.IfExp):
            test = self.decide(node.test)
            if isinstance(test, ast.Constant):
                return self.simplify(node.body if test.value else node.orelse)
        if text(node) in self.equal and not is_constant(node):
            return constant(self.equal[text(node)])
        return node
