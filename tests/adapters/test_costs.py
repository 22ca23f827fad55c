"""FLOPs of adapters: recorded values, what is refused, and torch's FlopCounterMode on peft's models."""

from __future__ import annotations

from typing import Any

import pytest
from adapters.cases import LLAMA, TINY

import archspec
from archspec.errors import ArchspecError

WIDE = {"hidden_size": 4096, "num_hidden_layers": 2, "num_key_value_heads": 8, "intermediate_size": 14336}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("LlamaForCausalLM", {}),
    ("LlamaForCausalLM", {"target_modules": "all-linear", "use_dora": True}),
    ("LlamaForCausalLM", {"target_modules": ["up_proj"], "layers_to_transform": [1]}),
    ("LlamaForCausalLM", {"target_modules": ["k_proj", "lm_head"]}),
    ("LlamaForCausalLM", {"target_modules": ["down_proj"], "modules_to_save": ["lm_head"]}),
    ("GPT2LMHeadModel", {"target_modules": ["attn.c_proj"]}),
    ("BertModel", {"target_modules": ["value"]}),
    ("BertModel", {"bias": "all", "layers_to_transform": [2]}),
    ("LlamaForCausalLM", {"layers_to_transform": [1], "modules_to_save": ["embed_tokens"]}),
    ("LlamaForCausalLM", {"use_dora": True, "lora_dropout": 0.1}),
    ("AlbertModel", {"use_dora": True, "target_modules": ["query"]}),  # layers run several times
    ("AlbertModel", {"target_modules": ["ffn"], "bias": "all"}),
    ("GPT2LMHeadModel", {"use_dora": True, "lora_dropout": 0.1, "target_modules": "all-linear"}),
    ("Mamba2Model", {"target_modules": ["in_proj"]}),  # the weight of the first convolution has no gradient
    ("LukeModel", {"target_modules": ["query", "w2e_query"]}),  # which does not run without entities
]


def test_a_known_step() -> None:
    adapter = archspec.load("LlamaForCausalLM", set={**WIDE, "vocab_size": 128256}).lora(r=16)
    assert round(adapter.flops(tokens=512, train=True) / adapter.flops(tokens=512), 3) == 1.981


def test_only_needed_gradients_count() -> None:
    model = archspec.load("LlamaForCausalLM", set=LLAMA)
    forward = model.flops(tokens=8).flops
    first = model.lora(target_modules=["0.self_attn.q_proj"]).flops(tokens=8, train=True)
    last = model.lora(target_modules=["1.mlp.down_proj"]).flops(tokens=8, train=True)
    head = 2 * 8 * 64 * 100
    down = 2 * 8 * 8 * (64 + 96)
    assert last == forward + down + head + 2 * 8 * 8 * (96 + 2 * 64)  # no input of the adapter has a gradient
    assert last < first < 3 * forward


def test_a_trained_embedding_needs_gradients_of_all_layers() -> None:
    model = archspec.load("LlamaForCausalLM", set=LLAMA)
    options: dict[str, Any] = {"target_modules": ["q_proj"], "layers_to_transform": [1]}
    frozen = model.lora(**options).flops(tokens=8, train=True)
    trained = model.lora(**options, modules_to_save=["embed_tokens"]).flops(tokens=8, train=True)
    layer = (model.flops(tokens=8).flops - 2 * 8 * 64 * 100) // 2
    attention = 2 * 2 * 8 * 8 * 64  # twice in the first layer, keys and values in the last one
    inputs = 2 * 8 * 64 * (64 + 2 * 32 + 8)  # of q_proj, k_proj, v_proj and the adapter in the last layer
    assert trained - frozen == layer + 2 * attention + inputs


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("LlamaForCausalLM", {"target_modules": ["embed_tokens"]}),
        ("LlamaForCausalLM", {"layer_replication": [[0, 2], [1, 2]]}),
        ("MixtralForCausalLM", {"target_modules": ["w1", "w3"]}),
    ],
)
def test_refused(name: str, options: dict[str, Any]) -> None:
    adapter = archspec.load(name, set=TINY[name]).lora(**options)
    with pytest.raises(ArchspecError, match="FLOPs with this adapter are not supported"):
        adapter.flops(tokens=8)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("MobileBertForMaskedLM", {"modules_to_save": ["cls"]}, "cls.predictions.decoder were not recorded"),
        ("WhisperForConditionalGeneration", {"modules_to_save": ["embed_positions"]}, "frozen without"),
    ],
)
def test_trained_modules_that_were_not_recorded_are_refused(
    name: str, options: dict[str, Any], message: str
) -> None:
    model = archspec.load(name, set={"num_hidden_layers": 2})
    lengths = {"audios": [3000]} if name.startswith("Whisper") else {}
    with pytest.raises(ArchspecError, match=message):
        model.lora(target_modules=["query", "q_proj"], **options).flops(tokens=8, train=True, **lengths)


@pytest.mark.reference
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "options"), CASES)
def test_flops_are_those_of_torch(name: str, options: dict[str, Any]) -> None:
    import torch
    from peft import LoraConfig, get_peft_model
    from torch.utils.flop_counter import FlopCounterMode

    from archspec.costs.records import Call
    from archspec.reference.costs import inputs, instance
    from archspec.reference.meta import on_meta

    model, call = archspec.load(name, set=TINY[name]), Call(2, 5)
    built = instance(name, {"model_type": model.model_type, **TINY[name]}, model.model_type, trains=True)
    with torch.device("meta"):
        adapted = get_peft_model(built, LoraConfig(**options)).base_model.model
    counter = FlopCounterMode(display=False)
    with on_meta(), torch.enable_grad(), counter:
        output = adapted.train()(**inputs(adapted, call))
        forward = counter.get_total_flops()
        output[0].float().sum().backward()
    adapter = model.lora(**options)
    if not options.get("lora_dropout"):  # DoRA multiplies the base weight again in training
        assert adapter.flops(batch=2, tokens=5) == forward
    assert adapter.flops(batch=2, tokens=5, train=True) == counter.get_total_flops()
