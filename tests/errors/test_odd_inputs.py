"""Inputs that Python, NumPy or Arrow cannot take soon end in an error with an instruction."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import archspec
from archspec.cli.main import main

GPT2 = "GPT2LMHeadModel"
CALLS: dict[str, Callable[[], Any]] = {
    "has no argument weights": lambda: archspec.load(GPT2).training(weights="bf16"),
    "diff() has no argument dtype": lambda: archspec.diff(GPT2, GPT2, dtype="bf16"),  # type: ignore[call-arg]
    "flops() has no argument new_encoder_tokens": lambda: archspec.load(GPT2).flops(new_encoder_tokens=0),  # type: ignore[call-arg]
    "checkpointing: 'no' is not True or False": lambda: archspec.load(GPT2).training(checkpointing="no"),
    "last: 'no' is not True or False": lambda: archspec.load(GPT2).memory(last="no"),  # type: ignore[arg-type]
    "last: an object of": lambda: archspec.load(GPT2).memory(last=numpy.array([True])),  # type: ignore[arg-type]
    "dtype: an object of": lambda: archspec.load(GPT2).memory(dtype=numpy.array("a")),  # type: ignore[arg-type]
    "the list is empty": lambda: archspec.lint([]),
    "an object of the class object": lambda: archspec.sweep(GPT2, {"n_layer": object()}),
    "an object of the class function": lambda: archspec.sweep(GPT2, {"n_layer": [1, lambda: 1]}),
    "b'ab' is not a value": lambda: archspec.sweep(GPT2, {"n_layer": b"ab"}),
    "more than 1,000,000 values": lambda: archspec.sweep(GPT2, {"n_layer": iter(int, 1)}),
    "n_layer ranges from": lambda: archspec.sweep(GPT2, {"n_layer": range(-(2**62), 2**63 - 1)}),
    "the search has too many configs, 999,999,999,999": lambda: archspec.solve(
        GPT2, "n_layer", set={"n_layer": range(10**12)}, params="1b"
    ),
    "no value that is a multiple": lambda: archspec.solve(
        GPT2, "n_embd", set={"n_embd": range(1, 2**40, 2**20)}, multiple={"n_embd": 2**60}, params="1b"
    ),
}
LINES = {
    "two of hidden_size, n_embd are names of one field": [
        *("formula", GPT2, "--assume", "hidden_size=2*n_head", "--assume", "n_embd=64*n_head")
    ],
    **{
        f"n_layer cannot be replaced by {value}": ["formula", GPT2, "--assume", f"n_layer={value}"]
        for value in ("{}", "1e400", 'float("inf")', 'float("nan")', "range(3)", '{"a":1}')
    },
    "not 1e+300": [
        "solve",
        GPT2,
        "--free",
        "n_layer",
        "--params",
        "1b",
        "--tolerance",
        "1e300",
    ],
    "not 1000000000000": ["formula", GPT2, "--env", "align", "--width", "1000000000000"],
    "1,000,000, not inf": [
        "formula",
        GPT2,
        "--table",
        "latex",
        "--width",
        "9" * 400,
    ],
    "n_layer: '\\udc80' is not Unicode text": ["sweep", GPT2, "--set", "n_layer=\udc80"],
    "n_layer: ['\\ud800'] is not Unicode text": ["sweep", GPT2, "--set", 'n_layer=["\\ud800"]'],
    "'\\ud800' is not Unicode text": ["sweep", GPT2, "--set", "n_layer=1,2", "--columns", "a='\\ud800'"],
    "not an expression: the text is not Unicode": ["formula", GPT2, "--assume", "n_layer=\udc80"],
}
SPECS = {
    "has a tensor of 50,000 dimensions": "    a: LayerNorm([2]*50000)\n",
    "has a tensor of 1,000,000 dimensions": "    a: LayerNorm([2]*1000000)\n",
    "has far too many elements": "    a: LayerNorm([10**300]*60)\n",
    "more than 64 brackets": f"    a: Linear(1, 1)\nconfig:\n  x: {'list[' * 2000}int{']' * 2000}\n",
}


@pytest.mark.parametrize("message", CALLS)
def test_calls_are_refused(message: str) -> None:
    archspec.load(GPT2).formula  # noqa: B018  # imports are not measured
    start = time.process_time()
    with pytest.raises(archspec.ArchspecError) as refused:
        CALLS[message]()
    assert message in str(refused.value) and "\nhelp: " in str(refused.value)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("message", LINES)
def test_lines_are_refused(message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(LINES[message]) == 2
    said = capsys.readouterr().err
    assert message in said and "help: " in said and "codec" not in said


@pytest.mark.parametrize("message", SPECS)
def test_specs_are_refused(message: str, tmp_path: Path) -> None:
    (tmp_path / "tst.yaml").write_text(f"model_type: tst\narchitectures:\n  TstModel:\n{SPECS[message]}")
    start = time.process_time()
    with pytest.raises(archspec.ArchspecError, match=message):
        archspec.load({"model_type": "tst"}, specs=str(tmp_path)).params  # noqa: B018
    assert time.process_time() - start < 2


def test_a_large_tolerance_finds_what_there_is() -> None:
    found = archspec.solve(GPT2, "n_layer", params="4.6e18", tolerance=150)
    assert found[0].values["n_layer"] > 0
