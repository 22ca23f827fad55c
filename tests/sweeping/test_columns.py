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
from archspec.errors import SweepError
from archspec.reports import to_text

LLAMA = "LlamaForCausalLM"
TYPES = {  # of columns
    "double": "hidden_size / num_hidden_layers; params / 1e9; hidden_size % 7.0; hidden_size * 1.0; "
    "head_dim / 2; hidden_size // 2.0; float(hidden_size); sqrt(hidden_size); log2(hidden_size); "
    "round(params / 7, 2); 2 ** -1; 1 if num_hidden_layers > 2 else 0.5; sum([hidden_size, 0.5]); "
    "sum([1, 2.5][i] for i in range(2))",
    "int64": "params // 1000; round(params / 7); ceil(hidden_size / 3); int(params / 1e6); "
    "num_key_value_heads; 2 ** num_hidden_layers; max(hidden_size, 0.5); -(hidden_size > 1000)",
    "bool": "hidden_size > 1000; not hidden_size; tie_word_embeddings; attention_bias and 1",
    "string": "hidden_act; [hidden_size, 0.5]",
    "decimal128(38, 0)": "2 ** 66",
    "null": "None",
}
KINDS = {column: kind for kind, columns in TYPES.items() for column in columns.split("; ")}
FIELDS = ("hidden_size", "num_hidden_layers", "head_dim", "num_attention_heads", "num_key_value_heads")
ATOMS = [
    *("params", "active_params", "hidden_size", "num_hidden_layers", "head_dim", "num_attention_heads"),
    *("1", "3", "7", "0.5", "1e9", "2.0", "buffers", "num_key_value_heads"),
]
REFUSED = ("negative", "38 digits", "that no float holds", "several types")  # by the writer of SQL


def evaluated(expression: str, model: archspec.Model) -> Any:
    """A column as Python has it: the spec language is a part of Python."""
    from math import ceil, floor, log2, sqrt

    names: dict[str, Any] = {"ceil": ceil, "floor": floor, "log2": log2, "sqrt": sqrt}
    names |= {name: model.count(name) for name in ("params", "active_params", "embedding_params", "buffers")}
    return eval(expression, names | {name: model.scope.get(name) for name in FIELDS})


def read_csv(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def check_files(grid: archspec.Sweep, rows: list[dict[str, Any]], folder: Path) -> None:
    """Parquet and JSON lines hold the rows."""
    for ending in ("parquet", "jsonl", "csv"):
        grid.write(str(folder / f"rows.{ending}"))
    assert pyarrow.parquet.read_table(folder / "rows.parquet").to_pylist() == rows
    lines = (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows


def test_floats_stay_floats_if_the_condition_keeps_no_sampled_point(tmp_path: Path) -> None:
    fields = ["hidden_size=1024:4096:128", "num_hidden_layers=8:64"]
    columns = {"params": "params", "aspect": "hidden_size/num_hidden_layers", "billions": "params/1e9"}
    tie, where = {"num_attention_heads": "hidden_size // 128"}, "params > 6.7e9 and params < 6.75e9"
    grid = archspec.sweep(LLAMA, fields, tie=tie, where=where or (), columns=columns)
    rows = list(grid)
    assert [row["params"] for row in rows] == [6706247296, 6739227648, 6748842240, 6738415616]
    assert [row["billions"] for row in rows] == [6.706247296, 6.739227648, 6.74884224, 6.738415616]
    assert [row["aspect"] for row in rows] == [2432 / 63, 3072 / 47, 3840 / 35, 128.0]
    check_files(grid, rows, tmp_path)
    written = [float(row["billions"]) for row in read_csv(tmp_path / "rows.csv")]
    assert written == [row["billions"] for row in rows]
    assert "6.73923" in to_text(grid.blocks())


@pytest.mark.parametrize("column", KINDS)
def test_the_type_follows_from_the_values(column: str) -> None:
    for where in (None, "hidden_size == 768"):
        fields = {"hidden_size": [512, 768, 2048], "num_hidden_layers": [1, 2, 3]}
        tie = {"num_attention_heads": "hidden_size // 128"}
        grid = archspec.sweep(LLAMA, fields, tie=tie, columns={"x": column}, where=where or ())
        assert str(grid.schema.field("x").type) == KINDS[column]


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
    """Any column over any grid and condition; the type does not depend on the order of rows."""
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
        values |= {"num_attention_heads": heads, "num_key_value_heads": heads}
        model = archspec.load(LLAMA, set=values)
        try:
            if where is None or evaluated(where, model):
                expected[point] = evaluated(column, model)
        except (ZeroDivisionError, OverflowError):
            return  # the sweep refuses it as Python does
    if any(isinstance(value, int) and abs(value) >= 10**38 for value in expected.values()):
        return
    try:
        grid = archspec.sweep(LLAMA, fields, tie=tie, columns={"x": column}, where=where or ())
        rows = list(grid)
    except SweepError as error:
        assert "that no float holds" in str(error) or "beyond 64 bits" in str(error), column
        return
    type_ = str(grid.schema.field("x").type)
    found = {(row["num_hidden_layers"], row["hidden_size"]): row["x"] for row in rows}
    if type_ == "string":  # bools and numbers together
        assert found == {point: json.dumps(value) for point, value in expected.items()}
    else:
        typed = {"double": float, "bool": bool}.get(type_, Decimal if "decimal" in type_ else int)
        assert found == expected, (column, where)
        assert all(type(value) is typed for value in found.values()), (column, where)
    if where is None:
        turned = {name: values[::-1] for name, values in fields.items()}
        again = archspec.sweep(LLAMA, turned, tie=tie, columns={"x": column})
        assert str(again.schema.field("x").type) == type_, column
    if not rows or type_.startswith("decimal"):
        return
    dtypes = {"int64": np.int64, "double": np.float64, "bool": np.bool_}
    whole = archspec.sweep(LLAMA, fields, tie=tie, columns={"x": column})
    if str(whole.schema.field("x").type) == type_:
        assert whole.array("x").dtype == dtypes.get(type_, np.object_)
    check_files(grid, rows, tmp_path)
    if type_ in ("double", "int64"):
        read = float if type_ == "double" else int
        assert [read(row["x"]) for row in read_csv(tmp_path / "rows.csv")] == [row["x"] for row in rows]
    assert grid.to_pandas()["x"].tolist() == [row["x"] for row in rows]
    assert grid.to_polars()["x"].to_list() == [row["x"] for row in rows]
    check_sql(grid, rows)


def check_sql(grid: archspec.Sweep, rows: list[dict[str, Any]]) -> None:
    """The SQL gives the same values, of the same type."""
    import duckdb

    try:
        query = grid.sql()
    except SweepError as error:
        assert any(known in str(error) for known in REFUSED), error
        return
    table = duckdb.sql(f"SELECT * FROM ({query}) ORDER BY ALL").fetchall()
    wanted = sorted(tuple(row.values()) for row in rows)
    assert table == wanted
    assert [type(row[-1]) for row in table] == [type(row[-1]) for row in wanted], query


def test_a_value_that_does_not_fit_is_an_error() -> None:
    big = {"x": "params ** 2 if num_hidden_layers > 2 else 0.5"}
    grid = archspec.sweep(LLAMA, {"num_hidden_layers": [1, 2, 3]}, columns=big)
    for read in (lambda: list(grid), lambda: grid.array("x")):
        with pytest.raises(SweepError, match="integers that no float holds"):
            read()


def test_a_value_of_a_type_that_was_not_sampled_is_an_error() -> None:
    fields = ["hidden_size=32:32000:32", "num_hidden_layers=1:300"]  # two boxes
    rare = "0.5 if hidden_size == {} * 32 and num_hidden_layers == 77 else 1"
    first, second = (archspec.sweep(LLAMA, fields, columns={"x": rare.format(n)}) for n in (78, 878))
    assert str(first.schema.field("x").type) == "double"
    grid = second
    assert str(grid.schema.field("x").type) == "int64"
    with pytest.raises(SweepError, match=r"x is of kind int, but 0.5 is one of its values"):
        list(grid)


def test_huge_integers_are_exact() -> None:
    fields, columns = {"num_hidden_layers": [1, 2, 3]}, {"x": "params ** 3"}
    grid = archspec.sweep(LLAMA, fields, columns=columns, where="params < 1")
    assert str(grid.schema.field("x").type) == "decimal128(38, 0)"
    grid = archspec.sweep(LLAMA, fields, columns=columns)
    expected = [archspec.load(LLAMA, set={"num_hidden_layers": n}).params ** 3 for n in (1, 2, 3)]
    assert [int(row["x"]) for row in grid] == expected == list(grid.array("x"))


def test_nulls_are_nulls_in_every_output(tmp_path: Path) -> None:
    import duckdb

    columns = {"x": "hidden_size / 3 if num_hidden_layers > 1 else None"}
    grid = archspec.sweep(LLAMA, {"num_hidden_layers": [1, 2]}, columns=columns)
    assert str(grid.schema.field("x").type) == "double"
    assert [row["x"] for row in grid] == [None, 4096 / 3]
    assert np.isnan(grid.array("x")[0]) and grid.array("x")[1] == 4096 / 3
    grid.write(str(tmp_path / "rows.csv"))
    assert (tmp_path / "rows.csv").read_text().splitlines()[1] == "1,"
    query = f"SELECT x FROM ({grid.sql()}) ORDER BY num_hidden_layers"
    assert duckdb.sql(query).fetchall() == [(None,), (4096 / 3,)]
