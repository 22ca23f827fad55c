"""The JSON Schemas of closed forms and of their derivatives."""

from __future__ import annotations

from archspec.schemas.build import (
    Schema,
    array,
    integer,
    mapping,
    model,
    nullable,
    number,
    record,
    text,
    texts,
)

_QUANTITY = text("the quantity, as --quantity names it")
_WRITTEN = {
    "text": "ASCII with the usual symbols",
    "unicode": "text with · and powers, with the usual symbols",
    "latex": "LaTeX without delimiters",
    "mathml": "presentation MathML",
    "markdown": "LaTeX between dollar signs",
    "python": "a Python expression over the inputs; it raises ValueError if a condition does not hold",
    "c": "a C function of the inputs; it sets *result_ to a 128-bit number and returns 0, or an error code: "
    "1 if a condition does not hold, 2 for an overflow",
    "sql": "a DuckDB expression over the inputs; it is NULL if a condition does not hold",
    "spark": "a Spark SQL expression over the inputs; it is NULL if a condition does not hold",
}


def formula() -> Schema:
    """Return the schema of `archspec formula --json`, with and without --piecewise."""
    about = (
        "The closed form of a quantity in every format; with --piecewise, one case per combination of flags."
    )
    return {"description": about, "oneOf": [_formula(), _piecewise()]}


def _formula() -> Schema:
    symbol = {
        "field": text("the field, of a sub-config by its path, or the name of a number of layers"),
        "symbol": text("its symbol in text"),
        "latex": text("its symbol in LaTeX"),
        "meaning": text("its meaning, or empty"),
        "value": number("its value in the config"),
    }
    source = {"name": text("the field as an identifier"), "value": {"description": "its value in the config"}}
    part = {
        "part": text("its label, empty for the whole"),
        "expression": text("in Python's syntax, over the fields"),
        "value": integer("its value at the config", None),
    }
    leading = {
        "expression": text("the dominant terms, in Python's syntax"),
        "value": number("the value of the dominant terms at the config"),
        "growing": texts("the fields that grow"),
        "dropped": text("the dropped terms, in Python's syntax"),
        "dropped_value": number("the value of the dropped terms at the config"),
        "dropped_share": number("the share of the dropped terms"),
    }
    flags = "flags that the config decides: booleans, strings, nulls, lengths of lists"
    return record(
        "one closed form",
        {
            **model(),
            "quantity": _QUANTITY,
            "value": integer("the value at the config; in bytes with --dtype", None),
            **{name: text(help_) for name, help_ in _WRITTEN.items()},
            "symbols": array("every symbol of the expression", record("a symbol", symbol)),
            "inputs": array("the fields that the code reads", record("a field", source)),
            "conditions": texts("conditions of the formula, as Python expressions over the inputs"),
            "definitions": mapping("the meaning of symbols without a field", {"type": "string"}),
            "flags": {"type": "object", "description": flags},
            "assumptions": texts("conditions of the formula, in words"),
            "unused": texts("numeric fields that do not enter the formula"),
            "leading": record("the dominant terms; with --leading only", leading),
            "parts": array("the parts that --by, --collect or --leading choose", record("a part", part), 1),
        },
        optional=("leading",),
    )


def _piecewise() -> Schema:
    case = {
        "flags": mapping("the flags of the case", {"type": "boolean"}),
        "expression": text("the closed form in Python's syntax, over the fields"),
        "value": integer("its value at the config with these flags", None),
    }
    cases = array("one case per combination of the boolean fields that matter", record("a case", case), 1)
    return record("a closed form in cases", {**model(), "quantity": _QUANTITY, "cases": cases})


def sensitivity() -> Schema:
    """Return the schema of `archspec sensitivity --json`."""
    field = {
        "field": text("the field, of a sub-config by its path"),
        "value": number("its value in the config"),
        "step": nullable(
            integer("the exact change for an increase of `by`; null if no increase up to 128 is valid", None)
        ),
        "by": nullable(integer("the smallest valid increase of the field", None)),
        "derivative": nullable(number("the partial derivative, roundings ignored; null for none")),
        "elasticity": nullable(number("the per cent that one per cent more adds")),
    }
    return record(
        "Derivatives of a quantity with respect to each field; `archspec.Model.sensitivity().as_json()`.",
        {
            **model(),
            "quantity": _QUANTITY,
            "value": integer("the value at the config; in bytes with --dtype", None),
            "fields": array("every field that enters, the most elastic first", record("a field", field)),
            "branch": texts("the conditions under which the derivatives hold"),
            "unused": texts("numeric fields that do not enter the formula"),
        },
    )
