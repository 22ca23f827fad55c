"""`archspec solve`: the configs that come nearest a budget, each written out as a config.json."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from archspec.cli.arguments import MODEL_HELP, add_json, print_json
from archspec.cli.verbs.sweep import add_grid, ties_of
from archspec.errors import Problem, SweepError

if TYPE_CHECKING:
    import argparse

    from archspec.solving.solve import Solution


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="ARCH|CONFIG", help=MODEL_HELP)
    parser.add_argument(
        "config", nargs="?", help="the config, where the first argument is the class to count"
    )
    parser.add_argument(
        "--params", metavar="N", help="come near this many parameters (7e9, 1.3B), or stay within 6e9..7e9"
    )
    parser.add_argument(
        "--active-params", metavar="N", help="the same for the parameters that work on a token"
    )
    parser.add_argument("--bytes", metavar="N", help="do not exceed this many bytes: 16GiB")
    parser.add_argument(
        "--dtype", help="the dtype of the bytes, e.g. bf16 (default: the config's own, else float32)"
    )
    parser.add_argument("--free", metavar="FIELD,...", default="", help="the fields to choose")
    parser.add_argument(
        "--multiple", action="append", default=[], metavar="FIELD=N", help="a free field is a multiple of N"
    )
    parser.add_argument(
        "--ratio",
        action="append",
        default=[],
        metavar="A/B=LOW..HIGH",
        help="keep a ratio: hidden_size/num_hidden_layers=100..140",
    )
    add_grid(parser)
    parser.add_argument(
        "--within", metavar="PERCENT", type=float, help="only what misses the budget by no more than this"
    )
    parser.add_argument("--top", metavar="N", type=int, default=10, help="how many configs (default: 10)")
    parser.add_argument(
        "--out", metavar="FOLDER", help="write each config to FOLDER/1/config.json, FOLDER/2/config.json, ..."
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from archspec.solving.solve import solve

    source, architecture = (args.config, args.model) if args.config else (args.model, None)
    found = solve(
        source,
        args.free,
        params=args.params,
        active_params=args.active_params,
        bytes=args.bytes,
        dtype=args.dtype,
        fields=args.set,
        multiple=_multiples(args.multiple),
        ratio=_ratios(args.ratio),
        tie=ties_of(args.tie),
        where=args.where,
        within=args.within / 100 if args.within is not None else None,
        most=args.top,
        architecture=architecture,
    )
    paths = (
        [solution.save(os.path.join(args.out, str(rank))) for rank, solution in enumerate(found, 1)]
        if args.out
        else []
    )
    if args.json:
        print_json(
            [_plain(solution, path) for solution, path in zip(found, paths or [""] * len(found), strict=True)]
        )
    else:
        _print(found, paths, args.active_params is not None, args.bytes is not None)
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0


def _multiples(texts: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not number.strip().isdecimal() or int(number) < 1:
            raise SweepError(
                Problem(
                    f"--multiple {text}: no positive whole number", help="write --multiple hidden_size=128"
                )
            )
        found[name.strip()] = int(number)
    return found


def _ratios(texts: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, span = text.rpartition("=")
        if not equals or not name.strip():
            raise SweepError(
                Problem(
                    f"--ratio {text}: no range", help="write --ratio hidden_size/num_hidden_layers=100..140"
                )
            )
        found[name.strip()] = span.strip()
    return found


def _plain(solution: Solution, path: str) -> dict[str, Any]:
    found = solution._asdict() | {"miss": float(solution.miss)}
    return found | ({"path": path} if path else {})


def _print(found: list[Solution], paths: list[str], active: bool, size: bool) -> None:
    from archspec.terminal import number, table

    names = list(found[0].values)
    sizes = {
        "params": True,
        "active_params": active or any(one.active_params != one.params for one in found),
        "bytes": size,
    }
    shown = [name for name, wanted in sizes.items() if wanted]
    columns = [">rank", *(f">{name}" for name in [*names, *shown]), ">off", *(["config"] if paths else [])]
    rows = []
    for rank, one in enumerate(found, 1):
        values = [number(value) if type(value) is int else str(value) for value in one.values.values()]
        counts = [number(getattr(one, name)) for name in shown]
        off = f"{float(100 * one.miss):.3g}%"
        rows.append([str(rank), *values, *counts, off, *([paths[rank - 1]] if paths else [])])
    table("|".join(columns), rows)
