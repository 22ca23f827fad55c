"""A config taken through a spec, and what was met: each test, how it came out, and what decided it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

from archspec.configs.origin import Origin
from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError
from archspec.language.domain import Exact, Walk
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, Expression, Locals, names
from archspec.specs.records import Field, Module, Spec
from archspec.tree.builder import Builder, Frame, Node
from archspec.verifying.generate.runs import Config, Fork, Known, Met, Run
from archspec.verifying.generate.traced import Condition, Items, Path, Read, Traced, plain

TIES = "tie_word_embeddings"
_LAST = 8  # what was asked last before a refusal of no expression


class Call(NamedTuple):
    """A call of a module under way, and what was asked for its arguments."""

    node: ast.AST | None
    module: str
    parameters: Container[str]
    notes: list[Condition | Read]


def run(spec: Spec, architecture: str, raw: Config, ignored: Expression | None = None) -> Run:
    """Takes a config through an architecture of a spec; a condition that is ``ignored`` refuses nothing."""
    found = Run(raw, ignored)
    domain = Recording(found, architecture)
    try:
        scope = TracedScope(spec, raw, None, domain)
        scope.validate()
        TracedBuilder(scope).build(architecture)
    except ArchspecError:
        found.refusal = found.refusal or Met(Fork(None), False, tuple(found.trace.notes[-_LAST:]), 0, spec)
    found.work = len(found.trace.notes)
    return found


class Recording(Exact):
    """Numbers that are traced; how each test comes out is noted in a run."""

    def __init__(self, found: Run, architecture: str) -> None:
        self.run, self.trace = found, found.trace
        self.calls = [Call(None, architecture, (), [])]
        self.start = 0  # of what was asked for the test that is under way

    def since(self) -> list[Condition | Read]:
        return self.trace.notes[self.start :]

    def fork(self, node: ast.expr, at: Any) -> Fork:
        call = self.calls[-1]
        brought = isinstance(at, Builder) and any(name in call.parameters for name in names(node))
        return Fork(node, call.node if brought else None)

    def seen(self, test: Fork, outcome: bool, at: Any) -> Met:
        """A test with what was asked for it, or else for the arguments of the calls under way."""
        every = (self.since(), *(call.notes for call in reversed(self.calls)))
        notes = tuple(dict.fromkeys(next((notes for notes in every if notes), ())))
        if isinstance(at, Builder):
            return Met(test, outcome, notes, self.start, at.frames[-1].scope.spec, self.calls[-1].module)
        return Met(test, outcome, notes, self.start, at.spec)

    def note(self, test: Fork, outcome: bool, at: Any) -> None:
        """Notes how a test came out, the first time that it does so."""
        if (test, outcome) not in self.run.met:
            self.run.met[test, outcome] = self.seen(test, outcome, at)

    def truth(self, value: Any, node: ast.expr, at: Walk) -> bool:
        """Notes a test, but for one whose parts are tests, and for a condition, whose recorder notes it."""
        outcome = bool(value)
        negation = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if not negation and not isinstance(node, ast.BoolOp) and node not in self.run.demanded:
            self.note(self.fork(node, at), outcome, at)
            self.start = len(self.trace.notes)
        return outcome

    def apply(self, function: Callable[..., Any], arguments: list[Any], node: ast.expr, at: Walk) -> Any:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Div):
            self.quotient(arguments[0], arguments[1], node, at)
        return function(*arguments)

    def quotient(self, above: Any, below: Any, node: ast.BinOp, at: Any) -> None:
        """Whether one more above would make it another number, rounded down, or, of `a / b`, up."""
        if not isinstance(above, Traced) or not isinstance(above.value, int) or plain(below) <= 0:
            return
        rest = (above + 1) % below if isinstance(node.op, ast.FloorDiv) else above % below
        if isinstance(rest, Traced):
            condition = Condition("==", rest.term, self.trace.of(0), rest.value == 0)
            met = self.seen(self.fork(node, at), condition.outcome, at)
            self.run.met.setdefault((met.test, met.outcome), met._replace(notes=(condition,)))

    def function(self, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        only = arguments[0] if len(arguments) == 1 else None
        if name == "len" and isinstance(only, Items):
            return only.length
        if name == "int" and isinstance(only, Traced):
            return only.whole("trunc")
        if name == "is_int" and isinstance(only, Traced):
            return isinstance(only.value, int)
        return super().function(name, arguments, node, at)

    def method(self, value: Any, name: str, arguments: list[Any], node: ast.Call, at: Walk) -> Any:
        return super().method(plain(value), name, arguments, node, at)

    def length(self, value: Any) -> Any:
        return value.length if isinstance(value, Items) else super().length(value)

    def known_by(self, value: Any) -> Any:
        return value.term if isinstance(value, Traced) else super().known_by(value)


class Recorder(Evaluator):
    """What is noted by both evaluators of a spec, that of a config's fields and that of its modules."""

    domain: Recording

    def evaluate(self, expression: Expression, local: Locals | None = None) -> Any:
        domain, run_, before = self.domain, self.domain.run, self.domain.start
        domain.start = len(domain.trace.notes)
        try:
            return super().evaluate(expression, local)
        except (EvaluationError, ArchspecError):
            run_.refusal = run_.refusal or domain.seen(Fork(expression.tree), False, self)
            raise
        finally:
            domain.start = before

    def demanded(self, condition: Expression, demand: Callable[[], None]) -> None:
        """Notes whether a condition of the spec holds; one that is ignored refuses nothing."""
        domain, run_ = self.domain, self.domain.run
        before, start, held = run_.refusal, len(domain.trace.notes), False
        run_.demanded[condition.tree] = condition
        try:
            demand()
            held = True
        except (EvaluationError, ArchspecError):
            domain.start = start
            run_.refusal = before or domain.seen(domain.fork(condition.tree, self), False, self)
            if condition is not run_.ignored:
                raise
            run_.refusal = before
        finally:
            domain.start = start
            domain.note(domain.fork(condition.tree, self), held, self)


class TracedScope(Scope, Recorder):
    """A config's fields, traced."""

    domain: Recording

    def __init__(self, spec: Spec, raw: Mapping[str, Any], origin: Origin | None, domain: Recording) -> None:
        super().__init__(spec, raw, origin, domain)
        self.behind: dict[str, list[Read]] = {}  # of a field: what was read to compute it
        lifted = {name: domain.trace.lifted(self.path(name), value) for name, value in self.raw.items()}
        self.raw = {**lifted, **{name: self.raw[name] for name in ("model_type",) if name in self.raw}}

    def path(self, name: str) -> Path:
        return (*self.origin.path.split(".")[:-1], name)

    def get(self, name: str) -> Any:
        value = super().get(name)
        name = self.canonical(name)
        self.domain.trace.notes += [Read(self.path(name)), *self.behind.get(name, ())]
        return value

    def _value(self, name: str) -> Any:
        path, notes, run_ = self.path(name), self.domain.trace.notes, self.domain.run
        start = len(notes)
        try:
            value = super()._value(name)
        except ArchspecError:
            if run_.refusal is not None:  # what cannot be computed might be given
                run_.refusal = run_.refusal._replace(notes=(*run_.refusal.notes, Read(path)))
            raise
        self.behind[name] = [one for one in notes[start:] if isinstance(one, Read)]
        if name in self.spec.fixed:
            return value
        self.know(name, dict(value.raw) if isinstance(value, SubConfig) else plain(value))
        return self.domain.trace.lifted(path, value)

    def know(self, name: str, value: Any) -> None:
        field = self.spec.fields.get(name)
        if field is None or not field.only_costs:
            known = Known(value, name in self.raw, field)
            self.domain.run.fields.setdefault(self.path(name), known)

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        value = super().call(name, node, local)
        if name == "given":
            self.looked_for(self.canonical(str(self.visit(node.args[0], local))), value)
        return value

    def looked_for(self, name: str, value: Any) -> None:
        """Notes a field that may not be declared."""
        self.know(name, plain(value))
        self.domain.trace.notes.append(Read(self.path(name)))

    def asked(self, name: str, node: ast.Attribute, at: Evaluator) -> Any:
        value = super().asked(name, node, at)
        if name == "model_type":
            self.know(name, value)
            return self.domain.trace.lifted(self.path(name), value)
        return value

    def _sub_config(self, field: Field, call: ast.Call, value: Any) -> SubConfig | None:
        found = super()._sub_config(field, call, value)
        return TracedPart(found) if isinstance(found, SubConfig) else found

    def demand(self, condition: Expression, local: Locals) -> None:
        self.demanded(condition, lambda: super(TracedScope, self).demand(condition, local))


class TracedPart(SubConfig):
    """A sub-config, traced."""

    def __init__(self, part: SubConfig) -> None:
        vars(self).update(vars(part))

    def opened(self, spec: Spec) -> Scope:
        assert isinstance(self.domain, Recording)
        return TracedScope(spec, self.raw, self.origin, self.domain)


class TracedBuilder(Builder, Recorder):
    """A model's modules, from traced fields."""

    domain: Recording

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.leaves: dict[Any, Node] = {}
        self.behind: dict[tuple[Frame, str], list[Condition | Read]] = {}  # of a local name: what was asked

    def demand(self, condition: Expression, frame: Frame) -> None:
        self.demanded(condition, lambda: super(TracedBuilder, self).demand(condition, frame))

    def leaf(self, name: str, arguments: list[Any], keywords: Locals, node: ast.Call) -> Node:
        """A layer of torch; the same arguments are asked the same."""
        key = (name, *map(self.domain.known_by, (*arguments, *keywords, *keywords.values())))
        if key not in self.leaves:
            self.leaves[key] = super().leaf(name, arguments, keywords, node)
        return self.leaves[key].copy()

    def bound(
        self, module: Module, scope: Scope, arguments: list[Any], keywords: Locals, node: ast.Call
    ) -> Node:
        self.domain.calls.append(Call(node, module.name, module.parameters, self.domain.since()))
        value = super().bound(module, scope, arguments, keywords, node)
        self.domain.calls.pop()
        self.domain.start = len(self.domain.trace.notes)
        return value

    def name(self, name: str, node: ast.Name) -> Any:
        frame, notes = self.frames[-1], self.domain.trace.notes
        start = len(notes)
        value = super().name(name, node)
        if name in frame.where:
            notes += self.behind.get((frame, name), ())
            self.behind.setdefault((frame, name), notes[start:])
        if isinstance(value, bool):  # a flag that is handed on: `bias=mlp_bias` wants both values
            self.domain.note(self.domain.fork(node, self), value, self)
        return value

    def method(self, value: Any, name: str, node: ast.Call, local: Locals) -> Any:
        found = super().method(value, name, node, local)
        if isinstance(value, TracedScope):
            value.looked_for(str(self.visit(node.args[0], local)), found)
        return found

    def tied_here(self, scope: Scope) -> bool:
        self.domain.start = len(self.domain.trace.notes)
        tied = super().tied_here(scope)
        self.domain.note(Fork((scope.origin.path, TIES)), tied, self)
        return tied
