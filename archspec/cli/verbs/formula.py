"""`archspec formula`: the closed form of a quantity, arranged as asked, with everything that it relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from archspec.cli.arguments import add_model, add_repeated, load_model, loaded, print_json
from archspec.errors import FormulaError
from archspec.quantities import QUANTITIES
from archspec.render.notation import FORMATS, Glyph, read
from archspec.terminal import table

if TYPE_CHECKING:
    import argparse

    from archspec.models.formula import Formula
    from archspec.render.arrangements import Part

ARRANGEMENTS = ("repetition", "component", "module", "layer", "polynomial")
_QUANTITY_HELP = f"one of {', '.join(QUANTITIES)} (default: params)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_model(parser, "ARCH|CONFIG")
    add_quantity(parser)
    about_format = "what the formula is written in (default: unicode)"
    add("--format", default="unicode", choices=FORMATS, help=about_format)
    about_by = "how its terms are grouped (default: repetition)"
    add("--by", default="repetition", choices=ARRANGEMENTS, help=about_by)
    about_depth = "with --by module: how many levels (default: 1)"
    add("--depth", type=int, default=1, metavar="N", help=about_depth)
    add("--collect", metavar="FIELD", help="by powers of one field")
    about_leading = "only the terms of highest order in width and depth, or in these fields"
    add("--leading", nargs="?", const="", metavar="FIELDS", help=about_leading)
    about_table = "a table of the parts: formula, value, share"
    add("--table", choices=("latex", "markdown"), help=about_table)
    about_piecewise = "a case for each combination of the yes/no flags that matter"
    add("--piecewise", action="store_true", help=about_piecewise)
    about_notation = "symbols of your own, in the form of formulas/notation.yaml"
    add("--notation", metavar="FILE", help=about_notation)
    add_repeated(parser, "--symbol", "FIELD=LATEX", "one symbol of your own, e.g. hidden_size=h")


def add_quantity(parser: argparse.ArgumentParser) -> None:
    """`--quantity` and `--assume`, which all verbs that give formulas share."""
    parser.add_argument("--quantity", default="params", metavar="NAME", help=_QUANTITY_HELP)
    parser.add_argument("--dtype", metavar="NAME", help="count bytes at this dtype instead, e.g. bfloat16")
    about_assume = "replace a field, e.g. intermediate_size=4*hidden_size"
    add_repeated(parser, "--assume", "FIELD=EXPRESSION", about_assume)


def chosen_formula(args: argparse.Namespace) -> Formula:
    """The formula that the options choose."""
    from archspec.render.assumptions import assume

    formula = assume(load_model(args).quantity(args.quantity), args.assume)
    return formula.in_bytes(args.dtype) if args.dtype else formula


def run(args: argparse.Namespace) -> int:
    from archspec.render.formats import tabled, written_part

    formula, own = chosen_formula(args), _notation(args)
    if args.piecewise:
        return _piecewise(args, formula, own)
    parts = chosen_parts(formula, args)
    if args.table:
        print(tabled(formula, parts, args.table, own))
    elif args.json:
        values = [(part, int(formula.number(part.expr))) for part in parts]
        listed = [{"part": p.label, "expression": str(p.expr), "value": value} for p, value in values]
        print_json({**as_json(formula, own), "parts": listed})
    elif args.format in ("text", "unicode"):
        _explain(formula, parts, args, own)
    else:
        for part in parts:
            label = f"{part.label}: " if part.label else ""
            print(label + written_part(formula, part, args.format, own))
    return 0


def chosen_parts(formula: Formula, args: argparse.Namespace) -> list[Part]:
    """The parts that `--by`, `--collect` and `--leading` ask for."""
    from archspec.render import arrangements
    from archspec.render.growth import leading

    if args.collect:
        return arrangements.collected(formula, args.collect)
    if args.leading is not None:
        return [arrangements.Part("", leading(formula, _fields(args.leading)).expr)]
    if args.by == "module":
        return arrangements.by_module(formula, max(1, args.depth))
    parts: list[Part] = getattr(arrangements, f"by_{args.by}")(formula)
    return parts


def _fields(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _notation(args: argparse.Namespace) -> dict[str, Glyph]:
    own = read(args.notation) if args.notation else {}
    for text in args.symbol:
        field, equals, latex = (part.strip() for part in text.partition("="))
        if not equals or not field or not latex:
            raise FormulaError(f"--symbol {text}: write FIELD=LATEX, e.g. hidden_size=h")
        letters = "".join(c if c.isalnum() or c == "_" else "" for c in latex)
        own[field] = Glyph(letters or field, latex, "")
    return own


def as_json(formula: Formula, own: dict[str, Glyph] | None = None) -> dict[str, Any]:
    """The formula in every format and all that it relies on, as `--json` prints it."""
    from archspec.render.formats import glyphs, written

    symbols = glyphs(formula, own)
    listed = []
    for name, value in formula.symbols.items():
        text, latex, meaning = symbols[name]
        listed.append({"field": name, "symbol": text, "latex": latex, "meaning": meaning, "value": value})
    return {
        "architecture": formula.architecture,
        "model_type": formula.model_type,
        "quantity": formula.quantity,
        "value": formula.evaluate(),
        **{form: written(formula, form, own) for form in FORMATS},
        "symbols": listed,
        "definitions": formula.definitions,
        "flags": formula.flags,
        "assumptions": formula.assumptions,
        "unused": list(formula.unused),
    }


def _explain(formula: Formula, parts: list[Part], args: argparse.Namespace, own: dict[str, Glyph]) -> None:
    from archspec.render.formats import glyphs, written_part

    equals = "=" if args.leading is None else "≈"
    for part in parts:
        name = part.label or f"{formula.quantity_name} of {formula.architecture}"
        print(f"{name} {equals} {written_part(formula, part, args.format, own)}")
    print(f"= {formula.evaluate():,} at the values below\n")
    symbols = glyphs(formula, own)
    values = formula.symbols.items()
    rows = [(symbols[name].text, name, str(value), symbols[name].meaning) for name, value in values]
    table("symbol|field|>value|meaning", rows)
    said = _notes(formula, args)
    if said:
        print()
    for line in said:
        print(f"note: {line}")


def _notes(formula: Formula, args: argparse.Namespace) -> list[str]:
    from archspec.render.growth import leading

    said = [f"{name} is the {text}" for name, text in formula.definitions.items()]
    if args.leading is not None:
        left = leading(formula, _fields(args.leading))
        value = f"{left.dropped_value:,} ({left.dropped_share:.2%}) here"
        said.append(f"dropped: {left.dropped}, which is {value}")
    if formula.assumptions:
        said.append(f"it holds for {'; '.join(formula.assumptions)}")
    return [*said, *(f"{name} does not enter the count" for name in formula.unused)]


def _piecewise(args: argparse.Namespace, formula: Formula, own: dict[str, Glyph]) -> int:
    from archspec.render.assumptions import assume, piecewise
    from archspec.render.formats import escaped_latex, written

    def rebuild(flags: dict[str, Any]) -> Formula:
        settings = [*args.set, *(f"{name}={str(value).lower()}" for name, value in flags.items())]
        return assume(loaded(args.model, args.architecture, settings).quantity(args.quantity), args.assume)

    def condition(name: str, value: bool) -> str:
        return f"{'' if value else chr(92) + 'lnot '}\\mathrm{{{escaped_latex(name)}}}"

    cases = piecewise(formula, rebuild)
    if args.json:
        rows = [(flags, str(case.expr), case.evaluate()) for flags, case in cases]
        print_json([dict(zip(("flags", "expression", "value"), row, strict=True)) for row in rows])
    elif args.format == "latex":
        lines = []
        for flags, case in cases:
            conditions = r" \land ".join(condition(name, value) for name, value in flags.items())
            lines.append(written(case, "latex", own) + " & " + (conditions or r"\text{always}"))
        print("\\begin{cases}\n" + " \\\\\n".join(lines) + "\n\\end{cases}")
    else:
        for flags, case in cases:
            held = ", ".join(f"{name} = {str(value).lower()}" for name, value in flags.items())
            print(f"{held or 'always'}: {written(case, args.format, own)}")
    return 0
