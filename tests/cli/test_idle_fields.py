"""Fields that transformers has, or had, and nothing depends on: taken by every verb, and said to be so."""

from __future__ import annotations

import pytest

import archspec
from archspec.cli.main import main

N_CTX = "note: n_ctx does not change any count of gpt2; n_positions does\n"
VERBS = {
    "count": "",
    "tree": "--depth 0",
    "tensors": "",
    "formula": "--format latex",
    "sensitivity": "",
    "flops": "",
    "cache": "",
    "memory": "",
    "sweep": "",
    "solve": "--params 1e8 --free n_layer --top 1",
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_them_and_says_so(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "gpt2", "--set", "n_ctx=2048", *VERBS[verb].split()]) == 0
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count(N_CTX) == 1
    if verb != "count":
        assert N_CTX in shown.err
    assert main([verb, "gpt2", "--set", "nctx=2048", *VERBS[verb].split()]) == 2
    assert "did you mean n_ctx?" in capsys.readouterr().err


def test_diff_says_of_which_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "gpt2", "gpt2", "--set-b", "n_ctx=2048"]) == 0
    shown = capsys.readouterr().out
    assert "note: in B, n_ctx does not change any count of gpt2; n_positions does\n" in shown


def test_a_sweep_has_a_column_that_changes_nothing() -> None:
    grid = archspec.sweep("gpt2", {"n_ctx": [1, 2], "n_layer": [3]}, columns="params,twice=2*n_ctx")
    params = archspec.load("gpt2", set={"n_layer": 3}).params
    assert [tuple(row.values()) for row in grid.rows()] == [(1, 3, params, 2), (2, 3, params, 4)]
    assert grid.notes == ["note: n_ctx does not change any count of gpt2; n_positions does"]
    kept = archspec.sweep("gpt2", {"n_ctx": [1, 2]}, where="n_ctx > 1")
    assert [row["n_ctx"] for row in kept.rows()] == [2]
    tied = archspec.sweep("gpt2", {"n_layer": [3]}, tie={"n_ctx": "2 * n_positions"})
    assert next(tied.rows()) == {"n_layer": 3, "n_ctx": 2048, "params": params}
    dropout = archspec.sweep("llava", {"text_config.attention_dropout": [0.1]})
    assert "does not change the number of parameters" in dropout.notes[0]


def test_nothing_is_solved_for_them() -> None:
    with pytest.raises(archspec.ArchspecError, match="n_positions does, so it cannot be chosen"):
        archspec.solve("gpt2", "n_ctx,n_layer", params="1e8")
    found = archspec.solve("gpt2", "n_layer", params="85e6", set={"n_ctx": [7]}, top=1)
    assert found.notes == ["n_ctx does not change any count of gpt2; n_positions does"]
