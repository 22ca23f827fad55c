"""Many architectures verified on all cores: which ones, in which order, and the report of it all."""

from __future__ import annotations

import os
import subprocess
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from archspec.errors import ArchspecError, Problem, SpecError, UnknownArchitectureError, did_you_mean
from archspec.specs.index import dependents
from archspec.specs.library import shipped
from archspec.verify.comparison import Difference
from archspec.verify.pool import Failure, spread
from archspec.verify.verifier import Outcome, verify

_PRELOAD = ("torch", "transformers", "archspec.verify.verifier")


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

    def as_json(self) -> dict[str, Any]:
        """The whole report as JSON values."""
        return {
            **self.versions,
            "samples": self.samples,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "totals": {verdict: self.count(verdict) for verdict in ("exact", "wrong", "unavailable")},
            "architectures": [_outcome_json(result) for result in self.results],
        }


def _outcome_json(result: Result) -> dict[str, Any]:
    outcome = result.outcome
    return {
        "architecture": outcome.architecture,
        "model_type": outcome.model_type,
        "verdict": outcome.verdict,
        "compared": outcome.compared,
        "refused_by_both": outcome.refused,
        "refusals": dict(outcome.refusals),
        "unavailable": outcome.unavailable,
        "seconds": round(result.seconds, 2),
        "differences": [
            difference._asdict() | {"places": list(difference.places)} for difference in outcome.differences
        ],
    }


def run(
    chosen: dict[str, tuple[str, ...]],
    samples: int,
    seed: int,
    jobs: int,
    done: Callable[[list[Result]], None] | None = None,
) -> Report:
    """Verifies architectures, given by model type; ``done`` is told of each part as it comes.

    Errors: :class:`ArchspecError` where torch or transformers is missing.
    """
    from archspec.oracle import versions

    try:
        found = versions()
    except ImportError as error:
        raise ArchspecError(
            Problem(
                f"verify compares with transformers: {error}", help="pip install 'archspec-formulas[verify]'"
            )
        ) from None
    start = time.monotonic()
    results: list[Result] = []
    tasks = [Task(model_type, names, samples, seed) for model_type, names in split(chosen, jobs)]
    for task, result in spread(_work, tasks, jobs, _PRELOAD):
        part = (
            [Result(_failed(task, name, result), 0.0) for name in task.architectures]
            if isinstance(result, Failure)
            else result
        )
        results += part
        if done:
            done(part)
    results.sort(
        key=lambda result: (
            result.outcome.model_type,
            chosen[result.outcome.model_type].index(result.outcome.architecture),
        )
    )
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
    known = everything()
    chosen: dict[str, list[str]] = {}
    for name in names:
        pairs = [(name, architecture) for architecture in known[name]] if name in known else []
        pairs = pairs or [(model_type, name) for model_type in shipped().index().get(name, ())]
        if not pairs:
            refusal = shipped().load(name).refuse if name in shipped().model_types() else ""
            message = f"{name} is not counted: {refusal}" if refusal else f"no spec describes {name!r}"
            if not refusal and name in shipped().model_types():
                message = f"{name} is described as a part of other models only: verify one of those"
            raise UnknownArchitectureError(
                Problem(message, help=did_you_mean(name, [*shipped().index(), *known]))
            )
        for model_type, architecture in pairs:
            if architecture not in chosen.setdefault(model_type, []):
                chosen[model_type].append(architecture)
    return {model_type: tuple(architectures) for model_type, architectures in chosen.items()}


def changed(since: str = "HEAD") -> dict[str, tuple[str, ...]]:
    """The architectures of the specs that differ from a git commit, and of those that extend or use them.

    Errors: :class:`ArchspecError` where git does not answer.
    """
    specs = shipped().folder
    lines: list[str] = []
    for command in (
        ["diff", "--name-only", "--relative", since, "--", "."],
        ["ls-files", "--others", "--exclude-standard", "."],
    ):
        try:
            lines += subprocess.run(
                ["git", *command], cwd=specs, capture_output=True, text=True, check=True
            ).stdout.splitlines()
        except (OSError, subprocess.CalledProcessError) as error:
            detail = getattr(error, "stderr", "") or error
            raise ArchspecError(
                f"git does not say what has changed since {since}: {str(detail).strip()}"
            ) from None
    names = {os.path.basename(line).removesuffix(".yaml") for line in lines if line.endswith(".yaml")}
    known = everything()
    return {
        model_type: known[model_type]
        for model_type in sorted(dependents(names, shipped().entries()))
        if model_type in known
    }
