"""The tables are consistent, and public functions have the parameters that they declare."""

from __future__ import annotations

from pathlib import Path

import pytest

import archspec
from archspec.cli.command_line import command_options
from archspec.tables.axes import AXES
from archspec.tables.options import OPTIONS, options_of
from archspec.tables.verbs import VERBS
from tools.page_tables import PATH, page_tables
from tools.signatures import parameters, updated

PACKAGE = Path(archspec.__file__).parent
VERIFIED = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if "@check_arguments_of(" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", VERIFIED, ids=lambda path: path.stem)
def test_signatures_are_those_of_the_tables(path: Path) -> None:
    import ast

    text = path.read_text(encoding="utf-8")
    assert ast.dump(ast.parse(updated(text))) == ast.dump(ast.parse(text)), "run python -m tools.release"


@pytest.mark.parametrize("verb", VERBS)
def test_options_of_a_verb_are_consistent(verb: str) -> None:
    options = command_options(verb)
    names = [option.name for option in options]
    assert len(names) == len({*names}) and {"json", "json_schema"} <= {*names}
    for option in options:
        assert {*option.needs, *option.excludes} <= {*names}, option.name
        assert option.help and not option.help.removesuffix("...").endswith("."), option.name


def test_every_option_has_a_verb() -> None:
    known = {*VERBS, "training", "forward"}
    assert [option.name for option in OPTIONS if not {*option.verbs} <= known] == []
    assert {verb for axis in AXES.values() for verb in axis.verbs} <= known


def test_python_takes_what_the_command_line_takes() -> None:
    taken = [option.name for option in parameters("training", is_method=True)]
    assert taken[:3] == ["batch", "tokens", "encoder_tokens"] and "zero" in taken
    assert [option.name for option in options_of("flops")][-2:] == ["json", "json_schema"]


def test_the_page_has_the_tables() -> None:
    assert PATH.read_text(encoding="utf-8") == page_tables(), "run python -m tools.release"
