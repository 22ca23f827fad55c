"""Differences that verification reports, and the configs that it compares."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from altering import altered, line, shown

from archspec.configs.scope import Scope
from archspec.reference import Refused, transformers_rows
from archspec.specs.library import shipped_library
from archspec.specs.records import Spec
from archspec.verifying.verifier import Verifier, verify_spec

pytestmark = pytest.mark.reference


class Slip(NamedTuple):
    """A text of a spec and its replacement, and the kind and line of the difference that it makes."""

    architecture: str
    old: str
    new: str
    kind: str
    start: str


OWN = "if i in per_layer_config else"
COMMON = 'if i in per_layer_config and given("per_layer_config") is None else'
ATTENTION = "self_attn: Gemma4TextAttention"
NORM, LAYERS = "ln_f: LayerNorm(n_embd)", "range(num_hidden_layers)"
EMBEDDINGS = "    token_type_embeddings: Embedding(type_vocab_size, size)\n"
POOLER = "BertPooler(reused) if add_pooling_layer else None"
EVEN, FOURTH = "head_dim % 2 == 0 or head_dim < 5", "head_dim % 4 == 0"
WORDS, SEVEN = "word_embeddings: Embedding", "query: Linear(hidden_size, 7)"
TIED = "    tied: {lm_head.weight: model.embed_tokens.weight}\n"
POSITIONS = "embed_positions: Embedding(max_source"
VARIED = ["bert", "gpt2", "t5", "wav2vec2", "swin", "clip", "mixtral", "jamba", "deepseek_v3"]
SLIPS = {  # model type and slip
    "gemma4_text a layer's own fields": Slip("Gemma4TextModel", OWN, COMMON, "shape", f"{ATTENTION}(i, **"),
    "bert a size": Slip("BertModel", SEVEN.replace("7", "hidden_size"), SEVEN, "shape", SEVEN),
    "gpt2 a bias": Slip("GPT2Model", NORM, f"{NORM[:-1]}, bias=False)", "missing", "ln_f:"),
    "bert an attribute": Slip("BertModel", EMBEDDINGS, "", "missing", "TextEmbeddings(size, dropout=0.0):"),
    "bert a loop": Slip("BertModel", LAYERS, f"{LAYERS[:-1]} + 1)", "extra", "layer: BertLayer() for"),
    "bert a branch": Slip("BertModel", POOLER, "None", "missing", "pooler: None"),
    "bert a default": Slip("BertModel", "embeddings: 512", "embeddings: 513", "default", "max_position_emb"),
    "gpt2 a name": Slip("GPT2Model", "max_position_embeddings: n_positions, ", "", "alias", "n_positions:"),
    "llama a tie": Slip("LlamaForCausalLM", TIED, "", "tie", "GenericForCausalLM(base):"),
    "whisper frozen": Slip("WhisperModel", ".requires_grad_(False)", "", "frozen", POSITIONS),
    "llama a condition": Slip("LlamaModel", f"  - {EVEN}\n", "", "accepted", "# Llama"),
    "llama too strict": Slip("LlamaModel", EVEN, FOURTH, "rejected", "- head_dim % 4"),
    "bloom a buffer": Slip("BloomModel", WORDS, WORDS.replace("Embedding", "Buffer"), "missing", "word_emb"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_found_and_its_line_named(name: str) -> None:
    slip = SLIPS[name]
    wrong = altered(name.partition(" ")[0], slip.old, slip.new)
    outcome = verify_spec(wrong, slip.architecture, 12)
    assert outcome.verdict == "wrong"
    found = [difference for difference in outcome.differences if difference.kind == slip.kind]
    assert found, [shown(difference) for difference in outcome.differences][:5]
    assert line(wrong, slip.start) in {place.rpartition(":")[0] for place in found[0].places}


@pytest.mark.parametrize(
    ("old", "new"),
    [  # not mentioned; fixed, but read
        ("GatedMLP(intermediate_size, mlp_bias)", "GatedMLP(intermediate_size)"),
        ("require:\n", "fixed:\n  mlp_bias: false\nrequire:\n"),
    ],
)
def test_a_field_that_is_read_after_all(old: str, new: str) -> None:
    spec = altered(altered("llama", "  mlp_bias: false\n", ""), old, new)
    differences = verify_spec(spec, "LlamaModel", 3).differences
    assert {(one.kind, one.name) for one in differences} == {("unmentioned", "mlp_bias")}
    if "fixed" in new:
        assert differences[0].places[0].startswith(line(spec, "mlp_bias: false"))
    else:
        assert differences[0].config["mlp_bias"] is True


def test_a_difference_is_shown_at_the_smallest_config() -> None:
    crossed = "BertAttention(is_cross_attention=True) if add_cross_attention else None"
    found = verify_spec(altered("bert", crossed, "None"), "BertModel", 12).differences
    configs = [difference.config for difference in found if difference.kind == "missing"]
    assert {"model_type": "bert", "add_cross_attention": True, "is_decoder": True} in configs


def test_a_spec_that_transformers_cannot_confirm_is_not_exact_by_default() -> None:
    spec = altered("llama", f"- {EVEN}", "- hidden_size == 4096")
    assert verify_spec(spec, "LlamaModel", 5).verdict == "wrong"


def test_a_zero_that_no_condition_forbids_is_found() -> None:
    """BART divides by the root of its heads' width: without the condition, a width of 0 would be counted."""
    bare = altered("bart", "ScaledMultiHeadProjections", "MultiHeadProjections")
    found = verify_spec(bare, "BartModel", 10).differences
    assert [(difference.kind, difference.config["d_model"]) for difference in found] == [("accepted", 0)]


def test_the_embedding_split_is_compared() -> None:
    spec = shipped_library().load("bert")
    module = spec.modules["BertForMaskedLM"]
    silent = {**spec.modules, "BertForMaskedLM": module._replace(output_embeddings=None)}
    found = verify_spec(spec._replace(modules=silent), "BertForMaskedLM", samples=0).differences
    assert {difference.kind for difference in found} == {"embedding"}
    place = f"bert.yaml:{module.place.line}:{module.place.column}"
    assert any(one.endswith(place) for one in found[0].places)
    assert not verify_spec(spec, "BertForMaskedLM", samples=0).differences


@pytest.mark.parametrize("model_type", VARIED)
def test_valid_configs_show_every_side_of_a_spec(model_type: str) -> None:
    """At 20 samples: each flag both ways, nulls, one layer, odd sizes, lists of other lengths."""
    spec = shipped_library().load(model_type)
    verifier = Verifier(spec, spec.architectures[0], 20, 0)
    assert verifier.run().verdict == "exact" and len(verifier.valid) > 20
    scopes = [Scope(spec, raw) for raw in verifier.valid]
    missing = []
    for field in spec.fields.values():
        values = default, *_ = [scope.get(field.name) for scope in scopes]
        given = [raw.get(field.name, ...) for raw in verifier.valid]
        lengths = {len(value) for value in values if value} if isinstance(default, list) else set()
        if isinstance(default, bool) and {True, False} - set(values):
            missing.append(f"{field.name} both ways")
        if "None" in field.types and None not in given and builds(spec, {field.name: None}):
            missing.append(f"{field.name} null")
        if field.name.endswith("layers") and isinstance(default, int) and 1 not in values:
            missing.append(f"{field.name} = 1")
        if len(lengths) == 1 and not field.computed:
            missing.append(f"{field.name} of another length")
        if type(default) is int and len({str(value) for value in values}) < 2:
            missing.append(f"{field.name} of another size")
    assert missing == []
    numbers = [value for raw in verifier.valid for value in leaves(raw) if isinstance(value, int)]
    assert any(value > 1 and value % 2 for value in numbers)


def builds(spec: Spec, settings: dict[str, Any]) -> bool:
    with suppress(Refused):
        return bool(transformers_rows(spec.architectures[0], settings, spec.model_type))
    return False


def leaves(raw: dict[str, Any]) -> list[Any]:
    return [one for value in raw.values() for one in (leaves(value) if isinstance(value, dict) else [value])]
