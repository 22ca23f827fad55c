"""Random values for the fields of a spec, by type and name: small sizes, few layers, lists as long."""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping, Sequence
from typing import Any

from archspec.configs.scope import Scope
from archspec.errors import ArchspecError
from archspec.language.expression import text_of
from archspec.specs.exported import ALLOWED
from archspec.specs.records import Field, Spec
from archspec.specs.references import compared_texts, expressions
from archspec.symbolic.runs.record import Config
from archspec.symbolic.runs.solver import WIDE, is_deep
from archspec.verifying.generate.choices import kinds_of

SIZES = (12, 24, 36, 48, 60, 72, 96, 120, 144, 192)
ODD = (1, 3, 5, 7, 9, 10, 20, 27, 50)
COUNTS = (1, 2, 3, 4, 6)
LAYERS = (1, 1, 2, 2, 3, 4, 6)
FLOATS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.7, 3.0, 4.0)
IMAGES = (9, 12, 18, 20, 24)
SAMPLING_RATES = (8000, 16_001, 24_000)  # a slower one has thousands of quantizers for its bandwidth

Texts = Mapping[str, Sequence[str]]


class Drawing:
    """Draws values for the fields of one spec.

    ``texts`` are more texts to try, by field, in addition to those that the spec compares with a field.
    """

    def __init__(self, spec: Spec, chance: random.Random, texts: Texts | None = None) -> None:
        self.spec, self.random = spec, chance
        self.defaults = Scope(spec, {})
        self.lengths: dict[int, int] = {}  # the drawn length of lists, by their default length
        found: dict[str, set[str]] = {name: {*known} for name, known in compared_texts(spec).items()}
        for name, more in (texts or {}).items():
            found.setdefault(name, set()).update(more)
        written = {text_of(node) for one in expressions(spec) for node in ast.walk(one.tree)}
        for alias, kinds in ALLOWED.items():
            name = spec.attribute_map.get(alias, alias)
            if name in spec.fields:
                known = found.setdefault(name, set())
                known |= written & {*kinds}
                if len(known) < 2 and self.default(spec.fields[name], {}) is None:
                    known |= {*kinds}  # with one text, a branch would not be taken
        self.strings = {name: sorted(known) for name, known in found.items()}

    def default(self, field: Field, raw: Config) -> Any:
        """Return a field's default; a computed one follows the drawn fields. None if it is rejected."""
        try:
            if not field.computed:
                return self.defaults.get(field.name)
            return Scope(self.spec, {name: raw[name] for name in raw if name != field.name}).get(field.name)
        except ArchspecError:
            return None

    def draw(self, field: Field, default: Any, raw: Config) -> Any:  # noqa: PLR0911 - one for each kind of value
        """Return a value of the field's type; ... leaves the field out."""
        kinds, texts, chance = kinds_of(field), self.strings.get(field.name, []), self.random.random()
        others = kinds - {"None"}
        if field.of_layers is not None:
            return self._of_layers(field.of_layers, raw)
        if ("None" in kinds or field.computed) and chance < 0.25:
            return None
        if isinstance(default, bool) or others == {"bool"}:
            return self.random.random() < 0.5
        if isinstance(default, str) or (default is None and "str" in kinds):
            return self.random.choice([*texts, default or ...])
        if isinstance(default, float) or (default is None and others == {"float"}):
            return self.random.choice((*FLOATS, default or FLOATS[0]))
        if isinstance(default, list) or (default is None and "list" in kinds and "int" not in kinds):
            return self._items(field, default or [], raw)
        if isinstance(default, int) or "int" in kinds:
            if chance < 0.5 and field.computed and default is not None:
                return default
            if chance > 0.8 and texts and "str" in kinds:
                return self.random.choice(texts)
            drawn = self._number(field.name, default, raw)
            return [drawn, drawn] if chance > 0.8 and "list" in kinds else drawn
        if others == {"dict"} and "rope" in field.name:  # rotary positions by kind of layer
            options = self.strings.get("layer_types", [])
            return {kind: self.random.choice((None, {"rope_theta": 1e4})) for kind in options}
        if others == {"dict"} and texts:  # keys with the sizes of a convolution
            return {key: [self.random.choice(COUNTS), 1, 0] for key in texts}
        return ...

    def _of_layers(self, names: Sequence[str], raw: Config) -> dict[str, Config]:
        """Return other values of some fields for some layers: for all of one kind, if layers have kinds."""
        scope = Scope(self.spec, {name: value for name, value in raw.items() if name != "per_layer_config"})
        try:
            layers = scope.get("num_hidden_layers")
            kinds = scope.get("layer_types") if scope.has("layer_types") else [*range(layers)]
            known = {name: scope.get(name) for name in names if scope.has(name)}
        except ArchspecError:  # of an invalid config
            return {}
        drawn = {name: self.draw(self.spec.fields[name], known[name], raw) for name in known}
        own = {name: value for name, value in drawn.items() if value is not ...}
        chosen = self.random.choice(kinds or [None])
        return {str(index): own for index, kind in enumerate(kinds[:layers]) if kind == chosen}

    def _number(self, name: str, default: int | None, raw: Config) -> int:
        if name.endswith("_token_id"):
            return self.random.choice((0, 1, 5, default or 2))
        if is_deep(name) or name == WIDE:
            return self.random.choice(IMAGES if name == WIDE else LAYERS)
        if (default or 32) < 32 or name.endswith(("_heads", "_groups")):
            return self.random.choice(COUNTS)
        if name == "sampling_rate":
            return self.random.choice(SAMPLING_RATES)
        if self.random.random() < 0.6:
            return self.random.choice(SIZES)
        # Equal sizes are drawn, too: some projections are then left out.
        equal = [value for value in raw.values() if type(value) is int and value >= 12]
        several = self.random.choice(SIZES) * self.random.choice(COUNTS)
        return int(self.random.choice([self.random.choice(ODD), several, default or SIZES[0], *equal[:1]]))

    def _items(self, field: Field, default: list[Any], raw: Config) -> Any:
        """Return a list: as long as there are layers, as by default, or as the lists that agree with it."""
        texts = [*self.strings.get(field.name, ()), *(item for item in default if isinstance(item, str))]
        pool: list[Any] = texts
        if not default or all(type(item) is int for item in default):
            inner = "".join(kind for kind in field.types if kind.startswith("list["))
            few = not default or max(default) < 32
            pool = pool or [*(COUNTS if few else SIZES)] * ("int" in inner or bool(default))
            pool = [True, False] if "bool" in inner else pool
            if "list[list[" in inner:  # pairs, as of layers
                pool = [[self.random.choice(COUNTS), self.random.choice(COUNTS)] for _ in range(3)]
        known = raw.get(field.name)
        length = len(known) if isinstance(known, list) else self._length(len(default), raw, field.computed)
        if field.name.endswith("indices") and not default:  # of layers
            return [index for index in range(length) if self.random.random() < 0.5]
        if texts and field.computed and length == len(default) and self.random.random() < 0.7:
            return [item for item in self._containing_list(default, raw) if self.random.random() < 0.7] or ...
        if pool and self.random.random() < 0.6:
            return [self.random.choice(pool) for _ in range(length)]
        return (default * length)[:length] or ...

    def _length(self, usual: int, raw: Config, computed: bool) -> int:
        if not usual:
            layers = [value for name, value in raw.items() if is_deep(name) and type(value) is int]
            return int(self.random.choice(layers or LAYERS))
        if usual not in self.lengths and not computed:
            shorter = self.random.random() < 0.3
            self.lengths[usual] = self.random.randint(1, max(1, usual - 1)) if shorter else usual
        return self.lengths.get(usual, usual)

    def _containing_list(self, default: list[Any], raw: Config) -> list[str]:
        """Return the list of texts that contains a computed default, as stage_names contains out_features."""
        for name in self.spec.fixed:
            try:
                value = Scope(self.spec, raw).get(name)
            except ArchspecError:
                continue
            if isinstance(value, list) and all(item in value for item in default):
                return value
        return []
