"""Random configs of a spec: seeded, small, and led to every flag, null, text and list length in turn.

A sampler draws blindly at first. What was accepted is told back to it, so that later configs are near
valid ones, and so that it knows which of its goals (a flag flipped, a null, one layer, an odd size)
have not been seen in a valid config yet.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from archspec.errors import ArchspecError
from archspec.expression import names
from archspec.field_kinds import WIDE, branches, ints, is_deep, kinds_of, runs
from archspec.layer_types import ALLOWED
from archspec.mending import mended
from archspec.scope import Scope, SubConfig
from archspec.spec import Field, Spec
from archspec.texts import compared_texts, conditions

_SIZES = (12, 24, 36, 48, 60, 72, 96, 120, 144, 192)
_ODD = (1, 3, 5, 7, 9, 10, 20, 27, 50)
_COUNTS = (1, 2, 3, 4, 6)
_FLOATS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.7, 3.0, 4.0)
_RATES = (8000, 16_000, 16_001, 24_000, 44_100)
_IMAGES = (9, 12, 18, 20, 24)
EDGES = (1, 4, 5, 6, 7, 9)  # what conditions divide by, or compare with
_TRIES = 8
_BLIND = 600  # draws until one is valid, where the default config is not

Texts = Mapping[str, Sequence[str]]


class Goal(NamedTuple):
    """A value that a field should have in some valid config; () for an empty list."""

    field: str
    value: Any

    @property
    def given(self) -> Any:
        return [] if self.value == () else self.value


class Sampler:
    """Draws raw configs for one spec; which values are valid is for transformers to say.

    ``texts`` are more texts to try, by field, beside those that the spec itself compares a field with.
    """

    def __init__(self, spec: Spec, seed: int, texts: Texts | None = None) -> None:
        self.spec = spec
        self.random = random.Random(f"{spec.model_type}:{seed}")
        self.defaults = Scope(spec, {})
        found: dict[str, list[str]] = compared_texts(spec)
        for name, more in (texts or {}).items():
            found[name] = sorted({*found.get(name, ()), *more})
        self.others = {spec.attribute_map.get(name, name): values for name, values in ALLOWED.items()}
        for name, values in self.others.items():
            if name in spec.fields and len(found.get(name, ())) < 2 and self.default(spec.fields[name], {}) is None:
                found[name] = sorted({*found.get(name, ()), *values})  # one text alone leaves a branch untaken
        self.strings = found
        self.lengths: dict[int, int] | None = None
        self.children: dict[str, Sampler] = {}
        self.accepted: list[dict[str, Any]] = []
        self.drawn: dict[str, Any] = {}
        self.goals = dict.fromkeys(self.wanted(), 0)
        self.flags = [goal.field for goal in self.goals if goal.value is True]
        self.aimed: list[int] = []
        self.blind = _BLIND
        self.depths = self.numbers_of_layers()
        self.turns = [name for name, field in spec.fields.items() if is_deep(name) and type(self.default(field, {})) is int]

    def sample(self) -> dict[str, Any]:
        """One config: a fresh one or a valid one with a few fields drawn anew, a few goals, some old names."""
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
            for name in [name for name, layers in self.depths.items() if layers == goal.field]:  # lists are as long
                field = self.spec.fields[name]
                known = self.default(field, raw)  # null where the rest of the config allows none
                if isinstance(known, list) and (drawn := self.draw_list(field, known, raw)) is not ...:
                    raw[name] = drawn
        self.drawn = copy.deepcopy(raw)
        return self.renamed(raw)

    def mend(self, accepts: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        """The config drawn last, brought near to a valid one; None where there is none to start from."""
        drawn = self.drawn
        start = self.random.choice(self.accepted) if self.accepted else {"model_type": self.spec.model_type}
        if not self.accepted and not accepts(start):
            draws = (draw() for draw in (self.fresh, self.sparse) for _ in range(self.blind))
            found = next(filter(accepts, draws), None)
            if found is None:
                self.blind = 0  # searched once and for all
                return None
            start = found
        self.draw_last(mended(drawn, start, accepts, self.random))
        return self.renamed(copy.deepcopy(self.drawn))

    def draw_last(self, raw: dict[str, Any]) -> None:
        """Holds a config as the one drawn last, each field under its own name, and its sub-configs likewise."""
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
        return {names[key] if key in names and self.random.random() < 0.15 else key: value for key, value in raw.items()}

    def wanted(self) -> list[Goal]:
        """Both values of a flag, null where it is allowed, each text, one layer, an odd size, another size."""
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
                values += [1] if deep else [self.random.choice(_ODD[1:]), self.random.choice(_SIZES)]
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
            if self.random.random() < share or deep or field.name == WIDE or resized or misfit or field.default is None:
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
        """The default config with one or two fields drawn, also within its parts: one may be all that it lacks."""
        raw: dict[str, Any] = {"model_type": self.spec.model_type}
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
            raw[WIDE] = self.random.choice(_IMAGES)
        return raw

    def default(self, field: Field, raw: dict[str, Any]) -> Any:
        """What the field is where it is left out; a computed default follows the fields drawn so far."""
        try:
            if not field.computed:
                return self.defaults.get(field.name)
            others = {name: value for name, value in raw.items() if name != field.name}
            return Scope(self.spec, others).get(field.name)
        except ArchspecError:
            return None

    def parts(self, field: Field, value: Any) -> list[str]:
        """The model types that a sub-config may be of, also where it is null by default; none for any other field."""
        if isinstance(value, SubConfig):
            return branches(field) or [value.model_type]
        return branches(field, sole=True) if value is None else []

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
        from archspec.library import load

        child = self.children.get(field.name)
        if child is None or child.spec.model_type != model_type:
            try:
                child = Sampler(load(model_type), self.random.randrange(2**30))
            except ArchspecError:  # not described yet
                return None
            self.children[field.name] = child
        return child

    def draw(self, field: Field, default: Any, raw: dict[str, Any]) -> Any:
        """A value of the field's type, or ... to leave it out."""
        kinds = kinds_of(field)
        if ("None" in kinds or field.computed) and self.random.random() < 0.25:
            return self.random.choice((None, type(default)())) if field.falsy and type(default) in (int, list) else None
        if "str" in kinds and isinstance(default, int) and (texts := self.strings.get(field.name)) and self.random.random() < 0.2:
            return self.random.choice(texts)
        if isinstance(default, bool) or (kinds & {"bool"} and not kinds & {"int", "str"}):
            return self.random.random() < 0.5
        if isinstance(default, str) or ("str" in kinds and default is None):
            choices = [*self.strings.get(field.name, ()), *([default] if default else [])]
            return self.random.choice(choices) if choices else ...
        if isinstance(default, list):
            if runs(default) and self.random.random() < 0.8:
                return self.draw_runs(default, raw)
            whole = self.whole(default, raw) if field.computed and self.random.random() < 0.7 else []
            return [item for item in whole if self.random.random() < 0.7] or self.draw_list(field, default, raw)
        if isinstance(default, float):
            return self.random.choice((*_FLOATS, default))
        if isinstance(default, int) or "int" in kinds:
            if field.computed and default is not None and self.random.random() < 0.4:
                return default
            drawn = self.number(field.name, default, raw)
            return [drawn, self.number(field.name, default, raw)] if "list" in kinds and self.random.random() < 0.2 else drawn
        if "list" in kinds:
            return self.draw_missing_list(field, raw)
        if kinds - {"None"} == {"dict"}:  # rotary positions of each kind of layer, or none
            return {kind: self.random.choice((None, {"rope_theta": 1e4})) for kind in self.strings.get("layer_types", ())}
        return ...

    def number(self, name: str, default: int | None, raw: dict[str, Any]) -> int:
        if name.endswith("_token_id"):
            return self.random.choice((0, 1, 5, default if isinstance(default, int) else 2))
        if is_deep(name) or (isinstance(default, int) and default < 32) or name.endswith(("_heads", "_groups")):
            return self.random.choice(_COUNTS)
        chance = self.random.random()
        if name == WIDE:
            return self.random.choice(_IMAGES)
        if name == "sampling_rate":  # a slow one has thousands of quantizers for its bandwidth
            return self.random.choice(_RATES)
        if chance < 0.1:
            return self.random.choice(_ODD)
        if chance < 0.2 and default:
            return default
        if chance < 0.3:  # equal sizes are a case of their own: a projection is then left out
            others = [v for v in raw.values() if type(v) is int and v >= 12]
            return self.random.choice(others or _SIZES)
        if chance < 0.4:
            return self.random.choice(_SIZES) * self.random.choice(_COUNTS)
        return self.random.choice(_SIZES)

    def whole(self, default: list[Any], raw: dict[str, Any]) -> list[str]:
        """The list of texts that a computed default is a part of, as out_features are of stage_names."""
        for name in self.spec.fixed if default and all(isinstance(item, str) for item in default) else ():
            try:
                value = Scope(self.spec, raw).get(name)
            except ArchspecError:  # of two names of one field, for one
                continue
            if isinstance(value, list) and all(item in value for item in default):
                return value
        return []

    def numbers_of_layers(self) -> dict[str, str]:
        """The list fields that are as long as a number of layers by default, and which."""
        found: dict[str, str] = {}
        for field in self.spec.fields.values():
            value = self.default(field, {})
            if isinstance(value, list) and len(value) > 4:
                for name, other in self.spec.fields.items():
                    if is_deep(name) and self.default(other, {}) == len(value):
                        found[field.name] = name
        return found

    def depth(self, field: Field, raw: dict[str, Any], length: int) -> int:
        """How long a list has to be, if it goes with a number of layers that was drawn."""
        drawn = raw.get(self.depths.get(field.name, ""))
        return drawn if type(drawn) is int else length

    def draw_list(self, field: Field, default: list[Any], raw: dict[str, Any]) -> Any:
        length = self.depth(field, raw, len(default))
        if length != len(default) and default and self.random.random() < 0.9:
            return [self.random.choice(default) for _ in range(length)]
        if field.computed and self.random.random() < 0.5:
            return ...
        length = len(default)
        if not field.computed and self.random.random() < 0.05:
            length = self.random.randint(1, max(1, length))
        elif not field.computed and self.lengths is not None:  # lists that agree by default mostly stay so
            length = self.lengths.setdefault(length, self.random.randint(1, max(1, length - 1)))
        pool: list[Any] = [*self.strings.get(field.name, ()), *(item for item in default if isinstance(item, str))]
        if pool:
            return [self.random.choice(pool) for _ in range(length)]
        if default and all(type(item) is int for item in default):
            return self.numbers(default, length)
        if default and all(isinstance(item, list) for item in default):
            return [self.numbers(item, len(item)) if ints(item) else item for item in default[:length]]
        if default and all(isinstance(item, bool) for item in default):
            return [self.random.random() < 0.5 for _ in range(length)]
        if not default and "list[int]" in field.types:  # numbers of layers
            return self.random.sample(range(4), self.random.randint(0, 3))
        return ...

    def numbers(self, default: list[int], length: int) -> list[int]:
        if self.random.random() < 0.4:
            return default[:length]
        small = all(item < 32 for item in default)
        if not small and self.random.random() < 0.3:  # a shared factor keeps what must divide
            factor = math.gcd(*default)
            return [factor * self.random.choice(_COUNTS) for _ in range(length)]
        return [self.random.choice(_COUNTS if small else _SIZES) for _ in range(length)]

    def draw_runs(self, default: list[Any], raw: dict[str, Any]) -> list[Any]:
        """Texts and how often they repeat, as GPT-Neo lists its layers: for a number of layers that was drawn."""
        depths = [v for name, v in raw.items() if is_deep(name) and type(v) is int]
        length = self.random.choice(depths or _COUNTS)
        pool = [text for texts, _ in default for text in texts]
        texts = [self.random.choice(pool) for _ in range(1 if length % 2 else 2)]
        return [[texts, length // len(texts)]]

    def draw_missing_list(self, field: Field, raw: dict[str, Any]) -> Any:
        """A list where the default is null: as long as a number of layers that was drawn."""
        depths = [v for name, v in raw.items() if is_deep(name) and type(v) is int]
        length = self.random.choice(depths or _COUNTS)
        if pool := self.strings.get(field.name):
            return [self.random.choice(pool) for _ in range(length)]
        inner = {kind for kind in field.types if kind.startswith("list[")}
        if "list[bool]" in inner:
            return [self.random.random() < 0.5 for _ in range(length)]
        if "list[int]" in inner:
            if self.random.random() < 0.4:  # what is cut, or picked out, at some places
                return sorted(self.random.sample(range(1, 10), min(length, 4)))
            return [self.random.choice(_COUNTS) for _ in range(length)]
        return ...
