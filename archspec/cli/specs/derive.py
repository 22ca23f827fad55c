"""`archspec derive`: a spec drafted from the constructor of a class, and held to what the class builds."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from archspec.cli.arguments import add_samples, parsed
from archspec.cli.command_line import Arguments, Values
from archspec.errors import ArchspecError, SpecError

if TYPE_CHECKING:
    from archspec.verifying.verifier import Outcome

_SHOWN = 3


def add_arguments(takes: Arguments) -> None:
    names = "CLASS|MODEL_TYPE|MODULE:CLASS"
    takes.value("name", names, "a class of transformers, a model type, or your own class")
    about_config = "the config class of your own class, if not annotated"
    takes.value("--config", "MODULE:CLASS", about_config, default="")
    about_kwargs = "keyword arguments of your own class where it takes no config, e.g. dim=192,depth=6"
    takes.repeated("--kwargs", "NAME=VALUE,...", about_kwargs)
    about_output = "write <model_type>.yaml there, and those of its parts, instead of printing"
    takes.value("--output", "DIR", about_output)
    add_samples(takes, 10, "random configs to verify with (default: 10; 0: the default config only)")
    takes.flag("--no-verify", "only draft")
    takes.flag("--json", "the drafts and how they did, as JSON")


def run(args: Values) -> int:
    from archspec.deriving import compiled, draft, find, overlay, params, unread, verified

    target = find(args.name, args.config, parsed(args.kwargs))
    drafts = draft(target.model_type, target.config, target.classes)
    outcomes: list[Outcome] = []
    counts: dict[str, int | None] = {}
    refused: SpecError | None = None
    with overlay(drafts) as library:
        try:
            for part in drafts:
                compiled(part, library)
            if problems := unread(drafts[0], target, library):
                raise ArchspecError(problems)
            if not args.no_verify:
                outcomes = verified(drafts[0], target, library, args.samples, args.seed)
            counts = {name: params(drafts[0], library, name) for name in drafts[0].architectures}
        except SpecError as error:
            refused = error
    for outcome in outcomes:
        drafts[0].told(outcome.architecture, outcome.verdict, outcome.compared, counts[outcome.architecture])
    if target.own and any(outcome.verdict == "wrong" for outcome in outcomes):
        drafts[0].refuse()
    _write(args, drafts, outcomes)
    for outcome in outcomes:
        _report(outcome)
    if refused is not None:
        print(f"the compiler does not take the draft:\n{refused}", file=sys.stderr)
        return 1
    for name, reason in drafts[0].failed.items():
        print(f"unread {name}: {reason}", file=sys.stderr)
    return 1 if drafts[0].failed or any(outcome.verdict == "wrong" for outcome in outcomes) else 0


def _write(args: Values, drafts: list[Any], outcomes: list[Any]) -> None:
    if args.json:
        report = {
            "drafts": {part.model_type: part.text for part in _new(drafts)},
            "unread": drafts[0].failed,
            "verify": [outcome._asdict() for outcome in outcomes],
        }
        print(json.dumps(report, indent=1, ensure_ascii=False, default=str))
    elif args.output:
        for path in write_drafts(drafts, args.output):
            print(path)
    else:
        for index, part in enumerate(_new(drafts)):
            if index:
                print(f"\n# ---- {part.model_type}.yaml")
            print(part.text, end="")


def _new(drafts: list[Any]) -> list[Any]:
    """The draft that was asked for, and those of its parts that no spec describes."""
    from archspec.specs.library import shipped

    described = set(shipped().model_types())
    return [part for index, part in enumerate(drafts) if not index or part.model_type not in described]


def write_drafts(drafts: list[Any], folder: str) -> list[str]:
    """Writes a draft and those of its parts; gives the files. Errors: :class:`ArchspecError`."""
    paths = []
    try:
        os.makedirs(folder, exist_ok=True)
        for part in _new(drafts):
            paths.append(os.path.join(folder, part.model_type + ".yaml"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(part.text)
    except OSError as error:
        told = f"{folder}: {error.strerror or error}"
        raise ArchspecError(told, help="--output names a folder that can be written to") from None
    return paths


def _report(outcome: Outcome) -> None:
    kinds = Counter(difference.kind for difference in outcome.differences)
    told = "".join(f"{count} {kind}, " for kind, count in kinds.items()).removesuffix(", ")
    compared = f"{outcome.compared} configs{'; ' + told if told else ''}"
    print(f"{outcome.verdict} {outcome.architecture} ({compared})", file=sys.stderr)
    for difference in outcome.differences[:_SHOWN]:
        config = {key: value for key, value in difference.config.items() if key != "model_type"}
        at = json.dumps(config, default=str)[:160]
        sides = f"the code {difference.expected[:120]!r}, the draft {difference.found[:120]!r}"
        print(f"  {difference.kind} {difference.name}: {sides}; {at}", file=sys.stderr)
