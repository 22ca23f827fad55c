"""`archspec tree` and `archspec tensors`: a model as `print(model)` shows it, and its tensors."""

from __future__ import annotations

import json

import pytest

from archspec.cli.main import main

BERT = {"embeddings": 23_837_184, "encoder": 85_054_464, "pooler": 590_592}
SHARES = {"embeddings": "21.77%", "encoder": "77.69%", "pooler": "0.54%"}


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
    assert {child["module"]: child["params"] for child in root["children"]} == BERT
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
    found = json.loads(capsys.readouterr().out)["tensors"]
    assert found[0] == {
        "name": "transformer.wte.weight",
        "shape": [50257, 768],
        "numel": 38_597_376,
        "kind": "parameter",
        "trainable": True,
        "tied_to": None,
    }
    assert found[-1]["tied_to"] == "transformer.wte.weight"
