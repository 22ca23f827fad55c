"""The JSON Schemas of what verbs print with `--json`: a file a verb. A `$id` ends in the schema's version."""

from __future__ import annotations

import json
import os

from archspec.arguments import checked
from archspec.errors import ArchspecError, did_you_mean
from archspec.typing_light import Any

_FOLDER = os.path.dirname(os.path.abspath(__file__))


@checked()
def schema(verb: str) -> dict[str, Any]:
    """The JSON Schema of what a verb prints with `--json`, and its report's `as_json()` gives.

    The version, at the end of `$id`, is another one where a document that was valid no longer is, or where
    what a key says has changed.

    Errors: :class:`ArchspecError` for what is no verb, or prints no JSON.

    >>> import archspec
    >>> archspec.schema("count")["$id"], archspec.schema("count")["properties"]["params"]["description"]
    ('urn:archspec:count:1', 'unique parameters, tied ones once')
    """
    found: dict[str, Any] = json.loads(text(verb))
    return found


def text(verb: str) -> str:
    """The schema as `archspec VERB --json-schema` prints it. Errors: as of :func:`schema`."""
    known = {name.removesuffix(".json") for name in os.listdir(_FOLDER) if name.endswith(".json")}
    if verb not in known:
        raise ArchspecError(f"{verb}: no verb that prints JSON", help=did_you_mean(verb, known))
    with open(os.path.join(_FOLDER, f"{verb}.json"), encoding="utf-8") as file:
        return file.read()
