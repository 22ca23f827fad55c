"""`python docs/make_reference.py` writes docs/reference/ from the tables and the docstrings.

`python -m tools.release` writes these pages, too, and `tests/test_docs.py` fails if one is stale.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import archspec
from archspec.cli.command_line import command_options, help_of
from archspec.costs.training.optimizers import optimizers
from archspec.errors import ArchspecError
from archspec.formats.scheme import FORMATS
from archspec.gguf.types import FILES
from archspec.models.report import Fact, Report
from archspec.solving.laws import laws
from archspec.tables.axes import AXES
from archspec.tables.option import Option
from archspec.tables.quantities import ALLOCATION_HELP, ALLOCATION_TITLES, COSTS, QUANTITIES
from archspec.tables.verbs import VERBS

REFERENCE = Path(__file__).parent / "reference"
_HEAD = """# Command line

`archspec COMMAND ...` runs one of these commands:

| command | result |
| --- | --- |"""
_BEHAVIOR = """Exit codes: 0 success; 1 a difference was found (`diff`, `verify`, `derive`); 2 invalid or
unsupported input, or the output cannot be written; 70 a bug in archspec; 130 interrupted; 141 broken pipe.

On a terminal, tables are fitted to its width. Piped output is plain text. `NO_COLOR=1` disables colors, and
`COLUMNS` sets the width. An option that has no effect is an error.
"""
_PYTHON_HEAD = """# Python

The public names of the package `archspec`. `print(report)` shows the output of its command. Every report has
`text()` and `as_json()`, and the keys of its JSON are attributes.
"""
INTERNAL = {
    "blocks",
    "check_held",
    "check_trained",
    "check_used",
    "clean",
    "cut",
    "layout",
}  # for other modules


def command_line() -> str:
    """Return the page of all commands with their options."""
    rows = [f"| [`{verb}`](#{verb}) | {about.help} |" for verb, about in VERBS.items()]
    verbs = [line for verb in VERBS for line in _verb(verb)]
    return "\n".join([_HEAD, *rows, "", _BEHAVIOR, *verbs])


def _verb(verb: str) -> Iterator[str]:
    about, options = VERBS[verb], command_options(verb)
    yield from (f"## {verb}", f"{about.help[0].upper()}{about.help[1:]}.", "```text")
    yield from (f"archspec {example}" for example in about.examples)
    yield "```"
    yield from [*(f"- `{name}`: {meaning}" for name, meaning in about.terms.items()), ""] * bool(about.terms)
    yield from ("| option | meaning |", "| --- | --- |")
    yield from (f"| {_written(option)} | {_cell(help_of(option))} |" for option in options)
    yield ""


def _written(option: Option) -> str:
    value = option.metavar or "|".join(option.choices if isinstance(option.choices, tuple) else ())
    if option.positional:
        return f"`{_cell(value)}`"
    if option.bare is not None:
        return f"`{option.flag} [{_cell(value)}]`"
    return f"`{option.flag}`" if option.type == "bool" else f"`{option.flag} {_cell(value)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


_LLAMA_CPP = (
    "GGUF files, with each tensor in the type that llama-quantize chooses. Options of llama-quantize may "
    "follow: `--pure`, `--leave-output-tensor`,\n`--imatrix`, "
    "`--output-tensor-type TYPE`, `--token-embedding-type TYPE`, `--tensor-type NAME=TYPE`. "
    "`F16`, `BF16` and `F32` are files if written in capitals, else dtypes.\n"
    "[Sizes of GGUF files](../how-to/gguf.md) explains them."
)


def quantities() -> str:
    """Return the page of quantities, call axes and weight formats."""
    counts = [f"| `{name}` | {one.help} |" for name, one in QUANTITIES.items()]
    costs = [f"| `{name}` | {one.help} |" for name, one in COSTS.items()]
    axes = [f"| `{name}` | {axis.help} | {axis.usual or axis.default or 0} |" for name, axis in AXES.items()]
    kept = [
        f"| {ALLOCATION_TITLES[name]} (`{name}` in JSON) | {meaning} |"
        for name, meaning in ALLOCATION_HELP.items()
    ]
    formats = [
        f"| `{one.name}` | {one.quantizes}: {one.storage} | {one.leaves} | {', '.join(one.aliases) or '–'} "
        f"| {one.source} |"
        for one in FORMATS.values()
    ]
    stored = [f"| `{name}` | {one.about} | {one.source} |" for name, one in optimizers().items()]
    predicted = [f"| `{name}` | {one['about']} | {one['source']} |" for name, one in laws().items()]
    return "\n".join(
        [
            *("# Quantities and weight formats", "", "## Counts", "| name | definition |", "| --- | --- |"),
            *counts,
            *("", "## Costs of a forward pass", "| name | definition |", "| --- | --- |", *costs, ""),
            *("`bytes` and `cache_bytes` are the sizes in bytes of `params` and `cache_elements`.", ""),
            *("The bytes of a KV cache depend on its allocation:", ""),
            *("| allocation | meaning |", "| --- | --- |", *kept, ""),
            *("## Batch size and sequence lengths", "| name | meaning | default |", "| --- | --- | --- |"),
            *(*axes, ""),
            *(
                "## Weight formats",
                "Sizes include scales, zero points and lookup tables; those of files also metadata.",
                "",
            ),
            *("| format | quantized | not quantized | aliases | source |", "| --- | --- | --- | --- | --- |"),
            *(*formats, "", "### Types of llama.cpp", _LLAMA_CPP, "", f"`{'`, `'.join(FILES)}`", ""),
            *("## Optimizers", "Values of `archspec memory --train --optimizer`.", ""),
            *("| name | memory | source |", "| --- | --- | --- |", *stored, ""),
            *("## Scaling laws", "Values of `archspec solve --law`.", ""),
            *("| name | law | source |", "| --- | --- | --- |", *predicted, ""),
        ]
    )


def python() -> str:
    """Return the page of public functions and classes, from their docstrings."""
    functions_first = {
        name: (inspect.isclass(getattr(archspec, name)), name.lower()) for name in archspec.__all__
    }
    names = sorted(functions_first, key=functions_first.__getitem__)
    lines = [_PYTHON_HEAD, ""]
    for title, listed in _grouped(names).items():
        links = (f"[`{name}`](#{_heading(name).replace(' ', '-').lower()})" for name in listed)
        lines.append(f"- **{title}**: {', '.join(links)}")
    lines.append("")
    for name in names:
        lines += _public(name, getattr(archspec, name))
    return "\n".join(lines)


def _grouped(names: list[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        value = getattr(archspec, name)
        if not inspect.isclass(value):
            title = "Functions" if callable(value) else "Constants"
        elif issubclass(value, ArchspecError):
            title = "Errors"
        else:
            title = "Reports" if issubclass(value, Report) else "Other classes"
        groups.setdefault(title, []).append(name)
    return groups


def _heading(name: str) -> str:
    return f"class {name}" if inspect.isclass(getattr(archspec, name)) else name


def _public(name: str, value: Any) -> Iterator[str]:
    yield f"## {_heading(name)}"
    if not callable(value):
        yield from (f"`{value!r}`", "")
        return
    if not inspect.isclass(value):
        yield from (f"`{_call(name, value)}`", "")
    yield from (*_docstring(value), "")
    if inspect.isclass(value):
        for attribute, member in sorted(vars(value).items()):
            if _is_listed(value, attribute, member):
                yield from (f"### {name}.{_call(attribute, member)}", *_docstring(member), "")


def _is_listed(owner: type, attribute: str, member: Any) -> bool:
    """Return True for a documented member; the docstring of the class explains fields and plain values."""
    if attribute.startswith("_") or attribute in INTERNAL or attribute in getattr(owner, "_fields", ()):
        return False
    return bool(member.__doc__) and member.__doc__ != type(member).__doc__


def _call(name: str, member: Any) -> str:
    if isinstance(member, property) or not callable(member):
        return name
    parameters = [one for one in inspect.signature(member).parameters.values() if one.name != "self"]
    shown = [_parameter(one) for one in parameters]
    kinds = [one.kind for one in parameters]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    return f"{name}({', '.join(shown)})"


def _parameter(one: inspect.Parameter) -> str:
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    default = "" if one.default is one.empty else f"={one.default!r}"
    return f"{stars}{one.name}{default}"


def _docstring(value: Any) -> list[str]:
    """Return a docstring as Markdown: roles as code, doctests in blocks."""
    text = inspect.getdoc(value) or ""
    if isinstance(value, Fact) or text[:1].islower():  # the description of a JSON key
        text = re.sub(r"\bnull\b", "None", f"{text[0].upper()}{text[1:]}.")
    text = re.sub(r"\bdocs/(how-to|reference)/([\w-]+)\.md", r"[\2](../\1/\2.md)", text)
    text = re.sub(r":\w+:`~?(?:archspec\.(?:[a-z_]+\.)*(?=[A-Z]))?([^`]+)`", r"`\1`", text).replace("``", "`")
    text = re.sub(r"((?:^>>> .*\n?(?:^(?!>>>).+\n?)*)+)", r"```python\n\1\n```\n", text, flags=re.M)
    return text.split("\n")


PAGES = {"command-line.md": command_line, "quantities.md": quantities, "python.md": python}

if __name__ == "__main__":
    for name, text in PAGES.items():
        (REFERENCE / name).write_text(text(), encoding="utf-8")
