"""Holds altered specs against transformers: each alteration must be found, and its line be named.

transformers is asked once for each architecture and config; the altered specs are then compared with
those answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from archspec.alterations import Alteration, alterations
from archspec.blame import blamed, refusing
from archspec.edges import zeros
from archspec.guided import Guide, modules_of
from archspec.layers import Size
from archspec.oracle import Refused, Row, Unavailable, transformers_rows
from archspec.sampling import Sampler
from archspec.settings import SettingDifference, settings_differences
from archspec.spec import Spec
from archspec.tree import Node
from archspec.unmentioned import source_texts
from archspec.verify import Config, compare, counted

TRIES = 12


class Answer(NamedTuple):
    """What transformers makes of one config: rows, or the classes that refused it."""

    architecture: str
    raw: Config
    rows: list[Row] | None
    owners: tuple[str, ...] = ()


class Found(NamedTuple):
    """An alteration, whether it was found, and whether its line was among those named; ``first`` if at the top.

    ``hidden``: it was not found, and what changed is no tensor that counts: the shape of one that is tied in every
    config, the class that a module is shown as, or how many experts work on a token, which no tensor tells.
    """

    alteration: Alteration
    found: bool
    named: bool
    first: bool
    hidden: bool = False


def answers(spec: Spec, samples: int, seed: int) -> list[Answer]:
    """transformers' answers for every architecture: its default, valid configs, and some that are refused."""
    told: list[Answer] = []
    for architecture in spec.architectures:

        def accepts(raw: Config, architecture: str = architecture) -> bool:
            return counted(spec, architecture, raw).error is None

        sampler = Sampler(spec, seed, source_texts(spec))
        default: Config = {"model_type": spec.model_type}
        configs = [default, *({"model_type": spec.model_type, field: None} for field in spec.fields)]
        own = [_answer(spec, architecture, raw) for raw in configs[: 1 if told else None]]
        for _ in range(TRIES * samples):
            raw: Config | None = sampler.sample()
            valid = sum(found.rows is not None for found in own if found)
            refused = sum(found.rows is None for found in own if found)
            if refused > 2 * samples:  # enough of those
                raw = sampler.mend(accepts)
            answer = _answer(spec, architecture, raw) if raw is not None else None
            if answer is None or (answer.rows is None and refused > 2 * samples):
                continue
            if answer.rows is not None:
                sampler.accept()
            own.append(answer)
            if valid >= samples:
                break
        guide = Guide(spec, architecture, sampler)
        own += [_answer(spec, architecture, raw) for raw in zeros(spec, sampler.accepted[:1])]
        valid_ones = [answer.raw for answer in own if answer is not None and answer.rows is not None]
        for found in (guide.branches(valid_ones), guide.violations(valid_ones)):
            own += [_answer(spec, architecture, raw) for raw in found]
        told += [answer for answer in own if answer is not None]
    return sorted(told, key=lambda answer: answer.rows is None)


def _answer(spec: Spec, architecture: str, raw: Config) -> Answer | None:
    try:
        return Answer(architecture, raw, transformers_rows(architecture, raw, spec.model_type))
    except Refused as error:
        return Answer(architecture, raw, None, error.owners)
    except Unavailable:
        return None


def mutate(spec: Spec, samples: int = 12, seed: int = 0) -> list[Found]:
    """Every alteration of a spec and how it fared. The spec itself must be exact."""
    told = [answer for answer in answers(spec, samples, seed) if _agrees(spec, answer)]
    known = frozenset(settings_differences(spec))
    reached = {architecture: modules_of(spec, architecture) for architecture in spec.architectures}
    results = []
    for alteration in alterations(spec):
        places = _told(alteration, told, reached, known)
        line = (alteration.place.source.name, alteration.place.line)
        named = [tuple(place.rsplit(":", 2)[:2]) for place in places or ()]
        key = (line[0], str(line[1]))
        hidden = places is None and _hidden(spec, alteration, told)
        results.append(Found(alteration, places is not None, key in named, named[:1] == [key], hidden))
    return results


def _hidden(spec: Spec, alteration: Alteration, told: list[Answer]) -> bool:
    """Whether an alteration changes the tree for some config, though no tensor that counts."""
    for answer in told:
        before, after = (counted(one, answer.architecture, answer.raw).tree for one in (spec, alteration.spec))
        if before is not None and after is not None and list(_shapes(before, "")) != list(_shapes(after, "")):
            return True
    return False


def _shapes(node: Node, prefix: str) -> Iterator[tuple[str, str, tuple[Size, ...]]]:
    yield prefix, node.cls, node.routed or ()
    yield from ((f"{prefix}.{tensor.name}", "", tensor.shape) for tensor in node.tensors)
    for name, child in node.children.items():
        yield from _shapes(child, f"{prefix}.{name}")


def _agrees(spec: Spec, answer: Answer) -> bool:
    """Whether the spec as it stands is right here: only then does an alteration show."""
    ours = counted(spec, answer.architecture, answer.raw)
    if answer.rows is None or ours.error is not None:
        return (answer.rows is None) == (ours.error is not None)
    return not compare(answer.architecture, answer.raw, answer.rows, ours.rows)


def _told(
    alteration: Alteration, told: list[Answer], reached: dict[str, set[str]], known: frozenset[SettingDifference]
) -> list[str] | None:
    """The lines named for the first config that shows an alteration; None where none does."""
    spec = alteration.spec
    if not alteration.module:
        places = [str(place) for found in settings_differences(spec) if found not in known for place in found.places]
        if places:
            return places
    for answer in told:
        if alteration.module and alteration.module not in reached[answer.architecture]:
            continue
        ours = counted(spec, answer.architecture, answer.raw)
        if answer.rows is None and ours.error is None:
            return [str(place) for place in blamed(spec, ours.tree, "accepted", "", answer.owners)]
        if answer.rows is not None and ours.error is not None:
            return [str(place) for place in refusing(spec, answer.architecture, answer.raw, ours.tree, ours.error)]
        if answer.rows is not None and answer.rows != ours.rows:
            tree = ours.tree
            differences = compare(
                answer.architecture, answer.raw, answer.rows, ours.rows, lambda *what, tree=tree: blamed(spec, tree, *what)
            )
            if differences:
                first = [difference.places[0] for difference in differences if difference.places]
                return [*first, *(place for difference in differences for place in difference.places)]
    return None


class Summary(NamedTuple):
    """How many alterations there were, were found, named, of no tensor that counts; a line for each that is not well."""

    total: int
    found: int
    named: int
    hidden: int
    lines: list[str]


def summary(task: tuple[str, int]) -> Summary:
    """The alterations of a model type, at a seed."""
    from archspec.library import load

    results = mutate(load(task[0]), seed=task[1])
    lines = []
    for result in results:
        if not result.named:
            word = "of no tensor that counts" if result.hidden else "its line is not named" if result.found else "missed"
            lines.append(f"{result.alteration.place}: {word}: {result.alteration.what}")
    found, named, hidden = (sum(getattr(result, what) for result in results) for what in ("found", "named", "hidden"))
    return Summary(len(results), found, named, hidden, lines)
