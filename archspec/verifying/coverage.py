"""docs/coverage.json: the model classes that transformers exports, and how their specs compare with them.

The file has one line for each pair of model type and class, with a digest of the spec files. Pairs that are
new or gone, or whose spec files changed, are stale, and only these are verified again. docs/coverage.md is
written from the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from archspec.errors import ArchspecError
from archspec.reference.classes import NO_AUTO
from archspec.specs.exported import Class, exported_types
from archspec.specs.index import whole_digests
from archspec.specs.library import shipped_library
from archspec.verifying import campaign

HOW = "archspec verify --coverage"
STATUSES = ("exact", "wrong", "unsupported", "unavailable")
_HEADS = "exact | wrong | unsupported | not instantiable here"
Key = tuple[str, str]  # a model type and a class


class Pair(NamedTuple):
    """The result of a class with one model type; the digest of its spec files is empty without a spec."""

    model_type: str
    architecture: str
    auto: tuple[str, ...]
    status: str
    compared: int = 0
    cause: str = ""
    digest: str = ""


def paths() -> tuple[str, str]:
    """Return the record and the page in docs/. Errors: :class:`ArchspecError` without docs/."""
    docs = os.path.join(os.path.dirname(shipped_library().folder), "docs")
    if not os.path.isdir(docs):
        raise ArchspecError("there is no docs/ here: run this in a checkout")
    return os.path.join(docs, "coverage.json"), os.path.join(docs, "coverage.md")


def read_record() -> tuple[dict[str, Any], dict[Key, Pair]]:
    """Return the conditions and the pairs of docs/coverage.json; both empty without the file."""
    try:
        with open(paths()[0], encoding="utf-8") as file:
            content = json.load(file)
        pairs = [Pair(**{**row, "auto": tuple(row["auto"])}) for row in content.pop("pairs")]
    except FileNotFoundError:
        return {}, {}
    except (ValueError, TypeError, KeyError) as error:
        raise ArchspecError(f"{paths()[0]}: {error}; remove it and run {HOW}") from None
    return content, {pair[:2]: pair for pair in pairs}


def exported_classes() -> dict[Key, Class]:
    """Return (model type, class) -> how transformers lists it, for every class that it exports."""
    types = exported_types().items()
    return {(model_type, name): line for model_type, found in types for name, line in found.classes.items()}


def digests() -> dict[Key, str]:
    """Return the digest of the spec files of each supported pair."""
    library = shipped_library()
    current, known = whole_digests(library.entries(), library.files()), library.index()
    reads = {key: line.reads for key, line in exported_classes().items()}
    return {key: current[name] for key, name in reads.items() if name in known.get(key[1], ())}


def stale_lines() -> list[str]:
    """Return the lines of docs/coverage.json and docs/coverage.md that are out of date."""
    from archspec.reference import versions

    (head, pairs), now, wanted = read_record(), exported_classes(), digests()
    here = versions()["transformers"]
    if head.get("transformers") != here:
        return [f"docs/coverage.json is of transformers {head.get('transformers')}, not {here}: run {HOW}"]
    found = [f"{'/'.join(key)} is not in docs/coverage.json" for key in now if key not in pairs]
    found += [f"{'/'.join(key)} is not in transformers any more" for key in pairs if key not in now]
    changed = (key for key, pair in pairs.items() if pair.digest != wanted.get(key, "") and key in now)
    found += [f"{'/'.join(key)} was recorded with another spec" for key in changed]
    if not found:
        with open(paths()[1], encoding="utf-8") as file:
            if file.read() != page(head, list(pairs.values())):
                found = ["docs/coverage.md does not match docs/coverage.json"]
    return [*found[:20], f"{len(found)} stale: run {HOW}"] if found else []


def update(
    samples: int, seed: int, jobs: int, done: campaign.Done | None = None, everything: bool = False
) -> int:
    """Verify stale pairs, or everything, and write both files; return the number of wrong pairs."""
    from archspec.reference import versions

    (head, before), now, wanted = read_record(), exported_classes(), digests()
    conditions = {**versions(), "samples": samples, "seed": seed}
    if everything or any(head.get(name) != value for name, value in conditions.items()):
        before = {}
    exact = {key: pair for key, pair in before.items() if pair.status != "wrong"}
    fresh = {key: pair for key, pair in exact.items() if pair.digest == wanted.get(key, "")}
    chosen: dict[str, dict[str, None]] = {}
    for key in [key for key in now if key in wanted and key not in fresh]:
        chosen.setdefault(now[key].reads, {})[key[1]] = None
    report = campaign.run({name: (*found,) for name, found in chosen.items()}, samples, seed, jobs, done)
    outcomes = {(one.outcome.model_type, one.outcome.architecture): one.outcome for one in report.results}
    pairs = []
    for key, line in now.items():
        if key in fresh:
            pairs.append(fresh[key]._replace(auto=line.autos))
        elif key in wanted:
            outcome = outcomes[line.reads, key[1]]
            cause = outcome.unavailable or ", ".join(sorted({one.kind for one in outcome.differences}))
            pairs.append(Pair(*key, line.autos, outcome.verdict, outcome.compared, cause, wanted[key]))
        else:
            cause = _unavailable_reason(*key)
            pairs.append(Pair(*key, line.autos, "unavailable" if cause else "unsupported", 0, cause))
    write(conditions, pairs)
    return sum(pair.status == "wrong" for pair in pairs)


def _unavailable_reason(model_type: str, architecture: str) -> str:
    """Return the reason that a class cannot be built from its default config, or nothing."""
    from archspec.reference import Refused, Unavailable, transformers_rows

    try:
        transformers_rows(architecture, {}, model_type)
    except Unavailable as error:
        return str(error)
    except Refused as error:
        return f"its default config is rejected: {error}"
    return ""


def write(head: dict[str, Any], pairs: list[Pair]) -> None:
    """Write both files."""
    rows = ",\n".join(json.dumps(pair._asdict(), ensure_ascii=False) for pair in pairs)
    opening = json.dumps(head, ensure_ascii=False)[:-1]
    for path, text in zip(paths(), (f'{opening}, "pairs": [\n{rows}\n]}}\n', page(head, pairs)), strict=True):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


_PAGE = """# Coverage

Every model class that transformers {transformers} exports, in pairs with each model type that an auto class
maps to it, or with its config's model type (*{no_auto}*). *Exact*: the spec gives the same tensors
(names, shapes, tied weights, frozen flags) for the default config and {samples} random ones (seed {seed},
torch {torch} on its meta device). Written by `{how}`.

| auto class | all | {heads} |
| --- | ---: | ---: | ---: | ---: | ---: |
"""
_TYPES = """
## Every model type

| model type | {heads} |
| --- | --- | --- | --- | --- |
"""


def page(head: dict[str, Any], pairs: list[Pair]) -> str:
    """Return the text of docs/coverage.md."""
    text = _PAGE.format(**head, no_auto=NO_AUTO, how=HOW, heads=_HEADS)
    for auto in sorted({auto for pair in pairs for auto in pair.auto}):
        text += _totals(f"`{auto}`", [pair for pair in pairs if auto in pair.auto])
    order = ["unavailable", "unsupported", "exact", "wrong"]  # one wrong pair makes a class wrong
    classes = {pair.architecture: pair for pair in sorted(pairs, key=lambda one: order.index(one.status))}
    text += _totals("**all pairs of class and model type**", pairs)
    text += _totals("**all classes**", classes.values())
    text += _TYPES.format(heads=_HEADS)
    for model_type in sorted({pair.model_type for pair in pairs}):
        own = [pair for pair in pairs if pair.model_type == model_type]
        cells = (" ".join(pair.architecture for pair in own if pair.status == status) for status in STATUSES)
        text += f"| {model_type} | {' | '.join(cells)} |\n"
    for status, title in (("wrong", "Wrong"), ("unavailable", "Not instantiable here, and why")):
        by_cause: dict[str, list[str]] = {}
        for pair in [pair for pair in pairs if pair.status == status]:
            by_cause.setdefault(pair.cause, []).append(f"{pair.architecture} ({pair.model_type})")
        text += f"\n## {title}\n\n" if by_cause else ""
        for cause, names in sorted(by_cause.items(), key=lambda item: (-len(item[1]), item[0])):
            text += f"- {cause.replace('|', '/')[:240]}: {', '.join(names)}\n"
    return text


def _totals(name: str, pairs: Iterable[Pair]) -> str:
    statuses = [pair.status for pair in pairs]
    counts = (len(statuses), *map(statuses.count, STATUSES))
    return f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |\n"
