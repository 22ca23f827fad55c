"""`archspec solve`: the configs that come near a budget, each written out as a config.json."""

from __future__ import annotations

import os
import sys
from typing import Any

from archspec.cli.arguments import add_dtype, add_json, add_overwrite, needs, pairs, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.cli.verbs.sweep import add_class_and_config, add_grid, class_and_config, ties_of
from archspec.quantities import BUDGETS, QUANTITIES
from archspec.terminal import say, show


def add_arguments(takes: Arguments) -> None:
    add_class_and_config(takes)
    for name, quantity in QUANTITIES.items():
        if quantity.budget:
            takes.value(f"--{name.replace('_', '-')}", "N", quantity.budget)
    takes.value("--bytes", "N", "do not exceed this many bytes: 16GiB")
    add_dtype(takes)
    add_plan(takes)
    about_free = "the fields to choose (default: width, depth and feed-forward width; heads follow)"
    takes.value("--free", "FIELD,...", about_free, default="")
    takes.repeated("--multiple", "FIELD=N", "a free field is a multiple of N")
    takes.repeated("--ratio", "A/B=LOW..HIGH", "keep a ratio: hidden_size/num_hidden_layers=100..140")
    add_grid(takes)
    about_tolerance = "within this, the config's own proportions come first (1); 0: the nearest come first"
    takes.value("--tolerance", "PERCENT", about_tolerance, type=float)
    takes.value("--within", "PERCENT", "only what misses the budget by no more than this", type=float)
    takes.value("--top", "N", "how many configs (default: 10)", type=int, default=10)
    takes.value("--out", "FOLDER", "write each config to FOLDER/1/config.json, FOLDER/2/config.json, ...")
    add_overwrite(takes)
    add_json(takes)


def add_plan(takes: Arguments) -> None:
    """Budgets of training and serving."""
    takes.value("--flops", "F", "come near these FLOPs of training on --tokens tokens: 1e22")
    takes.value("--tokens", "T", "the tokens that --flops are for: 2e11")
    takes.value("--memory", "BYTES", "do not exceed this with weights and the cache: 80GiB")
    takes.value("--compute", "C", "come near the size that --law gives this compute: 1e21")
    about_law = "chinchilla (default), chinchilla-isoflop, chinchilla-parametric, besiroglu, kaplan"
    takes.value("--law", "NAME", about_law)
    takes.value("--sequence", "N", "positions of a sequence of --flops, of a cache of --memory (2048)",
                type=int)  # fmt: skip
    takes.value("--batch", "B", "sequences in the cache of --memory (1)", type=int, default=1)


def run(args: Values) -> int:
    from archspec.solving.budgets import Plan
    from archspec.solving.solve import solve
    from archspec.sweeping.files import refuse_existing

    needs(args, "--memory", "--batch")
    needs(args, "--out", "--overwrite")
    needs(args, "--flops or --memory", "--sequence", met=bool(args.flops or args.memory))
    needs(args, "--bytes, --memory or --json", "--dtype", met=bool(args.bytes or args.memory or args.json))
    source, architecture = class_and_config(args)
    budgets = {name: getattr(args, name) for name in BUDGETS}
    multiples: dict[str, Any] = pairs("--multiple", args.multiple, "--multiple hidden_size=128")
    plan = Plan(**{name: getattr(args, name) for name in Plan._fields})
    found = solve(
        source,
        args.free,
        dtype=args.dtype,
        set=args.set,
        multiple={
            name: int(text) if text.isascii() and text.isdecimal() else text
            for name, text in multiples.items()
        },
        ratio=pairs("--ratio", args.ratio, "--ratio hidden_size/num_hidden_layers=100..140"),
        tie=ties_of(args.tie),
        where=args.where,
        tolerance=args.tolerance,
        within=args.within,
        top=args.top,
        architecture=architecture,
        specs=args.specs,
        **plan._asdict(),
        **budgets,
    )
    folders = [os.path.join(args.out, str(rank)) for rank in range(1, len(found) + 1)] if args.out else []
    for folder in folders:
        refuse_existing(os.path.join(folder, "config.json"), args.overwrite)  # all or none are written
    paths = [one.save(folder, args.overwrite) for one, folder in zip(found, folders, strict=False)]
    if args.json:
        print_json(found.as_json(paths))
    else:
        show(found.blocks(paths))
    for note in found.notes:
        say(f"note: {note}", sys.stderr)
    return 0
