"""Many architectures verified on all cores: which ones, in which order, and the report of it all."""

from __future__ import annotations

import os
import subprocess
import time
import traceback
from collections.abc import Callable, Iterable
from typing import NamedTuple

from archspec.errors import ArchspecError, SpecError, UnknownArchitectureError, did_you_mean
from archspec.extras import optional
from archspec.specs.index import dependents
from archspec.specs.library import shipped
from archspec.verifying.blame import Difference
from archspec.verifying.pool import Failure, spread
from archspec.verifying.verifier import Outcome, verify

_PRELOAD = ("torch", "archspec.verifying.verifier")  # transformers itself after what stands in


class Task(NamedTuple):
    """Some architectures of one model type; one process does them all."""

    model_type: str
    architectures: tuple[str, ...]
    samples: int
    seed: int


class Result(NamedTuple):
    """An outcome and the seconds of one core that it took."""

    outcome: Outcome
    seconds: float


class Report(NamedTuple):
    """What a run found, with all that it takes to run it again."""

    results: tuple[Result, ...]
    samples: int
    seed: int
    seconds: float
    versions: dict[str, str]

    def count(self, verdict: str) -> int:
        return sum(result.outcome.verdict == verdict for result in self.results)

    def after(self, results: Iterable[Result]) -> Report:
        """The report with other results before its own."""
        before = tuple(results)
        seconds = self.seconds + sum(result.seconds for result in before)
        return self._replace(results=(*before, *self.results), seconds=seconds)


def run(
    chosen: dict[str, tuple[str, ...]],
    samples: int,
    seed: int,
    jobs: int,
    done: Callable[[list[Result]], None] | None = None,
) -> Report:
    """Verifies architectures, given by model type; ``done`` is told of each part as it comes.

    Errors: :class:`MissingPackageError` where torch or transformers is missing.
    """
    from archspec.reference import versions

    with optional():
        found = versions()
    start = time.monotonic()
    results: list[Result] = []
    tasks = [Task(model_type, names, samples, seed) for model_type, names in split(chosen, jobs)]
    for task, result in spread(_work, tasks, jobs, _PRELOAD):
        if isinstance(result, Failure):
            result = [Result(_failed(task, name, result), 0.0) for name in task.architectures]
        results += result
        if done:
            done(result)
    order = [(model_type, name) for model_type in sorted(chosen) for name in chosen[model_type]]
    rank = {pair: number for number, pair in enumerate(order)}
    results.sort(key=lambda result: rank[result.outcome.model_type, result.outcome.architecture])
    return Report(tuple(results), samples, seed, time.monotonic() - start, found)


def split(chosen: dict[str, tuple[str, ...]], jobs: int) -> list[tuple[str, tuple[str, ...]]]:
    """Parts of about equal work, the largest first: whole model types, if those are enough for the cores."""
    total = sum(map(len, chosen.values()))
    most = max(1, min(16, -(-total // (2 * max(1, jobs)))))
    parts = [
        (model_type, names[start : start + most])
        for model_type, names in chosen.items()
        for start in range(0, len(names), most)
    ]
    return sorted(parts, key=lambda part: -len(part[1]))


def _work(task: Task) -> list[Result]:
    results = []
    for name in task.architectures:
        start = time.process_time()
        try:
            outcome = verify(task.model_type, name, task.samples, task.seed)
        except SpecError as error:
            places = tuple(str(problem.place) for problem in error.problems if problem.place)
            difference = Difference(name, {}, "spec", "", "", str(error), places)
            outcome = Outcome(name, task.model_type, 0, 0, (difference,))
        except Exception:  # a bug of archspec in one architecture must not hide the others
            outcome = _failed(task, name, Failure(traceback.format_exc(limit=-4)))
        results.append(Result(outcome, time.process_time() - start))
    return results


def _failed(task: Task, name: str, failure: Failure) -> Outcome:
    difference = Difference(name, {}, "crash", "", "a verdict", failure.message)
    return Outcome(name, task.model_type, 0, 0, (difference,))


def everything() -> dict[str, tuple[str, ...]]:
    """Every architecture that the library describes, by model type."""
    found: dict[str, tuple[str, ...]] = {}
    for model_type in shipped().model_types():
        try:
            spec = shipped().load(model_type)
        except SpecError:  # told with the results, so that the others are verified all the same
            found[model_type] = (model_type,)
            continue
        if spec.architectures and not spec.refuse:
            found[model_type] = spec.architectures
    return found


def named(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The architectures of some model types, and those called by their own names.

    Errors: :class:`UnknownArchitectureError`.
    """
    known, index = everything(), shipped().index()
    chosen: dict[str, dict[str, None]] = {}
    for name in names:
        pairs = [(name, architecture) for architecture in known.get(name, ())]
        pairs = pairs or [(model_type, name) for model_type in index.get(name, ())]
        if not pairs:
            raise UnknownArchitectureError(_no_such(name), help=did_you_mean(name, [*index, *known]))
        for model_type, architecture in pairs:
            chosen.setdefault(model_type, {})[architecture] = None
    return {model_type: tuple(architectures) for model_type, architectures in chosen.items()}


def _no_such(name: str) -> str:
    if name not in shipped().model_types():
        return f"no spec describes {name!r}"
    if refusal := shipped().load(name).refuse:
        return f"{name} is not counted: {refusal}"
    return f"{name} is described as a part of other models only: verify one of those"


def changed(since: str = "HEAD") -> dict[str, tuple[str, ...]]:
    """The architectures of the specs that differ from a git commit, and of those that extend or use them.

    Errors: :class:`ArchspecError` where git does not answer.
    """
    files = _git(since, "diff", "--name-only", "--relative", since, "--", ".")
    files += _git(since, "ls-files", "--others", "--exclude-standard", ".")
    names = {os.path.basename(file).removesuffix(".yaml") for file in files if file.endswith(".yaml")}
    known, touched = everything(), dependents(names, shipped().entries())
    return {model_type: known[model_type] for model_type in sorted(touched) if model_type in known}


def _git(since: str, *command: str) -> list[str]:
    """What git prints in the specs' folder, by lines."""
    run = ["git", *command]
    try:
        done = subprocess.run(run, cwd=shipped().folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        detail = str(getattr(error, "stderr", "") or error).strip()
        raise ArchspecError(f"git does not say what has changed since {since}: {detail}") from None
    return done.stdout.splitlines()
