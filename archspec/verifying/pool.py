"""Work spread over processes that outlive a crash: one process a core, one task at a time each."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from typing import Any, NamedTuple

Work = Callable[[Any], Any]


class Failure(NamedTuple):
    """The reason that a task failed: its process died, took too long, or raised an error."""

    message: str


def available_cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_tasks(
    work: Work, tasks: Sequence[Any], jobs: int, preload: Sequence[str] = (), timeout: float = 300.0
) -> Iterator[tuple[Any, Any]]:
    """Yield each task with its result, or its :class:`Failure`, as it is done.

    ``work`` and the tasks must be picklable. ``preload`` names modules to import once for all processes, if
    the system can fork from a server. With one job, the work is done in this process.
    """
    if jobs <= 1 or len(tasks) <= 1:
        yield from ((task, _run_guarded(work, task)) for task in tasks)
        return
    from pebble import ProcessPool

    futures: dict[Future[Any], Any] = {}
    with ProcessPool(min(jobs, len(tasks)), initializer=_prepare, context=_context(preload)) as pool:
        try:
            futures |= {pool.schedule(_run_guarded, [work, task], timeout=timeout): task for task in tasks}
            for future in as_completed(futures):
                yield futures[future], _result(future, timeout)
        finally:  # if the caller stops early
            for future in futures:
                future.cancel()


def _context(preload: Sequence[str]) -> Any:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*preload])
    return context


def _prepare() -> None:
    gc.freeze()  # imports stay: looking through them for garbage took a tenth of the time
    gc.set_threshold(10_000)


def _run_guarded(work: Work, task: Any) -> Any:
    try:
        return work(task)
    except Exception as error:  # one task that fails must not end the others
        return Failure(f"{type(error).__name__}: {error}")


def _result(future: Future[Any], timeout: float) -> Any:
    from pebble import ProcessExpired

    try:
        return future.result()
    except TimeoutError:
        return Failure(f"it took more than {timeout:.0f} s")
    except ProcessExpired as error:
        return Failure(f"the process died with exit code {error.exitcode}")
    except Exception as error:  # a result that cannot be sent
        return Failure(f"{type(error).__name__}: {error}")
