"""Holds altered specs against transformers: each alteration must be found, and its line be named.

transformers is asked once for each architecture and config; the altered specs are then compared with
those answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.builder import CostBuilder
from archspec.costs.records import KERNELS, Axes, Call, Step, axes_of, training_axes
from archspec.errors import ArchspecError
from archspec.reference import Refused, Row, Unavailable, transformers_rows
from archspec.specs.records import Spec
from archspec.specs.references import reachable
from archspec.specs.torch_layers import Size
from archspec.tree.builder import Node
from archspec.verifying.attribution import blamed
from archspec.verifying.comparison import Config, Count, compare, counted
from archspec.verifying.defaults import SettingDifference, settings_differences
from archspec.verifying.generate.misfits import misfits
from archspec.verifying.generate.sampling import Sampler
from archspec.verifying.generate.search import Search
from archspec.verifying.refusals import refusing
from archspec.verifying.undeclared import layer_lists, source_texts
from tools.mutation.alterations import Alteration, alterations
from tools.mutation.hosts import standing

TRIES = 12
_AXES = (
    axes_of(Call(2, 3, 5, 7, 7)),
    *(training_axes(Step(2, 3, 7, attention=kernel)) for kernel in KERNELS),
)


class Answer(NamedTuple):
    """The result of transformers for one config: rows, or the classes that refused it."""

    architecture: str
    raw: Config
    rows: list[Row] | None
    owners: tuple[str, ...] = ()


class Found(NamedTuple):
    """An alteration, whether it was found, and its line named; ``first`` if before any other.

    ``hidden``: it was not found, and what changed is no tensor that counts: the shape of one that is tied in
    every config, the class that a module is shown as, or how many experts work on a token, which no tensor
    tells. ``costly``: what changed is what a call costs, which `verify --costs` holds.
    """

    alteration: Alteration
    found: bool
    named: bool
    first: bool
    hidden: bool = False
    costly: bool = False

    @property
    def well(self) -> bool:
        return self.named or self.hidden or self.costly

    @property
    def rank(self) -> tuple[bool, bool, bool]:
        return self.named, self.hidden or self.costly, self.found


def answers(spec: Spec, samples: int, seed: int) -> list[Answer]:
    """transformers' answers for every architecture: its default, valid configs, and some that are refused."""
    told: list[Answer] = []
    for architecture in spec.architectures:

        def accepts(raw: Config, architecture: str = architecture) -> bool:
            return counted(spec, architecture, raw).error is None

        sampler = Sampler(spec, seed, source_texts(spec))
        default: Config = {"model_type": spec.model_type}
        configs = [
            default,
            *({"model_type": spec.model_type, field: None} for field in {**spec.fields, **spec.fixed}),
        ]
        own = [_answer(spec, architecture, raw) for raw in configs[: 1 if told else None]]
        for _ in range(TRIES * samples):
            raw: Config | None = sampler.sample()
            valid = sum(found.rows is not None for found in own if found)
            refused = sum(found.rows is None for found in own if found)
            if refused > 2 * samples:  # enough of those
                raw = sampler.mend(accepts)
            answer = _answer(spec, architecture, raw) if raw is not None else None
            if answer is None or (answer.rows is None and refused > 2 * samples):
                continue
            if answer.rows is not None:
                sampler.accept()
            own.append(answer)
            if valid >= samples:
                break
        for small in sampler.accepted[:1]:
            own += [_answer(spec, architecture, raw) for raw in misfits(spec, small, layer_lists(spec))]
        search = Search(spec, architecture, sampler)
        own += [_answer(spec, architecture, raw) for raw in search.configs([*sampler.accepted, default])]
        told += [answer for answer in own if answer is not None]
    return sorted(told, key=lambda answer: answer.rows is None)


def _answer(spec: Spec, architecture: str, raw: Config) -> Answer | None:
    try:
        return Answer(architecture, raw, transformers_rows(architecture, raw, spec.model_type))
    except Refused as error:
        return Answer(architecture, raw, None, error.owners)
    except Unavailable:
        return None


class Bench:
    """What transformers says of a spec's configs, to hold altered specs against; the spec must be exact.

    ``part``: the spec of a sub-config, which is altered in place of the spec.
    """

    def __init__(self, spec: Spec, told: list[Answer], part: Spec | None = None) -> None:
        self.spec, self.part = spec, part
        self.told = [answer for answer in told if _agrees(spec, answer)]
        self.known = self.settings(part or spec)
        self.reached = {one: set(reachable(spec, [spec.module(one)])) for one in spec.architectures}

    def held(self, altered: Spec) -> Spec:
        """The spec to count by: an altered one, or the model's, whose sub-configs find the altered part."""
        if self.part is None:
            return altered
        return self.spec._replace(library=self.spec.library.with_spec(altered))

    def settings(self, altered: Spec) -> frozenset[SettingDifference]:
        """Return differences from the defaults of the config class; none if it refuses its defaults."""
        try:
            return frozenset(settings_differences(self.held(altered)))
        except Refused:
            return frozenset()

    def counted(self, altered: Spec, answer: Answer) -> Count:
        return counted(self.held(altered), answer.architecture, answer.raw)

    def fared(self, alteration: Alteration) -> Found:
        """Report whether an alteration is found, and its line named."""
        places = self.places(alteration)
        line = (alteration.place.source.name, alteration.place.line)
        named = [tuple(place.rsplit(":", 2)[:2]) for place in places or ()]
        key = (line[0], str(line[1]))
        return Found(
            alteration,
            places is not None,
            key in named,
            named[:1] == [key],
            places is None and self.hidden(alteration),
            places is None and self.costly(alteration),
        )

    def costly(self, alteration: Alteration) -> bool:
        """Return True if an alteration changes the costs of a call."""
        right = (answer for answer in self.told if answer.rows is not None)
        altered = self.held(alteration.spec)
        return any(costs(altered, answer) != costs(self.spec, answer) for answer in right)

    def hidden(self, alteration: Alteration) -> bool:
        """Return True if an alteration changes the tree of some config, but no counted tensor."""
        for answer in self.told:
            before, after = (
                self.counted(one, answer).tree for one in (self.part or self.spec, alteration.spec)
            )
            if (
                before is not None
                and after is not None
                and list(_shapes(before, "")) != list(_shapes(after, ""))
            ):
                return True
        return False

    def places(self, alteration: Alteration) -> list[str] | None:
        """Return the lines named for the first config that reveals an alteration; None without one."""
        if not alteration.module:
            found = self.settings(alteration.spec) - self.known
            if any(difference.places for difference in found):
                return [str(place) for difference in found for place in difference.places]
        spec = alteration.spec if self.part is None else self.spec
        for answer in self.told:
            if (
                alteration.module
                and self.part is None
                and alteration.module not in self.reached[answer.architecture]
            ):
                continue
            ours = self.counted(alteration.spec, answer)
            if answer.rows is None and ours.error is None:
                return [str(place) for place in blamed(spec, ours.tree, "accepted", "", answer.owners)]
            if answer.rows is not None and ours.error is not None:
                held = self.held(alteration.spec)
                named = refusing(held, answer.architecture, answer.raw, ours.tree, ours.error)
                return [str(place) for place in named]
            if answer.rows is not None and answer.rows != ours.rows:
                tree = ours.tree
                differences = compare(
                    answer.architecture,
                    answer.raw,
                    answer.rows,
                    ours.rows,
                    lambda *what, tree=tree: blamed(spec, tree, *what),
                )
                if differences:
                    first = [difference.places[0] for difference in differences if difference.places]
                    return [*first, *(place for difference in differences for place in difference.places)]
        return None


def costs(spec: Spec, answer: Answer) -> list[list[tuple[str, str]]]:
    """What every module costs in a call and in a training step, of these two what is described."""
    return [list(_costs(tree, "")) for axes in _AXES for tree in _priced(spec, answer, axes)]


def _priced(spec: Spec, answer: Answer, axes: Axes) -> Iterator[Node]:
    try:
        yield CostBuilder(Scope(spec, answer.raw), axes).build(answer.architecture)
    except ArchspecError:
        return


def _costs(node: Node, prefix: str) -> Iterator[tuple[str, str]]:
    yield prefix, f"{node.costs} {node.cache} {node.saves} {node.computed}"
    for name, child in node.children.items():
        yield from _costs(child, f"{prefix}.{name}")


def _shapes(node: Node, prefix: str) -> Iterator[tuple[str, str, tuple[Size, ...]]]:
    yield prefix, node.cls, node.routed or ()
    yield from ((f"{prefix}.{tensor.name}", "", tensor.shape) for tensor in node.tensors)
    for name, child in node.children.items():
        yield from _shapes(child, f"{prefix}.{name}")


def _agrees(spec: Spec, answer: Answer) -> bool:
    """Return True if the unaltered spec is exact for this config."""
    ours = counted(spec, answer.architecture, answer.raw)
    if answer.rows is None or ours.error is not None:
        return (answer.rows is None) == (ours.error is not None)
    return not compare(answer.architecture, answer.raw, answer.rows, ours.rows)


def mutate(spec: Spec, samples: int = 12, seed: int = 0) -> list[Found]:
    """Every alteration of a spec's own lines, and how it fared; the spec itself must be exact."""
    bench = Bench(spec, answers(spec, samples, seed))
    return [bench.fared(alteration) for alteration in alterations(spec)]


def mutate_file(name: str, samples: int = 12, seed: int = 0) -> list[Found]:
    """Every alteration of the lines of a model type's spec, or of a shared part, in all specs that have them.

    What its own architectures do not show, those of another spec may.
    """
    best: dict[tuple[int, str], Found] = {}
    told: dict[str, list[Answer]] = {}

    def hold(wide: bool) -> None:
        for host, spec, file in standing(name):
            reached = set(reachable(spec, map(spec.module, spec.architectures or spec.modules)))
            every = (one for one in alterations(spec, file, wide) if not wide or _key(one) in best)
            chosen = [
                one for one in every if not one.module or one.module in reached or spec.source.name == file
            ]
            pending = [one for one in chosen if (known := best.get(_key(one))) is None or not known.well]
            if not pending:
                continue
            if host.model_type not in told:
                told[host.model_type] = answers(host, samples, seed)
            bench = Bench(host, told[host.model_type], spec if spec is not host else None)
            for found in map(bench.fared, pending):
                known = best.setdefault(_key(found.alteration), found)
                if found.rank > known.rank:
                    best[_key(found.alteration)] = found

    hold(wide=False)
    if not all(
        found.well for found in best.values()
    ):  # a shared part's line may do nothing but in one of these
        hold(wide=True)
    return list(best.values())


def _key(alteration: Alteration) -> tuple[int, str]:
    """The same for one line in all specs: a class has another prefix there, or any name."""
    spec = alteration.spec
    what = alteration.what.removeprefix(f"{alteration.module}: ")
    return alteration.line, what.replace(spec.prefix or "…", "…").replace(spec.base_model_prefix or "…", "…")


class Summary(NamedTuple):
    """How many alterations there were, were found, named, of no tensor that counts (or of costs).

    ``lines``: those that were not named.
    """

    total: int
    found: int
    named: int
    hidden: int
    lines: list[str]


def summary(task: tuple[str, int]) -> Summary:
    """The alterations of a model type, at a seed."""
    results = mutate_file(task[0], seed=task[1])
    found = sum(result.found for result in results)
    named = sum(result.named for result in results)
    hidden = sum(result.hidden or result.costly for result in results)
    return Summary(len(results), found, named, hidden, [_line(one) for one in results if not one.named])


def _line(result: Found) -> str:
    unnamed = "its line is not named" if result.found else "missed"
    word = "of no tensor that counts" if result.hidden else "of costs" if result.costly else unnamed
    return f"{result.alteration.place}: {word}: {result.alteration.what}"
