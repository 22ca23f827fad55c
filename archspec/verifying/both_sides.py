"""One config on both sides: what transformers builds of it, and what the spec gives."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import Any

from archspec.errors import Place
from archspec.reference import Refused, Row, Unavailable, transformers_rows
from archspec.specs.records import Spec
from archspec.verifying.attribution import blamed
from archspec.verifying.comparison import Config, Count, Difference, compare, counted
from archspec.verifying.refusals import refusing


class BothSides:
    """A spec's architecture and transformers' class, compared at one config after the other."""

    def __init__(self, spec: Spec, architecture: str) -> None:
        self.spec, self.architecture = spec, architecture

    def theirs(self, raw: Config) -> list[Row]:
        """What the model's code builds. Errors: :class:`Refused`, :class:`Unavailable`."""
        return transformers_rows(self.architecture, raw, self.spec.model_type)

    def compare(self, raw: Config, ours: Count | None = None) -> tuple[list[Difference], str]:
        """The differences for a config, and why both refuse it if they do. Errors: :class:`Unavailable`."""
        refusal: Refused | None = None
        theirs: list[Row] = []
        try:
            theirs = self.theirs(raw)
        except Refused as error:
            refusal = error
        try:
            ours = ours or counted(self.spec, self.architecture, raw)
        except Exception:  # a bug of archspec is reported like any other difference
            return [self.difference(raw, "crash", "", "", traceback.format_exc(limit=-3), [])], ""
        if refusal is not None and ours.error is not None:
            return [], str(refusal)[:160]
        if refusal is not None:
            places = blamed(self.spec, ours.tree, "accepted", "", refusal.owners)
            return [self.difference(raw, "accepted", "", str(refusal), "a count", places)], ""
        if ours.error is not None:
            places = refusing(self.spec, self.architecture, raw, ours.tree, ours.error)
            return [self.difference(raw, "refused", "", "a model", str(ours.error), places)], ""
        assert ours.tree is not None
        found = compare(
            self.architecture, raw, theirs, ours.rows, lambda *what: blamed(self.spec, ours.tree, *what)
        )
        return found, ""

    def differs(self, raw: Config) -> bool:
        """Whether anything is wrong, or refused, for a config."""
        differences, cause = self.compare(raw)
        return bool(differences or cause)

    def clearest(self, raw: Config, differences: list[Difference]) -> list[Difference]:
        """The same differences at the smallest config that shows them all."""
        causes = {_cause(difference) for difference in differences}
        small = self.smallest(
            raw, lambda smaller: causes <= {_cause(found) for found in self.compare(smaller)[0]}
        )
        return [found for found in self.compare(small)[0] if _cause(found) in causes]

    def smallest(self, raw: Config, shows: Callable[[Config], Any]) -> Config:
        """A config with nothing in it that a difference does not need."""
        small = dict(raw)
        for name in [name for name in raw if name != "model_type"]:
            without = {key: value for key, value in small.items() if key != name}
            try:
                if shows(without):
                    small = without
            except Unavailable:
                continue
        return small

    def difference(
        self, raw: Config, kind: str, name: str, expected: str, found: str, places: Iterable[Place]
    ) -> Difference:
        return Difference(self.architecture, raw, kind, name, expected, found, tuple(map(str, places)))


def _cause(difference: Difference) -> tuple[str, tuple[str, ...]]:
    return difference.kind, difference.places[:1]
