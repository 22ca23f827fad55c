"""Where the command line takes a config from: stdin, a name alone; and several fields of one `--set`."""

from __future__ import annotations

import io
import json

import pytest

import archspec
from archspec.cli.main import main

GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 2}
PARAMS = archspec.load(GPT2).params


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("count -", f"{PARAMS:,}"),
        ("tree - --depth 0", f"{PARAMS:,}"),
        ("tensors -", "transformer.h.1.mlp.c_proj.bias"),
        ("formula -", f"{PARAMS:,}"),
        ("formula - --piecewise", "add_cross_attention = true"),
        ("sensitivity -", f"{PARAMS:,}"),
        ("flops - --tokens 1", "transformer"),
        ("cache - --tokens 8", "keys"),
        ("memory -", "weights"),
        ("diff - gpt2", "n_layer is 2 in A, 12 in B"),
        ("diff gpt2 -", "n_layer is 12 in A, 2 in B"),
        ("diff - - --set-b n_layer=3", "n_layer is 2 in A, 3 in B"),
        ("diff GPT2Model GPT2LMHeadModel --config -", "lm_head"),
        ("sweep - --set n_layer=2:3", f"{PARAMS:,}"),
        ("sweep GPT2LMHeadModel - --set n_layer=2:3", f"{PARAMS:,}"),
        ("solve - --params 1e8 --free n_layer", "n_layer"),
    ],
)
def test_every_verb_reads_a_config_on_stdin(
    command: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped(monkeypatch, json.dumps(GPT2).encode())
    assert main(command.split()) == command.startswith("diff")
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"model_type": "gpt2",\n "n_layer": }', "<stdin>:2:13: not JSON"),
        (b'{"model_type": "gpt2",\n "n_layer": "two"}', "<stdin>:2:2: n_layer: the text 'two' is not int"),
        (b"", "<stdin>:1:1: the file is empty"),
        (b'{"model_type": "\xff"}', "<stdin>:1:17: not UTF-8"),
    ],
)
def test_what_is_wrong_on_stdin_is_pointed_at(
    data: bytes, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped(monkeypatch, data)
    assert main(["count", "-"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(said) and (not data or "^" in error) and "help: " in error


def test_a_closed_stdin_is_no_config(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main(["count", "-"]) == 2
    assert "the standard input is closed" in capsys.readouterr().err


def test_one_option_sets_several_fields(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    def params(*settings: str) -> int:
        options = [text for setting in settings for text in ("--set", setting)]
        assert main(["count", config, "--json", *options]) == 0
        return int(json.loads(capsys.readouterr().out)["params"])

    assert params("hidden_size=24,num_attention_heads=2") == params("hidden_size=24", "num_attention_heads=2")
    labels = 'id2label={"0": "a,b=c", "1": "d"}, hidden_size=24, num_attention_heads=2'
    assert params(labels) == params("hidden_size=24", "num_attention_heads=2")
    assert main(["sweep", config, "--set", "hidden_size=24,48,num_hidden_layers=2:3", "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["diff", config, config, "--set-b", "hidden_size=24,num_attention_heads=2"]) == 1
    assert "hidden_size is 768 in A, 24 in B" in capsys.readouterr().out
    assert main(["count", config, "--set", "hidden_size=24,hidden_dropout_prob"]) == 2


def test_a_name_alone_is_no_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    of_type, of_class = (
        "neither a config nor a class is given: LlamaModel, without any head, is counted at transformers' "
        "defaults, which need not be a checkpoint's",
        "no config is given: LlamaForCausalLM is counted at transformers' defaults, which need not be a "
        "checkpoint's",
    )
    assert archspec.load("llama").notes == [of_type]
    assert archspec.load("llama", "LlamaForCausalLM").notes == [of_class]
    narrow = archspec.load("LlamaForCausalLM", set={"hidden_size": 1024}).notes
    assert narrow == [of_class.replace("defaults", "defaults where nothing is set")]
    assert archspec.load({"model_type": "llama"}, "LlamaForCausalLM").notes == []
    assert main(["count", "LlamaForCausalLM"]) == 0
    assert f"note: {of_class}\n" in capsys.readouterr().out
