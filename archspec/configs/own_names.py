"""A config under the fields' own names, and the part that it flattens as a part."""

from __future__ import annotations

from collections.abc import Mapping

from archspec.configs.checks import may_be_null
from archspec.configs.origin import Origin
from archspec.errors import ConfigError
from archspec.specs.layer_types import renamed
from archspec.specs.records import Spec
from archspec.typing_light import Any, NamedTuple


class OwnNames(NamedTuple):
    """``given``: field -> the name that the config has it under; ``nulls``: null under their own."""

    values: dict[str, Any]
    given: dict[str, str]
    nulls: set[str]
    flattened: bool


def own_names(spec: Spec, origin: Origin, raw: Mapping[str, Any]) -> OwnNames:
    """Fields under their own names. Errors: :class:`ConfigError` for two values of one field."""
    values, given, nulls = dict(raw), dict[str, str](), set[str]()
    for alias, name in spec.attribute_map.items():
        if alias not in values or alias == name:
            continue
        value, other = values.pop(alias), values.get(name)
        chosen, known = origin.overridden(alias), origin.overridden(given.get(name, name))
        if (
            other is not None and other != value and chosen == known
        ):  # also for null, which transformers takes
            shown = "null" if value is None else repr(value)
            message = f"is {shown}, but {given.get(name, name)}, the same field, is {other!r}"
            raise ConfigError(origin.problem(alias, message, "keep one of the two"))
        field = spec.fields.get(name)
        only_computed = field is not None and field.computed and "None" not in field.types
        if value is None and other is None and only_computed:
            message = f"is null, and transformers sets {name} to that"
            raise ConfigError(origin.problem(alias, message, "leave it out"))
        refused = name in values and field is not None and not may_be_null(field)  # transformers checks both
        if chosen or (other is None and not known and not refused):
            nulls |= {name} if name in values else set()
            values[name], given[name] = value, alias
    for name in (spec.attribute_map.get("layer_types", "layer_types"), "mtp_layer_types"):
        if name in values:
            values[name] = renamed(values[name])
    flat = spec.flat
    if not flat or not (origin.brought(flat) or values.get(flat) is None):
        return OwnNames(values, given, nulls, False)
    outer = {
        name: value for name, value in values.items() if name not in spec.fields and name != "model_type"
    }
    values[flat] = {**outer, **(values.get(flat) or {})}
    return OwnNames(values, given, nulls, True)
