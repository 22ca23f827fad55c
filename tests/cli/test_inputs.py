"""Inputs of every verb: configs on stdin, settings, fields without effect, your own specs, existing files."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from conftest import Command

import archspec

GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 2}
PARAMS = archspec.load(GPT2).params
N_CTX = "n_ctx does not affect any count; n_positions does"


def write_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
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
    command: str, shown: str, cli: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_stdin(monkeypatch, json.dumps(GPT2).encode())
    assert shown in cli(command, code=int(command.startswith("diff"))).out


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"model_type": "gpt2",\n "n_layer": }', "<stdin>:2:13: invalid JSON"),
        (b'{"model_type": "gpt2",\n "n_layer": "two"}', "<stdin>:2:2: n_layer must be an integer, not"),
        (b"", "<stdin>:1:1: the file is empty"),
        (b'{"model_type": "\xff"}', "<stdin>:1:17: not UTF-8"),
    ],
)
def test_errors_on_stdin_have_a_caret(
    data: bytes, message: str, cli: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_stdin(monkeypatch, data)
    error = cli("count -", code=2).err
    assert error.startswith(message) and (not data or "^" in error) and "help: " in error


def test_a_closed_stdin(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert "the standard input is closed" in cli("count -", code=2).err


def test_one_option_sets_several_fields(config: str, cli: Command) -> None:
    def params(*settings: str) -> int:
        options = [text for setting in settings for text in ("--set", setting)]
        return int(cli("count", config, "--json", *options).json["params"])

    assert params("hidden_size=24,num_attention_heads=2") == params("hidden_size=24", "num_attention_heads=2")
    labels = 'id2label={"0": "a,b=c", "1": "d"}, hidden_size=24, num_attention_heads=2'
    assert params(labels) == params("hidden_size=24", "num_attention_heads=2")
    rows = cli("sweep", config, "--set", "hidden_size=24,48,num_hidden_layers=2:3", "--json").out
    assert len(rows.splitlines()) == 4
    changed = cli("diff", config, config, "--set-b", "hidden_size=24,num_attention_heads=2", code=1)
    assert "hidden_size is 768 in A, 24 in B" in changed.out
    cli("count", config, "--set", "hidden_size=24,hidden_dropout_prob", code=2)


def test_a_name_is_not_a_checkpoint(cli: Command) -> None:
    of_type, of_class = (
        "no config given: this is LlamaModel (no head) with transformers' default config, which may differ "
        "from any checkpoint",
        "no config given: this is LlamaForCausalLM with transformers' default config, which may differ from "
        "any checkpoint",
    )
    assert archspec.load("llama").notes == [of_type]
    assert archspec.load("llama", "LlamaForCausalLM").notes == [of_class]
    narrow = archspec.load("LlamaForCausalLM", set={"hidden_size": 1024}).notes
    assert narrow == [of_class.replace("config, which", "config for fields that are not set, which")]
    assert archspec.load({"model_type": "llama"}, "LlamaForCausalLM").notes == []
    assert f"note: {of_class}\n" in cli("count LlamaForCausalLM").out


@pytest.mark.parametrize(
    "line",
    [
        "count gpt2 --set n_layer=1 --set n_layer=2",
        "count gpt2 --set n_layer=1,n_layer=1",
        'count gpt2 --set id2label={"0":"a","0":"b"}',
        "count gpt2 --set n_layer=１２",
        "count gpt2 --depth １",
        "flops gpt2 --tokens １２",
        "cache gpt2 --budget ８０GiB",
        "sweep gpt2 --set n_layer=1:８",
        "sweep gpt2 --set n_layer=1:8:２",
        "sweep gpt2 --set n_layer=1,2 --set n_layer=3",
        "sweep gpt2 --set n_layer=1,2 --rows １",
        "solve gpt2 --params １b",
        "solve gpt2 --params 1b --top １",
        "solve gpt2 --params 1b --multiple n_embd=１２８",
        "solve gpt2 --params 1b --within １",
        "solve gpt2 --params 1b --set n_layer=1 --set n_layer=2",
        "diff gpt2 gpt2 --set n_layer=1 --set-a n_layer=2",
        "formula gpt2 --assume n_inner=４*n_embd",
        "formula gpt2 --assume n_inner=1 --assume n_inner=2",
    ],
)
def test_other_digits_and_fields_set_twice_are_refused(line: str, cli: Command) -> None:
    cli(line, code=2)


@pytest.mark.parametrize(
    ("verb", "options"),
    {
        **dict.fromkeys(("count", "tensors", "sensitivity", "flops", "cache", "memory", "sweep"), ""),
        "tree": "--depth 0",
        "formula": "--format latex",
        "solve": "--params 1e8 --free n_layer --top 1",
    }.items(),
)
def test_a_field_without_effect_is_noted(verb: str, options: str, cli: Command) -> None:
    shown = cli(f"{verb} gpt2 --set n_ctx=2048 {options}")
    assert (shown.out + shown.err).count(f"note: {N_CTX}\n") == 1
    assert verb == "count" or N_CTX in shown.err
    assert "did you mean n_ctx?" in cli(f"{verb} gpt2 --set nctx=2048 {options}", code=2).err


def test_fields_without_effect_in_other_verbs(cli: Command) -> None:
    assert f"note: B: {N_CTX}\n" in cli("diff gpt2 gpt2 --set-b n_ctx=2048").out
    grid = archspec.sweep("gpt2", {"n_ctx": [1, 2], "n_layer": [3]}, columns="params,twice=2*n_ctx")
    params = archspec.load("gpt2", set={"n_layer": 3}).params
    assert [tuple(row.values()) for row in grid.rows()] == [(1, 3, params, 2), (2, 3, params, 4)]
    assert grid.notes == [f"note: {N_CTX}"]
    kept = archspec.sweep("gpt2", {"n_ctx": [1, 2]}, where="n_ctx > 1")
    assert [row["n_ctx"] for row in kept.rows()] == [2]
    tied = archspec.sweep("gpt2", {"n_layer": [3]}, tie={"n_ctx": "2 * n_positions"})
    assert next(tied.rows()) == {"n_layer": 3, "n_ctx": 2048, "params": params}
    dropout = archspec.sweep("llava", {"text_config.attention_dropout": [0.1]})
    assert "does not affect the number of parameters" in dropout.notes[0]
    with pytest.raises(archspec.ArchspecError, match="n_positions does, so it cannot be in free"):
        archspec.solve("gpt2", "n_ctx,n_layer", params="1e8")
    assert archspec.solve("gpt2", "n_layer", params="85e6", set={"n_ctx": [7]}, top=1).notes == [N_CTX]


TINY = """# tiny: a small model
# code: mymodels.py
model_type: tiny
config:
  width: 8
  depth: 2
  inner: = Config(tiny_inner)
architectures:
  Tiny:
    layers: Linear(width, width) for i in range(depth)
    head: Linear(width, inner.width)
"""
INNER = """# tiny_inner: its part
# code: mymodels.py
model_type: tiny_inner
config:
  width: 3
architectures:
  TinyInner:
    head: Linear(width, width)
"""


@pytest.fixture
def specs(tmp_path: Path) -> str:
    (tmp_path / "tiny.yaml").write_text(TINY)
    (tmp_path / "tiny_inner.yaml").write_text(INNER)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("count tiny", "171"),
        ("count Tiny --set inner.width=1 --set depth=1", "81"),
        ("tree Tiny", "Tiny"),
        ("tensors Tiny", "head.weight"),
        ("formula Tiny", "= 171 at the values below"),
        ("sensitivity Tiny", "= 171"),
        ("diff Tiny TinyInner", "12"),
        ("table Tiny --columns model,params,inner.width", "171"),
        ("sweep Tiny --set depth=1:2", "171"),
        ("solve Tiny --params 1000 --free depth", "depth"),
        ("list tiny", "tiny.yaml"),
    ],
)
def test_every_verb_finds_your_own_specs(command: str, shown: str, specs: str, cli: Command) -> None:
    assert shown in cli(command, "--specs", specs, code=int(command.startswith("diff"))).out
    cli(command, code=0 if "list" in command else 2)


def test_costs_and_lint_of_your_own_specs(specs: str, cli: Command) -> None:
    for verb in ("flops", "cache", "memory"):
        assert "costs are not supported for Tiny (tiny)" in cli(f"{verb} Tiny --specs", specs, code=2).err
    assert cli("lint", specs).out == cli("lint --specs", specs).out == "2 files, no problems\n"
    Path(specs, "tiny_inner.yaml").unlink()
    assert "tiny_inner" in cli("lint", f"{specs}/tiny.yaml", code=2).out


SWEEP = "sweep GPT2LMHeadModel --set n_layer=1:4"
SOLVE = "solve GPT2LMHeadModel --params 124439808 --free n_embd,n_layer --top 3"
WRITING = {  # the file that a command writes -> the command
    **{f"rows.{end}": f"{SWEEP} --out rows.{end}" for end in ("csv", "parquet", "jsonl", "arrow")},
    **{f"picture.{end}": f"{SWEEP} --plot picture.{end}" for end in ("svg", "html")},
    "found/2/config.json": f"{SOLVE} --out found",
}


@pytest.mark.parametrize("name", WRITING)
def test_a_file_is_replaced_only_with_overwrite(name: str, folder: Path, cli: Command) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    error = cli(WRITING[name], code=2).err
    assert f"{name} already exists" in error and "--overwrite" in error
    assert path.read_text() == "mine"
    assert [one for one in folder.rglob("*") if one.is_file()] == [path]  # nothing else was written
    cli(WRITING[name], "--overwrite")
    assert path.read_bytes() != b"mine"


@pytest.mark.parametrize("line", [SWEEP, SOLVE])
def test_overwrite_without_a_file_is_refused(line: str, cli: Command) -> None:
    assert "--overwrite has no effect" in cli(line, "--overwrite", code=2).err


def test_python_does_not_replace_files_either(tmp_path: Path) -> None:
    grid = archspec.sweep("GPT2LMHeadModel", {"n_layer": [1, 2]})
    path = str(tmp_path / "rows.csv")
    assert grid.write(path) == 2
    with pytest.raises(archspec.ArchspecError, match="already exists"):
        grid.write(path)
    assert grid.write(path, overwrite=True) == 2
    found = archspec.solve("GPT2LMHeadModel", params="1e8", top=1)[0]
    found.save(str(tmp_path))
    with pytest.raises(archspec.ArchspecError, match="already exists"):
        found.save(str(tmp_path))
    found.save(str(tmp_path), overwrite=True)


@pytest.mark.reference
def test_a_draft_is_replaced_only_with_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "gpt2.yaml"
    path.write_text("mine")
    with pytest.raises(archspec.ArchspecError, match="already exists"):
        archspec.derive("gpt2", output=str(tmp_path), verify=False)
    assert path.read_text() == "mine"
    archspec.derive("gpt2", output=str(tmp_path), verify=False, overwrite=True)
    assert path.read_text() != "mine"
