"""Random configs of a spec: seeded, small, flipping every flag, null and list length in turn."""

from __future__ import annotations

import ast
import random
from typing import Any

from archspec.errors import ArchspecError
from archspec.expression import Expression
from archspec.scope import Scope, SubConfig
from archspec.spec import Field, Part, Spec

_SIZES = (12, 24, 36, 48, 60, 72, 96, 120, 144, 192)
_COUNTS = (1, 2, 3, 4, 6)
_FLOATS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.7, 3.0, 4.0)


class Sampler:
    """Draws raw configs for one spec; which values are valid is for transformers to say."""

    def __init__(self, spec: Spec, seed: int) -> None:
        self.spec = spec
        self.random = random.Random(f"{spec.model_type}:{seed}")
        self.defaults = Scope(spec, {})
        self.strings = _compared_strings(spec)
        self.lengths: dict[int, int] | None = None

    def sample(self) -> dict[str, Any]:
        """One config: some fields drawn, some left out, the numbers of layers kept small."""
        raw: dict[str, Any] = {"model_type": self.spec.model_type}
        share = self.random.choice((0.15, 0.4, 0.8))
        self.lengths = {} if self.random.random() < 0.4 else None
        for field in sorted(self.spec.fields.values(), key=lambda field: field.computed):
            value = self.default(field, raw)
            if isinstance(value, SubConfig):
                raw[field.name] = self.sub_config(value)
                continue
            deep = "layers" in field.name and isinstance(value, int) and value > 4 and not field.computed
            resized = isinstance(value, list) and self.lengths is not None and not field.computed
            if self.random.random() < share or deep or resized:
                drawn = self.draw(field, value)
                if drawn is not ...:
                    raw[field.name] = drawn
        if self.random.random() < 0.3:
            raw["num_labels"] = self.random.choice((1, 3, 7))
        return raw

    def default(self, field: Field, raw: dict[str, Any]) -> Any:
        """What the field is where it is left out; a computed default follows the fields drawn so far."""
        try:
            return (Scope(self.spec, raw) if field.computed else self.defaults).get(field.name)
        except ArchspecError:
            return None

    def sub_config(self, value: SubConfig) -> dict[str, Any]:
        from archspec.library import load

        drawn = Sampler(load(value.model_type), self.random.randrange(2**30)).sample()
        return {**value.raw, **drawn}

    def draw(self, field: Field, default: Any) -> Any:
        """A value of the field's type, or ... to leave it out."""
        kinds = {kind.partition("[")[0] for kind in field.types}
        if ("None" in kinds or field.computed) and self.random.random() < 0.25:
            return None
        if isinstance(default, bool) or (kinds & {"bool"} and not kinds & {"int", "str"}):
            return self.random.random() < 0.5
        if isinstance(default, str) or ("str" in kinds and default is None):
            choices = [*self.strings.get(field.name, ()), *([default] if default else [])]
            return self.random.choice(choices) if choices else ...
        if isinstance(default, list):
            return self.draw_list(field, default)
        if isinstance(default, float):
            return self.random.choice((*_FLOATS, default))
        if isinstance(default, int) or "int" in kinds:
            if field.computed and default is not None and self.random.random() < 0.4:
                return default
            drawn = self.number(field.name, default)
            return [drawn, self.number(field.name, default)] if "list" in kinds and self.random.random() < 0.2 else drawn
        return ...

    def number(self, name: str, default: int | None) -> int:
        if name.endswith("_token_id"):
            return self.random.choice((0, 1, 5, default if isinstance(default, int) else 2))
        if "layers" in name or (isinstance(default, int) and default < 32):
            return self.random.choice(_COUNTS)
        if self.random.random() < 0.05:
            return self.random.randint(1, 200)
        if self.random.random() < 0.15 and default:
            return default
        return self.random.choice(_SIZES)

    def draw_list(self, field: Field, default: list[Any]) -> Any:
        if field.computed and self.random.random() < 0.5:
            return ...
        length = len(default)
        if not field.computed and self.random.random() < 0.05:
            length = self.random.randint(1, max(1, length))
        elif not field.computed and self.lengths is not None:  # lists that agree by default mostly stay so
            length = self.lengths.setdefault(length, self.random.randint(1, max(1, length)))
        pool: list[Any] = [*self.strings.get(field.name, ()), *(item for item in default if isinstance(item, str))]
        if pool:
            return [self.random.choice(pool) for _ in range(length)]
        if default and all(isinstance(item, int) for item in default):
            small = all(item < 32 for item in default)
            drawn: list[Any] = [self.random.choice(_COUNTS if small else _SIZES) for _ in range(length)]
            return drawn if self.random.random() < 0.6 else default[:length]
        if not default and "list[int]" in field.types:  # numbers of layers
            return self.random.sample(range(4), self.random.randint(0, 3))
        return ...


def _compared_strings(spec: Spec) -> dict[str, list[str]]:
    """Field -> the texts that the spec compares it with: those are the values that matter."""
    found: dict[str, set[str]] = {}
    for expression in _expressions(spec):
        for node in ast.walk(expression.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith":
                name, start = ast.unparse(node.func.value), node.args[0]
                default = spec.fields[name].default if name in spec.fields else None
                if default and isinstance(default.tree, ast.Constant) and isinstance(start, ast.Constant):
                    found.setdefault(name, set()).add(str(start.value) + str(default.tree.value))
            if isinstance(node, ast.Compare):
                calls = [c for c in ast.walk(node) if isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute)]
                arguments = [argument for c in calls for argument in c.args]
                constants = [c for c in ast.walk(node) if isinstance(c, ast.Constant) and c not in arguments]
                texts = {c.value for c in constants if isinstance(c.value, str)}
                for name in (n.id for n in ast.walk(node) if isinstance(n, ast.Name)):
                    if name in spec.fields:
                        found.setdefault(name, set()).update(texts)
    return {name: sorted(texts) for name, texts in found.items() if texts}


def _expressions(spec: Spec) -> list[Expression]:
    found = [*spec.require, *spec.fixed.values(), *(f.default for f in spec.fields.values() if f.default)]
    for module in spec.modules.values():
        found += [*module.where.values(), *module.require, *_leaves(module.body)]
    return found


def _leaves(part: Part) -> list[Expression]:
    if isinstance(part, Expression):
        return [part]
    items = part.values() if isinstance(part, dict) else part
    return [leaf for item in items for leaf in _leaves(item)]
