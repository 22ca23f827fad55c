"""Every line of a spec altered once: verification finds each alteration and names its line."""

from __future__ import annotations

from typing import Any

import pytest

from archspec.configs.scope import Scope
from archspec.specs.library import shipped_library
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors
from tools.alterations import alterations
from tools.mutation import FOUND, HIDDEN, MISSED, NAMED, files, main, mutate

USUAL = ["gpt2", "mixtral"]
NIGHTLY = ["llama", "luke", "resnet", "t5"]
NIGHTLY += [
    *("albert", "bart", "bert", "bloom", "clip", "deepseek_v3", "distilbert", "gemma2", "gemma3", "gpt_neox"),
    *("jamba", "llava", "mamba", "mistral", "opt", "qwen2", "qwen3_moe", "roberta", "swin", "vit"),
    *("whisper", "beit", "hyperclovax", "llama4_text", "speech_to_text", "detr", "mistral_large4_text"),
    *("segformer", "qwen2_vl_text", "dbrx_ffn_config", "fun_asr_nano_adaptor", "gemma4_unified_vision"),
    *("sam_prompt_encoder", "shared/multimodal", "blt_global_transformer", "wav2vec2"),
]

UNSEEN = {"luke": ["fixed.is_decoder: true in place of false"]}  # nothing reads it without cross-attention


@pytest.mark.reference
@pytest.mark.parametrize("name", [*USUAL, *(pytest.param(one, marks=pytest.mark.slow) for one in NIGHTLY)])
def test_every_alteration_is_found(name: str) -> None:
    results = mutate(name)
    assert len(results) > 2
    unseen = [one.what for one in results if one.outcome not in (NAMED, HIDDEN)]
    assert unseen == UNSEEN.get(name, [])


@pytest.mark.reference
def test_the_default_config_alone_does_not_show_most_alterations() -> None:
    outcomes = [one.outcome for one in mutate("gpt2", samples=0)]
    assert outcomes.count(MISSED) + outcomes.count(FOUND) > 5


def test_alterations_of_a_file() -> None:
    """One line for each kind of expression, with the lines of which one has to be named."""
    found = {one.what: sorted(one.lines) for one in alterations("gpt2")}
    expected: dict[str, Any] = {
        "config.n_embd: 769 in place of 768": [12],
        "config.n_inner: (4 * n_embd + 1) in place of 4 * n_embd": [15],
        "config.add_cross_attention: true in place of false": [19],
        "modules.GPT2Attention.q_attn: not (is_cross_attention) in place of is_cross_attention": [34],
        "modules.GPT2Attention.q_attn left out": [26, 34],
        "architectures.GPT2Model.h: n_layer + 1 in place of n_layer": [60],
        "architectures.GPT2Model.ln_f: LayerNorm(n_embd, bias=False) in place of LayerNorm(n_embd)": [61],
        "architectures.GPT2LMHeadModel.tied: lm_head.weight left out": [62, 65],
    }
    assert found.items() >= expected.items()
    frozen = "modules.IdeficsVisionEmbeddings.class_embedding: not (trainable) in place of trainable"
    assert frozen in {one.what for one in alterations("idefics_vision")}


def test_an_altered_shared_part_reaches_the_specs_that_use_it() -> None:
    altered = next(one for one in alterations("shared/experts") if one.what.endswith("gate_up_proj left out"))
    before, after = (
        {row.name for row in tensors(Builder(Scope(spec, {})).build("MixtralModel"))}
        for spec in (shipped_library().load("mixtral"), altered.load("mixtral"))
    )
    assert before - after == {f"layers.{i}.mlp.experts.gate_up_proj" for i in range(32)}
    assert altered.file == "formulas/shared/experts.yaml" and {"mixtral", "shared/experts"} < {*files()}


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["no_such_type"])
    assert "no spec file is called no_such_type" in capsys.readouterr().err
