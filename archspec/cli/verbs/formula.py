"""`archspec formula`: the closed form of a quantity, arranged as asked, with everything that it relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from archspec.cli.arguments import add_model, load_model, loaded, print_json
from archspec.errors import FormulaError
from archspec.quantities import QUANTITIES
from archspec.terminal import table

if TYPE_CHECKING:
    import argparse

    from archspec.models.formula import Formula
    from archspec.render.arrangements import Part
    from archspec.render.notation import Glyph

FORMATS = ("text", "unicode", "latex", "mathml", "markdown", "python", "c", "sql")
ARRANGEMENTS = ("repetition", "component", "module", "layer", "polynomial")
_QUANTITY_HELP = f"one of {', '.join(QUANTITIES)} (default: params)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser, "ARCH|CONFIG")
    add_quantity(parser)
    parser.add_argument(
        "--format",
        default="unicode",
        choices=FORMATS,
        help="what the formula is written in (default: unicode)",
    )
    parser.add_argument(
        "--by",
        default="repetition",
        choices=ARRANGEMENTS,
        help="how its terms are grouped (default: repetition)",
    )
    parser.add_argument(
        "--depth", type=int, default=1, metavar="N", help="with --by module: how many levels (default: 1)"
    )
    parser.add_argument("--collect", metavar="FIELD", help="by powers of one field")
    parser.add_argument(
        "--leading",
        nargs="?",
        const="",
        metavar="FIELDS",
        help="only the terms of highest order in width and depth, or in these fields",
    )
    parser.add_argument(
        "--table", choices=("latex", "markdown"), help="a table of the parts: formula, value, share"
    )
    parser.add_argument(
        "--piecewise", action="store_true", help="a case for each combination of the yes/no flags that matter"
    )
    parser.add_argument(
        "--notation", metavar="FILE", help="symbols of your own, in the form of formulas/notation.yaml"
    )
    parser.add_argument(
        "--symbol",
        metavar="FIELD=LATEX",
        action="append",
        default=[],
        help="one symbol of your own, e.g. hidden_size=h",
    )


def add_quantity(parser: argparse.ArgumentParser) -> None:
    """`--quantity` and `--assume`, which all verbs that give formulas share."""
    parser.add_argument("--quantity", default="params", metavar="NAME", help=_QUANTITY_HELP)
    parser.add_argument("--dtype", metavar="NAME", help="count bytes at this dtype instead, e.g. bfloat16")
    parser.add_argument(
        "--assume",
        metavar="FIELD=EXPRESSION",
        action="append",
        default=[],
        help="replace a field, e.g. intermediate_size=4*hidden_size",
    )


def chosen_formula(args: argparse.Namespace) -> Formula:
    """The formula that the options choose."""
    from archspec.render.arrangements import assume

    formula = assume(load_model(args).quantity(args.quantity), args.assume)
    return formula.in_bytes(args.dtype) if args.dtype else formula


def run(args: argparse.Namespace) -> int:
    formula, own = chosen_formula(args), _notation(args)
    if args.piecewise:
        return _piecewise(args, formula, own)
    parts = arranged(formula, args)
    if args.table:
        print(tabled(formula, parts, args.table, own))
    elif args.json:
        listed = [
            {"part": part.label, "expression": str(part.expr), "value": int(formula.number(part.expr))}
            for part in parts
        ]
        print_json({**plain(formula, own), "parts": listed})
    elif args.format in ("text", "unicode"):
        _explain(formula, parts, args, own)
    else:
        print("\n".join(_labelled(part, written(formula, args.format, own, _terms(part))) for part in parts))
    return 0


def arranged(formula: Formula, args: argparse.Namespace) -> list[Part]:
    """The parts that `--by`, `--collect` and `--leading` ask for."""
    from archspec.render import arrangements as forms
    from archspec.render import printers as render

    if args.collect:
        return forms.collected(formula, args.collect)
    if args.leading is not None:
        kept = forms.leading(formula, [name.strip() for name in args.leading.split(",") if name.strip()])
        return [forms.Part("", kept.expr)]
    if args.by == "module":
        return forms.by_module(formula, max(1, args.depth))
    choices = {"component": forms.by_component, "layer": forms.per_layer, "polynomial": forms.polynomial}
    return (
        choices[args.by](formula)
        if args.by in choices
        else [forms.Part("", formula.expr, tuple(render.arranged(formula)))]
    )


def _terms(part: Part) -> list[Any] | None:
    from archspec.render.printers import ordered

    if part.terms or part.expr is None:
        return list(part.terms) or None
    return ordered(part.expr) if part.expr.is_Add else [part.expr]


def _labelled(part: Part, text: str) -> str:
    return f"{part.label}: {text}" if part.label else text


def written(
    formula: Formula, form: str, own: dict[str, Glyph] | None = None, terms: list[Any] | None = None
) -> str:
    """The formula alone, in one of :data:`FORMATS`."""
    from archspec.render import printers as render

    if form in ("text", "unicode"):
        return render.text(formula, form == "unicode", own, terms)
    if form in ("latex", "markdown"):
        latex = render.latex(formula, own, terms)
        return latex if form == "latex" else f"${latex}$"
    if form == "mathml":
        return render.mathml(formula, own, terms)
    if form not in FORMATS:
        raise FormulaError(f"{form} is not a form; there are {', '.join(FORMATS)}")
    return render.code(formula, form, terms)


def tabled(formula: Formula, parts: list[Part], form: str, own: dict[str, Glyph] | None) -> str:
    """A table of the parts with formula, value at the config and share, in LaTeX (booktabs) or Markdown."""
    from archspec.render.arrangements import by_component

    parts = parts if any(part.label for part in parts) else by_component(formula)
    total = formula.evaluate()
    rows = []
    for part in parts:
        value = int(formula.number(part.expr))
        rows.append(
            (
                part.label,
                written(formula, "latex", own, _terms(part)),
                f"{value:,}",
                f"{value / max(1, total):.2%}",
            )
        )
    rows.append(("total", "", f"{total:,}", "100.00%"))
    if form == "markdown":
        lines = ["| component | formula | value | share |", "| --- | --- | ---: | ---: |"]
        return "\n".join([*lines, *(f"| {a} | {f'${b}$' if b else ''} | {c} | {d} |" for a, b, c, d in rows)])
    body = [
        " & ".join((_escaped(a), f"${b}$" if b else "", c, d.replace("%", r"\%"))) + r" \\"
        for a, b, c, d in rows
    ]
    head = [r"\begin{tabular}{llrr}", r"\toprule", r"component & formula & value & share \\", r"\midrule"]
    return "\n".join([*head, *body[:-1], r"\midrule", body[-1], r"\bottomrule", r"\end{tabular}"])


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "_{}#%&" else c for c in text)


def _notation(args: argparse.Namespace) -> dict[str, Glyph]:
    from archspec.render.notation import Glyph, read

    own = read(args.notation) if args.notation else {}
    for text in args.symbol:
        field, equals, latex = text.partition("=")
        if not equals or not field.strip() or not latex.strip():
            raise FormulaError(f"--symbol {text}: write FIELD=LATEX, e.g. hidden_size=h")
        plain_text = "".join(c if c.isalnum() or c == "_" else "" for c in latex)
        own[field.strip()] = Glyph(plain_text or field.strip(), latex.strip(), "")
    return own


def plain(formula: Formula, own: dict[str, Glyph] | None = None) -> dict[str, Any]:
    """The formula in every form and all that it relies on, as `--json` prints it."""
    from archspec.render.printers import glyphs

    symbols = glyphs(formula, own)
    return {
        "architecture": formula.architecture,
        "model_type": formula.model_type,
        "quantity": formula.quantity,
        "value": formula.evaluate(),
        **{form: written(formula, form, own) for form in FORMATS},
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


def _explain(formula: Formula, parts: list[Part], args: argparse.Namespace, own: dict[str, Glyph]) -> None:
    from archspec.render.arrangements import leading
    from archspec.render.printers import glyphs

    for part in parts:
        name = part.label or f"{formula.quantity_name} of {formula.architecture}"
        print(
            f"{name} {'≈' if args.leading is not None else '='} {written(formula, args.format, own, _terms(part))}"
        )
    print(f"= {formula.evaluate():,} at the values below")
    print()
    symbols = glyphs(formula, own)
    rows = [
        (symbols[name].text, name, str(value), symbols[name].meaning)
        for name, value in formula.symbols.items()
    ]
    table("symbol|field|>value|meaning", rows)
    said = [f"{name} is the {text}" for name, text in formula.definitions.items()]
    if args.leading is not None:
        left = leading(formula, [name.strip() for name in args.leading.split(",") if name.strip()])
        said.append(
            f"dropped: {left.dropped}, which is {left.dropped_value:,} ({left.dropped_share:.2%}) here"
        )
    if formula.assumptions:
        said.append(f"it holds for {'; '.join(formula.assumptions)}")
    for name in formula.unused:
        said.append(f"{name} does not enter the count")
    if said:
        print()
    for line in said:
        print(f"note: {line}")


def _piecewise(args: argparse.Namespace, formula: Formula, own: dict[str, Glyph]) -> int:
    from archspec.render.arrangements import assume, piecewise

    def rebuild(flags: dict[str, Any]) -> Formula:
        settings = [*args.set, *(f"{name}={str(value).lower()}" for name, value in flags.items())]
        return assume(loaded(args.model, args.architecture, settings).quantity(args.quantity), args.assume)

    cases = piecewise(formula, rebuild)
    if args.json:
        print_json(
            [
                {"flags": flags, "expression": str(case.expr), "value": case.evaluate()}
                for flags, case in cases
            ]
        )
        return 0
    if args.format == "latex":
        rows = [
            f"{written(case, 'latex', own)} & "
            + (r" \land ".join(_latex_flag(n, v) for n, v in flags.items()) or r"\text{always}")
            for flags, case in cases
        ]
        print("\\begin{cases}\n" + " \\\\\n".join(rows) + "\n\\end{cases}")
        return 0
    for flags, case in cases:
        held = ", ".join(f"{name} = {str(value).lower()}" for name, value in flags.items()) or "always"
        print(f"{held}: {written(case, args.format, own)}")
    return 0


def _latex_flag(name: str, value: bool) -> str:
    return f"{'' if value else chr(92) + 'lnot '}\\mathrm{{{_escaped(name)}}}"
