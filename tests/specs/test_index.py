"""The index is what parsing every spec gives, and holds only for the texts that it was made from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from archspec.specs import index
from archspec.specs.library import Library, shipped
from tools.index import main
from tools.index import text as written


def parsed(library: Library) -> dict[str, index.Entry]:
    """The entries without any index."""
    return index.entries((), library.files(), library.load_file)


def test_the_index_is_what_parsing_gives() -> None:
    found = shipped().catalogue()
    assert list(found) == shipped().model_types()
    assert found == {name: shipped().load(name).architectures for name in found}
    assert sum(map(len, found.values())) > 100
    assert (Path(shipped().folder) / index.FILE).read_text() == written(parsed(shipped()))


def test_the_index_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


@pytest.fixture
def own(tmp_path: Path) -> Library:
    """A folder with an index: a parent, its child, a model that has the child as a part, and another."""
    texts = {
        "parent": "model_type: parent\narchitectures:\n  ParentModel:\n    a: Linear(1, 1)\n",
        "child": "model_type: child\nextends: parent\n",
        "whole": "model_type: whole\nconfig:\n  part: = Config(child)\narchitectures:\n"
        "  WholeModel:\n    a: Linear(1, 1)\n",
        "other": "model_type: other\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    library = Library(str(tmp_path))
    (tmp_path / index.FILE).write_text(written(library.entries()))
    return library


def test_an_entry_holds_only_for_the_text_that_it_was_made_from(own: Library) -> None:
    before = own.entries()
    assert before["child"].architectures == ("ChildModel",)
    parent = Path(own.folder, "parent.yaml")
    parent.write_text(parent.read_text() + "  ParentHead:\n    a: Linear(1, 1)\n")
    assert own.entries()["child"].architectures == ("ChildModel", "ChildHead")
    assert own.entries() == parsed(own)
    Path(own.folder, "new.yaml").write_text("model_type: new\nextends: child\n")
    assert Library(own.folder).catalogue()["new"] == ("NewModel", "NewHead")
    parent.unlink()
    assert "parent" not in own.entries()


def test_a_file_that_is_not_well_formed_keeps_what_was_known_of_it(own: Library) -> None:
    Path(own.folder, "parent.yaml").write_text("model_type: parent\narchitectures: [\n")
    assert own.catalogue()["parent"] == ("ParentModel",)
    assert index.dependents({"parent"}, own.entries()) == {"parent", "child", "whole"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"parent": 1}', '{"parent": [[], "", ""]}'])
def test_an_index_that_cannot_be_read_is_none(own: Library, text: str) -> None:
    Path(own.folder, index.FILE).write_text(text)
    assert own.entries() == parsed(own)


def test_a_digest_follows_parents_and_parts(own: Library) -> None:
    before = index.whole_digests(own.entries(), own.files())
    child = Path(own.folder, "child.yaml")
    child.write_text(child.read_text() + "# changed\n")
    after = index.whole_digests(own.entries(), own.files())
    assert {name for name in after if after[name] != before[name]} == {"child", "whole"}


def test_a_folder_before_another_hides_its_specs(own: Library, tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    shutil.copy(Path(own.folder, "parent.yaml"), first / "parent.yaml")
    with open(first / "parent.yaml", "a") as file:
        file.write("  ParentTail:\n    a: Linear(1, 1)\n")
    both = Library(str(first), own.folder)
    found = both.catalogue()
    assert (found["parent"], found["child"]) == (("ParentModel", "ParentTail"), ("ChildModel",))
    assert both.model_type_of("ParentTail") == "parent"
    assert own.catalogue()["child"] == ("ChildModel",)


def test_dependents_follow_parents_parts_and_shared_files() -> None:
    entries = shipped().entries()
    assert {"mistral", "mixtral"} <= index.dependents({"llama"}, entries)
    assert {"clip", "llava"} <= index.dependents({"clip_vision_model"}, entries)
    assert "llama" in index.dependents({"heads"}, entries)
    assert "detr" in index.dependents({"resnet"}, entries)  # only one of two that a condition chooses between
    assert index.dependents({"gpt2"}, entries) & {"bert", "llama"} == set()
