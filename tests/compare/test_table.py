"""Several models side by side: their columns, names and errors, as text, LaTeX, Markdown and plain data."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import archspec

ROOT = Path(__file__).parent.parent.parent
GPT2 = str(ROOT / "configs" / "openai-community--gpt2.json")
GPT_OSS = str(ROOT / "configs" / "openai--gpt-oss-20b.json")


def row(model: Any, columns: str, **options: Any) -> dict[str, Any]:
    return archspec.table([model], columns, **options).rows[0]


def test_the_usual_columns() -> None:
    found = archspec.table([GPT2, GPT_OSS])
    assert found.columns == ["model", "params", "active_params", "L", "d", "h", "d_ff", "V"]
    assert [tuple(one.values()) for one in found.rows] == [
        ("gpt2", 124_439_808, 124_439_808, 12, 768, 12, 3072, 50257),
        ("gpt-oss-20b", 20_914_757_184, 4_187_440_704, 24, 2880, 64, 2880, 201088),
    ]
    assert found.legend.startswith("L: number of layers; d: model width")
    assert "active_params" not in archspec.table([GPT2]).columns  # the same as params


def test_a_column_is_a_quantity_a_cost_a_field_a_symbol_or_a_word() -> None:
    model = archspec.load(GPT2)
    counted = row(model, "params,active,non-embedding,embedding_params,bytes", dtype="bf16")
    assert counted == {
        "params": model.params,
        "active": model.active_params,
        "non-embedding": model.non_embedding_params,
        "embedding_params": model.embedding_params,
        "bytes": 2 * model.params,
    }
    fields = row(model, "n_embd,hidden_size,tie_word_embeddings,attn_pdrop,architecture,model_type")
    assert list(fields.values()) == [768, 768, True, 0.1, "GPT2LMHeadModel", "gpt2"]
    words = row("MixtralForCausalLM", "layers,width,heads,kv_heads,feed-forward,experts,k")
    assert list(words.values()) == [32, 4096, 32, 8, 14336, 8, 2]


@pytest.mark.parametrize("lengths", [{"tokens": 64, "batch": 3}, {"tokens": 1, "batch": 5, "past": 7}])
def test_costs_are_those_of_the_call(lengths: dict[str, int]) -> None:
    model = archspec.load(GPT2)
    columns = "flops,flops_per_token,cache_bytes,cache_bytes_per_token"
    call = model.forward(**lengths)
    assert row(model, columns, dtype="bf16", **lengths) == {
        "flops": call.flops,
        "flops_per_token": round(call.flops / (call.call.batch * call.call.tokens)),
        "cache_bytes": call.cache_bytes("bf16"),
        "cache_bytes_per_token": 36_864,
    }


def test_the_legend_and_notes_name_the_call() -> None:
    given = archspec.table([GPT2], "d,flops_per_token,cache_bytes", tokens=64, past=8, dtype="bf16")
    assert given.legend == (
        "d: model width; FLOPs per token: for a forward pass with 64 tokens, 8 past tokens; "
        "cache bytes: for a forward pass with 64 tokens, 8 past tokens, in bf16"
    )
    usual = archspec.table([GPT2, "LlamaModel"], "flops")  # GPT-2 has 1,024 positions
    assert "2,048 tokens (or the model's maximum if smaller)" in usual.legend
    assert usual.notes[0] == "gpt2: flops is for 1,024 tokens"
    assert usual.rows[0]["flops"] == archspec.load(GPT2).flops(tokens=1024).flops
    assert usual.rows[1]["flops"] == archspec.load("LlamaModel").flops(tokens=2048).flops


def test_lengths_that_a_model_does_not_take_are_noted() -> None:
    found = archspec.table(["T5Model", "BertModel"], "flops", tokens=8, encoder_tokens=16)
    assert [one["flops"] is None for one in found.rows] == [False, True]
    why = "encoder_tokens has no effect: BertModel does not attend to an encoder"
    assert f"flops cannot be reported: {why}" in found.notes
    with pytest.raises(archspec.ArchspecError, match="past has no effect: no column depends on it"):
        archspec.table([GPT2], "params", past=4)


def test_notes_name_the_part_of_a_value_and_the_reason_of_a_missing_one() -> None:
    llava = archspec.table(["LlavaForConditionalGeneration"], "L,vision_config.hidden_size,E")
    assert llava.rows == [{"L": 32, "vision_config.hidden_size": 1024, "E": None}]
    assert "LlavaForConditionalGeneration: L is that of its text_config" in llava.notes
    several = archspec.table(["MusicgenForConditionalGeneration"], "L")
    assert several.rows == [{"L": None}]
    why = "L cannot be reported: text_encoder and decoder have different values"
    assert f"MusicgenForConditionalGeneration: {why}" in several.notes
    whisper = archspec.table(["WhisperModel"], "L,L_dec,d")
    assert (whisper.rows[0]["L"], whisper.rows[0]["d"]) == (4, 384)
    assert "WhisperModel: L is that of its encoder" in whisper.notes
    swin = archspec.table(["SwinModel"], "d,L,h,depths")
    assert swin.rows == [{"d": None, "L": [2, 2, 6, 2], "h": [3, 6, 12, 24], "depths": [2, 2, 6, 2]}]
    assert str(swin).splitlines()[1].split("  ")[0] == "–"


def test_models_have_the_names_of_their_checkpoints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "Llama-2-7b-hf"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}')
    monkeypatch.chdir(folder)
    given = [GPT2, folder, str(folder / "config.json"), "config.json", "LlamaModel", {"model_type": "bert"}]
    names = [one["model"] for one in archspec.table([*given, archspec.load(GPT2)], "model").rows]
    assert names == ["gpt2", *["Llama-2-7b-hf"] * 3, "LlamaModel", "BertModel", "gpt2"]


def test_models_that_cannot_be_counted_are_named_all_at_once() -> None:
    with pytest.raises(archspec.ArchspecError) as refused:
        archspec.table([GPT2, "NoSuchModel", {"model_type": "bert", "hidden_size": 5}])
    message = str(refused.value)
    assert "NoSuchModel" in message and "model 3: " in message and "gpt2" not in message


@pytest.mark.parametrize(
    ("models", "columns", "message"),
    [
        ([GPT2], "hiden_size", "unknown column 'hiden_size'\nhelp: did you mean hidden_size"),
        ([GPT2], "params,params", "the column params is given twice"),
        ([GPT2], "params,", "unknown column ''"),
        ([GPT2], "B", "unknown column 'B'"),
        ([GPT2], "tokens", "unknown column 'tokens'"),
        (["LlavaForConditionalGeneration"], "text_config", "unknown column 'text_config'"),
        ([], None, "there are no models to compare"),
        (GPT2, None, "there are no models to compare"),
    ],
)
def test_invalid_tables(models: Any, columns: str | None, message: str) -> None:
    with pytest.raises(archspec.ArchspecError, match=message):
        archspec.table(models, columns)


def test_text_html_markdown_and_plain_data(cli: Command) -> None:
    text = cli(["table", GPT2, GPT_OSS, "--columns", "model,d_ff,params"]).out
    assert text.splitlines()[:3] == [
        "model         d_ff          params",
        "gpt2         3,072     124,439,808",
        "gpt-oss-20b  2,880  20,914,757,184",
    ]
    text = cli(["table", GPT2, "--columns", "model,d_ff,n_inner", "--format", "markdown"]).out
    assert text.splitlines() == [
        "| model | $d_{\\mathrm{ff}}$ | n_inner |",
        "| --- | ---: | ---: |",
        "| gpt2 | 3,072 | 3,072 |",
        "",
        "d\\_ff: feed-forward width",
    ]
    unequal = archspec.table([GPT2, "LlamaModel"], "flops").markdown()
    assert "2,048 tokens" in unequal and "note: gpt2: flops is for 1,024 tokens" in unequal
    assert cli(["table", GPT2, GPT_OSS, "--json"]).json == archspec.table([GPT2, GPT_OSS]).as_json()
    assert "<td" in archspec.table([GPT2])._repr_html_()
    cli(["table", GPT2, "--columns", "nothing"], code=2)


def test_a_config_on_stdin(monkeypatch: pytest.MonkeyPatch, cli: Command) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(GPT2).read_bytes())))
    rows = cli("table - --columns model,params").out.splitlines()
    assert rows[1].split() == ["GPT2LMHeadModel", "124,439,808"]


@pytest.mark.latex
def test_latex_is_set(tmp_path: Path) -> None:
    odd = {"model_type": "bert", "architectures": ["BertForMaskedLM"]}
    columns = "model,params,architecture,d_ff,h_kv,tie_word_embeddings,depths,non-embedding"
    written = archspec.table([GPT2, GPT_OSS, odd, "SwinModel", "gpt_neox"], columns).latex()
    head = r"\documentclass{article}\usepackage{booktabs}\begin{document}"
    (tmp_path / "table.tex").write_text(f"{head}\n{written}\n\\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
