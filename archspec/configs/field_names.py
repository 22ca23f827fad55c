"""The values of a config under the names that its spec uses, with flat fields moved to their sub-config."""

from __future__ import annotations

from collections.abc import Mapping

from archspec.configs.checks import may_be_null
from archspec.configs.origin import Origin
from archspec.errors import ConfigError
from archspec.specs.layer_types import renamed
from archspec.specs.records import Spec
from archspec.typing_light import Any, NamedTuple


class Named(NamedTuple):
    """``given`` maps a field to its name in the config; ``nulls`` are null under the spec's own name."""

    values: dict[str, Any]
    given: dict[str, str]
    nulls: set[str]
    flattened: bool


def resolve_names(spec: Spec, origin: Origin, raw: Mapping[str, Any]) -> Named:
    """Rename a config's fields. Errors: :class:`ConfigError` for two values of one field."""
    values, given, nulls = dict(raw), dict[str, str](), set[str]()
    for alias, name in spec.attribute_map.items():
        if alias not in values or alias == name:
            continue
        value, other, written = values.pop(alias), values.get(name), given.get(name, name)
        is_override, wins = origin.is_overridden(alias), origin.is_overridden(written)
        if other is not None and other != value and is_override == wins:  # also if null, as in transformers
            shown = "null" if value is None else repr(value)
            message = f"is {shown}, but {written}, the same field, is {other!r}"
            raise ConfigError(origin.problem(alias, message, "keep one of the two"))
        field = spec.fields.get(name)
        only_computed = field is not None and field.computed and "None" not in field.types
        if value is None and other is None and only_computed:
            message = f"is null, and transformers sets {name} to that"
            raise ConfigError(origin.problem(alias, message, "leave it out"))
        refused = name in values and field is not None and not may_be_null(field)  # transformers checks both
        if is_override or (other is None and not wins and not refused):
            nulls |= {name} if name in values else set()
            values[name], given[name] = value, alias
    for name in (spec.attribute_map.get("layer_types", "layer_types"), "mtp_layer_types"):
        if name in values:
            values[name] = renamed(values[name])
    flat = spec.flat
    flattened = bool(flat) and (origin.is_opened(flat) or values.get(flat) is None)
    if flattened:
        moved = {
            one: value for one, value in values.items() if one not in spec.fields and one != "model_type"
        }
        values[flat] = {**moved, **(values.get(flat) or {})}
    return Named(values, given, nulls, flattened)
