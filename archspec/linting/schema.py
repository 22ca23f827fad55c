"""The JSON Schema of spec files, generated from the tables of the parser.

Editors complete and check specs with it. `archspec lint --schema` prints docs/spec.schema.json.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

from archspec.specs.records import KEYS, RESERVED, TYPES
from archspec.specs.torch_layers import LEAVES

Schema = dict[str, Any]

_CLASS = r"^[A-Za-z_][A-Za-z0-9_]*(\(.*\))?$"
_FIELD = r"^[A-Za-z_][A-Za-z0-9_]*$"
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_PART: Schema = {"$ref": "#/definitions/part"}
_EXPRESSION: Schema = {"$ref": "#/definitions/expression"}
_EXPRESSIONS: Schema = {"anyOf": [_EXPRESSION, {"type": "array", "items": _EXPRESSION}]}


def _mapping(values: Schema, names: str | None = None) -> Schema:
    found: Schema = {"type": ["object", "null"], "additionalProperties": values}
    return {**found, "propertyNames": {"pattern": names}} if names else found


_RUNS: Schema = {"anyOf": [_EXPRESSION, _mapping(_EXPRESSION)]}
_FIELDS = _mapping({"$ref": "#/definitions/field"}, _FIELD)
_MODULES = _mapping({"$ref": "#/definitions/module"}, _CLASS)
_VALUES: dict[str, Schema] = {
    "model_type": {"type": "string", "pattern": r"^[A-Za-z0-9_\-]+(\.[A-Za-z0-9_\-]+)*$"},
    "prefix": {"type": "string", "pattern": _FIELD},
    "attribute_map": _mapping(_TEXT, _FIELD),
    "require": _EXPRESSIONS,
    "notes": _mapping(_TEXT),
    "runnable": {
        "anyOf": [_EXPRESSION, {"type": "array", "items": {"anyOf": [_EXPRESSION, _mapping(_EXPRESSION)]}}]
    },
    "max_length": _mapping(_EXPRESSION, "^(tokens|encoder_tokens)$"),
    "keep_in_float32": _mapping(_TEXTS, "^(float16|16-bit|always)$"),
    "former_fields": _mapping({"type": ["string", "null"]}),
    "valid_config": {"type": "object"},
    **dict.fromkeys(("base_model_prefix", "extends", "flat", "refuse"), _TEXT),
    **dict.fromkeys(("uses", "readonly", "drop", "equal_lengths"), _TEXTS),
    **dict.fromkeys(("config", "fixed"), _FIELDS),
    **dict.fromkeys(("modules", "architectures"), _MODULES),
}
_RESERVED: dict[str, tuple[Schema, str]] = {
    "extends": (_TEXT, "a call of the module, or layer, whose attributes come first"),
    "where": (_mapping(_EXPRESSION, _FIELD), "local names, computed when they are first read"),
    "require": (_EXPRESSIONS, "what the constructor enforces"),
    "tied": (_mapping(_TEXT), "target: source, if the config's tie_word_embeddings is true"),
    "alias": (_mapping(_TEXT), "target: source, always: one object under two names"),
    "output_embeddings": (_TEXT, "the path that get_output_embeddings() returns, if not lm_head; or None"),
    "runs": (_mapping(_RUNS), "attribute: on how many positions it works, or the axes of a call inside it"),
    "ops": (_EXPRESSIONS, "contractions: products other than those of the layers"),
    "cache": (
        {"anyOf": [_mapping(_TEXT), {"enum": ["none", "returned"]}]},
        "name: shape of a tensor in the cache",
    ),
    "saves": (_mapping(_EXPRESSION), "attribute, or tensor: bytes that autograd keeps of it"),
}
_FIELD_HELP = "a default, `= expression`, `type = default`, or a type alone where required"


def _constructor(description: str, attributes: Schema) -> Schema:
    """One expression, a list of parts, or a mapping of attributes to parts."""
    parts = {"type": "array", "items": _PART}
    mapping = {"type": "object", **attributes, "additionalProperties": _PART}
    return {"description": description, "anyOf": [{"type": ["string", "null"]}, parts, mapping]}


def spec_schema() -> Schema:
    """Return the schema of spec files, as JSON Schema draft 7.

    >>> sorted(spec_schema()["properties"]) == sorted(KEYS)
    True
    """
    reserved = {name: {**_RESERVED[name][0], "description": _RESERVED[name][1]} for name in RESERVED}
    part = _constructor(f"a constructor expression; layers: {_layers()}", {})
    about = "a module class: attribute -> constructor, in the constructor's order"
    module = _constructor(about, {"properties": reserved})
    scalars = ["string", "number", "boolean"]
    field = {"description": f"{_FIELD_HELP}; types: {', '.join(TYPES)}", "type": [*scalars, "null", "array"]}
    expression = {"description": "Python over the config's field names", "type": scalars}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "archspec spec",
        "description": "One architecture family; the grammar is in docs/spec-grammar.md",
        "type": "object",
        "required": ["model_type"],
        "additionalProperties": False,
        "properties": {key: {**_VALUES[key], "description": text} for key, text in KEYS.items()},
        "definitions": {"expression": expression, "field": field, "part": part, "module": module},
    }


def _layers() -> str:
    """Return the layers with their arguments; of layers without tensors only the names."""
    found = []
    for name, function in LEAVES.items():
        parameters = inspect.signature(function).parameters.values()
        texts = [str(one.replace(annotation=inspect.Parameter.empty)) for one in parameters]
        without_tensors = any(one.kind is one.VAR_KEYWORD for one in parameters)
        found.append(name if without_tensors else f"{name}({', '.join(texts)})")
    return ", ".join(found)


def text() -> str:
    """Return the text of docs/spec.schema.json."""
    return json.dumps(spec_schema(), indent=2) + "\n"
