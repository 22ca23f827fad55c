"""Random configs of a spec: seeded, small, and led to every flag, null, text and list length in turn.

A sampler draws blindly at first. What was accepted is told back to it, so that later configs are near
valid ones, and so that it knows which of its goals (a flag flipped, a null, one layer, an odd size)
have not been seen in a valid config yet.
"""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from archspec.configs.scope import SubConfig
from archspec.errors import ArchspecError
from archspec.language.expression import names
from archspec.specs.field_kinds import WIDE, branches, is_deep, kinds_of
from archspec.specs.records import Field, Spec
from archspec.specs.references import conditions
from archspec.verify.generate.drawing import IMAGES, LAYERS, ODD, SIZES, Drawing, Texts
from archspec.verify.generate.mending import mended

EDGES = (1, 4, 5, 6, 7, 9)  # what conditions divide by, or compare with
_TRIES = 8
_BLIND = 600  # draws until one is valid, where the default config is not


class Goal(NamedTuple):
    """A value that a field should have in some valid config; () for an empty list."""

    field: str
    value: Any

    @property
    def given(self) -> Any:
        return [] if self.value == () else self.value


class Sampler(Drawing):
    """Draws raw configs for one spec; which values are valid is for transformers to say.

    ``texts`` are more texts to try, by field, beside those that the spec itself compares a field with.
    """

    def __init__(self, spec: Spec, seed: int, texts: Texts | None = None) -> None:
        super().__init__(spec, random.Random(f"{spec.model_type}:{seed}"), texts)
        self.children: dict[str, Sampler] = {}
        self.accepted: list[dict[str, Any]] = []
        self.drawn: dict[str, Any] = {}
        self.goals = dict.fromkeys(self.wanted(), 0)
        self.flags = [goal.field for goal in self.goals if goal.value is True]
        self.aimed: list[int] = []
        self.blind = _BLIND
        self.turns = [
            name
            for name, field in spec.fields.items()
            if is_deep(name) and type(self.default(field, {})) is int
        ]
        held = {layers for name, layers in self.depths.items() if not spec.fields[name].computed}
        self.stacks = [name for name in self.turns if name not in held and not spec.fields[name].computed]

    def sample(self) -> dict[str, Any]:
        """One config: a fresh one or a valid one with a few fields drawn anew, a few goals, some old
        names.
        """
        open_goals = [goal for goal, tries in self.goals.items() if tries < _TRIES]
        count = self.random.randint(0, min(len(open_goals), 2 + len(open_goals) // 8))
        if self.accepted and open_goals and self.random.random() < 0.3:  # one step from a valid config
            raw, count = copy.deepcopy(self.random.choice(self.accepted)), 1
        else:
            raw = self.near() if self.accepted and self.random.random() < 0.4 else self.fresh()
        self.aimed = self.random.sample(range(len(open_goals)), count)
        for index in self.aimed:
            goal = open_goals[index]
            self.goals[goal] += 1
            if goal.value is True and self.random.random() < 0.5:  # a flag may need others
                raw |= {name: self.random.random() < 0.5 for name in self.flags if self.random.random() < 0.5}
            raw[goal.field] = goal.given
            for name in [
                name for name, layers in self.depths.items() if layers == goal.field
            ]:  # lists are as long
                field = self.spec.fields[name]
                known = self.default(field, raw)  # null where the rest of the config allows none
                if isinstance(known, list) and (drawn := self.draw_list(field, known, raw)) is not ...:
                    raw[name] = drawn
        self.drawn = copy.deepcopy(raw)
        return self.renamed(raw)

    def mend(self, accepts: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        """The config drawn last, brought near to a valid one; None where there is none to start from."""
        drawn = self.drawn
        start = self.random.choice(self.accepted) if self.accepted else self.shallow()
        if not self.accepted and not accepts(start):
            draws = (draw() for draw in (self.fresh, self.sparse) for _ in range(self.blind))
            found = next(
                filter(accepts, itertools.chain([{"model_type": self.spec.model_type}], draws)), None
            )
            if found is None:
                self.blind = 0  # searched once and for all
                return None
            start = found
        self.draw_last(mended(drawn, start, accepts, self.random))
        return self.renamed(copy.deepcopy(self.drawn))

    def draw_last(self, raw: dict[str, Any]) -> None:
        """Holds a config as the one drawn last, each field under its own name, and its sub-configs
        likewise.
        """
        self.drawn = {self.spec.attribute_map.get(key, key): value for key, value in raw.items()}
        for name, child in self.children.items():
            if isinstance(raw.get(name), dict):
                child.draw_last({"model_type": child.spec.model_type, **raw[name]})

    def accept(self) -> None:
        """Tells that the config drawn last is a valid one."""
        self.accepted.append(self.drawn)
        for goal in list(self.goals):
            value = self.drawn.get(goal.field, ...)
            if type(value) is type(goal.given) and value == goal.given:
                del self.goals[goal]
        for name, child in self.children.items():
            if isinstance(self.drawn.get(name), dict):
                child.accept()

    def renamed(self, raw: dict[str, Any]) -> dict[str, Any]:
        """The same config with some fields under another name that the spec knows them by."""
        names = {name: alias for alias, name in self.spec.attribute_map.items() if alias not in raw}
        return {
            names[key] if key in names and self.random.random() < 0.15 else key: value
            for key, value in raw.items()
        }

    def wanted(self) -> list[Goal]:
        """Both values of a flag, null where it is allowed, each text, one layer, an odd size, another
        size.
        """
        goals = []
        demanded = {name for condition in conditions(self.spec) for name in names(condition.tree)}
        for field in self.spec.fields.values():
            value = self.default(field, {})
            kinds = kinds_of(field)
            values: list[Any] = []
            if isinstance(value, SubConfig):
                continue
            if "None" in kinds or field.computed:
                values.append(None)
            if field.falsy and type(value) in (int, list):
                values.append(0 if type(value) is int else ())
            if isinstance(value, bool) or kinds == {"bool", "None"}:
                values += [True, False]
            elif isinstance(value, str) or ("str" in kinds and value is None):
                values += self.strings.get(field.name, ())
                values += [f"{value}-{value}"] if field.name in demanded else []
            elif isinstance(value, int) and not field.name.endswith(("_token_id", "_idx")):
                deep = is_deep(field.name) or value < 8
                values += [1] if deep else [self.random.choice(ODD[1:]), self.random.choice(SIZES)]
                values += EDGES if field.name in demanded else ()
            goals += [Goal(field.name, chosen) for chosen in values]
        return list(dict.fromkeys(goals))

    def fresh(self) -> dict[str, Any]:
        raw: dict[str, Any] = {"model_type": self.spec.model_type}
        share = self.random.choice((0.15, 0.4, 0.8))
        self.lengths = {} if self.random.random() < 0.4 else None
        for field in sorted(self.spec.fields.values(), key=lambda field: field.computed):
            value = self.default(field, raw)
            if types := self.parts(field, value):
                if value is not None or self.random.random() < 0.5:
                    raw[field.name] = self.sub_config(field, value, types)
                continue
            deep = is_deep(field.name) and isinstance(value, int) and value > 4 and not field.computed
            resized = isinstance(value, list) and self.lengths is not None and not field.computed
            misfit = isinstance(value, list) and len(value) != self.depth(field, raw, len(value))
            if (
                self.random.random() < share
                or deep
                or field.name == WIDE
                or resized
                or misfit
                or field.default is None
            ):
                drawn = self.draw(field, value, raw)
                if drawn is not ...:
                    raw[field.name] = drawn
        if self.random.random() < 0.3:
            labels = self.random.choice((1, 3, 7))
            if self.random.random() < 0.3:
                raw["id2label"] = {str(index): f"label {index}" for index in range(labels)}
            else:
                raw["num_labels"] = labels
        return raw

    def sparse(self) -> dict[str, Any]:
        """The default config with one or two fields drawn, also within its parts: one may be all that it
        lacks.
        """
        raw: dict[str, Any] = (
            self.shallow() if self.random.random() < 0.8 else {"model_type": self.spec.model_type}
        )
        fields = list(self.spec.fields.values())
        for field in self.random.sample(fields, min(len(fields), self.random.randint(1, 2))):
            value = self.default(field, raw)
            if types := self.parts(field, value):
                child = self.child(field, self.random.choice(types))
                own = value.raw if isinstance(value, SubConfig) else {}
                raw[field.name] = {**own, **(child.sparse() if child is not None else {})}
            elif (drawn := self.draw(field, value, raw)) is not ...:
                raw[field.name] = drawn
        return raw

    def shallow(self) -> dict[str, Any]:
        """The default config with few layers, also within its parts."""
        raw: dict[str, Any] = {"model_type": self.spec.model_type}
        for name in self.stacks:
            raw[name] = self.random.choice(LAYERS)
        for field in self.spec.fields.values():
            value = self.default(field, {})
            if isinstance(value, SubConfig) and (child := self.child(field, value.model_type)) is not None:
                raw[field.name] = {**value.raw, **child.shallow()}
        return raw

    def near(self) -> dict[str, Any]:
        """A valid config with one to three fields drawn anew, or left out."""
        raw = copy.deepcopy(self.random.choice(self.accepted))
        fields = list(self.spec.fields.values())
        for field in self.random.sample(fields, min(len(fields), self.random.randint(1, 3))):
            value = self.default(field, raw)
            if types := self.parts(field, value):
                raw[field.name] = self.sub_config(field, value, types)
            elif self.random.random() < 0.1 and field.name != WIDE:
                raw.pop(field.name, None)
            elif (drawn := self.draw(field, value, raw)) is not ...:
                raw[field.name] = drawn
        return raw

    def narrowed(self, raw: dict[str, Any]) -> dict[str, Any]:
        """The config, with a small image where that would be as large as it is by default."""
        field = self.spec.fields.get(WIDE)
        default = self.default(field, {}) if field is not None else None
        if type(default) is int and raw.get(WIDE, default) == default:
            raw[WIDE] = self.random.choice(IMAGES)
        return raw

    def parts(self, field: Field, value: Any) -> list[str]:
        """The model types that a sub-config may be of, also where it is null by default; none for any
        other field.
        """
        if isinstance(value, SubConfig):
            return branches(self.spec.library, field) or [value.model_type]
        return branches(self.spec.library, field, sole=True) if value is None else []

    def sub_config(self, field: Field, value: SubConfig | None, types: list[str]) -> dict[str, Any]:
        """A drawn sub-config; where its model type is not described yet, its defaults will do."""
        own = dict(value.raw) if value is not None else {}
        child = self.child(field, self.random.choice(types))
        if child is None:
            return own
        drawn = child.sample()
        if self.random.random() < 0.5:
            return drawn
        called = child.spec.attribute_map
        known = {called.get(key, key) for key in drawn}  # maybe under another name
        return {key: default for key, default in own.items() if called.get(key, key) not in known} | drawn

    def child(self, field: Field, model_type: str) -> Sampler | None:
        """The sampler of a sub-config: one for each field and model type remembers what was valid there."""
        child = self.children.get(field.name)
        if child is None or child.spec.model_type != model_type:
            try:
                child = Sampler(self.spec.library.load(model_type), self.random.randrange(2**30))
            except ArchspecError:  # not described yet
                return None
            self.children[field.name] = child
        return child
