"""Values at an edge: null under another name, fields that transformers computes, zeros, no layers."""

from __future__ import annotations

from typing import Any

import pytest

from archspec.configs.scope import Scope
from archspec.errors import ConfigError
from archspec.specs.library import shipped_library
from archspec.verifying.comparison import count
from archspec.verifying.defaults import setting_differences
from archspec.verifying.generate.choices import misfit_configs
from archspec.verifying.undeclared import layer_lists
from archspec.verifying.verifier import Verifier

COMPUTED = "layer_types is computed by transformers"
DBRX: dict[str, Any] = {"d_model": None, "hidden_size": 1, "attn_config": {"rope_theta": 1}}


@pytest.mark.parametrize(
    ("model_type", "raw", "field", "expected"),
    [  # transformers sets the other name last, null as well
        ("gpt2", {"n_layer": 3}, "n_layer", 3),
        ("dbrx", {"n_layers": None, "num_hidden_layers": 3}, "n_layers", 3),
        ("swin", {"depths": [], "num_heads": []}, "hidden_size", 48),  # int(96 * 2 ** -1)
    ],
)
def test_values_at_an_edge(model_type: str, raw: dict[str, Any], field: str, expected: int) -> None:
    assert Scope(shipped_library().load(model_type), raw).get(field) == expected


NULLS = "num_hidden_layers is null, but n_layer, the same field, is 3"


@pytest.mark.parametrize(
    ("model_type", "raw", "message"),
    [
        ("gpt2", {"n_layer": 3, "num_hidden_layers": None}, NULLS),
        ("gpt2", {"n_layer": None, "num_hidden_layers": 3}, "n_layer must be an integer, not null"),
        ("dbrx", DBRX, "transformers requires"),  # DBRX's own name is read as it is given
        ("falcon_mamba", {"layer_types": ["linear_attention"]}, COMPUTED),
        ("recurrent_gemma", {"layer_types": None}, COMPUTED),  # under its other name
        ("seed_oss", {"num_key_value_heads": True}, "must be an integer or null, not true"),
    ],
)
def test_refused_values(model_type: str, raw: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        scope = Scope(shipped_library().load(model_type), raw)
        scope.validate()
        scope.get("n_layer")


def test_true_for_a_number_of_heads_is_tried() -> None:
    spec = shipped_library().load("seed_oss")
    tried = misfit_configs(spec, {"num_hidden_layers": 1}, ())
    raws = [raw for raw in tried if raw.get("num_key_value_heads") is True]
    assert raws and all(count(spec, "SeedOssModel", raw).error for raw in raws)


@pytest.mark.reference
@pytest.mark.parametrize("model_type", ["gemma3_text", "olmo3", "modernbert", "zaya", "lfm2"])
def test_layers_of_every_kind_are_counted_as_transformers_does_or_refused(model_type: str) -> None:
    """LFM2 takes all but `conv` for attention; Gemma 3 has rotary positions for two kinds only."""
    spec = shipped_library().load(model_type)
    verifier = Verifier(spec, spec.architectures[0], 1, 0)
    verifier.run()
    tried = misfit_configs(spec, verifier.sampler.accepted[0], layer_lists(spec))
    kinds = [raw for raw in tried if raw.get("layer_types")]
    assert len(kinds) >= 14
    compare = verifier.comparer.compare
    assert [found for raw in kinds for found in compare(raw)[0] if found.kind != "rejected"] == []


@pytest.mark.reference
def test_a_computed_name_that_the_spec_lacks_is_a_difference() -> None:
    spec = shipped_library().load("mamba")
    (found,) = setting_differences(spec._replace(readonly={}))
    assert (found.kind, found.name, found.expected) == ("readonly", "layer_types", "readonly")
    more = {"hidden_act": spec.readonly["layer_types"], **spec.readonly}
    assert [one.found for one in setting_differences(spec._replace(readonly=more))] == ["readonly"]


@pytest.mark.reference
def test_a_zero_that_transformers_replaces_is_found() -> None:
    """wav2vec 2.0's config has `output_hidden_size or hidden_size`; only an adapter has tensors of it."""
    spec = shipped_library().load("wav2vec2")
    assert setting_differences(spec) == []
    field = spec.fields["output_hidden_size"]
    wrong = spec._replace(fields={**spec.fields, field.name: field._replace(falsy=False)})
    (found,) = setting_differences(wrong)
    assert found[3:6] == ("output_hidden_size for 0", "768", "0") and found.places[0] == str(field.place)


@pytest.mark.reference
def test_what_the_model_refuses_without_layers_is_not_left_to_them() -> None:
    """Persimmon's rotary embedding divides by the heads, as its layers do; without layers it still does."""
    spec = shipped_library().load("persimmon")
    found = Verifier(spec._replace(require=()), "PersimmonModel", 10, 0).run().differences
    assert found and {one.kind for one in found} == {"accepted"}
    assert all(one.config["num_hidden_layers"] == one.config["num_attention_heads"] == 0 for one in found)
