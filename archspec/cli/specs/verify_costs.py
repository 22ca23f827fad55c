"""`archspec verify --costs`: FLOPs by module and the cache, held to what torch counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from archspec.cli.command_line import Values
from archspec.errors import ArchspecError
from archspec.specs.library import shipped
from archspec.terminal import progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from archspec.verifying.costs.comparison import CostOutcome

_SHOWN = 3


def run(args: Values, jobs: int) -> int:
    """Names, --all or --changed; --coverage writes formulas/costs.json, --check says what of it is stale."""
    from archspec.verifying import campaign
    from archspec.verifying.costs import record

    if args.check:
        found = record.stale()
        for model_type, names in found.items():
            print(f"{model_type}: {', '.join(names)}")
        print(f"{sum(map(len, found.values()))} stale: run {record.HOW}" if found else "fresh")
        return 1 if found else 0
    scope = record.in_scope()
    if args.names:
        scope = campaign.named(args.names)
    elif args.changed:
        scope = {name: scope[name] for name in campaign.changed(args.changed) if name in scope}
    elif not args.all and not args.coverage:
        raise ArchspecError("say what to verify: names, --all or --changed")
    if args.formulas:
        return _formulas(scope)
    total = sum(map(len, (record.stale() if args.coverage and not args.all else scope).values()))
    seen: list[CostOutcome] = []
    with progress("measuring") as show:

        def done(outcomes: list[CostOutcome]) -> None:
            seen.extend(outcomes)
            wrong = sum(outcome.verdict == "wrong" for outcome in seen)
            show(len(seen), total, f"{wrong} wrong  {outcomes[-1].model_type:24.24}")

        if args.coverage:
            record.update(args.samples, args.seed, jobs, done, everything=args.all)
        else:
            record.run(scope, args.samples, args.seed, jobs, done)
    for line in _report(seen):
        print(line)
    both = (one for outcome in seen for one in (outcome, outcome.training) if one)
    return 1 if not args.coverage and any(one.verdict == "wrong" for one in both) else 0


def _formulas(scope: dict[str, tuple[str, ...]]) -> int:
    """The closed forms of classes at their default configs; 1 where one gives another number."""
    from archspec.verifying.costs import record, symbolic
    from archspec.verifying.costs.closed_forms import without_closed_form
    from archspec.verifying.costs.comparison import runnable

    found = dict.fromkeys((*symbolic.AGREE, symbolic.NEITHER), 0)
    wrong = 0
    given = record.recorded().items()
    pairs = [(name, one) for name, line in given for one in line.exact if one in scope.get(name, ())]
    for model_type, architecture in pairs:
        raw = runnable({"model_type": model_type}, architecture)
        for missing in without_closed_form(shipped().load(model_type), architecture, raw):
            wrong += 1
            print(f"{architecture} ({model_type}): {missing.quantity} of {missing.call}: {missing.why}")
        how = symbolic.compared(shipped().load(model_type), architecture, raw)
        if how in found:
            found[how] += 1
        else:
            wrong += 1
            print(f"{architecture} ({model_type}): {how}")
    print(", ".join(f"{count} {how}" for how, count in found.items()), f"and {wrong} wrong", sep=" ")
    return 1 if wrong else 0


def _report(outcomes: list[CostOutcome]) -> Iterator[str]:
    for outcome in sorted(outcomes, key=lambda one: (one.model_type, one.architecture)):
        name = f"{outcome.architecture} ({outcome.model_type})"
        if outcome.verdict == "unavailable":
            yield f"{name}: not measured: {outcome.unavailable}"
        yield from _differences(name, outcome)
        if outcome.training and outcome.training.verdict == "unavailable":
            yield f"{name}: training not measured: {outcome.training.unavailable}"
        if outcome.training:
            yield from _differences(name, outcome.training)
        yield from _activations(name, outcome)
    yield f"{_counted(outcomes)}: FLOPs by module and the cache"
    if trained := [outcome.training for outcome in outcomes if outcome.training]:
        yield f"{_counted(trained)}: training FLOPs by module"
    kinds = [result for outcome in outcomes for result in outcome.activations.values()]
    exact, steps = sum(result.exact for result in kinds), sum(result.compared for result in kinds)
    yield f"kept activations: {exact} of {len(kinds)} kinds of training exact at {steps:,} points"


def _differences(name: str, outcome: CostOutcome) -> Iterator[str]:
    for difference in outcome.differences[:_SHOWN]:
        where = difference.name or "the model"
        told = f"transformers {difference.expected}, the spec {difference.found}"
        yield f"{name}: {difference.kind} of {where}: {told}"
    if outcome.differences:
        yield f"    at {json.dumps(outcome.differences[0].config, default=str)}"
        yield f"    in {outcome.differences[0].call}"


def _counted(outcomes: list[CostOutcome]) -> str:
    counts = dict.fromkeys(("exact", "wrong", "unavailable"), 0)
    for outcome in outcomes:
        counts[outcome.verdict] += 1
    points = sum(outcome.compared for outcome in outcomes)
    shown = f"{counts['exact']} exact, {counts['wrong']} wrong, {counts['unavailable']} not measured"
    return f"{shown}, {points:,} points"


def _activations(name: str, outcome: CostOutcome) -> Iterator[str]:
    """The kinds of training in which a class's activations are not given, and why."""
    for kind, result in outcome.activations.items():
        if result.unavailable:
            yield f"{name}: activations with {kind} are not given: {result.unavailable}"
        for difference in result.differences[:_SHOWN]:
            where = difference.module or "the model"
            told = f"transformers {difference.expected}, the spec {difference.found}"
            yield f"{name}: activations with {kind} are not given: {where}: {told}"
        if result.differences:
            yield f"    at {json.dumps(result.differences[0].config, default=str)}"
            yield f"    in {result.differences[0].step}"
