"""What `archspec formula --json` prints: a closed form in every format, or in cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from archspec.models.parts import FormulaPart, LeadingTerms
from archspec.models.report import Record, fact

_FORMATS = {
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


class Symbol(Record):
    """a symbol"""

    field: str = fact("the field, of a sub-config by its path, or the name of a number of layers")
    symbol: str = fact("its symbol in text")
    latex: str = fact("its symbol in LaTeX")
    meaning: str = fact("its meaning, or empty")
    value: int | float = fact("its value in the config", least=None)


class Input(Record):
    """a field"""

    name: str = fact("the field as an identifier", lambda item: item[0])
    value: Any = fact("its value in the config", lambda item: item[1])


class Written(NamedTuple):
    """A formula with its text by format, and its symbols."""

    formula: Any
    formats: dict[str, str]
    symbols: list[dict[str, Any]]


def _text(name: str) -> Callable[[Written], str]:
    return lambda one: one.formats[name]


class WrittenFormula(Record):
    """one closed form"""

    architecture: str = fact("the class that is counted", lambda one: one.formula.architecture)
    model_type: str = fact("transformers' model type", lambda one: one.formula.model_type)
    quantity: str = fact("the quantity, as --quantity names it", lambda one: one.formula.quantity)
    value: int = fact("the value at the config; in bytes with --dtype", lambda one: one.formula.evaluate(),
                      least=None)  # fmt: skip
    _formats = {  # noqa: RUF012
        name: fact(help, _text(name), kind="str") for name, help in _FORMATS.items()
    }
    symbols: list[Symbol] = fact("every symbol of the expression")
    inputs: list[Input] = fact("the fields that the code reads", lambda one: one.formula.inputs.items())
    conditions: list[str] = fact(
        "conditions of the formula, as Python expressions over the inputs", lambda one: one.formula.checks
    )
    definitions: dict[str, str] = fact(
        "the meaning of symbols without a field", lambda one: one.formula.definitions
    )
    flags: dict[str, Any] = fact(
        "flags that the config decides: booleans, strings, nulls, lengths of lists",
        lambda one: one.formula.flags,
    )
    assumptions: list[str] = fact("conditions of the formula, in words", lambda one: one.formula.assumptions)
    unused: list[str] = fact("numeric fields that do not enter the formula", lambda one: one.formula.unused)
    leading: LeadingTerms = fact("the dominant terms; with --leading only", lambda one: None, optional=True)
    parts: list[FormulaPart] = fact(
        "the parts that --by, --collect or --leading choose", lambda one: one.formula.by().parts, least=1
    )


class Case(Record):
    """a case"""

    flags: dict[str, bool] = fact("the flags of the case", lambda case: case[0])
    expression: str = fact(
        "the closed form in Python's syntax, over the fields", lambda case: str(case[1].expr)
    )
    value: int = fact("its value at the config with these flags", lambda case: case[1].evaluate(), least=None)


class Piecewise(Record):
    """a closed form in cases"""

    architecture: str = fact("the class that is counted")
    model_type: str = fact("transformers' model type")
    quantity: str = fact("the quantity, as --quantity names it")
    cases: list[Case] = fact("one case per combination of the boolean fields that matter",
                             lambda formula: formula.piecewise(), least=1)  # fmt: skip
