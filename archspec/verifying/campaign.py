"""Verification of many architectures on all cores, and its report."""

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

_PRELOAD = ("torch", "archspec.verifying.verifier")  # transformers is imported after its stand-ins


class Task(NamedTuple):
    """Some architectures of one model type, for one process."""

    model_type: str
    architectures: tuple[str, ...]
    samples: int
    seed: int


class Result(NamedTuple):
    """An outcome, and its time in seconds of one core."""

    outcome: Outcome
    seconds: float


class Report(NamedTuple):
    """The results of a run, and the inputs to repeat it."""

    results: tuple[Result, ...]
    samples: int
    seed: int
    seconds: float
    versions: dict[str, str]

    def count(self, verdict: str) -> int:
        return sum(result.outcome.verdict == verdict for result in self.results)

    def preceded_by(self, results: Iterable[Result]) -> Report:
        """Return the report with other results before these."""
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
    """Verify architectures, given by model type; ``done`` is called with each part of the results.

    Errors: :class:`MissingPackageError` if torch or transformers is missing.
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
    """Split the work into parts of about equal size, largest first; model types stay whole if possible."""
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


def all_architectures() -> dict[str, tuple[str, ...]]:
    """Return every supported architecture, by model type."""
    found: dict[str, tuple[str, ...]] = {}
    for model_type in shipped().model_types():
        try:
            spec = shipped().load(model_type)
        except SpecError:  # reported with the results, so that the others are verified
            found[model_type] = (model_type,)
            continue
        if spec.architectures and not spec.refuse:
            found[model_type] = spec.architectures
    return found


def named_architectures(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the architectures of some model types or with some names, by model type.

    Errors: :class:`UnknownArchitectureError`.
    """
    known, index = all_architectures(), shipped().index()
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
        return f"there is no spec for {name!r}"
    if refusal := shipped().load(name).refuse:
        return f"{name} is not counted: {refusal}"
    return f"{name} is only a part of other models: verify one of those"


def changed_architectures(since: str = "HEAD") -> dict[str, tuple[str, ...]]:
    """Return the architectures of specs that differ from a git commit, and of specs that extend or use them.

    Errors: :class:`ArchspecError` if git fails.
    """
    files = _git(since, "diff", "--name-only", "--relative", since, "--", ".")
    files += _git(since, "ls-files", "--others", "--exclude-standard", ".")
    names = {os.path.basename(file).removesuffix(".yaml") for file in files if file.endswith(".yaml")}
    known, touched = all_architectures(), dependents(names, shipped().entries())
    return {model_type: known[model_type] for model_type in sorted(touched) if model_type in known}


def _git(since: str, *command: str) -> list[str]:
    """Return the lines that git prints in the specs' directory."""
    run = ["git", *command]
    try:
        done = subprocess.run(run, cwd=shipped().folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        detail = str(getattr(error, "stderr", "") or error).strip()
        raise ArchspecError(f"git cannot list the changes since {since}: {detail}") from None
    return done.stdout.splitlines()
