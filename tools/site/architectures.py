"""A page for each model type, from its spec: what it is, its closed forms, its parts, real checkpoints."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import yaml

import archspec
from archspec.errors import ArchspecError
from archspec.render.formats import format_formula, glyphs
from archspec.specs.library import TRANSFORMERS_VERSION, shipped

ROOT = Path(__file__).parents[2]
_SOURCES = f"https://github.com/huggingface/transformers/blob/v{TRANSFORMERS_VERSION}/src/"
_LONGEST = 60_000  # characters of MathML: a browser sets more of it, but nobody reads it
# Fields that a default config lacks to be one, by model type; any that fit, as formulas are in the fields.
_FIELDS = json.loads((Path(__file__).parent / "fields.json").read_text(encoding="utf-8"))
# What a model is mostly used for; where it is for nothing of these, the class after the base model is shown.
_MAIN_HEADS = (
    "ForCausalLM",
    "ForConditionalGeneration",
    "LMHeadModel",
    "ForMaskedLM",
    "ForImageClassification",
)


class Checkpoint(NamedTuple):
    """A config of `configs/`: whose it is, the class that it stands for, how many parameters that has."""

    name: str
    architecture: str
    params: int


def checkpoints() -> dict[str, list[Checkpoint]]:
    """The shipped configs of each model type, each counted."""
    published = yaml.safe_load((ROOT / "configs/published.yaml").read_text(encoding="utf-8"))
    named = {row["file"]: row for row in published["exact"]}
    found: dict[str, list[Checkpoint]] = {}
    for path in sorted((ROOT / "configs").glob("*.json")):
        row = named.get(path.name, {"checkpoint": path.stem.replace("--", "/")})
        model_type = json.loads(path.read_text(encoding="utf-8")).get("model_type")
        if model_type is None:
            continue
        model = archspec.load(str(path), row.get("architecture"))
        one = Checkpoint(row["checkpoint"], model.architecture, model.params)
        found.setdefault(model_type, []).append(one)
    return found


def main_head(architectures: Sequence[str]) -> str | None:
    """The class with the head that the model is mostly used with; None where there is the base model alone.

    >>> main_head(["BertModel", "BertForPreTraining", "BertForMaskedLM"])
    'BertForMaskedLM'
    """
    heads = architectures[1:]
    for suffix in _MAIN_HEADS:
        for name in heads:
            if name.endswith(suffix):
                return name
    return heads[0] if heads else None


def described(header: str) -> tuple[str, list[str], list[str]]:
    """What a spec's header comment says: what the model is, its papers, its code in transformers.

    >>> described("BERT: an encoder.\\npapers: arXiv:1810.04805     code: transformers/models/bert.py")
    ('BERT: an encoder.', ['1810.04805'], ['transformers/models/bert.py'])
    """
    text = " ".join(line for line in header.splitlines() if not re.match(r"(papers|code):", line))
    return text, re.findall(r"arXiv:(\d+\.\d+)", header), re.findall(r"transformers/[\w/.-]+\.py", header)


def page(
    model_type: str,
    architectures: Sequence[str],
    checkpoints: Sequence[Checkpoint] = (),
    browser: bool = False,
) -> str:
    """The Markdown of a model type's page, with its formulas as MathML.

    Its classes lead to the page in the browser where the site has that.
    """
    spec = shipped().load(model_type)
    text, papers, code = described(spec.header)
    lines = [f"# {model_type}", "", _plain(text), ""]
    links = [f"[arXiv:{paper}](https://arxiv.org/abs/{paper})" for paper in papers]
    if links:
        lines += [f"Papers: {', '.join(links)}", ""]
    if code:
        lines += ["Code: " + ", ".join(f"[{path}]({_SOURCES}{path})" for path in code), ""]
    if architectures:
        if browser:
            lines += ["Classes, to open in the browser: " + ", ".join(map(_in_browser, architectures)), ""]
        else:
            lines += ["Classes: " + ", ".join(f"`{name}`" for name in architectures), ""]
        lines += _forms(model_type, architectures)
    else:
        lines += ["No class of its own is counted: it is a part of other models, or refused.", ""]
    if checkpoints:
        lines += ["## Checkpoints", "", "| checkpoint | class | parameters |", "| --- | --- | ---: |"]
        lines += [f"| {one.name} | `{one.architecture}` | {one.params:,} |" for one in checkpoints] + [""]
    lines += ["## Spec", "", f"`{spec.source.name}`", "", "```yaml", spec.source.text.rstrip(), "```", ""]
    return "\n".join(lines)


def _in_browser(architecture: str) -> str:
    source = quote(json.dumps({"name": architecture}))
    return f"[`{architecture}`](../app/index.html#source={source})"


def _plain(text: str) -> str:
    """Text that Markdown takes as it stands, but for `code`."""
    return re.sub(r"(`[^`]*`)|([\\`*_\[\]<>&])", lambda found: found[1] or f"\\{found[2]}", text)


def _forms(model_type: str, architectures: Sequence[str]) -> list[str]:
    """The closed forms of the base model and the main head, and the parts of the last."""
    head = main_head(architectures)
    names = [architectures[0], *([head] if head else [])]
    lines = ["## Parameters", "", "At the default config, and in its fields:", ""]
    for name in names:
        lines += [f"### {name}", "", *_form(model_type, name, parts=name == names[-1])]
    return lines


def _form(model_type: str, architecture: str, parts: bool) -> list[str]:
    fields = _FIELDS.get(model_type, {})
    try:
        model = archspec.load({"model_type": model_type}, architecture)
        lines = [f"**{model.params:,}** parameters.", ""]
    except ArchspecError as error:
        lines = [f"The default config is refused: {_plain(error.problems[0].message)}.", ""]
        if not fields:
            return lines
        model = archspec.load({"model_type": model_type}, architecture, fields)
        given = ", ".join(f"`{name} = {json.dumps(value)}`" for name, value in fields.items())
        lines += [f"With {given} it has **{model.params:,}** parameters.", ""]
    try:
        formula = model.formula
    except ArchspecError as error:
        return [*lines, f"There is no closed form: {_plain(error.problems[0].message)}.", ""]
    lines += [_shown(formula.mathml(), architecture), "", _legend(formula), ""]
    if formula.assumptions:
        lines += ["It holds where " + "; ".join(f"`{one}`" for one in formula.assumptions) + ".", ""]
    return [*lines, *_parts(formula)] if parts else lines


def _shown(mathml: str, architecture: str) -> str:
    if len(mathml) > _LONGEST:
        return f"The closed form is too long for a page: `archspec formula {architecture}` prints it."
    return f'<div class="formula">{mathml}</div>'


def _legend(formula: archspec.Formula) -> str:
    """What each symbol stands for, and its number at the default config."""
    import sympy

    shown = []
    for name in glyphs(formula):
        symbol = format_formula(formula, "mathml", terms=(sympy.Symbol(name),))
        meaning = formula.definitions.get(name, name)
        value = formula.symbols.get(name)
        shown.append(f"{symbol} <code>{escape(meaning)}</code>" + ("" if value is None else f" = {value:,}"))
    return f'<div class="legend">{"; ".join(shown)}</div>'


def _parts(formula: archspec.Formula) -> list[str]:
    """The table of its parts by component, in HTML: Markdown would read the formulas' underscores."""
    rows = [
        f"<tr><td>{escape(part.label)}</td><td class='number'>{part.value:,}</td>"
        f"<td class='number'>{part.share:.2%}</td><td>{_cell(part.mathml())}</td></tr>"
        for part in formula.by("component")
    ]
    head = "<thead><tr><th>part</th><th>value</th><th>share</th><th>formula</th></tr></thead>"
    table = f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"
    return ["Its parts:", "", f'<div class="parts">{table}</div>', ""]


def _cell(mathml: str) -> str:
    return mathml if len(mathml) <= _LONGEST else "too long for a page"
