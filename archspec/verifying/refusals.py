"""Which lines of a spec a refusal is to be laid on: its own, or one of transformers that it does not have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, Place
from archspec.language.expression import EvaluationError, Expression, Locals, names
from archspec.specs.records import Module, Spec, leaves
from archspec.tree.builder import Builder, Frame, Node
from archspec.tree.tensors import modules
from archspec.verifying.places import once, read_places, within
from archspec.verifying.trail import trail


def refusing(
    spec: Spec, architecture: str, raw: dict[str, Any], tree: Node | None, error: ArchspecError
) -> list[Place]:
    """The lines that refuse a config, and those on the way to them.

    For a tie of nothing, also the lines that should give its ends. What no line refuses, a rule for all
    specs does, where the spec could have a condition of its own.
    """
    found = [problem.place for problem in error.problems if problem.place]
    start = Place(spec.source, 1, 1)
    if tree is not None:
        tied = [(node, ends) for _, node in modules(tree) for *ends, tie in node.ties if tie.place in found]
        found += [place for node, ends in tied for end in ends for place in trail(node, end)[::-1]]
        return found or [start]
    if not found:  # a value that is not of its field's type: `config: is_decoder: null is not …`
        said = [part for problem in error.problems for part in problem.message.split(": ")]
        found = [*(spec.fields[name].place for name in said if name in spec.fields), start]
    return found + [place for place in _under_way(spec, architecture, raw, found) if place not in found]


def accepting(spec: Spec, tree: Node | None, owners: tuple[str, ...]) -> list[Place]:
    """The lines that should refuse a config as transformers' classes do, whose constructors were under way.

    The classes' first, then the conditions of the whole, of its parts, and what those of the spec read.
    """
    scope = tree.scope if tree is not None else None
    specs = [spec, *(_parts(scope) if scope is not None else ())]
    found = refused_places(spec, tree, owners)
    for one in specs:
        found += [Place(one.source, 1, 1), *(condition.place for condition in one.require)]
    if scope is not None:
        found += [place for condition in spec.require for place in read_places(condition, None, scope)]
    return found


def _parts(scope: Scope) -> Iterator[Spec]:
    """The specs of the sub-configs that were read."""
    for value in scope.values.values():
        if isinstance(value, SubConfig):
            yield value.scope.spec
            yield from _parts(value.scope)


def _under_way(spec: Spec, architecture: str, raw: dict[str, Any], refused: list[Place]) -> list[Place]:
    """The expressions under way when a config was refused, and what they read, the innermost first."""
    scope: Scope | None = None
    try:
        scope = Scope(spec, raw)
        scope.validate()
    except ArchspecError:
        defaults = (field.default for field in spec.fields.values() if field.default is not None)
        own = (*spec.fixed.values(), *spec.require, *defaults)
        wrong = [one for one in own if any(within(place, one) for place in refused)]
        return [place for one in wrong for place in (one.place, *read_places(one, None, scope)[::-1])]
    builder = _Tracer(scope)
    with suppress(ArchspecError):
        builder.build(architecture)
    return builder.trail[::-1]


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
            for one, frame in self.stack if not self.trail else ():
                owners = (
                    module for module in frame.scope.spec.modules.values() if module.where is frame.where
                )
                self.trail += [one.place, *read_places(one, next(owners, None), frame.scope)]
            raise
        finally:
            self.stack.pop()


def refused_places(spec: Spec, tree: Node | None, owners: tuple[str, ...]) -> list[Place]:
    """The lines of transformers classes that refuse what a spec counts, the innermost first.

    Any of them may be the one that should say so, or should have the others; then the way to the first that
    is built.
    """
    built = _built(tree, owners) if tree is not None else {}
    found: list[Place] = []
    for number, name in enumerate(owners):
        node = built[name][1] if name in built else None
        module, scope = (node.module, node.scope) if node is not None else (spec.module(name), None)
        if module is None:
            continue
        inner = (
            [] if found or node is None or not number else _within(node, number)
        )  # which have other names here
        for one in (module, *inner):
            found.append(one.place)
            for condition in one.require:
                found += [condition.place, *read_places(condition, one, scope)[::-1]]
            found += [local.place for local in one.where.values()]
        if node is not None and number and owners[number - 1] not in built:  # where it would be called
            found += [part.place for part in leaves(module.body) if owners[number - 1] in names(part.tree)]
    if tree is not None:
        found += next((trail(tree, built[name][0])[::-1] for name in owners if name in built), [])
    for one in _within(built[owners[0]][1], 1) if owners and owners[0] in built else ():
        found += [
            one.place,
            *(condition.place for condition in one.require),
        ]  # their arguments are made there
    return once(found)


def _built(tree: Node, owners: tuple[str, ...]) -> dict[str, tuple[str, Node]]:
    """The first module of each class that refuses, with its path: beneath the outer ones, where it can be.

    A class that the outer ones do not have has another name there.
    """
    found: dict[str, tuple[str, Node]] = {}
    outer = ""
    for name in dict.fromkeys(owners[::-1]):
        of_class = (
            (path, node) for path, node in modules(tree) if node.cls == name and node.module is not None
        )
        beneath = ((path, node) for path, node in of_class if not outer or path.startswith(outer + "."))
        if (first := next(beneath, None)) is not None:
            found[name], outer = first, first[0]
    return found


def _within(node: Node, depth: int) -> list[Module]:
    """The modules that are attributes of one, or of those, and so on: the nearest first."""
    found: dict[int, Module] = {}
    level = [node]
    for _ in range(depth):
        level = [inner for one in level for inner in _attributes(one)]
        found |= {id(inner.module): inner.module for inner in level if inner.module}
    return list(found.values())


def _attributes(node: Node) -> Iterator[Node]:
    """A module's attributes, those in a list as well."""
    for child in node.children.values():
        yield from (child,) if child.module is not None or child.leaf else _attributes(child)
