"""Values for the fields of a spec, drawn by type and name: small sizes, few layers, as long lists."""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping, Sequence
from typing import Any

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.language.trees import text_of
from archspec.specs.layer_types import ALLOWED
from archspec.specs.records import Field, Spec
from archspec.specs.references import compared_texts, expressions

SIZES = (12, 24, 36, 48, 60, 72, 96, 120, 144, 192)
ODD = (1, 3, 5, 7, 9, 10, 20, 27, 50)
COUNTS = (1, 2, 3, 4, 6)
LAYERS = (1, 1, 2, 2, 3, 4, 6)
FLOATS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.7, 3.0, 4.0)
RATES = (8000, 16_000, 16_001, 24_000, 44_100)
IMAGES = (9, 12, 18, 20, 24)
DEEP = ("layer", "depth", "block")
WIDE = "image_size"  # drawn small: tables of every patch may be made in Python

Texts = Mapping[str, Sequence[str]]


def kinds_of(field: Field) -> set[str]:
    return {kind.partition("[")[0] for kind in field.types}


def is_deep(name: str) -> bool:
    return any(part in name for part in DEEP)


def ints(items: Sequence[Any]) -> bool:
    return bool(items) and all(type(item) is int for item in items)


class Drawing:
    """Draws values for the fields of one spec.

    ``texts`` are more texts to try, by field, beside those that the spec itself compares a field with.
    """

    def __init__(self, spec: Spec, chance: random.Random, texts: Texts | None = None) -> None:
        self.spec, self.random = spec, chance
        self.defaults = Scope(spec, {})
        found: dict[str, set[str]] = {name: {*known} for name, known in compared_texts(spec).items()}
        for name, more in (texts or {}).items():
            found.setdefault(name, set()).update(more)
        written = {text_of(node) for one in expressions(spec) for node in ast.walk(one.tree)}
        for alias, kinds in ALLOWED.items():
            name = spec.attribute_map.get(alias, alias)
            known = found.setdefault(name, set()) if name in spec.fields else set()
            known |= written & {*kinds}
            if len(known) < 2 and name in spec.fields and self.default(spec.fields[name], {}) is None:
                known |= {*kinds}  # one text alone leaves a branch untaken
        self.strings = {name: sorted(known) for name, known in found.items()}
        self.lengths: dict[int, int] | None = None  # of lists: what the length by default became
        self.depths = self.numbers_of_layers()

    def default(self, field: Field, raw: Mapping[str, Any]) -> Any:
        """What the field is where it is left out; a computed default follows the fields drawn so far."""
        try:
            if not field.computed:
                return self.defaults.get(field.name)
            return Scope(self.spec, {name: raw[name] for name in raw if name != field.name}).get(field.name)
        except ArchspecError:
            return None

    def numbers_of_layers(self) -> dict[str, str]:
        """The list fields that are as long as a number of layers by default, and which."""
        values = {name: self.default(field, {}) for name, field in self.spec.fields.items()}
        lists = {
            name: len(value) for name, value in values.items() if isinstance(value, list) and len(value) > 4
        }
        deep = {value: name for name, value in values.items() if is_deep(name) and type(value) is int}
        return {name: deep[length] for name, length in lists.items() if length in deep}

    def draw(self, field: Field, default: Any, raw: Mapping[str, Any]) -> Any:
        """A value of the field's type, or ... to leave it out."""
        kinds, texts, chance = kinds_of(field), self.strings.get(field.name, []), self.random.random()
        if ("None" in kinds or field.computed) and chance < 0.25:
            falsy = field.falsy and type(default) in (int, list)
            return self.random.choice((None, type(default)())) if falsy else None
        if isinstance(default, bool) or kinds - {"None"} == {"bool"}:
            return self.random.random() < 0.5
        if isinstance(default, str) or (default is None and "str" in kinds):
            options = [*texts, *([default] if default else [])]
            return self.random.choice(options) if options else ...
        if isinstance(default, float):
            return self.random.choice((*FLOATS, default))
        if isinstance(default, list) or (default is None and "list" in kinds and "int" not in kinds):
            return self.items(field, default, raw)
        if isinstance(default, int) or "int" in kinds:
            if chance < 0.5 and field.computed and default is not None:
                return default
            if chance > 0.8 and texts and "str" in kinds:
                return self.random.choice(texts)
            drawn = self.number(field.name, default, raw)
            return [drawn, drawn] if chance > 0.8 and "list" in kinds else drawn
        if kinds - {"None"} == {"dict"}:  # rotary positions of each kind of layer, or none
            options = self.strings.get("layer_types", [])
            return {kind: self.random.choice((None, {"rope_theta": 1e4})) for kind in options}
        return ...

    def number(self, name: str, default: int | None, raw: Mapping[str, Any]) -> int:
        if name.endswith("_token_id"):
            return self.random.choice((0, 1, 5, default if isinstance(default, int) else 2))
        if is_deep(name) or name == WIDE:
            return self.random.choice(IMAGES if name == WIDE else LAYERS)
        if (isinstance(default, int) and default < 32) or name.endswith(("_heads", "_groups")):
            return self.random.choice(COUNTS)
        if name == "sampling_rate":  # a slow one has thousands of quantizers for its bandwidth
            return self.random.choice(RATES)
        equal = [value for value in raw.values() if type(value) is int and value >= 12]
        default = default or self.random.choice(SIZES)
        several = self.random.choice(SIZES) * self.random.choice(COUNTS)
        # equal sizes are a case of their own: a projection is then left out
        rare = (self.random.choice(ODD), default, self.random.choice(equal or SIZES), several)
        return self.random.choice((*rare, *(self.random.choice(SIZES) for _ in range(6))))

    def items(self, field: Field, default: list[Any] | None, raw: Mapping[str, Any]) -> Any:
        """A list: as long as the layers are many, as by default, or as others that agree with it became."""
        layers = [value for name, value in raw.items() if is_deep(name) and type(value) is int]
        drawn = raw.get(self.depths.get(field.name, ""))
        texts = [
            *self.strings.get(field.name, ()),
            *(item for item in default or () if isinstance(item, str)),
        ]
        if not default:
            inner = "".join(kind for kind in field.types if kind.startswith("list["))
            pool = texts or ([True, False] if "bool" in inner else [*COUNTS] if "int" in inner else [])
            if not pool:
                return ...
            length = self.random.choice(layers or LAYERS)
            if ints(pool) and (field.name.endswith("indices") or self.random.random() < 0.4):
                return sorted(self.random.sample(range(1, 10), self.random.choice((1, 2, 4))))  # layers
            return [self.random.choice(pool) for _ in range(length)]
        if isinstance(default[0], list) and isinstance(
            default[0][0], list
        ):  # texts, and how often they repeat
            length = self.random.choice(layers or LAYERS)
            kinds = [self.random.choice(default[0][0]) for _ in range(2 - length % 2)]
            return [[kinds, length // len(kinds)]]
        length = drawn if type(drawn) is int else len(default)
        if length == len(default):
            if field.computed and not texts and self.random.random() < 0.5:
                return ...
            if self.lengths is not None and not field.computed:  # lists that agree by default mostly stay so
                length = self.lengths.setdefault(length, self.random.randint(1, max(1, length - 1)))
        if texts:
            whole = self.whole(default, raw) if field.computed and self.random.random() < 0.7 else []
            some = [item for item in whole if self.random.random() < 0.7]
            return some or [self.random.choice(texts) for _ in range(length)]
        if ints(default) and length <= len(default) and self.random.random() < 0.6:
            sizes = COUNTS if max(default) < 32 else SIZES
            return [self.random.choice(sizes) for _ in range(length)]
        return (default * length)[:length]

    def whole(self, default: list[Any], raw: Mapping[str, Any]) -> list[str]:
        """The list of texts that a computed default is a part of, as out_features are of stage_names."""
        for name in self.spec.fixed:
            try:
                value = Scope(self.spec, raw).get(name)
            except ArchspecError:
                continue
            if isinstance(value, list) and all(item in value for item in default):
                return value
        return []
