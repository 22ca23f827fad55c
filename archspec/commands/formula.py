"""`archspec formula`: the closed form of a quantity, with everything that it relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from archspec.commands.common import add_model, load_model, print_json
from archspec.errors import FormulaError
from archspec.show import table

if TYPE_CHECKING:
    import argparse

    from archspec.closed_form import Formula

FORMATS = ("text", "unicode", "latex", "mathml", "python", "c", "sql")
_QUANTITY_HELP = "params (default), trainable_params, active_params, embedding_params, non_embedding_params or buffers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser, "ARCH|CONFIG")
    parser.add_argument("--quantity", default="params", metavar="NAME", help=_QUANTITY_HELP)
    parser.add_argument("--format", default="unicode", choices=FORMATS, help="what the formula is written in (default: unicode)")


def run(args: argparse.Namespace) -> int:
    model = load_model(args)
    formula = model.quantity(args.quantity)
    if args.json:
        print_json(plain(formula))
    elif args.format in ("text", "unicode"):
        _explain(formula, written(formula, args.format))
    else:
        print(written(formula, args.format))
    return 0


def written(formula: Formula, form: str) -> str:
    """The formula alone, in one of :data:`FORMATS`."""
    from archspec import render

    if form in ("text", "unicode"):
        return render.text(formula, unicode=form == "unicode")
    if form in ("latex", "mathml"):
        return render.latex(formula) if form == "latex" else render.mathml(formula)
    if form not in FORMATS:
        raise FormulaError(f"{form} is not a form; there are {', '.join(FORMATS)}")
    return render.code(formula, form)


def plain(formula: Formula) -> dict[str, Any]:
    """The formula in every form and all that it relies on, as `--json` prints it."""
    from archspec.render import glyphs

    symbols = glyphs(formula)
    return {
        "architecture": formula.architecture,
        "model_type": formula.model_type,
        "quantity": formula.quantity,
        "value": formula.evaluate(),
        **{form: written(formula, form) for form in FORMATS},
        "symbols": [
            {
                "field": name,
                "symbol": symbols[name].text,
                "latex": symbols[name].latex,
                "meaning": symbols[name].meaning,
                "value": value,
            }
            for name, value in formula.symbols.items()
        ],
        "definitions": formula.definitions,
        "flags": formula.flags,
        "assumptions": formula.assumptions,
        "unused": list(formula.unused),
    }


def _explain(formula: Formula, text: str) -> None:
    from archspec.render import glyphs

    print(f"{formula.quantity} of {formula.architecture} = {text}")
    print(f"= {formula.evaluate():,} at the values below")
    print()
    symbols = glyphs(formula)
    rows = [(symbols[name].text, name, str(value), symbols[name].meaning) for name, value in formula.symbols.items()]
    table("symbol|field|>value|meaning", rows)
    said = [f"{name} is the {text}" for name, text in formula.definitions.items()]
    if formula.assumptions:
        said.append(f"it holds for {'; '.join(formula.assumptions)}")
    for name in formula.unused:
        said.append(f"{name} does not enter the count")
    if said:
        print()
    for line in said:
        print(f"note: {line}")
