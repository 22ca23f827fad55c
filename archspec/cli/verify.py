"""`archspec verify`: specs validated against transformers, and how another of its releases differs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from glob import glob
from typing import TYPE_CHECKING, NamedTuple

from archspec.cli.command_line import Values, combination_error, require
from archspec.cli.run import arguments, print_json
from archspec.cli.verbs import check_samples
from archspec.errors import ArchspecError
from archspec.specs.exported import exported_types
from archspec.specs.library import TRANSFORMERS_VERSION, shipped_library
from archspec.sweeping.files import refuse_existing
from archspec.terminal import print_report, print_sentence, progress

if TYPE_CHECKING:
    from archspec.authoring.verify import Verification
    from archspec.verifying.costs.instruments import Comparison
    from archspec.verifying.costs.verify import CostOutcome

RELEASE = "release"  # what --changed stands for without a commit
SAMPLES = 2  # random configs for each class, so that a release takes minutes
_SHOWN = 3
Key = tuple[str, str]  # a model type and a class


def verify(args: Values) -> int:
    """Verify the tensors of specs, or what --costs and --coverage ask for; print the report."""
    from archspec.verifying.pool import available_cores

    _check_options(args)
    args.jobs = args.jobs or available_cores()
    by_release = args.changed == RELEASE and not (args.names or args.all)
    args.changed = "HEAD" if args.changed == RELEASE else args.changed
    if args.costs:
        return _verify_costs(args)
    if args.coverage:
        return _update_coverage(args)
    found = _verify(args, by_release)
    if args.json:
        print_json(found.as_json())
        print_sentence(str(found), sys.stderr)
    else:
        print_report(found.blocks())
    missing = any(one.outcome.unavailable and one.outcome.architecture in found.own for one in found.results)
    return 1 if found.count("wrong") else 2 if missing else 0


def _check_options(args: Values) -> None:
    """Raise an :class:`ArchspecError` for options that have no effect together."""
    for option in ("coverage", "check", *(("all", "changed") if args.costs else ())):
        if args.names and option in args.given:
            message = f"--{option} cannot be combined with class names or model types"
            raise ArchspecError(message, help=f"leave out --{option}, or the names")
    other = next((name for name in ("costs", "coverage", "check") if getattr(args, name)), "")
    for option in ("specs", "json"):
        if other and option in args.given:
            raise combination_error(f"--{option}", f"--{other}")
    check_samples(args)
    require(args, "check", "--coverage or --costs", args.coverage or args.costs)
    if "jobs" in args.given and args.jobs < 1:
        raise ArchspecError(f"--jobs must be at least 1, not {args.jobs}", help="pass --jobs 1 or more")


def _verify(args: Values, by_release: bool) -> Verification:
    from archspec import reference
    from archspec.authoring.verify import verify

    if by_release and reference.versions()["transformers"] != TRANSFORMERS_VERSION:
        return _verify_release(args)
    with progress("verifying") as shown:
        return verify(**arguments("verify", args, without=("jobs",)), jobs=args.jobs, progress=shown)


def _update_coverage(args: Values) -> int:
    from archspec.authoring.verify import result_counter
    from archspec.verifying import coverage

    if args.check:
        problems = coverage.stale_lines()
        print(*(problems or ["fresh"]), sep="\n")
        return 1 if problems else 0
    with progress("verifying") as shown:
        done = result_counter(shown, 0)
        recorded = coverage.read_record()[0]  # with another number, every class would be verified again
        samples = args.samples if "samples" in args.given else recorded.get("samples", args.samples)
        wrong = coverage.update(samples, args.seed, args.jobs, done, everything=args.all)
    return 1 if wrong else 0


class Changes(NamedTuple):
    """Classes of one release only, and the supported classes of both by the model type that they read."""

    new: list[Key]
    gone: list[Key]
    both: dict[str, tuple[str, ...]]


def changes() -> Changes:
    """Return how the classes of the installed transformers differ from those that the specs match."""
    from archspec.reference.classes import exported_classes

    here = {key: listing.reads for key, listing in exported_classes().items()}
    known = {(kind, name) for kind, found in exported_types().items() for name in found.classes}
    both: dict[str, dict[str, None]] = {}
    for (_, name), model_type in here.items():
        if model_type in shipped_library().index().get(name, ()):
            both.setdefault(model_type, {})[name] = None
    supported = {model_type: tuple(names) for model_type, names in sorted(both.items())}
    return Changes(sorted(here.keys() - known), sorted(known - here.keys()), supported)


def _verify_release(args: Values) -> Verification:
    """Verify the classes of both releases, and list those of one release only."""
    from archspec.authoring.verify import Verification, result_counter
    from archspec.verifying import campaign

    if "samples" in args.given:
        message = "--samples has no effect with another version of transformers"
        raise ArchspecError(message, help="leave out --samples")
    for path in glob(os.path.join(args.output, "*.yaml")):
        refuse_existing(path, args.overwrite)
    found = changes()
    with progress("verifying") as shown:
        report = campaign.run(found.both, SAMPLES, args.seed, args.jobs, result_counter(shown, 0))
    new = _list_classes("new", found.new, draft_classes(found.new, args.output))
    return Verification(report, listed=[*new, *_list_classes("removed", found.gone, {})])


def _list_classes(what: str, keys: list[Key], notes: dict[str, str]) -> Iterator[str]:
    types: dict[str, list[str]] = {}
    for model_type, name in keys:
        types.setdefault(model_type, []).append(name)
    yield f"{what}: {len(keys)} classes of {len(types)} model types"
    for model_type, names in types.items():
        note = f" ({notes[model_type]})" if model_type in notes else ""
        yield f"    {model_type}: {' '.join(names)}{note}"


def draft_classes(new: list[Key], output: str) -> dict[str, str]:
    """Return, for each model type, the path of its draft, or the reason for its absence."""
    from archspec.authoring.derive import new_drafts, save
    from archspec.deriving import draft, find

    found: dict[str, str] = {}
    for model_type in dict.fromkeys(model_type for model_type, _ in new):
        try:
            target = find(model_type, "")
            drafts = draft(target.model_type, target.config, target.classes)
            paths = save(new_drafts(drafts), output, overwrite=True)  # parts may be shared
            found[model_type] = f"draft: {paths[0]}"
        except ArchspecError as error:
            found[model_type] = f"no draft: {error.problems[0].message}"
    return found


def _verify_costs(args: Values) -> int:
    """Verify costs; --coverage writes formulas/costs.json, --check lists stale classes."""
    from archspec.verifying import campaign
    from archspec.verifying.costs import record

    if args.check:
        found = record.stale_classes()
        for model_type, names in found.items():
            print(f"{model_type}: {', '.join(names)}")
        print(f"{sum(map(len, found.values()))} stale: run {record.HOW}" if found else "fresh")
        return 1 if found else 0
    scope = record.in_scope()
    if args.names:
        scope = campaign.named_architectures(args.names)
    elif args.changed:
        scope = {name: scope[name] for name in campaign.changed_architectures(args.changed) if name in scope}
    elif not args.all and not args.coverage:
        help_ = "pass class names or model types, --all or --changed"
        raise ArchspecError("nothing to verify", help=help_)
    if args.formulas:
        return _verify_formulas(scope)
    chosen = record.unverified_classes() if args.coverage and not args.all else scope
    total = sum(map(len, chosen.values()))
    seen: list[CostOutcome] = []
    with progress("measuring") as show:

        def done(outcome: CostOutcome) -> None:
            seen.append(outcome)
            wrong = sum(one.verdict == "wrong" for one in seen)
            show(len(seen), total, f"{wrong} wrong  {outcome.model_type:24.24}")

        if args.coverage:
            record.update(args.samples, args.seed, args.jobs, done, everything=args.all)
        else:
            record.run(scope, args.samples, args.seed, args.jobs, done)
    print(*_report(seen), sep="\n")
    verdicts = [one.verdict for outcome in seen for one in (outcome.forward, outcome.training) if one]
    return 1 if not args.coverage and "wrong" in verdicts else 0


def _verify_formulas(scope: dict[str, tuple[str, ...]]) -> int:
    """Check the closed forms of exact classes at their default configs; return 1 if one is wrong."""
    from archspec.verifying.costs import formulas, record
    from archspec.verifying.costs.cases import Case, make_runnable

    counts, wrong = dict.fromkeys((*formulas.AGREE, formulas.NEITHER), 0), 0
    for model_type, line in record.read_record().items():
        for architecture in (one for one in line.exact if one in scope.get(model_type, ())):
            raw = make_runnable({"model_type": model_type}, architecture)
            case = Case(shipped_library().load(model_type), architecture, raw)
            problems, how = [*formulas.without_closed_form(case)], formulas.agreement_if_symbolic(case)
            if how in counts:
                counts[how] += 1
            else:
                problems.append(how)
            wrong += len(problems)
            for problem in problems:
                print(f"{architecture} ({model_type}): {problem}")
    print(f"{', '.join(f'{count} {how}' for how, count in counts.items())} and {wrong} wrong")
    return 1 if wrong else 0


def _report(outcomes: Iterable[CostOutcome]) -> Iterator[str]:
    outcomes = sorted(outcomes, key=lambda one: (one.model_type, one.architecture))
    for outcome in outcomes:
        name = f"{outcome.architecture} ({outcome.model_type})"
        yield from _differences(f"{name}: not measured", name, outcome.forward)
        if outcome.training:
            yield from _differences(f"{name}: training not measured", name, outcome.training)
        for kind, found in outcome.activations.items():
            yield from _differences(f"{name}: activations with {kind} are not supported", name, found)
    yield f"{_totals([one.forward for one in outcomes])}: FLOPs by module and the cache"
    if trained := [outcome.training for outcome in outcomes if outcome.training]:
        yield f"{_totals(trained)}: training FLOPs by module"
    kinds = [found for outcome in outcomes for found in outcome.activations.values()]
    exact, steps = sum(one.verdict == "exact" for one in kinds), sum(one.compared for one in kinds)
    yield f"saved activations: {exact} of {len(kinds)} kinds of training exact at {steps:,} points"


def _differences(unavailable: str, name: str, found: Comparison) -> Iterator[str]:
    if found.verdict == "unavailable":
        yield f"{unavailable}: {found.unavailable}"
    for one in found.differences[:_SHOWN]:
        where = one.name or "the model"
        yield f"{name}: {one.quantity} of {where}: transformers: {one.expected}; the spec: {one.found}"
    if found.differences:
        yield f"    for {json.dumps(found.differences[0].config, default=str)}"
        yield f"    in {found.differences[0].at}"


def _totals(found: list[Comparison]) -> str:
    verdicts = [one.verdict for one in found]
    exact, wrong, unavailable = (verdicts.count(one) for one in ("exact", "wrong", "unavailable"))
    points = sum(one.compared for one in found)
    return f"{exact} exact, {wrong} wrong, {unavailable} not measured, {points:,} points"
