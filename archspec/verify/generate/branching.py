"""Valid configs that take each branch of a spec both ways, found from some that are valid.

What a test reads is drawn anew until the spec itself says that the branch is taken; that costs no
instantiation.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from itertools import chain, product

from archspec.language.expression import Expression
from archspec.specs.records import Module, Spec
from archspec.specs.references import conditions, module_expressions, reads
from archspec.verify.generate.aim import TRIES, Aim, Config, Watched
from archspec.verify.generate.sampling import Sampler
from archspec.verify.generate.watching import Branch, Test, handed

MENDING_TRIES = 4
TIES = "tie_word_embeddings"
_STEPS = 12


class Branching(Aim):
    """Finds configs for the branches of one architecture; ``configs`` are valid ones to start from."""

    def __init__(self, spec: Spec, architecture: str, sampler: Sampler) -> None:
        super().__init__(spec, architecture, sampler)
        self.found: list[Config] = []  # valid ones that take another branch
        self.known: dict[int, tuple[Config, Watched]] = {}  # what the valid ones come to, by which they are

    def branches(self, configs: list[Config]) -> Iterator[Config]:
        """Valid configs that take branches which none of some valid configs takes."""
        taken: set[Branch] = set()
        reached: dict[int, list[Config]] = {}  # the best to start from: one outcome is there already

        def keep(raw: Config) -> Watched:
            watched = self.watched(raw)
            self.known[id(raw)] = raw, watched
            taken.update(watched.taken)
            for number in {number for number, _ in watched.taken}:
                reached.setdefault(number, []).append(raw)
            return watched

        seen = [(raw, keep(raw)) for raw in configs]
        yield from self.left_out(seen)
        yield from self.ties_apart(configs)
        for goal in [goal for goal in self.sampler.goals if goal.field in self.new] if configs else ():
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
            if self.looked_into(test.module):
                continue
            for outcome in (True, False):
                if (number, outcome) in taken or not configs:
                    continue
                numbers = (
                    [part.value for part in ast.walk(test.call[0]) if isinstance(part, ast.Constant)]
                    if test.call
                    else []
                )
                self.edges.offsets = [0, *{number for number in numbers if type(number) is int}]
                new = self.search(
                    reached.get(number, configs), self.behind(test), (number, outcome), test.edge
                )
                if new is not None:
                    keep(new)
                    self.found.append(new)
                    pending += [
                        other for other in reached if other not in known
                    ]  # behind the branch are others
                    known |= {*pending}
                    yield new
                    yield from self.by_default((number, outcome), [new]) if test.module is None else ()

    def looked_into(self, module: Module | None) -> bool:
        """Whether the first architecture, where this is another, has a module too; what the config
        computes they all have.
        """
        return bool(self.with_the_first) if module is None else module.name in self.with_the_first

    @cached_property
    def new(self) -> set[str]:
        """The fields that modules of the architecture read which are not the first one's too; of the first
        itself, all.
        """
        if not self.with_the_first:
            return {*self.spec.fields}
        found = {TIES}
        for module in (
            one for one in self.spec.modules.values() if one.name in self.own - self.with_the_first
        ):
            for whole in module_expressions(module):
                found |= {*self.read(reads(whole.tree), module)}
        return found

    def ties_apart(self, configs: list[Config]) -> Iterator[Config]:
        """Valid configs where a model ties its embeddings and a part does not, and the other way round:
        both may say a tie.
        """
        parts = [
            name
            for name in self.spec.fields
            if (part := self.part(name)) is not None and TIES in part.spec.fields
        ]
        for name, whole in product(parts if TIES in self.spec.fields else (), (True, False)):
            for raw in map(copy.deepcopy, configs[:_STEPS]):
                self.edges.put(TIES, whole, raw)
                self.edges.put(f"{name}.{TIES}", not whole, raw)
                if self.watched(raw).place is None:
                    yield raw
                    break

    def left_out(self, seen: list[tuple[Config, Watched]]) -> Iterator[Config]:
        """Valid configs where a default is read that all of some valid configs give, or do not read.

        What decides a computed default does so by each of its fields' own defaults, both ways.
        """
        read = {one for _, watched in seen for one in watched.used}
        for name in sorted(
            {name for name, given in read if given and (name, False) not in read and name in self.new}
        ):
            giving = [raw for raw, watched in seen if (name, True) in watched.used]
            yield from self.lacking_field(name, giving[:_STEPS])
        computed = (
            []
            if self.looked_into(None)
            else [number for number, test in self.tests.items() if test.module is None]
        )
        for number in computed:
            for branch in ((number, True), (number, False)):
                yield from self.by_default(branch, [raw for raw, watched in seen if branch in watched.taken])

    def by_default(self, branch: Branch, configs: list[Config]) -> Iterator[Config]:
        """Some valid configs that take a branch, without a field behind it that they all give."""
        fields = self.behind(self.tests[branch[0]])
        for name in [name for name in fields if all(name in raw for raw in configs)]:
            others = [other for other in fields if other != name]
            yield from self.lacking_field(
                name, chain(configs[:_STEPS], self.drawn(configs, others)), {branch}
            )

    def lacking_field(
        self, name: str, configs: Iterable[Config], branches: Set[Branch] = frozenset()
    ) -> Iterator[Config]:
        """The first of some configs that is valid without a field, and takes some branches then."""
        for raw in ({key: value for key, value in one.items() if key != name} for one in configs):
            watched = self.watched(raw)
            if watched.place is None and branches <= watched.taken:
                yield raw
                return

    @cached_property
    def settings(self) -> list[Expression]:
        """The computed defaults and derived fields."""
        defaults = [field.default for field in self.spec.fields.values() if field.default is not None]
        return [*defaults, *self.spec.fixed.values()]

    def behind(self, test: Test) -> list[str]:
        """The config fields that a test depends on."""
        if test.module is None:
            wholes = [
                one.tree for one in self.settings if any(node is test.node for node in ast.walk(one.tree))
            ]
            return self.read({name for whole in wholes for name in reads(whole)}, None)
        if test.call is None:
            return self.read(reads(test.node), test.module)
        parameters = reads(test.node) & {*test.module.parameters}
        own = self.read(reads(test.node) - parameters, test.module)
        given = [
            one for name in sorted(parameters) if (one := handed(test.module, name, test.call[0])) is not None
        ]
        return list(
            dict.fromkeys([*own, *(name for one in given for name in self.read(reads(one), test.call[1]))])
        )

    def search(self, configs: list[Config], fields: list[str], branch: Branch, edge: bool) -> Config | None:
        tries, beside = (2 * TRIES, 0.7) if edge else (TRIES, 0.1)
        joined = [] if edge else self.joined(fields)
        node = self.tests[branch[0]].node
        flag = {node.id: branch[1]} if isinstance(node, ast.Name) and node.id in self.sampler.flags else {}
        for raw in chain(
            self.drawn(configs, fields, tries, beside), self.drawn(configs, joined, tries, beside)
        ):
            raw |= flag
            seen = self.watched(raw)
            reached = branch in seen.taken or not seen.taken
            for _ in range(_STEPS):  # a branch may need fields that nothing else reads, and those others
                if seen.place is None or not reached or not seen.wanting:
                    break
                if self.random.random() < 0.3:  # what contradicts may be left out
                    self.edges.put(self.random.choice(seen.wanting), ..., raw)
                others = [
                    name for name in seen.wanting if name not in fields
                ]  # the branch may hang on just these values
                kept = bool(others) and branch in seen.taken and self.random.random() < 0.5
                raw = next(self.drawn([raw], others if kept else seen.wanting, flags=0.0)) | flag
                self.mended(raw, seen, [*flag])
                seen = self.watched(raw)
            if seen.place is None and branch in seen.taken:
                return raw
        for name, raw in self.extremes(configs, fields):
            for attempt in range(MENDING_TRIES):
                only = self.settle(raw, [name], walking=attempt == 1)
                if only is not None and branch in self.watched(only).taken:
                    return only
                if only is not None:
                    break
        return None

    def settle(self, raw: Config, kept: list[str], walking: bool = False) -> Config | None:
        """The config until nothing refuses it: what is wanted is drawn anew, but for some fields. None if
        that fails.

        ``walking``: a number that is wanted becomes one more each time, until what divides it does.
        """
        seen = self.watched(raw)
        for _ in range(_STEPS):
            wanting = [name for name in seen.wanting if name not in kept]
            if seen.place is None or not wanting:
                break
            numbers = [
                (name, number) for name in wanting if (number := self.edges.number_of(name, raw)) is not None
            ]
            if walking and numbers:
                self.edges.put(numbers[0][0], numbers[0][1] + 1, raw := copy.deepcopy(raw))
                seen = self.watched(raw)
                continue
            raw = next(self.drawn([raw], wanting, flags=0.0))
            self.mended(raw, seen, kept)
            share = self.random.choice((0.3, 0.3, 1.0))
            for name in wanting:
                if self.random.random() < share and (
                    one := self.edges.one_of(name, raw)
                ):  # divides whatever is kept
                    self.edges.put(name, one, raw)
            seen = self.watched(raw)
        return raw if seen.place is None else None

    def joined(self, fields: list[str]) -> list[str]:
        """The same fields and those that a condition holds against one of them; none where there are no
        others.
        """
        found = list(fields)
        for condition in conditions(self.spec):
            read = self.read(reads(condition.tree), self.owners.get(id(condition)))
            found += [name for name in read if name not in found] if set(read) & set(fields) else []
        return found if len(found) > len(fields) else []

    def extremes(self, configs: list[Config], fields: list[str]) -> Iterator[tuple[str, Config]]:
        """A valid config with one of some fields at an edge, each in turn, and which."""
        for name in fields if configs else ():
            valid = self.random.choice(configs)
            for value in (*self.edges.extremes(name, valid), *self.edges.beyond(name, fields, valid)):
                self.edges.put(name, value, raw := copy.deepcopy(valid))
                yield name, raw
