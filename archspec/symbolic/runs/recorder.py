"""Evaluates a config and builds its model over recorded fields, for the sampler of `verify`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

from archspec.configs.origin import Origin
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError
from archspec.language.domain import Walk
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, Expression, Locals, names
from archspec.language.values import value_of
from archspec.specs.records import Module, Spec
from archspec.symbolic.expressions import Condition
from archspec.symbolic.path_conditions import Number, NumberDomain, concrete_values, fix_value
from archspec.symbolic.polynomials import Space
from archspec.symbolic.runs.record import Config, FieldPath, Fork, Known, Met, Read, Run
from archspec.tree.builder import Builder, Frame, Node

TIES = "tie_word_embeddings"
_LAST = 8  # notes that may explain a refusal outside of expressions


class Call(NamedTuple):
    """A call of a module in progress, and the notes of its arguments."""

    node: ast.AST | None
    module: str
    parameters: Container[str]
    notes: list[Condition | Read]


def run(
    spec: Spec, architecture: str, raw: Config, ignored: Expression | None = None, space: Space | None = None
) -> Run:
    """Return the run of a config through an architecture; an ``ignored`` condition refuses nothing."""
    found = Run(raw, ignored, space)
    domain = Recorder(found, architecture)
    try:
        scope = RecordedScope(spec, raw, None, domain)
        scope.validate()
        RecordedBuilder(scope).build(architecture)
    except ArchspecError:
        found.refusal = found.refusal or Met(Fork(None), False, tuple(found.notes[-_LAST:]), 0, spec)
    return found


class Recorder(NumberDomain):
    """The domain of recorded numbers; it records the outcome of each test."""

    def __init__(self, found: Run, architecture: str) -> None:
        self.run = found
        self.calls = [Call(None, architecture, (), [])]
        self.start = 0  # of the notes of the test in progress

    def fork(self, node: ast.expr, at: Any) -> Fork:
        call = self.calls[-1]
        passed = isinstance(at, Builder) and any(name in call.parameters for name in names(node))
        return Fork(node, call.node if passed else None)

    def as_met(self, test: Fork, outcome: bool, at: Any) -> Met:
        """Return a test with its notes, or those of the arguments of calls in progress."""
        every = (self.run.notes[self.start :], *(call.notes for call in reversed(self.calls)))
        notes = tuple(dict.fromkeys(next((notes for notes in every if notes), ())))
        if isinstance(at, Builder):
            return Met(test, outcome, notes, self.start, at.frames[-1].scope.spec, self.calls[-1].module)
        return Met(test, outcome, notes, self.start, at.spec)

    def note(self, test: Fork, outcome: bool, at: Any) -> None:
        if (test, outcome) not in self.run.met:
            self.run.met[test, outcome] = self.as_met(test, outcome, at)

    def watch(self, at: Any, expression: Expression, evaluate: Callable[[], Any]) -> Any:
        """Evaluate an expression; record what refuses the config."""
        before, self.start = self.start, len(self.run.notes)
        try:
            return evaluate()
        except (EvaluationError, ArchspecError):
            self.run.refusal = self.run.refusal or self.as_met(Fork(expression.tree), False, at)
            raise
        finally:
            self.start = before

    def demand(self, at: Any, condition: Expression, demand: Callable[[], None]) -> None:
        """Check a condition of the spec and record whether it holds."""
        before, start, holds = self.run.refusal, len(self.run.notes), False
        self.run.demanded[condition.tree] = condition
        try:
            demand()
            holds = True
        except (EvaluationError, ArchspecError):
            self.start = start
            if condition is not self.run.ignored:
                self.run.refusal = before or self.as_met(self.fork(condition.tree, at), False, at)
                raise
            self.run.refusal = before
        finally:
            self.start = start
            self.note(self.fork(condition.tree, at), holds, at)

    def is_true(self, value: Any, node: ast.expr, at: Walk) -> bool:
        """Record a test, unless its parts are recorded or it is a condition of the spec."""
        outcome = bool(value)
        negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if not negation and not isinstance(node, ast.BoolOp) and node not in self.run.demanded:
            self.note(self.fork(node, at), outcome, at)
            self.start = len(self.run.notes)
        return outcome

    def apply(self, function: Callable[..., Any], arguments: list[Any], node: ast.expr, at: Walk) -> Any:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Div):
            self.quotient(arguments[0], arguments[1], node, at)
        return super().apply(function, arguments, node, at)

    def quotient(self, above: Any, below: Any, node: ast.BinOp, at: Any) -> None:
        """Record as a test whether the next larger dividend changes a quotient that is rounded."""
        if not isinstance(above, Number) or not isinstance(above.value, int) or value_of(below) <= 0:
            return
        rest = (above + 1) % below if isinstance(node.op, ast.FloorDiv) else above % below
        if isinstance(rest, Number) and type(rest.value) is int:
            condition = Condition("==", rest.expr, None, rest.value == 0)
            met = self.as_met(self.fork(node, at), condition.holds, at)
            self.run.met.setdefault((met.test, met.outcome), met._replace(notes=(condition,)))

    def method(self, value: Any, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        return super().method(concrete_values(value), name, arguments, node, at)

    def item(self, value: Any, index: Any, node: ast.Subscript, at: Walk) -> Any:
        return super().item(value, fix_value(index), node, at)


class RecordedScope(Scope):
    """The recorded fields of a config; each access is a read."""

    domain: Recorder

    def __init__(
        self,
        spec: Spec,
        raw: Mapping[str, Any],
        origin: Origin | None,
        domain: Recorder,
        demanding: bool = True,
    ) -> None:
        super().__init__(spec, raw, origin, domain, demanding)
        self.behind: dict[str, list[Read]] = {}  # reads that a computed field depends on
        lifted = {name: domain.run.lift(self.path(name), value) for name, value in self.raw.items()}
        self.raw = {**lifted, **{name: self.raw[name] for name in ("model_type",) if name in self.raw}}

    def path(self, name: str) -> FieldPath:
        return (*self.origin.path.split(".")[:-1], name)

    def evaluate(self, expression: Expression, local: Locals | None = None) -> Any:
        return self.domain.watch(self, expression, lambda: Scope.evaluate(self, expression, local))

    def demand(self, condition: Expression, local: Locals) -> None:
        self.domain.demand(self, condition, lambda: Scope.demand(self, condition, local))

    def get(self, name: str) -> Any:
        value = super().get(name)
        name = self.canonical(name)
        self.domain.run.notes += [Read(self.path(name)), *self.behind.get(name, ())]
        return value

    def _value(self, name: str) -> Any:
        path, run = self.path(name), self.domain.run
        start = len(run.notes)
        try:
            value = super()._value(name)
        except ArchspecError:
            if run.refusal is not None:  # a config might give the field
                run.refusal = run.refusal._replace(notes=(*run.refusal.notes, Read(path)))
            raise
        self.behind[name] = [one for one in run.notes[start:] if isinstance(one, Read)]
        if name in self.spec.fixed:
            return value
        plain = dict(value.raw) if isinstance(value, SubConfig) else concrete_values(value)
        self.record_value(name, plain)
        return value if isinstance(value, SubConfig) else run.lift(path, plain)

    def record_value(self, name: str, value: Any) -> None:
        field = self.spec.fields.get(name)
        if field is None or not field.only_costs:
            self.domain.run.fields.setdefault(self.path(name), Known(value, name in self.raw, field))

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        value = super().call(name, node, local)
        if name == "given":
            self.looked_up(self.canonical(str(self.visit(node.args[0], local))), value)
        return value

    def looked_up(self, name: str, value: Any) -> None:
        self.record_value(name, concrete_values(value))
        self.domain.run.notes.append(Read(self.path(name)))

    def read_attribute(self, name: str, node: ast.Attribute, at: Evaluator) -> Any:
        value = super().read_attribute(name, node, at)
        if name != "model_type":
            return value
        self.record_value(name, value)
        return self.domain.run.lift(self.path(name), value)


class RecordedBuilder(Builder):
    """A model's modules, built of recorded fields."""

    domain: Recorder

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.leaves: dict[Any, Node] = {}
        self.behind: dict[tuple[Frame, str], list[Condition | Read]] = {}  # notes behind a local name

    def evaluate(self, expression: Expression, local: Locals | None = None) -> Any:
        return self.domain.watch(self, expression, lambda: Builder.evaluate(self, expression, local))

    def demand(self, condition: Expression, frame: Frame) -> None:
        self.domain.demand(self, condition, lambda: Builder.demand(self, condition, frame))

    def leaf(self, name: str, arguments: list[Any], keywords: Locals, node: ast.Call) -> Node:
        key = (name, *map(self.domain.known_by, (*arguments, *keywords, *keywords.values())))
        if key not in self.leaves:
            self.leaves[key] = super().leaf(name, arguments, keywords, node)
        return self.leaves[key].copy()

    def bind_arguments(
        self, module: Module, scope: Scope, arguments: list[Any], keywords: Locals, node: ast.Call
    ) -> Node:
        notes = self.domain.run.notes
        self.domain.calls.append(Call(node, module.name, module.parameters, notes[self.domain.start :]))
        value = super().bind_arguments(module, scope, arguments, keywords, node)
        self.domain.calls.pop()
        self.domain.start = len(notes)
        return value

    def name(self, name: str, node: ast.Name) -> Any:
        frame, notes = self.frames[-1], self.domain.run.notes
        start = len(notes)
        value = super().name(name, node)
        if name in frame.where:
            notes += self.behind.get((frame, name), ())
            self.behind.setdefault((frame, name), notes[start:])
        if isinstance(value, bool):  # of a flag that is passed on, `bias=mlp_bias`, both values are wanted
            self.domain.note(self.domain.fork(node, self), value, self)
        return value

    def method(self, value: Any, name: str, node: ast.Call, local: Locals) -> Any:
        found = super().method(value, name, node, local)
        if isinstance(value, RecordedScope):
            value.looked_up(str(self.visit(node.args[0], local)), found)
        return found

    def tied_here(self, scope: Scope) -> bool:
        self.domain.start = len(self.domain.run.notes)
        tied = super().tied_here(scope)
        self.domain.note(Fork((scope.origin.path, TIES)), tied, self)
        return tied
