"""Verification of many architectures on all cores: which ones, and the report."""

from __future__ import annotations

import os
import subprocess
import time
import traceback
from collections.abc import Callable, Iterable
from typing import NamedTuple

from archspec.errors import ArchspecError, SpecError, UnknownArchitectureError, did_you_mean
from archspec.extras import optional_import
from archspec.specs.index import dependents
from archspec.specs.library import LIST_HELP, shipped_library
from archspec.verifying.blame import Difference
from archspec.verifying.pool import Failure, run_tasks
from archspec.verifying.verifier import Outcome, verify_spec

_PRELOAD = ("torch", "archspec.verifying.verifier")
Chosen = dict[str, tuple[str, ...]]  # model type -> architectures


class Result(NamedTuple):
    """An outcome and the seconds of one core that it took."""

    outcome: Outcome
    seconds: float


Done = Callable[[Result], None]  # called with each result


class Report(NamedTuple):
    """The results of a run, and all that it takes to repeat it."""

    results: tuple[Result, ...]
    samples: int
    seed: int
    seconds: float
    versions: dict[str, str]

    def count(self, verdict: str) -> int:
        """Return the number of architectures with a verdict."""
        return sum(result.outcome.verdict == verdict for result in self.results)


def run(chosen: Chosen, samples: int, seed: int, jobs: int, done: Done | None = None) -> Report:
    """Verify architectures. Errors: :class:`MissingPackageError` if torch or transformers is missing."""
    from archspec.reference import versions

    with optional_import():
        installed = versions()
    start, names = time.monotonic(), sorted(chosen.items())
    tasks = [(model_type, name, samples, seed) for model_type, found in names for name in found]
    results: dict[tuple[str, str, int, int], Result] = {}
    for task, result in run_tasks(_verify_task, tasks, jobs, _PRELOAD):
        if isinstance(result, Failure):
            result = Result(_crash_outcome(task[0], task[1], result.message), 0.0)
        results[task] = result
        if done:
            done(result)
    return Report(tuple(results[task] for task in tasks), samples, seed, time.monotonic() - start, installed)


def _verify_task(task: tuple[str, str, int, int]) -> Result:
    model_type, name, samples, seed = task
    start = time.process_time()
    try:
        outcome = verify_spec(shipped_library().load(model_type), name, samples, seed)
    except SpecError as error:
        places = tuple(str(problem.place) for problem in error.problems if problem.place)
        difference = Difference(name, {}, "spec", "", "", str(error), places)
        outcome = Outcome(name, model_type, 0, 0, (difference,))
    except Exception:  # a bug of archspec in one architecture must not hide the others
        outcome = _crash_outcome(model_type, name, traceback.format_exc(limit=-4))
    return Result(outcome, time.process_time() - start)


def _crash_outcome(model_type: str, name: str, message: str) -> Outcome:
    return Outcome(name, model_type, 0, 0, (Difference(name, {}, "crash", "", "a verdict", message),))


def all_architectures() -> Chosen:
    """Return all supported architectures."""
    found: Chosen = {}
    for model_type in shipped_library().model_types():
        try:
            spec = shipped_library().load(model_type)
        except SpecError:  # reported with the results
            found[model_type] = (model_type,)
            continue
        if spec.architectures and not spec.refuse:
            found[model_type] = spec.architectures
    return found


def named_architectures(names: Iterable[str]) -> Chosen:
    """Return the architectures of some model types, and those with some names.

    Errors: :class:`UnknownArchitectureError`.
    """
    known, index = all_architectures(), shipped_library().index()
    chosen: dict[str, dict[str, None]] = {}
    for name in names:
        pairs = [(name, architecture) for architecture in known.get(name, ())]
        pairs = pairs or [(model_type, name) for model_type in index.get(name, ())]
        if not pairs:
            message, help_ = f"{name} is only a part of other models: verify one of those", LIST_HELP
            if name not in shipped_library().model_types():
                message = f"archspec has no spec for {name!r}"
                help_ = did_you_mean(name, [*index, *known]) or LIST_HELP
            elif refusal := shipped_library().load(name).refuse:
                message = f"{name} is not supported: {refusal}"
            raise UnknownArchitectureError(message, help=help_)
        for model_type, architecture in pairs:
            chosen.setdefault(model_type, {})[architecture] = None
    return {model_type: tuple(architectures) for model_type, architectures in chosen.items()}


def changed_architectures(since: str = "HEAD") -> Chosen:
    """Return the architectures of specs that changed since a git commit, or that extend or use one.

    Errors: :class:`ArchspecError` if git fails.
    """
    files = _git(since, "diff", "--name-only", "--relative", since, "--", ".")
    files += _git(since, "ls-files", "--others", "--exclude-standard", ".")
    names = {os.path.basename(file).removesuffix(".yaml") for file in files if file.endswith(".yaml")}
    known, touched = all_architectures(), dependents(names, shipped_library().entries())
    return {model_type: known[model_type] for model_type in sorted(touched) if model_type in known}


def _git(since: str, *command: str) -> list[str]:
    """Return the lines that git prints in the directory of the specs."""
    folder = shipped_library().folder
    try:
        done = subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        detail = str(getattr(error, "stderr", "") or error).strip()
        message = f"git cannot list the changes since {since}: {detail}"
        raise ArchspecError(message, help="pass a commit, a branch or a tag of the repository") from None
    return done.stdout.splitlines()
