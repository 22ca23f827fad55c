"""One architecture of a spec, for configs to be drawn with an aim: what a config comes to, what an
expression reads.

What is read is drawn anew in a valid config; whether the aim is met is for the spec itself to say, without an
instantiation.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Set
from functools import cached_property, partial
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, Place
from archspec.language.expression import Expression, names
from archspec.specs.field_kinds import part_types
from archspec.specs.layer_types import ALLOWED
from archspec.specs.records import Module, Spec, leaves
from archspec.specs.references import conditions, reads
from archspec.verify.generate.edges import Edges
from archspec.verify.generate.faults import at_fault, equals
from archspec.verify.generate.sampling import Sampler
from archspec.verify.generate.wanted import above_zero, given_names
from archspec.verify.generate.watching import (
    Branch,
    Refusing,
    Test,
    WatchedScope,
    Watcher,
    handed,
    optional,
    rounded_up,
)
from archspec.verify.places import within

TRIES = 12

Config = dict[str, Any]


class Watched(NamedTuple):
    """What a config comes to: the branches, the line that refuses it, the fields that this reads.

    Then the modules' conditions, and the fields with a default that they read, whether given or not; and
    what fields would
    have to be for the equation that refuses it.
    """

    taken: set[Branch]
    place: Place | None
    wanting: list[str]
    demanded: set[int]
    used: set[tuple[str, bool]]
    equal: dict[str, Any]


class Aim:
    """One architecture of a spec, and the draws for it."""

    def __init__(self, spec: Spec, architecture: str, sampler: Sampler) -> None:
        self.spec, self.architecture, self.sampler = spec, architecture, sampler
        self.random = sampler.random
        self.tests: dict[int, Test] = {}
        self.inner: dict[str, Aim | None] = {}  # of the sub-configs
        self.owners = {
            id(condition): module for module in spec.modules.values() for condition in module.require
        }

    @cached_property
    def watched_for(self) -> tuple[set[int], set[str]]:
        """The quotients that are rounded up, and the fields that may be left out: looked up once, not in
        every config.
        """
        return rounded_up(self.spec), optional(self.spec)

    @cached_property
    def given(self) -> set[str]:
        """The names under which given() looks for a field."""
        return {*given_names(self.spec)}

    @cached_property
    def edges(self) -> Edges:
        """Values at the edge; zero also for what a local name or a parameter above zero is computed from."""
        wanted = ((above_zero(one.tree), self.owners.get(id(one))) for one in conditions(self.spec))
        return Edges(self.sampler, {name for some, owner in wanted for name in self.read(some, owner)})

    def part(self, name: str) -> Aim | None:
        """The same for a sub-config, of the type that it has by default."""
        field = self.spec.fields.get(name)
        if field is not None and name not in self.inner:
            types = part_types(self.spec.library, field)
            child = self.sampler.children.get(name) or (
                self.sampler.child(field, types[0]) if types else None
            )
            self.inner[name] = Aim(child.spec, "", child) if child is not None else None
        return self.inner.get(name)

    def failing(self, place: Place, scope: Scope | None) -> list[str]:
        """The config fields that a condition or a derived field at a place reads, also if that is in a
        sub-config.
        """
        own = [one for one in (*self.spec.require, *self.spec.fixed.values()) if within(place, one)]
        if own and scope is not None:
            return self.read(
                {name for one in own for name in at_fault(one.tree, partial(value_of, scope, one))}, None
            )
        if own:
            return self.read({name for one in own for name in reads(one.tree)}, None)
        parts = ((name, aim) for name in self.spec.fields if (aim := self.part(name)) is not None)
        return [f"{name}.{field}" for name, aim in parts for field in aim.failing(place, None)]

    def behind_refusal(self, refusing: Refusing) -> list[str]:
        """The config fields that an expression which refuses a config reads, also if that is in a
        sub-config.
        """
        if refusing.spec is self.spec:
            return list(
                dict.fromkeys(refusing.given_as(name) for name in self.read(refusing.names, refusing.module))
            )
        part, _, rest = refusing.path.partition(".")
        part = part or self.spec.flat  # its fields may stand in the config itself
        aim = self.part(part)
        return (
            [f"{part}.{name}" for name in aim.behind_refusal(refusing._replace(path=rest))]
            if aim is not None
            else []
        )

    def scope(self, raw: Config) -> WatchedScope:
        """Of the architecture, for a config."""
        return WatchedScope(self.spec, raw)

    def watched(self, raw: Config) -> Watched:
        """The branches that a config takes, and the line that refuses it, if one does."""
        scope: WatchedScope | None = None
        builder: Watcher | None = None
        try:
            scope = self.scope(raw)
            scope.validate()
            self.tests |= {number: test for number, test in scope.tests.items() if number not in self.tests}
            builder = Watcher(scope, self.tests, *self.watched_for)
            builder.taken |= scope.taken
            builder.build(self.architecture)
        except ArchspecError as error:
            place = next(
                (problem.place for problem in error.problems if problem.place), Place(self.spec.source, 1, 1)
            )
            wanting = self.behind_refusal(builder.refusing) if builder and builder.refusing else []
            if builder is None:
                wanting = self.failing(place, scope)
                told = [word.strip(":,`") for problem in error.problems for word in problem.message.split()]
                fields = {word for word in told if word.partition(".")[0] in self.spec.fields}
                wanting = wanting or self.read(fields, None)  # a rule for all specs
                equal = self.equations(place, scope) | self.as_long(fields, raw) if scope is not None else {}
                return Watched(set(), place, wanting, set(), set(), equal)
            return Watched(builder.taken, place, wanting, builder.demanded, builder.used, builder.equal)
        return Watched(builder.taken, None, [], builder.demanded, builder.used, {})

    def equations(self, place: Place, scope: Scope) -> dict[str, Any]:
        """What would mend the spec's own condition at a place, if that is an equation."""
        own = [one for one in self.spec.require if within(place, one)]
        return {
            name: value
            for one in own
            for name, value in equals(one, scope, partial(value_of, scope, one)).items()
        }

    def as_long(self, fields: set[str], raw: Config) -> Config:
        """The lists of layers among some fields, with as many items as a config has layers."""
        layers = self.edges.number_of("num_hidden_layers", raw) or 0
        lists = {
            name: value for name in sorted(fields & {*ALLOWED}) if (value := self.edges.value_of(name, raw))
        }
        return {name: (value * layers)[:layers] for name, value in lists.items() if isinstance(value, list)}

    def mended(self, raw: Config, seen: Watched, kept: list[str]) -> None:
        """Gives some fields the values that would hold the equation which refuses a config."""
        for name, value in seen.equal.items():
            whole = (type(value) is int and value > 0) or (isinstance(value, list) and value)
            if (
                whole
                and name not in kept
                and name.partition(".")[0] in self.spec.fields
                and self.random.random() < 0.5
            ):
                self.edges.put(name, value, raw)

    @cached_property
    def own(self) -> set[str]:
        """The modules that the architecture may have."""
        return modules_of(self.spec, self.architecture)

    @cached_property
    def with_the_first(self) -> set[str]:
        """The modules that the first architecture may have too, where this is another one; they are looked
        into there.
        """
        first = next(iter(self.spec.architectures), self.architecture)
        return modules_of(self.spec, first) if first != self.architecture else set()

    @cached_property
    def reading(self) -> dict[int, set[str]]:
        """The fields that each condition reads."""
        return {
            id(one): {*self.read(reads(one.tree), self.owners.get(id(one)))} for one in conditions(self.spec)
        }

    @cached_property
    def calls(self) -> dict[str, list[tuple[ast.Call, ast.expr, Module]]]:
        """Module -> its calls, the expression and the module that each is in; a call may say a parent's
        name.
        """
        found: dict[str, list[tuple[ast.Call, ast.expr, Module]]] = {}
        for module in self.spec.modules.values():
            for expression in leaves(module.body):
                for node in ast.walk(expression.tree):
                    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                        continue
                    if (called := self.spec.module(node.func.id)) is not None:
                        found.setdefault(called.name, []).append((node, expression.tree, module))
        return found

    def arguments(self, module: Module, parameter: str) -> Iterator[tuple[Set[str], Module]]:
        """The names in what each call of a module gives it for a parameter, and the modules that those
        calls are in.
        """
        for call, whole, caller in self.calls.get(module.name, ()):
            if (given := handed(module, parameter, call)) is not None:
                yield reads(given) | turned(whole, reads(given)), caller

    def read(self, found: Set[str], module: Module | None, trail: frozenset[str] = frozenset()) -> list[str]:
        """The config fields behind some names: through local names, arguments, and computed defaults."""
        fields: list[str] = []
        pending, seen = sorted(found), set[str]()
        while pending:
            name = pending.pop()
            part, _, inner = name.partition(".")
            if inner and (aim := self.part(part)) is not None:
                fields += [
                    own for field in aim.read({inner}, None) if (own := f"{part}.{field}") not in fields
                ]
                continue
            alias, name = name, self.spec.attribute_map.get(name, name)
            if (
                alias in self.given
                and alias not in fields
                and (alias != name or name not in self.spec.fields)
            ):
                fields.append(alias)
            if name in seen:
                continue
            seen.add(name)
            if module is not None and name in module.where:
                pending += sorted(reads(module.where[name].tree))
            elif module is not None and name in module.parameters:
                if (here := f"{module.name}.{name}") not in trail:
                    trail |= {here}
                    for given, caller in self.arguments(module, name):
                        fields += [name for name in self.read(given, caller, trail) if name not in fields]
            elif name in self.spec.fixed:
                fields += [name] if name in self.spec.fields else []  # read by given()
                pending += sorted(reads(self.spec.fixed[name].tree))
            elif name == "num_labels":
                fields.append(name)
            elif (field := self.spec.fields.get(name)) is not None:
                fields.append(name)
                pending += sorted(reads(field.default.tree)) if field.computed and field.default else []
        return fields

    def drawn(
        self,
        configs: list[Config],
        fields: list[str],
        tries: int = TRIES,
        beside: float = 0.1,
        flags: float = 0.3,
    ) -> Iterator[Config]:
        """Valid configs with some of these fields drawn anew, ``beside`` their values at times; ``flags``
        go along at times.
        """
        wholes = [name for name in fields if any(other.startswith(name + ".") for other in fields)]
        for _ in range(tries if fields and configs else 0):
            raw = copy.deepcopy(self.random.choice(configs))
            pool = [name for name in fields if name not in wholes or self.random.random() < 0.2]
            if self.random.random() < 0.3:
                near = [number for name in fields if (number := self.edges.number_of(name, raw)) is not None]
                raw |= {
                    name: self.random.choice((1, self.edges.number(name) or 1, *near))
                    for name in self.unset(fields, raw)
                }
            for name in self.random.sample(pool, self.random.randint(1, min(3, len(pool)))):
                value = (
                    self.edges.beside(name, fields, raw)
                    if self.random.random() < beside
                    else self.edges.value(name, raw)
                )
                self.edges.put(name, value, raw)
                if value is not ... and (other := self.equals.get(name)) and self.random.random() < 0.5:
                    self.edges.put(other, value, raw)
            if self.random.random() < flags:
                raw |= {
                    name: self.random.random() < 0.5
                    for name in self.sampler.flags
                    if self.random.random() < 0.3
                }
            yield self.sampler.narrowed(raw)

    @cached_property
    def equals(self) -> dict[str, str]:
        """The fields that a condition wants equal to another, and which."""
        found: dict[str, str] = {}
        for node in (node for condition in conditions(self.spec) for node in ast.walk(condition.tree)):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq):
                ends = [end.id for end in (node.left, node.comparators[0]) if isinstance(end, ast.Name)]
                pair = [self.spec.attribute_map.get(end, end) for end in ends]
                if len(pair) == 2 and {*pair} <= self.spec.fields.keys():
                    found |= {pair[0]: pair[1], pair[1]: pair[0]}
        return found

    def unset(self, fields: list[str], raw: Config) -> list[str]:
        """The numbers among some fields that are null by default, which may have to be given all or none."""
        known = [field for name in fields if (field := self.spec.fields.get(name)) is not None]
        numbers = [field for field in known if {"int", "None"} <= {*field.types} and not field.computed]
        return [field.name for field in numbers if self.sampler.default(field, raw) is None]


def value_of(scope: Scope, whole: Expression, part: ast.expr) -> Any:
    """What a part of an expression of the config is."""
    return scope.evaluate(whole._replace(tree=part))


def modules_of(spec: Spec, architecture: str) -> set[str]:
    """The modules that an architecture may have, by name."""
    found, pending = set[str](), [architecture]
    while pending:
        module = spec.module(pending.pop())
        if module is not None and module.name not in found:
            found.add(module.name)
            trees = [
                one.tree
                for one in (*leaves(module.body), *module.where.values(), *module.parameters.values())
                if one is not None
            ]
            pending += [read for tree in trees for read in names(tree)]
    return found


def turned(tree: ast.AST, found: Set[str]) -> set[str]:
    """The names in what a loop runs over, of the loops that give some names their values."""
    loops = [
        node for node in ast.walk(tree) if isinstance(node, ast.comprehension) and names(node.target) & found
    ]
    return {name for loop in loops for name in reads(loop.iter)}
