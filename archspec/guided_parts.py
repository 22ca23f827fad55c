"""The same aim within the sub-configs that have no architectures of their own: they are built in a model that has them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import Any

from archspec.guided import Config, Guide, Watched
from archspec.hosts import part_types, replaced
from archspec.library import load
from archspec.sampling import Sampler
from archspec.scope import Scope
from archspec.spec import Spec

_BASES = 2  # valid configs of the model that a part's are put into

Path = tuple[str, ...]


def aimed(spec: Spec, architecture: str, sampler: Sampler, configs: list[Config]) -> Iterator[Config]:
    """Configs for the branches and conditions of a spec that no config of some valid ones comes to; those of its parts too."""
    guide = Guide(spec, architecture, sampler)
    yield from guide.branches(configs)
    yield from guide.violations(configs)
    if architecture != next(iter(spec.architectures), architecture):
        return
    for path, part, drawing in _parts(spec, sampler, ()):
        given = [raw for raw in configs if isinstance(_at(raw, path), dict)]
        for base in given[:_BASES]:
            inner = PartGuide(part, architecture, drawing, spec, base, path)
            start = [_at(base, path)]
            yield from map(inner.whole, chain(inner.branches(start), inner.violations(start)))


class PartGuide(Guide):
    """Finds configs for a sub-config, put into ``base``, a valid config of its ``host``, at a path of fields."""

    def __init__(self, spec: Spec, architecture: str, sampler: Sampler, host: Spec, base: Config, path: Path) -> None:
        super().__init__(spec, architecture, sampler)
        self.host, self.base, self.path = host, base, path

    def whole(self, raw: Config) -> Config:
        """The host's config with this sub-config."""
        return _put(self.base, self.path, raw)

    def scope(self, raw: Config) -> Scope:
        return Scope(self.host, self.whole(raw))

    def lacking(self, spec: Spec) -> Guide:
        return PartGuide(spec, self.architecture, self.sampler, self.host, self.base, self.path)

    def watched(self, raw: Config) -> Watched:
        with replaced(self.spec):
            seen = super().watched(raw)
        own = {id(module) for module in self.spec.modules.values()}
        for number in [number for number, test in self.tests.items() if id(test.module) not in own]:
            del self.tests[number]  # the host's are aimed at by its own guide
        return seen._replace(taken={(number, outcome) for number, outcome in seen.taken if number in self.tests})

    @cached_property
    def own(self) -> set[str]:
        return {*self.spec.modules}

    @cached_property
    def with_the_first(self) -> set[str]:
        return set()


def _parts(spec: Spec, sampler: Sampler, path: Path) -> Iterator[tuple[Path, Spec, Sampler]]:
    """The sub-configs without architectures, each with the fields on the way to it; also those within them."""
    for field in spec.fields.values():
        for model_type in part_types(field):
            part, child = load(model_type), sampler.child(field, model_type)
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
