"""The same aim within the sub-configs that have no architectures of their own: they are built in a model
that has them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import Any

from archspec.specs.field_kinds import part_types
from archspec.specs.records import Spec
from archspec.specs.references import conditions
from archspec.verify.generate.aim import Config, Watched
from archspec.verify.generate.guided import Guide
from archspec.verify.generate.sampling import Sampler
from archspec.verify.generate.watching import Refusing, WatchedScope

_BASES = 2  # valid configs of the model that a part's are put into

Path = tuple[str, ...]


def aimed(spec: Spec, architecture: str, sampler: Sampler, configs: list[Config]) -> Iterator[Config]:
    """Configs for the branches and conditions of a spec that no config of some valid ones comes to; those
    of its parts too.
    """
    guide = Guide(spec, architecture, sampler)
    yield from guide.branches(configs)
    yield from guide.violations(configs)
    if architecture != next(iter(spec.architectures), architecture):
        return
    for path, part, drawing in _parts(spec, sampler, ()):
        given = [raw for raw in configs if isinstance(_at(raw, path), dict)]
        if not given and len(path) == 1:
            given = [_put(raw, path, dict.fromkeys(drawing.turns, 1)) for raw in configs]
        for base in given[:_BASES]:
            inner = PartGuide(part, architecture, drawing, spec, base, path)
            start = [_at(base, path)]
            if inner.watched(start[0]).place is not None:
                continue
            yield from map(inner.whole, chain(inner.branches(start), inner.violations(start)))


class PartGuide(Guide):
    """Finds configs for a sub-config, put into ``base``, a valid config of its ``host``, at a path of
    fields.
    """

    def __init__(
        self, spec: Spec, architecture: str, sampler: Sampler, host: Spec, base: Config, path: Path
    ) -> None:
        library = host.library.with_spec(spec)
        super().__init__(library.load(spec.model_type), architecture, sampler)
        self.host, self.base, self.path = host._replace(library=library), base, path

    def whole(self, raw: Config) -> Config:
        """The host's config with this sub-config; what the host wants equal in another part is so there
        too.
        """
        found = _put(self.base, self.path, raw)
        for own, part, field in self.same:
            if own in raw and isinstance(found.get(part, {}), dict):
                found[part] = {**found.get(part, {}), field: raw[own]}
        return found

    @cached_property
    def same(self) -> list[tuple[str, str, str]]:
        """A field of the sub-config, and the field of another part that a condition of the host wants
        equal to it.
        """
        found = []
        for node in (node for condition in conditions(self.host) for node in ast.walk(condition.tree)):
            if isinstance(node, ast.Compare) and all(isinstance(op, ast.Eq) for op in node.ops):
                ends = [end for end in (node.left, *node.comparators) if isinstance(end, ast.Attribute)]
                pairs = [(end.value.id, end.attr) for end in ends if isinstance(end.value, ast.Name)]
                owns = [name for part, name in pairs if (part,) == self.path]
                found += [(own, part, name) for own in owns for part, name in pairs if (part,) != self.path]
        return found

    def scope(self, raw: Config) -> WatchedScope:
        return WatchedScope(self.host, self.whole(raw))

    def lacking(self, spec: Spec) -> Guide:
        return PartGuide(spec, self.architecture, self.sampler, self.host, self.base, self.path)

    def watched(self, raw: Config) -> Watched:
        seen = super().watched(raw)
        own = {id(module) for module in self.spec.modules.values()}
        for number in [number for number, test in self.tests.items() if id(test.module) not in own]:
            del self.tests[number]  # the host's are aimed at by its own guide
        return seen._replace(
            taken={(number, outcome) for number, outcome in seen.taken if number in self.tests}
        )

    def behind_refusal(self, refusing: Refusing) -> list[str]:
        here = ".".join(self.path) + "."
        if refusing.path.startswith(here):
            return super().behind_refusal(refusing._replace(path=refusing.path.removeprefix(here)))
        inner = {name.removeprefix(here) for name in refusing.names if name.startswith(here)}
        return self.read(inner, None)  # of the host's condition what reads this part

    @cached_property
    def own(self) -> set[str]:
        return {*self.spec.modules}

    @cached_property
    def with_the_first(self) -> set[str]:
        return set()


def _parts(spec: Spec, sampler: Sampler, path: Path) -> Iterator[tuple[Path, Spec, Sampler]]:
    """The sub-configs without architectures, each with the fields on the way to it; also those within
    them.
    """
    for field in spec.fields.values():
        for model_type in part_types(spec.library, field):
            part, child = spec.library.load(model_type), sampler.child(field, model_type)
            if not part.architectures and child is not None:
                yield (*path, field.name), part, child
                yield from _parts(part, child, (*path, field.name))


def _at(raw: Config, path: Path) -> Any:
    found: Any = raw
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _put(raw: Config, path: Path, value: Config) -> Config:
    name, *rest = path
    return {**raw, name: _put(raw[name], tuple(rest), value) if rest else value}
