"""`archspec solve`: the configs that come nearest a budget, each written out as a config.json."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from archspec.cli.arguments import add_dtype, add_json, pairs, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.cli.verbs.sweep import add_class_and_config, add_grid, class_and_config, ties_of
from archspec.quantities import BUDGETS, QUANTITIES
from archspec.terminal import number, say, table

if TYPE_CHECKING:
    from archspec.solving.budgets import Plan
    from archspec.solving.solve import Solution


def add_arguments(takes: Arguments) -> None:
    add_class_and_config(takes)
    for name, quantity in QUANTITIES.items():
        if quantity.budget:
            takes.value(f"--{name.replace('_', '-')}", "N", quantity.budget)
    takes.value("--bytes", "N", "do not exceed this many bytes: 16GiB")
    add_dtype(takes)
    add_plan(takes)
    takes.value("--free", "FIELD,...", "the fields to choose", default="")
    takes.repeated("--multiple", "FIELD=N", "a free field is a multiple of N")
    takes.repeated("--ratio", "A/B=LOW..HIGH", "keep a ratio: hidden_size/num_hidden_layers=100..140")
    add_grid(takes)
    takes.value("--within", "PERCENT", "only what misses the budget by no more than this", type=float)
    takes.value("--top", "N", "how many configs (default: 10)", type=int, default=10)
    takes.value("--out", "FOLDER", "write each config to FOLDER/1/config.json, FOLDER/2/config.json, ...")
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
                type=int, default=2048)  # fmt: skip
    takes.value("--batch", "B", "sequences in the cache of --memory (1)", type=int, default=1)


def run(args: Values) -> int:
    from archspec.solving.budgets import Plan
    from archspec.solving.solve import solve

    source, architecture = class_and_config(args)
    budgets = {name: getattr(args, name) for name in BUDGETS}
    multiples: dict[str, Any] = pairs("--multiple", args.multiple, "--multiple hidden_size=128")
    plan = Plan(**{name: getattr(args, name) for name in Plan._fields})
    if args.compute is not None and not args.free:
        _print_law(plan, args.json)
        return 0
    found = solve(
        source,
        args.free,
        dtype=args.dtype,
        set=args.set,
        multiple={name: int(text) if text.isdecimal() else text for name, text in multiples.items()},
        ratio=pairs("--ratio", args.ratio, "--ratio hidden_size/num_hidden_layers=100..140"),
        tie=ties_of(args.tie),
        where=args.where,
        within=args.within,
        top=args.top,
        architecture=architecture,
        specs=args.specs,
        **plan._asdict(),
        **budgets,
    )
    paths = [""] * len(found)
    if args.out:
        paths = [one.save(os.path.join(args.out, str(rank))) for rank, one in enumerate(found, 1)]
    if args.json:
        print_json([_as_json(one, path) for one, path in zip(found, paths, strict=True)])
    else:
        if args.compute is not None:
            _print_law(plan, False)
            print()
        _print(found, paths, {name for name, budget in budgets.items() if budget is not None})
    for note in found.notes:
        say(f"note: {note}", sys.stderr)
    return 0


def _as_json(solution: Solution, path: str) -> dict[str, Any]:
    found = solution._asdict() | {"miss": float(solution.miss)}
    return found | ({"path": path} if path else {})


def _print_law(plan: Plan, as_json: bool) -> None:
    """The size and the tokens that a law gives the compute."""
    best = plan.optimum
    assert best is not None  # there is compute
    if as_json:
        print_json(best._asdict())
        return
    facts = [("law", best.law), ("source", best.source), ("compute", f"{best.compute:g}")]
    facts += [(f"N, {best.counts}", number(best.params)), ("D, tokens", number(best.tokens))]
    table("law|", facts, header=False)


def _print(found: list[Solution], paths: list[str], asked: set[str]) -> None:
    telling = {"params"} | {"active_params" for one in found if one.active_params != one.params}
    shown = [name for name in BUDGETS if name in asked | telling]
    costs = [name for name in found[0].costs if name not in shown]
    columns = ["rank", *found[0].values, *shown, *costs, "off"]
    rows = []
    for rank, (one, path) in enumerate(zip(found, paths, strict=True), 1):
        values = [number(value) if type(value) is int else str(value) for value in one.values.values()]
        counts = [number(getattr(one, name)) for name in shown]
        counts += [number(one.costs[name]) for name in costs]
        off = f"{float(100 * one.miss):.3g}%"
        rows.append([str(rank), *values, *counts, off, *([path] if path else [])])
    table("|".join([*(f">{name}" for name in columns), *(["config"] if any(paths) else [])]), rows)
