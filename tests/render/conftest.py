"""A connection to DuckDB."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from native import Query


@pytest.fixture
def query() -> Iterator[Query]:
    import duckdb

    with duckdb.connect() as connection:
        yield lambda text: connection.execute(text).fetchone()[0]
