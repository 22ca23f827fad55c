"""The built distributions are complete, and run without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

import pytest
import yaml

import archspec

ROOT = Path(__file__).parent.parent
CONFIG = ROOT / "configs" / "openai-community--gpt2.json"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAPERS = {"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=600)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return a function that runs Python with the wheel installed, in a new directory."""
    (wheel,) = built.glob("*.whl")
    target, elsewhere = tmp_path_factory.mktemp("target"), tmp_path_factory.mktemp("elsewhere")
    how = ["--no-deps", "--no-index", "--no-compile", "--quiet", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *how, str(wheel)], check=True, timeout=600)
    environment = {**os.environ, "PYTHONPATH": str(target), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def files(*folders: str) -> set[str]:
    """Return the files of directories of the checkout, without Python's caches."""
    paths = {path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()}
    return {path.relative_to(ROOT).as_posix() for path in paths if "__pycache__" not in path.parts}


def test_the_wheel_is_complete(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = files("archspec") | {f"archspec/{name}" for name in files("formulas") if name.endswith(".json")}
    assert {name for name in names if ".dist-info/" not in name} == wanted
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    compiled = zipfile.ZipFile(wheel).read("archspec/formulas/specs.json")
    assert compiled == (ROOT / "formulas" / "specs.json").read_bytes(), "run python -m tools.release"


def test_the_sdist_is_complete(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert files("archspec", "formulas", "configs", "tests", "tools", "docs", "benchmarks") | PAPERS <= names
    assert {"check", "constraints.txt", "action.yml", ".pre-commit-hooks.yaml"} <= names
    assert {"web/package.json", "web/engine/page.py", ".github/workflows/pages.yml"} <= names
    assert not [name for name in names if name.startswith(("web/node_modules", "web/public", "web/dist"))]


def test_the_wheel_runs(installed: Callable[..., str]) -> None:
    assert str(ROOT) not in installed("-c", "import archspec; print(archspec.__file__)")
    assert "124,439,808" in installed("-m", "archspec", "count", str(CONFIG))
    assert "109,482,240" in installed("-m", "archspec", "count", "BertModel")
    assert installed("-m", "archspec", "formula", "GPT2Model").startswith("params of GPT2Model = ")
    assert installed("-m", "archspec", "lint", "--schema").startswith("{")
    assert "212,600,881,152" in installed("-m", "archspec", "flops", "GPT2Model")
    loaded = f"import sys, archspec; archspec.load({str(CONFIG)!r}).params; print(*sys.modules)"
    assert "yaml" not in installed("-c", loaded).split()
    assert "1 file, no problems" in installed("-m", "archspec", "lint", str(ROOT / "formulas" / "bert.yaml"))


def test_the_papers_agree() -> None:
    """All files state the same license and version."""
    cited = yaml.load((ROOT / "CITATION.cff").read_text(encoding="utf-8"), yaml.BaseLoader)
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert (cited["license"], cited["version"]) == (PROJECT["license"], archspec.__version__)
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text()
    assert f"## {archspec.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
