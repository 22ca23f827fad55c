"""`archspec sweep`: exact counts over a grid of configs, to a table, a file, a picture, or as a SQL query."""

from __future__ import annotations

import signal
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

from archspec.cli.arguments import MODEL_HELP, add_dtype, add_json, add_specs, given, pairs
from archspec.cli.command_line import Arguments, Values
from archspec.errors import SweepError
from archspec.quantities import COST_COLUMNS, QUANTITIES
from archspec.terminal import progress, table

if TYPE_CHECKING:
    from archspec.sweeping.sweep import Sweep

LENGTHS = ("batch", "tokens", "past", "memory")
_SHOWN = 40  # rows, unless --rows says otherwise


def add_arguments(takes: Arguments) -> None:
    add_class_and_config(takes)
    add_grid(takes)
    about_columns = "bytes, a field, an expression over these, or name=expression (default: params)"
    takes.value("--columns", "A,B,...", f"{', '.join(QUANTITIES)}, {about_columns}", default="params")
    add_dtype(takes)
    about_costs = f"of the call whose costs columns may name: {', '.join(COST_COLUMNS)}"
    takes.value("--batch", "B", f"sequences {about_costs}", type=int)
    takes.value("--tokens", "N", "positions that this call computes (2048)", type=int)
    takes.value("--past", "P", "positions in its cache before (0)", type=int)
    takes.value("--memory", "M", "positions of its encoder (512)", type=int)
    takes.value("--out", "FILE", "write all rows to a .csv, .parquet, .jsonl or .arrow file")
    takes.value("--plot", "FILE", "draw the sweep as a .png, .svg or .html file")
    takes.value("--kind", None, "what to draw: auto (default), lines, contour or pareto", default="auto")
    about_sql = "print a SQL query: duckdb (default) or spark"
    takes.value("--sql", "DIALECT", about_sql, nargs="?", const="duckdb")
    takes.value("--table", "NAME", "with --sql: read the swept fields from this table, a column each")
    takes.flag("--wide", "integers as decimals of 38 digits")
    takes.value("--rows", "N", f"how many rows to print (default: {_SHOWN})", type=int, default=_SHOWN)
    add_json(takes)


def add_class_and_config(takes: Arguments) -> None:
    """`ARCH CONFIG`, or one of both, and `--specs`."""
    takes.value("model", "ARCH|CONFIG", MODEL_HELP)
    takes.value("config", None, "the config, where the first argument is the class to count", nargs="?")
    add_specs(takes)


def class_and_config(args: Values) -> tuple[Any, str | None]:
    """The source of a config and the architecture that :func:`add_class_and_config` has read."""
    return (given(args.config), args.model) if args.config else (given(args.model), None)


def add_grid(takes: Arguments) -> None:
    """`--set`, `--tie` and `--where`."""
    values = "first:last, first:last:step, first:last:*factor (ends included), or a,b,c"
    takes.repeated("--set", "FIELD=VALUES", f"the values of a field: {values}")
    about_tie = "a field that follows others: intermediate_size=4*hidden_size"
    takes.repeated("--tie", "FIELD=EXPRESSION", about_tie)
    takes.repeated("--where", "CONDITION", 'keep these points: "params < 7e9"')


def ties_of(texts: list[str]) -> dict[str, str]:
    return pairs("--tie", texts, "field=expression, e.g. intermediate_size=4*hidden_size")


def run(args: Values) -> int:
    signal.signal(signal.SIGTERM, _stop)  # so that a file that is half written disappears
    grid = _sweep(args)
    if args.sql:
        print(grid.sql(args.sql, args.table))
        return 0
    if args.table:
        raise SweepError("--table is the table of a SQL query", help="ask for one with --sql")
    if args.rows < 0:
        help_ = "0 prints none; --out FILE writes all"
        raise SweepError(f"--rows {args.rows}: no number of rows", help=help_)
    if args.out:
        with progress("sweeping") as show:
            rows = grid.write(args.out, show)
        print(f"{args.out}: {rows:,} rows", file=sys.stderr)
    if args.plot:
        grid.plot(args.plot, args.kind)
        print(args.plot, file=sys.stderr)
    if not args.out and not args.plot:
        _json(grid) if args.json else _print(grid, args.rows)
    if not args.plot or args.out:
        _say(grid)
    return 0


def _stop(*_: Any) -> NoReturn:
    raise SystemExit(143)


def _sweep(args: Values) -> Sweep:
    from archspec.sweeping.sweep import sweep

    if not args.set:
        help_ = "give at least one field its values: --set num_hidden_layers=2:96"
        raise SweepError("nothing is swept", help=help_)
    source, architecture = class_and_config(args)
    conditions = args.where if len(args.where) < 2 else [f"({condition})" for condition in args.where]
    return sweep(
        source,
        args.set,
        architecture=architecture,
        columns=args.columns,
        tie=ties_of(args.tie),
        where=" and ".join(conditions) if conditions else None,
        dtype=args.dtype,
        wide=args.wide,
        specs=args.specs,
        **{name: value for name in LENGTHS if (value := getattr(args, name)) is not None},
    )


def _json(grid: Sweep) -> None:
    from archspec.sweeping.files import write_lines

    with progress("sweeping") as show:
        write_lines(grid.batches(None if sys.stdout.isatty() else show), sys.stdout)


def _print(grid: Sweep, limit: int) -> None:
    rows: list[list[str]] = []
    total = 0
    with progress("sweeping") as show:
        for batch in grid.batches(show):
            taken = batch.slice(0, max(0, limit - len(rows)))
            rows += [[_shown(value) for value in row.values()] for row in taken.to_pylist()]
            total += batch.num_rows
    table("|".join(f">{name}" for name in grid.schema.names), rows)
    if total > len(rows):
        print(f"{total - len(rows):,} more rows; --rows prints more, --out FILE writes all", file=sys.stderr)


def _shown(value: Any) -> str:
    if type(value) in (int, Decimal):
        return f"{value:,}"
    return f"{value:.6g}" if type(value) is float else str(value)


def _say(grid: Sweep) -> None:
    """How many points have no row, and why."""
    if grid.filtered:
        print(f"{grid.filtered:,} points are left out by --where", file=sys.stderr)
    total = sum(grid.refused.values())
    if total:
        reason = max(grid.refused, key=lambda text: grid.refused[text])
        refused = f"{total:,} of {grid.points:,} points are refused"
        print(f"{refused}; most of them as here: {reason}", file=sys.stderr)
