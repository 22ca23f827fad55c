"""The parts that JSON Schemas are built from: each takes a description, and returns a schema."""

from __future__ import annotations

from archspec.tables.axes import AXES
from archspec.tables.quantities import FORMULAS
from archspec.typing_light import Any

Schema = dict[str, Any]


def integer(help: str, minimum: int | None = 0) -> Schema:
    """Return the schema of an integer; without a minimum it may be negative."""
    return {"type": "integer", **({} if minimum is None else {"minimum": minimum}), "description": help}


def number(help: str, **limits: float) -> Schema:
    """Return the schema of a number."""
    return {"type": "number", **limits, "description": help}


def text(help: str) -> Schema:
    """Return the schema of a string."""
    return {"type": "string", "description": help}


def flag(help: str) -> Schema:
    """Return the schema of true or false."""
    return {"type": "boolean", "description": help}


def choice(help: str, *values: str | int) -> Schema:
    """Return the schema of a closed set of values."""
    return {"enum": [*values], "description": help}


def nullable(schema: Schema) -> Schema:
    """Return a schema that also allows null."""
    if "type" not in schema:
        about = {"description": schema["description"]}
        return {**about, "anyOf": [{"type": "null"}, schema]}
    return {**schema, "type": [schema["type"], "null"]}


def array(help: str, items: Schema, least: int = 0) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", **({"minItems": least} if least else {}), "description": help, "items": items}


def texts(help: str, least: int = 0) -> Schema:
    """Return the schema of a list of strings."""
    return array(help, {"type": "string"}, least)


def sizes(help: str) -> Schema:
    """Return the schema of a shape."""
    return array(help, {"type": "integer", "minimum": 0})


def mapping(help: str, values: Schema, **limits: int) -> Schema:
    """Return the schema of an object with any keys."""
    return {"type": "object", **limits, "description": help, "additionalProperties": values}


def record(help: str, properties: dict[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object with these keys, all of them required except some."""
    return {
        "type": "object",
        "description": help,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
        "properties": properties,
    }


def model(verb: str = "counted") -> dict[str, Schema]:
    """Return the properties that name a model."""
    return {"architecture": text(f"the class that is {verb}"), "model_type": text("transformers' model type")}


def call() -> dict[str, Schema]:
    """Return the properties of a call: the model, and every axis of :data:`archspec.tables.axes.AXES`."""
    return {**model("called"), **{name: integer(axis.help, axis.minimum) for name, axis in AXES.items()}}


def quantities(*names: str) -> dict[str, Schema]:
    """Return the properties of quantities, by their names."""
    return {name: integer(FORMULAS[name].help) for name in names}
