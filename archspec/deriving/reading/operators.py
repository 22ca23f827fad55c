"""Reading, 2 of 19: operators and conditions, where an operand carries an expression of the config."""

from __future__ import annotations

import ast
import math
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.bits import several
from archspec.deriving.reading.state import State
from archspec.deriving.reading.values import (
    NUMPY,
    UNKNOWN,
    Choice,
    Config,
    Failed,
    Iter,
    Kwargs,
    ListValue,
    Mix,
    Mod,
    Raised,
    Sym,
    Tensor,
    Unsupported,
    Untold,
    symbolic,
    witness,
)
from archspec.language.operations import COMPARE


class Operators(State):
    """What Python's operators give where an operand depends on the config."""

    def binary(self, op: type[ast.operator], left: Any, right: Any) -> Any:
        for value, way in ((left, 0), (right, 1)):
            if isinstance(value, Choice):
                return self.lift(
                    value, lambda v, w=way: self.binary(op, v, right) if not w else self.binary(op, left, v)
                )
        if op is ast.Add:
            self.one_kind(left, right)
        if isinstance(left, ListValue | list) and isinstance(right, ListValue | list | Sym) and op is ast.Add:
            return ListValue.of([*self.as_list(left).parts, *self.as_list(right).parts])
        if isinstance(right, ListValue | list) and isinstance(left, Sym) and op is ast.Add:
            return ListValue.of([*self.as_list(left).parts, *self.as_list(right).parts])
        if op is ast.Mult and isinstance(left, ListValue | list) and isinstance(right, int):
            return ListValue.of(self.as_list(left).parts * right)
        if op is ast.Mult and isinstance(left, ListValue) and isinstance(right, Sym) and _one_module(left):
            if right.node is None:
                raise Unsupported("a list as often as the default config says")
            turn = (terms.name(self.fresh("i")), terms.call("range", right.node), ())
            return ListValue.of([("each", left.items()[0], (turn,))])
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return self.tensor_binary(op, left, right)
        if not symbolic(left) and not symbolic(right):
            return self.native(_operator(op), [left, right])
        if isinstance(left, tuple) and isinstance(right, tuple) and op is ast.Add:
            return left + right
        if isinstance(left, tuple) and isinstance(right, int) and op is ast.Mult:
            return left * right
        seen = self.seen(_operator(op), left, right)
        self.divided(op, left, right)
        nodes = [self.node(side) if not self.fitted(side) else None for side in (left, right)]
        if (test := several(op, nodes[0], nodes[1])) is not None:
            return Sym(test, seen)
        if op not in terms.BINARY or None in nodes or any(hasattr(node, "truth") for node in nodes):
            return Sym(None, seen)
        found = terms.binary(op, self.node(left), self.node(right))
        if terms.is_constant(found):
            return terms.value_of(found)
        return Sym(found, seen)

    def one_kind(self, left: Any, right: Any) -> None:
        """Python adds no tuple to a list; what a config gives is a list, but a field's default may be a
        tuple."""
        listed = any(
            isinstance(side, ListValue | list) and getattr(side, "kind", list) is list
            for side in (left, right)
        )
        fields = [self.given_for_tuple(side.node) for side in (left, right) if isinstance(side, Sym)]
        given = [terms.compare(field, ast.IsNot, ast.Constant(None)) for field in fields if field is not None]
        if given and (listed or len(given) == 2):  # two such fields: the config gives both, or none
            asked = given[0] if listed else terms.compare(given[0], ast.Eq, given[1])
            self.enforce(asked, "TypeError: a list and a tuple")

    def given_for_tuple(self, node: ast.expr | None) -> ast.expr | None:
        """What the config itself has for a field whose default is a tuple; None for anything else."""
        raise NotImplementedError

    def divided(self, op: type[ast.operator], left: Any, right: Any) -> None:
        """Python refuses to divide by zero, also where nothing depends on the result."""
        of_numpy = (
            NUMPY in left.types if isinstance(left, Sym) else type(left).__module__ == NUMPY
        )  # that warns and goes on
        by = right if op in (ast.Div, ast.FloorDiv, ast.Mod) and not of_numpy else None
        if op is ast.Pow and isinstance(right, int | float) and right < 0:
            by = left
        for value in (left, right):
            if (
                isinstance(value, Sym)
                and value.node is not None
                and {"int", "list"} <= set(value.types)
                and op is not ast.Add
            ):
                self.demand(terms.negation(terms.call("is_list", self.node(value))))
            self.not_null(value)
        number = isinstance(by, Sym) and (
            isinstance(by.value, int | float) or set(by.types) & {"int", "float"}
        )
        if isinstance(by, Sym) and by.node is not None and number:
            for asked in _nonzero(self.node(by)):
                self.demand(asked)

    def not_null(self, value: Any) -> None:
        """Python neither calculates with None nor finds it smaller than a number."""
        if (asked := self.null_refused(value)) is not None:
            self.demand(asked)

    def null_refused(self, value: Any) -> ast.expr | None:
        """That a field is not null, where it may be."""
        if not isinstance(value, Sym) or not isinstance(value.node, ast.Name) or "None" not in value.types:
            return None
        asked = self.facts.decide(terms.compare(value.node, ast.IsNot, ast.Constant(None)))
        return None if isinstance(asked, ast.Constant) else asked

    def tensor_binary(self, op: type[ast.operator], left: Any, right: Any) -> Any:
        real = self.seen(_operator(op), left, right)
        tensors = [value for value in (left, right) if isinstance(value, Tensor)]
        shape = (
            tensors[0].shape
            if len(tensors) == 1 and not isinstance(right if tensors[0] is left else left, ListValue)
            else None
        )
        if len(tensors) == 2 and tensors[0].shape is not None and tensors[1].shape is not None:
            shape = broadcast(tensors[0].shape, tensors[1].shape)
        return Tensor(shape, None if real is UNKNOWN else real)

    def fitted(self, *values: Any) -> bool:
        return any(isinstance(value, Sym) and value.node is None for value in values)

    def seen(self, function: Any, *arguments: Any) -> Any:
        """The value at the default config, UNKNOWN where it cannot be told."""
        values = [witness(argument) for argument in arguments]
        if any(value is UNKNOWN for value in values):
            return UNKNOWN
        try:
            return function(*values)
        except Exception:
            return UNKNOWN

    def native(self, function: Any, arguments: list[Any], keywords: dict[str, Any] | None = None) -> Any:
        """A call on plain Python values; what it raises is raised on this way of the code."""
        values, named = (
            [self.plain(a) for a in arguments],
            {k: self.plain(v) for k, v in (keywords or {}).items()},
        )
        if symbolic(values) or symbolic(named):
            raise Unsupported(f"{getattr(function, '__name__', function)} of what depends on the config")
        try:
            found = function(*values, **named)
        except Unsupported:
            raise
        except Exception as error:
            raise self.python_error(error) from error
        return ListValue(found) if type(found) is list else found

    def python_error(self, error: Exception) -> Exception:
        """What an exception of Python's own means: the code fails, or it met a value that only this reader
        knows."""
        text = f"{type(error).__name__}: {error}"
        marks = ("Sym", "ListValue", "Tensor", "Choice", "Config", "Instance", "Leaf", "Bound")
        own = any(
            f"'{mark}'" in text
            or f" {mark} object" in text
            or f"got {mark}" in text
            or f"got ({mark}" in text
            or f"not {mark}" in text
            for mark in marks
        )
        return Unsupported(text) if own else Failed(text)

    def plain(self, value: Any) -> Any:
        """A value as Python has it, where nothing in it depends on the config."""
        if isinstance(value, ListValue):
            return value.kind(self.plain(item) for item in value.items())
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(self.plain(item) for item in value)
        return value

    def truth(self, value: Any, code: ast.expr | None = None) -> tuple[bool | ast.expr, Any]:
        """Whether a value counts as true: known, or a condition and what it is at the default config.

        ``code`` is where it stands in the constructor, for the comment on a condition that only the default
        config decides.
        """
        if isinstance(value, Choice):
            return self.truth(self.lift(value, lambda v: self.truth_value(v)))
        if isinstance(value, Mix):
            then, other = value.then is not None, value.other is not None
            if then == other:
                return then, then
            return (value.test if then else terms.negation(value.test)), self.seen(
                lambda v: bool(v) == then, value.holds
            )
        if isinstance(value, Sym):
            if value.node is None:
                if value.value is UNKNOWN:
                    raise Untold("a condition on a value that is not known")
                asked = f"`{ast.unparse(code)[:90]}`" if code is not None else "a condition"
                self.note(f"{asked} is {bool(value.value)} by default; the other branch was not read")
                return bool(value.value), bool(value.value)
            decided = self.facts.decide(value.node)
            if isinstance(decided, ast.Constant):
                return bool(decided.value), bool(decided.value)
            return decided, self.seen(bool, value)
        if isinstance(value, ListValue):
            if value.plain or any(part[0] == "item" for part in value.parts):
                return bool(value.parts), bool(value.parts)
            return terms.call("len", self.node(value)), UNKNOWN
        if symbolic(value) and not isinstance(value, list | tuple | dict | set):
            return True, True
        return bool(value), bool(value)

    def truth_value(self, value: Any) -> Any:
        truth, seen = self.truth(value)
        return truth if isinstance(truth, bool) else Sym(truth, seen, ("bool",))

    def lift(self, choice: Choice, function: Any) -> Any:
        """Applies something to both sides of a choice."""
        return self.fork(
            choice.test, choice.holds, lambda: function(choice.then), lambda: function(choice.other)
        )

    def compare(self, op: type[ast.cmpop], left: Any, right: Any) -> Any:
        if isinstance(right, Kwargs) and isinstance(left, str):
            asked = Sym(terms.call("given", ast.Constant(left)), None)
            return (
                self.is_none(asked, op is ast.NotIn)
                if not left.startswith("_") and left not in ("torch_dtype", "dtype")
                else op is ast.NotIn
            )
        for value, way in ((left, 0), (right, 1)):
            if isinstance(value, Choice):
                return self.lift(
                    value, lambda v, w=way: self.compare(op, v, right) if not w else self.compare(op, left, v)
                )
        identity = op in (ast.Is, ast.IsNot)
        if right is None and op in (ast.Is, ast.IsNot, ast.Eq, ast.NotEq):
            return self.is_none(left, op in (ast.Is, ast.Eq))
        if (
            isinstance(left, Mod | Config)
            or isinstance(right, Mod | Config)
            or isinstance(left, type)
            or isinstance(right, type)
        ):
            if op in (ast.Is, ast.IsNot, ast.Eq, ast.NotEq):
                return (left is right) == (op in (ast.Is, ast.Eq))
            if not symbolic(left):
                return self.native(COMPARE[op], [left, right])
            raise Unsupported("a comparison of modules")
        if not symbolic(left) and not symbolic(right):
            return self.native(COMPARE[op], [left, right])
        if op in (ast.In, ast.NotIn) and type(right).__name__ == "ClassInstantier":
            return op is ast.In  # an activation: what it is built by asks for it
        if op in (ast.In, ast.NotIn) and isinstance(right, dict | set | frozenset):
            right = list(right) if isinstance(right, dict) else sorted(right, key=repr)
        if isinstance(left, Tensor) or isinstance(right, Tensor) or self.fitted(left, right):
            return Sym(None, self.seen(COMPARE[op], left, right))
        for value in (left, right):  # no number of a config is beyond it
            if isinstance(value, float) and math.isinf(value):
                return self.native(
                    COMPARE[op], [0 if isinstance(side, Sym) else side for side in (left, right)]
                )
        first, second = self.node(left), self.node(right)
        if hasattr(first, "truth"):
            if op not in (ast.Eq, ast.NotEq) or terms.text(second) != "0":
                return Sym(None, self.seen(COMPARE[op], left, right))
            zero = terms.negation(first) if op is ast.Eq else first
            return Sym(zero, self.seen(COMPARE[op], left, right), ("bool",))
        if op in (ast.Lt, ast.LtE, ast.Gt, ast.GtE):
            self.not_null(left)
            self.not_null(right)
        if identity:
            op = ast.Eq if op is ast.Is else ast.NotEq
        found = self.facts.decide(terms.compared(first, op, second))
        if isinstance(found, ast.Constant):
            return bool(found.value)
        if terms.text(first) == terms.text(second) and op in (ast.Eq, ast.NotEq):
            return op is ast.Eq
        return Sym(found, self.seen(COMPARE[op], left, right), ("bool",))

    def enforce(self, condition: ast.expr, reason: str) -> None:
        """The code goes on only where a condition holds."""
        open_ = self.facts.decide(condition)
        if isinstance(open_, ast.Constant) and not open_.value:
            raise Raised(reason)
        if not isinstance(open_, ast.Constant):
            self.require(open_)
            self.facts.learn(open_, True)

    def is_none(self, value: Any, positive: bool) -> Any:
        if isinstance(value, Mix):
            truth, seen = self.truth(value)
            if isinstance(truth, bool):
                return truth != positive
            return Sym(
                terms.negation(truth) if positive else truth,
                self.seen(lambda v: bool(v) != positive, seen),
                ("bool",),
            )
        if isinstance(value, Config) and value.optional and value.path:
            none = terms.compare(terms.name(".".join(value.path)), ast.Is, ast.Constant(None))
            return Sym(none if positive else terms.negation(none), value.absent == positive, ("bool",))
        if not isinstance(value, Sym):
            return (value is None) == positive
        if value.node is None:
            return (value.value is None) == positive if value.value is not UNKNOWN else not positive
        certain = (value.types and "None" not in value.types) or (
            isinstance(value.node, ast.BinOp | ast.Compare | ast.Call | ast.List)
            and not terms.is_given(value.node)
        )
        if certain:
            return not positive
        asked = self.facts.decide(self.none_test(value.node))
        if isinstance(asked, ast.Constant):
            return bool(asked.value) == positive
        return Sym(
            asked if positive else terms.negation(asked),
            self.seen(lambda v: (v is None) == positive, value),
            ("bool",),
        )

    def none_test(self, node: ast.expr) -> ast.expr:
        """`x is None`, looked up on both sides of a conditional expression."""
        if isinstance(node, ast.IfExp):
            then, other = self.none_test(node.body), self.none_test(node.orelse)
            return terms.conditional(node.test, then, other)
        if isinstance(node, ast.Constant):
            return ast.Constant(node.value is None)
        if isinstance(node, ast.BinOp | ast.Compare | ast.Call | ast.List) and not terms.is_given(node):
            return ast.Constant(False)
        return ast.Compare(node, [ast.Is()], [ast.Constant(None)])

    def hashable(self, value: Any) -> Any:
        if isinstance(value, Sym):
            raise Unsupported("a key that depends on the config")
        return value

    def as_list(self, value: Any) -> ListValue:
        """A value as a list that can be added to."""
        if isinstance(value, ListValue):
            return value
        if isinstance(value, list | tuple | set | range | dict):
            return ListValue(value)
        if isinstance(value, Sym) and value.node is not None:
            return ListValue.of([("all", value)])
        if isinstance(value, Iter):
            return ListValue.of([("all", Sym(self.iterable(value), UNKNOWN))])
        if isinstance(value, Sym) and isinstance(value.value, list | tuple):
            return ListValue([Sym(None, item) for item in value.value])
        if hasattr(value, "__iter__") and not symbolic(value):
            return ListValue(list(value))
        raise Unsupported(f"{type(value).__name__} is not a list")

    def iterable(self, value: Any) -> ast.expr:
        """What stands after `in` of a loop."""
        if isinstance(value, Iter):
            parts = [self.iterable(part) for part in value.parts]
            if value.kind == "enumerate" and value.start != 0:
                raise Unsupported("enumerate from another start")
            return terms.call(value.kind, *parts)
        return self.node(value)


def _one_module(value: ListValue) -> bool:
    return value.plain and len(value.parts) == 1 and isinstance(value.parts[0][1], Mod)


def broadcast(one: list[Any], two: list[Any]) -> list[Any]:
    """The sizes of an operation on two tensors."""
    longer, shorter = (one, two) if len(one) >= len(two) else (two, one)
    padded = [1] * (len(longer) - len(shorter)) + list(shorter)
    return [b if type(a) is int and a == 1 else a for a, b in zip(longer, padded, strict=True)]


def _nonzero(node: ast.expr) -> list[ast.expr]:
    """That a number is not zero, on either side of a choice."""
    if isinstance(node, ast.IfExp):
        then = [terms.either([terms.negation(node.test), one]) for one in _nonzero(node.body)]
        return then + [terms.either([node.test, one]) for one in _nonzero(node.orelse)]
    if terms.is_constant(node) and terms.value_of(node):
        return []
    return [terms.compare(node, ast.NotEq, terms.constant(0))]


def _operator(op: type[ast.operator]) -> Any:
    import operator

    more = {
        ast.BitOr: operator.or_,
        ast.BitAnd: operator.and_,
        ast.MatMult: operator.matmul,
        ast.BitXor: operator.xor,
    }
    return terms.BINARY.get(op) or {**more, ast.LShift: operator.lshift, ast.RShift: operator.rshift}[op]
