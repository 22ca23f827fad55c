"""Checks of single values of a config, and the names under which a config gives fields."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from math import nan

from archspec.configs.origin import Origin, spec_line
from archspec.errors import ConfigError, Problem, did_you_mean
from archspec.language.domain import Exact
from archspec.language.expression import SEEN, calls
from archspec.language.values import (
    MAX_INT,
    describe,
    has_kind,
    has_negative,
    kind_of,
    names_of,
    numbers,
    short_repr,
    value_of,
)
from archspec.specs.exported import ACTIVATIONS, ALLOWED, current_layer_types, exported_types
from archspec.specs.records import Field, Spec
from archspec.typing_light import Any, NamedTuple

Fault = tuple[str, str, str]  # the field, the message, and a help line
_EXAMPLES: dict[str, Any] = {"int": 1, "float": 0.5, "bool": True, "str": "text", "list[int]": [1, 2]}
_DIMENSIONS = (  # the names that configs use for one size, each in a string
    "hidden_size d_model n_embd n_embed dim embed_dim hidden_dim model_dim d_embed",
    "num_hidden_layers num_layers n_layer n_layers num_blocks n_blocks depth",
    "num_attention_heads num_heads n_head n_heads attention_heads",
    "num_key_value_heads num_kv_heads n_head_kv n_kv_heads n_kv_head multi_query_group_num",
    "intermediate_size ffn_dim d_ff n_inner ffn_hidden_size mlp_dim dim_feedforward d_inner",
    "vocab_size n_vocab padded_vocab_size",
    "num_experts num_local_experts n_routed_experts moe_num_experts",
)
SYNONYMS = {name: names.split() for names in _DIMENSIONS for name in names.split()}
_ACTIVATION_FIELDS = ("afn", "feed_forward_proj", "scoring_func", "conv_glu_type")  # and all with "act"


class Named(NamedTuple):
    """A config under its spec's names: ``given`` maps a field to its name in the config."""

    values: dict[str, Any]
    given: dict[str, str]
    nulls: set[str]  # fields that are null under the spec's own name
    flattened: bool


def resolve_names(spec: Spec, origin: Origin, raw: Mapping[str, Any]) -> Named:
    """Rename fields, and move those of a flat config to its part. Errors: ConfigError for two values."""
    values, given, nulls = dict(raw), dict[str, str](), set[str]()
    for alias, name in spec.attribute_map.items():
        if alias not in values or alias == name:
            continue
        value, other, written = values.pop(alias), values.get(name), given.get(name, name)
        is_set, wins = origin.is_overridden(alias), origin.is_overridden(written)
        if other is not None and other != value and is_set == wins:  # also if null, as in transformers
            mine = "null" if value is None else repr(value)
            message = f"is {mine}, but {written}, the same field, is {other!r}"
            raise ConfigError(origin.problem(alias, message, f"remove {alias} or {written}"))
        field = spec.fields.get(name)
        only_computed = field is not None and field.computed and "None" not in field.types
        if value is None and other is None and only_computed:
            message = f"is null, and transformers would set {name} to null"
            raise ConfigError(origin.problem(alias, message, f"remove {alias} from the config"))
        refused = name in values and field is not None and not may_be_null(field)  # by transformers
        if is_set or (other is None and not wins and not refused):
            nulls |= {name} if name in values else set()
            values[name], given[name] = value, alias
    for name in (spec.attribute_map.get("layer_types", "layer_types"), "mtp_layer_types"):
        if name in values:
            values[name] = current_layer_types(values[name])
    flat = spec.flat
    flattened = bool(flat) and (origin.is_opened(flat) or values.get(flat) is None)
    if flattened:
        own = {*spec.fields, "model_type"}
        moved = {name: value for name, value in values.items() if name not in own}
        values[flat] = {**moved, **(values.get(flat) or {})}
    return Named(values, given, nulls, flattened)


def value_fault(field: Field, kinds: Iterable[str], value: Any) -> str:
    """Return the reason that a field cannot have a value; '' if it can."""
    if field.only_costs:
        return ""
    if not has_kind(value, kinds):
        found = short_repr(value) if isinstance(value, list) else describe(value)
        return f"must be {names_of(kinds)}, not {found}"
    for number in numbers(value):
        if not -MAX_INT <= number <= MAX_INT:
            return "must be a number, not NaN" if number != number else "must be below 2**63"
        if number < 0 and isinstance(value_of(number), int) and not may_be_negative(field):
            return f"must not be negative, but {'is' if value is number else 'contains'} {number}"
    return ""


def nearest_value(field: Field, value: Any, default: Any) -> Any:
    """Return a value that a field can have: the one that was meant, if that is clear, else its default."""
    kinds = field.types or default_kinds(field, default)
    text = str(value).strip().lower() if isinstance(value, str | float | bool) else ""
    guesses: list[Any] = [text == "true"] if text in ("true", "false") else []
    with suppress(ValueError, OverflowError):
        number = float(text) if text else nan
        guesses += [int(number)] if number == int(number) else [number]
    guesses += [default] if default is not None else []
    guesses += (one for kind, one in _EXAMPLES.items() if kind in kinds)
    fits = (one for one in guesses if has_kind(one, kinds) and all(0 <= n <= MAX_INT for n in numbers(one)))
    return next(fits, None)


def default_kinds(field: Field, default: Any) -> tuple[str, ...]:
    """Return the types of a field that declares only a default."""
    kind = kind_of(default)
    if not kind:
        message = f"{describe(default)} cannot be a default"
        raise ConfigError(Problem(message, field.place, f"config.{field.name}"))
    if kind == "list" and not field.computed:
        items = {kind_of(item) for item in value_of(default)}
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
    """Yield fields that transformers refuses, and values that a spec does not support."""
    if raw.get("per_layer_config") and "per_layer_config" not in spec.fields:
        message = "is not supported by the spec, which has equal layers"
        yield "per_layer_config", message, "remove per_layer_config to count the model with equal layers"
    for name in (name for name in spec.readonly if name in raw):
        line = spec_line(spec.readonly[name])
        message = f"is computed by transformers, which rejects configs that set it{line}"
        yield name, message, "remove it from the config"
    for name, value in raw.items():
        named = "act" in name or name in _ACTIVATION_FIELDS
        is_unknown = named and isinstance(value, str) and value.removeprefix("gated-") not in ACTIVATIONS
        if is_unknown and _is_activation(spec, name):
            help_ = did_you_mean(value, ACTIVATIONS) or f"choose from: {', '.join(sorted(ACTIVATIONS))}"
            yield name, f"transformers has no activation {value!r}", help_
        if _is_parametrized(spec, name, value):
            message = "the spec does not support activations with parameters"
            yield name, message, "choose an activation without parameters, e.g. relu"


def _is_activation(spec: Spec, name: str) -> bool:
    known = exported_types().get(spec.model_type)
    return known is not None and bool({name, spec.attribute_map.get(name, name)} & {*known.activations})


def _is_parametrized(spec: Spec, name: str, value: Any) -> bool:
    """Return True if a value names an activation with parameters that the spec does not read."""
    texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
    found = {text for text in texts if text.rpartition("-")[2] in ("prelu", "xielu")}  # T5 writes gated-prelu
    if not found:
        return False
    from archspec.specs.references import compared_texts

    return not found <= set(compared_texts(spec).get(spec.attribute_map.get(name, name), ()))


def layer_list_fault(name: str, listed: Any, layers: Any, domain: Exact) -> Fault | None:
    """Return the first fault of a list of layer types: an unknown type, or the wrong length."""
    known = ALLOWED[name]
    if unknown := domain.select(listed, lambda item: item not in known):
        return name, f"{unknown[0]!r} is not a layer type of transformers", f"choose from: {', '.join(known)}"
    length = domain.length(listed)
    if layers is None or length == layers:
        return None
    message = f"lists {length} layer{'s' * (length != 1)}, but num_hidden_layers is {layers}"
    return name, message, f"list one type per layer, or remove {name}"


@lru_cache(maxsize=SEEN)
def takes_length(tree: ast.AST, name: str) -> bool:
    """Return True if an expression contains `len(name)`."""
    return any(ast.unparse(call) == f"len({name})" for call in calls(tree))


def count_labels(raw: Mapping[str, Any]) -> Any:
    """Return `num_labels`, else the length of `id2label`, as in transformers; `...` if neither is given."""
    labels = raw.get("id2label")
    return raw.get("num_labels", len(labels) if isinstance(labels, Mapping) else ...)


def label_fault(raw: Mapping[str, Any]) -> Fault | None:
    """Return the reason that transformers refuses a config's labels or their number, if it does."""
    labels, count = raw.get("id2label"), count_labels(raw)
    if labels is not None and not isinstance(labels, Mapping):
        help_ = 'write the labels by their numbers, e.g. {"0": "no", "1": "yes"}'
        return "id2label", f"must be a mapping, not {describe(labels)}", help_
    kind = type(value_of(count))
    if count is not ... and not (issubclass(kind, int) and kind is not bool and 0 <= count <= 10**9):
        message = f"must be an integer from 0 to 1,000,000,000, not {describe(count)}"
        return "num_labels", message, "set num_labels to the number of classes, e.g. 2"
    if count == 1 and raw.get("problem_type") == "single_label_classification":
        help_ = "raise num_labels to at least 2, or remove problem_type"
        return "problem_type", "single_label_classification needs more than one label", help_
    return None


def layer_faults(
    field: Field, given: Mapping[Any, Any], spec: Spec, shared: Callable[[str], Any], layers: int
) -> Iterator[str]:
    """Yield the invalid entries of `per_layer_config`; ``shared`` returns a field's value for all layers."""
    for index, fields in given.items():
        if not (str(index).isascii() and str(index).isdecimal()) or int(index) >= layers:
            yield f"{short_repr(index)} is not an index of {value_of(layers)} layers"
            continue
        if not isinstance(fields, Mapping):
            yield f"layer {index}: {describe(fields)} is not a mapping"
            continue
        for name, value in fields.items():
            known = spec.fields.get(name)
            if name not in (field.of_layers or ()):
                if value != shared(name):  # a layer may repeat the value of all layers
                    yield f"layer {index}: the spec does not support a {name} that differs between layers"
            elif known and (fault := value_fault(known, known.types or ("int",), value)):
                yield f"layer {index}: {name} {fault}"
