"""The meta device's answers for unknown values equal those of the CPU."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from archspec.costs.records import Call
from archspec.reference import Unavailable, config_of, model_class
from archspec.reference.contents import by_module, has_encoder_and_decoder
from archspec.reference.costs import instance, measure

pytestmark = pytest.mark.reference

_TOKENS = 64
_PARTS = {"layers": 2, "ffn_dim": 48, "attention_heads": 4}
_BART = {f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in _PARTS.items()}
_BART |= {"d_model": 32, "vocab_size": 50}
_BIGBIRD = {**_BART, "block_size": 4, "num_random_blocks": 1}
_DBRX = {"d_model": 32, "n_heads": 2, "n_layers": 2, "vocab_size": 50}
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 4, "num_heads": 4, "vocab_size": 50}
_BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 50}
_EXPERTS = {"num_experts": 4, "num_sparse_encoder_layers": 2, "num_sparse_decoder_layers": 2}
_STREAMS = {"hidden_size": 32, "vocab_size": 50, "num_encoder_layers": 2, "num_decoder_layers": 2}


@pytest.mark.parametrize(
    ("model_type", "architecture", "raw"),
    [
        ("bart", "BartForSequenceClassification", _BART),
        ("bigbird_pegasus", "BigBirdPegasusModel", _BIGBIRD),
        ("cpmant", "CpmAntModel", {**_BERT, "dim_head": 16, "dim_ff": 48, "prompt_length": 4}),
        ("dbrx", "DbrxModel", {**_DBRX, "attn_config": {"rope_theta": 10000.0, "clip_qkv": 8}}),
        ("jetmoe", "JetMoeModel", {**_BERT, "num_key_value_heads": 4, "kv_channels": 8}),
        ("led", "LEDModel", {**_BART, "attention_window": 8}),
        ("longt5", "LongT5Model", {**_T5, "encoder_attention_type": "transient-global"}),
        ("mra", "MraModel", _BERT),
        ("nllb-moe", "NllbMoeModel", {**_BART, "num_experts": 4, "encoder_sparse_step": 2}),
        ("prophetnet", "ProphetNetForConditionalGeneration", _STREAMS),
        ("switch_transformers", "SwitchTransformersModel", {**_T5, **_EXPERTS}),
        ("xmod", "XmodModel", {**_BERT, "languages": ["de_DE", "en_XX"], "default_language": "en_XX"}),
    ],
)
def test_the_flops_on_meta_are_those_of_numbers(model_type: str, architecture: str, raw: Any) -> None:
    model = instance(architecture, raw, model_type)
    encoder_tokens = _TOKENS if has_encoder_and_decoder(model) else 0
    on_meta = measure(model, Call(2, _TOKENS, 0, encoder_tokens, encoder_tokens)).flops
    assert _folded(on_meta) == _folded(_on_cpu(model_type, architecture, raw, encoder_tokens > 0))


def _on_cpu(model_type: str, architecture: str, raw: Any, encoder: bool) -> dict[str, int]:
    """Count FLOPs with real numbers: random tokens, and one end per sequence."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    config = config_of(model_type, raw)
    config._attn_implementation = "eager"
    torch.manual_seed(0)
    model = model_class(architecture, model_type)(config).eval()
    tokens = torch.randint(5, 45, (2, _TOKENS))
    tokens[:, -1] = getattr(config, "eos_token_id", None) or 2
    given = {"decoder_input_ids": torch.randint(5, 45, (2, _TOKENS))} if encoder else {}
    with FlopCounterMode(display=False) as counter:
        model(input_ids=tokens, **given)
    return by_module(counter, model)


def _folded(flops: dict[str, int]) -> Counter[str]:
    """Which expert has a token depends on values: those of a layer together."""
    found: Counter[str] = Counter()
    for path, own in flops.items():
        found[re.sub(r"expert_\d+", "expert", path)] += own
    return found


def test_a_short_call_leaves_bigbird_as_it_was_built() -> None:
    model = instance("BigBirdPegasusModel", _BIGBIRD, "bigbird_pegasus")
    long, short = Call(1, 1, 0, 64, 64), Call(1, 1, 0, 8, 8)
    fresh = measure(model, long)
    assert measure(model, short) != fresh == measure(model, long)


def test_audio_tokens_have_several_codes() -> None:
    config = {"num_hidden_layers": 1, "num_key_value_heads": 2, "head_dim": 8, "hidden_size": 32}
    raw = {"encoder_config": config, "decoder_config": {**config, "cross_hidden_size": 32}}
    found = measure(instance("DiaModel", raw, "dia"), Call(2, 3, 0, 5, 5))
    assert {shape[2] for shape in found.cache.values()} == {3, 5}


def test_heads_that_return_a_cache_take_none() -> None:
    """Heads of encoder-decoders return the cache of their model, but take none to go on from."""
    call = Call(1, 3, 0, 5, 5)
    model = instance("BartForQuestionAnswering", _BART, "bart")
    expected = measure(instance("BartModel", _BART, "bart"), call).cache
    assert expected and measure(model, call).cache == expected
    with pytest.raises(Unavailable, match="returns no cache"):
        measure(model, Call(1, 1, 3, 5))
    assert measure(instance("T5ForTokenClassification", _T5, "t5"), call).cache == {}
    both = instance("T5Model", {**_T5, "is_encoder_decoder": False}, "t5")  # one cache for both attentions
    with pytest.raises(Unavailable, match="is_encoder_decoder=False"):
        measure(both, Call(1, 1, 0, 5, 5))


def test_a_module_that_is_called_from_further_up_counts_there() -> None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 5))

        def forward(self, given: Any) -> Any:
            return self.inner[1](self.inner(given)[:, :3])

    model = Outer()
    with FlopCounterMode(display=False) as counter:
        model(torch.ones(1, 2))
    first, second = 2 * 2 * 3, 2 * 3 * 5
    assert by_module(counter, model) == {
        "": second,
        "inner": -second,
        "inner.0": first,
        "inner.1": 2 * second,
    }


def test_experts_that_transformers_loops_over_are_measured() -> None:
    """Which of them are chosen is not known on meta, but how many are."""
    text = {
        "hidden_size": 64,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "head_dim": 16,
        "vocab_size": 99,
    }
    text |= {"num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 16}
    experts = {"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    text |= {**experts, "mlp_layer_types": ["dense", "sparse"]}
    vision = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    raw = {"model_type": "step3p7", "text_config": text, "vision_config": vision}
    found = measure(instance("Step3p7Model", raw, "step3p7"), Call(1, 5)).flops
    assert found["language_model.layers.1.mlp.experts"] == 2 * 5 * 2 * 3 * 64 * 32
