"""Constructs of the spec language: lists, conditions, calls, arguments, frozen parts, refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import archspec
from archspec.reference import Row

Says = Callable[..., list[Row]]


def shapes(rows: list[Row]) -> dict[str, tuple[int, ...]]:
    return {name: shape for name, shape, *_ in rows}


def test_lists(says: Says) -> None:
    """Repeat and cut (RecurrentGemma), reverse and slice (U-Nets), membership (Mllama)."""
    spec = """
config:
  block_types: [recurrent, recurrent, attention]
  num_layers: 7
  widths: [4, 8, 16]
  cross: [1, 3]
  patch: [2, 3, 5]
  blocks: [[[3, 4, 8], [5, 8, 8]], [[3, 8, 16]]]
architectures:
  Toy:
    where:
      kinds: (block_types * 100)[:num_layers]
      down: widths + widths[::-1][1:]
    temporal: Linear(1, 2 if kind == "attention" else 3, bias=False) for kind in kinds
    steps: Linear(a, b, bias=False) for a, b in zip(down[:-1], down[1:])
    crossed: "Linear(1, 1, bias=False) if i in cross else None for i in range(5)"
    pooled: Linear(prod(patch), sum(widths), bias=False)
    blocks: "[[Conv1d(b, c, a, bias=False) for a, b, c in stage] for stage in blocks]"
"""
    found = shapes(says(spec))
    by_name: dict[str, list[tuple[int, ...]]] = {}
    for name, shape in found.items():
        by_name.setdefault(name.split(".")[0], []).append(shape)
    assert [shape[0] for shape in by_name["temporal"]] == [3, 3, 2, 3, 3, 2, 3]
    assert by_name["steps"] == [(8, 4), (16, 8), (8, 16), (4, 8)]
    assert [name for name in found if name.startswith("crossed")] == ["crossed.1.weight", "crossed.3.weight"]
    assert found["pooled.weight"] == (28, 30)
    assert by_name["blocks"] == [(8, 4, 3), (8, 8, 5), (16, 8, 3)]


def test_conditions_on_the_layer(says: Says) -> None:
    """A threshold (DeepSeek), an offset (Jamba), a step (Qwen3-MoE), the end (Gemma3n), own fields."""
    spec = """
config:
  size: 4
  n: 6
  first_k: 2
  shared: 1
  layer_types: "= ['full' if (i + 1) % 3 == 0 else 'sliding' for i in range(n)]"
  per_layer_config: dict | None = None
modules:
  ToyLayer(i):
    dense: Linear(1, size, bias=False) if i < first_k else None
    mamba: Linear(2, size, bias=False) if i % 4 != 1 else None
    moe: Linear(3, size, bias=False) if i >= first_k and (i + 1) % 2 == 0 else None
    full: Linear(4, size, bias=False) if layer_types[i] == "full" else None
    k: Linear(5, size, bias=False) if i < n - shared else None
architectures:
  Toy:
    where:
      given_layers: per_layer_config if per_layer_config is not None else {}
    layers: ToyLayer(i, **given_layers.get(str(i), {})) for i in range(n)
"""
    names = {str(i): [] for i in range(6)}  # type: dict[str, list[str]]
    for name, shape in shapes(says(spec, per_layer_config={"2": {"size": 9}})).items():
        names[name.split(".")[1]].append(name.split(".")[2])
        assert shape[0] == (9 if name.startswith("layers.2.") else 4)
    assert list(names.values()) == [
        ["dense", "mamba", "k"],
        ["dense", "k"],
        ["mamba", "full", "k"],
        ["mamba", "moe", "k"],
        ["mamba", "k"],
        ["moe", "full"],
    ]


def test_unsupported_parts_are_refused(says: Says) -> None:
    spec = """
config: {backbone_config: AutoConfig(resnet)}
architectures:
  Toy:
    backbone: AutoBackbone(backbone_config)
"""
    assert len(says(spec)) > 100
    with pytest.raises(archspec.ArchspecError, match=r"layoutlmv2 is not supported: .*detectron2"):
        says(spec, backbone_config={"model_type": "layoutlmv2"})
    with pytest.raises(archspec.ArchspecError, match="toy is not supported: it is made of a text"):
        says("refuse: it is made of a text\narchitectures:\n  Toy:\n    a: Linear(1, 1)\n")


def test_fields_overridden_in_a_call(says: Says) -> None:
    """T5's decoder is its encoder's class with other fields."""
    spec = """
config: {d_model: 4, num_layers: 1, num_decoder_layers: = num_layers, is_decoder: false}
modules:
  ToyBlock:
    attention: Linear(d_model, d_model, bias=False)
    crossed: Linear(d_model, d_model, bias=False) if is_decoder else None
  ToyStack:
    block: ToyBlock() for i in range(num_layers)
architectures:
  Toy:
    encoder: ToyStack()
    decoder: ToyStack(num_layers=num_decoder_layers, is_decoder=True)
"""
    assert list(shapes(says(spec, num_layers=2, num_decoder_layers=1))) == [
        *(f"encoder.block.{i}.attention.weight" for i in range(2)),
        *("decoder.block.0.attention.weight", "decoder.block.0.crossed.weight"),
    ]


def test_constructor_arguments(says: Says) -> None:
    spec = """
config: {size: 4, n: 3}
modules:
  ToyLayer(has_bias=False, is_cross=False):
    q: Linear(size, size, bias=False)
    relative: Embedding(32, size) if has_bias else None
    cross: Linear(size, size, bias=False) if is_cross else None
  ToyBase(add_pooling_layer=True):
    layers: ToyLayer(i == 0, is_cross=i == n - 1) for i in range(n)
    pooler: Linear(size, size) if add_pooling_layer else None
architectures:
  Toy:
    base: ToyBase(add_pooling_layer=False)
    other: ToyBase()
"""
    names = [name for name in shapes(says(spec)) if not name.endswith("q.weight")]
    ends = ["layers.0.relative.weight", "layers.2.cross.weight"]
    poolers = ["other.pooler.weight", "other.pooler.bias"]
    assert names == [*(f"base.{end}" for end in ends), *(f"other.{end}" for end in ends), *poolers]


def test_one_flag_per_level_of_a_composite_model(says: Says) -> None:
    spec = """
config:
  tie_word_embeddings: true
  text_config: Config(llama)
architectures:
  Toy:
    inner: LlamaForCausalLM(text_config)
    outer: Linear(8, 20, bias=False)
    tied: {outer.weight: inner.model.embed_tokens.weight}
"""
    small = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 0, "vocab_size": 20}
    for outer, inner in ((True, True), (True, False), (False, True), (False, False)):
        given = {"tie_word_embeddings": outer, "text_config": {**small, "tie_word_embeddings": inner}}
        ties = {row.name: row.tied_to for row in says(spec, **given) if row.tied_to}
        both = {"inner.lm_head.weight": inner, "outer.weight": outer}
        assert ties == {name: "inner.model.embed_tokens.weight" for name, tied in both.items() if tied}


def test_frozen_parameters(says: Says) -> None:
    """Whisper's sinusoidal positions; DETR's stem."""
    spec = """
config: {size: 4, freeze: true}
modules:
  ToyStem:
    conv: Conv2d(3, size, 3)
    norm: FrozenBatchNorm2d(size)
architectures:
  Toy:
    positions: Embedding(10, size).requires_grad_(False)
    scale: Parameter(size, requires_grad=False)
    stem: ToyStem().requires_grad_(not freeze)
    layer: Linear(size, size)
"""
    for freeze, stem in ((True, {"stem.conv.weight", "stem.conv.bias"}), (False, set())):
        rows = [row for row in says(spec, freeze=freeze) if row.kind == "parameter"]
        assert {row.name for row in rows if not row.trainable} == {"positions.weight", "scale", *stem}


def test_activations_with_parameters() -> None:
    """They are refused unless a spec counts them."""
    values = [("bert", "hidden_act", "prelu"), ("gpt2", "activation_function", "xielu")]
    for model_type, field, value in [
        *values,
        *(("t5", "feed_forward_proj", v) for v in ("prelu", "gated-prelu")),
    ]:
        with pytest.raises(archspec.ArchspecError, match="activations with parameters"):
            archspec.load({"model_type": model_type, field: value})
    apertus = {"model_type": "apertus"}
    gelu, prelu, xielu = (
        archspec.load({**apertus, "hidden_act": a}).params for a in ("gelu", "prelu", "xielu")
    )
    assert (prelu - gelu, xielu - gelu) == (32, 64)
