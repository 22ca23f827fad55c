"""Reading, 3 of 19: expressions of a constructor, each kind of syntax by a method of its own."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.blurring import blurred
from archspec.deriving.reading.operators import Operators
from archspec.deriving.reading.values import (
    MISSING,
    UNKNOWN,
    Env,
    Function,
    ListValue,
    Raised,
    Sym,
    Tensor,
    Unsupported,
    Untold,
    symbolic,
)


class Evaluator(Operators):
    """Evaluates the expressions of Python code that the spec language has a word for."""

    def evaluate(self, node: ast.expr, env: Env) -> Any:
        method = getattr(self, f"on_{type(node).__name__}", None)
        if method is None:
            raise Unsupported(f"{type(node).__name__} in an expression")
        return method(node, env)

    def call(self, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError

    def attribute(self, value: Any, name: str) -> Any:
        raise NotImplementedError

    def on_Constant(self, node: ast.Constant, env: Env) -> Any:
        return node.value

    def on_Name(self, node: ast.Name, env: Env) -> Any:
        for names in (env.local, env.around, env.outer, vars(builtins)):
            if node.id in names:
                found = names[node.id]
                return found
        raise Unsupported(f"the name {node.id} is not known")

    def on_List(self, node: ast.List, env: Env) -> Any:
        parts: list[Any] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                parts += self.as_list(self.evaluate(item.value, env)).parts
            else:
                parts.append(("item", self.evaluate(item, env)))
        return ListValue.of(parts)

    def on_Tuple(self, node: ast.Tuple, env: Env) -> Any:
        found = self.on_List(ast.List(node.elts, ast.Load()), env)
        return tuple(found.items()) if found.plain else found

    def on_Set(self, node: ast.Set, env: Env) -> Any:
        items = [self.evaluate(item, env) for item in node.elts]
        return ListValue(items) if symbolic(items) else set(items)

    def on_Dict(self, node: ast.Dict, env: Env) -> Any:
        made: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.evaluate(item, env)
            if key is not None:
                made[self.hashable(self.evaluate(key, env))] = value
            elif isinstance(value, dict):
                made |= value
            else:
                raise Unsupported("`**` of something that is no dict")
        return made

    def on_Attribute(self, node: ast.Attribute, env: Env) -> Any:
        return self.attribute(self.evaluate(node.value, env), node.attr)

    def on_Starred(self, node: ast.Starred, env: Env) -> Any:
        raise Unsupported("a starred expression")

    def on_NamedExpr(self, node: ast.NamedExpr, env: Env) -> Any:
        value = self.evaluate(node.value, env)
        self.write(env.local, node.target.id, value)
        return value

    def on_Lambda(self, node: ast.Lambda, env: Env) -> Any:
        return Function(node, env)

    def on_JoinedStr(self, node: ast.JoinedStr, env: Env) -> Any:
        pieces: list[Any] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                pieces.append(part.value)
                continue
            assert isinstance(part, ast.FormattedValue)
            value = self.evaluate(part.value, env)
            if isinstance(value, Sym):
                if value.node is None:
                    return Sym(None, UNKNOWN)
                pieces.append(Sym(terms.call("str", self.node(value)), str(value.value)))
            elif symbolic(value):
                return "a text"
            else:
                spec = "".join(str(self.evaluate(v, env)) for v in getattr(part.format_spec, "values", []))
                shown = (
                    repr(value)
                    if part.conversion == ord("r")
                    else str(value)
                    if part.conversion == ord("s")
                    else value
                )
                try:
                    pieces.append(format(shown, spec))
                except (TypeError, ValueError):
                    return "a text"
        if not any(isinstance(piece, Sym) for piece in pieces):
            return "".join(pieces)
        total: Any = "".join(pieces[:0])
        for piece in pieces:
            total = (
                piece if not isinstance(total, Sym) and total == "" else self.binary(ast.Add, total, piece)
            )
        return total

    def on_BinOp(self, node: ast.BinOp, env: Env) -> Any:
        return self.binary(type(node.op), self.evaluate(node.left, env), self.evaluate(node.right, env))

    def on_UnaryOp(self, node: ast.UnaryOp, env: Env) -> Any:
        value = self.evaluate(node.operand, env)
        if isinstance(node.op, ast.Not):
            truth, seen = self.truth(value)
            return (
                not truth
                if isinstance(truth, bool)
                else Sym(terms.negation(truth), self.seen(lambda v: not v, seen), ("bool",))
            )
        if isinstance(value, Tensor):
            return Tensor(value.shape, value.real)
        if not symbolic(value):
            operators = {ast.USub: lambda v: -v, ast.UAdd: lambda v: +v, ast.Invert: lambda v: ~v}
            return self.native(operators[type(node.op)], [value])
        if isinstance(node.op, ast.Invert) or self.fitted(value):
            return Sym(None, self.seen(lambda v: -v, value))
        return Sym(ast.UnaryOp(node.op, self.node(value)), self.seen(lambda v: -v, value))

    def on_BoolOp(self, node: ast.BoolOp, env: Env) -> Any:
        first, rest = node.values[0], node.values[1:]
        value = self.evaluate(first, env)
        if not rest:
            return value
        goes_on = isinstance(node.op, ast.And)
        following = ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
        try:
            truth, seen = self.truth(value, first)
        except Untold as error:
            return self.unseen(error, lambda: self.evaluate(following, env), lambda: value)
        if isinstance(truth, bool):
            return self.evaluate(following, env) if truth == goes_on else value

        def further() -> Any:
            return self.evaluate(following, env)

        def stays() -> Any:
            return value

        return self.fork(truth, seen, further, stays) if goes_on else self.fork(truth, seen, stays, further)

    def on_IfExp(self, node: ast.IfExp, env: Env) -> Any:
        return self.branch(
            node.test, env, lambda: self.evaluate(node.body, env), lambda: self.evaluate(node.orelse, env)
        )

    def branch(self, test: ast.expr, env: Env, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
        """The way that a condition takes, or both."""
        mark = len(self.log)
        try:
            truth, seen = self.truth(self.evaluate(test, env), test)
        except Untold as error:
            self.rollback(mark)
            return self.unseen(error, then, other)
        if isinstance(truth, bool):
            return then() if truth else other()
        return self.fork(truth, seen, then, other)

    def unseen(self, error: Untold, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
        """Both ways of a condition that nobody can tell: it does not matter where they leave the same
        modules."""
        mark, frame = len(self.log), self.frames[-1]
        before = dict(frame.require), dict(frame.soft)
        try:
            one = then()
            writes = self.rollback(mark)
            two = other()
            others = self.rollback(mark)
        except Raised:
            raise error from None
        finally:
            frame.require, frame.soft = before  # they hold on one of the ways only
        for key in writes | others:
            container, name, _ = (writes | others)[key]
            old = container.get(name, MISSING)
            left, right = (way[key][2] if key in way else old for way in (writes, others))
            self.write(container, name, blurred(left, right, error))
        return blurred(one, two, error)

    def on_Compare(self, node: ast.Compare, env: Env) -> Any:
        left = self.evaluate(node.left, env)
        result: Any = True
        for index, (op, part) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.evaluate(part, env)
            found = self.compare(type(op), left, right)
            if index == 0:
                result = found
            elif isinstance(result, Sym) or isinstance(found, Sym):
                result = Sym(
                    terms.both([self.node(result), self.node(found)]),
                    self.seen(lambda a, b: a and b, result, found),
                    ("bool",),
                )
            else:
                result = result and found
            left = right
        return result

    def on_Subscript(self, node: ast.Subscript, env: Env) -> Any:
        value = self.evaluate(node.value, env)
        if isinstance(node.slice, ast.Tuple) and any(isinstance(part, ast.Slice) for part in node.slice.elts):
            return self.item(value, tuple(self.position(part, env) for part in node.slice.elts))
        return self.item(value, self.position(node.slice, env))

    def position(self, node: ast.expr, env: Env) -> Any:
        if isinstance(node, ast.Slice):
            return slice(
                *(self.evaluate(part, env) if part else None for part in (node.lower, node.upper, node.step))
            )
        return self.evaluate(node, env)

    def item(self, value: Any, index: Any) -> Any:
        raise NotImplementedError
