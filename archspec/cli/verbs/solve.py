"""`archspec solve`: configs that meet a budget, each printed or written as a config.json."""

from __future__ import annotations

import os
import sys
from typing import Any

from archspec.cli.command_line import Values
from archspec.cli.run import arguments, print_json
from archspec.cli.verbs.sweep import class_and_config, require
from archspec.terminal import say, show


def run(args: Values) -> int:
    """Print the configs, and write them to the directory that is given."""
    from archspec.solving.solve import solve
    from archspec.sweeping.files import refuse_existing

    require(args, "overwrite", "--out", bool(args.out))
    require(args, "sequence", "--flops or --memory", bool(args.flops or args.memory))
    require(args, "dtype", "--bytes, --memory or --json", bool(args.bytes or args.memory or args.json))
    source, architecture = class_and_config(args)
    options: dict[str, Any] = arguments(
        "solve", args, besides=("model", "config", "architecture", "overwrite")
    )
    if "multiple" in options:
        multiples = options["multiple"].items()
        options["multiple"] = {name: int(n) if n.isascii() and n.isdecimal() else n for name, n in multiples}
    found = solve(source, architecture=architecture, **options)
    folders = [os.path.join(args.out, str(rank)) for rank in range(1, len(found) + 1)] if args.out else []
    for folder in folders:
        refuse_existing(os.path.join(folder, "config.json"), args.overwrite)  # all files or none are written
    paths = [one.save(folder, args.overwrite) for one, folder in zip(found, folders, strict=False)]
    if args.json:
        print_json(found.as_json(paths))
    else:
        show(found.blocks(paths))
    for note in found.notes:
        say(f"note: {note}", sys.stderr)
    return 0
