"""Specs held to transformers: tensor for tensor, at the default config and at random ones.

:func:`verify` takes one architecture. Beside the tensors it compares which configs are refused, gives
fields that the spec does not mention other values, and, with the base model of a model type, holds the
spec's defaults and names to those of transformers' config class.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from archspec.errors import ArchspecError, Place
from archspec.reference import Refused, Unavailable
from archspec.specs.library import shipped
from archspec.specs.records import Spec
from archspec.verifying.attribution import blamed
from archspec.verifying.both_sides import BothSides
from archspec.verifying.comparison import Config, Count, Difference, counted, tree_of
from archspec.verifying.generate.misfits import misfits
from archspec.verifying.generate.sampling import Sampler, valid_configs
from archspec.verifying.generate.search import Search
from archspec.verifying.undeclared import Other, applied, layer_lists, others, source_texts

AIM_FROM = 10  # samples from which on configs are also aimed at each branch and condition of the spec
TRIES = 40  # configs drawn for each one that is to be compared
MAX_DIFFERENCES = 200
LEAST_TRIES = 800  # however few samples are asked for
_SHRUNK = 3


class Outcome(NamedTuple):
    """How one architecture did: configs compared, configs both refuse and why, and the differences.

    ``unavailable`` says why nothing could be compared here: a package that is missing, for one.
    """

    architecture: str
    model_type: str
    compared: int
    refused: int
    differences: tuple[Difference, ...]
    refusals: tuple[tuple[str, int], ...] = ()
    unavailable: str = ""

    @property
    def verdict(self) -> str:
        """exact, wrong, or unavailable."""
        return "wrong" if self.differences else "unavailable" if self.unavailable else "exact"


def verify(model_type: str, architecture: str, samples: int = 20, seed: int = 0) -> Outcome:
    """Compares an architecture at its default config and at ``samples`` random valid configs."""
    return verify_spec(shipped().load(model_type), architecture, samples, seed)


def verify_spec(spec: Spec, architecture: str, samples: int = 20, seed: int = 0) -> Outcome:
    """The same for a spec that is not in the library, a draft for one."""
    return Verifier(spec, architecture, samples, seed).run()


class Verifier(BothSides):
    """One architecture under test."""

    def __init__(self, spec: Spec, architecture: str, samples: int, seed: int) -> None:
        super().__init__(spec, architecture)
        self.samples = samples
        self.random = random.Random(f"{architecture}:{spec.model_type}:{seed}")
        self.sampler = Sampler(spec, seed, self.code_texts())
        self.others = self.other_values()
        self.compared = self.refused = self.shrunk = 0
        self.screened = False  # whether every other value has been tried
        self.refusals: dict[str, int] = {}
        self.causes: dict[str, int] = {}  # configs that the spec refuses, by the line that does
        self.differences: list[Difference] = []
        self.valid: list[Config] = []

    def code_texts(self) -> Mapping[str, list[str]]:
        """Field -> the texts that the model's code compares it with."""
        return source_texts(self.spec)

    def other_values(self) -> list[Other]:
        """Other values for the fields that the spec does not mention."""
        return list(others(self.spec))

    def layer_lists(self) -> list[str]:
        """The lists of layers' kinds that the config class reads."""
        return layer_lists(self.spec)

    def run(self) -> Outcome:
        default: Config = {"model_type": self.spec.model_type}
        unavailable = ""
        for step in (self.one, self.settings, *(() if self.samples else (self.all_others,))):
            try:
                step(default)
            except Unavailable as error:  # the random configs may still be to be had
                unavailable = unavailable or str(error)
        for raw in valid_configs(self.spec) if self.samples else ():
            try:
                self.one(raw)
            except Unavailable as error:
                self.not_here(error)
            self.sampler.accepted.append(raw)
        wanted = self.samples + (not unavailable)
        tries = TRIES * self.samples
        if self.samples and not unavailable:
            tries = max(tries, LEAST_TRIES)
        for _ in range(tries):
            if self.compared >= wanted or len(self.differences) >= MAX_DIFFERENCES:
                break
            self.draw()
        self.edges()
        if self.samples >= AIM_FROM:
            self.aimed(default)
        if self.compared < wanted and not self.differences and (self.compared or not unavailable):
            found = f"{self.compared} of {tries} drawn"
            self.add({}, "few", "", f"{wanted} valid configs", found, [Place(self.spec.source, 1, 1)])
        return self.outcome("" if self.compared else unavailable)

    def aimed(self, default: Config) -> None:
        """Configs for the branches and conditions of the spec that no random config came to."""
        search = Search(self.spec, self.architecture, self.sampler)
        for raw in search.configs([*self.sampler.accepted, default]):
            if len(self.differences) >= MAX_DIFFERENCES:
                return
            try:
                self.one(raw)
            except Unavailable as error:
                self.not_here(error)

    def add_valid(self, raw: Config) -> None:
        self.compared += 1
        self.valid.append(raw)

    def not_here(self, error: Unavailable) -> None:
        self.refusals[f"(not here) {error}"] = self.refusals.get(f"(not here) {error}", 0) + 1

    def outcome(self, unavailable: str) -> Outcome:
        refusals = tuple(sorted(self.refusals.items(), key=lambda item: -item[1]))
        differences = tuple(self.differences)
        return Outcome(
            self.architecture,
            self.spec.model_type,
            self.compared,
            self.refused,
            differences,
            refusals,
            unavailable,
        )

    def draw(self) -> None:
        """One random config, with other values for some of the unmentioned fields."""
        raw = self.sampler.sample()
        ours = counted(self.spec, self.architecture, raw)
        if ours.error is not None:
            cause = str(next((problem.place for problem in ours.error.problems), None))
            self.causes[cause] = self.causes.get(cause, 0) + 1
            if self.causes[cause] > max(
                1, self.samples // 5
            ):  # enough of those were held against transformers
                near = self.sampler.mend(self.accepts)
                if near is None:
                    return
                raw, ours = near, counted(self.spec, self.architecture, near)
        chosen = [other for other in self.others if self.random.random() < 0.15]
        before = self.compared
        try:
            if not chosen or ours.error is not None:
                self.one(raw, ours)
            elif not self.differs(mixed := applied(raw, chosen)):
                self.add_valid(mixed)
            else:
                self.without_others(raw, chosen)
        except Unavailable as error:
            self.not_here(error)
        if self.compared > before:
            self.sampler.accept()
            if not self.screened:
                self.screened = True
                try:
                    self.all_others(raw)
                except Unavailable as error:
                    self.not_here(error)

    def accepts(self, raw: Config) -> bool:
        """Whether the spec builds a config, whatever its ties."""
        try:
            tree_of(self.spec, self.architecture, raw)
        except ArchspecError:
            return False
        return True

    def one(self, raw: Config, ours: Count | None = None) -> None:
        """One config on both sides; ``ours`` is what the spec gives. Errors: :class:`Unavailable`."""
        differences, cause = self.compare(raw, ours)
        if differences and self.shrunk < _SHRUNK:
            self.shrunk += 1
            differences = self.clearest(raw, differences)
        self.differences += differences
        if cause:
            self.refused += 1
            self.refusals[cause] = self.refusals.get(cause, 0) + 1
        elif not any(difference.kind in ("accepted", "refused", "crash") for difference in differences):
            self.add_valid(raw)

    def all_others(self, raw: Config) -> None:
        """Every unmentioned field at once, its values in turn; what both refuse is left out from then on."""
        by_path: dict[tuple[str, ...], list[Other]] = {}
        for other in self.others:
            by_path.setdefault(other.path, []).append(other)
        for turn in range(max(map(len, by_path.values()), default=0)):
            chosen = [values[turn] for values in by_path.values() if turn < len(values)]
            if self.differs(applied(raw, chosen)):
                self.without_others(raw, chosen, count=False)

    def without_others(self, raw: Config, chosen: list[Other], count: bool = True) -> None:
        """Finds what is to blame: the config itself, or one of the other values, which is then dropped."""
        if self.differs(raw):
            if count:
                self.one(raw)
            return
        guilty = self.guilty(raw, chosen)
        for other in guilty:
            self.others.remove(other)
            differences, _ = self.compare(applied(raw, [other]))
            if any(difference.kind != "accepted" for difference in differences):
                self.blame(raw, other, differences)
        mixed = applied(raw, [other for other in chosen if other not in guilty])
        if count and not self.differs(mixed):
            self.add_valid(mixed)

    def guilty(self, raw: Config, chosen: list[Other]) -> list[Other]:
        """Of some values that matter together those that do one by one, found by halving."""
        if len(chosen) == 1:
            return chosen
        middle = len(chosen) // 2
        halves = [half for half in (chosen[:middle], chosen[middle:]) if self.differs(applied(raw, half))]
        return [other for half in halves for other in self.guilty(raw, half)] or chosen[:1]

    def blame(self, raw: Config, other: Other, differences: list[Difference]) -> None:
        small = self.smallest(
            raw, lambda smaller: self.differs(applied(smaller, [other])) and not self.differs(smaller)
        )
        path = ".".join(other.path)
        shown = ", ".join(f"{d.kind} {d.name}" for d in differences[:3])
        places = blamed(self.spec, None, "unmentioned", other.path[0], ())
        self.add(applied(small, [other]), "unmentioned", path, shown, f"no field {path}", places)

    def settings(self, default: Config) -> None:
        """With the base model: defaults, names, and null for every field. Errors: :class:`Unavailable`."""
        from archspec.verifying.defaults import settings_differences

        if self.architecture != next(iter(self.spec.architectures), None):
            return
        try:
            settings = settings_differences(self.spec)
        except Refused:  # the default config itself is refused, as `one` has seen
            settings = []
        for kind, name, expected, found, places in settings:
            self.add({}, kind, name, expected, found, places)
        small = self.sampler.fresh(0)
        try:
            start = default if self.differs(small) else small  # few layers tell a null as well as many do
        except Unavailable:
            start = default
        for name in self.sampler.names:
            try:
                differences = self.compare({**start, name: None})[0]
                if any(one.kind == "refused" for one in differences):  # maybe no layer of so few reads it
                    differences = self.compare({**default, name: None})[0]
                self.differences += differences
            except Unavailable:
                continue

    def edges(self) -> None:
        """With the base model: each number zero in a valid config, each text and list a misfit.

        What transformers refuses there is not to be counted.
        """
        if self.architecture != next(iter(self.spec.architectures), None):
            return
        for raw in (
            other
            for small in self.sampler.accepted[:1]
            for other in misfits(self.spec, small, self.layer_lists())
        ):
            try:
                found = self.compare(raw)[0]
            except Unavailable:
                continue
            self.differences += [
                one for one in found if one.kind != "refused"
            ]  # the spec alone divides by it

    def add(
        self, raw: Config, kind: str, name: str, expected: str, found: str, places: Iterable[Place]
    ) -> None:
        self.differences.append(self.difference(raw, kind, name, expected, found, places))
