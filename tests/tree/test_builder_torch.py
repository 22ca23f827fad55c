"""Constructs of the spec language, validated against torch's tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import archspec
from archspec.reference import Row, module_rows

pytestmark = pytest.mark.reference
Says = Callable[..., list[Row]]
Parts = Callable[[Any], dict[str, Any]]  # the parts of a module, from torch.nn


def built(build: Callable[[], Any]) -> list[Row]:
    """The rows of a module that is built on the meta device."""
    import torch

    with torch.device("meta"):
        return module_rows(build())


def module(parts: Parts) -> Any:
    from torch import nn

    whole = nn.Module()
    for name, part in parts(nn).items():
        whole.register_buffer(name, part) if type(part).__name__ == "Tensor" else setattr(whole, name, part)
    return whole


def inner(nn: Any, **parts: Any) -> Any:
    return module(lambda _: parts)


TRUNCATED = (
    "config: {dim: 96, mlp_ratio: 4.0}\narchitectures:\n  T: {a: 'Linear(dim, int(mlp_ratio * dim))'}\n"
)
NULL_PART = """
config:
  hybrid: false
  part: AutoConfig(bert, hidden_size=24, optional=not hybrid)
architectures:
  Toy:
    a: Linear(part.hidden_size if part is not None else 7, 2)
"""
FILLED = """
config:
  merged: AutoConfig(bert, merge=True, hidden_size=24, vocab_size=20)
  plain: AutoConfig(bert, hidden_size=24, vocab_size=20)
architectures:
  Toy:
    a: Linear(merged.hidden_size, merged.vocab_size)
    b: Linear(plain.hidden_size, plain.vocab_size)
"""
OLD_NAME = """
config:
  audio_config: AutoConfig(whisper, formerly=old_name)
architectures:
  Toy:
    a: Linear(audio_config.d_model, 1)
"""
FLAGS = """
config: {bias: false, norm: group, rank: int | None = 3, scale: 0.0}
architectures:
  Toy:
    q: Linear(6, 6, bias=bias) if rank is None else [Linear(6, rank, bias=bias), Linear(rank, 6)]
    norm: LayerNorm(6) if norm == "layer" else GroupNorm(2, 6)
    scale: Parameter(6) if scale > 0 else None
"""
WITHOUT_TENSORS = """
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
BUFFERS = """
architectures:
  Toy:
    norm: BatchNorm2d(3)
    ids: Buffer(1, 5)
    scale: Parameter()
    steps: Buffer()
"""
WEIGHT_NORM = "config: {out: 4}\narchitectures:\n  Toy:\n    conv: weight_norm(Conv1d(2, out, 3))\n"


def normed(nn: Any, out: int) -> Any:
    return nn.utils.parametrizations.weight_norm(nn.Conv1d(2, out, 3))


def flags(rank: int | None, norm: str, bias: bool, scale: float) -> Parts:
    def parts(nn: Any) -> dict[str, Any]:
        import torch

        low_rank = nn.ModuleList([nn.Linear(6, rank or 0, bias=bias), nn.Linear(rank or 0, 6)])
        return {
            "q": nn.Linear(6, 6, bias=bias) if rank is None else low_rank,
            "norm": nn.LayerNorm(6) if norm == "layer" else nn.GroupNorm(2, 6),
            **({"scale": nn.Parameter(torch.empty(6))} if scale > 0 else {}),
        }

    return parts


def buffers(nn: Any) -> dict[str, Any]:
    import torch

    tensors = {"ids": torch.empty(1, 5), "steps": torch.empty(())}
    return {"norm": nn.BatchNorm2d(3), "scale": nn.Parameter(torch.empty(())), **tensors}


def filled(merged: int, vocab: int, size: int, plain: int) -> Parts:
    return lambda nn: {"a": nn.Linear(merged, vocab), "b": nn.Linear(size, plain)}


CASES: list[tuple[str, dict[str, Any], Parts]] = [
    *(
        (TRUNCATED, {"dim": n, "mlp_ratio": r}, lambda nn, n=n, r=r: {"a": nn.Linear(n, int(r * n))})
        for n in (96, 10, 7)
        for r in (4.0, 2.7, 0.1, 1 / 3)
    ),
    *(
        (FLAGS, {"rank": rank, "norm": norm, "bias": bias, "scale": scale}, flags(rank, norm, bias, scale))
        for rank in (None, 0, 3)
        for norm in ("group", "layer")
        for bias in (True, False)
        for scale in (0.0, 1e-6)
    ),
    # DPT's backbone_config: null stands for none, or, in a hybrid, for the default
    (NULL_PART, {}, lambda nn: {"a": nn.Linear(7, 2)}),
    (NULL_PART, {"hybrid": True}, lambda nn: {"a": nn.Linear(24, 2)}),
    (NULL_PART, {"part": {"model_type": "bert", "hidden_size": 12}}, lambda nn: {"a": nn.Linear(12, 2)}),
    # Voxtral's and GLM-ASR's text_config; elsewhere a given text_config has no other defaults
    (FILLED, {"merged": {"vocab_size": 30}, "plain": {"vocab_size": 30}}, filled(24, 30, 768, 30)),
    *(
        (FILLED, given, filled(24, 20, 24, 20))
        for given in ({}, {"merged": None}, {"merged": {}, "plain": None})
    ),
    *(
        (OLD_NAME, {"audio_config": {"model_type": name, "d_model": 12}}, lambda nn: {"a": nn.Linear(12, 1)})
        for name in ("old_name", "whisper")
    ),
    (WEIGHT_NORM, {}, lambda nn: {"conv": normed(nn, 4)}),
    (BUFFERS, {}, buffers),
    (
        WITHOUT_TENSORS,
        {},
        lambda nn: {
            "a": nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Dropout(0.1), nn.Linear(3, 4)),
            "b": nn.ModuleList([nn.GELU(), nn.Linear(2, 3), nn.Identity(), inner(nn, c=nn.Linear(5, 6))]),
            "d": nn.ModuleDict({"x": nn.Linear(1, 2), "y": nn.Linear(1, 3)}),
        },
    ),
]


@pytest.mark.parametrize(("spec", "config", "parts"), CASES)
def test_modules_are_those_of_torch(spec: str, config: dict[str, Any], parts: Parts, says: Says) -> None:
    assert says(spec, **config) == built(lambda: module(parts))


@pytest.mark.parametrize(
    ("spec", "config", "message"),
    [
        (FILLED, {"merged": 3}, "merged must be a mapping of fields, not the number 3"),
        (OLD_NAME, {"audio_config": {"model_type": "other_name"}}, "other_name"),
        (WEIGHT_NORM, {"out": 0}, "weight has 0 rows"),
    ],
)
def test_refused_values(spec: str, config: dict[str, Any], message: str, says: Says) -> None:
    with pytest.raises(archspec.ArchspecError, match=message):
        says(spec, **config)
    if spec == WEIGHT_NORM:
        with pytest.raises(RuntimeError, match="cannot reshape"):
            built(lambda: module(lambda nn: {"conv": normed(nn, 0)}))


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


def test_parts_that_other_specs_describe(says: Says) -> None:
    import transformers

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
    for model_type, fields, given in (
        ("llama", llama, {}),
        ("gpt2", gpt2, {"text_config": {"model_type": "gpt2", **gpt2}, "image_config": small}),
    ):
        config = transformers.AutoConfig.for_model(model_type, **fields)
        parts: Parts = lambda nn, config=config: {  # noqa: E731
            "text": transformers.AutoModelForCausalLM.from_config(config),
            "image": transformers.CLIPVisionModel(transformers.CLIPVisionConfig(**small)),
            "bridge": nn.Linear(12, 8),
        }
        assert says(spec, **given) == built(lambda parts=parts: module(parts))


@pytest.mark.parametrize("tied", [True, False])
def test_ties_of_weights_and_biases(says: Says, tied: bool) -> None:
    """BERT ties the decoder's weight to the embedding and its bias to the head's."""
    spec = """
config: {size: 4, vocab: 9, tie_word_embeddings: true}
architectures:
  Toy:
    words: Embedding(vocab, size)
    decoder: Linear(size, vocab)
    bias: Parameter(vocab)
    tied: {decoder.weight: words.weight, decoder.bias: bias}
"""

    def parts(nn: Any) -> dict[str, Any]:
        import torch

        words, decoder, bias = nn.Embedding(9, 4), nn.Linear(4, 9), nn.Parameter(torch.empty(9))
        if tied:
            decoder.weight, decoder.bias = words.weight, bias
        return {"words": words, "decoder": decoder, "bias": bias}

    assert says(spec, tie_word_embeddings=tied) == built(lambda: module(parts))
