"""Which lines of a spec a difference is to be laid on, the nearest first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, Place
from archspec.language.expression import EvaluationError, Expression, Locals
from archspec.specs.records import Spec
from archspec.tree.builder import Builder, Frame, Node
from archspec.tree.tensors import modules
from archspec.verify.places import defining, read_places, refused_places, tie_place, trail, within


def blamed(spec: Spec, tree: Node | None, kind: str, name: str, detail: Any) -> list[Place]:
    """The lines for a difference of a kind in a tensor, a field or a class.

    ``detail`` is the prefix that the other side lacks (extra), the other end (tie), or the classes whose
    constructors refused (accepted).
    """
    if kind == "unmentioned":
        return _section(spec, name)
    if kind == "accepted":
        specs = [spec, *(_parts(tree.scope) if tree is not None and tree.scope is not None else ())]
        whole = [
            place
            for one in specs
            for place in (Place(one.source, 1, 1), *(condition.place for condition in one.require))
        ]
        scope = tree.scope if tree is not None else None
        read = (
            [place for condition in spec.require for place in read_places(condition, None, scope)]
            if scope is not None
            else []
        )
        return [*refused_places(spec, tree, detail), *whole, *read]
    if tree is None:
        return []
    if kind == "embedding":
        said = [
            node.output_embeddings.place for _, node in modules(tree) if node.output_embeddings is not None
        ]
        return [*said, defining(tree), *trail(tree, name)[::-1]]
    if kind == "tie":
        return tie_place(tree, name, str(detail or ""))
    if kind == "extra":  # the whole may be too much, or what is within it
        return list(dict.fromkeys([*trail(tree, detail)[::-1], *trail(tree, name)[::-1]]))
    return trail(tree, name)[::-1]


def _parts(scope: Scope) -> Iterator[Spec]:
    """The specs of the sub-configs that were read."""
    for value in scope.values.values():
        if isinstance(value, SubConfig):
            yield value.scope.spec
            yield from _parts(value.scope)


def refusing(
    spec: Spec, architecture: str, raw: dict[str, Any], tree: Node | None, error: ArchspecError
) -> list[Place]:
    """The lines that refuse a config, and those on the way to them.

    For a tie of nothing, also the lines that should give its ends. What no line refuses, a rule for all specs does,
    where the spec could have a condition of its own.
    """
    found = [problem.place for problem in error.problems if problem.place]
    if not found and tree is None:  # a value that is not of its field's type
        said = [
            part for problem in error.problems for part in problem.message.split(": ")
        ]  # config: is_decoder: null is not …
        found = [*(spec.fields[name].place for name in said if name in spec.fields), Place(spec.source, 1, 1)]
    if tree is None:
        found += [place for place in _traced(spec, architecture, raw, found) if place not in found]
    for _, node in modules(tree) if tree is not None else ():
        for target, source, tie in node.ties:
            if tie.place in found:
                for end in (target, source):
                    found += trail(node, end)[::-1]
    return found or [Place(spec.source, 1, 1)]


def _traced(spec: Spec, architecture: str, raw: dict[str, Any], refused: list[Place]) -> list[Place]:
    """The expressions that were being evaluated when a config was refused, and what they read, the innermost first."""
    builder: _Tracer | None = None
    scope: Scope | None = None
    try:
        scope = Scope(spec, raw)
        scope.validate()
        builder = _Tracer(scope)
        builder.build(architecture)
    except ArchspecError:
        pass
    if builder is not None:
        return builder.trail[::-1]
    own = [
        *spec.fixed.values(),
        *spec.require,
        *(field.default for field in spec.fields.values() if field.default is not None),
    ]
    under_way = [one for one in own if any(within(place, one) for place in refused)]
    return [place for one in under_way for place in (one.place, *read_places(one, None, scope)[::-1])]


class _Tracer(Builder):
    """A builder that keeps the lines under way at the first error, and those that they read."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.stack: list[tuple[Expression, Frame]] = []
        self.trail: list[Place] = []

    def evaluate(self, expression: Expression, local: Locals | None = None) -> Any:
        with self.under_way(expression):
            return super().evaluate(expression, local)

    def demand(self, condition: Expression, frame: Frame) -> None:
        with self.under_way(condition):
            super().demand(condition, frame)

    @contextmanager
    def under_way(self, expression: Expression) -> Iterator[None]:
        self.stack.append((expression, self.frames[-1]))
        try:
            yield
        except (EvaluationError, ArchspecError):
            if not self.trail:  # an argument's name may be a local one of the caller
                self.trail = [
                    place for one, frame in self.stack for place in (one.place, *_reads(one, frame))
                ]
            raise
        finally:
            self.stack.pop()


def _reads(expression: Expression, frame: Frame) -> list[Place]:
    module = next(
        (module for module in frame.scope.spec.modules.values() if module.where is frame.where), None
    )
    return read_places(expression, module, frame.scope)


def _section(spec: Spec, name: str) -> list[Place]:
    """The line of a fixed field, else that of the first field: where the field ought to be."""
    if name in spec.fixed:
        return [spec.fixed[name].place]
    own = [field.place for field in spec.fields.values() if field.place.source.name == spec.source.name]
    return sorted(own, key=lambda place: place.line)[:1] or [Place(spec.source, 1, 1)]
