"""The check of names that config classes read: it finds nothing, and finds a name that a spec lacks."""

from __future__ import annotations

import pytest

from archspec.specs.library import Library, shipped_library
from tools import config_names

pytestmark = pytest.mark.reference
_SOME = ("aria", "deepseek_v2", "dots3_note_audio_encoder", "mistral_large4_text", "step3p5", "qwen3_moe")


@pytest.mark.parametrize("model_type", _SOME)
def test_no_name_is_read_otherwise(model_type: str) -> None:
    assert [*config_names.faults(model_type)] == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_no_name_of_any_model_type_is_read_otherwise(part: int) -> None:
    assert config_names.main(shipped_library().model_types()[part::10]) == 0


def test_a_name_that_a_spec_lacks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(shipped_library().folder)
    names = library.load("mistral_large4_text").attribute_map
    names.clear()
    names["num_local_experts"] = "n_routed_experts"
    monkeypatch.setattr(config_names, "shipped_library", lambda: library)
    found = {(fault.name, fault.fields) for fault in config_names.faults("mistral_large4_text")}
    assert found == {("num_experts", ("n_routed_experts",))}
