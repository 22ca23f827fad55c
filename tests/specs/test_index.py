"""The compiled specs and their index: what parsing gives, used only while a file has the compiled text."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from archspec.errors import ArchspecError
from archspec.specs import files, index
from archspec.specs.library import Library, shipped_library
from tools.release import compiled_specs, main

TEXTS = {  # a parent, its child, a model that has the child as a part, and another
    "parent": "model_type: parent\narchitectures:\n  ParentModel:\n    a: Linear(1, 1)\n",
    "child": "model_type: child\nextends: parent\n",
    "whole": "model_type: whole\nconfig:\n  part: = Config(child)\narchitectures:\n"
    "  WholeModel:\n    a: Linear(1, 1)\n",
    "other": "model_type: other\n",
}


def test_the_catalog_is_what_parsing_gives() -> None:
    found = shipped_library().catalog()
    assert list(found) == shipped_library().model_types()
    assert found == {name: shipped_library().load(name).architectures for name in found}
    assert sum(map(len, found.values())) > 100


def test_generated_files_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A directory of YAML files with its compiled file, in place of the shipped one."""
    (tmp_path / "formulas").mkdir()
    for name, text in {**TEXTS, "contractions": "{}\n", "notation": "{}\n"}.items():
        (tmp_path / "formulas" / f"{name}.yaml").write_text(text)
    library = Library(str(tmp_path / "formulas"))
    monkeypatch.setattr(files, "folder", lambda: library.folder)
    Path(library.folder, files.COMPILED).write_text(compiled_specs(library))
    use_compiled(files.Compiled(library.folder), monkeypatch)
    return library


def use_compiled(compiled: files.Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "compiled_specs", lambda: compiled)


def test_a_compiled_file_is_read_without_pyyaml(own: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archspec.specs.module_parser.parse_yaml", None)
    assert own.load("child").architectures == ("ChildModel",)
    assert own.index()["ParentModel"] == ["parent"]


def test_a_changed_file_is_read_from_yaml(own: Library) -> None:
    parent = Path(own.folder, "parent.yaml")
    parent.write_text(parent.read_text() + "  ParentHead:\n    a: Linear(1, 1)\n")
    assert own.load("child").architectures == ("ChildModel", "ChildHead")
    assert own.entries()["child"].architectures == ("ChildModel", "ChildHead")
    assert own.entries() == own.entries(from_scratch=True)
    Path(own.folder, "new.yaml").write_text("model_type: new\nextends: child\n")
    assert Library(own.folder).catalog()["new"] == ("NewModel", "NewHead")
    parent.unlink()
    assert "parent" not in own.entries()


def test_a_compiled_file_stands_for_missing_yaml_files(own: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    before = own.entries()
    for path in Path(own.folder).glob("*.yaml"):
        path.unlink()
    alone = files.Compiled(own.folder)
    assert alone.alone
    use_compiled(alone, monkeypatch)
    assert Library(own.folder).entries() == before
    assert sorted(Library(own.folder).files()) == sorted(TEXTS)
    assert Library(own.folder).load("child").architectures == ("ChildModel",)
    with pytest.raises(ArchspecError, match="there is no file"):
        files.read(str(Path(own.folder, "absent.yaml")))


def test_an_invalid_file_is_reported_once(own: Library) -> None:
    assert index.dependents({"parent"}, own.entries()) == {"parent", "child", "whole"}
    Path(own.folder, "parent.yaml").write_text("model_type: parent\narchitectures: [\n")
    assert own.catalog()["parent"] == own.catalog()["child"] == ()
    assert own.catalog()["whole"] == ("WholeModel",) and len(own.unread) == 1
    with pytest.raises(ArchspecError, match=r"parent.yaml:3:1: invalid YAML"):
        compiled_specs(own)


def test_without_a_compiled_file_yaml_is_read(own: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    before = own.entries()
    Path(own.folder, files.COMPILED).unlink()
    use_compiled(files.Compiled(own.folder), monkeypatch)
    assert own.entries() == before
    assert own.load("child").architectures == ("ChildModel",)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("model_type: child", "# a comment\nmodel_type:   child", set()),
        ("extends: parent", "extends: parent\nnotes: {a: b}\nvalid_config: {a: 1}", set()),
        ("extends: parent", "extends: parent\nfixed: {a: 1}", {"child", "whole"}),
    ],
)
def test_a_digest_covers_the_keys_that_counts_depend_on(
    own: Library, old: str, new: str, changed: set[str]
) -> None:
    before = index.whole_digests(own.entries(), own.files())
    child = Path(own.folder, "child.yaml")
    child.write_text(child.read_text().replace(old, new))
    after = index.whole_digests(own.entries(), own.files())
    assert {name for name in after if after[name] != before[name]} == changed


def test_a_folder_before_another_hides_its_specs(own: Library, tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    shutil.copy(Path(own.folder, "parent.yaml"), first / "parent.yaml")
    with open(first / "parent.yaml", "a") as file:
        file.write("  ParentTail:\n    a: Linear(1, 1)\n")
    both = Library(str(first), own.folder)
    found = both.catalog()
    assert (found["parent"], found["child"]) == (("ParentModel", "ParentTail"), ("ChildModel",))
    assert both.model_type_of("ParentTail") == "parent"
    assert own.catalog()["child"] == ("ChildModel",)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("llama", "mistral mixtral"),
        ("clip_vision_model", "clip llava"),
        ("heads", "llama"),
        ("resnet", "detr"),  # only one of two model types that a condition chooses between
    ],
)
def test_dependents_follow_parents_parts_and_shared_files(name: str, found: str) -> None:
    entries = shipped_library().entries()
    assert {*found.split()} <= index.dependents({name}, entries)
    assert index.dependents({"gpt2"}, entries) & {"bert", "llama"} == set()
