"""Public names, and the attributes of returned objects, are documented and listed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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


def is_documented(one: Any, name: str) -> bool:
    """Return True if a name has a docstring, or is ``name`` in the docstring of its class."""
    own = getattr(getattr(type(one), name, None), "__doc__", None) or ""
    classes = " ".join(cls.__doc__ or "" for cls in type(one).__mro__)
    return f"``{name}``" in classes or bool(own and not own.startswith("Alias for field"))


@pytest.fixture(scope="module")
def shown() -> list[Any]:
    """Return one object of each public kind."""
    model, grid = archspec.load("GPT2LMHeadModel"), archspec.sweep("GPT2Model", {"n_layer": [1, 2]})
    formulas = [model.formula, model.formula.split("component"), model.formula.leading_terms()]
    costs = [model.flops(), model.cache(), model.memory(), model.training(), model.forward(), model.weights()]
    models = [model, model.counts(), model.tree, model.tensors()[0], model.sensitivity()]
    found = archspec.solve("GPT2Model", "n_layer", params="1e8", top=1)
    both = [archspec.diff("BertModel", "BertForMaskedLM"), archspec.table(["BertModel"])]
    files = [archspec.catalog("bert"), archspec.lint("formulas/gpt2.yaml")]
    return [*models, *costs, *formulas, *both, *files, grid, grid.head(), found, found[0]]


def test_completion_shows_documented_names_alone(shown: list[Any]) -> None:
    wrong = [
        (type(one).__name__, name) for one in shown for name in public(one) if not is_documented(one, name)
    ]
    assert wrong == []


def test_what_is_shown_can_be_looked_at(shown: list[Any]) -> None:
    shows = [one for one in shown if hasattr(one, "as_json") and not isinstance(one, tuple)]
    assert len(shows) > 12
    for one in shows:
        assert str(one) and (hasattr(one, "_repr_html_") or hasattr(one, "_repr_latex_"))


def test_no_module_is_called_as_a_public_name() -> None:
    """`import archspec.sweeping.axes` would replace a function of that name: see docs/design.md."""
    modules = {path.stem for path in PACKAGE.iterdir()}
    assert {*archspec.__all__} & modules == set()


def test_what_a_model_gives_is_public() -> None:
    model = archspec.load("LlamaForCausalLM")
    assert isinstance(model.forward(), archspec.Forward)
    assert isinstance(model.forward().cache[0], archspec.CacheTensor)
    assert isinstance(model.training(batch=1, tokens=8), archspec.Training)
    assert isinstance(model.weights(), archspec.Weights)
