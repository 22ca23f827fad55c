"""`archspec solve`: the configs that come nearest a budget, each written out as a config.json."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from archspec.cli.arguments import add_class_and_config, add_json, add_repeated, class_and_config, print_json
from archspec.cli.verbs.sweep import add_grid, ties_of
from archspec.errors import SweepError
from archspec.quantities import BUDGETS, QUANTITIES

if TYPE_CHECKING:
    import argparse

    from archspec.solving.solve import Solution


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_class_and_config(parser)
    for name, quantity in QUANTITIES.items():
        if quantity.budget:
            add(f"--{name.replace('_', '-')}", metavar="N", help=quantity.budget)
    add("--bytes", metavar="N", help="do not exceed this many bytes: 16GiB")
    add("--dtype", help="the dtype of the bytes, e.g. bf16 (default: the config's own, else float32)")
    add("--free", metavar="FIELD,...", default="", help="the fields to choose")
    add_repeated(parser, "--multiple", "FIELD=N", "a free field is a multiple of N")
    about_ratio = "keep a ratio: hidden_size/num_hidden_layers=100..140"
    add_repeated(parser, "--ratio", "A/B=LOW..HIGH", about_ratio)
    add_grid(parser)
    about_within = "only what misses the budget by no more than this"
    add("--within", metavar="PERCENT", type=float, help=about_within)
    add("--top", metavar="N", type=int, default=10, help="how many configs (default: 10)")
    about_out = "write each config to FOLDER/1/config.json, FOLDER/2/config.json, ..."
    add("--out", metavar="FOLDER", help=about_out)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from archspec.solving.solve import solve

    source, architecture = class_and_config(args)
    budgets = {name: getattr(args, name) for name in BUDGETS}
    found = solve(
        source,
        args.free,
        dtype=args.dtype,
        fields=args.set,
        multiple=_multiples(args.multiple),
        ratio=_ratios(args.ratio),
        tie=ties_of(args.tie),
        where=args.where,
        within=args.within / 100 if args.within is not None else None,
        most=args.top,
        architecture=architecture,
        **budgets,
    )
    ranked = enumerate(found, 1) if args.out else ()
    paths = [solution.save(os.path.join(args.out, str(rank))) for rank, solution in ranked]
    if args.json:
        pairs = zip(found, paths or [""] * len(found), strict=True)
        print_json([_as_json(solution, path) for solution, path in pairs])
    else:
        asked = {name for name, budget in budgets.items() if budget is not None}
        _print(found, paths, asked)
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def _multiples(texts: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not number.strip().isdecimal() or int(number) < 1:
            help_ = "write --multiple hidden_size=128"
            raise SweepError(f"--multiple {text}: no positive whole number", help=help_)
        found[name.strip()] = int(number)
    return found


def _ratios(texts: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, span = text.rpartition("=")
        if not equals or not name.strip():
            help_ = "write --ratio hidden_size/num_hidden_layers=100..140"
            raise SweepError(f"--ratio {text}: no range", help=help_)
        found[name.strip()] = span.strip()
    return found


def _as_json(solution: Solution, path: str) -> dict[str, Any]:
    found = solution._asdict() | {"miss": float(solution.miss)}
    return found | ({"path": path} if path else {})


def _print(found: list[Solution], paths: list[str], asked: set[str]) -> None:
    from archspec.terminal import number, table

    names = list(found[0].values)
    telling = {"params"} | {"active_params" for one in found if one.active_params != one.params}
    shown = [name for name in BUDGETS if name in asked | telling]
    columns = [">rank", *(f">{name}" for name in [*names, *shown]), ">off", *(["config"] if paths else [])]
    rows = []
    for rank, one in enumerate(found, 1):
        values = [number(value) if type(value) is int else str(value) for value in one.values.values()]
        counts = [number(getattr(one, name)) for name in shown]
        off = f"{float(100 * one.miss):.3g}%"
        rows.append([str(rank), *values, *counts, off, *([paths[rank - 1]] if paths else [])])
    table("|".join(columns), rows)
