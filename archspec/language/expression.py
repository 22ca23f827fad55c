"""Expressions of the spec language: Python's own syntax, whitelisted, interpreted over its AST.

Nothing is ever passed to ``eval``. :class:`Evaluator` walks the tree over exact Python values;
:mod:`archspec.symbolic.builder` walks the same tree over numbers that carry a SymPy expression.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from archspec.errors import Place, Problem, SpecError, did_you_mean
from archspec.language.operations import BINARY, COMPARE, MAX_BITS
from archspec.language.operations import FUNCTIONS as FUNCTIONS
from archspec.language.operations import MAX_ITEMS as MAX_ITEMS
from archspec.language.values import describe as describe
from archspec.language.yaml_reader import Scalar

MAX_EXPRESSION = 4_000
MAX_WORK = 1_000_000  # some seconds
SEEN = 100_000  # trees of which is kept what they read: each is asked again for every config

_HELP = "an expression is Python: names of config fields, arithmetic, comparisons, `a if c else b`, `x for i in range(n)`"
_NODES: tuple[type[ast.AST], ...] = (
    *(
        ast.Constant,
        ast.Name,
        ast.Load,
        ast.Store,
        ast.Attribute,
        ast.Subscript,
        ast.Slice,
        ast.List,
        ast.Tuple,
    ),
    *(ast.Dict, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword),
    *(
        ast.ListComp,
        ast.GeneratorExp,
        ast.DictComp,
        ast.comprehension,
        ast.operator,
        ast.unaryop,
        ast.boolop,
        ast.cmpop,
    ),
)
_NAMES = {ast.Lambda: "a lambda", ast.NamedExpr: "`:=`", ast.JoinedStr: "an f-string", ast.Starred: "`*`"}
_CONSTANTS = {"true": "True", "false": "False", "null": "None"}
METHODS = frozenset(
    {"split", "startswith", "endswith", "lower", "strip", "get", "index", "count", "requires_grad_", "routed"}
)


class Expression(NamedTuple):
    """A parsed expression and where it stands."""

    tree: ast.expr
    text: str
    place: Place
    path: str = ""

    def at(self, node: ast.AST) -> Place:
        """The place in the file of one node of this expression."""
        line = getattr(node, "lineno", 1)
        lines = f"({self.text}\n)".split("\n")
        whole = lines[line - 1].encode() if line <= len(lines) else b""  # ast counts bytes
        start, end = getattr(node, "col_offset", 1), getattr(node, "end_col_offset", 1)
        column = len(whole[:start].decode(errors="ignore"))
        single = getattr(node, "end_lineno", line) == line
        width = max(1, len(whole[:end].decode(errors="ignore")) - column) if single else 1
        first = column - 1 + self.place.column if line == 1 else column + 1
        return Place(self.place.source, self.place.line + line - 1, max(1, first), width)


class EvaluationError(Exception):
    """A value that an expression cannot take here; callers turn it into an error with a place."""

    def __init__(self, message: str, expression: Expression, node: ast.AST, help_: str = "") -> None:
        super().__init__(message)
        self.message, self.expression, self.node, self.help = message, expression, node, help_

    def problem(self) -> Problem:
        return Problem(self.message, self.expression.at(self.node), self.expression.path, self.help)


def parse(scalar: Scalar, path: str = "", skip: int = 0) -> Expression:
    """A scalar's text as an expression; ``skip`` leading characters (an ``=``) are not part of it.

    Errors: :class:`SpecError` at line and column for text that is not a whitelisted expression.
    """
    text = scalar.raw[skip:]
    indent = len(text) - len(text.lstrip()) if "\n" not in text[: len(text) - len(text.lstrip())] else 0
    text = text[indent:]
    place = scalar.place._replace(column=scalar.place.column + skip + indent + int(scalar.quoted))
    if len(text) > MAX_EXPRESSION:
        _reject(
            f"an expression longer than {MAX_EXPRESSION:,} characters",
            place,
            path,
            "give its parts names in `where:`",
        )
    try:
        tree: ast.expr = python(f"({text}\n)").body  # type: ignore[attr-defined]
    except SyntaxError as error:
        message, line, column = _syntax_error(text, error)
        at = Place(place.source, place.line + line - 1, column - 1 + place.column if line == 1 else column)
        _reject(f"not an expression: {message}", at, path, _HELP)
    except (RecursionError, MemoryError, ValueError) as error:
        _reject(f"not an expression: {error or type(error).__name__}", place, path, _HELP)
    expression = Expression(tree, text, place, path)
    _check(expression)
    return expression


def python(text: str, mode: str = "eval") -> ast.AST:
    """Python's own tree of a text; what Python only warns of (`1if x else 2`) is an error too."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)
        return ast.parse(text, mode=mode)


def _syntax_error(text: str, error: SyntaxError) -> tuple[str, int, int]:
    """What Python says of a text, without the parentheses that the parser put around it."""
    line, column = error.lineno or 1, (error.offset or 2) - (1 if error.lineno == 1 else 0)
    if line <= text.count("\n") + 1 and column > 0:
        return error.msg, line, column
    try:
        python(text.replace("\n", " "))
    except SyntaxError as bare:
        before = text[: max(0, (bare.offset or 1) - 1)]
        return bare.msg, before.count("\n") + 1, len(before) - before.rfind("\n")
    except (RecursionError, MemoryError, ValueError):
        pass
    return error.msg, 1, 1


def _check(expression: Expression) -> None:
    depth = 0
    level: list[ast.AST] = [expression.tree]
    while level:
        depth += 1
        if depth > 60:
            _reject(
                "an expression nested deeper than 60 levels",
                expression.place,
                expression.path,
                "use `where:`",
            )
        below: list[ast.AST] = []
        for node in level:
            what = _NAMES.get(type(node), type(node).__name__)
            if not isinstance(node, _NODES):
                _reject(
                    f"{what} is not part of the spec language", expression.at(node), expression.path, _HELP
                )
            if isinstance(node, ast.Constant) and not isinstance(node.value, int | float | str | bool | None):
                _reject(
                    f"{node.value!r} has no meaning in a spec", expression.at(node), expression.path, _HELP
                )
            if isinstance(node, ast.Name) and node.id in _CONSTANTS:
                _reject(
                    f"{node.id} is not Python",
                    expression.at(node),
                    expression.path,
                    f"write {_CONSTANTS[node.id]}",
                )
            if isinstance(node, ast.Name) and node.id.startswith("__"):
                _reject(
                    f"{node.id} is not a name of the spec language",
                    expression.at(node),
                    expression.path,
                    _HELP,
                )
            if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
                _reject(
                    f".{node.attr} is not part of the spec language",
                    expression.at(node),
                    expression.path,
                    _HELP,
                )
            if isinstance(node, ast.Call) and not _callable(node.func):
                _reject("only names can be called", expression.at(node.func), expression.path, _HELP)
            below.extend(ast.iter_child_nodes(node))
        level = below


def _callable(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and node.attr in METHODS)


def _reject(message: str, place: Place, path: str, help_: str) -> NoReturn:
    raise SpecError(Problem(message, place, path, help_))


@lru_cache(maxsize=SEEN)
def names(tree: ast.AST) -> frozenset[str]:
    """The names that an expression reads."""
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


Locals = dict[str, Any]
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SEQUENCES = (
    list,
    tuple,
    str,
    range,
)  # as a tuple: `list | tuple` would be made anew at each of millions of steps
_ITEMISED = (*_SEQUENCES, dict)
_METHODS_OF: dict[type, tuple[str, ...]] = {
    str: ("split", "startswith", "endswith", "lower", "strip"),
    dict: ("get",),
    list: ("index", "count"),
}


class Evaluator:
    """Interprets expressions over exact Python values.

    ``name`` gives the value of a name that no loop binds; ``call`` that of a call to something that
    is not one of :data:`FUNCTIONS`. Both are overridden by those who have names and calls to give.
    """

    expression: Expression
    work: int = 0  # what was done so far, so that every evaluation ends

    def name(self, name: str, node: ast.Name) -> Any:
        self.fail(f"{name} is not known", node, did_you_mean(name, FUNCTIONS))

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        self.fail(f"{name} is not a function of the spec language", node, did_you_mean(name, FUNCTIONS))

    def spend(self, work: int, node: ast.AST) -> None:
        """Counts the work of an evaluation, and ends one that is out of all proportion."""
        self.work += work
        if self.work > MAX_WORK:
            self.fail(f"this takes more than {MAX_WORK:,} steps", node, "no model's config needs as many")

    def method(self, value: Any, name: str, node: ast.Call, local: Locals) -> Any:
        if node.keywords:
            self.fail(f".{name} takes no keywords", node)
        arguments = [self.visit(argument, local) for argument in node.args]
        if name in _METHODS_OF.get(type(value), ()):
            return self.guarded(getattr(value, name), arguments, node)
        self.fail(f".{name} does not apply to {describe(value)}", node)

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        self.fail(f"{describe(value)} has no field {name}", node)

    def truth(self, value: Any, node: ast.expr) -> bool:
        return bool(value)

    def evaluate(self, expression: Expression, local: Locals | None = None) -> Any:
        """The value of an expression; errors are :class:`EvaluationError`."""
        before = getattr(self, "expression", None)
        self.expression = expression
        try:
            return self.visit(expression.tree, local if local is not None else {})
        except RecursionError:
            self.fail("the definitions go round in a circle", expression.tree, "break the circle")
        finally:
            if before is not None:
                self.expression = before

    def fail(self, message: str, node: ast.AST, help_: str = "") -> NoReturn:
        raise EvaluationError(message, self.expression, node, help_)

    def guarded(self, function: Callable[..., Any], arguments: Iterable[Any], node: ast.expr) -> Any:
        """Applies a Python function and turns what it raises into an error with a place."""
        arguments = list(arguments)
        try:
            for argument in arguments:
                if isinstance(argument, _SEQUENCES):
                    self.spend(len(argument) // 8, node)
            value = function(*arguments)
        except ZeroDivisionError:
            self.fail(f"division by zero in `{ast.unparse(node)}`", node)
        except (TypeError, ValueError, OverflowError, IndexError, KeyError) as error:
            self.fail(f"`{ast.unparse(node)}`: {error}", node)
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            self.fail(f"`{ast.unparse(node)}` is too large", node)
        if isinstance(value, complex):
            self.fail(f"`{ast.unparse(node)}` is not a real number", node)
        return value

    def visit(self, node: ast.expr, local: Locals) -> Any:
        return getattr(self, _VISITORS[type(node)])(node, local)

    def visit_Constant(self, node: ast.Constant, local: Locals) -> Any:
        return node.value

    def visit_Name(self, node: ast.Name, local: Locals) -> Any:
        return local[node.id] if node.id in local else self.name(node.id, node)

    def visit_List(self, node: ast.List | ast.Tuple, local: Locals) -> Any:
        return [self.visit(item, local) for item in node.elts]

    def visit_Dict(self, node: ast.Dict, local: Locals) -> Any:
        if any(key is None for key in node.keys):
            self.fail("`**` has no meaning inside braces", node)
        pairs = [(k, v) for k, v in zip(node.keys, node.values, strict=True) if k is not None]
        return {self.key(k, local): self.visit(v, local) for k, v in pairs}

    def key(self, node: ast.expr, local: Locals) -> Any:
        value = self.visit(node, local)
        if not isinstance(getattr(value, "value", value), int | str):  # a symbolic number has one
            self.fail(f"`{ast.unparse(node)}` is {describe(value)}, not a name", node)
        return value

    def visit_Attribute(self, node: ast.Attribute, local: Locals) -> Any:
        return self.attribute(self.visit(node.value, local), node.attr, node)

    def visit_Subscript(self, node: ast.Subscript, local: Locals) -> Any:
        value = self.visit(node.value, local)
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            index: Any = slice(*(self.index(self.visit(p, local)) if p else None for p in parts))
        else:
            index = self.visit(node.slice, local)
        return self.item(value, index, node)

    def index(self, value: Any) -> Any:
        return value

    def item(self, value: Any, index: Any, node: ast.Subscript) -> Any:
        if not isinstance(value, _ITEMISED):
            self.fail(f"`{ast.unparse(node.value)}` is {describe(value)}, not a list", node)
        if isinstance(index, int) and not isinstance(value, dict) and not -len(value) <= index < len(value):
            self.fail(f"`{ast.unparse(node.value)}` has {len(value)} items, item {index} was asked for", node)
        return self.guarded(operator.getitem, (value, index), node)

    def visit_BinOp(self, node: ast.BinOp, local: Locals) -> Any:
        function = BINARY.get(type(node.op))
        if function is None:
            self.fail(f"the operator {type(node.op).__name__} is not part of the spec language", node)
        left, right = self.visit(node.left, local), self.visit(node.right, local)
        for value, part in ((left, node.left), (right, node.right)):
            if value is None:
                self.fail(
                    f"`{ast.unparse(part)}` is null",
                    part,
                    "give it a value, or say what null means with `if`",
                )
        return self.guarded(function, (left, right), node)

    def visit_UnaryOp(self, node: ast.UnaryOp, local: Locals) -> Any:
        value = self.visit(node.operand, local)
        if isinstance(node.op, ast.Not):
            return self.negation(value, node.operand)
        return self.guarded(operator.neg if isinstance(node.op, ast.USub) else operator.pos, (value,), node)

    def negation(self, value: Any, node: ast.expr) -> Any:
        return not self.truth(value, node)

    def visit_BoolOp(self, node: ast.BoolOp, local: Locals) -> Any:
        value: Any = None
        for part in node.values:
            value = self.visit(part, local)
            if self.truth(value, part) != isinstance(node.op, ast.And):
                break
        return value

    def visit_Compare(self, node: ast.Compare, local: Locals) -> Any:
        left = self.visit(node.left, local)
        result: Any = True
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.visit(part, local)
            if (left is None or right is None) and isinstance(op, ORDERED):
                self.fail(f"`{ast.unparse(node)}` compares null", node)
            result = self.compare(op, left, right, node)
            if not result:
                break
            left = right
        return result

    def compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare) -> Any:
        return self.guarded(COMPARE[type(op)], (left, right), node)

    def visit_IfExp(self, node: ast.IfExp, local: Locals) -> Any:
        chosen = node.body if self.truth(self.visit(node.test, local), node.test) else node.orelse
        return self.visit(chosen, local)

    def visit_Call(self, node: ast.Call, local: Locals) -> Any:
        if isinstance(node.func, ast.Attribute):
            return self.method(self.visit(node.func.value, local), node.func.attr, node, local)
        assert isinstance(node.func, ast.Name)  # _check allows no other
        name = node.func.id
        if name not in FUNCTIONS or name in local:
            return self.call(name, node, local)
        if node.keywords:
            self.fail(f"{name}() takes no keywords here", node)
        arguments = [self.visit(argument, local) for argument in node.args]
        return self.function(name, arguments, node)

    def function(self, name: str, arguments: list[Any], node: ast.Call) -> Any:
        value = self.guarded(FUNCTIONS[name], arguments, node)
        if name in ("enumerate", "zip", "reversed", "set"):
            return self.guarded(list, (value,), node)
        return value

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp, local: Locals) -> list[Any]:
        first = node.generators[0]
        if len(node.generators) == 1 and not first.ifs and not names(first.target) & names(node.elt):
            return self.repeated(node, self.iterate(self.visit(first.iter, local), first.iter), local)
        return [self.visit(node.elt, inner) for inner in self.turns(node.generators, local)]

    def repeated(
        self, node: ast.ListComp | ast.GeneratorExp, items: Iterable[Any], local: Locals
    ) -> list[Any]:
        """A loop whose element does not look at the loop's variable is evaluated once."""
        count = sum(1 for _ in items)
        self.spend(count // 8, node)
        return [self.visit(node.elt, local)] * count if count else []

    def visit_DictComp(self, node: ast.DictComp, local: Locals) -> dict[Any, Any]:
        turns = self.turns(node.generators, local)
        return {self.key(node.key, inner): self.visit(node.value, inner) for inner in turns}

    def turns(self, generators: list[ast.comprehension], local: Locals) -> Iterator[Locals]:
        """The local names of each turn of nested loops."""
        first, rest = generators[0], generators[1:]
        for item in self.iterate(self.visit(first.iter, local), first.iter):
            self.spend(3, first.iter)
            inner = dict(local)
            self.bind(first.target, item, inner)
            if all(self.truth(self.visit(test, inner), test) for test in first.ifs):
                if rest:
                    yield from self.turns(rest, inner)
                else:
                    yield inner

    def iterate(self, value: Any, node: ast.expr) -> Iterable[Any]:
        if not isinstance(value, list | tuple | range | dict):
            self.fail(f"`{ast.unparse(node)}` is {describe(value)}, it cannot be looped over", node)
        if len(value) > MAX_ITEMS:
            self.fail(f"`{ast.unparse(node)}` has more than {MAX_ITEMS:,} items", node)
        return value

    def bind(self, target: ast.expr, item: Any, local: Locals) -> None:
        if isinstance(target, ast.Name):
            local[target.id] = item
        elif (
            isinstance(target, ast.Tuple | ast.List)
            and isinstance(item, list | tuple)
            and len(item) == len(target.elts)
        ):
            for part, value in zip(target.elts, item, strict=True):
                self.bind(part, value, local)
        else:
            self.fail(f"`{ast.unparse(target)}` does not match what the loop gives", target)


_VISITORS: dict[type[ast.expr], str] = {
    getattr(ast, name.removeprefix("visit_")): name for name in dir(Evaluator) if name.startswith("visit_")
}
_VISITORS[ast.Tuple] = _VISITORS[ast.List]
_VISITORS[ast.GeneratorExp] = _VISITORS[ast.ListComp]
