"""formulas/costs.json: the classes with exact costs, by model type.

A line has a digest of the spec files, the classes that agree at every point, and the reason for each of the
others: the first module that differs, or why it could not be measured.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from archspec.language import yaml_reader
from archspec.specs.files import CONTRACTIONS, read
from archspec.specs.index import plain_data, whole_digests
from archspec.specs.library import COSTS, shipped_library
from archspec.verifying.campaign import Chosen
from archspec.verifying.costs.instruments import Comparison
from archspec.verifying.costs.media import takes_media
from archspec.verifying.costs.verify import FURTHER, CostOutcome, verify_costs
from archspec.verifying.pool import Failure, run_tasks

HOW = "archspec verify --costs --coverage"
PENDING = "its costs were not validated yet"  # the gap of a class that no run has reached
SCOPE = {
    *("AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoModelForSeq2SeqLM"),
    *("AutoModelForQuestionAnswering", "AutoModelForSequenceClassification"),
    "AutoModelForTokenClassification",
}
_INPUTS = {"input_ids"}
_PRELOAD = ("torch", "archspec.verifying.costs.verify")
_TIMEOUT = 600.0  # seconds
_UNDESCRIBED = re.compile(
    r"(?P<line>\S+:\d+):\d+: .*undescribed is .*\(in (?P<module>\w+)\.ops\)(\n[^#\n]*# (?P<comment>[^\n]+))?"
)
_RAISED = re.compile(r"\w+(Error|Exception)\b")
_TENSORS = "shape|size|to|type|dtype|unsqueeze|transpose|sum|device"  # attributes of an input that is missing
_MISSING = re.compile(
    rf"missing \d+ required positional|'NoneType' object has no attribute '({_TENSORS})'|not NoneType"
    r"|(have to|must) specify|Exactly 1 of|Provide exactly one|(cannot|should not) be `?None|are `None`"
)
_LONGEST_GAP = 200  # characters
_BATCH = 24  # model types between two writes of the file

Done = Callable[[CostOutcome], None]


class Line(NamedTuple):
    """The exact classes of a model type, by quantity, and the reason for each of the others."""

    digest: str
    exact: tuple[str, ...]
    gaps: dict[str, str]
    activations: Mapping[str, list[str]] = {}  # by kind of training
    training: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    working_set: tuple[str, ...] = ()
    media_training: tuple[str, ...] = ()
    text: tuple[str, ...] = ()  # classes that agree without images, videos and audio only
    without: Mapping[str, list[str]] = {}  # by class, the modalities that could not be measured


def in_scope() -> Chosen:
    """Return the supported classes that take token ids, or that an auto class of SCOPE lists."""
    from archspec.reference import auto_classes, model_class
    from archspec.reference.contents import parameters_of

    autos, found = auto_classes(), dict[str, tuple[str, ...]]()
    for architecture, types in shipped_library().index().items():
        for model_type in types:
            listed = SCOPE.intersection(autos.get((model_type, architecture), ()))
            cls = model_class(architecture, model_type)
            if listed or _INPUTS & parameters_of(cls) or takes_media(architecture, model_type):
                found[model_type] = (*found.get(model_type, ()), architecture)
    return found


def run(chosen: Chosen, samples: int, seed: int, jobs: int, done: Done | None = None) -> list[CostOutcome]:
    """Verify the costs of classes; ``done`` is called with each outcome."""
    tasks = [(model_type, name, samples, seed) for model_type, names in chosen.items() for name in names]
    outcomes = []
    for task, result in run_tasks(_verify_task, tasks, jobs, _PRELOAD, _TIMEOUT):
        if isinstance(result, Failure):
            result = CostOutcome(task[1], task[0], Comparison(unavailable=result.message))
        outcomes.append(result)
        if done:
            done(result)
    return sorted(outcomes, key=lambda outcome: (outcome.model_type, outcome.architecture))


def _verify_task(task: tuple[str, str, int, int]) -> CostOutcome:
    model_type, name, samples, seed = task
    return verify_costs(shipped_library().load(model_type), name, samples, seed)


def read_record() -> dict[str, Line]:
    """Return the lines of formulas/costs.json; empty without the file."""
    try:
        with open(_path(), encoding="utf-8") as file:
            types = json.load(file)["types"]
    except FileNotFoundError:
        return {}
    lines = {}
    for name, line in types.items():
        values: dict[str, Any] = {
            key: tuple(one) if isinstance(one, list) else one for key, one in line.items()
        }
        lines[name] = Line(**values)
    return lines


def stale_classes() -> Chosen:
    """Return the classes without a record, or with one of other spec files."""
    digests, before = _digests(), read_record()
    found = {}
    for model_type, names in in_scope().items():
        line = before.get(model_type)
        known = (*line.exact, *line.gaps) if line and line.digest == digests[model_type] else ()
        if missing := tuple(name for name in names if name not in known):
            found[model_type] = missing
    return found


def unverified_classes() -> Chosen:
    """Return the stale classes, and those that an interrupted run did not reach."""
    found = stale_classes()
    for model_type, line in read_record().items():
        pending = [name for name, why in line.gaps.items() if why == PENDING]
        if pending:
            found[model_type] = tuple(dict.fromkeys((*found.get(model_type, ()), *pending)))
    return found


def update(samples: int, seed: int, jobs: int, done: Done | None = None, everything: bool = False) -> int:
    """Verify the types of unverified classes, or everything, and write the record; return the number of gaps.

    The file is written every few model types, so that an interrupted run can be continued.
    """
    digests, wanted = _digests(), in_scope()
    lines = {name: line for name, line in read_record().items() if name in wanted}
    names = sorted(wanted if everything else wanted.keys() & unverified_classes().keys())
    for start in range(0, max(1, len(names)), _BATCH):
        batch = {name: wanted[name] for name in names[start : start + _BATCH]}
        found = run(batch, samples, seed, jobs, done)
        for model_type in batch:
            own = [outcome for outcome in found if outcome.model_type == model_type]
            lines[model_type] = line_of(digests[model_type], own)
        write(samples, seed, lines)
    return sum(len(line.gaps) for line in lines.values())


def line_of(digest: str, outcomes: list[CostOutcome]) -> Line:
    """Return the record of a model type's classes."""
    exact = [one for one in outcomes if one.verdict == "exact"]
    activations: dict[str, list[str]] = {}
    for outcome in outcomes:
        for kind, result in outcome.activations.items():
            if result.verdict == "exact":
                activations.setdefault(kind, []).append(outcome.architecture)
    line = Line(
        digest,
        tuple(one.architecture for one in exact),
        {one.architecture: gap(one) for one in outcomes if one.verdict != "exact"},
        activations,
        tuple(one.architecture for one in exact if one.training and one.training.verdict == "exact"),
    )
    further: dict[str, Any] = {
        name: tuple(one.architecture for one in exact if name in one.further) for name in FURTHER
    }
    return line._replace(
        **further,
        text=tuple(one.architecture for one in outcomes if one.verdict != "exact" and one.text),
        without={one.architecture: [*one.without] for one in exact if one.without},
    )


def gap(outcome: CostOutcome) -> str:
    """Return the reason why the costs of a class are not supported, in a few words."""
    if outcome.forward.differences:
        first = outcome.forward.differences[0]
        if first.quantity == "flops":
            return f"its FLOPs of {first.name or 'the model itself'} differ from torch's"
        return f"its {first.quantity} differs from transformers'"
    whole = outcome.forward.unavailable
    why = whole.partition("\n")[0]
    if place := _UNDESCRIBED.match(whole):
        what = place["comment"] or f"{place['module']}'s products"
        return f"not described: {what} ({place['line']})"
    if _RAISED.match(why):
        if _MISSING.search(why):
            return "its forward pass needs other inputs than tokens"
        on_meta = re.search("meta ", why, re.IGNORECASE) is not None
        reason = "cannot run on torch's meta device" if on_meta else f"raises {why}"
        return f"its forward pass {reason}"[:_LONGEST_GAP]
    return f"its forward pass was not validated: {why}"[:_LONGEST_GAP]


def write(samples: int, seed: int, lines: dict[str, Line]) -> None:
    """Write formulas/costs.json, one line for each model type."""
    from archspec.reference import versions

    rows = {name: line._asdict() for name, line in sorted(lines.items())}
    for row in rows.values():
        for name in ("activations", "media_training", "text", "without"):
            if not row[name]:
                del row[name]
    head = {**versions(), "samples": samples, "seed": seed}
    with open(_path(), "w", encoding="utf-8") as file:
        file.write(f'{json.dumps(head)[:-1]}, "types": {json_rows(rows)}}}\n')


def json_rows(entries: Mapping[str, Any]) -> str:
    """Return a JSON object with one line for each entry."""
    rows = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items())
    return "{\n" + ",\n".join(rows) + "\n}"


def _path() -> str:
    return os.path.join(shipped_library().folder, COSTS)


def _digests() -> dict[str, str]:
    """Return a digest of every model type's spec files and of the contractions that they name."""
    library = shipped_library()
    source, document = read(os.path.join(library.folder, CONTRACTIONS))
    root = document or yaml_reader.parse(source)
    assert isinstance(root, yaml_reader.Mapping)
    texts = {key.partition("(")[0]: f"{key}: {plain_data(node)}" for key, node in root.items.items()}
    return whole_digests(library.entries(), library.files(), texts)
