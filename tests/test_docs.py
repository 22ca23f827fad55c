"""The documentation shows the current output of commands, and its links and Python examples work."""

from __future__ import annotations

import doctest
import importlib.util
import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
TEXTS["README.md"] = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = "docs/reference/python.md"  # its examples are the package's doctests
EXAMPLES = [name for name, text in TEXTS.items() if "\n>>> " in text and name != REFERENCE]
NEEDS_REFERENCE = "docs/how-to/your-own-model.md"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


commands = script("make_commands")


def pages(names: list[str]) -> list[Any]:
    marks = {NEEDS_REFERENCE: pytest.mark.reference}
    return [pytest.param(name, marks=marks.get(name, [])) for name in names]


@pytest.mark.parametrize("name", pages([path.relative_to(ROOT).as_posix() for path in commands.PAGES]))
def test_pages_show_what_commands_print(name: str, tmp_path: Path) -> None:
    shutil.copytree(commands.EXAMPLES, tmp_path, dirs_exist_ok=True)
    path = ROOT / name
    assert commands.page(path, tmp_path if path.name in commands.WORKED else ROOT) == TEXTS[name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_python_examples_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failures, tried = doctest.testfile(str(ROOT / name), module_relative=False, verbose=False)
    assert not failures and tried


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name: str) -> None:
    missing = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", TEXTS[name], flags=re.DOTALL)):
        path, _, anchor = target.partition("#")
        if path.startswith(("http:", "https:")):
            continue
        file = (ROOT / name).parent / path if path else ROOT / name
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            missing.append(target)
    assert missing == []


def _anchors(path: Path) -> list[str]:
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]


def test_every_page_is_in_the_index() -> None:
    listed = re.findall(r"\]\(([^)#]+\.md)", TEXTS["docs/contents.md"])
    pages = {Path(name).relative_to("docs").as_posix() for name in TEXTS if name != "README.md"}
    assert {page for page in pages if not page.startswith("decisions/2")} - {"contents.md"} == {*listed}


def test_example_files_are_those_on_the_page() -> None:
    text = TEXTS[NEEDS_REFERENCE]
    for name in ("byte_lm.py", "mymodels.py", "specs/byte_lm.yaml", "presets/pocket.yaml"):
        language = "python" if name.endswith(".py") else "yaml"
        assert f"```{language}\n{(DOCS / 'examples' / name).read_text()}```" in text


def test_every_verb_has_an_example() -> None:
    from archspec.tables.verbs import VERBS

    text = "".join(TEXTS.values())
    assert [verb for verb in VERBS if f"$ archspec {verb}" not in text] == []


def test_the_reference_is_fresh() -> None:
    """`python docs/make_reference.py` writes it."""
    reference = script("make_reference")
    stale = [name for name, text in reference.PAGES.items() if TEXTS[f"docs/reference/{name}"] != text()]
    assert stale == []


@pytest.mark.reference
def test_python_that_needs_the_reference_models_is_right(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The block without prompts: its assertions hold."""
    monkeypatch.chdir(ROOT)
    text = TEXTS["docs/how-to/use-from-python.md"]
    (block,) = [one for one in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if ">>> " not in one]
    exec(block, {"folder": str(tmp_path)})


@pytest.mark.reference
def test_coverage_is_fresh() -> None:
    """`archspec verify --coverage` renews docs/coverage.md."""
    from archspec.verifying import coverage

    assert coverage.stale_lines() == []
