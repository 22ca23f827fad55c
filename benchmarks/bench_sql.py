"""A sweep of 10^8 points as a query that DuckDB and Spark write to partitioned Parquet.

    python benchmarks/bench_sql.py [--points N] [--memory 4g]

prints for the sweep, for DuckDB and for Spark (local, on all cores) how long writing takes and how large
the files are, and fails if the number of rows or the sum of the parameters differs in any partition.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import duckdb

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

import archspec  # noqa: E402

BY = "num_hidden_layers"
Sums = list[tuple[int, int, int]]


def grid_of(points: int) -> archspec.Sweep:
    width = round(points / (64 * 100))
    fields = {"hidden_size": range(256, 256 + 64 * 64, 64), BY: range(1, 101)}
    fields["intermediate_size"] = range(8, 8 * width + 1, 8)
    return archspec.sweep("LlamaForCausalLM", fields, columns=["params", "bytes"])


def own(grid: archspec.Sweep, path: str) -> None:
    grid.write(f"{path}.parquet", yes=True)


def of_duckdb(grid: archspec.Sweep, path: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({grid.sql()}) TO '{path}' (FORMAT parquet, PARTITION_BY ({BY}))")


def of_spark(session: Any) -> Callable[[archspec.Sweep, str], None]:
    def write(grid: archspec.Sweep, path: str) -> None:
        session.sql(grid.sql("spark")).write.partitionBy(BY).parquet(path)

    return write


def sums(source: str) -> Sums:
    """The number of rows of each partition, and the sum of their parameters."""
    query = f"SELECT {BY}, count(*), sum(params) FROM read_parquet('{source}') GROUP BY 1 ORDER BY 1"
    return [(int(depth), int(rows), int(total)) for depth, rows, total in duckdb.sql(query).fetchall()]


def size(path: str) -> int:
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(path) for name in names)


def spark_session(memory: str) -> Any:
    from pyspark.sql import SparkSession

    settings = {"spark.driver.memory": memory, "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
    settings["spark.sql.maxConcurrentOutputFileWriters"] = "100"  # a file for each partition, and no sorting
    return SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=10**8)
    parser.add_argument("--memory", default="4g")
    args = parser.parse_args()
    grid = grid_of(args.points)
    session = spark_session(args.memory)
    session.sparkContext.setLogLevel("OFF")
    writers = {"sweep": own, "DuckDB": of_duckdb, "Spark": of_spark(session)}
    wanted: Sums = []
    with tempfile.TemporaryDirectory() as folder:
        for name, write in writers.items():
            path = os.path.join(folder, name)
            start = time.perf_counter()
            write(grid, path)
            seconds = time.perf_counter() - start
            file = f"{path}.parquet"
            found = sums(file if os.path.exists(file) else f"{path}/*/*.parquet")
            wanted = wanted or found
            rows, held = sum(count for _, count, _ in found), size(file if os.path.exists(file) else path)
            parts = f"{rows:13,} rows in {len(found)} parts"
            print(f"{name:8} {parts}: {seconds:7.1f} s, {held / 2**20:8.1f} MiB", flush=True)
            assert found == wanted and rows == grid.points


if __name__ == "__main__":
    main()
