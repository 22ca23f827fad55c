"""Where specs are found, and which of several is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from archspec.errors import ArchspecError, ConfigError, SpecError, UnknownArchitectureError
from archspec.specs.library import Library, shipped


def write(folder: Path, **texts: str) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return str(folder)


def model(name: str, more: str = "") -> str:
    return f"model_type: {name}\n{more}architectures:\n  {name.capitalize()}Model:\n    a: Linear(1, 2)\n"


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """`one` and `two` of one's own, before a folder that has another `two`, and `three`."""
    own = write(tmp_path / "own", one=model("one"), two=model("two"), notation="D: {}\n")
    (tmp_path / "own" / "shared").mkdir()
    write(tmp_path / "own" / "shared", heads="model_type: heads\n")
    base = write(
        tmp_path / "base", two=model("two", "prefix: Base\n"), three=model("three", "extends: two\n")
    )
    return Library(own, base)


def test_the_first_folder_hides_the_others(library: Library) -> None:
    assert library.model_types() == ["one", "three", "two"]
    assert library.load("two").prefix == "Two"
    assert library.load("two") is library.load("two")
    assert library.load("three").library is library


def test_files_are_those_that_are_not_hidden_and_the_shared_parts(library: Library) -> None:
    parents = {name: Path(path).parent.name for name, path in library.files().items()}
    assert parents == {"one": "own", "two": "own", "three": "base", "heads": "shared"}


def test_architectures_are_found_by_name(library: Library) -> None:
    assert library.catalogue() == {
        "one": ("OneModel",),
        "two": ("TwoModel",),
        "three": ("ThreeModel",),
    }
    assert library.index() == {"OneModel": ("one",), "ThreeModel": ("three",), "TwoModel": ("two",)}
    assert library.model_type_of("ThreeModel") == "three"


@pytest.mark.parametrize(
    ("architecture", "model_type"),
    [
        ("LlamaForCausalLM", "llama"),
        ("BertModel", "bert"),
        ("CLIPTextModel", "clip_text_model"),
        ("Wav2Vec2ForCTC", "wav2vec2"),
    ],
)
def test_an_architecture_of_several_model_types_is_that_of_its_name(
    architecture: str, model_type: str
) -> None:
    assert shipped().model_type_of(architecture) == model_type


@pytest.mark.parametrize("name", ["", "thre", "../own/one", "one.yaml", "notation/x", "shared/heads"])
def test_what_no_spec_describes(library: Library, name: str) -> None:
    with pytest.raises(UnknownArchitectureError) as caught:
        library.load(name)
    assert caught.value.problems[0].message == f"no spec describes the model type {name!r}"
    assert caught.value.problems[0].help
    with pytest.raises(UnknownArchitectureError, match="no spec describes the architecture"):
        library.model_type_of(f"{name}Model")


def test_another_spec_in_the_place_of_one(library: Library) -> None:
    other = library.load("one")._replace(prefix="Other")
    changed = library.with_spec(other)
    assert changed.load("one").prefix == "Other" and library.load("one").prefix == "One"
    assert changed.load("two").library is changed, "sub-configs of that spec find the other one too"
    assert changed.load("one").library is changed and changed.model_types() == library.model_types()


def test_a_file_of_ones_own_finds_what_stands_beside_it(tmp_path: Path, library: Library) -> None:
    own = model("one").replace("a:", "mine:")
    write(tmp_path / "mine", child="model_type: child\nextends: one\n", one=own)
    child = library.load_file(str(tmp_path / "mine" / "child.yaml"))
    assert child.architectures == ("ChildModel",)
    body = child.modules["ChildModel"].body
    assert isinstance(body, dict) and list(body) == ["mine"]
    write(tmp_path / "mine", orphan=model("orphan", "extends: nobody\n"))
    with pytest.raises(SpecError, match="there is no spec 'nobody'"):
        library.load_file(str(tmp_path / "mine" / "orphan.yaml"))


@pytest.mark.parametrize(
    ("name", "data", "error", "message"),
    [
        ("gone", None, ConfigError, "No such file or directory"),
        ("latin", b"model_type: \xe9 a", SpecError, "the file is not UTF-8 text: .* at byte 12"),
        ("round", b"model_type: round\nextends: round\n", SpecError, "round is extended or used in a circle"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, library: Library, name: str, data: bytes | None, error: type[ArchspecError], message: str
) -> None:
    path = tmp_path / f"{name}.yaml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(error, match=message):
        library.load_file(str(path))
