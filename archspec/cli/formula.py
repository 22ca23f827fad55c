"""`archspec formula`: the closed form of a quantity, arranged by the options, with its conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archspec.cli.command_line import Values, combination_error, command_options, require
from archspec.cli.run import load_model, pairs, print_json
from archspec.errors import FormulaError
from archspec.models.fields import unused_notes
from archspec.models.parts import Parts, Piecewise
from archspec.models.report import data_of
from archspec.render import arrangements, formats
from archspec.render.formats import condition_note, format_formula, to_latex
from archspec.render.notation import Glyph, own_glyphs
from archspec.render.printers import LANGUAGES
from archspec.render.programs import program
from archspec.render.tex.document import Layout
from archspec.tables.axes import axes_of
from archspec.tables.items import ITEMS
from archspec.terminal import print_sentence, table

if TYPE_CHECKING:
    from archspec.models.formula import Formula
    from archspec.models.parts import Leading
    from archspec.render.arrangements import Part

_MOST_DROPPED = 6  # terms that a note on dropped terms shows


def formula(args: Values) -> int:  # noqa: PLR0912 - one for each arrangement
    """Print the formula in the format and arrangement that the options choose."""
    _check_options(args)
    layout, form = _layout(args), _chosen_formula(args)
    symbol = next(option for option in command_options("formula") if option.name == "symbol")
    symbols = pairs(symbol, args.symbol)
    own = own_glyphs({**form.symbols, **form.config_values}, args.notation, symbols)
    left = None
    if args.leading is not None:
        left = form.leading_terms(*(name.strip() for name in args.leading.split(",") if name.strip()))
    if layout is not None and left is not None:
        layout = layout._replace(relation=r"\approx", value=left.value)
    if args.piecewise:
        _print_cases(args, form, own, layout)
        return 0
    if args.collect:
        parts = arrangements.collect_powers(form, args.collect)
    else:
        parts = arrangements.arrange(form, args.by, args.depth or 1)
    parts = parts if left is None else left.cut(parts)
    if args.table:
        print(formats.parts_table(form, parts, args.table, own, layout or formats.PLAIN))
    elif args.json:
        approximate = {} if left is None else {"leading": left.as_json()}
        listed = Parts(form, parts).as_json()
        print_json({**form.as_json(args.notation, symbols), **approximate, "parts": listed})
    elif layout is not None:
        note = "" if args.standalone else condition_note(form, "latex")
        print(to_latex(form, parts, own, layout) + note)
    elif args.format in ("text", "unicode"):
        _explain(form, parts, left, args.format, own)
    elif args.format in LANGUAGES:
        print(program(form, args.format, [(part.label, part.terms) for part in parts]))
    else:
        for part in parts:
            label = f"{part.label}: " if part.label else ""
            print(label + format_formula(form, args.format, own, part.terms))
        if note := condition_note(form, args.format):
            print(note.removeprefix("\n"))
    return 0


def _chosen_formula(args: Values) -> Formula:
    model = load_model(args)
    names = [*axes_of("formula"), *ITEMS]
    lengths = {name: getattr(args, name) for name in names if name in args.given}
    form = model.quantity(args.quantity, **lengths).assume(*args.assume)
    return form.in_bytes(args.dtype) if args.dtype else form


def _check_options(args: Values) -> None:
    """Raise an :class:`ArchspecError` for options that have no effect together."""
    if args.collect and "by" in args.given:
        raise combination_error("--collect", "--by")
    if args.table and "by" in args.given and args.by in ("repetition", "polynomial"):
        raise combination_error("--table", f"--by {args.by}")
    require(args, "depth", "--by module", args.by == "module")
    for option in ("notation", "symbol"):
        if option in args.given and args.format in LANGUAGES:
            raise combination_error(f"--{option}", f"--format {args.format}")


def _layout(args: Values) -> Layout | None:
    """Return the layout of LaTeX; None for another format."""
    asked = args.env or args.standalone or args.width is not None
    other = args.json or args.format not in ("unicode", "latex") or (args.table and args.env)
    if asked and (other or args.table == "markdown"):
        message = "--env, --width and --standalone require LaTeX"
        table = f"--table {args.table}" if args.table else f"--format {args.format}"
        raise FormulaError(message, help=f"leave out {'--json' if args.json else table}")
    return Layout(args.env, args.width, args.standalone) if asked or args.format == "latex" else None


def _explain(
    formula: Formula, parts: list[Part], left: Leading | None, format: str, own: dict[str, Glyph]
) -> None:
    """Print the formula, the values of its symbols, and its conditions."""
    is_exact = left is None or left.dropped.expr == 0
    equals = "=" if is_exact else "≈"
    for part in parts:
        name = part.label or f"{formula.quantity_name} of {formula.architecture}"
        print_sentence(f"{name} {equals} {format_formula(formula, format, own, part.terms)}")
    exact = f"{formula.evaluate():,}"
    value = f"= {exact}" if left is None or is_exact else f"≈ {left.value:,}"
    print_sentence(f"{value} at the values below{'' if is_exact else f'; the exact value is {exact}'}\n")
    symbols = formats.glyphs(formula, own)
    fields = {name: "" if name in formula.definitions else name for name in formula.symbols}
    rows = [
        (symbols[name].text, fields[name], str(value), symbols[name].meaning)
        for name, value in formula.symbols.items()
    ]
    table("symbol|field|>value|meaning", rows)
    notes = [f"{name} is the {text}" for name, text in formula.definitions.items()]
    if left is not None:
        notes.append(f"dominant terms as these fields grow: {', '.join(left.growing) or 'none'}")
        notes.append(_dropped_terms(formula, left, format, own))
    if formula.assumptions:
        notes.append(f"the formula is valid for {'; '.join(formula.assumptions)}")
    notes += unused_notes(formula.unused_fields)
    if notes:
        print()
    for note in notes:
        print_sentence(f"note: {note}")


def _dropped_terms(formula: Formula, left: Leading, format: str, own: dict[str, Glyph]) -> str:
    if left.dropped.expr == 0:
        return "every term is dominant; nothing is dropped"
    terms = left.dropped.part.terms
    shown = format_formula(formula, format, own, terms[:_MOST_DROPPED])
    more = " + …" if len(terms) > _MOST_DROPPED else ""
    return f"dropped: {shown}{more} = {left.dropped.value:,} ({left.dropped.share:.2%} of the total)"


def _print_cases(args: Values, formula: Formula, own: dict[str, Glyph], layout: Layout | None) -> None:
    if args.json:
        print_json(data_of(Piecewise, formula))
        return
    cases = formula.cases()
    if layout is not None:
        print(formats.typeset_cases(formula, cases, own, layout))
        return
    comment = {"python": "# ", "c": "// "}.get(args.format, "-- " if args.format in LANGUAGES else "")
    for flags, case in cases:
        held = ", ".join(f"{name} = {str(value).lower()}" for name, value in flags.items()) or "always"
        text = format_formula(case, args.format, own)
        print(f"{comment}{held}:\n{text}" if comment else f"{held}: {text}")
