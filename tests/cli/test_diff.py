"""`archspec diff`: what is printed, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import Command


def test_changes_and_ties(cli: Command) -> None:
    out = cli("diff BertModel BertForMaskedLM", code=1).out
    for text in ("-590,592", "+590,592", "+1,536", "+30,522", "+32,058", "109,482,240", "109,514,298"):
        assert text in out
    tie = "B: cls.predictions.decoder.weight is tied to bert.embeddings.word_embeddings.weight"
    assert f"note: {tie}; counted separately, the total is 132,955,194\n" in out
    assert "B - A = vocab_size + 2*hidden_size\n" in out


def test_json(cli: Command) -> None:
    found = cli("diff BertModel BertForMaskedLM --json", code=1).json
    assert found["difference"] == 32_058 == sum(change["params"] for change in found["changes"])
    assert found["b"]["params"] == 109_514_298
    again = {tuple(group["tensors"]): found["b"]["params"] + group["params"] for group in found["b"]["tied"]}
    assert again["cls.predictions.decoder.weight",] == 132_955_194


def test_exit_codes(cli: Command, tmp_path: Path) -> None:
    assert "no difference" in cli("diff BertForMaskedLM BertLMHeadModel").out
    cli("diff bert bert --set-b num_attention_heads=6")
    config = tmp_path / "config.json"
    sizes = {"hidden_size": 24, "num_attention_heads": 2, "vocab_size": 100}
    config.write_text(json.dumps({"model_type": "bert", **sizes}))
    of_one_config = cli("diff BertModel BertForMaskedLM --config", str(config), code=1)
    assert f"+{2 * 24 + 100}" in of_one_config.out
    for bad in ("BertModel BertForNothing", "BertModel", "BertModel GPT2Model --set n_embd=12"):
        cli(f"diff {bad}", code=2)


def test_an_override_is_refused_with_its_option(cli: Command) -> None:
    for flag in ("--set", "--set-a", "--set-b"):
        err = cli(f"diff bert bert {flag} hidden_size=x", code=2).err
        assert err.startswith(f"{flag} hidden_size=x: ") and f"e.g. {flag} hidden_size=768" in err
    assert cli("diff bert bert --set-b hidden_size", code=2).err.startswith("--set-b hidden_size: the value")
    assert cli("derive BertModel --kwargs x", code=2).err.startswith("--kwargs x: the value is missing")
