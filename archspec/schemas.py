"""The JSON Schemas of `--json`, built from the facts of reports."""

from __future__ import annotations

import json
import re
from importlib import import_module

from archspec.arguments import check_arguments
from archspec.errors import ArchspecError, did_you_mean
from archspec.models.report import Fact, Record, facts_of, record_named
from archspec.tables.verbs import VERBS
from archspec.typing_light import Any

VERSION = 3  # ends every `$id`; it changes if a valid document becomes invalid, or a key gets another meaning
_RECORDS = {  # verb -> modules and records; several for documents of several kinds
    "count": "archspec.models.counts:Counts",
    "tree": "archspec.models.tree:Module",
    "tensors": "archspec.models.tree:Tensors,FileTensors",
    "formula": "archspec.models.parts:WrittenFormula,Piecewise",
    "flops": "archspec.models.calls:Flops",
    "cache": "archspec.models.calls:Cache",
    "memory": "archspec.models.memory:Memory,Training",
    "lora": "archspec.models.adapters.lora:Adapter archspec.models.adapters.memory:AdapterMemory",
    "sensitivity": "archspec.models.fields:Sensitivities",
    "diff": "archspec.compare.diff:Diff",
    "table": "archspec.compare.table:ModelTable",
    "solve": "archspec.solving.solutions:Solutions",
    "check": "archspec.checking.check:Check",
    "list": "archspec.models.catalog:Catalog",
    "verify": "archspec.authoring.verify:Verification",
    "derive": "archspec.authoring.derive:Derived",
    "lint": "archspec.linting.files:Lint",
}
_TYPES = {"int": "integer", "float": "number", "str": "string", "bool": "boolean", "None": "null"}
_TYPES |= {"list": "array", "dict": "object"}
_POINT = {  # a line of a sweep
    "type": "object",
    "minProperties": 2,
    "description": "One point of the grid; a sweep prints one document per line, as `archspec.Sweep.rows()` "
    "gives them. Keys are the swept fields, the tied fields and the columns.",
    "additionalProperties": {
        "type": [name for name in _TYPES.values() if name != "object"],
        "description": "the value of a field or a column at this point",
    },
}


@check_arguments
def schema(verb: str) -> dict[str, Any]:
    """Return the JSON Schema of a command's `--json`, and of its report's `as_json()`.

    Errors: :class:`ArchspecError` for an unknown command.

    >>> import archspec
    >>> archspec.schema("count")["$id"], archspec.schema("count")["properties"]["buffers"]["description"]
    ('urn:archspec:count:3', 'elements of persistent buffers')
    """
    if verb not in VERBS:
        help_ = did_you_mean(verb, VERBS) or f"choose {', '.join(VERBS)}"
        raise ArchspecError(f"unknown command {verb!r}", help=help_)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:archspec:{verb}:{VERSION}",
        "title": f"archspec {verb} --json",
    }
    return {**head, **(_POINT if verb == "sweep" else _document(verb))}


def text(verb: str) -> str:
    """Return the schema as `archspec VERB --json-schema` prints it."""
    return json.dumps(schema(verb), indent=2, ensure_ascii=False) + "\n"


def _document(verb: str) -> dict[str, Any]:
    parts = (one.partition(":") for one in _RECORDS[verb].split())
    records = [getattr(import_module(one), name) for one, _, names in parts for name in names.split(",")]
    builder = _Builder(records[0] if len(records) == 1 else None)
    found = [builder.record(one) for one in records]
    whole = {"description": VERBS[verb].help, "oneOf": found} if len(found) > 1 else found[0]
    return {**whole, "$defs": builder.definitions} if builder.definitions else whole


class _Builder:
    """Builds the schema of a record; records in it are definitions, so that they may contain themselves."""

    def __init__(self, root: type[Record] | None) -> None:
        self.root, self.definitions = root, dict[str, Any]()

    def record(self, record: type[Record]) -> dict[str, Any]:
        """Return the schema of an object."""
        optional = [name for name, one in facts_of(record).items() if one.options["optional"]]
        found: dict[str, Any] = {
            "type": "object",
            "description": re.sub(r":\w+:(`[^`]+`)", r"\1", (record.__doc__ or "").partition("\n")[0]),
            "required": [name for name in facts_of(record) if name not in optional],
            "additionalProperties": False,
            "properties": {name: self._property_schema(one) for name, one in facts_of(record).items()},
        }
        if len(optional) > 1:
            found["dependentRequired"] = {name: [one for one in optional if one != name] for name in optional}
        return found

    def _property_schema(self, one: Fact) -> dict[str, Any]:
        choices, keys, least = (one.options[name] for name in ("choices", "keys", "least"))
        found: dict[str, Any] = {"enum": [*choices]} if choices else self._type(one.kind, one.module, least)
        if keys:
            values = found["additionalProperties"]
            found["properties"] = {name: {**values, "description": help} for name, help in keys.items()}
            found["additionalProperties"] = False
        return {**found, "description": one.help}

    def _type(self, kind: str, module: str, least: int | None = 0) -> dict[str, Any]:
        """Return the schema of a type as it is annotated."""
        if kind == "Any":
            return {}
        if kind.endswith(" | None") and kind.count(" | ") == 1:
            found = self._type(kind.removesuffix(" | None"), module, least)
            if "type" in found:
                return {**found, "type": [found["type"], "null"]}
            return {"anyOf": [{"type": "null"}, found]}
        if kind.startswith("list["):
            return {"type": "array", **_limit("minItems", least), "items": self._type(kind[5:-1], module)}
        if kind.startswith("dict[str, "):
            values = self._type(kind[10:-1], module)
            return {"type": "object", **_limit("minProperties", least), "additionalProperties": values}
        record = record_named(kind, module)
        if record is None:
            names = [_TYPES[name] for name in kind.split(" | ")]
            limit = {"minimum": least} if least is not None and kind in ("int", "float") else {}
            return {"type": names if len(names) > 1 else names[0], **limit}
        if record is self.root:
            return {"$ref": "#"}
        if record.__name__ not in self.definitions:
            self.definitions[record.__name__] = {}  # it may contain itself
            self.definitions[record.__name__] = self.record(record)
        return {"$ref": f"#/$defs/{record.__name__}"}


def _limit(key: str, least: int | None) -> dict[str, int]:
    return {key: least} if least else {}
