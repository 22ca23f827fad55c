"""What `archspec` gives by name, and what its functions return, can be reached from it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import archspec

PACKAGE = Path(archspec.__file__).parent


def public(one: Any) -> list[str]:
    """The names that completion offers."""
    return [name for name in dir(one) if not name.startswith("_")]


def test_every_name_is_there_and_nothing_else_is_shown() -> None:
    assert all(hasattr(archspec, name) for name in archspec.__all__)
    assert public(archspec) == archspec.__all__


def test_names_are_shown_before_and_after_modules_are_imported() -> None:
    code = "import archspec; print(dir(archspec)); import archspec.cli.main; print(dir(archspec))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = done.stdout.splitlines()
    assert before == after == str(dir(archspec))


def test_type_checkers_and_editors_see_the_same_names() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    homes = {
        alias.asname: node.module
        for node in ast.walk(stub)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert homes == {name: home for home, names in archspec._HOMES.items() for name in names}


def test_no_module_is_called_as_a_public_name() -> None:
    """`import archspec.sweeping.axes` puts a module in the place of the name: see docs/design.md."""
    modules = {path.stem for path in PACKAGE.iterdir()}
    assert {*archspec.__all__} & modules == set()


def test_what_a_model_gives_is_public() -> None:
    model = archspec.load("LlamaForCausalLM")
    assert isinstance(model.forward(), archspec.Forward)
    assert isinstance(model.forward().cache[0], archspec.CacheTensor)
    assert isinstance(model.training(batch=1, tokens=8), archspec.Training)
    assert isinstance(model.weights(), archspec.Weights)
