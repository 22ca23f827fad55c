"""The tree of a model: the same text and the same data as `archspec tree`, and HTML for notebooks."""

from __future__ import annotations

import json

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import ArchspecError

NAMES = ["BertForMaskedLM", "MixtralForCausalLM", "T5Model", "CLIPModel"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("depth", [None, 0, 3])
def test_the_text_is_that_of_the_command(
    name: str, depth: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = archspec.load(name).tree
    options = [] if depth is None else ["--depth", str(depth)]
    assert main(["tree", name, *options]) == 0
    assert capsys.readouterr().out == tree.text(depth) + "\n"
    assert main(["tree", name, *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == tree.as_json(depth)


def test_printed_and_shown_without_being_asked() -> None:
    tree = archspec.load("BertModel").tree
    assert str(tree) == repr(tree) == tree.text()
    assert tree.text(1).count("\n") == 4


def test_html_has_a_row_for_each_module_and_is_escaped() -> None:
    tree = archspec.load("BertModel").tree
    html = tree._repr_html_()
    assert html.count("<tr>") == html.count("</tr>") == tree.text().count("\n") + 1
    assert "12 × BertLayer" in html and tree.html(0).count("<tr>") == 2
    tree.root = tree.root._replace(label="<script>")
    assert "<script>" not in tree.html()


@pytest.mark.parametrize("depth", [-1, 1.5, "2", True])
def test_a_depth_that_is_none_is_refused(depth: object) -> None:
    with pytest.raises(ArchspecError, match="depth is"):
        archspec.load("BertModel").tree.text(depth)  # type: ignore[arg-type]
