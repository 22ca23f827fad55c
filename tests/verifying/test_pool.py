"""Work goes on past tasks that end badly."""

from __future__ import annotations

import time

import crashing
import pytest

from archspec.verifying.pool import Failure, run_tasks

pytestmark = pytest.mark.reference  # pebble comes with the reference models


def test_work_goes_on_past_a_crash_an_error_and_a_hang() -> None:
    results = dict(run_tasks(crashing.work, list(range(8)), 2, timeout=6))
    assert {task: value for task, value in results.items() if task not in (1, 2, 3)} == {
        n: n * 10 for n in (0, 4, 5, 6, 7)
    }
    assert results[1] == Failure("the process died with exit code 7")
    assert results[2] == Failure("ValueError: no")
    assert results[3] == Failure("it took more than 6 s")


def test_the_rest_is_let_go_where_nobody_wants_it() -> None:
    start = time.monotonic()
    results = run_tasks(crashing.work, [0, 3, 13, 3], 2)
    assert next(results) == (0, 0)
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - start < 300  # one of the others sleeps for ten minutes
