"""Configs aimed at the conditions and branches of a spec: those that blind draws do not come to."""

from __future__ import annotations

import ast

import pytest

from archspec.specs.library import shipped
from archspec.specs.records import leaves
from archspec.specs.references import conditions
from archspec.verify.attribution import blamed
from archspec.verify.comparison import counted
from archspec.verify.generate.guided import Guide, without
from archspec.verify.generate.sampling import Sampler
from tools.mutation.alterations import alterations


@pytest.mark.parametrize(
    ("model_type", "architecture", "text", "seed"),
    [
        *(
            ("segformer", "SegformerModel", "size > 0", seed) for seed in range(3)
        ),  # a parameter behind a local name, in a list
        *(
            ("moshi", "MoshiModel", "given(", seed) for seed in range(3)
        ),  # what given() reads; a sub-config left out
        *(
            ("nemotron_h", "NemotronHModel", "all(", seed) for seed in range(3)
        ),  # a kind of layer that this spec does not have
        *(
            ("encoder-decoder", "EncoderDecoderModel", "decoder.model_type in", seed) for seed in range(3)
        ),  # another type
        *(
            ("encoder-decoder", "EncoderDecoderModel", "cross_", seed) for seed in range(3)
        ),  # what a part is asked for by name
        *(
            ("gpt_neo", "GPTNeoModel", "kind in", seed) for seed in range(3)
        ),  # a turn of a loop, in a list within a list
        ("iquestcoder", "LlamaModel", 'given("clip_qkv")', 0),  # a field that only given() knows
        (
            "nemotron3_5_transcribe_word_timestamp",
            "Nemotron3_5TranscribeWordTimestampModel",
            "upsampling_factor >= 1",
            0,
        ),
        ("falcon_h1", "FalconH1Model", "mamba_inner %", 0),  # a text among numbers
    ],
)
def test_a_condition_is_broken(model_type: str, architecture: str, text: str, seed: int) -> None:
    spec = shipped().load(model_type)
    (condition,) = (
        found for found in conditions(spec) if found.text.startswith(text) and "layer_types" not in found.text
    )
    guide = Guide(spec, architecture, Sampler(spec, seed))
    configs = guide.violations([{"model_type": model_type}])
    places = [seen.place for seen in map(guide.watched, configs) if seen.place is not None]
    assert (condition.place.line, condition.place.column) in [(place.line, place.column) for place in places]


def test_a_text_that_is_told_from_all_others_is_not_drawn_alone() -> None:
    """LFM2's code compares a layer with "conv" only, and there is no default: attention layers must be
    drawn all the same.
    """
    sampler = Sampler(shipped().load("lfm2_moe"), 0)
    assert len({kind for _ in range(20) for kind in sampler.sample().get("layer_types", ())}) > 1


def test_a_condition_is_broken_where_another_module_has_it_too() -> None:
    """V-JEPA 2's pooler demands of its cross-attention what all its layers demand: it shows where there
    are no layers.
    """
    spec = shipped().load("vjepa2")
    owner = spec.modules["VJEPA2PoolerCrossAttention"]
    architecture = "VJEPA2ForVideoClassification"
    guide = Guide(spec, architecture, Sampler(spec, 0))
    configs = list(guide.violations([{"model_type": "vjepa2"}]))
    for condition in owner.require:
        assert any(
            Guide(without(spec, condition, owner), architecture, guide.sampler).watched(raw).place is None
            for raw in configs
        )


def test_a_part_that_is_null_by_default_is_drawn_too() -> None:
    sampler = Sampler(shipped().load("gemma4_unified"), 0)
    assert {type(sampler.sample().get("vision_config")) for _ in range(20)} == {dict, type(None)}


def test_a_flag_and_what_it_needs_are_drawn_together() -> None:
    """ESM's cross-attention wants both is_decoder and add_cross_attention; DINOv3's bias shows only
    without the gated layers.
    """
    for model_type, name, given, (field, other) in (
        ("esm", "EsmModel", {"vocab_size": 48}, ("add_cross_attention", True)),
        (
            "dinov3_vit",
            "DINOv3ViTModel",
            {"use_gated_mlp": True, "mlp_bias": False},
            ("use_gated_mlp", False),
        ),
    ):
        spec = shipped().load(model_type)
        raw = {"model_type": model_type, "num_hidden_layers": 1, **given}
        found = list(Guide(spec, name, Sampler(spec, 0)).branches([raw]))
        assert any(one.get(field) is other for one in found)


def test_what_never_is_in_a_line_that_was_taken_over() -> None:
    """DeepSeek-V3.2 always has low-rank queries: a slip in the others is no slip of its own, as it would
    be with a null.
    """
    spec = shipped().load("deepseek_v32")
    nullable = {**spec.fields, "q_lora_rank": spec.fields["q_lora_rank"]._replace(types=("int", "None"))}
    for fields, there in ((spec.fields, False), (nullable, True)):
        found = [
            one.what
            for one in alterations(spec._replace(fields=fields))
            if "Attention: q_proj left out" in one.what
        ]
        assert bool(found) is there


@pytest.mark.parametrize(
    ("architecture", "text"),
    [
        ("CohereCompassTextForSequenceClassification", "not pooling"),
        ("CohereCompassTextModel", "all([rope_parameters"),
    ],
)
def test_a_text_without_default_and_a_mapping_are_at_an_edge(architecture: str, text: str) -> None:
    spec = shipped().load("cohere_compass_text")
    (condition,) = (found for found in conditions(spec) if found.text.startswith(text))
    guide = Guide(spec, architecture, Sampler(spec, 0))
    kinds = {"full_attention": {"rope_theta": 1e4}}
    configs = guide.violations(
        [{"model_type": spec.model_type, "num_hidden_layers": 1, "rope_parameters": kinds}]
    )
    assert condition.place.line in [
        seen.place.line for seen in map(guide.watched, configs) if seen.place is not None
    ]


def test_a_branch_that_needs_other_fields_is_taken() -> None:
    """Gemma 4's experts need three numbers that are null by default: what refuses a config is drawn anew."""
    spec = shipped().load("gemma4_text")
    guide = Guide(spec, "Gemma4TextModel", Sampler(spec, 0))
    configs = list(guide.branches([{"model_type": "gemma4_text", "num_hidden_layers": 1}]))
    assert any(raw.get("enable_moe_block") for raw in configs)


def test_one_more_would_change_a_quotient() -> None:
    """ConvBERT's grouped layers round down: only a size that is one short of the next quotient shows a
    size that is one off.
    """
    spec = shipped().load("convbert")
    guide = Guide(spec, "ConvBertModel", Sampler(spec, 0))
    configs = guide.branches([{"model_type": "convbert", "num_hidden_layers": 1, "num_groups": 2}])
    assert any(
        (raw.get("intermediate_size", 3072) + 1) % groups == 0
        for raw in configs
        if (groups := raw.get("num_groups", 1)) > 1
    )


def test_one_more_would_break_a_condition() -> None:
    """DETR's heads may be as many as it is wide, and not one more."""
    spec = shipped().load("detr")
    guide = Guide(spec, "DetrModel", Sampler(spec, 0))
    small = {
        "encoder_layers": 1,
        "decoder_layers": 1,
        "use_timm_backbone": False,
        "backbone_config": {"model_type": "resnet"},
    }
    configs = guide.branches([{"model_type": "detr", "d_model": 12, "decoder_attention_heads": 6, **small}])
    assert any(raw.get("d_model", 256) == raw.get("decoder_attention_heads", 8) for raw in configs)


def test_a_condition_is_broken_alone_where_others_hold_the_same_field() -> None:
    """M2M-100's positions refuse a width of 2 or 3, its attention a width that the heads do not divide."""
    spec = shipped().load("m2m_100")
    owner = spec.modules["M2M100SinusoidalPositionalEmbedding"]
    guide = Guide(spec, "M2M100Model", Sampler(spec, 0))
    others = Guide(without(spec, owner.require[0], owner), "M2M100Model", guide.sampler)
    assert any(others.watched(raw).place is None for raw in guide.violations([{"model_type": "m2m_100"}]))


def test_what_a_call_by_a_parents_name_hands_on_is_found() -> None:
    """M2M-100 has BartEncoderLayer's line, which calls BartAttention: here that is M2M100Attention."""
    spec = shipped().load("m2m_100")
    guide = Guide(spec, "M2M100Model", Sampler(spec, 0))
    found = guide.read({"num_heads"}, spec.modules["M2M100Attention"])
    assert {"encoder_attention_heads", "decoder_attention_heads"} <= {*found}


def test_what_a_part_is_called_with_is_refused_by_the_module_around_it() -> None:
    """TrOCR's decoder adds one to the padding's position for its embeddings: null fails there, not within
    them.
    """
    spec = shipped().load("trocr")
    raw = {"model_type": "trocr", "use_learned_position_embeddings": False}
    tree = counted(spec, "TrOCRForCausalLM", raw).tree
    lines = [place.line for place in blamed(spec, tree, "accepted", "", ("TrOCRDecoder", "TrOCRForCausalLM"))]
    assert spec.modules["TrOCRSinusoidalPositionalEmbedding"].place.line in lines
    assert lines[0] == spec.modules["TrOCRDecoder"].place.line


def test_what_is_behind_a_branch_is_looked_for_too() -> None:
    """XLM's adaptive softmax needs three fields; only within it does a tie decide whether there is a
    weight.
    """
    spec = shipped().load("xlm")
    guide = Guide(spec, "XLMWithLMHeadModel", Sampler(spec, 0))
    (test,) = (
        leaf.tree
        for leaf in leaves(spec.modules["AdaptiveLogSoftmaxWithLoss"].body)
        if leaf.text.startswith("Parameter")
    )
    assert isinstance(test, ast.IfExp)
    taken = {branch for raw in guide.branches([{"model_type": "xlm"}]) for branch in guide.watched(raw).taken}
    assert {(id(test.test), True), (id(test.test), False)} <= taken
    assert any(
        place and place.line == 38
        for place in (guide.watched(raw).place for raw in guide.violations(guide.found))
    )


def test_a_default_that_is_refused_is_mended_by_one_field_of_a_part() -> None:
    """Gemma 4 Unified's drafter shares the keys of all its layers by default, which leaves none to share;
    fewer will do.
    """
    spec = shipped().load("gemma4_unified_assistant")
    (architecture,) = spec.architectures
    sampler = Sampler(spec, 0)
    sampler.sample()
    assert sampler.mend(lambda raw: counted(spec, architecture, raw).error is None) is not None


def test_a_condition_of_two_kinds_of_layers_is_broken_where_only_one_is() -> None:
    """MiniMax's layers want keys and values above zero, as its softmax attention does: it shows where all
    attention is linear.
    """
    spec = shipped().load("minimax")
    valid = {"model_type": "minimax", "num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 4}
    starts = []
    for seed in range(4):
        guide = Guide(spec, "MiniMaxModel", Sampler(spec, seed))
        starts += guide.near(
            spec.modules["MiniMaxDecoderLayer"].require[0], [(valid, guide.watched(valid).demanded)]
        )
    assert any({*start.get("layer_types", ())} == {"linear_attention"} for start in starts)


def test_what_decides_a_computed_default_is_drawn() -> None:
    """Mistral Large 4 shares indexers between layers by default, but only with a frequency above one."""
    spec = shipped().load("mistral_large4_text")
    guide = Guide(spec, "MistralLarge4TextModel", Sampler(spec, 0))
    configs = list(guide.branches([{"model_type": "mistral_large4_text", "num_hidden_layers": 3}]))
    (shared,) = (
        test.node
        for test in guide.tests.values()
        if ast.unparse(test.node).startswith("max(i - index_skip_topk_offset")
    )
    taken = {branch for raw in configs for branch in guide.watched(raw).taken}
    assert {(id(shared), True), (id(shared), False)} <= taken


def test_a_parameter_is_read_apart_from_the_others_of_its_call() -> None:
    """A SegFormer layer is called with a width, heads, a reduction and a ratio, each from a list of its
    own.
    """
    spec = shipped().load("segformer")
    guide = Guide(spec, "SegformerModel", Sampler(spec, 0))
    attention = spec.modules["SegformerAttention"]
    assert {*guide.read({"reduction"}, attention)} == {
        "sr_ratios",
        "num_encoder_blocks",
    }  # the second: how often
    assert {*guide.read({"size"}, attention)} == {"hidden_sizes", "num_attention_heads", "num_encoder_blocks"}


def test_a_value_grows_past_what_else_refuses_it() -> None:
    """DETR's mask head wants its width and the heads to be a multiple of eight together, its attention
    fewer heads than that.
    """
    spec = shipped().load("detr")
    owner = spec.modules["DetrMHAttentionMap"]
    (condition,) = owner.require
    maps = {"model_type": "resnet", "out_features": ["stage2", "stage3", "stage4"]}
    small = {"encoder_layers": 1, "decoder_layers": 1, "use_timm_backbone": False, "backbone_config": maps}
    for seed in range(3):
        guide = Guide(spec, "DetrForSegmentation", Sampler(spec, seed))
        others = guide.lacking(without(spec, condition, owner))
        fields = guide.read({"d_model", "encoder_attention_heads"}, owner)
        configs = guide.behind_others([{"model_type": "detr", **small}], condition, fields, others)
        assert [raw["encoder_attention_heads"] for raw in configs] == [264]


def test_a_default_decides_a_branch_both_ways() -> None:
    """How many of Mistral Large 4's first layers share no indexer by default shows where a config leaves
    that out.
    """
    spec = shipped().load("mistral_large4_text")
    guide = Guide(spec, "MistralLarge4TextModel", Sampler(spec, 0))
    given = {"num_hidden_layers": 4, "index_topk_freq": 2, "index_skip_topk_offset": 1}
    for raw in guide.branches([{"model_type": "mistral_large4_text", **given}]):
        if "index_skip_topk_offset" not in raw and "shared" in guide.scope(raw).get("indexer_types"):
            return
    pytest.fail("no config without index_skip_topk_offset")


def test_a_model_ties_what_its_part_does_not() -> None:
    """BLIP's caption writer and the BERT in it may both say that the head is tied."""
    spec = shipped().load("blip")
    guide = Guide(spec, "BlipForConditionalGeneration", Sampler(spec, 0))
    found = [
        (raw["tie_word_embeddings"], raw["text_config"]["tie_word_embeddings"])
        for raw in guide.ties_apart([{"model_type": "blip"}])
    ]
    assert found == [(True, False), (False, True)]


def test_what_may_be_negative_is_so_far_below_zero() -> None:
    """TrOCR's computed positions hold twice a negative padding's number against their own."""
    spec = shipped().load("trocr")
    edges = Guide(spec, "TrOCRForCausalLM", Sampler(spec, 0)).edges
    assert edges.beyond(
        "pad_token_id", ["pad_token_id", "max_position_embeddings"], {"max_position_embeddings": 6}
    ) == [7, -7]
    assert edges.beyond("max_position_embeddings", ["pad_token_id"], {"max_position_embeddings": 6}) == [7]


def test_a_condition_with_alternatives_is_broken_where_the_others_do_not_hold() -> None:
    """An odd head breaks Cohere Compass' condition only where some layer has rotary positions: few valid
    configs have.
    """
    spec = shipped().load("cohere_compass_text")
    guide = Guide(spec, "CohereCompassTextModel", Sampler(spec, 0))
    plain, rotary = (
        {"num_hidden_layers": 1, "rope_parameters": {"full_attention": one}}
        for one in (None, {"rope_theta": 10000.0})
    )
    (condition,) = (one for one in spec.require if one.text.startswith("head_dim"))
    assert guide.closest([plain, rotary, plain], condition, condition.tree) == [rotary]
    assert guide.closest([plain, rotary], spec.require[0], spec.require[0].tree) == [plain, rotary]
