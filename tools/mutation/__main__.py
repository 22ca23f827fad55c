"""`python -m tools.mutation bert`: prints the alterations that are not found, or whose line is not named.

The exit code is 1 if an alteration was not found.
"""

from __future__ import annotations

import argparse
import sys

from archspec.errors import ArchspecError
from archspec.verifying import campaign
from archspec.verifying.pool import Failure, cores, spread
from tools.mutation.bench import Summary, summary
from tools.mutation.hosts import without_architectures


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        "python -m tools.mutation", description="Alters each line of specs once."
    )
    parser.add_argument("names", nargs="*", metavar="ARCHITECTURE|MODEL_TYPE", help="whose lines")
    parser.add_argument("--all", action="store_true", help="every spec and shared part")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the seed of the random configs (0)")
    parser.add_argument("--jobs", type=int, default=0, metavar="J", help="processes (one a core)")
    args = parser.parse_args(arguments)
    if bool(args.names) == args.all:
        parser.error("give names, or --all")
    try:
        chosen = (
            [*campaign.everything(), *without_architectures()] if args.all else campaign.named(args.names)
        )
    except ArchspecError as error:
        parser.error(str(error))
    tasks = [(name, args.seed) for name in chosen]
    whole, failures = Summary(0, 0, 0, 0, []), 0
    for task, result in spread(summary, tasks, args.jobs or cores(), ("torch", "transformers")):
        if isinstance(result, Failure):
            failures += 1
            print(f"{task[0]}: {result.message}")
            continue
        whole = Summary(*(one + other for one, other in zip(whole, result, strict=True)))
        print("\n".join(result.lines), end="\n" if result.lines else "")
    missed = whole.total - whole.found - whole.hidden
    hidden = f"{whole.hidden} of no tensor that counts (a tied shape, a class name, experts at work)"
    print(f"{whole.total} alterations: {whole.found} found, {whole.named} of them by their line; ", end="")
    print(f"{hidden}, {missed} missed")
    return 1 if missed or failures else 0


if __name__ == "__main__":
    sys.exit(main())
