"""A config taken through a spec, and what was met: each test, how it came out, and what decided it."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from archspec.configs.origin import Origin
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError
from archspec.language.domain import Exact, Walk
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, Expression, Locals
from archspec.specs.records import Field, Module, Spec
from archspec.tree.builder import Builder, Frame, Node
from archspec.verify.generate.traced import Condition, Items, Number, Path, Trace, plain

Config = dict[str, Any]
TIES = "tie_word_embeddings"
_WHOLE: dict[str, Callable[[Any], Any]] = {"int": math.floor, "floor": math.floor, "ceil": math.ceil}


class Fork(NamedTuple):
    """What has two outcomes: a node of a spec; with a call, whether one more would change a quotient."""

    node: Any
    call: ast.AST | None = None


class Met(NamedTuple):
    """A test as a run met it: its outcome, what was compared and read for it, the length of the path before.

    ``spec`` and ``module`` are where it stands.
    """

    test: Fork
    outcome: bool
    notes: tuple[Condition, ...]
    before: int
    spec: Spec
    module: str = ""


class Known(NamedTuple):
    """A field that was read: its value, whether the config itself gives it, and its declaration, if any."""

    value: Any
    given: bool
    field: Field | None


class Run:
    """What a config came to: each test once for each outcome, the fields, and what refused the config."""

    def __init__(self, raw: Config, ignored: Expression | None) -> None:
        self.raw, self.ignored = raw, ignored
        self.trace = Trace()
        self.met: dict[tuple[Fork, bool], Met] = {}
        self.fields: dict[Path, Known] = {}
        self.refusal: Met | None = None
        self.work = 0

    def has(self, test: Fork, outcome: bool) -> bool:
        return (test, outcome) in self.met


def run(spec: Spec, architecture: str, raw: Config, ignored: Expression | None = None) -> Run:
    """Takes a config through an architecture of a spec; a condition that is ``ignored`` refuses nothing."""
    found = Run(raw, ignored)
    try:
        scope = TracedScope(spec, raw, None, found)
        scope.validate()
        builder = TracedBuilder(scope, found, architecture)
        builder.build(architecture)
        found.work = builder.work
    except ArchspecError:
        last = tuple(found.trace.notes[-1:])
        found.refusal = found.refusal or Met(Fork(None), False, last, len(found.trace.path), spec)
    found.trace.notes = []
    return found


class Traced(Exact):
    """Python's own numbers, of types that are traced."""

    def function(self, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        only = arguments[0] if len(arguments) == 1 else None
        if name == "len" and isinstance(only, Items):
            return only.length
        if name in _WHOLE and isinstance(only, Number):
            return at.guarded(_WHOLE[name] if name != "int" or plain(only) >= 0 else int, arguments, node)
        return super().function(name, arguments, node, at)

    def method(self, value: Any, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        return super().method(plain(value), name, arguments, node, at)

    def length(self, value: Any) -> Any:
        return value.length if isinstance(value, Items) else super().length(value)

    def known_by(self, value: Any) -> Any:
        return value.term if isinstance(value, Number) else super().known_by(plain(value))


class Call(NamedTuple):
    """A call of a module under way, and what was compared and read for its arguments."""

    node: ast.AST | None
    module: str
    notes: list[Condition]


class Recorder(Evaluator):
    """What is noted by both evaluators of a spec, that of a config's fields and that of its modules."""

    run: Run
    calls: list[Call]
    visited: tuple[ast.AST | None, int, int] = (
        None,
        0,
        0,
    )  # the node visited last, and what there was before

    def place(self) -> tuple[Spec, str]:
        """The spec and the module that are evaluated."""
        raise NotImplementedError

    def marks(self) -> tuple[int, int]:
        return len(self.run.trace.notes), len(self.run.trace.path)

    def seen(self, test: Fork, outcome: bool, marks: tuple[int, int]) -> Met:
        """A test with what was noted since some marks, or else for the arguments of the calls under way."""
        every = (self.run.trace.notes[marks[0] :], *(call.notes for call in reversed(self.calls)))
        notes = next((notes for notes in every if notes), ())
        return Met(test, outcome, tuple(dict.fromkeys(notes)), marks[1], *self.place())

    def note(self, test: Fork, outcome: bool, marks: tuple[int, int]) -> None:
        """Notes how a test came out, the first time that it does so."""
        if (test, outcome) not in self.run.met:
            self.run.met[test, outcome] = self.seen(test, outcome, marks)

    def visit(self, node: ast.expr, local: Locals) -> Any:
        marks = self.marks()
        value = super().visit(node, local)
        self.visited = (node, *marks)
        return value

    def evaluate(self, expression: Expression, local: Locals | None = None) -> Any:
        marks = self.marks()
        try:
            return super().evaluate(expression, local)
        except (EvaluationError, ArchspecError):
            self.run.refusal = self.run.refusal or self.seen(Fork(expression.tree), False, marks)
            raise

    def demanded(self, condition: Expression, demand: Callable[[], None]) -> None:
        """Notes whether a condition of the spec holds; one that is ignored refuses nothing."""
        marks, before, held = self.marks(), self.run.refusal, False
        try:
            demand()
            held = True
        except (EvaluationError, ArchspecError):
            self.run.refusal = before or self.seen(Fork(condition.tree), False, marks)
            if condition is not self.run.ignored:
                raise
            self.run.refusal = before
        finally:
            self.note(Fork(condition.tree), held, marks)

    def truth(self, value: Any, node: ast.expr) -> bool:
        known, *marks = self.visited
        start = marks if known is node else self.marks()
        outcome = super().truth(value, node)
        inner = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if not inner and not isinstance(node, ast.BoolOp):  # whose parts are tests
            self.note(Fork(node), outcome, (start[0], start[1]))
        return outcome

    def guarded(self, function: Callable[..., Any], arguments: Iterable[Any], node: ast.expr) -> Any:
        arguments = list(arguments)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Div):
            self.quotient(arguments[0], arguments[1], node)
        return super().guarded(function, arguments, node)

    def quotient(self, above: Any, below: Any, node: ast.BinOp) -> None:
        """Whether one more above would make it another number, rounded down, or, of `a / b`, up."""
        if isinstance(above, Number) and isinstance(above, int) and isinstance(below, int) and int(below) > 0:
            rest = (above + 1) % below if isinstance(node.op, ast.FloorDiv) else above % below
            marks = self.marks()
            self.run.trace.notes.append(Condition("==", rest.term, 0, plain(rest) == 0))
            self.note(Fork(node, self.calls[-1].node), plain(rest) == 0, marks)


class TracedScope(Scope, Recorder):
    """A config's fields, traced."""

    def __init__(self, spec: Spec, raw: Mapping[str, Any], origin: Origin | None, found: Run) -> None:
        self.run, self.calls = found, [Call(None, "", [])]
        self.behind: dict[str, list[Condition]] = {}  # of a field: what was read to compute it
        super().__init__(spec, raw, origin, Traced())
        fields = self.raw.items()
        lifted = {name: found.trace.lifted(self.path(name), value) for name, value in fields}
        self.raw = {**lifted, **{name: value for name, value in fields if name == "model_type"}}

    def path(self, name: str) -> Path:
        return (*self.origin.path.split(".")[:-1], name)

    def place(self) -> tuple[Spec, str]:
        return self.spec, ""

    def get(self, name: str) -> Any:
        value = super().get(name)
        name = self.canonical(name)
        self.run.trace.notes += [Condition("read", self.path(name)), *self.behind.get(name, ())]
        return value

    def _value(self, name: str) -> Any:
        path, mark = self.path(name), len(self.run.trace.notes)
        try:
            value = super()._value(name)
        except ArchspecError:
            if self.run.refusal is not None:  # what cannot be computed might be given
                notes = (*self.run.refusal.notes, Condition("read", path))
                self.run.refusal = self.run.refusal._replace(notes=notes)
            raise
        self.behind[name] = [one for one in self.run.trace.notes[mark:] if one.operator == "read"]
        if name in self.spec.fixed:
            return value
        shown = dict(value.raw) if isinstance(value, SubConfig) else plain(value)
        self.run.fields[path] = Known(shown, name in self.raw, self.spec.fields.get(name))
        return self.run.trace.lifted(path, value)

    def _sub_config(self, field: Field, value: Any) -> Any:
        found = super()._sub_config(field, value)
        return TracedPart(found, self.run) if isinstance(found, SubConfig) else found

    def demand(self, condition: Expression, local: Locals) -> None:
        self.demanded(condition, lambda: super(TracedScope, self).demand(condition, local))


class TracedPart(SubConfig):
    """A sub-config, traced."""

    def __init__(self, part: SubConfig, found: Run) -> None:
        vars(self).update(vars(part))
        self.run = found

    def opened(self, spec: Spec) -> Scope:
        return TracedScope(spec, self.raw, self.origin, self.run)


class TracedBuilder(Builder, Recorder):
    """A model's modules, from traced fields."""

    def __init__(self, scope: Scope, found: Run, architecture: str) -> None:
        super().__init__(scope)
        self.run, self.calls = found, [Call(None, architecture, [])]
        self.began: list[int] = []  # what was noted before each call under way

    def place(self) -> tuple[Spec, str]:
        return self.frames[-1].scope.spec, self.calls[-1].module

    def demand(self, condition: Expression, frame: Frame) -> None:
        self.demanded(condition, lambda: super(TracedBuilder, self).demand(condition, frame))

    def visit_Call(self, node: ast.Call, local: Locals) -> Any:
        self.began.append(len(self.run.trace.notes))
        try:
            return super().visit_Call(node, local)
        finally:
            self.began.pop()

    def bound(
        self, module: Module, scope: Scope, arguments: list[Any], keywords: Locals, node: ast.Call
    ) -> Node:
        self.calls.append(Call(node, module.name, self.run.trace.notes[self.began[-1] :]))
        value = super().bound(module, scope, arguments, keywords, node)
        self.calls.pop()
        return value

    def name(self, name: str, node: ast.Name) -> Any:
        marks = self.marks()
        value = super().name(name, node)
        if isinstance(value, bool):  # a flag that is handed on: `bias=mlp_bias` wants both values
            self.note(Fork(node), value, marks)
        return value

    def tied_here(self, scope: Scope) -> bool:
        marks = self.marks()
        tied = super().tied_here(scope)
        self.note(Fork((scope.origin.path, TIES)), tied, marks)
        return tied
