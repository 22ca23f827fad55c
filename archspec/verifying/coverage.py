"""The classes that transformers exports, and whether the specs give them exactly.

docs/coverage.json has a line for each pair of class and model type, with a digest of the spec files;
docs/coverage.md is printed from it. A pair that was added or removed, or whose spec has
changed, is stale, and only stale pairs are verified again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from archspec.errors import ArchspecError
from archspec.specs.exported import Class, exported
from archspec.specs.index import whole_digests
from archspec.specs.library import shipped
from archspec.verifying import campaign
from archspec.verifying.pool import Failure, spread
from archspec.verifying.verifier import Outcome

HOW = "archspec verify --coverage"
NO_AUTO = "no auto class"
_BATCH = 24
Key = tuple[str, str]


class Pair(NamedTuple):
    """A class of one model type, and its result.

    ``status`` is exact, wrong, unsupported, or unavailable (not instantiable here) with its ``cause``.
    ``digest`` is that of the spec files; empty for an unsupported class.
    """

    model_type: str
    architecture: str
    auto: tuple[str, ...]
    status: str
    compared: int = 0
    cause: str = ""
    digest: str = ""

    @property
    def key(self) -> Key:
        return self.model_type, self.architecture


def paths() -> tuple[str, str]:
    """Return the paths of the results and the page. Errors: :class:`ArchspecError` outside of a checkout."""
    docs = os.path.join(os.path.dirname(shipped().folder), "docs")
    if not os.path.isdir(docs):
        raise ArchspecError("there is no docs/ here: run this in a checkout")
    return os.path.join(docs, "coverage.json"), os.path.join(docs, "coverage.md")


def recorded() -> tuple[dict[str, Any], dict[Key, Pair]]:
    """Return the conditions and the pairs of docs/coverage.json; both are empty without the file."""
    try:
        with open(paths()[0], encoding="utf-8") as file:
            content = json.load(file)
        pairs = [Pair(**{**row, "auto": tuple(row["auto"])}) for row in content.pop("pairs")]
    except FileNotFoundError:
        return {}, {}
    except (ValueError, TypeError, KeyError) as error:
        raise ArchspecError(f"{paths()[0]}: {error}; remove it and run {HOW}") from None
    return content, {pair.key: pair for pair in pairs}


def exported_classes() -> dict[Key, Class]:
    """Return every class that transformers exports, by model type and name."""
    return {
        (model_type, name): line
        for model_type, found in exported().items()
        for name, line in found.classes.items()
    }


def stale() -> list[str]:
    """Return what is out of date in docs/coverage.json and docs/coverage.md."""
    from archspec.reference import versions

    head, pairs = recorded()
    now, here = exported_classes(), versions()["transformers"]
    wanted = digests(now)
    if head.get("transformers") != here:
        return [f"docs/coverage.json is of transformers {head.get('transformers')}, not {here}: run {HOW}"]
    found = [f"{'/'.join(key)} is not in docs/coverage.json" for key in now if key not in pairs]
    found += [f"{'/'.join(key)} is not a pair of transformers any more" for key in pairs if key not in now]
    for key, pair in pairs.items():
        if pair.digest != wanted.get(key, "") and key in now:
            found.append(f"{'/'.join(key)} was recorded with another spec")
    if not found:
        with open(paths()[1], encoding="utf-8") as file:
            if file.read() != page(head, list(pairs.values())):
                found = ["docs/coverage.md does not match docs/coverage.json"]
    return [*found[:20], f"{len(found)} stale: run {HOW}"] if found else []


def digests(now: dict[Key, Class]) -> dict[Key, str]:
    """Return the digest of the spec files of each supported pair."""
    library = shipped()
    current, known = whole_digests(library.entries(), library.files()), library.index()
    return {key: current[line.reads] for key, line in now.items() if line.reads in known.get(key[1], ())}


def update(
    samples: int,
    seed: int,
    jobs: int,
    done: Callable[[list[campaign.Result]], None] | None = None,
    everything: bool = False,
) -> int:
    """Verify stale pairs, or all pairs, write both files, and return the number of wrong pairs."""
    from archspec.reference import versions

    head, before = recorded()
    now = exported_classes()
    wanted = digests(now)
    conditions = {**versions(), "samples": samples, "seed": seed}
    if everything or any(head.get(name) != value for name, value in conditions.items()):
        before = {}
    found = {key: pair for key, pair in before.items() if key in now and pair.digest == wanted.get(key, "")}
    found = {key: pair for key, pair in found.items() if pair.status != "wrong"}
    due = [key for key in now if key in wanted and key not in found]
    verified = _verified({(now[key].reads, key[1]) for key in due}, samples, seed, jobs, done)
    for key in due:
        pair = verified[now[key].reads, key[1]]
        found[key] = pair._replace(model_type=key[0], digest=wanted[key])
    for pair in _unsupported([key for key in now if key not in found], jobs):
        found[pair.key] = pair
    pairs = [found[key]._replace(auto=line.autos) for key, line in now.items()]
    write(conditions, pairs)
    return sum(pair.status == "wrong" for pair in pairs)


def _verified(
    due: set[Key],
    samples: int,
    seed: int,
    jobs: int,
    done: Callable[[list[campaign.Result]], None] | None,
) -> dict[Key, Pair]:
    """Verify classes, each with the model type of its spec."""
    chosen: dict[str, tuple[str, ...]] = {}
    for model_type, architecture in sorted(due):
        chosen[model_type] = (*chosen.get(model_type, ()), architecture)
    results = campaign.run(chosen, samples, seed, jobs, done).results if chosen else ()
    return {pair.key: pair for pair in (_pair_of(result.outcome) for result in results)}


def _pair_of(outcome: Outcome) -> Pair:
    kinds = ", ".join(sorted({difference.kind for difference in outcome.differences}))
    cause = outcome.unavailable or kinds
    return Pair(outcome.model_type, outcome.architecture, (), outcome.verdict, outcome.compared, cause)


def _unsupported(keys: list[Key], jobs: int) -> Iterator[Pair]:
    """Return the pairs without a spec, and whether they can be built here."""
    batches = [tuple(keys[start : start + _BATCH]) for start in range(0, len(keys), _BATCH)]
    for batch, causes in spread(_default, batches, jobs, ("torch", "archspec.reference")):
        reasons = [causes.message] * len(batch) if isinstance(causes, Failure) else causes
        for (model_type, architecture), cause in zip(batch, reasons, strict=True):
            yield Pair(model_type, architecture, (), "unavailable" if cause else "unsupported", 0, cause)


def _default(batch: tuple[Key, ...]) -> list[str]:
    """Return why each class cannot be built from its default config; empty if it can."""
    from archspec.reference import Refused, Unavailable, built, config_of, model_class

    causes = []
    for model_type, architecture in batch:
        try:
            built(model_class(architecture, model_type), config_of(model_type, {}))
            causes.append("")
        except Unavailable as error:
            causes.append(str(error))
        except Refused as error:
            causes.append(f"its default config is refused: {error}")
    return causes


def write(head: dict[str, Any], pairs: list[Pair]) -> None:
    """Write both files."""
    rows = ",\n".join(json.dumps(pair._asdict(), ensure_ascii=False) for pair in pairs)
    opening = json.dumps(head, ensure_ascii=False)[:-1]
    results, text = paths()
    with open(results, "w", encoding="utf-8") as file:
        file.write(f'{opening}, "pairs": [\n{rows}\n]}}\n')
    with open(text, "w", encoding="utf-8") as file:
        file.write(page(head, pairs))


STATUSES = {
    "exact": "exact",
    "wrong": "wrong",
    "unsupported": "unsupported",
    "unavailable": "not instantiable here",
}


def page(head: dict[str, Any], pairs: list[Pair]) -> str:
    """Return the text of docs/coverage.md."""
    columns = list(STATUSES)
    lines = [
        "# Coverage",
        "",
        f"All model classes that transformers {head['transformers']} exports, with each model type for which",
        f"its auto classes list them; under *{NO_AUTO}* with the model type of the config.",
        "*Exact*: the spec gives the same tensors (names, shapes, ties, frozen or not) at the default config "
        "and at",
        f"{head['samples']} random ones (seed {head['seed']}, torch {head['torch']} on its meta device). "
        f"Written by `{HOW}`.",
        "",
        f"| auto class | all | {' | '.join(STATUSES.values())} |",
        f"| --- |{' ---: |' * (len(columns) + 1)}",
    ]
    for auto in sorted({auto for pair in pairs for auto in pair.auto}):
        lines.append(_totals(f"`{auto}`", [pair for pair in pairs if auto in pair.auto], columns))
    lines += [
        _totals("**all pairs, each once**", pairs, columns),
        _totals("**all classes, each once**", _classes(pairs), columns),
        "",
        "## Every model type",
        "",
    ]
    lines += [f"| model type | {' | '.join(STATUSES.values())} |", f"| --- |{' --- |' * len(columns)}"]
    for model_type in sorted({pair.model_type for pair in pairs}):
        own = [pair for pair in pairs if pair.model_type == model_type]
        cells = (" ".join(pair.architecture for pair in own if pair.status == status) for status in columns)
        lines.append(f"| {model_type} | {' | '.join(cells)} |")
    for status, title in (("wrong", "Wrong"), ("unavailable", "Not instantiable here, by reason")):
        lines += _causes(title, [pair for pair in pairs if pair.status == status])
    return "\n".join(lines) + "\n"


def _classes(pairs: list[Pair]) -> list[Pair]:
    """Return one pair for each class: a wrong one if there is one, else an exact one, else any."""
    worst_last = sorted(
        pairs, key=lambda pair: ("unavailable", "unsupported", "exact", "wrong").index(pair.status)
    )
    return list({pair.architecture: pair for pair in worst_last}.values())


def _totals(name: str, pairs: list[Pair], columns: list[str]) -> str:
    counts = (sum(pair.status == status for pair in pairs) for status in columns)
    return f"| {name} | {len(pairs):,} | {' | '.join(f'{count:,}' for count in counts)} |"


def _causes(title: str, pairs: list[Pair]) -> list[str]:
    if not pairs:
        return []
    by_cause: dict[str, list[str]] = {}
    for pair in pairs:
        by_cause.setdefault(pair.cause, []).append(f"{pair.architecture} ({pair.model_type})")
    lines = ["", f"## {title}", ""]
    for cause, names in sorted(by_cause.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(f"- {cause.replace('|', '/')[:240]}: {', '.join(names)}")
    return lines
