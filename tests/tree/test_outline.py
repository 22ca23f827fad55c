"""Modules, their counts and shares."""

from __future__ import annotations

from pathlib import Path

import archspec
from archspec.configs.scope import Scope
from archspec.specs.library import shipped
from archspec.tree.builder import Builder
from archspec.tree.outline import Item, outline
from archspec.tree.tensors import tensors

BERT = {"embeddings": 23_837_184, "encoder": 85_054_464, "pooler": 590_592}


def of(architecture: str, **settings: object) -> Item:
    model = archspec.load(architecture, set=settings)
    return outline(model.root, model.tensors())


def test_bert_by_module() -> None:
    root = of("BertModel")
    assert {child.name: child.params for child in root.children} == BERT
    assert root.params == sum(BERT.values()) == 109_482_240


def test_identical_layers_are_folded() -> None:
    [layers] = of("BertModel").children[1].children
    [layer] = layers.children
    assert (layer.name, layer.copies, layer.label, layer.params) == ("0-11", 12, "BertLayer", 85_054_464)
    assert sum(child.params for child in layer.children) == layer.params


def test_layers_that_differ_are_not_folded() -> None:
    root = of("DeepseekV3ForCausalLM")
    layers = root.children[0].children[1].children
    assert [(layer.name, layer.copies) for layer in layers] == [("0-2", 3), ("3-60", 58)]
    assert root.params == 671_026_404_352 == sum(child.params for child in root.children)
    assert (
        root.params + root.buffers == 671_026_419_200
    )  # the router's correction bias is a buffer; the published size has it


def test_a_module_counts_its_children_and_nothing_else() -> None:
    def hold(item: Item) -> None:
        if item.children:
            assert item.params == sum(child.params for child in item.children)
            assert item.buffers == sum(child.buffers for child in item.children)
        for child in item.children:
            hold(child)

    for name in (
        "T5ForConditionalGeneration",
        "JambaForCausalLM",
        "Wav2Vec2ForCTC",
        "ResNetModel",
        "AlbertForMaskedLM",
    ):
        model = archspec.load(name)
        root = outline(model.root, model.tensors())
        assert root.params == model.params
        assert root.buffers == model.buffers
        hold(root)


def test_tied_modules_say_so_and_count_once() -> None:
    head = of("GPT2LMHeadModel").children[-1]
    assert (head.name, head.params, head.marks) == ("lm_head", 0, ("weight tied to transformer.wte.weight",))
    assert of("GPT2LMHeadModel", tie_word_embeddings=False).children[-1].params == 38_597_376


SHARED = """# Three layers, of which the last two are one.
# code: none
model_type: toy
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


def test_a_layer_that_is_another_one_again_is_not_folded_with_it(tmp_path: Path) -> None:
    spec = tmp_path / "toy.yaml"
    spec.write_text(SHARED)
    tree = Builder(Scope(shipped().load_file(str(spec)), {})).build("ToyModel")
    [layers] = outline(tree, tensors(tree)).children
    assert [(layer.name, layer.copies, layer.params) for layer in layers.children] == [
        ("0-1", 2, 40),
        ("2-3", 2, 0),
    ]
    assert layers.children[1].children[0].marks == (
        "weight tied to layers.1.dense.weight",
        "bias tied to layers.1.dense.bias",
    )


def test_frozen_modules_say_so() -> None:
    encoder = of("WhisperModel").children[0]
    marks = {child.name: child.marks for child in encoder.children}
    assert marks["embed_positions"] == ("frozen",)
    assert marks["conv1"] == ()
