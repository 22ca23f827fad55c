"""The JSON Schemas of what verbs print with `--json`, built from the tables of quantities and axes."""

from __future__ import annotations

import json
from importlib import import_module

from archspec.arguments import checked
from archspec.errors import ArchspecError, did_you_mean
from archspec.tables.verbs import VERBS
from archspec.typing_light import Any

VERSION = 2  # ends every `$id`; it changes if a valid document becomes invalid, or a key gets another meaning
_MODULES = {
    **dict.fromkeys(("flops", "cache", "memory"), "costs"),
    **dict.fromkeys(("formula", "sensitivity"), "formulas"),
    **dict.fromkeys(("verify", "derive", "lint"), "specs"),
}


@checked()
def schema(verb: str) -> dict[str, Any]:
    """Return the JSON Schema of what a verb prints with `--json`, and of its report's `as_json()`.

    Raises:
        ArchspecError: for an unknown verb.

    >>> import archspec
    >>> archspec.schema("count")["$id"], archspec.schema("count")["properties"]["buffers"]["description"]
    ('urn:archspec:count:2', 'elements of persistent buffers')
    """
    if verb not in VERBS:
        help_ = did_you_mean(verb, VERBS) or f"choose {', '.join(VERBS)}"
        raise ArchspecError(f"unknown command {verb!r}", help=help_)
    module = import_module(f"archspec.schemas.{_MODULES.get(verb, 'counts')}")
    found = getattr(module, "list_" if verb == "list" else verb)()
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:archspec:{verb}:{VERSION}",
    }
    return {**head, "title": f"archspec {verb} --json", **found}


def text(verb: str) -> str:
    """Return the schema as `archspec VERB --json-schema` prints it."""
    return json.dumps(schema(verb), indent=2, ensure_ascii=False) + "\n"
