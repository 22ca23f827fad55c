"""Tiers: tests marked `reference` need torch and transformers; all others run without either.

With `-m "not reference"`, torch and transformers cannot be imported, installed or not: a test that needs them
and does not say so fails on every machine. The fast tier also leaves out the tests in thorough.txt.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.abc
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

from archspec.cli.main import main
from archspec.configs.scope import Scope
from archspec.reference import Row, spec_rows
from archspec.reference.standins import stand_in
from archspec.specs import library
from archspec.specs.library import shipped_library
from archspec.specs.search_path import installed_library
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# marker -> a program that the test needs and pip does not install
THOROUGH = Path(__file__).parent / "thorough.txt"
PROGRAMS = {"latex": "pdflatex", "spark": "java", "zsh": "zsh", "fish": "fish"}
settings.register_profile("default", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("deep", deadline=None, max_examples=5000)  # --hypothesis-profile=deep
settings.load_profile("default")


class WithoutReference(importlib.abc.MetaPathFinder):
    """Blocks imports of torch and transformers in the fast tier."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in ("torch", "transformers"):
            raise ModuleNotFoundError(f"the fast tier lacks {name}: mark the test `reference`", name=name)


def pytest_configure(config: pytest.Config) -> None:
    if "not reference" in config.option.markexpr:
        sys.meta_path.insert(0, WithoutReference())
    else:
        stand_in()  # before any test imports transformers, which looks for packages once
        with contextlib.suppress(ImportError):  # its log handler keeps this stderr, not a test's
            from transformers.utils.logging import get_logger

            get_logger()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    thorough = set(THOROUGH.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid.partition("[")[0] in thorough:
            item.add_marker("thorough")
    gc.freeze()  # looking through imports, specs and tests for garbage took a fifth of the time
    gc.set_threshold(50_000, 20)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, program in PROGRAMS.items():
        if item.get_closest_marker(marker) and shutil.which(program) is None:
            pytest.skip(f"{program} is not installed on this machine")


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Done]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line, given as a text or as words; `code` is the exit code that it must have."""

    def run(line: str | list[str], *words: str, code: int | None = 0) -> Done:
        given = [*(line.split() if isinstance(line, str) else line), *words]
        done = Done(main(given), *capsys.readouterr())
        assert code in (None, done.code), (given, done)
        assert "Traceback" not in done.err and "bug of archspec" not in done.err, done.err
        return done

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def says(tmp_path: Path) -> Callable[..., list[Row]]:
    """The rows of the first architecture of a spec text, for a config."""

    def rows(text: str, /, **config: Any) -> list[Row]:
        path = tmp_path / "toy.yaml"
        path.write_text(f"model_type: toy\n{text}", encoding="utf-8")
        spec = shipped_library().load_file(str(path))
        scope = Scope(spec, config)
        scope.validate()
        return spec_rows(tensors(Builder(scope).build(spec.architectures[0])))

    return rows


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A directory with three specs: one with an error, one that is correct, and one with a syntax error."""
    folder = tmp_path / "formulas"
    folder.mkdir()
    (tmp_path / "docs").mkdir()
    shutil.copytree(Path(shipped_library().folder) / "shared", folder / "shared")
    part = folder / "shared" / "encoder.yaml"
    part.write_text(
        part.read_text().replace("query: Linear(hidden_size, hidden_size)", "query: Linear(hidden_size, 7)")
    )
    (folder / "bert.yaml").write_text(shipped_library().load("bert").source.text)
    (folder / "gpt2.yaml").write_text(shipped_library().load("gpt2").source.text)
    (folder / "llama.yaml").write_text("model_type: llama\nmodules: [\n")
    monkeypatch.setattr(library, "folder", lambda: str(folder))
    for library_of_specs in (shipped_library, installed_library):
        library_of_specs.cache_clear()
    yield folder
    for library_of_specs in (shipped_library, installed_library):
        library_of_specs.cache_clear()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session for all tests marked `spark`."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # it lives for seconds
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
    }
    with pytest.MonkeyPatch.context() as patch:  # pyspark checks whether torch is installed
        finders = [finder for finder in sys.meta_path if not isinstance(finder, WithoutReference)]
        patch.setattr(sys, "meta_path", finders)
        session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
