"""Differences that verification reports, and the configs that it compares."""

from __future__ import annotations

from typing import Any

import pytest
from altering import altered, line, shown

from archspec.configs.scope import Scope
from archspec.reference import Refused, transformers_rows
from archspec.specs.library import shipped
from archspec.specs.records import Spec
from archspec.verifying.verifier import Verifier, verify_spec

pytestmark = pytest.mark.reference


SLIPS: dict[str, tuple[str, str, str, str, str, str]] = {
    "a layer's own fields": (
        "gemma4_text",
        "Gemma4TextModel",
        "if i in per_layer_config else",
        'if i in per_layer_config and given("per_layer_config") is None else',
        "shape",
        "self_attn: Gemma4TextAttention(i, **",
    ),
    "a size": (
        "bert",
        "BertModel",
        "query: Linear(hidden_size, hidden_size)",
        "query: Linear(hidden_size, 7)",
        "shape",
        "query: Linear(hidden_size, 7)",
    ),
    "a bias": (
        "gpt2",
        "GPT2Model",
        "ln_f: LayerNorm(n_embd)",
        "ln_f: LayerNorm(n_embd, bias=False)",
        "missing",
        "ln_f:",
    ),
    "an attribute": (
        "bert",
        "BertModel",
        "    token_type_embeddings: Embedding(type_vocab_size, size)\n",
        "",
        "missing",
        "TextEmbeddings(size, dropout=0.0):",
    ),
    "a loop": (
        "bert",
        "BertModel",
        "range(num_hidden_layers)",
        "range(num_hidden_layers + 1)",
        "extra",
        "layer: BertLayer() for",
    ),
    "a branch": (
        "bert",
        "BertModel",
        "BertPooler() if add_pooling_layer else None",
        "None",
        "missing",
        "pooler: None",
    ),
    "a default": (
        "bert",
        "BertModel",
        "max_position_embeddings: 512",
        "max_position_embeddings: 513",
        "default",
        "max_position_emb",
    ),
    "a name": ("gpt2", "GPT2Model", "max_position_embeddings: n_positions, ", "", "alias", "n_positions:"),
    "a tie": (
        "llama",
        "LlamaForCausalLM",
        "    tied: {lm_head.weight: model.embed_tokens.weight}\n",
        "",
        "tie",
        "GenericForCausalLM(base):",
    ),
    "frozen": (
        "whisper",
        "WhisperModel",
        ".requires_grad_(False)",
        "",
        "frozen",
        "embed_positions: Embedding(max_source",
    ),
    "a condition": (
        "llama",
        "LlamaModel",
        "  - head_dim % 2 == 0 or head_dim < 5\n",
        "",
        "accepted",
        "# Llama",
    ),
    "too strict": (
        "llama",
        "LlamaModel",
        "head_dim % 2 == 0 or head_dim < 5",
        "head_dim % 4 == 0",
        "refused",
        "- head_dim % 4",
    ),
    "a buffer": (
        "bloom",
        "BloomModel",
        "word_embeddings: Embedding(vocab_size, hidden_size)",
        "word_embeddings: Buffer(vocab_size, hidden_size)",
        "missing",
        "word_embeddings:",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_found_and_its_line_named(slip: str) -> None:
    model_type, architecture, old, new, kind, start = SLIPS[slip]
    wrong = altered(shipped().load(model_type), old, new)
    outcome = verify_spec(wrong, architecture, 12)
    assert outcome.verdict == "wrong"
    found = [difference for difference in outcome.differences if difference.kind == kind]
    assert found, [shown(difference) for difference in outcome.differences][:5]
    assert line(wrong, start) in {place.rpartition(":")[0] for place in found[0].places}


def test_a_field_that_the_spec_does_not_mention() -> None:
    spec = altered(
        altered(shipped().load("llama"), "  mlp_bias: false\n", ""),
        "GatedMLP(intermediate_size, mlp_bias)",
        "GatedMLP(intermediate_size)",
    )
    outcome = verify_spec(spec, "LlamaModel", 3)
    assert {(difference.kind, difference.name) for difference in outcome.differences} == {
        ("unmentioned", "mlp_bias")
    }
    assert outcome.differences[0].config["mlp_bias"] is True


def test_a_fixed_field_that_is_read_after_all() -> None:
    spec = altered(
        altered(shipped().load("llama"), "  mlp_bias: false\n", ""),
        "require:\n",
        "fixed:\n  mlp_bias: false\nrequire:\n",
    )
    [difference] = verify_spec(spec, "LlamaModel", 3).differences
    assert (difference.kind, difference.name) == ("unmentioned", "mlp_bias")
    assert difference.places[0].startswith(line(spec, "mlp_bias: false"))


def test_a_difference_is_shown_at_the_smallest_config() -> None:
    spec = altered(
        shipped().load("bert"),
        "BertAttention(is_cross_attention=True) if add_cross_attention else None",
        "None",
    )
    configs = [
        difference.config
        for difference in verify_spec(spec, "BertModel", 12).differences
        if difference.kind == "missing"
    ]
    assert {"model_type": "bert", "add_cross_attention": True, "is_decoder": True} in configs


def test_a_zero_that_transformers_takes_for_nothing_given_is_found() -> None:
    """wav2vec 2.0's config has `output_hidden_size or hidden_size`; only an adapter has tensors of it."""
    from archspec.verifying.defaults import setting_differences

    spec = shipped().load("wav2vec2")
    assert setting_differences(spec) == []
    field = spec.fields["output_hidden_size"]
    altered = spec._replace(fields={**spec.fields, field.name: field._replace(falsy=False)})
    (found,) = setting_differences(altered)
    assert (found.name, found.expected, found.found, found.places[0]) == (
        "output_hidden_size for 0",
        "768",
        "0",
        str(field.place),
    )


def test_a_spec_that_transformers_cannot_confirm_is_not_exact_by_default() -> None:
    outcome = verify_spec(
        altered(shipped().load("llama"), "- head_dim % 2 == 0 or head_dim < 5", "- hidden_size == 4096"),
        "LlamaModel",
        5,
    )
    assert outcome.verdict == "wrong"


@pytest.mark.parametrize(
    "model_type", ["bert", "gpt2", "t5", "wav2vec2", "swin", "clip", "mixtral", "jamba", "deepseek_v3"]
)
def test_valid_configs_show_every_side_of_a_spec(model_type: str) -> None:
    """At 20 samples: each flag both ways, nulls, one layer, odd sizes, lists of other lengths."""
    spec = shipped().load(model_type)
    verifier = Verifier(spec, spec.architectures[0], 20, 0)
    assert verifier.run().verdict == "exact"
    assert len(verifier.valid) > 20
    scopes = [Scope(spec, raw) for raw in verifier.valid]
    missing = []
    for field in spec.fields.values():
        values = [scope.get(field.name) for scope in scopes]
        given = [raw.get(field.name, ...) for raw in verifier.valid]
        default = values[0]
        if isinstance(default, bool) and {True, False} - set(values):
            missing.append(f"{field.name} both ways")
        if "None" in field.types and None not in given and builds(spec, {field.name: None}):
            missing.append(f"{field.name} null")
        if field.name.endswith("layers") and isinstance(default, int) and 1 not in values:
            missing.append(f"{field.name} = 1")
        if (
            isinstance(default, list)
            and len({len(value) for value in values if value}) == 1
            and not field.computed
        ):
            missing.append(f"{field.name} of another length")
        if (
            isinstance(default, int)
            and not isinstance(default, bool)
            and len({str(value) for value in values}) < 2
        ):
            missing.append(f"{field.name} of another size")
    assert missing == []
    assert any(
        isinstance(value, int) and value > 1 and value % 2 for raw in verifier.valid for value in numbers(raw)
    )


def builds(spec: Spec, settings: dict[str, Any]) -> bool:
    try:
        transformers_rows(spec.architectures[0], {"model_type": spec.model_type, **settings}, spec.model_type)
    except Refused:
        return False
    return True


def numbers(raw: dict[str, Any]) -> list[Any]:
    return [
        item for value in raw.values() for item in (numbers(value) if isinstance(value, dict) else [value])
    ]


def test_a_zero_that_no_condition_forbids_is_found() -> None:
    """BART divides by the root of its heads' width: without the condition, a width of 0 would be counted."""
    bare = altered(shipped().load("bart"), "ScaledMultiHeadProjections", "MultiHeadProjections")
    found = verify_spec(bare, "BartModel", 2).differences
    assert [(difference.kind, difference.config["d_model"]) for difference in found] == [("accepted", 0)]
