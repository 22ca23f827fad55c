"""Writes web/src/generated.ts: the page's types, forms and lists, from the tables and the JSON Schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from archspec.schemas import schema
from archspec.tables.axes import axes_of
from archspec.tables.items import ITEMS
from archspec.tables.option import Option
from archspec.tables.options import options_of
from archspec.tables.quantities import QUANTITIES
from tools.signatures import parameters

PATH = Path(__file__).parent.parent / "web" / "src" / "generated.ts"
_HEAD = """/** Written by `python -m tools.release` from archspec/tables/: edit these. */
import type { Whole } from "./numbers";
"""
_TYPES = {
    "Sequence[Any]": "string[]",
    "int": "number",
    "float": "number",
    "str": "string",
    "bool": "boolean",
    "None": "null",
}
_SHOWN_ALONE = ("modules", "tied")  # of a count: the page draws them from the tree


def page_tables() -> str:
    """Return the text of generated.ts."""
    groups = next(option.choices for option in options_of("formula") if option.name == "by")
    axes = [{"name": name, "help": one.help, "usual": one.usual} for name, one in axes_of("memory").items()]
    quantities = [{"name": name, "title": one.title, "help": one.help} for name, one in QUANTITIES.items()]
    budgets = [
        {"name": option.name, "help": option.help}
        for option in options_of("solve")
        if option.type == "str | float | None" and option.name != "tokens"
    ]
    counts = [(name, one) for name, one in schema("count")["properties"].items() if name not in _SHOWN_ALONE]
    rows = "\n".join(f"  /** {one['description']} */\n  {name}: {_type(one)};" for name, one in counts)
    training = [
        one for one in parameters("training") if one.name not in (*axes_of("training"), *ITEMS, "freeze")
    ]
    lines = [
        _HEAD,
        f"export interface Counts {{\n{rows}\n}}\n",
        *_form("Call", "CALL", parameters("memory", is_method=True)),
        *_form("Training", "TRAINING", training),
        "export interface Axis { name: keyof Call & string; help: string; usual: string }",
        f"export const AXES: Axis[] = {_json(axes)};",
        "export interface Quantity { name: keyof Counts; title: string; help: string }",
        f"export const QUANTITIES: Quantity[] = {_json(quantities)};",
        f"export const BUDGETS: {{ name: string; help: string }}[] = {_json(budgets)};",
        f"export const GROUPS = {_json(groups)} as const;\n",
    ]
    return "\n".join(lines)


def _form(name: str, constant: str, options: list[Option]) -> list[str]:
    """Return a type with a key for each option, and a constant with the defaults."""
    types = {one.name: " | ".join(_TYPES[kind] for kind in one.type.split(" | ")) for one in options}
    fields = "; ".join(f"{field}: {kind}" for field, kind in types.items())
    defaults = _json({one.name: one.default for one in options})
    return [f"export interface {name} {{ {fields} }}", f"export const {constant}: {name} = {defaults};\n"]


def _type(one: dict[str, Any]) -> str:
    """Return the TypeScript type of a value with this schema."""
    types = one["type"] if isinstance(one["type"], list) else [one["type"]]
    known = {"integer": "Whole", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}
    return " | ".join(f"{_type(one['items'])}[]" if name == "array" else known[name] for name in types)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
