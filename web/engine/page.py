"""What the page asks of archspec: each call takes and gives plain data, by the public interface alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import archspec

CONFIG = "config.json"  # where a pasted text is put, so that problems point into it
OVERRIDE = "override"  # where archspec says that a field was set


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
    return {"counts": found.counts(dtype or None).as_json(), "tree": found.tree.as_json()}


def tensors(source: str) -> Any:
    return [one._asdict() | {"active": float(one.active)} for one in model(source).tensors()]


def fields(source: str) -> Any:
    return model(source).fields.as_json()


def entering(source: str) -> Any:
    """By which names of its fields a count is decided, and which numbers are not among them."""
    found = model(source).formula
    return {"symbols": list(found.symbols), "flags": list(found.flags), "unused": list(found.unused)}


def formula(source: str, asked: dict[str, Any]) -> Any:
    """A formula as `archspec formula` arranges it, with what its options ask for."""
    whole = model(source).quantity(asked["quantity"]).assume(*asked["assume"])
    left = whole.leading(*asked["growing"]) if asked["leading"] else None
    shown = left or whole
    grouped = asked["by"] != "repetition"
    parts = shown.by(asked["by"], asked["depth"])
    text = whole.as_json()
    listed = [
        {"label": one.label, "latex": one.latex(), "value": one.value, "share": one.share} for one in parts
    ]
    return {
        **{name: text[name] for name in ("architecture", "value", "symbols", "definitions")},
        **{name: text[name] for name in ("assumptions", "unused")},
        "latex": shown.latex(),
        "parts": listed if grouped else [],
        "leading": left and {**left.as_json(), "dropped_latex": left.dropped.latex()},
        "copies": {
            "LaTeX": parts.latex() if grouped else shown.latex(env="equation*"),
            "Python": "\n".join(f"{named(one.label or asked['quantity'])} = {one.python()}" for one in parts),
            "Markdown": "\n".join(f"{one.label and f'{one.label}: '}${one.latex()}$  " for one in parts),
        },
    }


def named(label: str) -> str:
    """A part's label as a name of Python."""
    return re.sub(r"\W+", "_", label).strip("_")


CALLS: dict[str, Callable[..., Any]] = {
    "catalogue": catalogue,
    "count": count,
    "tensors": tensors,
    "fields": fields,
    "entering": entering,
    "formula": formula,
}


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
    if place is not None and place.source.name == OVERRIDE:
        found["field"] = place.source.text.partition("=")[0]
    return found
