"""`archspec derive`: a spec drafted from the constructor of a class, and held to what the class builds."""

from __future__ import annotations

import os
import sys

from archspec.cli.arguments import add_json, add_overwrite, add_samples, excludes, needs, parsed, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.terminal import say


def add_arguments(takes: Arguments) -> None:
    names = "CLASS|MODEL_TYPE|MODULE:CLASS"
    takes.value("name", names, "a class of transformers, a model type, or your own class")
    about_config = "the config class of your own class, if not annotated"
    takes.value("--config", "MODULE:CLASS", about_config, default="")
    about_kwargs = "keyword arguments of your own class where it takes no config, e.g. dim=192,depth=6"
    takes.repeated("--kwargs", "NAME=VALUE,...", about_kwargs)
    about_output = "write <model_type>.yaml there, and those of its parts, instead of printing"
    takes.value("--output", "DIR", about_output)
    add_overwrite(takes)
    add_samples(takes, 10, "random configs to verify the draft with (10; 0: the default only)")
    takes.flag("--no-verify", "only draft")
    add_json(takes)


def run(args: Values) -> int:
    from archspec.authoring.derive import derive

    excludes(args, "--no-verify", "--samples", "--seed")
    needs(args, "--output", "--overwrite")
    found = derive(
        args.name,
        config=args.config,
        kwargs=parsed(args.kwargs),
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
