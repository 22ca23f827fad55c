"""The JSON Schema of spec files, generated from the tables of the parser.

Editors complete and check specs with it. `archspec lint --schema` prints docs/spec.schema.json.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

from archspec.specs.records import (
    AFTER,
    FLOAT32,
    KEYS,
    MAX_LENGTH,
    MODALITIES,
    MODULE_KEYS,
    TYPES,
    Key,
)
from archspec.specs.torch_layers import LEAVES

Schema = dict[str, Any]
_SCALARS = ["string", "number", "boolean"]
_CLASS = r"^[A-Za-z_][A-Za-z0-9_]*(\(.*\))?$"
_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
_MODALITY = f"^({'|'.join(MODALITIES)})$"
_MODEL_TYPE = r"^[A-Za-z0-9_\-]+(\.[A-Za-z0-9_\-]+)*$"


def _mapping_schema(values: Schema, names: str = "") -> Schema:
    found: Schema = {"type": ["object", "null"], "additionalProperties": values}
    return {**found, "propertyNames": {"pattern": names}} if names else found


def _one_or_more(item: Schema, items: Schema | None = None) -> Schema:
    return {"anyOf": [item, {"type": "array", "items": items or item}]}


def _any_of(*schemas: Schema) -> Schema:
    return {"anyOf": [*schemas]}


def _definition(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


_TEXT: Schema = {"type": "string"}
_EXPRESSION = _definition("expression")
_BY_NAME = _mapping_schema(_EXPRESSION)
_FORMS: dict[str, Schema] = {
    "model_type": {**_TEXT, "pattern": _MODEL_TYPE},
    "name": {**_TEXT, "pattern": _NAME},
    "text": _TEXT,
    "texts": _one_or_more(_TEXT),
    "texts_by_name": _mapping_schema(_TEXT),
    "aliases": _mapping_schema(_TEXT, _NAME),
    "former": _mapping_schema({"type": ["string", "null"]}),
    "expressions": _one_or_more(_EXPRESSION),
    "by_name": _BY_NAME,
    "local": _mapping_schema(_EXPRESSION, _NAME),
    "fields": _mapping_schema(_definition("field"), _NAME),
    "modules": _mapping_schema(_definition("module"), _CLASS),
    "runnable": _one_or_more(_EXPRESSION, _any_of(_EXPRESSION, _BY_NAME)),
    "max_length": _mapping_schema(_EXPRESSION, f"^({'|'.join(MAX_LENGTH)})$"),
    "float32": _mapping_schema(_one_or_more(_TEXT), f"^({'|'.join(FLOAT32)})$"),
    "data": {"type": "object"},
    "modality": {"enum": [*MODALITIES, "text"]},
    "inputs": _any_of({"enum": [*MODALITIES, "text"]}, _mapping_schema(_one_or_more(_TEXT), _MODALITY)),
    "by_modality": _mapping_schema(_EXPRESSION, _MODALITY),
    "by_axis": _mapping_schema(_EXPRESSION, f"^({'|'.join(AFTER)})$"),
    "runs": _mapping_schema(_any_of(_EXPRESSION, _BY_NAME)),
    "cache": _any_of(_mapping_schema(_TEXT), {"enum": ["none", "returned"]}),
}


def _properties(keys: dict[str, Key]) -> Schema:
    return {name: {**_FORMS[key.form], "description": key.meaning} for name, key in keys.items()}


def _constructor(description: str, attributes: Schema) -> Schema:
    """Return the schema of one expression, a list of parts, or a mapping of attributes to parts."""
    mapping = {"type": "object", **attributes, "additionalProperties": _definition("part")}
    parts = {"type": "array", "items": _definition("part")}
    return {"description": description, **_any_of({"type": ["string", "null"]}, parts, mapping)}


def spec_schema() -> Schema:
    """Return the schema of spec files, as JSON Schema draft 7.

    >>> import archspec
    >>> archspec.spec_schema()["$schema"]
    'http://json-schema.org/draft-07/schema#'
    """
    field = "a default, `= expression`, `type = default`, or a type alone where required; types: "
    module = "a module class: attribute -> constructor, in the constructor's order"
    layers = ", ".join(map(_layer, LEAVES))
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "archspec spec",
        "description": "One architecture family; the grammar is in docs/spec-grammar.md",
        "type": "object",
        "required": ["model_type"],
        "additionalProperties": False,
        "properties": _properties(KEYS),
        "definitions": {
            "expression": {"description": "Python over the config's field names", "type": _SCALARS},
            "field": {"description": field + ", ".join(TYPES), "type": [*_SCALARS, "null", "array"]},
            "part": _constructor(f"a constructor expression; layers: {layers}", {}),
            "module": _constructor(module, {"properties": _properties(MODULE_KEYS)}),
        },
    }


def _layer(name: str) -> str:
    """Return a layer with its arguments; of a layer without tensors only the name."""
    parameters = inspect.signature(LEAVES[name]).parameters.values()
    texts = [str(one.replace(annotation=inspect.Parameter.empty)) for one in parameters]
    has_tensors = all(one.kind is not one.VAR_KEYWORD for one in parameters)
    return f"{name}({', '.join(texts)})" if has_tensors else name


def text() -> str:
    """Return the text of docs/spec.schema.json."""
    return json.dumps(spec_schema(), indent=2) + "\n"
