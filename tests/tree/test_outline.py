"""Modules, their counts and shares."""

from __future__ import annotations

import pytest
from random_specs import toy

import archspec
from archspec.configs.scope import Scope
from archspec.tree.builder import Builder
from archspec.tree.outline import Item, outline
from archspec.tree.tensors import tensors


def of(architecture: str, **settings: object) -> Item:
    model = archspec.load(architecture, set=settings)
    root = outline(model.root, model.tensors())
    assert (root.params, root.buffers) == (model.params, model.buffers)
    check_sums(root)
    return root


def check_sums(item: Item) -> None:
    """A module counts its children and nothing else."""
    assert not item.children or item.params == sum(child.params for child in item.children)
    assert not item.children or item.buffers == sum(child.buffers for child in item.children)
    for child in item.children:
        check_sums(child)


def test_layers_that_differ_are_not_folded() -> None:
    root = of("DeepseekV3ForCausalLM")
    layers = root.children[0].children[1].children
    assert [(layer.name, layer.copies) for layer in layers] == [("0-2", 3), ("3-60", 58)]
    assert root.params == 671_026_404_352
    assert root.params + root.buffers == 671_026_419_200  # published, with the router's correction bias


@pytest.mark.parametrize(
    "name",
    ["BertModel", "T5ForConditionalGeneration", "JambaForCausalLM", "ResNetModel", "AlbertForMaskedLM"],
)
def test_sums_of_other_models(name: str) -> None:
    of(name)


def test_tied_and_frozen_modules_are_marked() -> None:
    head = of("GPT2LMHeadModel").children[-1]
    assert (head.name, head.params, head.marks) == ("lm_head", 0, ("weight tied to transformer.wte.weight",))
    assert of("GPT2LMHeadModel", tie_word_embeddings=False).children[-1].params == 38_597_376
    marks = {child.name: child.marks for child in of("WhisperModel").children[0].children}
    assert marks["embed_positions"] == ("frozen",) and marks["conv1"] == ()


SHARED = """model_type: toy
config:
  width: 4
modules:
  ToyLayer:
    dense: Linear(width, width)
architectures:
  ToyModel:
    layers: ToyLayer() for i in range(4)
    alias: {layers.2: layers.1, layers.3: layers.1}
"""


def test_a_tied_layer_is_not_folded_with_its_original() -> None:
    tree = Builder(Scope(toy(SHARED), {})).build("ToyModel")
    [layers] = outline(tree, tensors(tree)).children
    first, second = layers.children
    assert (first.name, first.copies, first.params) == ("0-1", 2, 40)
    assert (second.name, second.copies, second.params) == ("2-3", 2, 0)
    ties = ("weight tied to layers.1.dense.weight", "bias tied to layers.1.dense.bias")
    assert second.children[0].marks == ties
