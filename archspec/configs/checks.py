"""Checks of single values of a config: their types, and the values that transformers allows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from archspec.configs.origin import Origin
from archspec.errors import ConfigError, Problem, did_you_mean
from archspec.language.domain import Exact
from archspec.language.expression import SEEN, Expression
from archspec.language.trees import calls
from archspec.language.values import MAX_INT, describe, fits, has_negative, here, kind_of, numbers, shown
from archspec.specs.layer_types import ACTIVATIONS, ALLOWED
from archspec.specs.records import Field, Spec
from archspec.typing_light import Any

Fault = tuple[str, str, str]  # the field, the message, and a help line
_ACTIVATION_FIELDS = ("afn", "feed_forward_proj", "scoring_func", "conv_glu_type")  # and all with "act"


def value_fault(field: Field, kinds: Iterable[str], value: Any) -> str:
    """The reason that a field cannot have a value; '' if it can."""
    if field.only_costs:
        return ""
    if not fits(value, kinds):
        expected = " or ".join(kind.replace("None", "null") for kind in kinds)
        return f"{shown(value) if isinstance(value, list) else describe(value)} is not {expected}"
    for number in numbers(value):
        if not -MAX_INT <= number <= MAX_INT:
            return "NaN is not a number" if number != number else "the number is beyond 64 bits"
        if number < 0 and isinstance(here(number), int) and not may_be_negative(field):
            return f"{number} is negative"
    return ""


def default_kinds(field: Field, default: Any) -> tuple[str, ...]:
    """The types of a field that declares only a default."""
    kind = kind_of(default)
    if not kind:
        message = f"{describe(default)} cannot be a default"
        raise ConfigError(Problem(message, field.place, f"config.{field.name}"))
    if kind == "list" and not field.computed:
        items = {kind_of(item) for item in here(default)}
        kind = f"list[{items.pop()}]" if items in ({"int"}, {"str"}) else kind
    kinds = ("float", "int") if kind == "float" else (kind,)
    return (*kinds, "None") if field.computed else kinds


def may_be_null(field: Field) -> bool:
    """Return True if a field can be null, or null stands for its computed default."""
    return field.computed or "None" in field.types


def may_be_negative(field: Field) -> bool:
    """Return True for the number of a token or a layer, and for a field with a negative default."""
    is_index = field.name.endswith(("_token_id", "_id", "_idx", "_indices"))
    return is_index or (field.default is not None and has_negative(field.default.tree))


def unsupported_values(spec: Spec, raw: Mapping[str, Any]) -> Iterator[Fault]:
    """Fields that transformers refuses, and values that a spec does not support."""
    if raw.get("per_layer_config") and "per_layer_config" not in spec.fields:
        message = "the spec does not support layers that differ from the config"
        yield "per_layer_config", message, "leave it out to count the uniform model"
    for name in (name for name in spec.readonly if name in raw):
        message = "transformers computes this field, and refuses a config that gives it"
        yield name, message, f"leave it out; see {spec.readonly[name]}"
    for name, value in raw.items():
        named = "act" in name or name in _ACTIVATION_FIELDS
        is_unknown = named and isinstance(value, str) and value.removeprefix("gated-") not in ACTIVATIONS
        if is_unknown and _is_activation(spec, name):
            yield name, f"transformers has no activation {value!r}", did_you_mean(value, ACTIVATIONS)
        if _is_parametrized(spec, spec.attribute_map.get(name, name), value):
            message = "the spec does not support activations with parameters"
            yield name, message, "choose one without, such as relu"


def _is_activation(spec: Spec, name: str) -> bool:
    """Return True if transformers looks up the value of a field in its table of activations."""
    from archspec.specs.exported import exported

    known = exported().get(spec.model_type)
    return known is not None and bool({name, spec.attribute_map.get(name, name)} & {*known.activations})


def _is_parametrized(spec: Spec, name: str, value: Any) -> bool:
    """Return True if a value names an activation with parameters that the spec does not read."""
    texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
    found = {text for text in texts if text.rpartition("-")[2] in ("prelu", "xielu")}  # T5 writes gated-prelu
    if not found:
        return False
    from archspec.specs.references import compared_texts

    return not found <= set(compared_texts(spec).get(name, ()))


def layer_list_fault(name: str, listed: Any, layers: Any, domain: Exact) -> Fault | None:
    """The first fault of a list of layer types: an unknown type, or another length than the model's."""
    known = ALLOWED[name]
    if unknown := domain.matching(listed, lambda item: item not in known):
        return name, f"{unknown[0]!r} is not a layer type of transformers", f"choose {', '.join(known)}"
    length = domain.length(listed)
    if layers is None or length == layers:
        return None
    message = f"names {length} layers, but num_hidden_layers is {layers}"
    return name, message, f"give one for each layer, or leave {name} out"


@lru_cache(maxsize=SEEN)
def takes_length(tree: ast.AST, name: str) -> bool:
    """Return True if an expression contains `len(name)`."""
    return any(ast.unparse(call) == f"len({name})" for call in calls(tree))


def label_fault(labels: Any, count: Any, problem_type: Any) -> Fault | None:
    """The reason that transformers refuses labels or their number, if it does."""
    if labels is not None and not isinstance(labels, Mapping):
        return "id2label", f"{describe(labels)} is not a mapping", ""
    kind = type(here(count))
    if not issubclass(kind, int) or kind is bool or not 0 <= count <= 10**9:
        return "num_labels", f"{describe(count)} is not a number of labels", ""
    if count == 1 and problem_type == "single_label_classification":
        return "problem_type", "single_label_classification needs more than one label", ""
    return None


def layer_faults(
    field: Field, given: Mapping[Any, Any], spec: Spec, shared: Callable[[str], Any], layers: int
) -> Iterator[str]:
    """The invalid entries of `per_layer_config`; ``shared`` returns the value of a field for all layers."""
    for index, fields in given.items():
        if not (str(index).isascii() and str(index).isdecimal()) or int(index) >= layers:
            yield f"{shown(index)} is not an index of {here(layers)} layers"
        elif not isinstance(fields, Mapping):
            yield f"layer {index}: {describe(fields)} is not a mapping"
        else:
            for name, value in fields.items():
                known = spec.fields.get(name)
                if name not in (field.of_layers or ()):
                    if value != shared(name):  # a layer may repeat the value of all layers
                        yield f"layer {index}: the spec does not support a {name} that differs between layers"
                elif known and (fault := value_fault(known, known.types or ("int",), value)):
                    yield f"layer {index}: {name}: {fault}"


def unmet_condition(
    condition: Expression, origin: Origin, values: Mapping[str, str], fields: Iterable[str], path: str
) -> Problem:
    """A condition of transformers that does not hold: the values in it, and the fields to change."""
    found = ", ".join(f"{name} = {value}" for name, value in values.items()) or "it does not hold"
    message = f"{origin.name}: transformers requires `{condition.text}`, but {found}"
    help_ = " or ".join(origin.path + name for name in fields)
    return Problem(message, condition.place, path, help_ and f"change {help_}")


def format_value(value: Any) -> str:
    """A field's value in a message, with the length of a list."""
    if isinstance(value, list):
        return f"{shown(value)} ({len(value)} items)"
    part = describe(value)
    return part if part == "a sub-config" else shown(value)
