"""`archspec verify --changed` with another release of transformers."""

from __future__ import annotations

from pathlib import Path

import pytest

from archspec.cli import release
from archspec.specs.exported import ModelType, exported_types

pytestmark = pytest.mark.reference


def test_nothing_is_new_with_the_release_of_the_specs() -> None:
    found = release.changes()
    assert not release.is_another()
    assert (found.new, found.gone) == ([], [])
    assert "BertModel" in found.both["bert"]
    assert "Llama4ForCausalLM" in found.both["llama4_text"]


def test_a_class_of_one_release_alone_is_new_or_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    older = {name: found for name, found in exported_types().items() if name != "mobilenet_v1"}
    older["bygone"] = ModelType({"BygoneModel": exported_types()["bert"].classes["BertModel"]}, {}, ())
    monkeypatch.setattr(release, "exported_types", lambda: older)
    found = release.changes()
    assert found.gone == [("bygone", "BygoneModel")]
    assert {model_type for model_type, _ in found.new} == {"mobilenet_v1"}
    drafts = release.draft_classes(found.new, str(tmp_path))
    assert drafts == {"mobilenet_v1": f"draft: {tmp_path / 'mobilenet_v1.yaml'}"}
    assert "MobileNetV1Model:" in (tmp_path / "mobilenet_v1.yaml").read_text()
