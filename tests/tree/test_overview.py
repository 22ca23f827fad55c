"""The modules that hold most parameters: few rows, with all parameters of the model."""

from __future__ import annotations

import pytest

import archspec
from archspec.tree.overview import MAX_ROWS, Part, every_row, overview, rows

SHOWN = {
    "BertForMaskedLM": "bert.embeddings[word_embeddings position_embeddings +2] "
    "bert.encoder.layer*12[attention intermediate output] cls.predictions",
    "LlamaForCausalLM": "model.embed_tokens model.layers*32[self_attn mlp +2] model.norm lm_head",
    "GPT2LMHeadModel": "transformer.wte transformer.wpe transformer.h*12[attn mlp +2] transformer.ln_f "
    "lm_head",
    "MixtralForCausalLM": "model.embed_tokens model.layers*32[self_attn mlp[gate experts] +2] model.norm "
    "lm_head",
    "T5ForConditionalGeneration": "shared encoder[block*6[layer.0 layer.1] final_layer_norm] "
    "decoder[block*6[layer.0 layer.1 layer.2] final_layer_norm] lm_head",
    "CLIPModel": "text_model[embeddings encoder.layers*12 final_layer_norm] vision_model[embeddings "
    "encoder.layers*12[self_attn mlp +2] +2] visual_projection text_projection logit_scale",
    "LlavaForConditionalGeneration": "model.vision_tower model.multi_modal_projector "
    "model.language_model.embed_tokens model.language_model.layers*32[self_attn mlp +2] "
    "model.language_model.norm lm_head",
    "WhisperForConditionalGeneration": "model.encoder[conv1 conv2 embed_positions layers*4 layer_norm] "
    "model.decoder[embed_tokens embed_positions layers*4 layer_norm] proj_out",
    "DeepseekV3ForCausalLM": "model.embed_tokens model.layers.0-2*3 "
    "model.layers.3-60*58[self_attn mlp[experts gate shared_experts] +2] model.norm lm_head",
}


def parts(name: str, depth: int | None = None) -> list[Part]:
    model = archspec.load(name)
    return overview(model.root, model.tensors(), depth)


def sketch(shown: list[tuple[int, Part]]) -> str:
    """The names of rows, those of a lower level in brackets; `+2` for two modules that share a row."""
    text, before = "", 0
    for level, part in shown:
        joined = part.name.count(", ") + 1 if ", " in part.name else 0
        name = f"+{joined}" if joined else part.name + (f"*{part.copies}" if part.copies > 1 else "")
        step = "[" if level > before else "]" * (before - level) + " "
        text, before = text + step + name, level
    return (text + "]" * before).strip()


@pytest.mark.parametrize(
    "name", [*SHOWN, "Qwen3NextForCausalLM", "JambaModel", "SwinModel", "ResNetModel", "DetrModel"]
)
def test_rows_hold_all_parameters(name: str) -> None:
    found, whole = parts(name), archspec.load(name).params
    shown = rows(found)
    assert name not in SHOWN or sketch(shown) == SHOWN[name]
    assert len(shown) <= MAX_ROWS
    assert sum(part.params for part in found) == whole
    assert sum(part.params for level, part in shown if level == 0) == whole
    for _, part in every_row(found):
        assert not part.children or sum(child.params for child in part.children) == part.params
        assert part.each is None or part.each * len(part.spots) == part.params


def test_layers_that_differ_have_separate_rows() -> None:
    jamba = {part.name: part.copies for part in parts("JambaForCausalLM")}
    assert sum(copies for name, copies in jamba.items() if "layers" in name) == 32
    assert jamba["model.layers.1,3,5,…"] == 16
    blocks = [part for _, part in every_row(parts("T5Model")) if part.name == "block"]
    assert [(part.copies, part.each) for part in blocks] == [(6, None), (6, None)]  # one has a bias more


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 9])
def test_all_modules_to_a_depth(depth: int) -> None:
    found = parts("BertForMaskedLM", depth)
    assert sum(part.params for part in found) == (archspec.load("BertForMaskedLM").params if depth else 0)
    assert max((level for level, _ in every_row(found)), default=-1) == min(depth, 6) - 1
