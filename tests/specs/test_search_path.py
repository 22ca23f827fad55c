"""Users' specs are found by model type, class and in configs, before the shipped ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import archspec
from archspec.errors import ArchspecError, UnknownArchitectureError
from archspec.specs.search_path import library_of

TINY = """# tiny: a small model
# code: mymodels.py
model_type: tiny
uses: [shared/heads]
config:
  width: 8
  depth: 2
architectures:
  Tiny:
    layers: Linear(width, width) for i in range(depth)
"""
SMALL = "# a small llama\n# code: mine.py\nmodel_type: llama\nextends: llama\nconfig:\n  hidden_size: 64\n"


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    (tmp_path / "tiny.yaml").write_text(TINY)
    return tmp_path


def test_they_are_found_by_model_type_class_and_config(specs: Path) -> None:
    for source in ("tiny", "Tiny", {"model_type": "tiny"}, {"architectures": ["Tiny"]}):
        assert archspec.load(source, specs=specs).params == 2 * (64 + 8)
    assert archspec.load({"model_type": "tiny", "width": 2}, specs=[specs]).params == 2 * (4 + 2)
    (specs / "tiny.yaml").write_text(TINY.replace("depth: 2", "depth: 1"))
    assert archspec.load("tiny", specs=specs).params == 72
    assert "Tiny" in archspec.architectures(specs) and "Tiny" not in archspec.architectures()
    with pytest.raises(UnknownArchitectureError):
        archspec.load("tiny")


def test_every_function_takes_them(specs: Path) -> None:
    assert archspec.formula("Tiny", specs=specs).evaluate(depth=1) == 72
    assert archspec.diff("Tiny", "Tiny", set_b={"depth": 3}, specs=specs).difference == 72
    grid = archspec.sweep("Tiny", {"depth": [1, 2]}, specs=specs)
    assert [row["params"] for row in grid.rows()] == [72, 144]
    best = archspec.solve("Tiny", ["depth"], params=720, specs=specs)[0]
    assert best.values == {"depth": 10} and best.config["model_type"] == "tiny"


def test_a_named_directory_precedes_the_environment(
    specs: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "tiny.yaml").write_text(TINY.replace("depth: 2", "depth: 5"))
    monkeypatch.setenv("ARCHSPEC_PATH", os.pathsep.join(["", str(other)]))
    assert archspec.load("tiny").params == 5 * 72
    model = archspec.load("tiny", specs=specs)
    assert model.params == 2 * 72
    assert f"the spec of tiny is read from {specs}/tiny.yaml, instead of {other}/tiny.yaml" in model.notes


def test_a_shipped_type_is_extended_and_replaced_and_others_stay(specs: Path) -> None:
    (specs / "llama.yaml").write_text(SMALL)
    mine = archspec.load("llama", specs=specs)
    assert mine.scope.get("hidden_size") == 64
    assert any("instead of formulas/llama.yaml" in note for note in mine.notes)
    assert not any("instead of" in note for note in archspec.load("mistral", specs=specs).notes)
    assert archspec.load("mistral", specs=specs).params == archspec.load("mistral").params  # extends: llama
    with pytest.raises(ArchspecError, match="not validated against transformers"):
        mine.forward()


def test_costs_are_refused_if_a_part_has_another_spec(specs: Path) -> None:
    part = "# a part\n# code: mine.py\nmodel_type: persimmon\nextends: persimmon\n"
    (specs / "persimmon.yaml").write_text(part)
    model = archspec.load("FuyuForCausalLM", specs=specs)
    assert any("the spec of persimmon is read from" in note for note in model.notes)
    with pytest.raises(ArchspecError, match="another spec of persimmon"):
        model.forward(tokens=7)


def test_a_wrong_file_is_reported_with_an_unknown_class(specs: Path) -> None:
    (specs / "bad.yaml").write_text("model_type: bad\narchitectures: [\n")
    assert archspec.load("Tiny", specs=specs).params == 144
    with pytest.raises(UnknownArchitectureError, match=r"bad\.yaml:\d+:\d+: invalid YAML"):
        archspec.load("BadModel", specs=specs)
    with pytest.raises(ArchspecError, match=r"bad\.yaml:\d+:\d+: invalid YAML"):
        archspec.load("bad", specs=specs)


@pytest.mark.parametrize("name", ["none", "tiny.yaml", "empty", "a\0b"])
def test_wrong_directories_are_refused(specs: Path, name: str) -> None:
    (specs / "empty").mkdir()
    with pytest.raises(ArchspecError, match="no .yaml" if name == "empty" else "is not a directory"):
        library_of(f"{specs}/{name}")


def test_other_entries_of_a_directory_are_ignored(specs: Path) -> None:
    (specs / "folder.yaml").mkdir()
    (specs / "two words.yaml").write_text(TINY)
    (specs / "gone.yaml").symlink_to(specs / "nowhere")
    assert archspec.load("Tiny", specs=specs).params == 144
    assert {*library_of(specs).model_types()} - {*library_of().model_types()} == {"tiny"}
    with pytest.raises(UnknownArchitectureError):
        archspec.load("GoneModel", specs=specs)


def test_a_users_spec_stands_for_the_code_of_a_checkpoint(specs: Path) -> None:
    config = {"model_type": "tiny", "auto_map": {"AutoModel": "modeling_tiny.Tiny"}}
    assert not any("auto_map" in note for note in archspec.load(config, specs=specs).notes)
    with pytest.raises(UnknownArchitectureError, match="is custom code in the checkpoint"):
        archspec.load(config)


def installed(site: Path, package: str, entry_point: str) -> None:
    """Create an installed distribution: a package of specs, and its metadata."""
    info = site / "brings_specs-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brings-specs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[archspec.specs]\n{entry_point}\n")
    (site / package).mkdir(parents=True)
    (site / package / "__init__.py").write_text("raise SystemExit('this is not run')\n")
    (site / package / "tiny.yaml").write_text(TINY)


def run(site: Path, *command: str) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; from archspec.cli.main import main; code = main(sys.argv[1:]);"
        "print('importlib.metadata' in sys.modules); sys.exit(code)"
    )
    path = os.pathsep.join([str(site), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "120"}
    return subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, env=environment
    )


def test_another_package_brings_specs(tmp_path: Path) -> None:
    installed(tmp_path, "brings/specs", "mine = brings.specs")
    by_class = run(tmp_path, "count", "Tiny")
    assert by_class.returncode == 0 and "144" in by_class.stdout
    listed = run(tmp_path, "list", "tiny")
    assert f"note: tiny is in {tmp_path}/brings/specs/tiny.yaml" in listed.stdout
    for shipped_one in ("gpt2", "GPT2LMHeadModel"):
        assert run(tmp_path, "count", shipped_one).stdout.splitlines()[-1] == "False"


def test_a_missing_package_is_reported_with_an_unknown_name(tmp_path: Path) -> None:
    installed(tmp_path, "brings", "mine = gone.specs")
    assert run(tmp_path, "count", "gpt2").returncode == 0
    missed = run(tmp_path, "count", "tiny")
    assert missed.returncode == 2 and "the entry point mine = gone.specs of archspec.specs" in missed.stderr
