"""Configs that a spec refuses: each of its conditions broken alone, if that can be.

What a condition reads is drawn anew in a valid config until the spec itself says that it is broken; that
costs no
instantiation.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from typing import Any

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, Place
from archspec.language.expression import ORDERED, Expression, names
from archspec.language.trees import conjuncts
from archspec.specs.records import Module, Spec, leaves
from archspec.specs.references import conditions, reads
from archspec.verify.generate.aim import TRIES, Config, modules_of, value_of
from archspec.verify.generate.branching import MENDING_TRIES, Branching
from archspec.verify.generate.faults import holds
from archspec.verify.generate.watching import Watcher

_REFUSED_TRIES = 60  # for a condition to be broken: those cost no instantiation until it is
_ALONE_TRIES = 15  # for it to be broken alone after that
_BOUNDS = 8  # valid configs of which a field is set to what it is held against
_ENDS = 5  # valid configs of which a list ends before
_SHORTER = 8  # items less, at most
_HIDDEN_TRIES = 8  # for it to be broken where another one refuses first


class Guide(Branching):
    """Finds configs for the branches and conditions of one architecture of a spec."""

    def lacking(self, spec: Spec) -> Guide:
        """The same for a spec that lacks a condition."""
        return Guide(spec, self.architecture, self.sampler)

    def violations(self, configs: list[Config]) -> Iterator[Config]:
        """Configs that the spec refuses, a few for each of its conditions, one of them for nothing else if
        that can be.

        One is enough for what the first architecture is held to as well. A module's condition is broken where
        it is come to.
        """
        configs = [*configs, *self.found]
        self.edges.offsets = [0, 1]  # as much as another, or one more
        come_to = [
            (raw, (self.known.get(id(raw)) or (raw, self.watched(raw)))[1].demanded) for raw in configs
        ]
        for condition in conditions(self.spec):
            owner = self.owners.get(id(condition))
            if owner is not None and owner.name not in self.own:
                continue
            again = self.looked_into(owner)
            each = 1 if again else 3
            others = self.lacking(without(self.spec, condition, owner))
            fields = self.read(reads(condition.tree), owner)
            count, alone, more, hidden = 0, again, _ALONE_TRIES, 0 if again else _HIDDEN_TRIES
            beside = 0.1 if len(fields) < 2 else 0.25
            start = self.near(condition, come_to) or configs
            parts = [
                (one, part) for one in conjuncts(condition.tree) if (part := self.read(reads(one), owner))
            ]
            parts = parts or [(condition.tree, fields)]
            tries = max(_REFUSED_TRIES // len(parts), TRIES)
            draws = [
                self.drawn(self.closest(start, condition, one), part, tries, beside) for one, part in parts
            ]
            if not again:
                yield from self.at_bounds(start, condition) if owner is not None else ()
                yield from self.at_ends(start, condition, fields)
            for raw in chain.from_iterable(
                zip(*draws, strict=True)
            ):  # one at a time: another may refuse what breaks several
                more -= count >= each
                if not more:
                    break
                if self.random.random() < 0.2:  # without layers their conditions are silent
                    raw |= {name: 0 for name in self.sampler.turns if name not in fields}
                place = self.watched(raw).place
                only = None
                if not self.at(place, condition):  # maybe something else that is to be mended comes first
                    hidden -= place is not None and not count
                    only = (
                        others.settle(raw, fields) if place is not None and hidden > 0 and not count else None
                    )
                    if only is None or not self.at(self.watched(only).place, condition):
                        continue
                only = only if only or alone else others.settle(raw, fields)
                if count < each or only is not None:
                    yield raw if only is None else only
                    count, alone = count + 1, alone or only is not None
                if count >= each and alone:
                    break
            if not alone:
                yield from islice(
                    self.behind_others(
                        self.closest(start, condition, condition.tree), condition, fields, others
                    ),
                    each,
                )

    def some(self, configs: list[Config], most: int) -> list[Config]:
        """So many of some configs at most, drawn."""
        return configs if len(configs) <= most else self.random.sample(configs, most)

    def closest(self, configs: list[Config], condition: Expression, part: ast.expr) -> list[Config]:
        """Of some valid configs those for which the fewest alternatives of a part of the spec's own
        condition hold.
        """
        if id(condition) in self.owners or not (isinstance(part, ast.BoolOp) and isinstance(part.op, ast.Or)):
            return configs
        some = self.some(configs, _BOUNDS)
        held = [
            sum(holds(one, partial(value_of, self.scope(raw), condition)) for one in part.values)
            for raw in some
        ]
        return [raw for raw, count in zip(some, held, strict=True) if count == min(held)]

    def behind_others(
        self, configs: list[Config], condition: Expression, fields: list[str], others: Guide
    ) -> Iterator[Config]:
        """Configs that a condition refuses where others refuse first: a value at an edge at a time, and
        the rest mended.
        """
        for name, raw in self.extremes(configs, fields):
            for attempt in range(MENDING_TRIES):
                walking = attempt in (1, 2)  # past what others refuse, on the same side of the edge
                silent = (
                    {turn: 0 for turn in self.sampler.turns if turn not in fields} if attempt == 2 else {}
                )
                only = others.settle(
                    raw | silent, [other for other in fields if not walking or other != name], walking
                )
                if only is not None:
                    yield from [only] if self.at(self.watched(only).place, condition) else ()
                    break

    def at_bounds(self, configs: list[Config], condition: Expression) -> Iterator[Config]:
        """Some valid configs, but for a field beside the least that a condition holds it against; more of
        several calls.
        """
        if not any(
            isinstance(node, ast.Compare) and isinstance(node.ops[0], ORDERED)
            for node in ast.walk(condition.tree)
        ):
            return
        for index, raw in enumerate(self.some(configs, _BOUNDS)):
            bounds = self.bounds(raw, condition)
            for name in sorted({name for name, _ in bounds}):
                above = sorted(value for other, value in bounds if other == name and value > 0)
                if len(above) > 1 or (above and index < 2):
                    near = ({**raw, name: above[0] + more} for more in (0, 1, -1))
                    yield from islice(
                        (other for other in near if self.at(self.watched(other).place, condition)), 1
                    )

    def at_ends(self, configs: list[Config], condition: Expression, fields: list[str]) -> Iterator[Config]:
        """Some valid configs, but for a list that ends before a condition allows it."""
        for raw in self.some(configs, _ENDS):
            for name in fields:
                known = self.decided(name, raw)
                for length in range(len(known) - 1, -1, -1)[:_SHORTER] if isinstance(known, list) else ():
                    self.edges.put(name, known[:length], shorter := copy.deepcopy(raw))
                    seen = self.watched(shorter)
                    if seen.equal and not self.at(
                        seen.place, condition
                    ):  # of two lists the other is to be as long as ever
                        for other, value in seen.equal.items():
                            self.edges.put(other, value, shorter)
                        seen = self.watched(shorter)
                    if seen.place is not None:
                        yield from [shorter] if self.at(seen.place, condition) else ()
                        break

    def decided(self, name: str, raw: Config) -> Any:
        """What a field is in a valid config, also where the spec decides that."""
        return Scope(self.spec, raw).get(name) if name in self.spec.fixed else self.edges.value_of(name, raw)

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
        return (
            place is not None
            and place[1:3] == condition.place[1:3]
            and place.source.name == condition.place.source.name
        )

    def near(self, condition: Expression, come_to: list[tuple[Config, set[int]]]) -> list[Config]:
        """Of some valid configs those that come to a module's condition, and to no other on the same
        fields if that can be.

        Where a layer is of one kind or another, both with such a condition, one without the other may have
        to be drawn.
        """
        rivals = self.rivals(condition)
        near = [raw for raw, demanded in come_to if id(condition) in demanded]
        alone = [raw for raw, demanded in come_to if id(condition) in demanded and not rivals & demanded]
        owner = self.owners.get(id(condition))
        if owner is None or not rivals or not near or alone:
            return alone or near
        sides = {
            module.name
            for module in self.spec.modules.values()
            for one in module.require
            if id(one) in {*rivals, id(condition)}
        }
        for module in self.spec.modules.values():
            for part in leaves(module.body):
                if not sides & self.choices(part):
                    continue
                fields = self.read(reads(part.tree), module)
                for raw in chain(self.of_one_kind(near, fields), self.drawn(near, fields)):
                    seen = self.watched(raw)
                    if seen.place is None and id(condition) in seen.demanded and not rivals & seen.demanded:
                        return [raw]
        return near

    def of_one_kind(self, configs: list[Config], fields: list[str]) -> Iterator[Config]:
        """A valid config with a list of layers' kinds that names one kind alone, each in turn."""
        raw = self.random.choice(configs)
        for name, texts in ((name, self.sampler.strings.get(name, ())) for name in fields):
            known = self.edges.value_of(name, raw)
            yield from (
                ({**raw, name: [text] * len(known)} for text in texts) if isinstance(known, list) else ()
            )

    def choices(self, part: Expression) -> set[str]:
        """The modules that an expression may make, and those within them, where it may make others
        instead.
        """
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
    return spec._replace(
        modules={name: kept if module is owner else module for name, module in spec.modules.items()}
    )
