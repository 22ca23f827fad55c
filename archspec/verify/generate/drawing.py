"""Values for the fields of a spec, drawn by type and name: small sizes, few layers, lists as long as the
layers are many.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.specs.field_kinds import WIDE, ints, is_deep, kinds_of, runs
from archspec.specs.layer_types import ALLOWED
from archspec.specs.records import Field, Spec
from archspec.specs.references import compared_texts

SIZES = (12, 24, 36, 48, 60, 72, 96, 120, 144, 192)
ODD = (1, 3, 5, 7, 9, 10, 20, 27, 50)
COUNTS = (1, 2, 3, 4, 6)
LAYERS = (1, 1, 2, 2, 3, 4, 6)
FLOATS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.7, 3.0, 4.0)
RATES = (8000, 16_000, 16_001, 24_000, 44_100)
IMAGES = (9, 12, 18, 20, 24)

Texts = Mapping[str, Sequence[str]]


class Drawing:
    """Draws values for the fields of one spec.

    ``texts`` are more texts to try, by field, beside those that the spec itself compares a field with.
    """

    def __init__(self, spec: Spec, chance: random.Random, texts: Texts | None = None) -> None:
        self.spec, self.random = spec, chance
        self.defaults = Scope(spec, {})
        found: dict[str, list[str]] = compared_texts(spec)
        for name, more in (texts or {}).items():
            found[name] = sorted({*found.get(name, ()), *more})
        self.others = {spec.attribute_map.get(name, name): values for name, values in ALLOWED.items()}
        for name, values in self.others.items():
            if (
                name in spec.fields
                and len(found.get(name, ())) < 2
                and self.default(spec.fields[name], {}) is None
            ):
                found[name] = sorted(
                    {*found.get(name, ()), *values}
                )  # one text alone leaves a branch untaken
        self.strings = found
        self.lengths: dict[int, int] | None = None  # of lists: what the length by default became
        self.depths = self.numbers_of_layers()

    def default(self, field: Field, raw: dict[str, Any]) -> Any:
        """What the field is where it is left out; a computed default follows the fields drawn so far."""
        try:
            if not field.computed:
                return self.defaults.get(field.name)
            others = {name: value for name, value in raw.items() if name != field.name}
            return Scope(self.spec, others).get(field.name)
        except ArchspecError:
            return None

    def draw(self, field: Field, default: Any, raw: dict[str, Any]) -> Any:
        """A value of the field's type, or ... to leave it out."""
        kinds = kinds_of(field)
        if ("None" in kinds or field.computed) and self.random.random() < 0.25:
            return (
                self.random.choice((None, type(default)()))
                if field.falsy and type(default) in (int, list)
                else None
            )
        if (
            "str" in kinds
            and isinstance(default, int)
            and (texts := self.strings.get(field.name))
            and self.random.random() < 0.2
        ):
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
            return [item for item in whole if self.random.random() < 0.7] or self.draw_list(
                field, default, raw
            )
        if isinstance(default, float):
            return self.random.choice((*FLOATS, default))
        if isinstance(default, int) or "int" in kinds:
            if field.computed and default is not None and self.random.random() < 0.4:
                return default
            drawn = self.number(field.name, default, raw)
            return (
                [drawn, self.number(field.name, default, raw)]
                if "list" in kinds and self.random.random() < 0.2
                else drawn
            )
        if "list" in kinds:
            return self.draw_missing_list(field, raw)
        if kinds - {"None"} == {"dict"}:  # rotary positions of each kind of layer, or none
            return {
                kind: self.random.choice((None, {"rope_theta": 1e4}))
                for kind in self.strings.get("layer_types", ())
            }
        return ...

    def number(self, name: str, default: int | None, raw: dict[str, Any]) -> int:
        if name.endswith("_token_id"):
            return self.random.choice((0, 1, 5, default if isinstance(default, int) else 2))
        if is_deep(name):
            return self.random.choice(LAYERS)
        if (isinstance(default, int) and default < 32) or name.endswith(("_heads", "_groups")):
            return self.random.choice(COUNTS)
        chance = self.random.random()
        if name == WIDE:
            return self.random.choice(IMAGES)
        if name == "sampling_rate":  # a slow one has thousands of quantizers for its bandwidth
            return self.random.choice(RATES)
        if chance < 0.1:
            return self.random.choice(ODD)
        if chance < 0.2 and default:
            return default
        if chance < 0.3:  # equal sizes are a case of their own: a projection is then left out
            others = [v for v in raw.values() if type(v) is int and v >= 12]
            return self.random.choice(others or SIZES)
        if chance < 0.4:
            return self.random.choice(SIZES) * self.random.choice(COUNTS)
        return self.random.choice(SIZES)

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
        pool: list[Any] = [
            *self.strings.get(field.name, ()),
            *(item for item in default if isinstance(item, str)),
        ]
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
            return [factor * self.random.choice(COUNTS) for _ in range(length)]
        return [self.random.choice(COUNTS if small else SIZES) for _ in range(length)]

    def draw_runs(self, default: list[Any], raw: dict[str, Any]) -> list[Any]:
        """Texts and how often they repeat, as GPT-Neo lists its layers: for a number of layers that was
        drawn.
        """
        depths = [v for name, v in raw.items() if is_deep(name) and type(v) is int]
        length = self.random.choice(depths or LAYERS)
        pool = [text for texts, _ in default for text in texts]
        texts = [self.random.choice(pool) for _ in range(1 if length % 2 else 2)]
        return [[texts, length // len(texts)]]

    def draw_missing_list(self, field: Field, raw: dict[str, Any]) -> Any:
        """A list where the default is null: as long as a number of layers that was drawn."""
        depths = [v for name, v in raw.items() if is_deep(name) and type(v) is int]
        length = self.random.choice(depths or LAYERS)
        if pool := self.strings.get(field.name):
            return [self.random.choice(pool) for _ in range(length)]
        inner = {kind for kind in field.types if kind.startswith("list[")}
        if "list[bool]" in inner:
            return [self.random.random() < 0.5 for _ in range(length)]
        if "list[int]" in inner:
            if self.random.random() < 0.4:  # what is cut, or picked out, at some places
                return sorted(self.random.sample(range(1, 10), min(length, 4)))
            return [self.random.choice(COUNTS) for _ in range(length)]
        return ...
