"""Operators, tests, choices, functions and loops of the spec language over Python's numbers.

A domain of other numbers (symbolic, recording) is a subclass of :class:`Exact`. Each hook has the evaluator
that asks as its last argument: to visit parts of an expression, to refuse with a place, to count the work.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator

from archspec.language.expression import Locals
from archspec.language.operations import COMPARE, FUNCTIONS, MAX_ITEMS, METHODS
from archspec.language.values import describe
from archspec.typing_light import Any, NoReturn, Protocol

Comprehension = ast.ListComp | ast.GeneratorExp
SEQUENCES = (list, tuple, str, range)  # a tuple, because `list | tuple` would be built again at every step
_ITEMISED = (*SEQUENCES, dict)
_PLAIN = (int, str, float, type(None))


class Walk(Protocol):
    """The part of :class:`archspec.language.evaluator.Evaluator` that a domain uses."""

    def visit(self, node: ast.expr, local: Locals) -> Any: ...
    def is_true(self, value: Any, node: ast.expr) -> bool: ...
    def apply_function(
        self, function: Callable[..., Any], arguments: Iterable[Any], node: ast.expr
    ) -> Any: ...
    def key(self, node: ast.expr, local: Locals) -> Any: ...
    def bind(self, target: ast.expr, item: Any, local: Locals) -> None: ...
    def spend(self, work: int, node: ast.AST) -> None: ...
    def has_equal_turns(self, node: Comprehension) -> bool: ...
    def meaning(self, node: ast.expr) -> ast.expr: ...
    def fail(self, message: str, node: ast.AST, help_: str = "") -> NoReturn: ...


class Exact:
    """Python's own numbers: decisions are taken and forgotten."""

    def is_true(self, value: Any, node: ast.expr, at: Walk) -> bool:
        return bool(value)

    def junction(self, every: bool, parts: Iterator[tuple[Any, ast.expr]], at: Walk) -> Any:
        """Return `and` (every) or `or` of parts, which are evaluated when they are needed."""
        value: Any = None
        for value, node in parts:
            if at.is_true(value, node) != every:
                break
        return value

    def chain(self, parts: Iterator[tuple[Any, ast.Compare]], at: Walk) -> Any:
        """Return `a < b < c`, given as `a < b`, `b < c`."""
        value: Any = True
        while value and (part := next(parts, None)):
            value = part[0]
        return value

    def compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare, at: Walk) -> Any:
        return at.apply_function(COMPARE[type(op)], (left, right), node)

    def choice(self, test: Any, node: ast.IfExp, local: Locals, at: Walk) -> Any:
        return at.visit(node.body if at.is_true(test, node.test) else node.orelse, local)

    def apply(self, function: Callable[..., Any], arguments: list[Any], node: ast.expr, at: Walk) -> Any:
        """Apply one of Python's operators or functions; its exceptions become errors with a place."""
        return function(*arguments)

    def function(self, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        if name == "len" and len(arguments) == 1 and hasattr(arguments[0], "length"):
            return arguments[0].length
        value = at.apply_function(FUNCTIONS[name], arguments, node)
        if name in ("enumerate", "zip", "reversed", "set"):
            return at.apply_function(list, (value,), node)
        return value

    def method(self, value: Any, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        value = self.to_list(value)
        if name in METHODS.get(type(value), ()):
            return at.apply_function(getattr(value, name), arguments, node)
        at.fail(f"{describe(value)} has no method .{name}()", node, f"remove .{name}()")

    def item(self, value: Any, index: Any, node: ast.Subscript, at: Walk) -> Any:
        value = self.to_list(value)
        if not isinstance(value, _ITEMISED):
            help_ = f"remove the index [{ast.unparse(node.slice)}]"
            at.fail(f"`{ast.unparse(node.value)}` is {describe(value)}, not a list", node, help_)
        if isinstance(index, int) and not isinstance(value, dict) and not -len(value) <= index < len(value):
            text = f"`{ast.unparse(node.value)}` has {len(value)} items"
            at.fail(f"{text}, so it has no item {index}", node, "count items from 0, or give a longer list")
        return at.apply_function(operator.getitem, (value, index), node)

    def iterate(self, value: Any, node: ast.expr, at: Walk) -> Iterable[Any]:
        value = self.to_list(value)
        if not isinstance(value, list | tuple | range | dict):
            text = ast.unparse(node)
            is_number = describe(value).startswith("the number")
            help_ = f"write range({text})" if is_number else "loop over a list or range(n)"
            at.fail(f"`{text}` is {describe(value)}, not a list", node, help_)
        if len(value) > MAX_ITEMS:
            at.fail(f"`{ast.unparse(node)}` has more than {MAX_ITEMS:,} items", node, "use smaller values")
        return value

    def evaluate_list(self, node: Comprehension, local: Locals, at: Walk) -> Any:
        """Return the list of a loop's values; equal ones are evaluated once."""
        first = node.generators[0]
        if not at.has_equal_turns(node):
            return [at.visit(node.elt, inner) for inner in self.iterations(node.generators, local, at)]
        count = sum(1 for _ in self.iterate(at.visit(first.iter, local), first.iter, at))
        at.spend(count // 8, node)
        return [at.visit(node.elt, local)] * count if count else []

    def evaluate_dict(self, node: ast.DictComp, local: Locals, at: Walk) -> dict[Any, Any]:
        turns = self.iterations(node.generators, local, at)
        return {at.key(node.key, inner): at.visit(node.value, inner) for inner in turns}

    def iterations(self, generators: list[ast.comprehension], local: Locals, at: Walk) -> Iterator[Locals]:
        """Yield the local names of each iteration of nested loops."""
        first, rest = generators[0], generators[1:]
        for item in self.iterate(at.visit(first.iter, local), first.iter, at):
            at.spend(3, first.iter)
            inner = dict(local)
            at.bind(first.target, item, inner)
            if all(at.is_true(at.visit(test, inner), test) for test in first.ifs):
                if rest:
                    yield from self.iterations(rest, inner, at)
                else:
                    yield inner

    def to_list(self, value: Any) -> Any:
        """Return a value with a Python list in place of the domain's own kind of list."""
        return value

    def length(self, value: Any) -> Any:
        """Return the length of a list, which may be a number of the domain; None for other values."""
        return getattr(value, "length", len(value) if isinstance(value, list) else None)

    def select(self, items: Any, wanted: Callable[[Any], bool]) -> list[Any]:
        """Return the wanted items of a list; the first of them is enough."""
        return [item for item in items if wanted(item)]

    def known_by(self, value: Any) -> Any:
        """Return the cache key of a module's argument: modules are built once for the same arguments."""
        plain = isinstance(value, _PLAIN)
        return (type(value).__name__, value) if plain else getattr(value, "cache_key", id(value))


EXACT = Exact()
