"""A page for each model type, from its spec: its text, closed forms, parts and checkpoints."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

import sympy
import yaml

import archspec
from archspec.errors import ArchspecError
from archspec.render.formats import format_formula, glyphs
from archspec.specs.library import TRANSFORMERS_VERSION, shipped_library

ROOT = Path(__file__).parents[2]
# Values of fields without which a default config is rejected, by model type.
FIELDS = json.loads((Path(__file__).parent / "fields.json").read_text(encoding="utf-8"))
_SOURCES = f"https://github.com/huggingface/transformers/blob/v{TRANSFORMERS_VERSION}/src/"
_LONGEST = 60_000  # characters of MathML
_HEADS = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "ForMaskedLM", "ForImageClassification")
Row = tuple[str, str, str]  # a checkpoint, its class, its number of parameters


def checkpoints() -> dict[str, list[Row]]:
    """Return the shipped configs of each model type, with their counts."""
    published = yaml.safe_load((ROOT / "configs/published.yaml").read_text(encoding="utf-8"))
    named = {row["file"]: row for row in published["exact"]}
    found: dict[str, list[Row]] = {}
    for path in sorted((ROOT / "configs").glob("*.json")):
        row = named.get(path.name, {"checkpoint": path.stem.replace("--", "/")})
        if model_type := json.loads(path.read_text(encoding="utf-8")).get("model_type"):
            model = archspec.load(str(path), row.get("architecture"))
            one = row["checkpoint"], f"`{model.architecture}`", f"{model.params:,}"
            found.setdefault(model_type, []).append(one)
    return found


def main_head(architectures: Sequence[str]) -> str | None:
    """Return the class with the head that a model is mostly used with; None if there is only the base model.

    >>> main_head(["BertModel", "BertForPreTraining", "BertForMaskedLM"])
    'BertForMaskedLM'
    """
    heads = architectures[1:]
    named = [name for suffix in _HEADS for name in heads if name.endswith(suffix)]
    return next(iter((*named, *heads)), None)


def page(
    model_type: str, architectures: Sequence[str], checkpoints: Sequence[Row] = (), browser: bool = False
) -> str:
    """Return the Markdown of a model type's page, with its formulas as MathML.

    With ``browser`` its classes link to the page in the browser.
    """
    spec = shipped_library().load(model_type)
    header = spec.header
    text = " ".join(line for line in header.splitlines() if not re.match(r"(papers|code):", line))
    papers, code = re.findall(r"arXiv:(\d+\.\d+)", header), re.findall(r"transformers/[\w/.-]+\.py", header)
    lines = [f"# {model_type}", "", _escape(text), ""]
    if papers:
        links = (f"[arXiv:{paper}](https://arxiv.org/abs/{paper})" for paper in papers)
        lines += [f"Papers: {', '.join(links)}", ""]
    if code:
        lines += ["Code: " + ", ".join(f"[{path}]({_SOURCES}{path})" for path in code), ""]
    if architectures:
        classes = ", ".join(_in_browser(name) if browser else f"`{name}`" for name in architectures)
        lines += [f"Classes{', to open in the browser' * browser}: {classes}", ""]
        lines += ["## Parameters", "", "At the default config, and in its fields:", ""]
        names = [name for name in (architectures[0], main_head(architectures)) if name]
        for name in names:
            lines += [f"### {name}", "", *_closed_form(model_type, name, parts=name == names[-1])]
    else:
        lines += ["None of its classes is supported alone: it is a part of other models, or refused.", ""]
    if checkpoints:
        lines += ["## Checkpoints", "", "| checkpoint | class | parameters |", "| --- | --- | ---: |"]
        lines += [*(f"| {' | '.join(row)} |" for row in checkpoints), ""]
    lines += ["## Spec", "", f"`{spec.source.name}`", "", "```yaml", spec.source.text.rstrip(), "```", ""]
    return "\n".join(lines)


def _in_browser(architecture: str) -> str:
    source = quote(json.dumps({"name": architecture}))
    return f"[`{architecture}`](../app/index.html#source={source})"


def _escape(text: str) -> str:
    """Escape a text for Markdown, except its `code`."""
    return re.sub(r"(`[^`]*`)|([\\`*_\[\]<>&])", lambda found: found[1] or f"\\{found[2]}", text)


def _closed_form(model_type: str, architecture: str, parts: bool) -> list[str]:
    """Return the count and the closed form of a class, with its ``parts`` if they are asked for."""
    fields = FIELDS.get(model_type, {})
    try:
        model = archspec.load({"model_type": model_type}, architecture)
        lines = [f"**{model.params:,}** parameters.", ""]
    except ArchspecError as error:
        lines = [f"The default config is rejected: {_escape(error.problems[0].message)}.", ""]
        if not fields:
            return lines
        model = archspec.load({"model_type": model_type}, architecture, fields)
        given = ", ".join(f"`{name} = {json.dumps(value)}`" for name, value in fields.items())
        lines += [f"With {given} it has **{model.params:,}** parameters.", ""]
    try:
        formula = model.formula
    except ArchspecError as error:
        return [*lines, f"No closed form: {_escape(error.problems[0].message)}.", ""]
    too_long = f"The closed form is too long for a page: `archspec formula {architecture}` prints it."
    mathml = formula.mathml()
    lines += [too_long if len(mathml) > _LONGEST else f'<div class="formula">{mathml}</div>']
    lines += ["", _legend(formula), ""]
    if formula.assumptions:
        lines += ["It holds if " + "; ".join(f"`{one}`" for one in formula.assumptions) + ".", ""]
    return [*lines, *_parts(formula)] if parts else lines


def _legend(formula: archspec.Formula) -> str:
    """Return the meaning of each symbol, and its value at the default config."""
    entries = []
    for name in glyphs(formula):
        symbol = format_formula(formula, "mathml", terms=(sympy.Symbol(name),))
        value = formula.symbols.get(name)
        meaning = f"{symbol} <code>{escape(formula.definitions.get(name, name))}</code>"
        entries.append(meaning if value is None else f"{meaning} = {value:,}")
    return f'<div class="legend">{"; ".join(entries)}</div>'


def _parts(formula: archspec.Formula) -> list[str]:
    """Return the table of its components, in HTML: Markdown would read the underscores of formulas."""
    rows = ["<thead><tr><th>part</th><th>value</th><th>share</th><th>formula</th></tr></thead><tbody>"]
    for part in formula.split("component"):
        mathml = part.mathml()
        cell = mathml if len(mathml) <= _LONGEST else "too long for a page"
        value, share = f"<td class='number'>{part.value:,}</td>", f"<td class='number'>{part.share:.2%}</td>"
        rows.append(f"<tr><td>{escape(part.label)}</td>{value}{share}<td>{cell}</td></tr>")
    return ["Its parts:", "", f'<div class="parts"><table>{"".join(rows)}</tbody></table></div>', ""]
