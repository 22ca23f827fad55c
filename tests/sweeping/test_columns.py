"""Columns have the type of their values, and every output the value that Python gives at the point."""

from __future__ import annotations

import csv
import json
import random
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import SweepError
from archspec.reports import plain

ISSUE = ["hidden_size=1024:4096:128", "num_hidden_layers=8:64"]
TIE = {"num_attention_heads": "hidden_size // 128"}
NARROW = "params > 6.7e9 and params < 6.75e9"
COLUMNS = {"params": "params", "aspect": "hidden_size/num_hidden_layers", "billions": "params/1e9"}
KINDS = {  # a column, and its type
    "hidden_size / num_hidden_layers": "double",
    "params / 1e9": "double",
    "params // 1000": "int64",
    "hidden_size % 7.0": "double",
    "hidden_size * 1.0": "double",
    "hidden_size // 2.0": "double",
    "float(hidden_size)": "double",
    "sqrt(hidden_size)": "double",
    "log2(hidden_size)": "double",
    "round(params / 7, 2)": "double",
    "round(params / 7)": "int64",
    "ceil(hidden_size / 3)": "int64",
    "int(params / 1e6)": "int64",
    "2 ** num_hidden_layers": "int64",
    "2 ** -1": "double",
    "max(hidden_size, 0.5)": "int64",
    "1 if num_hidden_layers > 2 else 0.5": "double",
    "sum([hidden_size, 0.5])": "double",
    "sum([1, 2.5][i] for i in range(2))": "double",
    "hidden_size > 1000": "bool",
    "not hidden_size": "bool",
    "-(hidden_size > 1000)": "int64",
    "tie_word_embeddings": "bool",
    "hidden_act": "string",
    "[hidden_size, 0.5]": "string",
    "None": "null",
    "num_key_value_heads": "int64",
    "head_dim / 2": "double",
    "attention_bias and 1": "bool",
}


def evaluated(expression: str, model: archspec.Model, values: dict[str, Any]) -> Any:
    """A column as Python has it: the spec language is a part of Python."""
    from math import ceil, floor, log2, sqrt

    names = dict.fromkeys(("params", "active_params", "embedding_params", "buffers"), 0)
    names = {name: model.count(name) for name in names}
    fields = {name: model.scope.get(name) for name in ("hidden_size", "num_hidden_layers", "head_dim")}
    fields |= {name: model.scope.get(name) for name in ("num_attention_heads", "num_key_value_heads")}
    fields |= {"hidden_act": "silu", "tie_word_embeddings": model.scope.get("tie_word_embeddings")}
    fields |= {"attention_bias": model.scope.get("attention_bias")}
    known = {**fields, **names, **values, "ceil": ceil, "floor": floor, "log2": log2, "sqrt": sqrt}
    return eval(expression, known)


def same(found: Any, expected: Any) -> bool:
    if isinstance(found, Decimal):
        found = int(found)
    if isinstance(expected, float) or isinstance(found, float):
        return type(found) is float and found == float(expected) and int(expected) == int(found)
    return bool(type(found) is type(expected) and found == expected)


def test_floats_stay_floats_where_the_filter_keeps_no_sampled_point(tmp_path: Path) -> None:
    grid = archspec.sweep("LlamaForCausalLM", ISSUE, tie=TIE, where=NARROW, columns=COLUMNS)
    rows = list(grid)
    assert [row["params"] for row in rows] == [6706247296, 6739227648, 6748842240, 6738415616]
    assert [row["billions"] for row in rows] == [6.706247296, 6.739227648, 6.74884224, 6.738415616]
    assert [row["aspect"] for row in rows] == [2432 / 63, 3072 / 47, 3840 / 35, 128.0]
    grid.write(str(tmp_path / "rows.csv"))
    with open(tmp_path / "rows.csv", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert [float(row["billions"]) for row in read] == [row["billions"] for row in rows]
    grid.write(str(tmp_path / "rows.parquet"))
    assert pyarrow.parquet.read_table(tmp_path / "rows.parquet").to_pylist() == rows
    grid.write(str(tmp_path / "rows.jsonl"))
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert "6.73923" in plain(grid.blocks())


@pytest.mark.parametrize("column", KINDS)
def test_the_type_follows_from_the_values(column: str) -> None:
    for where in (None, "hidden_size == 768"):
        fields = {"hidden_size": [512, 768, 2048], "num_hidden_layers": [1, 2, 3]}
        tie = {"num_attention_heads": "hidden_size // 128"}
        grid = archspec.sweep("LlamaForCausalLM", fields, tie=tie, columns={"x": column}, where=where)
        assert str(grid.schema.field("x").type) == KINDS[column]


ATOMS = [
    *("params", "active_params", "hidden_size", "num_hidden_layers", "head_dim", "num_attention_heads"),
    *("1", "3", "7", "0.5", "1e9", "2.0", "buffers", "num_key_value_heads"),
]


def expression(draw: random.Random, depth: int) -> str:
    if not depth:
        return draw.choice(ATOMS)
    one, two = expression(draw, depth - 1), expression(draw, depth - 1)
    if draw.random() < 0.6:
        return f"({one} {draw.choice(['+', '-', '*', '/', '//', '%'])} {two})"
    forms = ["min({}, {})", "max({}, {})", "({} if hidden_size > 600 else {})", "({} < {})"]
    forms += ["({} or {})", "({} and {})", "sum([{}, {}])", "[{}, {}][1]"]
    alone = ["int({})", "float({})", "abs({})", "round({})", "ceil({})", "floor({})", "-{}", "(not {})"]
    return draw.choice(forms).format(one, two) if draw.random() < 0.5 else draw.choice(alone).format(one)


@pytest.mark.parametrize("seed", range(40))
def test_random_columns_have_the_values_of_python(seed: int, tmp_path: Path) -> None:
    """Any column over any grid and filter; the type does not depend on the order of rows."""
    draw = random.Random(seed)
    column = expression(draw, draw.randint(1, 3))
    layers = draw.sample(range(1, 40), 3)
    fields = {"num_hidden_layers": layers, "hidden_size": draw.sample([512, 640, 768, 1024, 1536], 3)}
    tie = {"num_attention_heads": "hidden_size // 128", "num_key_value_heads": "num_attention_heads"}
    where = draw.choice([None, "params > 3e8", f"num_hidden_layers == {layers[0]}", "hidden_size < 700"])
    expected = {}
    for point in product(*fields.values()):
        values = dict(zip(fields, point, strict=True))
        heads = values["hidden_size"] // 128
        settings = {**values, "num_attention_heads": heads, "num_key_value_heads": heads}
        model = archspec.load("LlamaForCausalLM", set=settings)
        try:
            if where is None or evaluated(where, model, settings):
                expected[point] = evaluated(column, model, settings)
        except (ZeroDivisionError, OverflowError):
            return  # the sweep refuses it as Python does
    if any(isinstance(value, int) and abs(value) >= 10**38 for value in expected.values()):
        return
    try:
        grid = archspec.sweep("LlamaForCausalLM", fields, tie=tie, columns={"x": column}, where=where)
        rows = list(grid)
    except SweepError as error:
        assert "that no float holds" in str(error) or "beyond 64 bits" in str(error), column
        return
    type_ = str(grid.schema.field("x").type)
    found = {(row["num_hidden_layers"], row["hidden_size"]): row["x"] for row in rows}
    assert found.keys() == expected.keys()
    if type_ == "string":  # bools and numbers together
        assert found == {point: json.dumps(value) for point, value in expected.items()}
    else:
        for point, value in expected.items():
            shown = float(value) if type_ == "double" and type(value) is int else value
            assert same(found[point], shown), (column, where, point, value, found[point])
    if where is None:
        turned = {name: values[::-1] for name, values in fields.items()}
        again = archspec.sweep("LlamaForCausalLM", turned, tie=tie, columns={"x": column})
        assert str(again.schema.field("x").type) == type_, column
    if not rows or type_.startswith("decimal"):
        return
    assert archspec.sweep("LlamaForCausalLM", fields, tie=tie, columns={"x": column}).array("x").dtype == {
        "int64": np.int64,
        "double": np.float64,
        "bool": np.bool_,
    }.get(type_, np.object_)
    for ending in (".parquet", ".jsonl", ".csv"):
        grid.write(str(tmp_path / f"rows{ending}"))
    assert pyarrow.parquet.read_table(tmp_path / "rows.parquet").to_pylist() == rows
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows
    with open(tmp_path / "rows.csv", encoding="utf-8") as file:
        texts = [row["x"] for row in csv.DictReader(file)]
    if type_ in ("double", "int64"):
        read = float if type_ == "double" else int
        assert [read(text) for text in texts] == [row["x"] for row in rows]
    assert grid.to_pandas()["x"].tolist() == [row["x"] for row in rows]
    assert grid.to_polars()["x"].to_list() == [row["x"] for row in rows]
    queried(grid, rows)


def queried(grid: archspec.Sweep, rows: list[dict[str, Any]]) -> None:
    """The SQL gives the same values, of the same type."""
    import duckdb

    try:
        query = grid.sql()
    except SweepError as error:
        assert any(
            known in str(error) for known in ("negative", "38 digits", "that no float holds", "texts")
        ), error
        return
    table = duckdb.sql(f"SELECT * FROM ({query}) ORDER BY ALL").fetchall()
    wanted = sorted(tuple(row.values()) for row in rows)
    assert len(table) == len(wanted)
    for found, expected in zip(table, wanted, strict=True):
        assert found[:-1] == expected[:-1]
        assert found[-1] == expected[-1] and type(found[-1]) is type(expected[-1]), query


def test_a_value_that_does_not_fit_is_an_error() -> None:
    big = {"x": "params ** 2 if num_hidden_layers > 2 else 0.5"}
    grid = archspec.sweep("LlamaForCausalLM", {"num_hidden_layers": [1, 2, 3]}, columns=big)
    with pytest.raises(SweepError, match="integers that no float holds"):
        list(grid)
    with pytest.raises(SweepError, match="integers that no float holds"):
        grid.array("x")


def test_huge_integers_are_exact() -> None:
    fields = {"num_hidden_layers": [1, 2, 3]}
    grid = archspec.sweep("LlamaForCausalLM", fields, columns={"x": "params ** 3"}, where="params < 1")
    assert str(grid.schema.field("x").type) == "decimal128(38, 0)"
    grid = archspec.sweep("LlamaForCausalLM", fields, columns={"x": "params ** 3"})
    expected = [
        archspec.load("LlamaForCausalLM", set={"num_hidden_layers": n}).params ** 3 for n in (1, 2, 3)
    ]
    assert [int(row["x"]) for row in grid] == expected == list(grid.array("x"))


def test_nulls_are_nulls_in_every_output(tmp_path: Path) -> None:
    columns = {"x": "hidden_size / 3 if num_hidden_layers > 1 else None"}
    grid = archspec.sweep("LlamaForCausalLM", {"num_hidden_layers": [1, 2]}, columns=columns)
    assert str(grid.schema.field("x").type) == "double"
    assert [row["x"] for row in grid] == [None, 4096 / 3]
    assert np.isnan(grid.array("x")[0]) and grid.array("x")[1] == 4096 / 3
    grid.write(str(tmp_path / "rows.csv"))
    assert (tmp_path / "rows.csv").read_text().splitlines()[1] == "1,"
    import duckdb

    assert duckdb.sql(f"SELECT x FROM ({grid.sql()}) ORDER BY num_hidden_layers").fetchall() == [
        (None,),
        (4096 / 3,),
    ]


def test_formulas_of_spreadsheets_are_neutralized_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = ["=cmd()", "+1", "-1", "@x", "plain", "\n=d", "\t@x", "\r-1", " +1"]
    columns = {"-params": "-params", "params": "params"} | {
        f"x{at}": repr(text) for at, text in enumerate(evil)
    }
    grid = archspec.sweep("LlamaForCausalLM", {"num_hidden_layers": [1, 2]}, columns=columns)
    grid.write(str(tmp_path / "raw.csv"))
    grid.write(str(tmp_path / "safe.csv"), csv_safe=True)
    with open(tmp_path / "safe.csv", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head[:3] == ["num_hidden_layers", "'-params", "params"]
    assert (
        rows[0][3:]
        == rows[1][3:]
        == ["'=cmd()", "'+1", "'-1", "'@x", "plain", *(f"'{text}" for text in evil[5:])]
    )
    assert all(row[1] == f"-{row[2]}" for row in rows)  # numbers stay numbers
    with open(tmp_path / "raw.csv", encoding="utf-8", newline="") as file:
        assert [[row[f"x{at}"] for at in range(len(evil))] for row in csv.DictReader(file)] == [evil, evil]
    assert main(["sweep", "GPT2LMHeadModel", "--set", "n_layer=1:2", "--csv-safe"]) == 2
    assert "--csv-safe" in capsys.readouterr().err
