"""`python -m tools.exported` writes formulas/transformers.json; `--check` only says whether it is stale."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from archspec.language.values import fits, union
from archspec.reference import (
    Refused,
    Unavailable,
    built,
    config_class,
    config_of,
    exported,
    model_class,
    versions,
)
from archspec.specs.exported import ACTIVATIONS, FILE
from archspec.specs.files import folder
from archspec.specs.library import shipped
from archspec.verifying.generate.sampling import Sampler

PATH = os.path.join(folder(), FILE)
_UNKNOWN = "no_such_activation"
_PROBES = ("text", [1.5])  # a wrong value for a field of numbers, and one for a text


def text() -> str:
    """The model types and classes of the transformers that is installed, a model type a line."""
    lines = {
        name: {**line, "activations": [*activations(name, [*line["classes"]])]}
        for name, line in sorted(types().items())
    }
    return written(lines)


def written(lines: dict[str, dict[str, Any]]) -> str:
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(line)}" for name, line in lines.items())
    head = f'"transformers": "{versions()["transformers"]}", "every": {json.dumps(every())}'
    return f'{{{head}, "types": {{\n{rows}\n}}}}\n'


def types() -> dict[str, dict[str, Any]]:
    """Model type -> its classes, and the fields of its config class."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    found: dict[str, dict[str, Any]] = {name: {} for name in CONFIG_MAPPING_NAMES}
    for (model_type, name), listing in exported().items():
        line: dict[str, Any] = {"auto": listing.autos}
        if listing.reads != model_type:
            line["reads"] = listing.reads
        found.setdefault(model_type, {})[name] = line
    return {name: {"classes": classes, "fields": fields(name)} for name, classes in found.items()}


def every() -> dict[str, str]:
    """Return the fields of every config; transformers does not enforce their types."""
    from transformers import PreTrainedConfig

    return dict.fromkeys((field.name for field in dataclasses.fields(PreTrainedConfig)), "any")


def fields(model_type: str) -> dict[str, str]:
    """The fields of a config class that not every config has, its other names for them, and their kinds."""
    try:
        cls = config_class(model_type)
    except Unavailable:
        return {}
    written = {field.name: kind(field.type) for field in dataclasses.fields(cls)}
    names = {**getattr(cls, "attribute_map", {}), **{name: name for name in written}}
    return {
        name: held(model_type, name, written.get(names[name], "any"))
        for name in sorted(names.keys() - every().keys())
    }


def kind(annotation: Any) -> str:
    """Return the declared type of a field as spec files write types; `any` if they cannot."""
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return text if union(text) else "any"


def held(model_type: str, name: str, kind: str) -> str:
    """The kind of a field whose other values transformers refuses; `any` of one that takes them."""
    other = next((value for value in _PROBES if not fits(value, union(kind))), None)
    if other is None:
        return "any"
    with suppress(Unavailable):
        try:
            config_of(model_type, {name: other})
        except Refused:
            return kind
    return "any"


def activations(model_type: str, classes: list[str]) -> Iterator[str]:
    """The fields in which a class of the model type refuses an activation that transformers does not know."""
    described = shipped().load(model_type).architectures if model_type in shipped().model_types() else ()
    for name in (*described, *classes)[:1]:
        with suppress(Refused, Unavailable, AttributeError):
            small, cls = small_config(model_type), model_class(name, model_type)
            config = config_of(model_type, small)
            built(cls, config)
            for field in dataclasses.fields(config):
                value = vars(config).get(field.name)
                if (
                    isinstance(value, str)
                    and value.removeprefix("gated-") in ACTIVATIONS  # as T5 writes them
                    and refuses(cls, model_type, small, field.name)
                ):
                    yield field.name


def small_config(model_type: str) -> dict[str, Any]:
    """The default config, with few layers if a spec says how and transformers accepts them."""
    if model_type not in shipped().model_types():
        return {}
    small = Sampler(shipped().load(model_type), 0).fresh(0)
    try:
        config_of(model_type, small)
    except Refused:
        return {}
    return small


def refuses(cls: Any, model_type: str, raw: dict[str, Any], field: str) -> bool:
    """Return True if a class fails to look up the activation that a field names."""
    try:
        built(cls, config_of(model_type, {**raw, field: _UNKNOWN}))
    except Refused as error:
        return "KeyError" in str(error) and _UNKNOWN in str(error)
    except Unavailable:
        return False
    return False


def stale() -> bool:
    """Return True if the file has other classes or fields than the installed transformers."""
    with open(PATH, encoding="utf-8") as file:
        recorded = json.load(file)
    kept = {
        name: {key: line[key] for key in ("classes", "fields")} for name, line in recorded["types"].items()
    }
    return bool(kept != json.loads(json.dumps(types())) or recorded["every"] != every())


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        return int(stale())
    fresh = text()
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
