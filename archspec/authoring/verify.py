"""`archspec.verify`: the validation of specs against transformers or your own classes, as a report."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from archspec.arguments import check_arguments, check_arguments_of
from archspec.errors import ArchspecError, list_names, option
from archspec.extras import optional_import
from archspec.models.report import Record, Report, fact
from archspec.reports import Block
from archspec.specs.library import Library
from archspec.specs.records import Spec
from archspec.specs.search_path import Folder, folders_of, is_own, library_of
from archspec.verifying import campaign
from archspec.verifying.blame import Difference
from archspec.verifying.campaign import Result
from archspec.verifying.pool import available_cores

Progress = Callable[..., None]
Own = tuple[Spec, str]  # one of your specs, and a class of it
_SHOWN = 3
_VERDICTS = ("exact", "wrong", "unavailable")


class DifferenceFacts(Record):
    """a difference"""

    architecture: str = fact("the class")
    config: dict[str, Any] = fact("the config for which they differ")
    kind: str = fact(
        "for a tensor: missing, extra, shape, kind, frozen, tie, embedding; for a config: rejected, "
        "accepted; for a field: unmentioned, default, alias, readonly; few: too few random configs are "
        "valid; spec: the spec is invalid; crash: a bug in archspec, or a process that died"
    )
    name: str = fact("the tensor or the field, or empty")
    expected: str = fact("the value in transformers, or in your code")
    found: str = fact("the value in the spec")
    places: list[str] = fact("the likely lines of the spec, the most likely first")


class OutcomeFacts(Record):
    """a result"""

    architecture: str = fact("the class")
    model_type: str = fact("its model type")
    verdict: str = fact("the result", choices=_VERDICTS)
    compared: int = fact("configs that were compared, tensor by tensor")
    rejected_by_both: int = fact("configs that both the spec and the code reject", lambda one: one.rejected)
    refusals: dict[str, int] = fact("rejected configs by reason", lambda one: dict(one.refusals))
    unavailable: str = fact("reason why nothing could be compared, or empty")
    differences: list[DifferenceFacts] = fact("differences between the spec and transformers")


class TimedOutcome(OutcomeFacts):
    """a result, with the time that it took"""

    seconds: float = fact("CPU seconds")


class Verification(Report):
    """Comparison of specs with transformers or custom classes; made by :func:`archspec.verify`.

    ``run`` has the results, ``own`` the architectures that were validated against code other than
    transformers'.
    """

    versions: dict[str, str] = fact(
        "the installed versions of transformers and torch",
        lambda self: self.run.versions,
        keys=dict.fromkeys(("transformers", "torch"), "the installed version"),
        least=2,
    )
    listed: tuple[str, ...] = fact(
        "classes that another release adds or removes, if changed is given", kind="list[str]"
    )
    samples: int = fact("random configs per class", lambda self: self.run.samples)
    seed: int = fact("the seed of the random configs", lambda self: self.run.seed, least=None)
    seconds: float = fact("seconds of the whole run", lambda self: round(self.run.seconds, 1))
    totals: dict[str, int] = fact(
        "architectures by result",
        lambda self: {verdict: self.count(verdict) for verdict in _VERDICTS},
        keys={verdict: f"architectures with this result: {verdict}" for verdict in _VERDICTS},
        least=len(_VERDICTS),
    )
    architectures: list[Any] = fact(
        "the result of each architecture",
        lambda self: [
            SimpleNamespace(**outcome._asdict(), verdict=outcome.verdict, seconds=round(seconds, 2))
            for outcome, seconds in self.results
        ],
        kind="list[TimedOutcome]",
    )

    def __init__(self, run: campaign.Report, own: Sequence[str] = (), listed: Sequence[str] = ()) -> None:
        self.run, self.own, self.listed = run, tuple(own), tuple(listed)

    @check_arguments
    def count(self, verdict: str) -> int:
        """Return the number of architectures that are `exact`, `wrong` or `unavailable`."""
        return self.run.count(verdict)

    @property
    def results(self) -> tuple[Result, ...]:
        """The outcome of each architecture, and the seconds that it took."""
        return self.run.results

    def blocks(self) -> Iterator[Block]:
        """Yield each difference once, under the most likely line of the spec; then the totals."""
        yield from self.listed
        outcomes = [result.outcome for result in self.results]
        causes: dict[tuple[str, str], list[Difference]] = {}
        for outcome in outcomes:
            for one in outcome.differences:
                place = next(iter(one.places), f"formulas/{outcome.model_type}.yaml")
                causes.setdefault((place.rpartition(":")[0] or place, one.kind), []).append(one)
        for (place, kind), differences in sorted(causes.items()):
            lines = _cause(place, kind, differences)
            is_own = differences[0].architecture in self.own
            yield from (line.replace("transformers", "your code", 1) if is_own else line for line in lines)
        for outcome in outcomes:
            if outcome.unavailable:
                yield f"{outcome.architecture} ({outcome.model_type}): not compared: {outcome.unavailable}"
        exact, wrong, unavailable = map(self.count, _VERDICTS)
        rest = f", {unavailable:,} not compared" if unavailable else ""
        configs = sum(outcome.compared for outcome in outcomes)
        yield f"{exact:,} exact, {wrong:,} wrong{rest}: {configs:,} configs compared, tensor by tensor"
        busy = sum(result.seconds for result in self.results)
        yield f"{self.run.seconds:.1f} s ({busy:.1f} s CPU time)"
        versions = ", ".join(f"{name} {version}" for name, version in self.run.versions.items())
        yield f"{versions}; --samples {self.run.samples} --seed {self.run.seed}"


@check_arguments_of("verify")
def verify(
    names: str | Iterable[str] = (),
    *,
    specs: Folder | Sequence[Folder] = (),
    all: bool = False,
    changed: str | None = None,
    samples: int = 20,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Verification:
    """Validate specs against transformers, tensor by tensor, for the default config and for random ones.

    ``names`` are architectures or model types, ``all`` selects every supported class, and ``changed``
    the specs that differ from a commit and those that use them. Your own specs, in the directories
    ``specs``, are compared with the classes that their headers name. ``samples`` random configs are drawn
    from ``seed``; 10 or more also cover each branch of a spec. ``jobs`` is the number of processes; with
    several, a script needs `if __name__ == "__main__":`. ``progress`` is called with the number of verified
    classes, their total, and a text.

    Needs the extra `verify`. Errors: :class:`ArchspecError` for an unsupported name, and
    :class:`MissingPackageError`.
    """
    library = library_of(specs)
    own, others = _split([names] if isinstance(names, str) else names, library)
    if specs and not (own or others or all or changed):
        files = [file for one in folders_of(specs) for file in sorted(os.listdir(one))]
        types = dict.fromkeys(file.removesuffix(".yaml") for file in files)
        own, _ = _split(filter(library.has, types), library)
    chosen_by = [bool(own or others), all, bool(changed)].count(True)
    if chosen_by != 1:
        ways = list_names(["class names or model types", *map(option, ("all", "changed", "specs"))])
        message = "too many ways to choose what to verify" if chosen_by else "nothing to verify"
        raise ArchspecError(message, help=f"pass one of: {ways}")
    with optional_import():
        if all:
            chosen = campaign.all_architectures()
        elif changed:
            chosen = campaign.changed_architectures(changed)
        else:
            chosen = campaign.named_architectures(others)
        done = result_counter(progress, len(own) + sum(map(len, chosen.values())))
        mine = _verify_own(own, samples, seed, done)
        run = campaign.run(chosen, samples, seed, jobs if jobs > 0 else available_cores(), done)
    seconds = run.seconds + sum(result.seconds for result in mine)
    run = run._replace(results=(*mine, *run.results), seconds=seconds)
    return Verification(run, [architecture for _, architecture in own])


def _split(names: Iterable[str], library: Library) -> tuple[list[Own], list[str]]:
    """Return the classes that your own specs have of some names, and the other names."""
    own: list[Own] = []
    rest: list[str] = []
    for name in names:
        model_type = name if library.has(name) else next(iter(library.types_of(name)), "")
        if not model_type or not is_own(library, model_type):
            rest.append(name)
            continue
        spec = library.load(model_type)
        own += [(spec, one) for one in spec.architectures if name in (model_type, one)]
    return own, rest


def _verify_own(own: list[Own], samples: int, seed: int, done: campaign.Done) -> list[Result]:
    from archspec.deriving import verify_own

    found: list[Result] = []
    for spec, architecture in own:
        start = time.process_time()
        outcome = verify_own(spec, architecture, samples, seed)
        found.append(Result(outcome, time.process_time() - start))
        done(found[-1])
    return found


def result_counter(progress: Progress | None, total: int) -> campaign.Done:
    """Return a function that counts results and calls ``progress`` with their numbers."""
    verdicts: list[str] = []

    def count_result(result: Result) -> None:
        verdicts.append(result.outcome.verdict)
        if progress is not None:
            text = f"{verdicts.count('wrong')} wrong  {result.outcome.model_type:24.24}"
            progress(len(verdicts), total, text)

    return count_result


_MEANINGS = {
    "missing": "transformers has a tensor that the spec does not give",
    "extra": "the spec gives a tensor that transformers does not have",
    "shape": "shapes differ",
    "kind": "a parameter on one side, a buffer on the other",
    "frozen": "requires_grad differs",
    "tie": "tied on one side only, or to different tensors",
    "embedding": "counted as embedding parameters on one side only",
    "accepted": "transformers rejects a config that the spec accepts",
    "rejected": "the spec rejects a config that transformers builds",
    "unmentioned": "a field that changes the tensors is not in the spec",
    "default": "defaults differ",
    "alias": "the field has another alias in transformers",
    "readonly": "only one side rejects a field because it is computed",
    "few": "too few random configs are valid",
    "spec": "the spec is invalid",
    "crash": "a bug in archspec, or a process that died",
}


def _cause(place: str, kind: str, differences: list[Difference]) -> Iterator[str]:
    classes = list(dict.fromkeys(difference.architecture for difference in differences))
    more = f" and {len(classes) - _SHOWN} more" if len(classes) > _SHOWN else ""
    yield f"{place}: {kind}: {_MEANINGS.get(kind, kind)} ({', '.join(classes[:_SHOWN])}{more})"
    names: dict[str, Difference] = {}  # each with its shortest config
    for difference in sorted(differences, key=lambda one: len(json.dumps(one.config, default=str))):
        names.setdefault(difference.name, difference)
    for difference in list(names.values())[:_SHOWN]:
        name = f"{difference.name}: " if difference.name else ""
        expected, found = difference.expected or "nothing", difference.found or "nothing"
        yield f"    {name}transformers: {expected}; the spec: {found}"
    if len(names) > _SHOWN:
        yield f"    and {len(names) - _SHOWN} more names"
    first = next(iter(names.values()))
    config = {key: value for key, value in first.config.items() if key != "model_type"}
    if config or first.kind not in ("default", "alias", "readonly", "crash", "few"):
        yield f"    for {json.dumps(config, default=str) if config else 'the default config'}"
    if len(first.places) > 1:
        yield f"    via {', '.join(place.rpartition(':')[0] for place in first.places[1:])}"
