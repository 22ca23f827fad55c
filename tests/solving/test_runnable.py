"""Configs that transformers builds and cannot run: warned of by count, never proposed by solve."""

from __future__ import annotations

from typing import Any

import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import SweepError
from archspec.specs.library import shipped_library
from archspec.tree.runnable import run_problems

NEEDED: dict[str, dict[str, Any]] = {  # for types whose default config transformers cannot run
    "bamba": {"attn_layer_indices": [1]},
    "deepseek_v2": {"num_experts_per_tok": 6},
    "lw_detr": {"projector_scale_factors": [1.0]},
    "granitemoehybrid": {"layer_types": ["full_attention"] * 32},
    "step3p5": {"sliding_window": 512},
}
BROKEN: dict[str, dict[str, Any]] = {  # a class, and fields with which its forward pass fails
    "LlamaForCausalLM": {"hidden_size": 2176, "num_attention_heads": 17, "num_key_value_heads": 8},
    "MistralForCausalLM": {"num_attention_heads": 16, "num_key_value_heads": 12},
    "Qwen2ForCausalLM": {"num_attention_heads": 16, "num_key_value_heads": 32},
    "DeepseekV3ForCausalLM": {"num_attention_heads": 256, "num_key_value_heads": 128},
    "MixtralForCausalLM": {"num_local_experts": 2, "num_experts_per_tok": 4},
    "Qwen3NextForCausalLM": {"linear_num_key_heads": 48, "linear_num_value_heads": 32},
    "OlmoeForCausalLM": {"num_experts": 4, "num_experts_per_tok": 8},
    "AlbertForMaskedLM": {"hidden_size": 1000, "num_attention_heads": 64},
    "Mamba2ForCausalLM": {"n_groups": 3},
    "ConvBertForMaskedLM": {"conv_kernel_size": 4},
    "CTRLLMHeadModel": {"n_embd": 1281},
    "Gemma4ForCausalLM": {"head_dim": 129},
}
_TWO = {"num_hidden_layers": 2}
_LINEAR = {"num_hidden_layers": 3, "layer_types": ["linear_attention"] * 3}
_MIXED = {"num_hidden_layers": 3, "layer_types": ["linear_attention", "full_attention", "linear_attention"]}
_SLIDING = {**_TWO, "layer_types": ["sliding_attention"] * 2}
_HYBRID = {**_TWO, "layers_block_type": ["linear_attention", "hybrid"]}
_WIDE = {"hidden_size": 2564, "num_attention_heads": 4}
_NEW_FALCON = {**_TWO, "new_decoder_architecture": True, "num_kv_heads": 1}
_EXPERTS = {**_TWO, "n_routed_experts": 8}
Config = dict[str, Any]
PAIRS: list[tuple[str, Config, Config]] = [  # a class, a config that runs, and one that does not
    ("BambaForCausalLM", {"num_hidden_layers": 2, "attn_layer_indices": [1]}, {"num_hidden_layers": 2}),
    ("BambaForCausalLM", {"num_hidden_layers": 3, "attn_layer_indices": [2]}, {"attn_layer_indices": [40]}),
    ("CanineForSequenceClassification", _TWO, {**_TWO, "num_hash_functions": 7}),
    ("CodeGenForCausalLM", {"n_layer": 2, "rotary_dim": 62}, {"n_layer": 2, "rotary_dim": 63}),
    ("CodeGenForCausalLM", {"n_layer": 2, "rotary_dim": 256}, {"n_layer": 2, "rotary_dim": 300}),
    ("GPTJForCausalLM", {"n_layer": 2, "rotary_dim": 62}, {"n_layer": 2, "rotary_dim": 63}),
    ("DeepseekV2ForCausalLM", {**_EXPERTS, "num_experts_per_tok": 2}, _EXPERTS),
    ("FalconForCausalLM", {**_NEW_FALCON, "num_kv_heads": 71}, {**_NEW_FALCON, "num_kv_heads": 3}),
    ("FalconForCausalLM", _NEW_FALCON, {**_NEW_FALCON, "parallel_attn": False}),
    ("FalconForCausalLM", _NEW_FALCON, {**_NEW_FALCON, "num_ln_in_parallel_attn": 3}),
    ("FalconForCausalLM", {"num_ln_in_parallel_attn": 1}, {"num_ln_in_parallel_attn": 2}),
    ("FalconForCausalLM", {"multi_query": False}, {"multi_query": False, "num_kv_heads": 1}),
    ("GraniteMoeHybridForCausalLM", _MIXED, _LINEAR),
    ("GraniteMoeHybridForCausalLM", _MIXED, {"num_hidden_layers": 3}),
    ("JambaForCausalLM", {"num_hidden_layers": 5}, {"num_hidden_layers": 4}),
    ("Qwen3NextForCausalLM", {"num_hidden_layers": 4}, {"num_hidden_layers": 3}),
    ("Qwen3_5ForCausalLM", {"num_hidden_layers": 4}, {"num_hidden_layers": 3}),
    ("NemotronHForCausalLM", {"layers_block_type": ["mamba", "attention"]}, {"layers_block_type": ["mamba"]}),
    ("Zamba2ForCausalLM", {**_HYBRID, **_WIDE}, {**_HYBRID, "mamba_headdim": 32}),
    ("Qwen2ForCausalLM", {**_SLIDING, "use_sliding_window": True}, _SLIDING),
    ("Qwen3ForCausalLM", {**_SLIDING, "use_sliding_window": True}, _SLIDING),
    ("GptOssForCausalLM", _SLIDING, {**_SLIDING, "sliding_window": None}),
    ("Cohere2ForCausalLM", _SLIDING, {"num_hidden_layers": 2, "layer_types": ["conv"] * 2}),
    ("BartForCausalLM", {"encoder_layers": 2, "decoder_layers": 2}, {"encoder_layers": 1}),
    ("MarianForCausalLM", {"encoder_layers": 12}, {"encoder_layers": 2}),
    ("BlenderbotForCausalLM", {"encoder_layers": 24}, {}),
    ("ProphetNetForCausalLM", {"num_decoder_layers": 2}, {"num_decoder_layers": 13}),
]
SOLVED = [  # a class, budgets, and fields that are given
    ("MistralForCausalLM", {"params": "1.3b"}, ["hidden_size=2176"]),
    ("LlamaForCausalLM", {"params": "1.3b"}, ["hidden_size=2176", "num_key_value_heads=8"]),
    ("Qwen2ForCausalLM", {"params": "500m"}, []),
    ("DeepseekV3ForCausalLM", {"params": "20b", "active_params": "3b"}, []),
    ("MixtralForCausalLM", {"params": "8b", "active_params": "2b"}, []),
    ("Phi3ForCausalLM", {"params": "2b"}, ["hidden_size=2112"]),
    ("GPT2LMHeadModel", {"params": "350m"}, ["n_embd=960"]),
    ("Gemma3ForCausalLM", {"params": "1b"}, []),
    ("BertForMaskedLM", {"params": "100m"}, []),
    ("Qwen3NextForCausalLM", {"params": "3b"}, []),
]
solved = pytest.mark.parametrize(("architecture", "budgets", "given"), SOLVED, ids=[one[0] for one in SOLVED])
pairs = pytest.mark.parametrize(("architecture", "good", "bad"), PAIRS)


def test_every_condition_reads_fields_of_its_spec_and_says_nothing_at_the_default_config() -> None:
    specs = [shipped_library().load(name) for name in shipped_library().model_types()]
    specs = [spec for spec in specs if spec.runnable]
    assert len(specs) > 100
    for spec in specs:
        model_type, model = spec.model_type, None
        for architecture in spec.architectures:
            try:
                model = archspec.load({"model_type": model_type, **NEEDED.get(model_type, {})}, architecture)
                break
            except archspec.ArchspecError:
                continue  # a field has no default
        assert model is None or not [*run_problems(model.scope, model.architecture)], model_type


@pytest.mark.parametrize("architecture", BROKEN)
def test_count_warns_in_one_sentence(architecture: str) -> None:
    notes = archspec.load(architecture, set=BROKEN[architecture]).notes
    found = [note for note in notes if "cannot run it" in note]
    assert len(found) == 1 and "does not hold" in found[0] and "\n" not in found[0]
    assert not [note for note in archspec.load(architecture).notes if "cannot run" in note]


def test_count_prints_the_warning(capsys: pytest.CaptureFixture[str]) -> None:
    fields = "hidden_size=2176,num_attention_heads=17,num_key_value_heads=8"
    assert main(["count", "LlamaForCausalLM", "--set", fields]) == 0
    condition = "`num_attention_heads % num_key_value_heads == 0` does not hold"
    values = "(num_attention_heads = 17, num_key_value_heads = 8)"
    assert f"cannot run it: {condition} {values}" in capsys.readouterr().out


def test_a_condition_on_experts_says_nothing_of_a_model_without_them() -> None:
    fields = {"num_experts": 4, "num_experts_per_tok": 8}
    routed = archspec.load("Qwen2MoeForCausalLM", set=fields)
    dense = archspec.load("Qwen2MoeForCausalLM", set={**fields, "mlp_only_layers": list(range(24))})
    assert any("cannot run" in note for note in routed.notes)
    assert not any("cannot run" in note for note in dense.notes)


def test_conditions_hold_for_sub_configs(tmp_path: Any) -> None:
    config = {"model_type": "llava", "text_config": {"model_type": "llama", "num_key_value_heads": 5}}
    notes = archspec.load(config, "LlavaForConditionalGeneration").notes
    assert any("text_config.num_key_value_heads = 5" in note for note in notes)


def test_solve_never_proposes_17_heads_over_8() -> None:
    given = ["hidden_size=2176", "num_key_value_heads=8"]
    found = archspec.solve("LlamaForCausalLM", params="1.3b", set=given)
    assert found
    for one in found:
        heads, shared = one.config["num_attention_heads"], one.config["num_key_value_heads"]
        assert heads % shared == 0 and 2176 % heads == 0


def test_solve_says_why_no_config_can_run() -> None:
    given = {"num_attention_heads": [17], "num_key_value_heads": [8], "hidden_size": [2176]}
    with pytest.raises(SweepError, match="cannot run it") as caught:
        archspec.solve("LlamaForCausalLM", "num_hidden_layers", params="1.3b", set=given)
    assert "num_attention_heads % num_key_value_heads == 0" in str(caught.value)
    assert "change num_attention_heads or num_key_value_heads" in str(caught.value)


@solved
def test_solve_proposes_configs_without_a_warning(architecture: str, budgets: Config, given: Any) -> None:
    for one in archspec.solve(architecture, set=given, top=3, **budgets):
        model = archspec.load(one.config)
        assert not [*run_problems(model.scope, model.architecture)]


def _failure(config: dict[str, Any]) -> str:
    from archspec.reference.costs import instance
    from tools.runs import failure

    return failure(instance(config["architectures"][0], config, config["model_type"]))


@pytest.mark.reference
@solved
def test_transformers_runs_every_proposal(architecture: str, budgets: Config, given: Any) -> None:
    for one in archspec.solve(architecture, set=given, top=2, **budgets):
        assert not _failure(one.config)


@pytest.mark.reference
@pytest.mark.parametrize("architecture", BROKEN)
def test_transformers_builds_what_is_warned_of_and_cannot_run_it(architecture: str) -> None:
    model_type = archspec.load(architecture).model_type
    usual = {"model_type": model_type, "num_hidden_layers": 4, "architectures": [architecture]}
    assert _failure({**usual, **BROKEN[architecture]})
    assert not _failure(usual)


@pairs
def test_only_configs_that_cannot_run_are_warned_of(architecture: str, good: Config, bad: Config) -> None:
    assert not [note for note in archspec.load(architecture, set=good).notes if "cannot run" in note]
    model = archspec.load(architecture, set=bad)
    assert [note for note in model.notes if "cannot run" in note]
    with pytest.raises(archspec.ArchspecError, match="cannot run it"):
        model.flops(tokens=8, **({"encoder_tokens": 8} if "Conditional" in architecture else {}))


@pytest.mark.reference
@pairs
def test_transformers_runs_one_of_two_configs(architecture: str, good: Config, bad: Config) -> None:
    kind = archspec.load(architecture).model_type
    few = {"num_hidden_layers": 2} if kind == "falcon" else {}
    given = {"model_type": kind, "architectures": [architecture], **few}
    assert not _failure({**given, **good})
    assert _failure({**given, **bad})
