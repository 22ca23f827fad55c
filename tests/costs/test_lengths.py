"""Limits of position tables: transformers runs that many tokens; one more is refused."""

from __future__ import annotations

import inspect
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.costs.lengths import positions
from archspec.costs.records import Call
from archspec.errors import ArchspecError, FormulaError
from archspec.specs.library import shipped_library

COSTS = json.loads(Path(shipped_library().folder, "costs.json").read_text(encoding="utf-8"))
EXACT = {name: line["exact"] for name, line in COSTS["types"].items()}
SPECS = [shipped_library().load(name) for name in shipped_library().model_types()]
RULES = {spec.model_type: spec.max_length for spec in SPECS if spec.max_length and EXACT.get(spec.model_type)}
ONE_LENGTH = {name for spec in SPECS for name in spec.equal_lengths}
FEW = 24  # positions
SMALL = {
    size: names.split()
    for size, names in {
        48: "hidden_size n_embd d_model emb_dim dim embedding_size",
        1: "num_hidden_layers n_layer n_layers encoder_layers decoder_layers num_encoder_layers "
        "num_decoder_layers",
        4: "num_attention_heads n_head n_heads encoder_attention_heads decoder_attention_heads "
        "num_encoder_attention_heads num_decoder_attention_heads",
        32: "intermediate_size encoder_ffn_dim decoder_ffn_dim ffn_dim dff",
        64: "vocab_size entity_vocab_size",
        FEW: "max_position_embeddings n_positions max_seq_len max_target_positions "
        "max_encoder_position_embeddings max_decoder_position_embeddings",
    }.items()
}
FEWEST = {name: size for size, names in SMALL.items() for name in names}
BARK = {"block_size": FEW, "hidden_size": 48, "num_layers": 1, "num_heads": 4}
OWN: dict[str, Any] = {
    **dict.fromkeys(("bark_sub_model", "coarse_acoustics", "semantic"), BARK),
    "bros": {"hidden_size": 64},
    "codegen": {"rotary_dim": 4},
    "encoder-decoder": {
        "encoder": {**FEWEST, "model_type": "bert"},
        "decoder": {
            "model_type": "gpt2",
            "n_embd": 48,
            "n_layer": 1,
            "n_head": 4,
            "vocab_size": 64,
            "n_positions": FEW + 2,
            "add_cross_attention": True,
        },
    },
    "esm": {"position_embedding_type": "absolute", "pad_token_id": 1},
    "git": {"vision_config": {"hidden_size": 24, "intermediate_size": 16, "num_hidden_layers": 1}},
    "gptj": {"rotary_dim": 4},
    "layoutlmv3": {"coordinate_size": 8, "shape_size": 8, "visual_embed": False},
    "led": {"attention_window": 4},
    "marian": {"pad_token_id": 1, "decoder_start_token_id": 1},
    "perceiver": {"num_latents": 8, "d_latents": 32, "num_self_attends_per_block": 1},
    "reformer": {
        "axial_pos_embds": False,
        "attn_layers": ["local"],
        "local_attn_chunk_length": 4,
        "num_labels": 2,
    },
    "whisper": {"pad_token_id": 1, "bos_token_id": 1, "eos_token_id": 1, "decoder_start_token_id": 1},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
}


def small(model_type: str) -> dict[str, Any]:
    """Return a config with few positions, and little else."""
    from archspec.reference import config_class

    known = vars(config_class(model_type)())
    fields = {name: size for name, size in FEWEST.items() if name in known}
    return {"model_type": model_type, **fields, **OWN.get(model_type, {})}


@pytest.mark.reference
@pytest.mark.parametrize("model_type", RULES)
def test_transformers_runs_as_many_positions_and_not_one_more(model_type: str) -> None:
    import torch

    from archspec.reference.classes import config_of, model_class

    name, raw = min(EXACT[model_type], key=len), small(model_type)
    scope = archspec.load(raw, name).scope
    model = model_class(name, model_type)(config_of(model_type, raw)).eval()
    takes = inspect.signature(model.forward).parameters

    def run(tokens: int, encoder_tokens: int = 2) -> None:
        given = {"input_ids": torch.full((1, tokens), 9)}
        if "bbox" in takes:
            given["bbox"] = torch.zeros(1, tokens, 4, dtype=torch.long)
        if "decoder_input_ids" in takes:
            given = {"input_ids": torch.full((1, encoder_tokens), 9), "decoder_input_ids": given["input_ids"]}
        if "input_features" in takes:
            frames = 2 * model.config.max_source_positions
            given["input_features"] = torch.zeros(1, model.config.num_mel_bins, frames)
            del given["input_ids"]
        model(**given)

    for axis in RULES[model_type]:
        most, fixed = positions(scope, axis), () if axis == "tokens" else (2,)
        run(*fixed, most)
        with pytest.raises((IndexError, RuntimeError, ValueError)):
            run(*fixed, most + 1)


def used(name: str, **lengths: int) -> Call:
    """Return the call of a report on FLOPs."""
    return archspec.load(name).flops(**lengths).call.call


def test_a_call_is_at_most_as_long_as_position_tables() -> None:
    gpt2 = archspec.load("GPT2LMHeadModel")
    assert used("GPT2LMHeadModel")[:3] == (1, 1024, 0) and used("GPT2LMHeadModel", past=1000).tokens == 24
    assert used("GPT2LMHeadModel", tokens=1, past=1023).context == 1024
    assert gpt2.with_fields(n_positions=4096).memory().call.call.tokens == 2048 == used("OPTModel").tokens
    assert archspec.load("RobertaModel").training().tokens == 510
    for refused in (
        lambda: gpt2.flops(tokens=1025),
        lambda: gpt2.flops(tokens=1, past=1024),
        lambda: gpt2.cache(tokens=2048),
        lambda: gpt2.training(tokens=2048),
        lambda: gpt2.quantity("flops", tokens=2048),
    ):
        with pytest.raises(ArchspecError, match="GPT2LMHeadModel supports at most 1,024 tokens") as error:
            refused()
        assert error.value.problems[0].help.endswith("at most n_positions = 1,024")


def test_the_positions_of_an_encoder_are_limited_separately() -> None:
    led = archspec.load("LEDForConditionalGeneration")
    assert used("LEDForConditionalGeneration", encoder_tokens=16384).tokens == 1024
    with pytest.raises(ArchspecError, match=r"the encoder of LED.* at most 16,384 tokens, not 16,385"):
        led.flops(encoder_tokens=16385)
    assert led.with_fields(max_encoder_position_embeddings=100).quantity("flops").call.encoder_tokens == 100
    assert used("BartForCausalLM", encoder_tokens=5000).encoder_tokens == 5000  # of another's encoder


def test_relative_positions_have_no_limit() -> None:
    for name, fields in {
        "LlamaForCausalLM": {"max_position_embeddings": 64},
        "T5ForConditionalGeneration": {},
        "DebertaModel": {"position_biased_input": False},
        "EsmModel": {"vocab_size": 33, "position_embedding_type": "rotary"},
    }.items():
        model = archspec.load(name, set=fields)
        encoder_tokens = 512 if name.startswith("T5") else None
        assert positions(model.scope, "tokens") is None
        assert model.flops(tokens=4096, encoder_tokens=encoder_tokens).call.call.tokens == 4096


def test_formulas_have_the_limits_of_a_call() -> None:
    formula = archspec.load("GPT2Model").quantity("flops")
    assert formula.call == Call(1, 1024) and formula.evaluate(tokens=512) > 0
    assert formula.evaluate(tokens=4096, n_positions=4096) > formula.evaluate()
    for fields in ({"tokens": 1025}, {"n_positions": 512}):
        with pytest.raises((ArchspecError, FormulaError), match="supports at most"):
            formula.evaluate(**fields)


def test_a_budget_has_the_limits_of_a_call() -> None:
    kept = archspec.load("GPT2LMHeadModel").cache(budget="80GiB")
    assert {held.tokens for held in kept.holds.values()} == {1024}
    assert "DynamicCache: 1,024 tokens (the model's maximum) at batch size 1" in kept.text()


def test_points_of_a_sweep_have_the_limits_of_a_call() -> None:
    swept = archspec.sweep("GPT2Model", {"n_positions": [512, 1024, 2048]}, columns=["flops"], tokens=1024)
    assert len(list(swept)) == 2
    usual = archspec.sweep("GPT2Model", {"n_layer": [1, 12]}, columns=["flops"])
    assert [row["flops"] for row in usual][1] == archspec.load("GPT2Model").flops().flops
    [first_is_refused] = archspec.sweep("GPT2Model", {"n_head": [7, 12]}, columns=["flops"])
    assert first_is_refused["flops"] == archspec.load("GPT2Model").flops().flops


def test_solutions_have_the_limits_of_a_call() -> None:
    best = archspec.solve("GPT2LMHeadModel", "n_layer", memory="1GiB", top=1)[0]
    kept = archspec.load(best.config).cache(tokens=1024).cache_bytes["exact"]
    assert best.costs["memory"] == best.bytes + kept
    with pytest.raises(ArchspecError, match="sequence must be at least 1"):
        archspec.solve("GPT2LMHeadModel", "n_layer", memory="1GiB", sequence=0)


@pytest.mark.parametrize("architecture", sorted(ONE_LENGTH))
def test_some_classifiers_have_equal_lengths(architecture: str) -> None:
    model = archspec.load(architecture)
    assert model.flops(tokens=9, encoder_tokens=9).flops > 0
    for call in (model.flops, model.training):
        with pytest.raises(ArchspecError, match="in its encoder and in its decoder, not 9 and 7"):
            call(tokens=7, encoder_tokens=9)
    with pytest.raises(ArchspecError, match="needs an encoder sequence length"):
        model.flops(tokens=9)
    assert archspec.load(architecture).quantity("flops").evaluate() > 0


@pytest.mark.reference
def test_transformers_cannot_run_these_classifiers_with_other_lengths() -> None:
    from archspec.reference.costs import instance, output_of
    from archspec.reference.verdicts import Unavailable

    named = [name for spec in SPECS if spec.model_type in EXACT for name in spec.architectures]
    failing = set()
    for name in [name for name in named if name.endswith("ForSequenceClassification")]:
        try:
            model = archspec.load(name)
            model.flops(tokens=9, encoder_tokens=9)
        except ArchspecError:
            continue  # without an encoder, or without costs
        built = instance(name, {"model_type": model.model_type}, model.model_type)
        same = Call(1, 9, encoder_tokens=9, new_encoder_tokens=9)
        output_of(built, same, nullcontext())
        try:
            output_of(built, same._replace(tokens=7), nullcontext())
        except Unavailable:
            failing.add(name)
    assert failing == ONE_LENGTH
