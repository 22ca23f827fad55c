"""How many of transformers' classes `archspec derive` drafts exactly, under verify with random configs.

    python benchmarks/derive_rate.py --described --samples 20      # the types that have a spec: drafted
    without it python benchmarks/derive_rate.py --others --samples 10         # the types without a spec
    python benchmarks/derive_rate.py --others --classes 300        # types drawn by the seed, until there are
    so many classes python benchmarks/derive_rate.py --types bert gpt2             # some

Prints the shares, the median length of a draft (of a whole model type, without comments) and, for what is not
exact, the causes; `--json FILE` writes every class. A class counts where transformers builds it here from a
default or random config; the others are listed as unavailable or refused.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import sys
import time
from collections import Counter
from typing import Any, NamedTuple

os.environ.setdefault("HF_HUB_OFFLINE", "1")
TIMEOUT = 400.0


class Task(NamedTuple):
    model_type: str
    samples: int
    seed: int
    seconds: int = 300


class Verdict(NamedTuple):
    """The result of a class, the reason, and the lines of its model type's draft (0 if there is none)."""

    verdict: str
    cause: str = ""
    lines: int = 0


class TooLong(BaseException):
    """A model type takes longer than it may; no handler of a constructor's own errors takes it."""


def in_time(task: Task) -> dict[str, Verdict]:
    """Measure a model type; if it takes too long, all its classes fail."""
    from archspec.deriving import mapped_classes

    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, task.seconds)  # of processor time: others may use the machine too
    try:
        return measured(task)
    except TooLong:
        return dict.fromkeys(
            mapped_classes(task.model_type),
            Verdict("failed", f"it took more than {task.seconds} s of processor time"),
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def measured(task: Task) -> dict[str, Verdict]:
    """Class -> (verdict, cause) for one model type."""
    sys.setrecursionlimit(4_000)
    from archspec.deriving import compiled, draft, mapped_classes, overlay
    from archspec.errors import ArchspecError
    from archspec.reference import Unavailable, config_class, model_class
    from archspec.verifying.verifier import verify_spec

    found: dict[str, Verdict] = {}
    classes = []
    try:
        config = config_class(task.model_type)()
    except Exception as error:  # whatever a config class raises without arguments
        return {
            name: Verdict("unavailable", f"no default config: {type(error).__name__}")
            for name in mapped_classes(task.model_type)
        }
    for name in mapped_classes(task.model_type):
        try:
            classes.append(model_class(name, task.model_type))
        except Unavailable as error:
            found[name] = Verdict("unavailable", str(error)[:200])
    if not classes:
        return found
    try:
        drafts = draft(task.model_type, config, classes)
    except ArchspecError as error:
        return found | {cls.__name__: buildable(task, cls.__name__, str(error)[:200]) for cls in classes}
    for name, reason in drafts[0].failed.items():
        found[name] = buildable(task, name, reason[:200])
    try:
        with overlay(drafts) as library:
            spec = compiled(drafts[0], library)
            for name in drafts[0].architectures:
                outcome = verify_spec(spec, name, task.samples, task.seed)
                found[name] = verdict(task, name, outcome)._replace(lines=lines(drafts[0].text))
    except ArchspecError as error:
        reason = str(error).splitlines()[0].partition(": ")[2][:160]
        found |= {
            name: Verdict("wrong", f"the compiler refuses the draft: {reason}")
            for name in drafts[0].architectures
            if name not in found
        }
    return found


def lines(text: str) -> int:
    """The lines of a draft, without comments."""
    return sum(not line.lstrip().startswith("#") for line in text.splitlines())


def verdict(task: Task, name: str, outcome: Any) -> Verdict:
    if outcome.verdict == "unavailable":
        return Verdict("unavailable", outcome.unavailable[:200])
    if outcome.verdict == "exact":
        return Verdict("exact")
    kinds = Counter(difference.kind for difference in outcome.differences)
    if not outcome.compared:
        built = buildable(task, name, "")
        if built.verdict != "unread":
            return built
    cause = ", ".join(sorted(kinds))
    first = next(
        (d for d in outcome.differences if d.kind not in ("few", "unmentioned")), outcome.differences[0]
    )
    return Verdict(
        "wrong",
        f"{cause}: {first.kind} {first.name} "
        f"{first.expected[:90]!r} / {first.found[:90]!r} {first.places[:1]}",
    )


def buildable(task: Task, name: str, reason: str) -> Verdict:
    """Count a class that was not read or compared only if transformers builds it by default."""
    from archspec.reference import Refused, Unavailable, transformers_rows

    try:
        transformers_rows(name, {"model_type": task.model_type}, task.model_type)
    except Refused as error:
        return Verdict("refused", f"transformers refuses the default config: {error}"[:200])
    except Unavailable as error:
        return Verdict("unavailable", str(error)[:200])
    return Verdict("unread", reason)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--described", action="store_true", help="the model types that have a spec")
    parser.add_argument("--others", action="store_true", help="the model types without a spec")
    parser.add_argument("--types", nargs="*", default=[], metavar="TYPE")
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--limit", type=int, default=0, help="stop after so many model types")
    parser.add_argument(
        "--classes",
        type=int,
        default=0,
        help="model types in an order drawn by the seed, until so many classes",
    )
    parser.add_argument(
        "--seconds", type=int, default=300, help="the processor time that one model type may take"
    )
    parser.add_argument("--json", metavar="FILE", help="where to write every class, after each model type")
    args = parser.parse_args()

    from archspec.deriving import known_types, mapped_classes
    from archspec.specs.library import shipped_library
    from archspec.verifying.pool import Failure, available_cores, run_tasks

    described = set(shipped_library().model_types())
    types = args.types or [
        t
        for t in sorted(known_types())
        if (args.described and t in described) or (args.others and t not in described)
    ]
    types = [t for t in types if mapped_classes(t)][: args.limit or None]
    if args.classes:
        types = drawn(types, args.classes, args.seed)
    tasks = [Task(model_type, args.samples, args.seed, args.seconds) for model_type in types]
    found: dict[str, Verdict] = {}
    start = time.time()
    for task, result in run_tasks(
        in_time,
        tasks,
        args.jobs or available_cores(),
        ("torch", "transformers", "archspec.verifying.verifier"),
        TIMEOUT,
    ):
        if isinstance(result, Failure):
            result = dict.fromkeys(mapped_classes(task.model_type), Verdict("failed", result.message[:200]))
        found |= {f"{task.model_type}:{name}": value for name, value in result.items()}
        exact = sum(one.verdict == "exact" for one in found.values())
        print(
            f"\r{len(found)} classes, {exact} exact, {time.time() - start:.0f} s",
            end="",
            file=sys.stderr,
            flush=True,
        )
        if args.json:
            with open(args.json, "w", encoding="utf-8") as file:
                json.dump(
                    {"samples": args.samples, "seed": args.seed, "classes": found},
                    file,
                    indent=1,
                    ensure_ascii=False,
                )
    print(file=sys.stderr)
    report(found)
    return 0


def drawn(types: list[str], classes: int, seed: int) -> list[str]:
    """Model types in an order that the seed draws, until there are so many classes."""
    from archspec.deriving import mapped_classes

    order = sorted(types)
    random.Random(seed).shuffle(order)
    chosen: list[str] = []
    total = 0
    for model_type in order:
        if total >= classes:
            break
        chosen.append(model_type)
        total += len(mapped_classes(model_type))
    return chosen


def report(found: dict[str, Verdict]) -> None:
    totals = Counter(one.verdict for one in found.values())
    counted = sum(totals[v] for v in ("exact", "wrong", "unread", "failed"))
    print(f"{len(found)} classes: {dict(totals)}")
    print(
        f"exact: {totals['exact']} of {counted} that transformers builds here "
        f"({totals['exact'] / max(1, counted):.1%})"
    )
    drafts = {name.partition(":")[0]: one.lines for name, one in found.items() if one.verdict == "exact"}
    if drafts:
        print(
            f"{len(drafts)} drafts with exact classes: "
            f"{statistics.median(drafts.values()):.0f} lines at the median"
        )
    causes: dict[str, list[str]] = {}
    for name, one in found.items():
        if one.verdict in ("wrong", "unread", "failed"):
            causes.setdefault(f"{one.verdict}: {one.cause.partition(':')[0]}", []).append(name)
    for cause, names in sorted(causes.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):5} {cause}: {', '.join(names[:4])}{' …' if len(names) > 4 else ''}")


if __name__ == "__main__":
    sys.exit(main())
