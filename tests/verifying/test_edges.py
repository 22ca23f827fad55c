"""Values at an edge: null under another name, what transformers computes, no layers; and the lines named."""

from __future__ import annotations

from pathlib import Path

import pytest

from archspec.configs.scope import Scope
from archspec.errors import ConfigError
from archspec.specs.library import shipped
from archspec.verifying.blame import blamed_places, refusing_places
from archspec.verifying.comparison import counted
from archspec.verifying.defaults import setting_differences
from archspec.verifying.generate.choices import misfits
from archspec.verifying.undeclared import layer_lists
from archspec.verifying.verifier import Verifier
from tools.alterations import alterations


def test_null_under_another_name_is_no_value() -> None:
    """transformers sets the other name last, null as well."""
    assert Scope(shipped().load("gpt2"), {"n_layer": 3}).get("n_layer") == 3
    with pytest.raises(ConfigError, match="num_hidden_layers: is null, but n_layer, the same field, is 3"):
        Scope(shipped().load("gpt2"), {"n_layer": 3, "num_hidden_layers": None})
    with pytest.raises(ConfigError, match="n_layer: null is not int"):  # its own name is checked too
        Scope(shipped().load("gpt2"), {"n_layer": None, "num_hidden_layers": 3}).get("n_layer")
    assert Scope(shipped().load("dbrx"), {"n_layers": None, "num_hidden_layers": 3}).get("n_layers") == 3
    with pytest.raises(ConfigError, match="transformers requires"):  # DBRX's own name is read as it is given
        Scope(
            shipped().load("dbrx"), {"d_model": None, "hidden_size": 1, "attn_config": {"rope_theta": 1}}
        ).validate()


def test_the_lines_of_local_names_are_named_where_a_module_is_given_by_a_call(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(
        "model_type: toy\nconfig: {d: 4, heads: 2}\nmodules:\n  Attention(size):\n    where:\n"
        "      width: heads * size\n    k_proj: Linear(d, width)\n  SlidingAttention: Attention(3)\n"
        "architectures:\n  ToyModel:\n    attn: SlidingAttention()\n"
    )
    spec = shipped().load_file(str(path))
    tree = counted(spec, "ToyModel", {"model_type": "toy"}).tree
    width = spec.modules["Attention"].where["width"].place.line
    places = blamed_places(spec, tree, "shape", "attn.k_proj.weight", "attn.k_proj.weight")
    assert width in [place.line for place in places]


def test_an_expression_over_several_lines_is_named_by_its_first() -> None:
    altered = next(one for one in alterations("moshi") if one.what.startswith("fixed.audio_codes"))
    spec, raw = altered.load("moshi"), {"model_type": "moshi"}
    ours = counted(spec, "MoshiModel", raw)
    assert ours.error is not None
    lines = {place.line for place in refusing_places(spec, "MoshiModel", raw, None, ours.error)}
    assert altered.lines & lines


@pytest.mark.reference
@pytest.mark.parametrize("model_type", ["gemma3_text", "olmo3", "modernbert", "zaya", "lfm2"])
def test_layers_of_every_kind_are_counted_as_transformers_does_or_refused(model_type: str) -> None:
    """LFM2 takes all but `conv` for attention; Gemma 3 has rotary positions for two kinds only."""
    spec = shipped().load(model_type)
    verifier = Verifier(spec, spec.architectures[0], 1, 0)
    verifier.run()
    kinds = [
        raw
        for raw in misfits(spec, verifier.sampler.accepted[0], layer_lists(spec))
        if raw.get("layer_types")
    ]
    assert len(kinds) >= 14
    assert [
        found for raw in kinds for found in verifier.comparer.compare(raw)[0] if found.kind != "refused"
    ] == []


def test_a_name_that_transformers_computes_is_refused() -> None:
    with pytest.raises(ConfigError, match="layer_types: transformers computes this field"):
        Scope(shipped().load("falcon_mamba"), {"layer_types": ["linear_attention"]}).validate()
    with pytest.raises(
        ConfigError, match="layer_types: transformers computes this field"
    ):  # under its other name too
        Scope(shipped().load("recurrent_gemma"), {"layer_types": None}).validate()


@pytest.mark.reference
def test_a_computed_name_that_the_spec_lacks_is_a_difference() -> None:
    spec = shipped().load("mamba")
    (found,) = setting_differences(spec._replace(readonly={}))
    assert (found.kind, found.name, found.expected) == ("readonly", "layer_types", "readonly")
    more = {"hidden_act": spec.readonly["layer_types"], **spec.readonly}
    assert [one.found for one in setting_differences(spec._replace(readonly=more))] == ["readonly"]


def test_true_is_no_number_of_heads() -> None:
    with pytest.raises(ConfigError, match="num_key_value_heads: true is not int or null"):
        Scope(shipped().load("seed_oss"), {"num_key_value_heads": True}).validate()
    spec = shipped().load("seed_oss")
    raws = [
        raw for raw in misfits(spec, {"num_hidden_layers": 1}, ()) if raw.get("num_key_value_heads") is True
    ]
    assert raws and all(counted(spec, "SeedOssModel", raw).error for raw in raws)


def test_swin_without_stages_is_half_as_wide() -> None:
    """transformers takes int(96 * 2 ** -1)."""
    assert Scope(shipped().load("swin"), {"depths": [], "num_heads": []}).get("hidden_size") == 48


@pytest.mark.reference
def test_what_the_model_refuses_without_layers_is_not_left_to_them() -> None:
    """Persimmon's rotary embedding divides by the heads, as its layers do; without layers it still does."""
    spec = shipped().load("persimmon")
    found = Verifier(spec._replace(require=()), "PersimmonModel", 1, 0).run().differences
    assert found and {one.kind for one in found} == {"accepted"}
    assert all(one.config["num_hidden_layers"] == one.config["num_attention_heads"] == 0 for one in found)
