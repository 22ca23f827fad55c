"""`archspec formula`: the closed form of a quantity, arranged as asked, with everything that it relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archspec.cli.command_line import Values
from archspec.cli.run import load_model, option_named, pairs, print_idle_fields, print_json
from archspec.errors import ArchspecError, FormulaError
from archspec.models.report import data_of
from archspec.render.notation import Glyph, own_glyphs
from archspec.tables.axes import axes_of
from archspec.terminal import say, table

if TYPE_CHECKING:
    from archspec.models.formula import Formula
    from archspec.models.parts import Leading
    from archspec.render.arrangements import Part
    from archspec.render.tex.document import Layout


def chosen_formula(args: Values) -> Formula:
    """Return the formula that the options choose."""
    model = load_model(args)
    print_idle_fields(model)
    lengths = {name: getattr(args, name) for name in axes_of("formula") if name in args.given}
    formula = model.quantity(args.quantity, **lengths).assume(*args.assume)
    return formula.in_bytes(args.dtype) if args.dtype else formula


def run(args: Values) -> int:
    """Print the formula in the format and arrangement that the options choose."""
    from archspec.models.parts import Parts
    from archspec.render.code.printer import LANGUAGES
    from archspec.render.formats import PLAIN, condition_note, format_formula, parts_table, program, typeset

    _check_arrangement(args)
    layout = _layout(args)
    formula, own = chosen_formula(args), own_glyphs(args.notation, _own_symbols(args))
    left = _leading(formula, args)
    if layout is not None and left is not None:
        layout = layout._replace(relation=r"\approx", value=left.value)
    if args.piecewise:
        _piecewise(args, formula, own, layout)
        return 0
    parts = _parts(formula, args)
    if left is not None:
        parts = left.cut(parts)
    if args.table:
        print(parts_table(formula, parts, args.table, own, layout or PLAIN))
    elif args.json:
        approximate = {} if left is None else {"leading": left.as_json()}
        listed = Parts(formula, parts).as_json()
        found = formula.as_json(args.notation, _own_symbols(args))
        print_json({**found, **approximate, "parts": listed})
    elif layout is not None:
        note = "" if args.standalone else condition_note(formula, "latex")
        print(typeset(formula, parts, own, layout) + note)
    elif args.format in ("text", "unicode"):
        _explain(formula, parts, left, args, own)
    elif args.format in LANGUAGES:
        print(program(formula, parts, args.format))
    else:
        for part in parts:
            label = f"{part.label}: " if part.label else ""
            print(label + format_formula(formula, args.format, own, part.terms))
        if note := condition_note(formula, args.format):
            print(note.removeprefix("\n"))
    return 0


def _check_arrangement(args: Values) -> None:
    """Raise an :class:`ArchspecError` for options that have no effect together."""
    from archspec.render.code.printer import LANGUAGES

    if args.collect and "by" in args.given:
        raise ArchspecError("--collect cannot be combined with --by", help="leave out --collect or --by")
    if "depth" in args.given and args.by != "module":
        help_ = "add --by module, or leave out --depth"
        raise ArchspecError("--depth has no effect without --by module", help=help_)
    for option in ("notation", "symbol"):
        if option in args.given and args.format in LANGUAGES:
            message = f"--{option} has no effect with --format {args.format}"
            raise ArchspecError(message, help=f"leave out --{option} or --format {args.format}")


def _layout(args: Values) -> Layout | None:
    """Return the layout of LaTeX; None for another format.

    Raises:
        FormulaError: for options of LaTeX with another format.
    """
    from archspec.render.tex.document import Layout

    asked = args.env or args.standalone or args.width is not None
    other = args.json or args.format not in ("unicode", "latex") or (args.table and args.env)
    if asked and (other or args.table == "markdown"):
        message = "--env, --width and --standalone require LaTeX"
        raise FormulaError(message, help="leave out --json, --table or the other --format")
    if not asked and args.format != "latex":
        return None
    return Layout(args.env, args.width, args.standalone)


def _parts(formula: Formula, args: Values) -> list[Part]:
    """Return the parts that `--by` or `--collect` choose."""
    from archspec.render import arrangements

    if args.collect:
        return arrangements.collect_powers(formula, args.collect)
    return arrangements.arrangement(formula, args.by, args.depth or 1)


def _leading(formula: Formula, args: Values) -> Leading | None:
    """Return the dominant terms if `--leading` is given."""
    if args.leading is None:
        return None
    return formula.leading(*(name.strip() for name in args.leading.split(",") if name.strip()))


def _own_symbols(args: Values) -> dict[str, str]:
    """Return the symbols of `--symbol`, by field."""
    return pairs(option_named("formula", "symbol"), args.symbol)


def _explain(
    formula: Formula, parts: list[Part], left: Leading | None, args: Values, own: dict[str, Glyph]
) -> None:
    from archspec.render.formats import format_formula, glyphs

    equals = "=" if left is None else "≈"
    for part in parts:
        name = part.label or f"{formula.quantity_name} of {formula.architecture}"
        say(f"{name} {equals} {format_formula(formula, args.format, own, part.terms)}")
    exact = f"{formula.evaluate():,}"
    here = f"= {exact} at the values below"
    say(f"{here}\n" if left is None else f"≈ {left.value:,} at the values below, exactly {exact}\n")
    symbols = glyphs(formula, own)
    values = formula.symbols.items()
    fields = {name: "" if name in formula.definitions else name for name in formula.symbols}
    rows = [(symbols[name].text, fields[name], str(value), symbols[name].meaning) for name, value in values]
    table("symbol|field|>value|meaning", rows)
    notes = [f"{name} is the {text}" for name, text in formula.definitions.items()]
    notes += [] if left is None else _leading_notes(formula, left, args, own)
    if formula.assumptions:
        notes.append(f"it holds for {'; '.join(formula.assumptions)}")
    notes += [f"{name} does not enter the count" for name in formula.unused]
    if notes:
        print()
    for note in notes:
        say(f"note: {note}")


def _leading_notes(formula: Formula, left: Leading, args: Values, own: dict[str, Glyph]) -> list[str]:
    """Return which fields grow, and which terms are dropped."""
    from archspec.render.formats import format_formula

    growing = f"growing: {', '.join(left.growing) or 'no field'}"
    if left.dropped.expr == 0:
        return [growing, "every term is dominant; nothing is dropped"]
    terms = left.dropped.part.terms
    shown = format_formula(formula, args.format, own, terms[:6]) + (" + …" if len(terms) > 6 else "")
    value = f"{left.dropped.value:,} ({left.dropped.share:.2%}) here"
    return [growing, f"dropped: {shown}, which is {value}"]


def _piecewise(args: Values, formula: Formula, own: dict[str, Glyph], layout: Layout | None) -> None:
    from archspec.models.parts import Piecewise
    from archspec.render.code.printer import LANGUAGES
    from archspec.render.formats import format_formula, typeset_cases

    if args.json:
        print_json(data_of(Piecewise, formula))
        return
    cases = formula.piecewise()
    if layout is not None:
        print(typeset_cases(formula, cases, own, layout))
    else:
        for flags, case in cases:
            held = ", ".join(f"{name} = {str(value).lower()}" for name, value in flags.items())
            comment = {"python": "# ", "c": "// "}.get(args.format, "-- " if args.format in LANGUAGES else "")
            between = "\n" if comment else " "
            print(f"{comment}{held or 'always'}:{between}{format_formula(case, args.format, own)}")
