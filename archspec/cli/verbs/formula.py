"""`archspec formula`: the closed form of a quantity, arranged as asked, with everything that it relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from archspec.cli.arguments import add_model, excludes, load_model, needs, pairs, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.errors import FormulaError
from archspec.quantities import QUANTITIES
from archspec.render.notation import ENVIRONMENTS, FORMATS, Glyph, own_glyphs
from archspec.terminal import say, table

if TYPE_CHECKING:
    from archspec.models.formula import Formula
    from archspec.models.parts import Leading
    from archspec.render.arrangements import Part
    from archspec.render.formats import Layout

ARRANGEMENTS = ("repetition", "component", "module", "layer", "polynomial")


def add_arguments(takes: Arguments) -> None:
    add_model(takes, "ARCH|CONFIG")
    add_quantity(takes)
    about_format = f"{', '.join(FORMATS)}; sql is DuckDB's, spark Spark's (default: unicode)"
    takes.value("--format", "FORMAT", about_format, default="unicode", choices=FORMATS)
    about_by = "how its terms are grouped (default: repetition)"
    takes.value("--by", None, about_by, default="repetition", choices=ARRANGEMENTS)
    takes.value("--depth", "N", "with --by module: how many levels (default: 1)", type=int)
    takes.value("--collect", "FIELD", "by powers of one field")
    about_leading = (
        "only the terms that no other outgrows, as widths, depths, experts and vocabularies grow, or these"
    )
    takes.value("--leading", "FIELDS", about_leading, nargs="?", const="")
    takes.value("--table", None, "a table of the parts: formula, value, share", choices=("latex", "markdown"))
    takes.value("--env", None, "the LaTeX environment that it stands in", choices=ENVIRONMENTS)
    about_width = "of lines of LaTeX, in digits: 48 is a column of two, 69 the text of an article (default)"
    takes.value("--width", "N", about_width, type=int)
    takes.flag("--standalone", "a LaTeX document: the formula, its symbols and what it relies on")
    takes.flag("--piecewise", "a case for each combination of the yes/no flags that matter")
    takes.value("--notation", "FILE", "symbols of your own, in the form of formulas/notation.yaml")
    takes.repeated("--symbol", "FIELD=LATEX", "one symbol of your own, e.g. hidden_size=h")


def add_quantity(takes: Arguments) -> None:
    """`--quantity`, `--dtype` and `--assume`, which all verbs that give formulas share."""
    takes.value("--quantity", "NAME", f"one of {', '.join(QUANTITIES)} (default: params)", default="params")
    takes.value("--dtype", "NAME", "count bytes at this dtype instead, e.g. bfloat16")
    takes.repeated(
        "--assume",
        "FIELD=EXPRESSION",
        "replace a field, e.g. intermediate_size=4*hidden_size; several are replaced all at once",
    )


def chosen_formula(args: Values) -> Formula:
    """The formula that the options choose."""
    model = load_model(args)
    formula = model.quantity(args.quantity).assume(*args.assume)
    return formula.in_bytes(args.dtype) if args.dtype else formula


def run(args: Values) -> int:
    from archspec.render.code.printer import LANGUAGES
    from archspec.render.formats import PLAIN, condition_note, program, tabled, typeset, written_part

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
        print(tabled(formula, parts, args.table, own, layout or PLAIN))
    elif args.json:
        approximate = {} if left is None else {"leading": left.as_json()}
        values = [int(formula.number(part.expr)) for part in parts]
        listed = [
            {"part": part.label, "expression": str(part.expr), "value": value}
            for part, value in zip(parts, values, strict=True)
        ]
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
            print(label + written_part(formula, part, args.format, own))
        if note := condition_note(formula, args.format):
            print(note.removeprefix("\n"))
    return 0


def _check_arrangement(args: Values) -> None:
    """Errors: :class:`ArchspecError` for options that have no effect together."""
    from archspec.render.code.printer import LANGUAGES

    excludes(args, "--piecewise", "--by", "--depth", "--collect", "--table")
    excludes(args, "--collect", "--by", "--depth")
    needs(args, "--by module", "--depth", met=args.by == "module")
    excludes(args, "--json", "--format", "--table")
    excludes(args, "--table", "--format", "--collect")
    code = f"--format {args.format}"
    excludes(args, code, "--notation", "--symbol", met=args.format in LANGUAGES)


def _layout(args: Values) -> Layout | None:
    """How LaTeX is laid out; None for another format. Errors: :class:`FormulaError` where it is another."""
    from archspec.render.formats import Layout

    asked = args.env or args.standalone or args.width is not None
    other = args.json or args.format not in ("unicode", "latex") or (args.table and args.env)
    if asked and (other or args.table == "markdown"):
        message = "--env, --width and --standalone are of formulas in LaTeX"
        raise FormulaError(message, help="leave out --json, --table or the other --format")
    if not asked and args.format != "latex":
        return None
    return Layout(args.env, args.width, args.standalone)


def _parts(formula: Formula, args: Values) -> list[Part]:
    """The parts that `--by` and `--collect` ask for."""
    from archspec.render import arrangements

    if args.collect:
        return arrangements.collected(formula, args.collect)
    return arrangements.arrangement(formula, args.by, args.depth or 1)


def _leading(formula: Formula, args: Values) -> Leading | None:
    """The terms that `--leading` leaves, where it is asked for."""
    if args.leading is None:
        return None
    for option, asked in (("--piecewise", args.piecewise), ("--table", args.table)):
        if asked:
            raise FormulaError(f"{option} gives the whole formula", help="leave out --leading")
    return formula.leading(*(name.strip() for name in args.leading.split(",") if name.strip()))


def _own_symbols(args: Values) -> dict[str, str]:
    """What `--symbol` gives, by field."""
    return pairs("--symbol", args.symbol, "FIELD=LATEX, e.g. hidden_size=h")


def _explain(
    formula: Formula, parts: list[Part], left: Leading | None, args: Values, own: dict[str, Glyph]
) -> None:
    from archspec.render.formats import glyphs, written_part

    equals = "=" if left is None else "≈"
    for part in parts:
        name = part.label or f"{formula.quantity_name} of {formula.architecture}"
        say(f"{name} {equals} {written_part(formula, part, args.format, own)}")
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
    """Which fields grow, and what is dropped."""
    from archspec.render.factors import shortest
    from archspec.render.formats import written

    growing = f"growing: {', '.join(left.growing) or 'no field'}"
    if left.dropped.expr == 0:
        return [growing, "no term is outgrown by another: none is dropped"]
    terms = shortest(left.dropped.expr)
    shown = written(formula, args.format, own, terms[:6]) + (" + …" if len(terms) > 6 else "")
    value = f"{left.dropped.value:,} ({left.dropped.share:.2%}) here"
    return [growing, f"dropped: {shown}, which is {value}"]


def _piecewise(args: Values, formula: Formula, own: dict[str, Glyph], layout: Layout | None) -> None:
    from archspec.render.code.printer import LANGUAGES
    from archspec.render.formats import typeset_cases, written

    cases = formula.piecewise()
    if args.json:
        rows = [{"flags": f, "expression": str(case.expr), "value": case.evaluate()} for f, case in cases]
        names = ("architecture", "model_type", "quantity")
        print_json({**{name: getattr(formula, name) for name in names}, "cases": rows})
    elif layout is not None:
        print(typeset_cases(formula, cases, own, layout))
    else:
        for flags, case in cases:
            held = ", ".join(f"{name} = {str(value).lower()}" for name, value in flags.items())
            comment = {"python": "# ", "c": "// "}.get(args.format, "-- " if args.format in LANGUAGES else "")
            between = "\n" if comment else " "
            print(f"{comment}{held or 'always'}:{between}{written(case, args.format, own)}")
