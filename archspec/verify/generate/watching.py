"""A builder that notes what a config comes to: which way each test goes, which conditions are asked, what
refuses it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.language.expression import ORDERED, EvaluationError, Expression, Locals, names
from archspec.specs.field_kinds import WIDE, is_deep
from archspec.specs.records import Module, Spec
from archspec.specs.references import expressions, reads
from archspec.tree.builder import Builder, Frame
from archspec.verify.generate.faults import at_fault, equals

Branch = tuple[int, bool]


class Test(NamedTuple):
    """A node whose outcome is watched, and its module; at an edge also the call that brings a number to
    it, and its module.
    """

    node: ast.expr
    module: Module | None
    edge: bool = False
    call: tuple[ast.AST, Module | None] | None = None


class Refusing(NamedTuple):
    """What the expression that refuses a config reads, and where: its module, sub-config (`text_config.`)
    and spec.
    """

    names: Set[str]
    module: Module | None
    path: str
    spec: Spec
    calls: tuple[tuple[ast.AST, Module | None], ...]

    def given_as(self, name: str) -> str:
        return given_as(name, self.calls)


class WatchedScope(Scope):
    """A config's scope that notes how each test within computed defaults and derived fields came out.

    Not the conditions of the spec, which are to be broken and not only to be taken both ways.
    """

    def __init__(self, spec: Spec, raw: Mapping[str, Any]) -> None:
        super().__init__(spec, raw)
        self.tests: dict[int, Test] = {}
        self.taken: set[Branch] = set()

    def truth(self, value: Any, node: ast.expr) -> bool:
        outcome = super().truth(value, node)
        field = self.spec.fields.get(self._pending[-1]) if self._pending else None
        if self._pending and not (
            field is not None and field.default is not None and field.default.tree is node
        ):
            self.tests.setdefault(id(node), Test(node, None))
            self.taken.add((id(node), outcome))
        return outcome


class Watcher(Builder):
    """A builder that notes how each test came out, and what refused a config; a test is known by its node.

    Tests of its own: whether a quotient, rounded down or up, would be another with one more above, and
    whether
    a condition would hold with one more of what the module is called with.
    """

    def __init__(
        self, scope: Scope, tests: dict[int, Test], rounded_up: set[int], optional: set[str]
    ) -> None:
        super().__init__(scope)
        self.tests, self.rounded_up, self.optional = tests, rounded_up, optional
        self.module: Module | None = None
        self.taken: set[Branch] = set()
        self.used: set[tuple[str, bool]] = (
            set()
        )  # of the optional ones: what modules read, and whether the config gives it
        self.demanded: set[int] = set()  # the modules' conditions that were come to
        self.refusing: Refusing | None = None
        self.equal: dict[str, Any] = {}  # what would mend what the condition that refuses finds unequal
        self.quiet = False
        self.asked: Expression | None = None  # the condition of which the bounds are noted
        self.bounds: set[tuple[str, int]] = set()
        self.calls: list[
            tuple[ast.AST, Module | None]
        ] = []  # those under way, each with the module that it is in

    def evaluate(self, expression: Expression, local: Locals | None = None) -> Any:
        try:
            return super().evaluate(expression, local)
        except (EvaluationError, ArchspecError):
            self.note_refusal(reads(expression.tree), self.frames[-1])
            raise

    def demand(self, condition: Expression, frame: Frame) -> None:
        self.demanded.add(id(condition))
        if condition is self.asked:
            self.note_bounds(condition, frame)
        try:
            super().demand(condition, frame)
        except (EvaluationError, ArchspecError):

            def value(node: ast.expr) -> Any:
                return super(Watcher, self).evaluate(condition._replace(tree=node), dict(frame.local))

            self.note_refusal(at_fault(condition.tree, value), frame)
            self.equal = equals(condition, frame.scope, value)
            raise
        if self.module is not None and self.module.parameters:
            self.quiet = True
            for changed in one_more(condition, tuple(self.module.parameters)):
                self.note_edge(changed.tree, self.holds(changed, frame))
            self.quiet = False

    def note_refusal(self, fields: Set[str], frame: Frame) -> None:
        self.refusing = self.refusing or Refusing(
            fields, self.module, frame.scope.origin.path, frame.scope.spec, tuple(self.calls)
        )

    def note_bounds(self, condition: Expression, frame: Frame) -> None:
        """What a field is held against, in numbers: `pad_token_id < num_embeddings`, in each call of the
        module.
        """
        for node in ast.walk(condition.tree):
            if not isinstance(node, ast.Compare) or not all(isinstance(op, ORDERED) for op in node.ops):
                continue
            sides = [node.left, *node.comparators]
            held = [
                side.id
                for side in sides
                if isinstance(side, ast.Name) and frame.scope.canonical(side.id) in frame.scope.spec.fields
            ]
            for side in sides if held else ():
                try:
                    value = super().visit(side, dict(frame.local))
                except (EvaluationError, ArchspecError):
                    continue
                if type(value) is int:
                    self.bounds |= {
                        (given_as(frame.scope.canonical(name), self.calls), value)
                        for name in held
                        if ast.unparse(side) != name
                    }

    def holds(self, condition: Expression, frame: Frame) -> bool:
        try:
            return bool(super().evaluate(condition, dict(frame.local)))
        except (EvaluationError, ArchspecError):
            return False

    def guarded(self, function: Callable[..., Any], arguments: Iterable[Any], node: ast.expr) -> Any:
        arguments = list(arguments)
        divided = isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and not self.quiet
        if divided and all(type(number) is int for number in arguments):
            self.note_edge(node, 1 < arguments[1] == arguments[0] % arguments[1] + 1)
        elif (
            not self.quiet
            and id(node) in self.rounded_up
            and all(type(number) is int and number for number in arguments)
        ):
            self.note_edge(node, arguments[0] % arguments[1] == 0)
        return super().guarded(function, arguments, node)

    def note(self, node: ast.expr, outcome: bool) -> None:
        self.tests.setdefault(id(node), Test(node, self.module))
        self.taken.add((id(node), outcome))

    def note_edge(self, node: ast.expr, outcome: bool) -> None:
        """The same for each call of the module, if a number of the call's enters."""
        brought = self.module is not None and names(node) & {*self.module.parameters}
        call = self.calls[-1] if brought and self.calls else None
        number = hash((id(node), id(call[0] if call else None)))
        self.tests.setdefault(number, Test(node, self.module, True, call))
        self.taken.add((number, outcome))

    def truth(self, value: Any, node: ast.expr) -> bool:
        outcome = super().truth(value, node)
        if not self.quiet:
            self.note(node, outcome)
        return outcome

    def name(self, name: str, node: ast.Name) -> Any:
        value = super().name(name, node)
        if (
            name in self.optional
            and self.module is not None
            and self.frames[-1].scope is self.frames[0].scope
        ):
            self.used.add((name, name in self.frames[0].scope.raw))
        if (
            isinstance(value, bool) and not self.quiet
        ):  # a flag that is handed on: `bias=mlp_bias` wants both values
            self.note(node, value)
        return value

    def visit_Name(self, node: ast.Name, local: Locals) -> Any:
        value = super().visit_Name(node, local)
        if isinstance(value, bool) and not self.quiet and (call := self.bringing(node.id)) is not None:
            number = hash(
                (id(node), id(call[0]), "flag")
            )  # in each call: what masks it is another thing there
            self.tests.setdefault(number, Test(node, self.module, True, call))
            self.taken.add((number, value))
        return value

    def visit_BoolOp(self, node: ast.BoolOp, local: Locals) -> Any:
        """What may mask a flag that is handed on is watched in each call too."""
        flags = [
            call
            for value in node.values
            if isinstance(value, ast.Name) and (call := self.bringing(value.id)) is not None
        ]
        for value in node.values if flags and not self.quiet else ():
            if isinstance(value, ast.Compare):
                number = hash((id(value), id(flags[0][0]), "flag"))
                self.tests.setdefault(number, Test(value, self.module, True, flags[0]))
                self.taken.add((number, bool(self.visit(value, local))))
        return super().visit_BoolOp(node, local)

    def instantiate(self, module: Module, scope: Scope, arguments: Locals, node: ast.AST) -> Any:
        outer, self.module = self.module, module
        self.calls.append((node, outer))
        try:
            return super().instantiate(module, scope, arguments, node)
        finally:
            self.module = outer
            self.calls.pop()

    def bringing(self, name: str) -> tuple[ast.AST, Module] | None:
        """The call of those under way that gives a parameter what it has, if that is no constant; and the
        call's module.
        """
        module = self.module
        for call, caller in reversed(self.calls):
            given = handed(module, name, call) if module is not None else None
            if caller is None or not isinstance(given, ast.Name | ast.Compare):
                return None
            if not (isinstance(given, ast.Name) and given.id in caller.parameters):
                return call, caller
            module, name = caller, given.id
        return None


def given_as(name: str, calls: Sequence[tuple[ast.AST, Module | None]]) -> str:
    """The config's field that a field is given the value of by the calls under way
    (`pad_token_id=t2u_pad_token_id`).
    """
    for call, _ in reversed(calls):
        keywords = call.keywords if isinstance(call, ast.Call) else []
        name = next(
            (word.value.id for word in keywords if word.arg == name and isinstance(word.value, ast.Name)),
            name,
        )
    return name


def handed(module: Module, parameter: str, call: ast.AST) -> ast.expr | None:
    """What a call gives a module for one of its parameters, if it does."""
    if not isinstance(call, ast.Call) or parameter not in module.parameters:
        return None
    position = [*module.parameters].index(parameter)
    named = [keyword.value for keyword in call.keywords if keyword.arg == parameter]
    return next(iter([*call.args[position : position + 1], *named]), None)


@cache
def one_more(condition: Expression, parameters: tuple[str, ...]) -> list[Expression]:
    """The condition with one more of each parameter that it reads, one at a time."""
    found = []
    for name in sorted(names(condition.tree) & {*parameters}):
        tree = _More(name).visit(copy.deepcopy(condition.tree))
        found.append(condition._replace(tree=ast.fix_missing_locations(tree)))
    return found


class _More(ast.NodeTransformer):
    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.BinOp(node, ast.Add(), ast.Constant(1)) if node.id == self.name else node


def rounded_up(spec: Spec) -> set[int]:
    """The quotients of a spec, by their nodes, that are rounded up: `ceil(n / m)`."""
    calls = (
        node
        for expression in expressions(spec)
        for node in ast.walk(expression.tree)
        if isinstance(node, ast.Call)
    )
    found = [call.args[0] for call in calls if ast.unparse(call.func) == "ceil" and call.args]
    return {id(node) for node in found if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)}


def optional(spec: Spec) -> set[str]:
    """The fields that a config may leave out, but for those that would make it a large one."""
    fields = (
        field
        for field in spec.fields.values()
        if field.default and not isinstance(field.default.tree, ast.Call)
    )
    return {
        field.name for field in fields if field.computed or not (is_deep(field.name) or field.name == WIDE)
    }
