"""Random configs of a spec: seeded and small; half of them near valid ones, once there are some."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from archspec.configs.scope import SubConfig
from archspec.errors import ArchspecError
from archspec.specs.records import Field, Spec
from archspec.symbolic.runs.record import Config
from archspec.symbolic.runs.solver import WIDE, is_deep
from archspec.verifying.generate.choices import part_types
from archspec.verifying.generate.drawing import LAYERS, Drawing, Texts

_BLIND = 600  # draws until one is valid, if the default config is not
_SHARES = (0.15, 0.4, 0.8)  # of fields that are drawn


def valid_configs(spec: Spec) -> tuple[Config, ...]:
    """Return the config to start from if the default one and random ones are refused."""
    return ({"model_type": spec.model_type, **spec.valid_config},) if spec.valid_config else ()


class Sampler:
    """Draws configs for one spec. :meth:`add_valid` reports that the last one is valid."""

    def __init__(self, spec: Spec, seed: int, texts: Texts | None = None) -> None:
        self.spec, self.random = spec, random.Random(f"{spec.model_type}:{seed}")
        self.drawing = Drawing(spec, self.random, texts)
        self.children: dict[str, Sampler] = {}
        self.fields = [field for field in spec.fields.values() if not field.only_costs]
        self.names = [field.name for field in self.fields]
        self.accepted: list[Config] = []
        self.drawn: Config = {}
        self.hopeless = False

    def sample(self) -> Config:
        """Return a new config, or a valid one with fields drawn again; some fields under another name."""
        near = self.accepted and self.random.random() < 0.5
        self.drawn = self._draw_near() if near else self.draw_config(self.random.choice(_SHARES))
        return self._rename_fields(self.drawn)

    def add_valid(self) -> None:
        """Report that the config drawn last is valid."""
        self.accepted.append(self.drawn)
        for name, child in self.children.items():
            if isinstance(self.drawn.get(name), dict):
                child.drawn = {"model_type": child.spec.model_type, **self.drawn[name]}
                child.add_valid()

    def draw_config(self, share: float) -> Config:
        """Return a config with this share of fields drawn; with 0, the default config with few layers."""
        raw: Config = {"model_type": self.spec.model_type}
        lengths = self.drawing.lengths = {}
        for field in sorted(self.fields, key=lambda one: (one.computed, not is_deep(one.name))):
            value = self.drawing.default(field, raw)
            if is_deep(field.name) and type(value) is int and not field.computed:
                few = value > 2 or self.random.random() < share
                raw[field.name] = self.random.choice(LAYERS) if few else value
                lengths |= {value: raw[field.name]} if value > 4 else {}
            else:
                needed = isinstance(value, SubConfig) or field.name == WIDE or field.default is None
                follows = isinstance(value, list) and len(value) in lengths
                if self.random.random() < share or needed or follows:
                    self._draw_field(raw, field, value, share)
        if self.random.random() < share:
            labels = self.random.choice((1, 3, 7))
            names = {str(index): f"label {index}" for index in range(labels)}
            raw |= {"id2label": names} if self.random.random() < 0.3 else {"num_labels": labels}
        return raw

    def _draw_near(self) -> Config:
        return self._draw_changed(self.random.choice(self.accepted), self.random.randint(1, 3))

    def _draw_changed(self, valid: Config, count: int) -> Config:
        """Return a config with some fields drawn again, or left out."""
        raw = copy.deepcopy(valid)
        for field in self.random.sample(self.fields, min(len(self.fields), count)):
            if self.random.random() < 0.1 and field.name != WIDE:
                raw.pop(field.name, None)
            else:
                self._draw_field(raw, field, self.drawing.default(field, raw), 0.3)
        return raw

    def _draw_field(self, raw: Config, field: Field, default: Any, share: float) -> None:
        """Draw one field; sub-configs that are null by default, too."""
        types, own = part_types(self.spec.library, field), Config()
        if isinstance(default, SubConfig):
            types, own = types or [default.model_type], dict(default.raw)
        drawn = self._part(field, own, types, share) if types else self.drawing.draw(field, default, raw)
        if drawn is not ...:
            raw[field.name] = drawn

    def _part(self, field: Field, own: Config, types: list[str], share: float) -> Config:
        """Return a drawn sub-config, or its default values ``own`` if its model type is not supported."""
        child = self._child(field, self.random.choice(types))
        if child is None:
            return own
        is_near = child.accepted and self.random.random() < share
        drawn = child._draw_near() if is_near else child.draw_config(share)
        aliases = child.spec.attribute_map
        known = {aliases.get(key, key) for key in drawn}
        return {key: value for key, value in own.items() if aliases.get(key, key) not in known} | drawn

    def _child(self, field: Field, model_type: str) -> Sampler | None:
        """Return the sampler of a sub-config, which stores the valid ones."""
        child = self.children.get(field.name)
        if child is None or child.spec.model_type != model_type:
            try:
                child = Sampler(self.spec.library.load(model_type), self.random.randrange(2**30))
            except ArchspecError:  # not supported
                return None
            self.children[field.name] = child
        return child

    def texts(self, path: tuple[Any, ...]) -> list[str]:
        """Return the texts that the field at a path is compared with."""
        child = self.children.get(path[0])
        if path[1:]:
            return child.texts(path[1:]) if child is not None else []
        return self.drawing.strings.get(path[0], [])

    def _rename_fields(self, raw: Config) -> Config:
        names = {name: alias for alias, name in self.spec.attribute_map.items() if alias not in raw}
        chosen = {key for key in raw if key in names and self.random.random() < 0.15}
        return {names[key] if key in chosen else key: copy.deepcopy(value) for key, value in raw.items()}

    def mend(self, accepts: Callable[[Config], bool]) -> Config | None:
        """Return a valid config with as much of the last one as is accepted; None if no config is valid."""
        start = self.random.choice(self.accepted) if self.accepted else self._first_config(accepts)
        if start is None:
            return None
        self.drawn = mend(self.drawn, start, accepts, self.random)
        return self._rename_fields(self.drawn)

    def _first_config(self, accepts: Callable[[Config], bool]) -> Config | None:
        """Return a config to start from: few layers, the default, or the first of many valid draws."""
        default: Config = {"model_type": self.spec.model_type}
        if (found := next(filter(accepts, (self.draw_config(0), default)), None)) is not None:
            return found
        for turn in range(0 if self.hopeless else _BLIND):
            start = self.draw_config(0) if turn % 2 else default
            drawn = self._draw_changed(start, 1 + turn // 2 % 2), self.draw_config(_SHARES[turn % 3])
            if (found := next(filter(accepts, drawn), None)) is not None:
                return found
        self.hopeless = True  # searched only once
        return None


def mend(drawn: Config, valid: Config, accepts: Callable[[Config], bool], chance: random.Random) -> Config:
    """Return ``valid`` with as many values of ``drawn`` as possible; it tries halves before single fields.

    >>> divides = lambda raw: raw.get("width", 8) % raw["heads"] == 0
    >>> mend({"heads": 5, "width": 7}, {"heads": 2}, divides, random.Random(1))
    {'heads': 2}
    >>> mend({"heads": 5, "depth": 7}, {"heads": 2}, lambda raw: 8 % raw["heads"] == 0, random.Random(0))
    {'heads': 2, 'depth': 7}
    """
    together: dict[Any, Config] = {}  # lists of one length, and the number of their items, may have to agree
    for name in dict.fromkeys((*drawn, *valid)):
        value = drawn.get(name, ...)
        if value != valid.get(name, ...):
            size = value if is_deep(name) and type(value) is int else name
            together.setdefault(len(value) if isinstance(value, list) else size, {})[name] = value
    groups = list(together.values())
    chance.shuffle(groups)
    kept, pending = valid, [groups]
    while pending:
        some = pending.pop()
        changes = {name: value for group in some for name, value in group.items()}
        trial = {name: value for name, value in {**kept, **changes}.items() if value is not ...}
        if accepts(trial):
            kept = trial
        elif len(some) > 1:
            pending += [some[len(some) // 2 :], some[: len(some) // 2]]
    return copy.deepcopy(kept)
