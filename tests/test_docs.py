"""The pages show what the commands print."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "command-line.md").read_text(encoding="utf-8")
COSTS = (DOCS / "what-it-costs.md").read_text(encoding="utf-8")
PYTHON = (DOCS / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE + COSTS + PYTHON, re.DOTALL)


@pytest.fixture(scope="module")
def commands() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_commands", DOCS / "make_commands.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_a_block(block: str) -> Any:
    """A block, named by its first command; some verbs look at what transformers builds."""
    needs_reference = re.search(r"^\$ archspec (verify|derive)", block, re.MULTILINE)
    return pytest.param(
        block, id=block.split("\n")[0][2:], marks=[pytest.mark.reference] if needs_reference else []
    )


@pytest.mark.parametrize("block", [of_a_block(block) for block in BLOCKS])
def test_shown_is_printed(block: str, commands: ModuleType) -> None:
    assert block == commands.renewed(block)


@pytest.mark.parametrize(
    "name", ["sweeps.md", "solve.md", pytest.param("own-specs.md", marks=pytest.mark.reference)]
)
def test_worked_pages_show_what_is_printed(name: str, commands: ModuleType, tmp_path: Path) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    shutil.copytree(commands.EXAMPLES, tmp_path, dirs_exist_ok=True)
    assert DOCS / name in commands.WORKED and commands.page(text, tmp_path) == text


@pytest.mark.parametrize("name", ["sweeps.md", "solve.md", "what-it-costs.md", "own-specs.md", "python.md"])
def test_python_on_pages_is_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent)
    failures, tried = doctest.testfile(str(DOCS / name), module_relative=False, verbose=False)
    assert not failures and tried > 2


def test_files_on_the_page_of_own_specs_are_those_of_the_examples() -> None:
    text = (DOCS / "own-specs.md").read_text(encoding="utf-8")
    blocks = {"byte_lm.py": "python", "specs/byte_lm.yaml": "yaml", "presets/pocket.yaml": "yaml"}
    for name, language in blocks.items():
        assert f"```{language}\n{(DOCS / 'examples' / name).read_text()}```" in text


def test_every_verb_has_an_example() -> None:
    from archspec.tables.verbs import VERBS

    assert [verb for verb in VERBS if f"$ archspec {verb}" not in PAGE] == []


def test_every_verb_has_an_example_in_python_beside_it() -> None:
    from archspec.tables.verbs import VERBS

    beside = re.findall(r"```console\n\$ archspec (\w+).*?```\n```python\n.*?```", PYTHON, re.DOTALL)
    assert [verb for verb in VERBS if verb not in beside] == []


@pytest.mark.reference
def test_python_that_needs_the_reference_model_is_right(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Blocks without prompts: what they state by `assert` holds."""
    monkeypatch.chdir(DOCS.parent)
    blocks = [one for one in re.findall(r"```python\n(.*?)```", PYTHON, re.DOTALL) if ">>> " not in one]
    for block in blocks:
        exec(block, {"folder": str(tmp_path)})


@pytest.mark.reference
def test_coverage_is_fresh() -> None:
    """docs/coverage.md is of the specs as they are: `archspec verify --coverage` renews it."""
    from archspec.verifying import coverage

    assert coverage.stale() == []
