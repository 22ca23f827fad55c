"""What a value of a config has to be, by its field alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
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

_ACTIVATION_FIELDS = (
    "afn",
    "feed_forward_proj",
    "scoring_func",
    "conv_glu_type",
)  # beside those called …act…


def misfit(field: Field, kinds: Iterable[str], value: Any) -> str:
    """Why a value cannot be a field's; '' for one that can."""
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
    """The types that a default without a written type stands for."""
    kind = kind_of(default)
    if not kind:
        message = f"{describe(default)} cannot be a default"
        raise ConfigError(Problem(message, field.place, f"config.{field.name}"))
    if kind == "list" and not field.computed:  # all items are of one kind, as those of the default
        kind = f"list[{inner}]" if (inner := _item_kind(default)) else kind
    kinds = ("float", "int") if kind == "float" else (kind,)
    return (*kinds, "None") if field.computed else kinds


def _item_kind(items: Any) -> str:
    """The kind of a default list's items; empty if they are not all integers or all texts."""
    kinds = {kind_of(item) for item in here(items)}
    return kinds.pop() if kinds in ({"int"}, {"str"}) else ""


def undescribed(spec: Spec, raw: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What a spec does not describe or transformers does not take: the field, why, and what helps."""
    if raw.get("per_layer_config") and "per_layer_config" not in spec.fields:
        message = "this spec does not describe layers that differ from the config"
        yield "per_layer_config", message, "leave it out to count the uniform model"
    for name in (name for name in spec.readonly if name in raw):
        message = "is what transformers computes itself, and it refuses a config that gives it"
        yield name, message, f"leave it out; said at {spec.readonly[name]}"
    for name, value in raw.items():
        named = "act" in name or name in _ACTIVATION_FIELDS
        if named and isinstance(value, str) and value.removeprefix("gated-") not in ACTIVATIONS:
            yield from _no_activation(spec, name, value)
        if _unknown_activation(spec, spec.attribute_map.get(name, name), value):
            message = "this spec does not describe activations with parameters of their own"
            yield name, message, "choose one without, such as relu"


def _no_activation(spec: Spec, name: str, value: str) -> Iterator[tuple[str, str, str]]:
    """That transformers looks for an activation that it does not have; nothing where it does not look."""
    from archspec.specs.exported import exported

    known = exported().get(spec.model_type)
    if known is not None and {name, spec.attribute_map.get(name, name)} & {*known.activations}:
        yield name, f"transformers knows no activation {value!r}", did_you_mean(value, ACTIVATIONS)


def _unknown_activation(spec: Spec, name: str, value: Any) -> bool:
    """Whether a value names an activation that has parameters, and the spec does not ask for it."""
    texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
    found = [text for text in texts if text.rpartition("-")[2] in ("prelu", "xielu")]  # T5 writes gated-prelu
    if not found:
        return False
    from archspec.specs.references import compared_texts

    return not set(found) <= set(compared_texts(spec).get(name, ()))


def layer_list_fault(name: str, listed: Any, layers: Any, domain: Exact) -> tuple[str, str] | None:
    """What transformers does not take in a list of layer types: a type, or a length; and what helps."""
    known = ALLOWED[name]
    if unknown := domain.matching(listed, lambda item: item not in known):
        return f"{unknown[0]!r} is no layer type that transformers knows", f"known: {', '.join(known)}"
    length = domain.length(listed)
    if layers is None or length == layers:
        return None
    message = f"names {length} layers, but num_hidden_layers is {layers}"
    return message, f"give one for each layer, or leave {name} out"


def label_faults(count: Any, problem_type: Any) -> Iterator[tuple[str, str]]:
    """What transformers does not take as a number of labels: the field, and why."""
    kind = type(here(count))
    if not issubclass(kind, int) or kind is bool or not 0 <= count <= 10**9:
        yield "num_labels", f"{describe(count)} is not a number of labels"
    elif count == 1 and problem_type == "single_label_classification":
        yield "problem_type", "single_label_classification needs more than one label"


@lru_cache(maxsize=SEEN)
def takes_length(tree: ast.AST, name: str) -> bool:
    """Whether an expression has `len(name)` in it."""
    return any(ast.unparse(call) == f"len({name})" for call in calls(tree))


def unmet(
    condition: Expression, origin: Origin, values: Mapping[str, str], fields: Iterable[str], path: str
) -> Problem:
    """A condition that transformers enforces and that does not hold: its values, and what may be changed."""
    found = ", ".join(f"{name} = {value}" for name, value in values.items()) or "it does not hold"
    message = f"{origin.name}: transformers demands `{condition.text}`, but {found}"
    help_ = " or ".join(origin.path + name for name in fields)
    return Problem(message, condition.place, path, help_ and f"change {help_}")


def told(value: Any) -> str:
    """A field's value as a message shows it, with the length of a list."""
    if isinstance(value, list):
        return f"{shown(value)} ({len(value)} items)"
    part = describe(value)
    return part if part == "a sub-config" else shown(value)


def may_be_null(field: Field) -> bool:
    """Whether null is a value of a field, or stands for its computed default."""
    return field.computed or "None" in field.types


def may_be_negative(field: Field) -> bool:
    """The number of a token or of a layer, and a field whose own default is below zero."""
    number_of_something = field.name.endswith(("_token_id", "_id", "_idx", "_indices"))
    return number_of_something or (field.default is not None and has_negative(field.default.tree))
