"""Which classes' costs are exact: formulas/costs.json, which a count of costs reads, and how it is written.

A model type has one line: a digest of its spec files, the classes that met the instrument at every point, and
for each of the others the first module that differs, or why it could not be measured; `training` are those of
the exact classes whose gradients met it, too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from archspec.language.yaml_reader import Mapping, parse
from archspec.specs.files import CONTRACTIONS, read
from archspec.specs.index import plain, whole_digests
from archspec.specs.library import COSTS, shipped
from archspec.verifying.costs.comparison import CostOutcome, configs
from archspec.verifying.costs.held import CHECKS, working_set_held
from archspec.verifying.costs.training import verify_with_training
from archspec.verifying.pool import Failure, spread

HOW = "archspec verify --costs --coverage"
SCOPE = (
    *(
        "AutoModelForCausalLM",
        "AutoModelForMaskedLM",
        "AutoModelForSeq2SeqLM",
        "AutoModelForQuestionAnswering",
    ),
    *("AutoModelForSequenceClassification", "AutoModelForTokenClassification"),
)
_PRELOAD = ("torch", "archspec.verifying.costs.training")
_TIMEOUT = 600.0
_UNDESCRIBED = re.compile(r"(?P<line>\S+:\d+):\d+: .*undescribed is described.*\(in (?P<module>\w+)\.ops\)")
_LONGEST_GAP = 200  # letters
_AT_ONCE = 24  # model types, between two times that the record is written

Chosen = dict[str, tuple[str, ...]]  # model type -> classes
Done = Callable[[list[CostOutcome]], None]


class Task(NamedTuple):
    """A class to verify."""

    model_type: str
    architecture: str
    samples: int
    seed: int


class Line(NamedTuple):
    """What is recorded of a model type: the exact classes, and what is wrong with the others.

    ``activations`` are the classes whose kept activations are exact, by the kind of training.
    ``masked``, ``static`` and ``working_set`` are the exact classes of which that is held, too.
    """

    digest: str
    exact: tuple[str, ...]
    gaps: dict[str, str]
    activations: dict[str, list[str]] = {}  # noqa: RUF012  # never changed
    training: tuple[str, ...] | None = None  # not held to it
    masked: tuple[str, ...] | None = None
    static: tuple[str, ...] | None = None
    working_set: tuple[str, ...] | None = None


def in_scope() -> Chosen:
    """The classes of text that specs describe: those of the auto classes in SCOPE, and their base models."""
    from archspec.reference import mapped

    now, known = mapped(), shipped().index()
    types = {model_type for (model_type, _), autos in now.items() if {*autos} & {*SCOPE}}
    found: Chosen = {}
    for (model_type, architecture), autos in now.items():
        text = {*autos} & {*SCOPE, "AutoModel"} and model_type in types
        if text and model_type in known.get(architecture, ()):
            found[model_type] = (*found.get(model_type, ()), architecture)
    return found


def run(chosen: Chosen, samples: int, seed: int, jobs: int, done: Done | None = None) -> list[CostOutcome]:
    """Verifies the costs of some classes; ``done`` is told of each as it comes."""
    tasks = [Task(model_type, name, samples, seed) for model_type, names in chosen.items() for name in names]
    outcomes = []
    for task, result in spread(_work, tasks, jobs, _PRELOAD, _TIMEOUT):
        if isinstance(result, Failure):
            result = CostOutcome(task.architecture, task.model_type, 0, (), result.message)
        outcomes.append(result)
        if done:
            done([result])
    return sorted(outcomes, key=lambda outcome: (outcome.model_type, outcome.architecture))


def _work(task: Task) -> CostOutcome:
    spec = shipped().load(task.model_type)
    return verify_with_training(spec, task.architecture, task.samples, task.seed)


def recorded() -> dict[str, Line]:
    """What formulas/costs.json says; empty where there is none."""
    try:
        with open(_path(), encoding="utf-8") as file:
            types = json.load(file)["types"]
    except FileNotFoundError:
        return {}
    return {name: _line(**line) for name, line in types.items()}


def _line(
    digest: str,
    exact: list[str],
    gaps: dict[str, str],
    activations: dict[str, list[str]] | None = None,
    **lists: list[str],
) -> Line:
    """A line of the file; one without `training` or what else is held was not held to it."""
    found = {name: tuple(names) for name, names in lists.items()}
    return Line(digest, tuple(exact), gaps, activations or {}, **found)


def stale() -> Chosen:
    """The classes whose record is missing, or of other spec files."""
    digests, before = _digests(), recorded()
    found = {}
    for model_type, names in in_scope().items():
        line = before.get(model_type, Line("", (), {}))
        held = None not in (line.training, line.masked, line.static)
        old = line.digest == digests[model_type] and held
        if missing := tuple(name for name in names if not old or name not in (*line.exact, *line.gaps)):
            found[model_type] = missing
    return found


def update(samples: int, seed: int, jobs: int, done: Done | None = None, everything: bool = False) -> int:
    """Verifies what is stale, or everything, and writes the record; gives how many classes have a gap.

    It is written every few types: what is interrupted goes on from there.
    """
    digests, wanted, before = _digests(), in_scope(), recorded()
    chosen = wanted if everything else stale()
    lines = {name: line for name, line in before.items() if name in wanted}
    names = sorted(chosen)
    for start in range(0, len(names), _AT_ONCE):
        some = {name: wanted[name] for name in names[start : start + _AT_ONCE]}
        found = run(some, samples, seed, jobs, done)
        for model_type in some:
            own = [outcome for outcome in found if outcome.model_type == model_type]
            lines[model_type] = line_of(digests[model_type], own)
        write(samples, seed, lines)
    lines = {name: _with_working_sets(name, line, samples, seed) for name, line in lines.items()}
    write(samples, seed, lines)
    return sum(len(line.gaps) for line in lines.values())


def _with_working_sets(model_type: str, line: Line, samples: int, seed: int) -> Line:
    """A line that says which of its exact classes' working sets are held: a matter of seconds."""
    if line.working_set is not None:
        return line
    spec = shipped().load(model_type)
    agreed = (
        one
        for one in line.exact
        if working_set_held(spec, one, islice(configs(spec, one, samples, seed), 1, samples + 3))
    )
    return line._replace(working_set=tuple(agreed))


def _activations(outcomes: list[CostOutcome]) -> dict[str, list[str]]:
    """The classes whose activations are exact, by the kind of training."""
    found: dict[str, list[str]] = {}
    for outcome in outcomes:
        for kind, result in outcome.activations.items():
            if result.exact:
                found.setdefault(kind, []).append(outcome.architecture)
    return found


def line_of(digest: str, outcomes: list[CostOutcome]) -> Line:
    """What is recorded of a model type's classes."""
    exact = [outcome for outcome in outcomes if outcome.verdict == "exact"]
    gaps = {outcome.architecture: gap(outcome) for outcome in outcomes if outcome.verdict != "exact"}
    trained = [one for one in exact if one.training and one.training.verdict == "exact"]
    further = ([one for one in exact if name in one.held] for name in (*CHECKS, "working_set"))
    lists = map(_names, (trained, *further))
    return Line(digest, _names(exact), gaps, _activations(outcomes), *lists)


def _names(outcomes: list[CostOutcome]) -> tuple[str, ...]:
    return tuple(outcome.architecture for outcome in outcomes)


def gap(outcome: CostOutcome) -> str:
    """Why the costs of a class are not given, in a few words."""
    if not outcome.differences:
        why = outcome.unavailable.partition("\n")[0]
        if place := _UNDESCRIBED.match(why):
            return f"not described: {place['module']}'s products ({place['line']})"
        return f"transformers' code does not run here, on shapes alone: {why}"[:_LONGEST_GAP]
    first = outcome.differences[0]
    return f"{first.kind} of {first.name or 'the model'}"


def write(samples: int, seed: int, lines: dict[str, Line]) -> None:
    """Writes formulas/costs.json, a line a model type."""
    from archspec.reference import versions

    head = json.dumps({**versions(), "samples": samples, "seed": seed})
    rows = ",\n".join(f"{json.dumps(name)}: {_row(lines[name])}" for name in sorted(lines))
    with open(_path(), "w", encoding="utf-8") as file:
        file.write(f'{head[:-1]}, "types": {{\n{rows}\n}}}}\n')


def _row(line: Line) -> str:
    """A line as it is written, without what it has nothing of."""
    found = {**line._asdict(), "activations": line.activations or None}
    return json.dumps({name: value for name, value in found.items() if value is not None})


def _path() -> str:
    return os.path.join(shipped().folder, COSTS)


def _digests() -> dict[str, str]:
    """A digest of every model type's spec files and of the contractions that they name."""
    library = shipped()
    source, document = read(os.path.join(library.folder, CONTRACTIONS))
    root = document or parse(source)
    assert isinstance(root, Mapping)
    texts = {key.partition("(")[0]: f"{key}: {plain(node)}" for key, node in root.items.items()}
    return whole_digests(library.entries(), library.files(), texts)
