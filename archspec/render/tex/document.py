"""Formulas as LaTeX has them in a paper: an environment with a left side, and a document of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sympy

from archspec.errors import FormulaError
from archspec.render.arrangements import Part
from archspec.render.factors import shortest
from archspec.render.notation import ENVIRONMENTS, Glyph, escaped
from archspec.render.order import place
from archspec.render.terms import arranged
from archspec.render.tex.lines import ALIGNED, COLUMN, LEAST, Line, broken, check_width, width
from archspec.render.tex.tables import cell, legend, typed
from archspec.symbolic.closed_form import ClosedForm
from archspec.tables.quantities import FORMULAS

PAGE = 94  # the text of a document of its own
_HEAD = r"""\documentclass{article}
\usepackage[a4paper,margin=20mm]{geometry}
\usepackage{amsmath,booktabs,longtable}
\pagestyle{empty}
\let\underscore\_
\renewcommand{\_}{\underscore\allowbreak}
\begin{document}
\raggedright
\setlength{\parskip}{\medskipamount}"""
_ALWAYS = r"\text{always}"
_RELATION = 2.7  # of a sign of equality with its spaces
_LEFT = {
    "params": r"N_{\mathrm{params}}",
    "trainable_params": r"N_{\mathrm{trainable}}",
    "active_params": r"N_{\mathrm{active}}",
    "active_params_without_lookup": r"N_{\text{active, without lookup}}",
    "embedding_params": r"N_{\mathrm{embedding}}",
    "non_embedding_params": r"N_{\text{non-embedding}}",
    "buffers": r"N_{\mathrm{buffers}}",
    "flops": "F",
    "masked_flops": r"F_{\mathrm{masked}}",
    "training_flops": r"F_{\mathrm{training}}",
    "activation_bytes": r"M_{\mathrm{activations}}",
    "cache_elements": r"N_{\mathrm{cache}}",
}


Cases = Sequence[tuple[Mapping[str, bool], ClosedForm]]  # a formula for each combination of some flags


class Row(NamedTuple):
    """One equation: its left side, its relation, the terms of its right side."""

    left: str
    relation: str
    terms: Sequence[Any]


def left_side(formula: ClosedForm) -> str:
    r"""What a formula gives, as a symbol: `N_{\mathrm{params}}`; `M` for bytes."""
    symbol = _LEFT[formula.quantity]
    return f"M{symbol.removeprefix('N')}" if formula.scale != 1 else symbol


def equations(
    formula: ClosedForm, parts: Sequence[Part], relation: str = "="
) -> tuple[list[Row], dict[str, Glyph]]:
    """The equations of a formula: one, or that of the sum of its parts and one for each; symbols of parts."""
    if not any(part.label for part in parts):
        return [Row(left_side(formula), relation, _terms(parts[0]))], {}
    letter = left_side(formula)[0]
    named = {part.label: Glyph("", rf"{letter}_{{\text{{{escaped(part.label)}}}}}", "") for part in parts}
    rows = [Row(named[part.label].latex, relation, _terms(part)) for part in parts]
    return [Row(left_side(formula), relation, [sympy.Symbol(label) for label in named]), *rows], named


def _terms(part: Part) -> Sequence[Any]:
    return part.terms or shortest(part.expr)


def shown(
    formula: ClosedForm,
    parts: Sequence[Part],
    symbols: Mapping[str, Glyph],
    env: str | None = None,
    most: float | None = None,
    relation: str = "=",
) -> str:
    r"""A formula, or its parts and their sum, in an environment; without one in `aligned`, for one of yours.

    Lines are at most ``most`` digits wide, in an environment 69 where that is not given. Errors:
    :class:`FormulaError` for an environment that is not one of :data:`ENVIRONMENTS`, and for short lines.
    """
    rows, named = equations(formula, parts, relation)
    most = _width(env, most)
    if most is not None and env is None:
        most -= ALIGNED
    return enclosed([aligned(row, {**symbols, **named}, rows, most) for row in rows], env)


def _width(env: str | None, most: float | None) -> float | None:
    check_width(most)
    return COLUMN if env and most is None else most


def aligned(row: Row, symbols: Mapping[str, Glyph], rows: Sequence[Row], most: float | None) -> list[str]:
    r"""The lines of one of some equations below each other, without `\\`."""
    left = max(width(row.left) for row in rows) + _RELATION
    first, *others = broken(row.terms, symbols, None if most is None else max(LEAST, most - left))
    return [f"{row.left} &{row.relation} {first.text}", *map(continued, others)]


def continued(line: Line) -> str:
    return "  &" + r"\quad " * line.depth + line.text


def enclosed(equations: Sequence[list[str]], env: str | None) -> str:
    r"""Lines in an environment: `align` numbers each equation once, `equation` all of them together.

    >>> print(enclosed([["N &= a", "  &+ b"]], "align"))
    \begin{align}
      N &= a \notag \\
        &+ b
    \end{align}
    """
    if env not in (None, *ENVIRONMENTS):
        raise FormulaError(f"{env} is no environment", help=f"there are {', '.join(ENVIRONMENTS)}")
    if env == "align":
        equations = [[*(rf"{line} \notag" for line in lines[:-1]), lines[-1]] for lines in equations]
    lines = [line for lines in equations for line in lines]
    body = " \\\\\n".join(f"  {line}" for line in lines)
    if env is None:
        return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"
    if env.startswith("equation"):
        body = body.replace("&", "", 1) if len(lines) == 1 else f"\\begin{{split}}\n{body}\n\\end{{split}}"
    return f"\\begin{{{env}}}\n{body}\n\\end{{{env}}}"


def cases(
    forms: Cases,
    symbols: Mapping[str, Glyph],
    env: str | None = None,
    most: float | None = None,
) -> str:
    """A formula for each combination of some flags."""
    most = _width(env, most)
    left = left_side(forms[0][1])
    lines = []
    for flags, form in forms:
        signs = {True: "", False: r"\lnot "}
        held = r" \land ".join(rf"{signs[value]}\texttt{{{escaped(name)}}}" for name, value in flags.items())
        room = None if most is None else max(LEAST, most - width(left) - width(held) - 2 * _RELATION)
        lines.append(f"{cell(arranged(form), symbols, room)} & {held or _ALWAYS}")
    body = "\\begin{cases}\n" + " \\\\\n".join(f"  {line}" for line in lines) + "\n\\end{cases}"
    return enclosed([[f"{left} &= {body}"]], env) if env else body


def document(
    formula: ClosedForm,
    shown: str,
    symbols: Mapping[str, Glyph],
    value: int | None = None,
    forms: Cases = (),
) -> str:
    """A document that LaTeX sets as it is: the formula, its value, its symbols and what it relies on.

    ``forms`` are the cases that are shown: what tells them apart is no assumption.
    """
    values = dict(pair for _, form in (*forms, ({}, formula)) for pair in form.symbols.items())
    own = {name for _, form in (*forms, ({}, formula)) for name in form.definitions}
    rows = [
        (symbols[name], "" if name in own else name, f"{values[name]:,}")
        for name in sorted(values, key=place)
    ]
    flags = tuple(f"{name} = " for flags, _ in forms for name in flags)
    assumed = [text for text in formula.assumptions if not text.startswith(flags)]
    number = f"{formula.evaluate() if value is None else value:,}".replace(",", "{,}")
    quantity = FORMULAS[formula.quantity]
    name = quantity.title if formula.scale == 1 else formula.quantity_name
    said = f"{name} ({quantity.help})"
    parts = [
        _HEAD,
        rf"\section*{{{escaped(formula.architecture)} ({escaped(formula.model_type)})}}",
        shown,
        rf"${left_side(formula)}$: {escaped(said)}; ${number}$ at these values:",
        f"{{\\small\n{legend(rows)}}}",
    ]
    if assumed:
        parts.append(rf"It holds for: {'; '.join(map(typed, assumed))}.")
    if unused := formula.unused:  # counted anew each time that it is asked for
        parts.append(rf"These do not enter: {'; '.join(map(typed, unused))}.")
    return "\n\n".join([*parts, r"\end{document}"])
