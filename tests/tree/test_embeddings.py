"""The embedding split: tables of nn.Embedding, and the result of get_output_embeddings()."""

from __future__ import annotations

from pathlib import Path

import pytest

import archspec
from archspec.configs.scope import Scope
from archspec.errors import SpecError
from archspec.specs.library import shipped
from archspec.tree.builder import Builder
from archspec.tree.tensors import output_embeddings, tensors

SPEC = """# A test.
# code: nowhere
model_type: tiny
config:
  vocab_size: 8
  hidden_size: 2
  deep: false
modules:
  TinyTable:
    extends: Embedding(vocab_size, hidden_size).requires_grad_(False)
    norm: LayerNorm(hidden_size)
  TinyHead:
    dense: Linear(hidden_size, hidden_size)
    decoder: Linear(hidden_size, vocab_size)
    output_embeddings: decoder
architectures:
  TinyModel:
    table: TinyTable()
    head: TinyHead()
    heads: Linear(hidden_size, vocab_size) for i in range(2)
    output_embeddings: head if deep else heads
"""


def spec_at(folder: Path, text: str = SPEC) -> archspec.Model:
    (folder / "tiny.yaml").write_text(text, encoding="utf-8")
    return shipped().load_file(str(folder / "tiny.yaml"))


def parts(spec: object, **config: object) -> dict[str, str]:
    found = tensors(Builder(Scope(spec, config)).build("TinyModel"))
    return {tensor.name: tensor.embedding for tensor in found if tensor.embedding}


@pytest.mark.parametrize(
    ("architecture", "embedding"),
    [
        ("LlamaForCausalLM", 2 * 32000 * 4096),  # untied: both matrices
        ("GPT2LMHeadModel", (50257 + 1024) * 768),  # tied: once, with the positions
        ("T5ForConditionalGeneration", 32128 * 512 + 2 * 32 * 8),
        ("Wav2Vec2ForCTC", 0),  # its lm_head is not the output embedding
    ],
)
def test_the_split_of_well_known_classes(architecture: str, embedding: int) -> None:
    model = archspec.load(architecture)
    assert model.embedding_params == embedding
    assert model.non_embedding_params == model.params - embedding
    for name in ("embedding_params", "non_embedding_params", "active_params_without_lookup"):
        assert model.quantity(name).evaluate() == getattr(model, name)


def test_active_parameters_of_model_cards() -> None:
    small = {"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32}  # 21B, 3.6B active
    model = archspec.load(small, "GptOssForCausalLM")
    assert (model.params, model.active_params_without_lookup) == (20914757184, 3608307264)
    assert model.active_params - model.active_params_without_lookup == 201088 * 2880
    tied = archspec.load("GPT2LMHeadModel")  # positions are looked up, tied words are not
    assert tied.active_params - tied.active_params_without_lookup == 1024 * 768


def test_a_class_made_of_a_layer_and_a_path_that_a_condition_chooses(tmp_path: Path) -> None:
    spec = spec_at(tmp_path)
    table = {"table.weight": "table"}
    assert parts(spec) == {**table, "heads.0.weight": "output", "heads.1.weight": "output"}
    assert parts(spec, deep=True) == {**table, "head.decoder.weight": "output"}
    root = Builder(Scope(spec, {})).build("TinyModel")
    first, *_ = tensors(root)
    assert first[:2] == ("table.weight", (8, 2)) and not first.trainable and first.layer == "Embedding"
    assert output_embeddings(root) == ["heads.0", "heads.1"]
    wrong = spec_at(tmp_path, SPEC.replace("head if deep", "header if deep"))
    with pytest.raises(SpecError, match="header does not exist") as caught:
        parts(wrong, deep=True)
    place = caught.value.problems[0].place
    assert place is not None and "output_embeddings: header" in place.source.line(place.line)
