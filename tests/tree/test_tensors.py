"""A tree's tensors: names, order, ties, frozen and active ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from random_specs import toy

import archspec
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, SpecError
from archspec.formats.dtypes import dtype_bytes
from archspec.specs.library import shipped_library
from archspec.tree.builder import Builder
from archspec.tree.node import Node, auto_class
from archspec.tree.tensors import (
    Tensor,
    TiedGroup,
    fold_layers,
    modules,
    output_embeddings,
    quantities_of,
    tensors,
    tie_notes,
    tied_groups,
)

EMBEDDINGS = """table: TinyTable()
head: TinyHead()
heads: Linear(2, 8) for i in range(2)
output_embeddings: head if deep else heads
"""
MODULES = """modules:
  TinyTable:
    extends: Embedding(8, 2).requires_grad_(False)
    norm: LayerNorm(2)
  TinyHead:
    dense: Linear(2, 2)
    decoder: Linear(2, 8)
    output_embeddings: decoder
"""


def tree(body: str, **config: Any) -> Node:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    head = f"model_type: toy\nconfig: {{n: 3, k: 2, deep: false}}\n{MODULES}"
    return Builder(Scope(toy(f"{head}architectures:\n  Toy:\n{lines}"), config)).build("Toy")


def named(root: Node) -> dict[str, Tensor]:
    return {tensor.name: tensor for tensor in tensors(root)}


def test_own_parameters_come_before_childrens_and_buffers_last() -> None:
    inner = "inner:\n  b: Linear(2, 3)\n  a: Parameter(1)"
    root = tree("norm: BatchNorm1d(2)\nscale: Parameter(2)\nids: Buffer(5)\n" + inner)
    assert list(named(root)) == [
        *("scale", "norm.weight", "norm.bias", "inner.a", "inner.b.weight", "inner.b.bias"),
        *("ids", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"),
    ]
    assert [name for name, _ in modules(root)] == ["", "inner"]


def test_shapes_and_sizes() -> None:
    found = named(tree("a: Linear(2, n)\nb: Parameter()", n=4))
    assert {name: (one.shape, one.numel, one.layer) for name, one in found.items()} == {
        "b": ((), 1, "Parameter"),
        "a.weight": ((4, 2), 8, "Linear"),
        "a.bias": ((4,), 4, "Linear"),
    }


def test_frozen_modules() -> None:
    root = tree(
        "a: Sequential(Linear(1, 1), BatchNorm1d(2)).requires_grad_(False)\nb: Linear(1, 1, bias=False)"
    )
    assert [name for name, one in named(root).items() if one.trainable and one.kind == "parameter"] == [
        "b.weight"
    ]


def test_a_tied_tensor_is_the_first_of_those_that_are_one() -> None:
    root = tree("a: Linear(2, 3)\nb: Linear(2, 3)\nc: Linear(2, 3)\nalias: {a.weight: b.weight, b: c}")
    found = named(root)
    assert {name: one.tied_to for name, one in found.items() if one.tied_to} == {
        "b.weight": "a.weight",
        "c.weight": "a.weight",
        "c.bias": "b.bias",
    }
    assert quantities_of(list(found.values()))["params"] == 6 + 3 + 3


def test_a_tie_of_missing_tensors() -> None:
    for pair, missing in (("a.weight: x.weight", "x.weight"), ("x: a", "x")):
        with pytest.raises(SpecError, match=f"the tie has no effect: {missing} does not exist"):
            tensors(tree(f"a: Linear(2, 3)\nalias: {{{pair}}}"))


@pytest.mark.parametrize(
    ("chosen", "experts", "active"), [(2, 4, 6), (4, 4, 12), (9, 4, 12), (2, 5, Fraction(24, 5)), (2, 0, 12)]
)
def test_active_experts(chosen: int, experts: int, active: int | Fraction) -> None:
    one = named(tree("a: Parameter(3, 4).routed(k, n)", k=chosen, n=experts))["a"]
    assert (one.numel, one.active) == (12, active)


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ("a: Linear(1, 2)", []),
        ("lm_head: Linear(1, 2)", ["lm_head"]),
        ("inner:\n  lm_head: Linear(1, 2)", []),
        ("a: Linear(1, 2)\noutput_embeddings: a", ["a"]),
        ("lm_head: Linear(1, 2)\noutput_embeddings: None", []),
        ("inner:\n  a: Linear(1, 2)\noutput_embeddings: inner.a", ["inner.a"]),
        ("a: Linear(1, 2) for i in range(n)\noutput_embeddings: a", ["a.0", "a.1", "a.2"]),
        ("inner:\n  lm_head: Linear(1, 2)\noutput_embeddings: inner", ["inner.lm_head"]),
    ],
)
def test_output_embeddings(body: str, paths: list[str]) -> None:
    root = tree(body)
    assert output_embeddings(root) == paths
    assert [name for name, one in named(root).items() if one.embedding] == [
        f"{path}.weight" for path in paths
    ]


def test_a_class_made_of_a_layer_and_a_path_that_a_condition_chooses() -> None:
    for config, outputs in (({}, ["heads.0", "heads.1"]), ({"deep": True}, ["head.decoder"])):
        root = tree(EMBEDDINGS, **config)
        found = named(root)
        split = {name: one.embedding for name, one in found.items() if one.embedding}
        assert split == {"table.weight": "table", **{f"{path}.weight": "output" for path in outputs}}
        table = next(iter(found.values()))
        assert table[:2] == ("table.weight", (8, 2)) and not table.trainable and table.layer == "Embedding"
        assert output_embeddings(root) == outputs
    with pytest.raises(SpecError, match="header does not exist") as caught:
        named(tree(EMBEDDINGS.replace("head if deep", "header if deep"), deep=True))
    place = caught.value.problems[0].place
    assert place is not None and "output_embeddings: header" in place.source.line(place.line)


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


def tensor(name: str, numel: int, tied_to: str | None = None, kind: str = "parameter") -> Tensor:
    return Tensor(name, (numel,), numel, kind, True, tied_to, "Linear", numel)


TIED = [
    tensor("words", 10),
    tensor("a.0.w", 3),
    tensor("a.1.w", 3, "a.0.w"),
    tensor("a.2.w", 3, "a.0.w"),
    tensor("head", 10, "words"),
    tensor("ids", 99, "words", "buffer"),
]


def test_groups_of_tied_parameters_and_their_notes() -> None:
    assert tied_groups(TIED) == [TiedGroup(("head",), "words", 10), TiedGroup(("a.1.w", "a.2.w"), "a.0.w", 6)]
    assert tied_groups(TIED[:2]) == tie_notes(TIED[:2], 1000) == []
    assert tie_notes(TIED, 1000) == [
        "head is tied to words; counted separately, the total is 1,010",
        "2 tensors, a.*.w, are tied to a.*.w; counted separately, the total is 1,006",
        "with every tied tensor counted separately, the total is 1,016",
    ]
    assert fold_layers("a.12.b3.0") == "a.*.b3.*"


def test_quantities_of_tensors() -> None:
    found = quantities_of([*TIED, tensor("frozen", 7)._replace(trainable=False)])
    names = ("params", "trainable_params", "active_params", "buffers")
    assert [found[name] for name in names] == [20, 13, 20, 0]


def test_bytes_of_a_dtype() -> None:
    sizes = {"fp64": 8, "float32": 4, "bf16": 2, "fp8": 1, "uint8": 1}
    assert {name: dtype_bytes(name) for name in sizes} == sizes
    with pytest.raises(ArchspecError, match="unknown dtype 'float3'\nhelp: choose from: float32, "):
        dtype_bytes("float3")


@pytest.mark.parametrize(
    ("model_type", "auto", "architecture"),
    [
        ("llama", "AutoModel", "LlamaModel"),
        ("llama", "AutoModelForCausalLM", "LlamaForCausalLM"),
        ("gpt2", "AutoModelForCausalLM", "GPT2LMHeadModel"),
        ("t5", "AutoModelForSeq2SeqLM", "T5ForConditionalGeneration"),
        ("t5", "AutoModelForTextEncoding", "T5EncoderModel"),
        ("resnet", "AutoBackbone", "ResNetBackbone"),
        ("bert", "AutoModelForCTC", None),
    ],
)
def test_auto_classes(model_type: str, auto: str, architecture: str | None) -> None:
    assert auto_class(shipped_library().load(model_type), auto) == architecture
