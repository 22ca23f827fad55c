"""The command line: what it prints, its exit codes, and what it must not import."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from archspec import TRANSFORMERS_VERSION
from archspec.cli.main import VERBS, main
from archspec.specs import library

HEAVY = ("torch", "transformers", "sympy", "rich", "numpy", "huggingface_hub", "inspect", "dataclasses")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "archspec", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def counted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    """The lines of `archspec count`, by what they start with."""
    assert main(["count", *arguments]) == 0
    lines = [line.split("  ", 1) for line in capsys.readouterr().out.splitlines() if "  " in line]
    return {name.strip(): value.strip() for name, value in lines}


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps({"architectures": ["BertForMaskedLM"], "model_type": "bert", "dtype": "bfloat16"})
    )
    return str(path)


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
    assert found["encoder"].split() == ["85,054,464", "77.69%"]
    assert found["pooler"].split() == ["590,592", "0.54%"]


def test_count_of_a_config_and_its_dtype(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert counted(capsys, config)["bytes in bfloat16"].startswith("219,028,596 ")
    assert counted(capsys, config, "--dtype", "float32")["bytes in float32"].startswith("438,057,192 ")
    assert main(["count", config, "--dtype", "float3"]) == 2


def test_count_says_what_is_tied(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", config]) == 0
    out = capsys.readouterr().out
    tie = "cls.predictions.decoder.weight is tied to bert.embeddings.word_embeddings.weight; counting it again gives 132,955,194"
    assert f"note: {tie}\n" in out
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


def test_formula_says_what_does_not_enter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", "BertModel"]) == 0
    out = capsys.readouterr().out
    assert "note: num_attention_heads does not enter the count\n" in out
    assert "109,482,240" in out
    assert "add_cross_attention = False" in out
    assert main(["formula", "MixtralForCausalLM", "--quantity", "active_params", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["value"] == 12_879_925_248
    assert "num_experts_per_tok" in {symbol["field"] for symbol in found["symbols"]}
    assert eval(found["python"], {}, {s["field"]: s["value"] for s in found["symbols"]}) == found["value"]


def test_formula_refuses_what_is_no_quantity(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formula", "BertModel", "--quantity", "parms"]) == 2
    assert "active_params" in capsys.readouterr().err


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    assert lines["bert"][0] == "BertModel"
    assert lines["roberta"][0] == "RobertaModel"
    assert "BertForMaskedLM" in lines["bert"]
    assert main(["list", "distilbert", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["distilbert"]
    assert main(["list", "gpt3"]) == 2


def test_the_catalogue_is_what_parsing_gives() -> None:
    found = library.catalogue()
    assert list(found) == library.model_types()
    assert {name: list(library.load(name).architectures) for name in found} == {
        name: list(names) for name, names in found.items()
    }
    assert sum(map(len, found.values())) > 100


@pytest.mark.parametrize(
    "command",
    [
        ["count"],
        ["count", "nowhere/config.json"],
        ["count", "BertModel", "--set", "hidden_size"],
        ["count", "BertModel", "--set", "hidden_size=-1"],
        ["count", "BertModel", "--set", "hidden_size=a"],
        ["count", "BertModel", "--set", "hiden_size=4"],
        ["count", "BertModel", "--architecture", "GPT2Model"],
        ["count", "BertModel", "--no-such-option"],
        ["count", "BertModel", "extra"],
        ["count", "BertModel", "--arch", "BertForMaskedLM"],  # options are written in full
        ["counts", "BertModel"],
        ["--counts"],
        ["tree", "no-such-model"],
        ["tensors", "no_such_model"],
        ["formula", "BertModel", "--format", "word"],
        [],
    ],
)
def test_bad_input_is_2_with_a_message(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    found = capsys.readouterr()
    assert found.err.strip() or not command
    assert "Traceback" not in found.err


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: archspec {verb} ")
    assert main(["--help"]) == 0
    assert f"  {verb} " in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert TRANSFORMERS_VERSION in capsys.readouterr().out


def test_a_bug_is_neither_a_difference_nor_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("archspec.cli.verbs.listing.run", broken)
    assert main(["list"]) == 70
    assert capsys.readouterr().err.startswith("a bug of archspec: ZeroDivisionError: by zero\n")


def test_interrupted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("archspec.cli.verbs.listing.run", interrupted)
    assert main(["list"]) == 130


def test_as_a_program() -> None:
    done = run("count", "BertModel")
    assert (done.returncode, done.stderr) == (0, "")
    assert "109,482,240" in done.stdout
    assert "\x1b" not in done.stdout
    assert run("diff", "BertModel", "BertForMaskedLM").returncode == 1
    failed = run("count", "nope")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "Traceback" not in failed.stderr


def test_a_pipe_that_is_closed() -> None:
    command = f"{sys.executable} -m archspec tensors BertModel | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.startswith("embeddings.word_embeddings.weight")
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_an_output_that_is_not_utf8() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "archspec", "formula", "BertModel"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_tables_on_a_terminal() -> None:
    """On a terminal the tables are rich ones: with rules, and still with all the numbers."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "archspec", "count", "BertModel"]
    with subprocess.Popen(command, stdout=follower, stderr=subprocess.PIPE, env=environment) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
    text = shown.decode()
    assert process.returncode == 0
    assert "─" in text
    for number in ("109,482,240", "23,837,184", "85,054,464", "590,592", "77.69%"):
        assert number in text


@pytest.mark.parametrize("verb", ["count", "tree", "tensors", "list"])
def test_counting_imports_nothing_heavy(verb: str, config: str) -> None:
    arguments = [verb] if verb == "list" else [verb, config]
    code = f"import sys; from archspec.cli.main import main; main({arguments!r}); print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
