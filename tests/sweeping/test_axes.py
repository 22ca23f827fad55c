"""Values of swept fields as users give them, and the errors of impossible grids and options."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import archspec
from archspec.errors import SweepError
from archspec.sweeping.axes import parse_axis

LLAMA = "LlamaForCausalLM"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("d=2:6", (2, 3, 4, 5, 6)),
        ("d=2:9:3", (2, 5, 8)),
        ("d=64:1000:*2", (64, 128, 256, 512)),
        ("d=1,2,8:10", (1, 2, 8, 9, 10)),
        ("d=[1,2],[3]", ([1, 2], [3])),
        ("d=true,null,1.5", (True, None, 1.5)),
        ("d=0.5:1.5:0.25", (0.5, 0.75, 1.0, 1.25, 1.5)),
        ('d="a,b",c', ("a,b", "c")),
        ("part.d=3", (3,)),
    ],
)
def test_values_as_they_are_typed(text: str, values: tuple[Any, ...]) -> None:
    assert tuple(parse_axis(text).values) == values


@pytest.mark.parametrize(
    "fields",
    [
        {"hidden_size": np.array([64, 128])},
        {"hidden_size": [np.int64(64), np.int32(128)]},
        {"hidden_size": (64 * turn for turn in (1, 2))},
        {"hidden_size": "64:128:64"},
        {"hidden_size": range(64, 129, 64)},
        ["hidden_size=64,128"],
        "hidden_size=64,128",
    ],
)
def test_values_of_python_and_numpy(fields: Any) -> None:
    wanted = list(archspec.sweep(LLAMA, {"hidden_size": [64, 128]}, columns=["params", "bytes"]))
    assert list(archspec.sweep(LLAMA, fields, columns="params,bytes")) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hidden_size", "has no values"),
        ("hidden_size=", "has no values"),
        ("hidden_size=9:2", "9:2 is empty: its last value 2 is below its first value 9"),
        ("hidden_size=2:9:0", "the step 0 must be positive"),
        ("hidden_size=2:9:-1", "the step -1 must be positive"),
        ("hidden_size=0:9:*2", "a geometric range"),
        ("hidden_size=a:b", "'a:b' is not a range"),
        ("hidden_size=1:2:3:4", "is not a range"),
        ("hidden_size=[1,2", "invalid JSON"),
        ("2x=3", "is not a field"),
        ("hidden_size=1:9000000000000", "9,000,000,000,000 configs"),
        ("hidden_size=64,100000000000000000000000", "beyond 64 bits"),
        ("hidden_size=64:100000000000000000000000:64000000000000000000", "beyond 64 bits"),
        ("hidden_size=-100000000000000000000000:64:64000000000000000000", "beyond 64 bits"),
        ("hidden_size=1:100000000000000000000000", "beyond 64 bits"),
        ("hidden_size=1,2:3000000", "more than 1,000,000 values"),
        ("hidden_size=1,2:100000000000000000000000", "more than 1,000,000 values"),
        ("rope_theta=0.5:9000000:0.5", "more than 1,000,000 values"),
        ("hiden_size=64", "did you mean hidden_size?"),
        ("rms_norm_eps=1:2", "must be a float, not the number 1"),
        ("rms_norm_epsilon=1:2", "llama has no field rms_norm_epsilon"),
        ("dtype=float32,bfloat16", "dtype cannot be swept"),
        ("model_type=a,b", "cannot be swept"),
    ],
)
def test_impossible_grids_are_refused(text: str, message: str, cli: Any) -> None:
    assert message in cli(["sweep", LLAMA, "--set", text], code=2).err


SET, RANGE = "--set hidden_size=64", "--set hidden_size=64:128:64"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "nothing is swept"),
        ("hidden_size=64,128", "e.g. --set hidden_size=64,128"),
        ("a.json --architecture LlamaModel --set hidden_size=64", "two classes"),
        (f"{SET} --set hidden_size=128", "hidden_size is set twice"),
        (f"{SET} --tie hidden_size=3", "is in --set and in --tie"),
        (f"{SET} --tie intermediate_size", "= is missing"),
        (f"{SET} --tie intermediate_size=4*hiden_size", "hiden_size is neither"),
        (f"{SET} --tie intermediate_size=hidden_size/3", "help: use // to round a quotient down in --tie"),
        (f"{SET} --tie intermediate_size=\t", "is empty"),
        (f"{SET} --columns parms", "did you mean params?"),
        (f"{SET} --columns params,,bytes", "--columns has an empty name"),
        (f"{SET} --columns params,params", "params is given twice"),
        (f"{SET} --columns hidden_size", "hidden_size is swept and already has a column"),
        (f"{SET} --columns params|+", "not an expression"),
        (f"{SET} --where __import__('os')", "__import__ is not part of the spec language"),
        (f"{SET} --where params//(hidden_size-64)>1", "division by zero"),
        (f"{SET} --where \t", "is empty"),
        (f"{SET} --rows -1", "--rows -1 is out of range"),
        (f"{SET} --rows 1000000", "pass --rows 0 to 100000"),
        (f"{SET} --dtype int3", "unknown dtype 'int3'"),
        (f"{SET} --out rows.txt", "unknown format '.txt'"),
        (f"{SET} --out /nowhere/rows.csv", "there is no directory /nowhere"),
        (f"{SET} --csv-safe", "--csv-safe has no effect without"),
        (f"{SET} --sql mysql", "--sql: unknown value 'mysql'\nhelp: choose from: duckdb, spark"),
        (f"{SET} --table t", "--table has no effect without --sql"),
        (f"{SET} --log x", "--log has no effect without --plot"),
        (f"{SET} --plot x.gif", "unknown plot format '.gif'"),
        (f"{SET} --plot x.png", "a plot needs a swept field with several numbers"),
        (f"{RANGE} --plot x.png --log z", "x, y or xy"),
        (f"{RANGE} --plot x.png --overlay NoModel", "there is no class or model type"),
        (f"{RANGE} --plot x.png --kind pie", "--kind: unknown value 'pie'"),
        (f"{RANGE} --plot x.png --kind pareto", "a pareto plot needs two columns"),
    ],
)
def test_wrong_options_are_refused(options: str, message: str, cli: Any, folder: Path) -> None:
    words = [word.replace("\t", " ").replace("|", " ") for word in options.split(" ") if word]
    assert message in cli(["sweep", LLAMA, *words], code=2).err
    assert os.listdir(folder) == []


def test_an_empty_condition_is_refused() -> None:
    with pytest.raises(SweepError, match="is empty"):
        archspec.sweep(LLAMA, "hidden_size=64", where="")
