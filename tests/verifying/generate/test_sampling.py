"""Random configs: what is drawn, and what an alteration of a line that was taken over says."""

from __future__ import annotations

from archspec.specs.library import shipped
from archspec.verifying.blame import blamed_places
from archspec.verifying.comparison import counted
from archspec.verifying.generate.sampling import Sampler


def test_a_text_that_is_told_from_all_others_is_not_drawn_alone() -> None:
    """LFM2's code compares a layer with "conv" only, and there is no default: others must be drawn, too."""
    sampler = Sampler(shipped().load("lfm2_moe"), 0)
    assert len({kind for _ in range(20) for kind in sampler.sample().get("layer_types", ())}) > 1


def test_a_part_that_is_null_by_default_is_drawn_too() -> None:
    sampler = Sampler(shipped().load("gemma4_unified"), 0)
    assert {type(sampler.sample().get("vision_config")) for _ in range(20)} == {dict, type(None)}


def test_what_a_part_is_called_with_is_refused_by_the_module_around_it() -> None:
    """TrOCR's decoder adds one to the padding's position for its embeddings: null fails there."""
    spec = shipped().load("trocr")
    raw = {"model_type": "trocr", "use_learned_position_embeddings": False}
    tree = counted(spec, "TrOCRForCausalLM", raw).tree
    lines = [
        place.line
        for place in blamed_places(spec, tree, "accepted", "", ("TrOCRDecoder", "TrOCRForCausalLM"))
    ]
    assert spec.modules["TrOCRSinusoidalPositionalEmbedding"].place.line in lines
    assert lines[0] == spec.modules["TrOCRDecoder"].place.line


def test_a_default_that_is_refused_is_mended_by_one_field_of_a_part() -> None:
    """Gemma 4 Unified's drafter shares the keys of all its layers by default: fewer will do."""
    spec = shipped().load("gemma4_unified_assistant")
    (architecture,) = spec.architectures
    sampler = Sampler(spec, 0)
    sampler.sample()
    assert sampler.mend(lambda raw: counted(spec, architecture, raw).error is None) is not None
