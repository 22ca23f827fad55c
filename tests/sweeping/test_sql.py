"""A sweep's query has the rows of the sweep, in DuckDB and in Spark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import archspec

LLAMA, TIE = "LlamaForCausalLM", {"intermediate_size": "int(8 * hidden_size / 3)"}
BOUNDED = {"few": "min(params, 10**7, 9 * hidden_size)", "many": "max(hidden_size, 300)"}
ROUNDED, KEPT = (
    "round(params / 7),(hidden_size - 200) // 3",
    {"columns": "active_params", "where": "params < 4e10"},
)
SQL: list[tuple[str, dict[str, Any]]] = [  # a class with its fields, and other options
    (f"{LLAMA} hidden_size=2048:4096:1024,num_hidden_layers=16,32", {"tie": TIE}),
    (
        f"{LLAMA} hidden_size=100:4096:7,num_attention_heads=0:8",
        {"columns": "params,head_dim,hidden_size / 7"},
    ),
    ("T5ForConditionalGeneration num_layers=1:6,d_model=64:512:64,feed_forward_proj=relu,gated-gelu", {}),
    ("JambaForCausalLM num_hidden_layers=2:20,attn_layer_offset=0:7,expert_layer_period=1:3", {}),
    (f"{LLAMA} hidden_size=64:640:64,num_hidden_layers=1:4", {"columns": BOUNDED}),
    ("Exaone4ForCausalLM num_hidden_layers=2:20,hidden_size=64:256:64", {"columns": "params,layer_types"}),
    ("MixtralForCausalLM num_local_experts=1:16,num_experts_per_tok=1:20", KEPT),
    ("BertModel hidden_size=600000000:1200000000:300000000,num_hidden_layers=6,12", {"wide": True}),
    ("GPT2LMHeadModel n_embd=120:240:12,tie_word_embeddings=true,false", {"columns": "params,n_head"}),
    (f"{LLAMA} hidden_size=64:640:64,head_dim=null,32,64", {"columns": ROUNDED}),
]


def plain(rows: list[dict[str, Any]]) -> list[tuple[tuple[str, Any], ...]]:
    def exact(value: Any) -> Any:
        return value if value is None or isinstance(value, str | float | bool) else int(value)

    return sorted((tuple((name, exact(value)) for name, value in row.items()) for row in rows), key=str)


@pytest.mark.parametrize(("model", "options"), SQL)
def test_the_query_gives_the_rows(model: str, options: dict[str, Any]) -> None:
    import duckdb

    grid = archspec.sweep(*model.split(), **options)
    wanted = plain(list(grid.rows()))
    assert plain(duckdb.sql(grid.sql()).to_arrow_table().to_pylist()) == wanted and wanted


KNOWN = {1: (4096, 32, False), 2: (4096, 32, True), 3: (2112, 7, False)}
ROWS = (
    "(4096.0, 32, false, 1), (4096.0, 32, true, 2), (2112.0, 7, false, 3), (4097.0, 32, false, 4), "
    "(8192.0, 32, false, 5), (4096.5, 32, false, 6), (NULL, 32, false, 7), (4096.0, 49, false, 8), "
    "(4096.0, 32, NULL, 9), (1e300, 32, false, 10)"
)
SHAPES = f"(SELECT * FROM (VALUES {ROWS}) AS v(hidden_size, num_hidden_layers, tie_word_embeddings, id))"


def over_a_table() -> tuple[archspec.Sweep, dict[int, int | None]]:
    """A sweep, and the expected result of its query for each row of a table, by id."""
    fields = ["hidden_size=64:4096:64", "num_hidden_layers=1:48", "tie_word_embeddings=true,false"]
    grid = archspec.sweep(LLAMA, fields)
    wanted: dict[int, int | None] = dict.fromkeys(range(1, 11))
    for key, row in KNOWN.items():
        point = dict(zip((axis.name for axis in grid.subject.axes), row, strict=True))
        wanted[key] = archspec.load(LLAMA, set=point).params
    return grid, wanted


def test_the_query_over_a_table_is_null_for_other_rows() -> None:
    import duckdb

    grid, wanted = over_a_table()
    with duckdb.connect() as own:  # the default connection is shared
        assert dict(own.sql(f"SELECT id, params FROM ({grid.sql(table=SHAPES)})").fetchall()) == wanted


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"], ids=["ansi", "lenient"])
def test_the_query_of_spark_over_a_table(spark: Any, ansi: str) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    grid, wanted = over_a_table()
    found = spark.sql(f"SELECT id, params FROM ({grid.sql('spark', SHAPES)})").collect()
    assert {row["id"]: row["params"] for row in found} == wanted


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"], ids=["ansi", "lenient"])
def test_spark_gives_the_rows(spark: Any, ansi: str) -> None:
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    for model, options in SQL if ansi == "true" else SQL[1::4]:
        grid = archspec.sweep(*model.split(), **options)
        found = plain([row.asDict() for row in spark.sql(grid.sql("spark")).collect()])
        assert found == plain(list(grid.rows())), model


PARTITIONED = archspec.sweep(LLAMA, ["hidden_size=64:2048:32", "num_hidden_layers=1:8"])


def test_duckdb_writes_a_partitioned_sweep(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect() as connection:
        to = f"'{tmp_path}/shapes' (FORMAT parquet, PARTITION_BY (num_hidden_layers))"
        connection.execute(f"COPY ({PARTITIONED.sql()}) TO {to}")
    assert folders(tmp_path / "shapes") == written(PARTITIONED)


@pytest.mark.spark
def test_spark_shares_out_a_sweep_and_writes_it_partitioned(spark: Any, tmp_path: Path) -> None:
    found = spark.sql(PARTITIONED.sql("spark"))
    assert found.rdd.getNumPartitions() == spark.sparkContext.defaultParallelism > 1
    found.write.partitionBy("num_hidden_layers").parquet(str(tmp_path / "shapes"))
    assert folders(tmp_path / "shapes") == written(PARTITIONED)


def written(grid: archspec.Sweep) -> dict[int, list[tuple[int, int]]]:
    """The widths and sizes of each depth."""
    found: dict[int, list[tuple[int, int]]] = {}
    for row in grid:
        found.setdefault(row["num_hidden_layers"], []).append((row["hidden_size"], row["params"]))
    return found


def folders(folder: Path) -> dict[int, list[tuple[int, int]]]:
    """The same from the Parquet files of a folder for each depth."""
    import pyarrow.parquet as pq

    found: dict[int, list[tuple[int, int]]] = {}
    for depth in folder.glob("num_hidden_layers=*"):
        files = [pq.ParquetFile(path).read().to_pylist() for path in depth.glob("*.parquet")]
        rows = [(row["hidden_size"], row["params"]) for rows in files for row in rows]
        found[int(depth.name.partition("=")[2])] = sorted(rows)
    return found


@pytest.mark.spark
def test_the_job_of_the_docs_runs(spark: Any, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "sweep.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (job,) = (block for block in blocks if "SparkSession" in block)
    names: dict[str, Any] = {}
    exec(job.replace('"shapes")', f'"{tmp_path}/shapes")'), names)
    assert spark.read.parquet(f"{tmp_path}/shapes").count() == len(names["grid"]) > 1000
    assert len(list((tmp_path / "shapes").glob("num_hidden_layers=*"))) == 8
