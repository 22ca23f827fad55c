"""Imports go in one direction, modules and functions are short, and a count imports little."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "archspec"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
OWN = [path for path in MODULES if "deriving" not in path.parts]  # deriving is only moved, not yet polished
TESTS = ROOT / "tests"
MAX_MODULES, MAX_LINES, MAX_FUNCTION = 12, 300, 60
REFERENCE = {"reference", "verifying", "deriving"}
HEAVY = (
    *("torch", "transformers", "sympy", "rich", "numpy", "huggingface_hub"),
    *("dataclasses", "yaml", "argparse", "typing"),
)


def table(head: str) -> list[list[str]]:
    """The rows of a table of docs/design.md, by its first column's name."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    lines = page.partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def order() -> list[str]:
    """The packages of docs/design.md, from the bottom up."""
    return [package.strip("`") for package, *_ in table("package")]


def name_of(path: Path) -> str:
    """`configs.scope` for archspec/configs/scope.py; `configs` for its `__init__`, nothing for the root's."""
    name = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
    return name.removesuffix("__init__").removesuffix(".")


NAMES = {name_of(path) for path in MODULES}


def imported(path: Path) -> set[str]:
    """The modules of archspec that a module imports anywhere: in functions, and for types, too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "archspec":
            base = (node.module or "").removeprefix("archspec").lstrip(".")
            inner = {f"{base}.{alias.name}".lstrip(".") for alias in node.names}
            found |= (inner & NAMES) | ({base} if inner - NAMES else set())
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.removeprefix("archspec").lstrip(".")
                for alias in node.names
                if "archspec" in alias.name
            }
    return found


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_every_package_is_in_the_list() -> None:
    listed = order()
    assert len(listed) == len(set(listed))
    assert {name.partition(".")[0] for name in NAMES} - {"", "__main__"} == set(listed)


@pytest.mark.parametrize("row", table("package"), ids=lambda row: row[0])
def test_every_module_is_in_the_list(row: list[str]) -> None:
    package, _, rooms = row
    folder = PACKAGE / package.strip("`")
    found = {path.stem for path in folder.glob("[a-z]*.py")} | {
        path.parent.name for path in folder.glob("*/__init__.py")
    }
    assert set(re.findall(r"`(\w+)`", rooms)) == (set() if folder.name == "deriving" else found)


def test_files_that_say_where_to_change_what_exist() -> None:
    rows = table("to change")
    files = [file for _, cell in rows for file in re.findall(r"`([a-z]+/[\w/.]+)`", cell)]
    assert len(rows) >= 18 and len(files) >= len(rows)
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_imports_go_down_the_list() -> None:
    level = {name: depth for depth, name in enumerate(order())}
    level[""] = level["cli"]  # the public interface imports all rooms but that one, which alone imports it
    wrong = []
    for path in MODULES:
        own = name_of(path).partition(".")[0]
        for other in imported(path):
            theirs = other.partition(".")[0]
            if own != "__main__" and level[theirs] > level[own]:
                wrong.append(f"{name_of(path)} imports {other or 'archspec'}")
    assert not wrong


def test_derive_is_entered_through_one_door() -> None:
    outside = {name_of(path): imported(path) for path in OWN}
    assert {
        name for name, used in outside.items() if any(one.startswith("deriving.") for one in used)
    } == set()


def test_no_imports_go_round_in_a_circle() -> None:
    graph = {name_of(path): imported(path) - {name_of(path)} for path in OWN}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_only_these_import_torch_and_transformers() -> None:
    users = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.partition(".")[0] in ("torch", "transformers") for name in names):
                users.add(name_of(path).partition(".")[0])
    assert users <= REFERENCE


@pytest.mark.parametrize("path", OWN, ids=name_of)
def test_modules_and_functions_stay_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    assert lines <= MAX_LINES
    sizes = {one.name: (one.end_lineno or 0) - one.lineno + 1 for one in functions(ast.parse(text))}
    assert {name: size for name, size in sizes.items() if size > MAX_FUNCTION} == {}


def test_packages_stay_small() -> None:
    sizes = {folder: len(list(folder.glob("[a-z]*.py"))) for folder in {path.parent for path in OWN}}
    assert {folder.name: size for folder, size in sizes.items() if size > MAX_MODULES} == {}


def test_tests_mirror_the_rooms() -> None:
    folders = {path.name for path in TESTS.iterdir() if list(path.glob("*.py"))}
    assert folders <= {*order(), "tools"}, "tests of several packages are in tests/ itself"
    modules = {path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py")}
    tried = {
        name_of(path).partition(".")[0] for path in MODULES if ">>> " in path.read_text(encoding="utf-8")
    }
    assert set(order()) <= folders | modules | tried


def test_thorough_tests_exist() -> None:
    for line in (TESTS / "thorough.txt").read_text(encoding="utf-8").splitlines()[1:]:
        path, _, name = line.partition("::")
        assert f"def {name.rpartition('.')[2]}(" in (ROOT / path).read_text(encoding="utf-8"), line


def test_no_test_is_skipped() -> None:
    """Tests that need the reference model, or a program outside pip, are marked: see conftest.py."""
    skips = re.compile(r"importorskip|pytest\.skip|mark\.(?:skip|xfail)")
    paths = [path for path in TESTS.rglob("*.py") if path not in (Path(__file__), TESTS / "conftest.py")]
    assert [path.name for path in paths if skips.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("source", ["configs/openai-community--gpt2.json", "GPT2LMHeadModel"])
def test_a_count_imports_nothing_heavy(source: str) -> None:
    code = (
        "import sys; before = {*sys.modules};"
        "from archspec.cli.main import main; code = main(['count', sys.argv[1]]);"
        f"print([name for name in {HEAVY} if name in sys.modules.keys() - before]);"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, source], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "124,439,808" in done.stdout
