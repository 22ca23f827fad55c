"""Validation of one architecture against the reference model: tensor by tensor, at many configs.

In addition to the tensors, :func:`verify_spec` compares which configs are rejected, gives other values to
fields that the spec does not mention, and, with the first class of a model type, compares the spec's defaults
and names with those of transformers' config class.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import zip_longest
from typing import Any, NamedTuple

from archspec.errors import ArchspecError, Place
from archspec.reference import Refused, Unavailable
from archspec.specs.records import Spec
from archspec.verifying.blame import Config, Difference, blamed_places
from archspec.verifying.comparison import Comparer, Count, ReferenceClass, count, shrink_config, tree_of
from archspec.verifying.generate.choices import misfit_configs
from archspec.verifying.generate.sampling import Sampler, valid_configs
from archspec.verifying.generate.search import Search
from archspec.verifying.undeclared import Other, apply_values

# samples from which on every branch and condition of the spec, invalid values, and fields that the spec does
# not mention are tried
AIM_FROM = 10
TRIES = 40  # configs drawn for each one that is to be compared
MAX_DIFFERENCES = 200
MIN_TRIES = 800
_SHRUNK = 3  # differences that are shown at their smallest config


class Outcome(NamedTuple):
    """The result of one architecture: configs compared, configs that both sides refuse, and the differences.

    ``unavailable`` says why nothing could be compared, for instance because a package is missing.
    """

    architecture: str
    model_type: str
    compared: int
    rejected: int
    differences: tuple[Difference, ...]
    refusals: tuple[tuple[str, int], ...] = ()
    unavailable: str = ""

    @property
    def verdict(self) -> str:
        """exact, wrong, or unavailable."""
        return "wrong" if self.differences else "unavailable" if self.unavailable else "exact"


def verify_spec(spec: Spec, architecture: str, samples: int = 20, seed: int = 0) -> Outcome:
    """Compare an architecture at its default config and at ``samples`` random valid configs."""
    return Verifier(spec, architecture, samples, seed).run()


class Verifier:
    """Verifies one architecture, against a class of transformers unless another ``reference`` is given."""

    def __init__(
        self, spec: Spec, architecture: str, samples: int, seed: int, reference: ReferenceClass | None = None
    ) -> None:
        self.spec, self.architecture, self.samples = spec, architecture, samples
        self.comparer = Comparer(spec, architecture, reference)
        self.reference = self.comparer.reference
        self.random = random.Random(f"{architecture}:{spec.model_type}:{seed}")
        self.sampler = Sampler(spec, seed, self.reference.code_texts())
        self.others = self.reference.other_values()
        self.is_first = architecture == next(iter(spec.architectures), None)
        self.valid: list[Config] = []
        self.differences: list[Difference] = []
        self.rejected = self.shrunk = 0
        self.refusals = Counter[str]()
        self.causes = Counter[str]()  # configs that the spec refuses, by the line that does
        self.screened = False

    def run(self) -> Outcome:
        """Compare at the default config, at random ones, and at those aimed at branches and conditions."""
        default: Config = {"model_type": self.spec.model_type}
        steps = (self.compare, self._compare_settings, *(() if self.samples else (self._screen_values,)))
        reasons = [self._attempt(step, default) for step in steps]
        unavailable = next(filter(None, reasons), "")
        for raw in valid_configs(self.spec) if self.samples else ():
            self._attempt(self.compare, raw)
            self.sampler.accepted.append(raw)
        wanted = self.samples + (not unavailable)
        tries = max(TRIES * self.samples, MIN_TRIES if self.samples and not unavailable else 0)
        for _ in range(tries):
            if len(self.valid) >= wanted or len(self.differences) >= MAX_DIFFERENCES:
                break
            self.draw()
        if self.samples >= AIM_FROM:
            self._compare_misfits()
            self._compare_aimed(default)
        compared = len(self.valid)
        if compared < wanted and not self.differences and (compared or not unavailable):
            expected, found = f"{wanted} valid configs", f"{compared} of {tries} drawn"
            place = Place(self.spec.source, 1, 1)
            self.differences.append(self.comparer.difference({}, "few", "", expected, found, [place]))
        differences, refusals = tuple(self.differences), tuple(self.refusals.most_common())
        reason, names = "" if compared else unavailable, (self.architecture, self.spec.model_type)
        return Outcome(*names, compared, self.rejected, differences, refusals, reason)

    def _attempt(self, step: Callable[..., None], *given: Any) -> str:
        """Take a step; return, and count, the reason if the reference model is unavailable."""
        try:
            step(*given)
        except Unavailable as error:
            self.refusals[f"(not here) {error}"] += 1
            return str(error)
        return ""

    def compare(self, raw: Config, ours: Count | None = None) -> None:
        """Compare one config, and record the differences. Errors: :class:`Unavailable`."""
        differences, cause = self.comparer.compare(raw, ours)
        if differences and self.shrunk < _SHRUNK:
            self.shrunk += 1
            differences = self.comparer.shrink(raw, differences)
        self.differences += differences
        if cause:
            self.rejected += 1
            self.refusals[cause] += 1
        elif not any(one.kind in ("accepted", "rejected", "crash") for one in differences):
            self.valid.append(raw)

    def draw(self) -> None:
        """Compare at one random config, with other values for some of the unmentioned fields."""
        raw = self.sampler.sample()
        ours = count(self.spec, self.architecture, raw)
        if ours.error is not None:
            cause = str(next((problem.place for problem in ours.error.problems), None))
            self.causes[cause] += 1
            if self.causes[cause] > max(1, self.samples // 5):  # enough of these were compared
                if (near := self.sampler.mend(self._is_accepted)) is None:
                    return
                raw, ours = near, count(self.spec, self.architecture, near)
        chosen = [other for other in self.others if self.random.random() < 0.15]
        before = len(self.valid)
        if not chosen or ours.error is not None:
            self._attempt(self.compare, raw, ours)
        else:
            self._attempt(self._compare_others, raw, chosen)
        if len(self.valid) > before:
            self.sampler.add_valid()
            if not self.screened and self.samples >= AIM_FROM:
                self.screened = True
                self._attempt(self._screen_values, raw)

    def _is_accepted(self, raw: Config) -> bool:
        try:
            return bool(tree_of(self.spec, self.architecture, raw))
        except ArchspecError:
            return False

    def _screen_values(self, raw: Config) -> None:
        """Give every unmentioned field its other values in turn; drop those that both sides refuse."""
        by_path: dict[tuple[str, ...], list[Other]] = {}
        for other in self.others:
            by_path.setdefault(other.path, []).append(other)
        for turn in zip_longest(*by_path.values()):
            self._compare_others(raw, [other for other in turn if other], keep=False)

    def _compare_others(self, raw: Config, chosen: list[Other], keep: bool = True) -> None:
        """Compare with some other values; if that differs, find the value that does, and drop it."""
        if not self.comparer.differs(mixed := apply_values(raw, chosen)):
            self.valid += [mixed] if keep else []
            return
        if self.comparer.differs(raw):
            if keep:
                self.compare(raw)
            return
        guilty = self._find_differing(raw, chosen)
        for other in guilty:
            self.others.remove(other)
            differences, _ = self.comparer.compare(apply_values(raw, [other]))
            if any(difference.kind != "accepted" for difference in differences):
                self._add_unmentioned(raw, other, differences)
        mixed = apply_values(raw, [other for other in chosen if other not in guilty])
        if keep and not self.comparer.differs(mixed):
            self.valid.append(mixed)

    def _find_differing(self, raw: Config, chosen: list[Other]) -> list[Other]:
        """Return the values that differ one by one, found by halving."""
        if len(chosen) == 1:
            return chosen
        middle = len(chosen) // 2
        halves = (chosen[:middle], chosen[middle:])
        found = [half for half in halves if self.comparer.differs(apply_values(raw, half))]
        return [other for half in found for other in self._find_differing(raw, half)] or chosen[:1]

    def _add_unmentioned(self, raw: Config, other: Other, differences: list[Difference]) -> None:
        differs = self.comparer.differs
        small = shrink_config(raw, lambda one: differs(apply_values(one, [other])) and not differs(one))
        raw, path = apply_values(small, [other]), ".".join(other.path)
        expected, found = ", ".join(f"{d.kind} {d.name}" for d in differences[:3]), f"no field {path}"
        places = blamed_places(self.spec, None, "unmentioned", other.path[0], ())
        self.differences.append(self.comparer.difference(raw, "unmentioned", path, expected, found, places))

    def _compare_settings(self, default: Config) -> None:
        """Compare defaults and names, and null for every field. Errors: :class:`Unavailable`."""
        try:
            found = self.reference.setting_differences()
        except Refused:  # the default config was compared before
            found = []
        self.differences += [one._replace(architecture=self.architecture) for one in found]
        if not self.is_first or not self.reference.takes_nulls:
            return
        small = self.sampler.draw_config(0)
        try:
            start = default if self.comparer.differs(small) else small  # few layers are enough
        except Unavailable:
            start = default
        for name in self.sampler.names:
            with suppress(Unavailable):
                differences = self.comparer.compare({**start, name: None})[0]
                if any(one.kind == "rejected" for one in differences):  # maybe no layer of so few reads it
                    differences = self.comparer.compare({**default, name: None})[0]
                self.differences += differences

    def _compare_misfits(self) -> None:
        """Compare values that do not fit, with the first class: transformers must build what is counted."""
        for small in self.sampler.accepted[:1] if self.is_first else ():
            for raw in misfit_configs(self.spec, small, self.reference.layer_lists()):
                with suppress(Unavailable):
                    found = self.comparer.compare(raw)[0]
                    self.differences += [one for one in found if one.kind != "rejected"]

    def _compare_aimed(self, default: Config) -> None:
        """Compare at configs for the branches and conditions of the spec that no random config reached."""
        search = Search(self.spec, self.architecture, self.sampler)
        for raw in search.configs([*self.sampler.accepted, default]):
            if len(self.differences) >= MAX_DIFFERENCES:
                return
            self._attempt(self.compare, raw)
