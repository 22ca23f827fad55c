"""Differences between a spec and the reference model, and the lines of the spec that may cause them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from archspec.configs.scope import Scope, SubConfig
from archspec.errors import ArchspecError, Place
from archspec.language.expression import EvaluationError, Expression, Locals, names
from archspec.specs.records import Module, Spec, leaves
from archspec.tree.builder import Builder, Frame, Node
from archspec.tree.tensors import modules
from archspec.verifying.trail import defining_place, read_places, tie_places, trail_of, unique_places

Config = dict[str, Any]


class Difference(NamedTuple):
    """A difference between a spec and the reference model for one config.

    ``kind`` is missing, extra, shape, kind, frozen, tie or embedding for a tensor; rejected or accepted for a
    config that only the spec or only the reference model rejects; unmentioned for a field that changes the
    layout but is not in the spec; default, alias or readonly for a config field; few if too few valid configs
    were found; spec for an invalid spec; crash for a bug of archspec. ``places`` are the lines of the spec,
    the most likely first.
    """

    architecture: str
    config: Config
    kind: str
    name: str
    expected: str
    found: str
    places: tuple[str, ...] = ()


def blamed_places(spec: Spec, tree: Node | None, kind: str, name: str, detail: Any) -> list[Place]:
    """Return the lines for a difference of a kind in a tensor, a field or a class, the most likely first.

    ``detail`` is the prefix that the other side lacks (extra), the other end (tie), or the classes whose
    constructors rejected (accepted).
    """
    if kind == "unmentioned":  # the field ought to be among the others
        own = [field.place for field in spec.fields.values() if field.place.source.name == spec.source.name]
        first = min(own, key=lambda place: place.line, default=Place(spec.source, 1, 1))
        return [spec.fixed[name].place if name in spec.fixed else first]
    if kind == "accepted":
        return _accepting_places(spec, tree, detail)
    if tree is None:
        return []
    if kind == "tie":
        return tie_places(tree, name, str(detail or ""))
    way = trail_of(tree, name)[::-1]
    if kind == "embedding":
        named = [node.output_embeddings.place for _, node in modules(tree) if node.output_embeddings]
        return [*named, defining_place(tree), *way]
    if kind == "extra":  # the module may be too much, or the tensor in it
        return unique_places([*trail_of(tree, detail)[::-1], *way])
    return way


def refusing_places(
    spec: Spec, architecture: str, raw: Config, tree: Node | None, error: ArchspecError
) -> list[Place]:
    """Return the lines with which a spec refuses a config, and those that led there.

    For a tie of a missing tensor, also the lines that should define its ends. A refusal without a line comes
    from a rule for all specs: the spec could have a condition instead.
    """
    found = [problem.place for problem in error.problems if problem.place]
    start = Place(spec.source, 1, 1)
    if tree is not None:
        tied = [(node, ends) for _, node in modules(tree) for *ends, tie in node.ties if tie.place in found]
        found += [place for node, ends in tied for end in ends for place in trail_of(node, end)[::-1]]
        return found or [start]
    if not found:  # a value of another type: `config: is_decoder: null is not …`
        parts = [part for problem in error.problems for part in problem.message.split(": ")]
        found = [*(spec.fields[name].place for name in parts if name in spec.fields), start]
    more = _evaluated_places(spec, architecture, raw, found)
    return found + [place for place in more if place not in found]


def _evaluated_places(spec: Spec, architecture: str, raw: Config, refused: list[Place]) -> list[Place]:
    """Return the expressions under evaluation when a config was rejected, and the lines that they read."""
    scope: Scope | None = None
    try:
        scope = Scope(spec, raw)
        scope.validate()
    except ArchspecError:
        lines = {(place.source.name, place.line) for place in refused}
        defaults = (field.default for field in spec.fields.values() if field.default is not None)
        own = (*spec.fixed.values(), *spec.require, *defaults)
        wrong = [one for one in own if not lines.isdisjoint(_lines_of(one))]
        return [place for one in wrong for place in (one.place, *read_places(one, None, scope)[::-1])]
    builder = _Tracer(scope)
    with suppress(ArchspecError):
        builder.build(architecture)
    return builder.trail[::-1]


def _lines_of(one: Expression) -> set[tuple[str, int]]:
    return {(one.place.source.name, one.place.line + more) for more in range(one.text.count("\n") + 1)}


class _Tracer(Builder):
    """A builder that keeps the lines under evaluation at the first error, and those that they read."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.stack: list[tuple[Expression, Frame]] = []
        self.trail: list[Place] = []

    def evaluate(self, expression: Expression, local: Locals | None = None) -> Any:
        with self.watch(expression):
            return super().evaluate(expression, local)

    def demand(self, condition: Expression, frame: Frame) -> None:
        with self.watch(condition):
            super().demand(condition, frame)

    @contextmanager
    def watch(self, expression: Expression) -> Iterator[None]:
        """Keep an expression on the stack while it is evaluated."""
        self.stack.append((expression, self.frames[-1]))
        try:
            yield
        except (EvaluationError, ArchspecError):
            for one, frame in self.stack if not self.trail else ():
                every = frame.scope.spec.modules.values()
                owner = next((module for module in every if module.where is frame.where), None)
                self.trail += [one.place, *read_places(one, owner, frame.scope)]
            raise
        finally:
            self.stack.pop()


def _accepting_places(spec: Spec, tree: Node | None, owners: tuple[str, ...]) -> list[Place]:
    """Return the lines that should reject a config as transformers does; ``owners`` raised, innermost first.

    The lines of the classes come first, then the conditions of the spec and its parts, and the lines that
    these read.
    """
    found = class_places(spec, tree, owners)
    scope = tree.scope if tree is not None else None
    for one in (spec, *(_part_specs(scope) if scope is not None else ())):
        found += [Place(one.source, 1, 1), *(condition.place for condition in one.require)]
    conditions = spec.require if scope is not None else ()
    return found + [place for one in conditions for place in read_places(one, None, scope)]


def _part_specs(scope: Scope) -> Iterator[Spec]:
    for value in scope.values.values():
        if isinstance(value, SubConfig):
            yield value.scope.spec
            yield from _part_specs(value.scope)


def class_places(spec: Spec, tree: Node | None, owners: tuple[str, ...]) -> list[Place]:
    """Return the lines of classes, innermost first, then the way to the first that is built.

    Any of them may be the one that should refuse, or should have the others.
    """
    built = _built_classes(tree, owners) if tree is not None else {}
    found: list[Place] = []
    for number, name in enumerate(owners):
        node = built[name][1] if name in built else None
        module, scope = (node.module, node.scope) if node is not None else (spec.module(name), None)
        if module is None:
            continue
        # Inner classes may have other names in the spec.
        inner = _inner_modules(node, number) if node is not None and number and not found else []
        for one in (module, *inner):
            conditions = [[place.place, *read_places(place, one, scope)[::-1]] for place in one.require]
            found += [one.place, *(place for places in conditions for place in places)]
            found += [local.place for local in one.where.values()]
        if node is not None and number and owners[number - 1] not in built:  # the calls that would build it
            found += [part.place for part in leaves(module.body) if owners[number - 1] in names(part.tree)]
    if tree is not None:
        found += next((trail_of(tree, built[name][0])[::-1] for name in owners if name in built), [])
    for one in _inner_modules(built[owners[0]][1], 1) if owners and owners[0] in built else ():
        found += [one.place, *(condition.place for condition in one.require)]
    return unique_places(found)


def _built_classes(tree: Node, owners: tuple[str, ...]) -> dict[str, tuple[str, Node]]:
    """Return the first module of each class with its path, below outer classes with other names."""
    found: dict[str, tuple[str, Node]] = {}
    outer = ""
    for name in dict.fromkeys(owners[::-1]):
        for path, node in modules(tree):
            is_class = node.cls == name and node.module is not None
            if is_class and (not outer or path.startswith(outer + ".")):
                found[name], outer = (path, node), path
                break
    return found


def _inner_modules(node: Node, depth: int) -> list[Module]:
    """Return the modules that are attributes of one, or of those, and so on, the nearest first."""
    found: dict[int, Module] = {}
    level = [node]
    for _ in range(depth):
        level = [inner for one in level for inner in _children(one)]
        found |= {id(inner.module): inner.module for inner in level if inner.module}
    return list(found.values())


def _children(node: Node) -> Iterator[Node]:
    for child in node.children.values():
        yield from (child,) if child.module is not None or child.leaf else _children(child)
