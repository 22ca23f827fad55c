"""From a tensor back to the lines that give it."""

from __future__ import annotations

import pytest

from archspec.configs.scope import Scope
from archspec.errors import Place
from archspec.reference import (
    spec_rows,
)
from archspec.specs.library import shipped
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors
from archspec.verifying.trail import trail

pytestmark = pytest.mark.reference


def places(model_type: str, architecture: str, name: str) -> list[Place]:
    return trail(
        Builder(Scope(shipped().load(model_type), {"model_type": model_type})).build(architecture), name
    )


@pytest.mark.parametrize(
    ("model_type", "architecture", "name", "start"),
    [
        ("bert", "BertModel", "encoder.layer.3.attention.self.query.weight", "query:"),
        ("bert", "BertModel", "encoder.layer.99", "layer: BertLayer() for"),
        ("bert", "BertModel", "encoder.layer.0.crossattention.self.query.weight", "crossattention:"),
        ("bert", "BertModel", "embeddings.no_such.weight", "TextEmbeddings(size, dropout=0.0):"),
        ("bert", "BertLMHeadModel", "cls.predictions.bias", "bias: Parameter"),
        ("t5", "T5Model", "encoder.block.0.layer.1.DenseReluDense.wi.weight", "wi: Linear"),
        ("llama", "LlamaForCausalLM", "model.layers.0.mlp.up_proj.bias", "up_proj:"),
        ("nllb-moe", "NllbMoeModel", "encoder.layers.3.ffn.experts.expert_5.fc1.weight", "fc1:"),
    ],
)
def test_a_tensor_leads_to_its_line(model_type: str, architecture: str, name: str, start: str) -> None:
    place = places(model_type, architecture, name)[-1]
    assert place.source.line(place.line).strip().startswith(start)


def test_an_item_of_a_list_leads_to_the_class_that_may_lack_another() -> None:
    """An item too few in a Sequential moves those after it: no line of an item is at fault."""
    spec = shipped().load("regnet")
    tree = Builder(Scope(spec, {"model_type": "regnet"})).build("RegNetModel")
    name = next(row[0] for row in spec_rows(tensors(tree)) if ".attention.2.weight" in row[0])
    lines = [place.line for place in trail(tree, name)]
    assert {spec.modules["RegNetSELayer"].place.line, lines[-1]} <= set(lines) and lines[-1] != lines[-2]
