"""`archspec verify --costs`: FLOPs by module and the cache, validated against torch's count."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from archspec.cli.command_line import Values
from archspec.errors import ArchspecError
from archspec.specs.library import shipped_library
from archspec.terminal import progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from archspec.verifying.costs.instruments import Comparison
    from archspec.verifying.costs.verify import CostOutcome

_SHOWN = 3


def verify_costs(args: Values) -> int:
    """Verify classes; --coverage writes formulas/costs.json, --check lists stale classes."""
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
        return _formulas(scope)
    total = sum(map(len, (record.stale_classes() if args.coverage and not args.all else scope).values()))
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
    for line in _report(seen):
        print(line)
    verdicts = [one.verdict for outcome in seen for one in (outcome.forward, outcome.training) if one]
    return 1 if not args.coverage and "wrong" in verdicts else 0


def _formulas(scope: dict[str, tuple[str, ...]]) -> int:
    """Check the closed forms of exact classes at their default configs; return 1 if one is wrong."""
    from archspec.verifying.costs import formulas, record
    from archspec.verifying.costs.cases import Case, make_runnable

    counts, wrong = dict.fromkeys((*formulas.AGREE, formulas.NEITHER), 0), 0
    for model_type, line in record.read_record().items():
        for architecture in (one for one in line.exact if one in scope.get(model_type, ())):
            raw = make_runnable({"model_type": model_type}, architecture)
            case = Case(shipped_library().load(model_type), architecture, raw)
            problems = [*formulas.without_closed_form(case)]
            how = formulas.agreement_if_symbolic(case)
            if how in counts:
                counts[how] += 1
            else:
                problems.append(how)
            wrong += len(problems)
            for problem in problems:
                print(f"{architecture} ({model_type}): {problem}")
    print(f"{', '.join(f'{count} {how}' for how, count in counts.items())} and {wrong} wrong")
    return 1 if wrong else 0


def _report(outcomes: list[CostOutcome]) -> Iterator[str]:
    for outcome in sorted(outcomes, key=lambda one: (one.model_type, one.architecture)):
        name = f"{outcome.architecture} ({outcome.model_type})"
        yield from _comparison(name, "", outcome.forward)
        if outcome.training:
            yield from _comparison(name, "training ", outcome.training)
        for kind, found in outcome.activations.items():
            if found.verdict == "unavailable":
                yield f"{name}: activations with {kind} are not supported: {found.unavailable}"
            yield from _differences(name, found)
    yield f"{_totals([one.forward for one in outcomes])}: FLOPs by module and the cache"
    if trained := [outcome.training for outcome in outcomes if outcome.training]:
        yield f"{_totals(trained)}: training FLOPs by module"
    kinds = [found for outcome in outcomes for found in outcome.activations.values()]
    exact, steps = sum(one.verdict == "exact" for one in kinds), sum(one.compared for one in kinds)
    yield f"saved activations: {exact} of {len(kinds)} kinds of training exact at {steps:,} points"


def _comparison(name: str, what: str, found: Comparison) -> Iterator[str]:
    if found.verdict == "unavailable":
        yield f"{name}: {what}not measured: {found.unavailable}"
    yield from _differences(name, found)


def _differences(name: str, found: Comparison) -> Iterator[str]:
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
