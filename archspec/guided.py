"""Random configs with an aim: each condition of a spec broken alone, each branch taken both ways.

What a condition reads is drawn anew in a valid config until the spec itself says that the aim is met;
that costs no instantiation.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, islice
from typing import Any, NamedTuple

from archspec.edges import Edges, above_zero
from archspec.errors import ArchspecError, Place
from archspec.expression import Expression, names
from archspec.places import within
from archspec.sampling import Sampler
from archspec.scope import Scope
from archspec.settled import conjuncts
from archspec.spec import Module, Spec, leaves
from archspec.texts import conditions, expressions
from archspec.watching import Branch, Test, Watcher, optional, reads, rounded_up

_TRIES = 12
_STEPS = 12
_REFUSED_TRIES = 60  # for a condition to be broken: those cost no instantiation until it is
_ALONE_TRIES = 15  # for it to be broken alone after that
_HIDDEN_TRIES = 8  # for it to be broken where another one refuses first

Config = dict[str, Any]


class Watched(NamedTuple):
    """What a config comes to: the branches, the line that refuses it, the fields that this reads.

    Then the modules' conditions, and the fields with a default that they read, whether given or not.
    """

    taken: set[Branch]
    place: Place | None
    wanting: list[str]
    demanded: set[int]
    used: set[tuple[str, bool]]


class Guide:
    """Finds configs for one architecture of a spec; ``configs`` are valid ones to start from."""

    def __init__(self, spec: Spec, architecture: str, sampler: Sampler) -> None:
        self.spec, self.architecture, self.sampler = spec, architecture, sampler
        self.random = sampler.random
        self.tests: dict[int, Test] = {}
        self.found: list[Config] = []  # valid ones that take another branch
        self.owners = {id(condition): module for module in spec.modules.values() for condition in module.require}

    @cached_property
    def watched_for(self) -> tuple[set[int], set[str]]:
        """The quotients that are rounded up, and the fields that may be left out: looked up once, not in every config."""
        return rounded_up(self.spec), optional(self.spec)

    @cached_property
    def given(self) -> set[str]:
        """The names under which given() looks for a field."""
        return {name for one in expressions(self.spec) for name in reads(one.tree) - names(one.tree)}

    @cached_property
    def edges(self) -> Edges:
        """Values at the edge; zero also for what a local name or a parameter above zero is computed from."""
        wanted = ((above_zero(one.tree), self.owners.get(id(one))) for one in conditions(self.spec))
        return Edges(self.sampler, {name for some, owner in wanted for name in self.read(some, owner)})

    def scope(self, raw: Config) -> Scope:
        """Of the architecture, for a config."""
        return Scope(self.spec, raw)

    def lacking(self, spec: Spec) -> Guide:
        """The same for a spec that lacks a condition."""
        return Guide(spec, self.architecture, self.sampler)

    def watched(self, raw: Config) -> Watched:
        """The branches that a config takes, and the line that refuses it, if one does."""
        builder: Watcher | None = None
        try:
            scope = self.scope(raw)
            scope.validate()
            builder = Watcher(scope, self.tests, *self.watched_for)
            builder.build(self.architecture)
        except ArchspecError as error:
            place = next((problem.place for problem in error.problems if problem.place), Place(self.spec.source, 1, 1))
            wanting = self.read(*builder.refusing) if builder and builder.refusing else []
            if builder is None:
                failing = [one for one in (*self.spec.require, *self.spec.fixed.values()) if within(place, one)]
                wanting = self.read({name for one in failing for name in reads(one.tree)}, None)
                told = [word.strip(":,`") for problem in error.problems for word in problem.message.split()]
                wanting = wanting or [word for word in told if word in self.spec.fields]  # a rule for all specs
                return Watched(set(), place, wanting, set(), set())
            return Watched(builder.taken, place, wanting, builder.demanded, builder.used)
        return Watched(builder.taken, None, [], builder.demanded, builder.used)

    def branches(self, configs: list[Config]) -> Iterator[Config]:
        """Valid configs that take branches which none of some valid configs takes."""
        taken: set[Branch] = set()
        reached: dict[int, list[Config]] = {}  # the best to start from: one outcome is there already

        def keep(raw: Config) -> Watched:
            watched = self.watched(raw)
            taken.update(watched.taken)
            for number in {number for number, _ in watched.taken}:
                reached.setdefault(number, []).append(raw)
            return watched

        seen = [(raw, keep(raw)) for raw in configs]
        yield from self.left_out(seen)
        for goal in self.sampler.goals if configs else ():
            for _ in range(_TRIES // 2):
                raw = next(self.drawn(configs, [goal.field]))
                raw[goal.field] = goal.given
                if self.watched(raw).place is None:
                    keep(raw)
                    yield raw
                    break
        pending = list(self.tests)
        known = {*pending}
        for number in pending:
            test = self.tests[number]
            if test.module is not None and test.module.name in self.with_the_first:
                continue
            for outcome in (True, False):
                if (number, outcome) in taken or not configs:
                    continue
                numbers = [part.value for part in ast.walk(test.call[0]) if isinstance(part, ast.Constant)] if test.call else []
                self.edges.offsets = [0, *{number for number in numbers if type(number) is int}]
                new = self.search(reached.get(number, configs), self.behind(test), (number, outcome), test.edge)
                if new is not None:
                    keep(new)
                    self.found.append(new)
                    pending += [other for other in reached if other not in known]  # behind the branch are others
                    known |= {*pending}
                    yield new

    def left_out(self, seen: list[tuple[Config, Watched]]) -> Iterator[Config]:
        """Valid configs where a default is read that all of some valid configs give, or do not read."""
        read = {one for _, watched in seen for one in watched.used}
        for name in sorted({name for name, given in read if given and (name, False) not in read}):
            giving = [raw for raw, watched in seen if (name, True) in watched.used]
            without_it = ({key: value for key, value in raw.items() if key != name} for raw in giving[:_STEPS])
            yield from islice((raw for raw in without_it if self.watched(raw).place is None), 1)

    def behind(self, test: Test) -> list[str]:
        """The config fields that a test depends on."""
        if test.call is None or test.module is None:
            return self.read(reads(test.node), test.module)
        own = self.read(reads(test.node) - {*test.module.parameters}, test.module)
        return list(dict.fromkeys([*own, *self.read(reads(test.call[0]), test.call[1])]))

    def search(self, configs: list[Config], fields: list[str], branch: Branch, edge: bool) -> Config | None:
        tries, beside = (2 * _TRIES, 0.7) if edge else (_TRIES, 0.1)
        joined = [] if edge else self.joined(fields)
        for raw in chain(self.drawn(configs, fields, tries, beside), self.drawn(configs, joined, tries, beside)):
            seen = self.watched(raw)
            reached = branch in seen.taken
            for _ in range(_STEPS):  # a branch may need fields that nothing else reads, and those others
                if seen.place is None or not reached or not seen.wanting:
                    break
                raw = next(self.drawn([raw], seen.wanting, flags=0.0))
                seen = self.watched(raw)
            if seen.place is None and branch in seen.taken:
                return raw
        return None

    def settle(self, raw: Config, kept: list[str]) -> Config | None:
        """The config until nothing refuses it: what is wanted is drawn anew, but for some fields. None if that fails."""
        seen = self.watched(raw)
        for _ in range(_STEPS):
            wanting = [name for name in seen.wanting if name not in kept]
            if seen.place is None or not wanting:
                break
            raw = next(self.drawn([raw], wanting, flags=0.0))
            numbers = [name for name in wanting if self.edges.number_of(name, raw) is not None]
            raw |= {name: 1 for name in numbers if self.random.random() < 0.3}  # divides whatever is kept
            seen = self.watched(raw)
        return raw if seen.place is None else None

    def joined(self, fields: list[str]) -> list[str]:
        """The same fields and those that a condition holds against one of them; none where there are no others."""
        found = list(fields)
        for condition in conditions(self.spec):
            read = self.read(reads(condition.tree), self.owners.get(id(condition)))
            found += [name for name in read if name not in found] if set(read) & set(fields) else []
        return found if len(found) > len(fields) else []

    @cached_property
    def own(self) -> set[str]:
        """The modules that the architecture may have."""
        return modules_of(self.spec, self.architecture)

    @cached_property
    def with_the_first(self) -> set[str]:
        """The modules that the first architecture may have too, where this is another one; they are looked into there."""
        first = next(iter(self.spec.architectures), self.architecture)
        return modules_of(self.spec, first) if first != self.architecture else set()

    def violations(self, configs: list[Config]) -> Iterator[Config]:
        """Configs that the spec refuses, a few for each of its conditions, one of them for nothing else if that can be.

        One is enough for what the first architecture is held to as well. A module's condition is broken where it is come to.
        """
        configs = [*configs, *self.found]
        self.edges.offsets = [0, 1]  # as much as another, or one more
        come_to = [(raw, self.watched(raw).demanded) for raw in configs]
        for condition in conditions(self.spec):
            owner = self.owners.get(id(condition))
            if owner is not None and owner.name not in self.own:
                continue
            again = owner.name in self.with_the_first if owner is not None else bool(self.with_the_first)
            each = 1 if again else 3
            others = self.lacking(without(self.spec, condition, owner))
            fields = self.read(reads(condition.tree), owner)
            count, alone, more, hidden = 0, again, _ALONE_TRIES, _HIDDEN_TRIES
            beside = 0.1 if len(fields) < 2 else 0.25
            start = self.near(condition, come_to) or configs
            parts = [part for one in conjuncts(condition.tree) if (part := self.read(reads(one), owner))] or [fields]
            draws = [self.drawn(start, part, max(_REFUSED_TRIES // len(parts), _TRIES), beside) for part in parts]
            for raw in chain.from_iterable(zip(*draws, strict=True)):  # one at a time: another may refuse what breaks several
                more -= count >= each
                if not more:
                    break
                if self.random.random() < 0.2:  # without layers their conditions are silent
                    raw |= {name: 0 for name in self.sampler.turns if name not in fields}
                place = self.watched(raw).place
                only = None
                if not self.at(place, condition):  # maybe something else that is to be mended comes first
                    hidden -= place is not None and not count
                    only = others.settle(raw, fields) if place is not None and hidden > 0 and not count else None
                    if only is None or not self.at(self.watched(only).place, condition):
                        continue
                only = only if only or alone else others.settle(raw, fields)
                if count < each or only is not None:
                    yield raw if only is None else only
                    count, alone = count + 1, alone or only is not None
                if count >= each and alone:
                    break

    def at(self, place: Place | None, condition: Expression) -> bool:
        """Whether a config was refused by a condition."""
        return place is not None and place[1:3] == condition.place[1:3] and place.source.name == condition.place.source.name

    def near(self, condition: Expression, come_to: list[tuple[Config, set[int]]]) -> list[Config]:
        """Of some valid configs those that come to a module's condition, and to no other on the same fields if that can be.

        Where a layer is of one kind or another, both with such a condition, one without the other may have to be drawn.
        """
        rivals = self.rivals(condition)
        near = [raw for raw, demanded in come_to if id(condition) in demanded]
        alone = [raw for raw, demanded in come_to if id(condition) in demanded and not rivals & demanded]
        owner = self.owners.get(id(condition))
        if owner is None or not rivals or not near or alone:
            return alone or near
        sides = {
            module.name for module in self.spec.modules.values() for one in module.require if id(one) in {*rivals, id(condition)}
        }
        for module in self.spec.modules.values():
            for part in leaves(module.body):
                if not sides & self.choices(part):
                    continue
                for raw in self.drawn(near, self.read(reads(part.tree), module)):
                    seen = self.watched(raw)
                    if seen.place is None and id(condition) in seen.demanded and not rivals & seen.demanded:
                        return [raw]
        return near

    def choices(self, part: Expression) -> set[str]:
        """The modules that an expression may make, and those within them, where it may make others instead."""
        if not any(isinstance(node, ast.IfExp) for node in ast.walk(part.tree)):
            return set()
        called = [module.name for name in names(part.tree) if (module := self.spec.module(name)) is not None]
        return set[str]().union(*(modules_of(self.spec, name) for name in called))

    def rivals(self, condition: Expression) -> set[int]:
        """The conditions of other modules on the same fields as one is, or on some of them, or on more."""
        fields = self.reading[id(condition)]
        owner = self.owners.get(id(condition))
        return {
            other
            for other, read in self.reading.items()
            if (read <= fields or fields <= read) and self.owners.get(other) is not owner
        }

    @cached_property
    def reading(self) -> dict[int, set[str]]:
        """The fields that each condition reads."""
        return {id(one): {*self.read(reads(one.tree), self.owners.get(id(one)))} for one in conditions(self.spec)}

    @cached_property
    def arguments(self) -> dict[str, list[tuple[set[str], Module]]]:
        """Module -> the names in each of its calls, and the modules that those are in; a call may say a parent's name."""
        found: dict[str, list[tuple[set[str], Module]]] = {}
        for module in self.spec.modules.values():
            for expression in leaves(module.body):
                for node in ast.walk(expression.tree):
                    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
                    if name and (called := self.spec.module(name)) is not None:
                        read = (reads(node) | turned(expression.tree, reads(node))) - {name}
                        found.setdefault(called.name, []).append((read, module))
        return found

    def read(self, found: set[str], module: Module | None, trail: frozenset[str] = frozenset()) -> list[str]:
        """The config fields behind some names: through local names, arguments, and computed defaults."""
        fields: list[str] = []
        pending, seen = sorted(found), set[str]()
        while pending:
            name = pending.pop()
            alias, name = name, self.spec.attribute_map.get(name, name)
            if alias in self.given and alias not in fields and (alias != name or name not in self.spec.fields):
                fields.append(alias)
            if name in seen:
                continue
            seen.add(name)
            if module is not None and name in module.where:
                pending += sorted(reads(module.where[name].tree))
            elif module is not None and name in module.parameters:
                if module.name not in trail:
                    trail |= {module.name}
                    for given, caller in self.arguments.get(module.name, ()):
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
        self, configs: list[Config], fields: list[str], tries: int = _TRIES, beside: float = 0.1, flags: float = 0.3
    ) -> Iterator[Config]:
        """Valid configs with some of these fields drawn anew, ``beside`` their values at times; ``flags`` go along at times."""
        for _ in range(tries if fields and configs else 0):
            raw = copy.deepcopy(self.random.choice(configs))
            if self.random.random() < 0.3:
                near = [number for name in fields if (number := self.edges.number_of(name, raw)) is not None]
                raw |= {name: self.random.choice((1, self.edges.number(name) or 1, *near)) for name in self.unset(fields, raw)}
            for name in self.random.sample(fields, self.random.randint(1, min(3, len(fields)))):
                value = self.edges.beside(name, fields, raw) if self.random.random() < beside else self.edges.value(name, raw)
                if value is ...:
                    raw.pop(name, None)
                else:
                    raw[name] = value
                    raw.pop(self.spec.attribute_map.get(name, ""), None)  # the same field, which has one value
                    if (other := self.equals.get(name)) and self.random.random() < 0.5:
                        raw[other] = value
            if self.random.random() < flags:
                raw |= {name: self.random.random() < 0.5 for name in self.sampler.flags if self.random.random() < 0.3}
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


def modules_of(spec: Spec, architecture: str) -> set[str]:
    """The modules that an architecture may have, by name."""
    found, pending = set[str](), [architecture]
    while pending:
        module = spec.module(pending.pop())
        if module is not None and module.name not in found:
            found.add(module.name)
            trees = [
                one.tree for one in (*leaves(module.body), *module.where.values(), *module.parameters.values()) if one is not None
            ]
            pending += [read for tree in trees for read in names(tree)]
    return found


def without(spec: Spec, condition: Expression, owner: Module | None) -> Spec:
    """A spec that lacks one of its conditions, its own or that of a module."""
    if owner is None:
        return spec._replace(require=tuple(other for other in spec.require if other is not condition))
    kept = owner._replace(require=tuple(other for other in owner.require if other is not condition))
    return spec._replace(modules={name: kept if module is owner else module for name, module in spec.modules.items()})


def turned(tree: ast.AST, found: set[str]) -> set[str]:
    """The names in what a loop runs over, of the loops that give some names their values."""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.comprehension) and names(node.target) & found]
    return {name for loop in loops for name in reads(loop.iter)}
