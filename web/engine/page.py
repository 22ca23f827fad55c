"""What the page asks of archspec: each call takes and gives plain data, by the public interface alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import archspec

CONFIG = "config.json"  # where a pasted text is put, so that problems point into it


@lru_cache(maxsize=8)
def model(source: str) -> archspec.Model:
    """The model of a source as the page knows it: `{name or text, architecture, set}` in JSON."""
    asked = json.loads(source)
    config = asked.get("name")
    if config is None:
        config = CONFIG
        with open(CONFIG, "w", encoding="utf-8") as file:
            file.write(asked["text"])
    return archspec.load(config, asked.get("architecture"), asked.get("set") or None)


def catalogue() -> Any:
    return archspec.catalogue().as_json()


def count(source: str, dtype: str | None = None) -> Any:
    """The counts, and the modules down to the last."""
    found = model(source)
    return {"counts": found.counts(dtype).as_json(), "tree": found.tree.as_json()}


def tensors(source: str) -> Any:
    return [one._asdict() | {"active": float(one.active)} for one in model(source).tensors()]


CALLS: dict[str, Callable[..., Any]] = {"catalogue": catalogue, "count": count, "tensors": tensors}


def answer(call: str, arguments: str) -> str:
    """A call's answer in JSON: `{result}`, or `{problems}` for what archspec refuses."""
    try:
        return json.dumps({"result": CALLS[call](*json.loads(arguments))})
    except archspec.ArchspecError as error:
        return json.dumps({"problems": [problem(one) for one in error.problems]})


def problem(one: archspec.Problem) -> dict[str, Any]:
    place = one.place
    found: dict[str, Any] = {"message": one.message, "help": one.help, "path": one.path}
    if place is not None and place.source.name == CONFIG:
        found |= {"line": place.line, "column": place.column, "width": place.width}
    return found
