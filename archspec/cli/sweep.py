"""`archspec sweep`: exact counts over a grid of configs, as a table, a file, a picture, or a SQL query."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from archspec.cli.command_line import Values, require
from archspec.cli.run import arguments, class_and_config
from archspec.errors import SweepError
from archspec.terminal import print_sentence, progress, table

if TYPE_CHECKING:
    from archspec.sweeping.sweep import Sweep

_MOST_SHOWN = 100_000  # rows are in memory until the widths of the columns are known


def sweep(args: Values) -> int:
    """Write the grid to files, or print its SQL, its JSON or its first rows."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that incomplete files are removed
    out = (args.out or "").lower()
    require(args, "wide", "--out FILE.parquet or FILE.arrow", out.endswith((".parquet", ".arrow")))
    require(args, "overwrite", "--out or --plot", args.out or args.plot)
    require(args, "csv_safe", "--out FILE.csv", out.endswith(".csv"))
    grid = _grid(args, *class_and_config(args))
    if args.sql:
        print(grid.sql(args.sql, args.table))
    elif args.out or args.plot:
        _write(args, grid)
    else:
        _print(args, grid)
    return 0


def _grid(args: Values, source: Any, architecture: str | None) -> Sweep:
    from archspec.sweeping.sweep import sweep

    if not args.set:
        example = args.config if "=" in (args.config or "") else "num_hidden_layers=2:96"
        raise SweepError("nothing is swept", help=f"pass values for at least one field, e.g. --set {example}")
    options = arguments("sweep", args, without=("model", "architecture", "where"))
    where = args.where[0] if len(args.where) == 1 else args.where
    return sweep(source, options.pop("set"), architecture=architecture, where=where, **options)


def _write(args: Values, grid: Sweep) -> None:
    from archspec.sweeping.files import refuse_existing

    for path in filter(None, (args.out, args.plot)):
        refuse_existing(path, args.overwrite)
    if args.out:
        with progress("sweeping") as show:
            rows = grid.write(args.out, show, args.yes, args.overwrite, args.csv_safe)
        _print_notes([f"{args.out}: {rows:,} rows", *grid.remarks()])
    if args.plot:
        others = [_grid(args, model, None) for model in args.overlay]
        grid.plot(args.plot, args.kind, args.log, others, args.overwrite)
        _print_notes([args.plot])
    _print_notes(grid.notes)


def _print(args: Values, grid: Sweep) -> None:
    from archspec.sweeping.files import check_size, write_lines

    if not 0 <= args.rows <= _MOST_SHOWN:
        help_ = f"pass --rows 0 to {_MOST_SHOWN}, or write all rows with --out FILE"
        raise SweepError(f"--rows {args.rows} is out of range", help=help_)
    if args.json:
        check_size(grid.points, args.yes)
        with progress("sweeping") as show:
            write_lines(grid.batches(None if sys.stdout.isatty() else show), sys.stdout)
        _print_notes([*grid.remarks(), *grid.notes])
        return
    with progress("sweeping") as show:
        found = grid.head(args.rows, args.yes, show)
    table(*found.table())
    _print_notes(
        [f"{found.more}; use --rows N to print more, or --out FILE to write all"] if found.more else []
    )
    _print_notes(found.remarks)


def _print_notes(lines: Iterable[str]) -> None:
    for line in lines:
        print_sentence(line, sys.stderr)
