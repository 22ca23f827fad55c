"""Modules, their counts and shares; the tensors of BERT by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import archspec
from archspec.cli.main import main
from archspec.configs.scope import Scope
from archspec.specs.library import load_file
from archspec.tree.builder import Builder
from archspec.tree.outline import Item, outline
from archspec.tree.tensors import tensors

BERT = {"embeddings": 23_837_184, "encoder": 85_054_464, "pooler": 590_592}
SHARES = {"embeddings": "21.77%", "encoder": "77.69%", "pooler": "0.54%"}


def of(architecture: str, **settings: object) -> Item:
    model = archspec.load(architecture, overrides=settings)
    return outline(model.tree, model.tensors())


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
        root = outline(model.tree, model.tensors())
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
    tree = Builder(Scope(load_file(str(spec)), {})).build("ToyModel")
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


def test_tree_reads_like_print_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tree", "BertModel"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["module", "params", "share", "each"]
    assert lines[1].split() == ["BertModel", "109,482,240", "100.00%"]
    found = {line.strip().split(":")[0].strip("()"): line.split() for line in lines if line.startswith("  (")}
    for name, params in BERT.items():
        assert found[name][-2:] == [f"{params:,}", SHARES[name]]
    [layer] = [line for line in lines if "12 x" in line]
    assert layer.split() == ["(0-11):", "12", "x", "BertLayer", "85,054,464", "77.69%", "7,087,872"]
    assert "          (query): Linear(in_features=768, out_features=768, bias=True)" in "\n".join(lines)


def test_depth(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tree", "BertModel", "--depth", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 1 + 3
    assert main(["tree", "BertModel", "--depth", "-1"]) == 2


def test_tree_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tree", "BertModel", "--json"]) == 0
    root = json.loads(capsys.readouterr().out)
    assert {child["path"]: child["params"] for child in root["children"]} == BERT
    assert root["children"][1]["children"][0]["children"][0]["copies"] == 12


def test_the_199_tensors_of_bert(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tensors", "BertModel"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 199
    assert lines[0].split() == ["embeddings.word_embeddings.weight", "(30522,", "768)", "23,440,896"]
    assert lines[-1].split() == ["pooler.dense.bias", "(768,)", "768"]
    assert sum(int(line.split()[-1].replace(",", "")) for line in lines) == 109_482_240


def test_tied_and_frozen_tensors_and_buffers_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    def marks(architecture: str) -> dict[str, str]:
        assert main(["tensors", architecture]) == 0
        lines = capsys.readouterr().out.splitlines()
        return {line.split()[0]: line for line in lines}

    tied = marks("BertForMaskedLM")["cls.predictions.decoder.weight"]
    assert tied.endswith("23,440,896  tied to bert.embeddings.word_embeddings.weight")
    assert marks("WhisperModel")["encoder.embed_positions.weight"].endswith("  frozen")
    counter = marks("ResNetModel")["embedder.embedder.normalization.num_batches_tracked"]
    assert counter.split()[1:] == ["()", "1", "buffer"]


def test_tensors_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tensors", "GPT2LMHeadModel", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found[0] == {
        "name": "transformer.wte.weight",
        "shape": [50257, 768],
        "numel": 38_597_376,
        "kind": "parameter",
        "trainable": True,
        "tied_to": None,
    }
    assert found[-1]["tied_to"] == "transformer.wte.weight"


def test_html_is_escaped_and_has_the_modules() -> None:
    model = archspec.load("BertForMaskedLM")
    html = model._repr_html_()
    assert html.count("<tr>") == html.count("</tr>") > 20
    for text in ("109,514,298", "12 × BertLayer", "85,054,464", "counting it again gives 132,955,194"):
        assert text in html
    model.architecture = "<script>alert(1)</script>"
    assert "<script>" not in model._repr_html_()
