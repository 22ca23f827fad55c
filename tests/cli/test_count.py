"""`archspec count`: the numbers, their names, and what ties give."""

from __future__ import annotations

import json

import pytest

from archspec import TRANSFORMERS_VERSION
from archspec.cli.main import main


def counted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    """The lines of `archspec count`, by what they start with."""
    assert main(["count", *arguments]) == 0
    lines = [line.split("  ", 1) for line in capsys.readouterr().out.splitlines() if "  " in line]
    return {name.strip(): value.strip() for name, value in lines}


def test_count(capsys: pytest.CaptureFixture[str]) -> None:
    found = counted(capsys, "BertModel")
    assert found["architecture"] == "BertModel"
    assert found["model type"] == "bert"
    assert found["params"] == found["trainable"] == found["active"] == "109,482,240"
    assert found["embedding"] == "23,835,648"
    assert found["non-embedding"] == "85,646,592"
    assert found["persistent buffers"] == "0"
    assert found["bytes in float32"] == "437,928,960  (417.6 MiB)"
    assert found["transformers"].startswith(TRANSFORMERS_VERSION)
    assert found["embeddings"].split() == ["23,837,184", "21.77%"]
    assert found["encoder.layer ×12"].split() == ["85,054,464", "77.69%", "7,087,872"]
    assert found["pooler"].split() == ["590,592", "0.54%"]


def test_count_of_a_config_and_its_dtype(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert counted(capsys, config)["bytes in bfloat16"].startswith("219,028,596 ")
    assert counted(capsys, config, "--dtype", "float32")["bytes in float32"].startswith("438,057,192 ")
    assert main(["count", config, "--dtype", "float3"]) == 2


def test_count_says_what_is_tied(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", config]) == 0
    out = capsys.readouterr().out
    tie = "cls.predictions.decoder.weight is tied to bert.embeddings.word_embeddings.weight"
    assert f"note: {tie}; counting it again gives 132,955,194\n" in out
    assert main(["count", "GPT2LMHeadModel"]) == 0
    tie = "lm_head.weight is tied to transformer.wte.weight; counting it again gives 163,037,184"
    assert f"note: {tie}\n" in capsys.readouterr().out


def test_architecture_and_settings(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert counted(capsys, config)["params"] == "109,514,298"
    assert counted(capsys, config, "--architecture", "BertModel")["params"] == "109,482,240"
    five = counted(capsys, config, "--architecture", "BertForSequenceClassification", "--set", "num_labels=5")
    assert five["params"] == f"{109_482_240 + 5 * 769:,}"
    several = counted(capsys, "BertModel", "--set", "num_hidden_layers=24", "--set", "hidden_size=1032")
    assert several["params"] == "287,810,808"
    assert counted(capsys, "GPT2LMHeadModel", "--set", "tie_word_embeddings=false")["params"] == "163,037,184"
    whole, less = (
        int(counted(capsys, "Gemma3ForConditionalGeneration", *settings)["params"].replace(",", ""))
        for settings in ([], ["--set", "text_config.num_hidden_layers=25"])
    )
    layer = (
        2304 * (2 * 8 * 256 + 2 * 4 * 256) + 3 * 2304 * 9216 + 4 * 2304 + 2 * 256
    )  # attention, MLP, four norms, two of heads
    assert whole - less == layer


def test_count_as_json(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", config, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["params"] == 109_514_298
    assert found["bytes"] == 219_028_596
    assert sum(module["params"] for module in found["modules"]) == found["params"]
    assert sum(module["share"] for module in found["modules"]) == pytest.approx(1)
    assert found["tied"][0] == {
        "tensors": ["cls.predictions.decoder.weight"],
        "tied_to": "bert.embeddings.word_embeddings.weight",
        "params": 23_440_896,
    }


def modules(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The rows of the modules."""
    assert main(["count", *arguments]) == 0
    return capsys.readouterr().out.split("\n\n")[1].splitlines()[1:]


def test_modules_to_a_depth(capsys: pytest.CaptureFixture[str]) -> None:
    shown = modules(capsys, "LlamaForCausalLM", "--depth", "2")
    assert [row.strip().split("  ")[0] for row in shown] == [
        *("model", "embed_tokens", "layers ×32", "norm", "lm_head")
    ]
    assert len(modules(capsys, "LlamaForCausalLM", "--depth", "1")) == 2
    assert main(["count", "LlamaForCausalLM", "--depth", "0"]) == 0
    assert "share" not in capsys.readouterr().out
    assert main(["count", "LlamaForCausalLM", "--depth", "3", "--json"]) == 0
    model, head = json.loads(capsys.readouterr().out)["modules"]
    layers = model["children"][1]
    assert (layers["name"], layers["copies"], layers["params"]) == ("layers", 32, 6_476_267_520)
    assert [child["name"] for child in layers["children"]][:2] == ["self_attn", "mlp"]
    assert head["children"] == [] and model["params"] + head["params"] == 6_738_415_616
    assert main(["count", "LlamaForCausalLM", "--depth", "-1"]) == 2


def test_a_number_alone_is_said_with_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    whisper = "\n".join(modules(capsys, "WhisperModel"))
    assert "conv1 " in whisper and "(Conv1d)" not in whisper
    assert "layer.1 (T5LayerFF)" in "\n".join(modules(capsys, "T5Model"))
