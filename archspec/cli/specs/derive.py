"""`archspec derive`: a spec drafted from the constructor of a class, and validated against the class."""

from __future__ import annotations

import os
import sys

from archspec.cli.command_line import Values
from archspec.cli.run import parse_settings, print_json
from archspec.errors import ArchspecError
from archspec.terminal import say


def run(args: Values) -> int:
    from archspec.authoring.derive import derive

    if args.overwrite and not args.output:
        raise ArchspecError(
            "--overwrite has no effect without --output", help="add --output, or leave it out"
        )
    if args.samples < 0:
        message = f"--samples {args.samples} is negative"
        raise ArchspecError(message, help="--samples 0 verifies the default config only")
    found = derive(
        args.name,
        config=args.config,
        kwargs=parse_settings(args.kwargs),
        output=args.output,
        samples=args.samples,
        seed=args.seed,
        verify=not args.no_verify,
        overwrite=args.overwrite,
    )
    if args.json:
        print_json(found.as_json())
    elif args.output:
        print("\n".join(os.path.join(args.output, f"{model_type}.yaml") for model_type in found.drafts))
    else:
        print(found)
    for line in found.verdicts():
        say(line, sys.stderr)
    return 1 if found.wrong else 0
