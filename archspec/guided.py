"""Random configs with an aim: each condition of a spec broken alone, each branch taken both ways.

What a condition reads is drawn anew in a valid config until the spec itself says that the aim is met;
that costs no instantiation.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from itertools import chain, islice

from archspec.aim import TRIES, Aim, Config, Watched, modules_of
from archspec.errors import ArchspecError, Place
from archspec.expression import Expression, names
from archspec.faults import reads
from archspec.sampling import Sampler
from archspec.settled import conjuncts
from archspec.spec import Module, Spec, leaves
from archspec.texts import conditions
from archspec.watching import Branch, Test, Watcher

_STEPS = 12
_REFUSED_TRIES = 60  # for a condition to be broken: those cost no instantiation until it is
_ALONE_TRIES = 15  # for it to be broken alone after that
_BOUNDS = 8  # valid configs of which a field is set to what it is held against
_MENDING_TRIES = 3
_HIDDEN_TRIES = 8  # for it to be broken where another one refuses first


class Guide(Aim):
    """Finds configs for one architecture of a spec; ``configs`` are valid ones to start from."""

    def __init__(self, spec: Spec, architecture: str, sampler: Sampler) -> None:
        super().__init__(spec, architecture, sampler)
        self.found: list[Config] = []  # valid ones that take another branch

    def lacking(self, spec: Spec) -> Guide:
        """The same for a spec that lacks a condition."""
        return Guide(spec, self.architecture, self.sampler)

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
            for _ in range(TRIES // 2):
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
        tries, beside = (2 * TRIES, 0.7) if edge else (TRIES, 0.1)
        joined = [] if edge else self.joined(fields)
        node = self.tests[branch[0]].node
        flag = {node.id: branch[1]} if isinstance(node, ast.Name) and node.id in self.sampler.flags else {}
        for raw in chain(self.drawn(configs, fields, tries, beside), self.drawn(configs, joined, tries, beside)):
            raw |= flag
            seen = self.watched(raw)
            reached = branch in seen.taken or not seen.taken
            for _ in range(_STEPS):  # a branch may need fields that nothing else reads, and those others
                if seen.place is None or not reached or not seen.wanting:
                    break
                if self.random.random() < 0.3:  # what contradicts may be left out
                    self.edges.put(self.random.choice(seen.wanting), ..., raw)
                raw = next(self.drawn([raw], seen.wanting, flags=0.0)) | flag
                self.mended(raw, seen, [*flag])
                seen = self.watched(raw)
            if seen.place is None and branch in seen.taken:
                return raw
        for name, raw in self.extremes(configs, fields):
            for _ in range(_MENDING_TRIES):
                only = self.settle(raw, [name])
                if only is not None and branch in self.watched(only).taken:
                    return only
                if only is not None:
                    break
        return None

    def settle(self, raw: Config, kept: list[str]) -> Config | None:
        """The config until nothing refuses it: what is wanted is drawn anew, but for some fields. None if that fails."""
        seen = self.watched(raw)
        for _ in range(_STEPS):
            wanting = [name for name in seen.wanting if name not in kept]
            if seen.place is None or not wanting:
                break
            raw = next(self.drawn([raw], wanting, flags=0.0))
            self.mended(raw, seen, kept)
            share = self.random.choice((0.3, 0.3, 1.0))
            for name in wanting:
                if self.random.random() < share and (one := self.edges.one_of(name, raw)):  # divides whatever is kept
                    self.edges.put(name, one, raw)
            seen = self.watched(raw)
        return raw if seen.place is None else None

    def joined(self, fields: list[str]) -> list[str]:
        """The same fields and those that a condition holds against one of them; none where there are no others."""
        found = list(fields)
        for condition in conditions(self.spec):
            read = self.read(reads(condition.tree), self.owners.get(id(condition)))
            found += [name for name in read if name not in found] if set(read) & set(fields) else []
        return found if len(found) > len(fields) else []

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
            draws = [self.drawn(start, part, max(_REFUSED_TRIES // len(parts), TRIES), beside) for part in parts]
            yield from self.at_bounds(start, condition)
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
            if not alone:
                yield from islice(self.behind_others(start, condition, fields, others), each)

    def extremes(self, configs: list[Config], fields: list[str]) -> Iterator[tuple[str, Config]]:
        """A valid config with one of some fields at an edge, each in turn, and which."""
        for name in fields if configs else ():
            valid = self.random.choice(configs)
            for value in self.edges.extremes(name, valid):
                self.edges.put(name, value, raw := copy.deepcopy(valid))
                yield name, raw

    def behind_others(self, configs: list[Config], condition: Expression, fields: list[str], others: Guide) -> Iterator[Config]:
        """Configs that a condition refuses where others refuse first: a value at an edge at a time, and the rest mended."""
        for _, raw in self.extremes(configs, fields):
            for _ in range(_MENDING_TRIES):
                only = others.settle(raw, fields)
                if only is not None:
                    yield from [only] if self.at(self.watched(only).place, condition) else ()
                    break

    def at_bounds(self, configs: list[Config], condition: Expression) -> Iterator[Config]:
        """Some valid configs, but for a field beside the least that a condition holds it against; more of several calls."""
        for index, raw in enumerate(configs if len(configs) <= _BOUNDS else self.random.sample(configs, _BOUNDS)):
            bounds = self.bounds(raw, condition)
            for name in sorted({name for name, _ in bounds}):
                above = sorted(value for other, value in bounds if other == name and value > 0)
                if len(above) > 1 or (above and index < 2):
                    near = ({**raw, name: above[0] + more} for more in (0, 1, -1))
                    yield from islice((other for other in near if self.at(self.watched(other).place, condition)), 1)

    def bounds(self, raw: Config, condition: Expression) -> set[tuple[str, int]]:
        """What the fields in a condition are held against, in numbers."""
        builder = None
        try:
            builder = Watcher(self.scope(raw), {}, *self.watched_for)
            builder.asked = condition
            builder.build(self.architecture)
        except ArchspecError:
            pass
        return builder.bounds if builder is not None else set()

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


def without(spec: Spec, condition: Expression, owner: Module | None) -> Spec:
    """A spec that lacks one of its conditions, its own or that of a module."""
    if owner is None:
        return spec._replace(require=tuple(other for other in spec.require if other is not condition))
    kept = owner._replace(require=tuple(other for other in owner.require if other is not condition))
    return spec._replace(modules={name: kept if module is owner else module for name, module in spec.modules.items()})
