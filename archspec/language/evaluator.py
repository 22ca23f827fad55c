"""The one evaluator of the spec language: it walks an expression's tree.

A subclass, its environment, defines names, calls, attributes and methods: the fields of a config
(:class:`archspec.configs.scope.Scope`), the inside of a module
(:class:`archspec.tree.builder.Builder`), the columns of a sweep. Operators, tests and loops are
evaluated by its domain of numbers (:class:`archspec.language.domain.Exact`).
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from archspec.errors import did_you_mean, list_names
from archspec.language.domain import EXACT, SEQUENCES, Comprehension, Exact
from archspec.language.expression import SEEN, EvaluationError, Expression, Locals, names
from archspec.language.operations import BINARY, FUNCTIONS, MAX_BITS, MAX_ITEMS, total_size
from archspec.language.values import describe, value_of
from archspec.typing_light import Any, NoReturn

MAX_WORK = 300_000  # about a second; the largest model takes 16,000
ITEMS_PER_STEP = 32  # items that are measured or compared in the time of a step
_NULL_HELP = "give it a value, or handle null with `if`"


class Evaluator:
    """Evaluates expressions in an environment, over a domain of numbers.

    An environment overrides ``name``, for a name that no loop binds, ``call``, for a call of something that
    is not one of :data:`archspec.language.operations.FUNCTIONS`, ``attribute`` and ``method``.
    """

    expression: Expression
    domain: Exact = EXACT
    work: int = 0  # what was done so far, so that every evaluation ends

    def name(self, name: str, node: ast.Name) -> Any:
        self.fail(f"{name} is not known", node, did_you_mean(name, FUNCTIONS))

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        self.fail(f"{name} is not a function of the spec language", node, did_you_mean(name, FUNCTIONS))

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        self.fail(f"{name} is not a field of {describe(value)}", node)

    def method(self, value: Any, name: str, node: ast.Call, local: Locals) -> Any:
        return self.domain.method(value, name, self.visit_arguments(f".{name}", node, local), node, self)

    def visit_arguments(self, name: str, node: ast.Call, local: Locals) -> list[Any]:
        """Return the values of a call's arguments, none of which may be a keyword argument."""
        if node.keywords:
            self.fail(f"{name}() does not take keyword arguments", node, "pass the arguments by position")
        return [self.visit(argument, local) for argument in node.args]

    def meaning(self, node: ast.expr) -> ast.expr:
        """Return the expression that a name stands for, if there is one; any other node unchanged."""
        return node

    def spend(self, work: int, node: ast.AST) -> None:
        """Count the work of an evaluation, and refuse one that takes too many steps."""
        self.work += work
        if self.work > MAX_WORK:
            message = f"the config is too large to evaluate (over {MAX_WORK:,} steps)"
            self.fail(message, node, "use smaller values")

    def is_true(self, value: Any, node: ast.expr) -> bool:
        return self.domain.is_true(value, node, self)

    def evaluate(self, expression: Expression, local: Locals | None = None) -> Any:
        before = getattr(self, "expression", None)
        self.expression = expression
        try:
            return self.visit(expression.tree, local if local is not None else {})
        except RecursionError:
            self.fail("the definitions refer to each other in a circle", expression.tree, "remove one")
        finally:
            if before is not None:
                self.expression = before

    def fail(self, message: str, node: ast.AST, help_: str = "") -> NoReturn:
        raise EvaluationError(message, self.expression, node, help_)

    def apply_function(self, function: Callable[..., Any], arguments: Iterable[Any], node: ast.expr) -> Any:
        """Apply a Python function; its exceptions become errors with a place."""
        arguments = list(arguments)
        try:
            for argument in arguments:
                if isinstance(argument, SEQUENCES):
                    self.spend(len(argument) // ITEMS_PER_STEP, node)
            value = self.domain.apply(function, arguments, node, self)
        except ZeroDivisionError:
            self.fail(f"division by zero in `{ast.unparse(node)}`", node, "use a divisor that is not 0")
        except TypeError as error:
            own = str(error) if str(error).startswith("a ") else ""
            kinds = list_names([describe(argument) for argument in arguments], "and")
            self.fail(f"`{ast.unparse(node)}`: {own or f'not defined for {kinds}'}", node, "use other values")
        except (ValueError, OverflowError, IndexError, KeyError) as error:
            self.fail(f"`{ast.unparse(node)}`: {error}", node, "use other values")
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            self.fail(f"`{ast.unparse(node)}` is too large", node, "use smaller values")
        if isinstance(value, complex):
            self.fail(f"`{ast.unparse(node)}` is not a real number", node, "use other values")
        return value

    def check_size(self, value: Any, node: ast.expr) -> Any:
        """Return a value, after a check that it is small enough to compare and to print."""
        size = total_size(value_of(value))
        if size > MAX_ITEMS:
            message = f"`{ast.unparse(node)}` has more than {MAX_ITEMS:,} items, nested ones included"
            self.fail(message, node, "use smaller values")
        self.spend(size // ITEMS_PER_STEP, node)
        return value

    def visit(self, node: ast.expr, local: Locals) -> Any:
        return getattr(self, _VISITORS[type(node)])(node, local)

    def visit_Constant(self, node: ast.Constant, local: Locals) -> Any:
        return node.value

    def visit_Name(self, node: ast.Name, local: Locals) -> Any:
        return local[node.id] if node.id in local else self.name(node.id, node)

    def visit_List(self, node: ast.List | ast.Tuple, local: Locals) -> Any:
        return self.check_size([self.visit(item, local) for item in node.elts], node)

    def visit_Dict(self, node: ast.Dict, local: Locals) -> Any:
        found = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.fail("`**` is not allowed inside braces", node, "write the pairs out")
            found[self.key(key, local)] = self.visit(value, local)
        return self.check_size(found, node)

    def key(self, node: ast.expr, local: Locals) -> Any:
        value = self.visit(node, local)
        if not isinstance(value_of(value), int | str):
            self.fail(f"`{ast.unparse(node)}` is {describe(value)}, not a name", node)
        return value

    def visit_Attribute(self, node: ast.Attribute, local: Locals) -> Any:
        return self.attribute(self.visit(node.value, local), node.attr, node)

    def visit_Subscript(self, node: ast.Subscript, local: Locals) -> Any:
        return self.domain.item(self.visit(node.value, local), self.visit(node.slice, local), node, self)

    def visit_Slice(self, node: ast.Slice, local: Locals) -> slice:
        ends = (node.lower, node.upper, node.step)
        return slice(*(self.visit(end, local) if end else None for end in ends))

    def visit_BinOp(self, node: ast.BinOp, local: Locals) -> Any:
        left, right = self.visit(node.left, local), self.visit(node.right, local)
        for value, part in ((left, node.left), (right, node.right)):
            if value is None:
                self.fail(f"`{ast.unparse(part)}` is null", part, _NULL_HELP)
        return self.check_size(self.apply_function(BINARY[type(node.op)], (left, right), node), node)

    def visit_UnaryOp(self, node: ast.UnaryOp, local: Locals) -> Any:
        value = self.visit(node.operand, local)
        if isinstance(node.op, ast.Not):
            return not self.is_true(value, node.operand)
        operation = operator.neg if isinstance(node.op, ast.USub) else operator.pos
        return self.apply_function(operation, (value,), node)

    def visit_BoolOp(self, node: ast.BoolOp, local: Locals) -> Any:
        parts = ((self.visit(part, local), part) for part in node.values)
        return self.domain.junction(isinstance(node.op, ast.And), parts, self)

    def visit_Compare(self, node: ast.Compare, local: Locals) -> Any:
        if len(node.ops) == 1:
            left, right = self.visit(node.left, local), self.visit(node.comparators[0], local)
            return self.compare(node.ops[0], left, right, node)
        return self.domain.chain(self.compare_pairs(node, local), self)

    def compare_pairs(self, node: ast.Compare, local: Locals) -> Iterator[tuple[Any, ast.Compare]]:
        """Yield the results of the comparisons in `a < b < c`, each with its own node."""
        left = self.visit(node.left, local)
        for part in pairs(node):
            right = self.visit(part.comparators[0], local)
            yield self.compare(part.ops[0], left, right, node), part
            left = right

    def compare(self, op: ast.cmpop, left: Any, right: Any, node: ast.Compare) -> Any:
        if (left is None or right is None) and isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            self.fail(f"`{ast.unparse(node)}` compares null", node, _NULL_HELP)
        for side in (left, right):
            self.spend(total_size(value_of(side)) // ITEMS_PER_STEP, node)
        return self.domain.compare(op, left, right, node, self)

    def visit_IfExp(self, node: ast.IfExp, local: Locals) -> Any:
        return self.domain.choice(self.visit(node.test, local), node, local, self)

    def visit_Call(self, node: ast.Call, local: Locals) -> Any:
        if isinstance(node.func, ast.Attribute):
            return self.method(self.visit(node.func.value, local), node.func.attr, node, local)
        assert isinstance(node.func, ast.Name)  # parsing allows no other
        name = node.func.id
        if name not in FUNCTIONS or name in local:
            return self.call(name, node, local)
        arguments = self.visit_arguments(name, node, local)
        return self.check_size(self.domain.function(name, arguments, node, self), node)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp, local: Locals) -> Any:
        return self.check_size(self.domain.evaluate_list(node, local, self), node)

    def visit_DictComp(self, node: ast.DictComp, local: Locals) -> Any:
        return self.check_size(self.domain.evaluate_dict(node, local, self), node)

    def has_equal_turns(self, node: Comprehension) -> bool:
        first = node.generators[0]
        return len(node.generators) == 1 and not first.ifs and not names(first.target) & names(node.elt)

    def bind(self, target: ast.expr, item: Any, local: Locals) -> None:
        if isinstance(target, ast.Name):
            local[target.id] = item
            return
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        if not parts or not isinstance(item, list | tuple) or len(item) != len(parts):
            help_ = "use as many names as the items have parts"
            self.fail(f"`{ast.unparse(target)}` does not match the items of the loop", target, help_)
        for part, value in zip(parts, item, strict=True):
            self.bind(part, value, local)


@lru_cache(maxsize=SEEN)
def pairs(node: ast.Compare) -> tuple[ast.Compare, ...]:
    """Return `a < b < c` as `a < b`, `b < c`."""
    sides = zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
    return tuple(ast.copy_location(ast.Compare(left, [op], [right]), node) for left, op, right in sides)


_VISITORS: dict[type[ast.expr], str] = {
    getattr(ast, name.removeprefix("visit_")): name for name in dir(Evaluator) if name.startswith("visit_")
}
_VISITORS[ast.Tuple] = _VISITORS[ast.List]
_VISITORS[ast.GeneratorExp] = _VISITORS[ast.ListComp]
