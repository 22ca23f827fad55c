"""The JSON Schema of spec files, made from the tables that the parser itself reads.

Editors complete and check specs with it. `python -m archspec.lint.schema` prints it; docs/spec.schema.json is that.
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
_EXPRESSION: Schema = {"$ref": "#/definitions/expression"}
_EXPRESSIONS: Schema = {"anyOf": [_EXPRESSION, {"type": "array", "items": _EXPRESSION}]}


def _mapping(values: Schema, names: str | None = None) -> Schema:
    found: Schema = {"type": ["object", "null"], "additionalProperties": values}
    return {**found, "propertyNames": {"pattern": names}} if names else found


_VALUES: dict[str, Schema] = {
    "model_type": {"type": "string", "pattern": r"^[A-Za-z0-9_\-]+$"},
    "prefix": {"type": "string", "pattern": _FIELD},
    "base_model_prefix": _TEXT,
    "extends": _TEXT,
    "uses": _TEXTS,
    "attribute_map": _mapping(_TEXT, _FIELD),
    "config": _mapping({"$ref": "#/definitions/field"}, _FIELD),
    "fixed": _mapping({"$ref": "#/definitions/field"}, _FIELD),
    "readonly": _TEXTS,
    "flat": _TEXT,
    "require": _EXPRESSIONS,
    "modules": _mapping({"$ref": "#/definitions/module"}, _CLASS),
    "architectures": _mapping({"$ref": "#/definitions/module"}, _CLASS),
    "drop": _TEXTS,
    "refuse": _TEXT,
    "notes": _mapping(_TEXT),
}
_RESERVED: dict[str, Schema] = {
    "extends": {**_TEXT, "description": "a call of the module, or layer, whose attributes come first"},
    "where": {
        **_mapping(_EXPRESSION, _FIELD),
        "description": "local names, computed when they are first read",
    },
    "require": {**_EXPRESSIONS, "description": "what the constructor enforces"},
    "tied": {
        **_mapping(_TEXT),
        "description": "target: source, where the config's tie_word_embeddings holds",
    },
    "alias": {**_mapping(_TEXT), "description": "target: source, always: one object under two names"},
    "output_embeddings": {
        **_TEXT,
        "description": "the path that get_output_embeddings() returns, if not lm_head; or None",
    },
}


def spec_schema() -> Schema:
    """The schema, as JSON Schema draft 7.

    >>> sorted(spec_schema()["properties"]) == sorted(KEYS)
    True
    """
    part: Schema = {
        "description": f"a constructor expression; layers: {_layers()}",
        "anyOf": [
            {"type": ["string", "null"]},
            {"type": "array", "items": {"$ref": "#/definitions/part"}},
            {"type": "object", "additionalProperties": {"$ref": "#/definitions/part"}},
        ],
    }
    module: Schema = {
        "description": "a module class: attribute -> constructor, in the constructor's order",
        "anyOf": [
            {"type": ["string", "null"]},
            {"type": "array", "items": {"$ref": "#/definitions/part"}},
            {
                "type": "object",
                "properties": {name: _RESERVED[name] for name in RESERVED},
                "additionalProperties": {"$ref": "#/definitions/part"},
            },
        ],
    }
    field = {
        "description": f"a default, `= expression`, `type = default`, or a type alone where required; types: {', '.join(TYPES)}",
        "type": ["string", "number", "boolean", "null", "array"],
    }
    expression = {
        "description": "Python over the config's field names",
        "type": ["string", "number", "boolean"],
    }
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
    """The layers with their arguments, as the table of layers has them; those without tensors by name alone."""
    shown = []
    for name, function in LEAVES.items():
        parameters = inspect.signature(function).parameters.values()
        plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
        shown.append(
            name if any(p.kind is p.VAR_KEYWORD for p in plain) else f"{name}({', '.join(map(str, plain))})"
        )
    return ", ".join(shown)


def text() -> str:
    """The schema as the text of docs/spec.schema.json."""
    return json.dumps(spec_schema(), indent=2) + "\n"


if __name__ == "__main__":
    print(text(), end="")
