"""`archspec diff`: what is printed, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from archspec.cli.main import main


def test_the_command_explains_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "BertModel", "BertForMaskedLM"]) == 1
    out = capsys.readouterr().out
    for text in ("-590,592", "+590,592", "+1,536", "+30,522", "+32,058", "109,482,240", "109,514,298"):
        assert text in out
    tie = "in B, cls.predictions.decoder.weight is tied to bert.embeddings.word_embeddings.weight"
    assert f"note: {tie}; counting it again gives 132,955,194\n" in out
    assert "B - A = vocab_size + 2*hidden_size\n" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "BertModel", "BertForMaskedLM", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["difference"] == 32_058 == sum(change["params"] for change in found["changes"])
    assert found["b"]["params"] == 109_514_298
    again = {tuple(group["tensors"]): found["b"]["params"] + group["params"] for group in found["b"]["tied"]}
    assert again["cls.predictions.decoder.weight",] == 132_955_194


def test_nothing_differs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "BertForMaskedLM", "BertLMHeadModel"]) == 0
    assert "no difference" in capsys.readouterr().out
    assert main(["diff", "bert", "bert", "--set-b", "num_attention_heads=6"]) == 0


def test_two_classes_of_one_config(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps({"model_type": "bert", "hidden_size": 24, "num_attention_heads": 2, "vocab_size": 100})
    )
    assert main(["diff", "BertModel", "BertForMaskedLM", "--config", str(config)]) == 1
    assert "+148" in capsys.readouterr().out  # 2 * 24 + 100


def test_bad_input_is_2_not_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "BertModel", "BertForNothing"]) == 2
    assert main(["diff", "BertModel"]) == 2
    assert main(["diff", "BertModel", "GPT2Model", "--set", "n_embd=12"]) == 2
    assert "Traceback" not in capsys.readouterr().err
