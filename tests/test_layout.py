"""Imports point one way, modules stay short, and a count pays only for what it uses."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "archspec"
MODULES = sorted(PACKAGE.rglob("*.py"))
# The flow, one stage a line (docs/design.md); a module imports from its own line and the lines above it.
STAGES = [
    {"errors"},
    {"nodes", "operations", "values", "layer_types", "catalogue", "show"},
    {"plain"},
    {"source"},
    {"expression", "layers"},
    {"spec"},
    {"inheritance", "module_parser"},
    {"spec_parser"},
    {"library"},
    {"origin", "scope", "texts"},
    {"config", "overrides", "notes", "settled"},
    {"tree"},
    {"tensors"},
    {"ties", "outline", "counts", "places", "resolve"},
    {"paths"},
    {"symbols"},
    {"decisions"},
    {"symbolic", "rows"},
    {"layer_counts"},
    {"quantities"},
    {"closed_form"},
    {"notation", "render"},
    {"forms"},
    {"model"},
    {"diff", "html", "lint", "schema"},
    {"diff_forms"},
]
ORACLE = {"oracle", "pool", "unmentioned", "derive"}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")


def imported(path: Path, everywhere: bool = True) -> set[str]:
    """Names of archspec's own modules that a module imports when it is imported (or anywhere in it)."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            skipped |= set(ast.walk(node))
        if not everywhere and isinstance(node, ast.FunctionDef):
            skipped |= set(ast.walk(node))
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("archspec"):
            base = (node.module or "").removeprefix("archspec").lstrip(".")
            found |= {base} if base else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_imports_point_one_way() -> None:
    level = {name: depth for depth, names in enumerate(STAGES) for name in names}
    wrong = []
    for path in MODULES:
        name = name_of(path)
        if name not in level:
            continue
        for other in imported(path, everywhere=False):
            if other in level and level[other] > level[name]:
                wrong.append(f"{name} imports {other}")
            if "." not in other and (PACKAGE / f"{other}.py").exists() and other not in level:
                wrong.append(f"{name} imports {other}, which is of a later stage")
    assert not wrong


def test_only_the_oracle_imports_torch_and_transformers() -> None:
    users = {
        name_of(path).partition(".")[0]
        for path in MODULES
        if any(name.partition(".")[0] in ("torch", "transformers") for name in imported(path))
    }
    assert users <= ORACLE


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_a_count_imports_nothing_heavy() -> None:
    config = PACKAGE.parent / "configs" / "openai-community--gpt2.json"
    code = (
        "import sys; from archspec.cli import main; code = main(['count', sys.argv[1]]);"
        "heavy = ('torch', 'transformers', 'sympy', 'rich', 'numpy', 'huggingface_hub', 'dataclasses', 'yaml');"
        "print([m for m in heavy if m in sys.modules]);"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(config)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "124,439,808" in done.stdout
