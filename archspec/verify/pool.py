"""Work spread over processes that outlive a crash: one process a core, one task at a time each."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

TIMEOUT = 300.0
_READY = "ready"


class Failure(NamedTuple):
    """Why a task has no result: its process died, took too long, or raised."""

    message: str


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(
    work: Callable[[Any], Any],
    tasks: Sequence[Any],
    jobs: int,
    preload: Sequence[str] = (),
    timeout: float = TIMEOUT,
) -> Iterator[tuple[Any, Any]]:
    """(task, result) as each is done; the result is a :class:`Failure` where there is none.

    ``work`` and the tasks must be picklable. ``preload`` names modules to import once for all processes,
    where the system can fork from a server. With one job nothing is started: the work is done here.
    """
    if jobs <= 1 or len(tasks) <= 1:
        for task in tasks:
            yield task, _guarded(work, task)
        return
    context: Any = multiprocessing.get_context(
        "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    )
    if preload and hasattr(context, "set_forkserver_preload"):
        context.set_forkserver_preload(list(preload))
    waiting = deque(tasks)
    workers: list[_Worker] = []
    try:
        workers += [_Worker(context, work) for _ in range(min(jobs, len(tasks)))]
        for worker in workers:
            worker.give(waiting.popleft())
        while busy := [worker for worker in workers if worker.task is not None]:
            wait([worker.pipe for worker in busy], timeout=1.0)
            for worker in busy:
                result = worker.result(timeout)
                if result is None:
                    continue
                task, worker.task = worker.task, None
                if isinstance(result, Failure) and not worker.process.is_alive():
                    workers[workers.index(worker)] = worker = _Worker(context, work)
                if waiting:
                    worker.give(waiting.popleft())
                yield task, result
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process and the task that it has."""

    def __init__(self, context: Any, work: Callable[[Any], Any]) -> None:
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, work), daemon=True)
        self.process.start()
        other.close()
        self.task: Any = None
        self.since: float | None = None  # when the task was begun; None while the process is starting
        self.ready = False

    def give(self, task: Any) -> None:
        self.task, self.since = task, time.monotonic() if self.ready else None
        self.pipe.send(task)

    def result(self, timeout: float) -> Any:
        """The result, a failure, or None while there is none."""
        try:
            if self.pipe.poll():
                answer = self.pipe.recv()
                if answer != _READY:
                    return answer
                self.ready, self.since = True, time.monotonic()
        except (EOFError, OSError):
            self.process.join(5)
            return Failure(f"the process died with exit code {self.process.exitcode}")
        if self.since is not None and time.monotonic() - self.since > timeout:
            self.stop()
            return Failure(f"it took more than {timeout:.0f} s")
        return None

    def stop(self) -> None:
        self.process.terminate()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    gc.freeze()  # what is imported stays: looking through it for garbage took a tenth of the time
    gc.set_threshold(10_000)
    pipe.send(_READY)
    while True:
        try:
            task = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            pipe.send(_guarded(work, task))
        except KeyboardInterrupt:
            return


def _guarded(work: Callable[[Any], Any], task: Any) -> Any:
    try:
        return work(task)
    except Exception as error:  # one task that fails must not end the others
        return Failure(f"{type(error).__name__}: {error}")
