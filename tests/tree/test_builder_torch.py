"""Constructs of the spec language, validated against torch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import archspec
from archspec.reference import Row, module_rows

pytestmark = pytest.mark.reference
Says = Callable[..., list[Row]]


def built(build: Callable[[], Any]) -> list[Row]:
    """The rows of a module that is built on the meta device."""
    import torch

    with torch.device("meta"):
        return module_rows(build())


def module(**parts: Any) -> Any:
    from torch import nn

    whole = nn.Module()
    for name, part in parts.items():
        setattr(whole, name, part)
    return whole


def shapes(rows: list[Row]) -> dict[str, tuple[int, ...]]:
    return {name: shape for name, shape, *_ in rows}


@pytest.mark.parametrize("given", [..., None, 0, 16])
def test_defaults_in_the_place_of_a_zero(says: Says, given: Any) -> None:
    from transformers.models.vit import modeling_vit as vit

    spec = """
config:
  hidden_size: 768
  pooler_output_size: or hidden_size
architectures:
  ViTPooler:
    dense: Linear(hidden_size, pooler_output_size)
"""
    config = {"hidden_size": 32} | ({} if given is ... else {"pooler_output_size": given})
    assert says(spec, **config) == built(lambda: vit.ViTPooler(vit.ViTConfig(**config)))


@pytest.mark.parametrize("ratio", [4.0, 2.7, 0.1, 1 / 3])
@pytest.mark.parametrize("size", [96, 10, 7])
def test_int_truncates(says: Says, ratio: float, size: int) -> None:
    from torch import nn

    body = "    dense: Linear(dim, int(mlp_ratio * dim))\n"
    spec = "config: {dim: 96, mlp_ratio: 4.0}\narchitectures:\n  Toy:\n" + body
    assert says(spec, dim=size, mlp_ratio=ratio) == built(
        lambda: module(dense=nn.Linear(size, int(ratio * size)))
    )


@pytest.mark.parametrize("rank", [None, 0, 3])
@pytest.mark.parametrize("norm", ["group", "layer"])
@pytest.mark.parametrize("bias", [True, False])
def test_conditions_on_flags_texts_and_null(says: Says, rank: int | None, norm: str, bias: bool) -> None:
    from torch import nn

    spec = """
config: {bias: false, norm: group, rank: int | None = 3, scale: 0.0}
architectures:
  Toy:
    q: Linear(6, 6, bias=bias) if rank is None else [Linear(6, rank, bias=bias), Linear(rank, 6)]
    norm: LayerNorm(6) if norm == "layer" else GroupNorm(2, 6)
    scale: Parameter(6) if scale > 0 else None
"""
    q = (
        nn.Linear(6, 6, bias=bias)
        if rank is None
        else nn.ModuleList([nn.Linear(6, rank, bias=bias), nn.Linear(rank, 6)])
    )
    parts = {"q": q, "norm": nn.LayerNorm(6) if norm == "layer" else nn.GroupNorm(2, 6)}
    assert says(spec, bias=bias, norm=norm, rank=rank) == built(lambda: module(**parts))
    assert ("scale", (6,), "parameter", True, None, "") in says(
        spec, bias=bias, norm=norm, rank=rank, scale=1e-6
    )


def test_parts_that_other_specs_describe(says: Says) -> None:
    import transformers
    from torch import nn

    spec = """
config:
  text_config: AutoConfig(llama, hidden_size=8, num_attention_heads=2, num_hidden_layers=1, vocab_size=20)
  image_config: Config(clip_vision_model, hidden_size=12, num_hidden_layers=1, num_attention_heads=2)
  audio_config: AutoConfig(whisper, optional=True)
architectures:
  Toy:
    text: AutoModelForCausalLM(text_config)
    image: CLIPVisionModel(image_config)
    audio: AutoModel(audio_config) if audio_config is not None else None
    bridge: Linear(image_config.hidden_size, text_config.hidden_size)
"""
    small = {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 2}
    llama = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "vocab_size": 20}
    gpt2 = {"n_embd": 8, "n_head": 2, "n_layer": 1, "vocab_size": 20, "n_positions": 9}
    texts = ({"model_type": "llama", **llama}, {"model_type": "gpt2", **gpt2})
    for number, text in enumerate(texts):
        settings = {key: value for key, value in text.items() if key != "model_type"}
        config = transformers.AutoConfig.for_model(text["model_type"], **settings)
        parts = {
            "text": transformers.AutoModelForCausalLM.from_config(config),
            "image": transformers.CLIPVisionModel(transformers.CLIPVisionConfig(**small)),
            "bridge": nn.Linear(12, 8),
        }
        given = {} if number == 0 else {"text_config": text, "image_config": small}
        assert says(spec, **given) == built(lambda parts=parts: module(**parts))


def test_a_part_that_may_be_null_on_one_condition(says: Says) -> None:
    """DPT's backbone_config: null stands for none, or, in a hybrid, for the default."""
    from torch import nn

    spec = """
config:
  hybrid: false
  part: AutoConfig(bert, hidden_size=24, optional=not hybrid)
architectures:
  Toy:
    a: Linear(part.hidden_size if part is not None else 7, 2)
"""
    assert says(spec) == built(lambda: module(a=nn.Linear(7, 2)))
    assert says(spec, hybrid=True) == built(lambda: module(a=nn.Linear(24, 2)))
    assert says(spec, part={"model_type": "bert", "hidden_size": 12}) == built(
        lambda: module(a=nn.Linear(12, 2))
    )


def test_defaults_that_fill_in_a_part_that_is_given(says: Says) -> None:
    """Voxtral's and GLM-ASR's text_config; elsewhere a given text_config has no other defaults."""
    from torch import nn

    spec = """
config:
  merged: AutoConfig(bert, merge=True, hidden_size=24, vocab_size=20)
  plain: AutoConfig(bert, hidden_size=24, vocab_size=20)
architectures:
  Toy:
    a: Linear(merged.hidden_size, merged.vocab_size)
    b: Linear(plain.hidden_size, plain.vocab_size)
"""
    parts = {"a": nn.Linear(24, 30), "b": nn.Linear(768, 30)}
    assert says(spec, merged={"vocab_size": 30}, plain={"vocab_size": 30}) == built(lambda: module(**parts))
    parts = {"a": nn.Linear(24, 20), "b": nn.Linear(24, 20)}
    assert (
        says(spec)
        == says(spec, merged=None)
        == says(spec, merged={}, plain=None)
        == built(lambda: module(**parts))
    )
    with pytest.raises(archspec.ArchspecError, match="merged: the number 3 is not a sub-config"):
        says(spec, merged=3)


def test_a_part_under_an_old_name(says: Says) -> None:
    from torch import nn

    spec = """
config:
  audio_config: AutoConfig(whisper, formerly=old_name)
architectures:
  Toy:
    a: Linear(audio_config.d_model, 1)
"""
    old = says(spec, audio_config={"model_type": "old_name", "d_model": 12})
    assert (
        old
        == says(spec, audio_config={"model_type": "whisper", "d_model": 12})
        == built(lambda: module(a=nn.Linear(12, 1)))
    )
    with pytest.raises(archspec.ArchspecError, match="other_name"):
        says(spec, audio_config={"model_type": "other_name"})


@pytest.mark.parametrize("tied", [True, False])
def test_ties_of_weights_and_biases(says: Says, tied: bool) -> None:
    """BERT ties the decoder's weight to the embedding and its bias to the head's."""
    import torch
    from torch import nn

    spec = """
config: {size: 4, vocab: 9, tie_word_embeddings: true}
architectures:
  Toy:
    words: Embedding(vocab, size)
    decoder: Linear(size, vocab)
    bias: Parameter(vocab)
    tied: {decoder.weight: words.weight, decoder.bias: bias}
"""

    def build() -> Any:
        whole = module(words=nn.Embedding(9, 4), decoder=nn.Linear(4, 9), bias=nn.Parameter(torch.empty(9)))
        if tied:
            whole.decoder.weight, whole.decoder.bias = whole.words.weight, whole.bias
        return whole

    assert says(spec, tie_word_embeddings=tied) == built(build)


def test_weight_norm(says: Says) -> None:
    from torch import nn

    spec = "config: {out: 4}\narchitectures:\n  Toy:\n    conv: weight_norm(Conv1d(2, out, 3))\n"
    assert says(spec) == built(lambda: module(conv=nn.utils.parametrizations.weight_norm(nn.Conv1d(2, 4, 3))))
    with pytest.raises(archspec.ArchspecError, match="weight has 0 rows"):
        says(spec, out=0)
    with pytest.raises(RuntimeError, match="cannot reshape"):
        built(lambda: module(conv=nn.utils.parametrizations.weight_norm(nn.Conv1d(2, 0, 3))))


def test_persistent_buffers_apart_from_parameters(says: Says) -> None:
    import torch
    from torch import nn

    body = "    norm: BatchNorm2d(3)\n    ids: Buffer(1, 5)\n    scale: Parameter()\n    steps: Buffer()\n"
    spec = "architectures:\n  Toy:\n" + body
    rows = says(spec)
    assert [row[0] for row in rows if row[2] == "parameter"] == ["scale", "norm.weight", "norm.bias"]
    buffers = ["ids", "steps", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
    assert sorted(row[0] for row in rows if row[2] == "buffer") == sorted(buffers)

    def build() -> Any:
        whole = module(norm=nn.BatchNorm2d(3), scale=nn.Parameter(torch.empty(())))
        whole.register_buffer("ids", torch.empty(1, 5))
        whole.register_buffer("steps", torch.empty(()))
        return whole

    assert rows == built(build)


def test_positions_count_modules_without_tensors(says: Says) -> None:
    from torch import nn

    spec = """
architectures:
  Toy:
    a: Sequential(Linear(2, 3), ReLU(), Dropout(0.1), Linear(3, 4))
    b:
      - GELU()
      - Linear(2, 3)
      - None
      - c: Linear(5, 6)
    d: "{name: Linear(1, size) for name, size in [['x', 2], ['y', 3]]}"
"""
    parts = {
        "a": nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Dropout(0.1), nn.Linear(3, 4)),
        "b": nn.ModuleList([nn.GELU(), nn.Linear(2, 3), nn.Identity(), module(c=nn.Linear(5, 6))]),
        "d": nn.ModuleDict({"x": nn.Linear(1, 2), "y": nn.Linear(1, 3)}),
    }
    assert says(spec) == built(lambda: module(**parts))
