"""`archspec sweep`: exact counts over a grid of configs, to a table, a file, a picture, or as a SQL query."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from archspec.cli.arguments import (
    MODEL_HELP,
    add_dtype,
    add_json,
    add_overwrite,
    add_specs,
    excludes,
    given,
    needs,
    pairs,
)
from archspec.cli.command_line import Arguments, Values
from archspec.cli.costs.lengths import USUAL
from archspec.errors import SweepError
from archspec.quantities import COST_COLUMNS, QUANTITIES
from archspec.terminal import progress, say, table

if TYPE_CHECKING:
    from archspec.sweeping.sweep import Sweep

LENGTHS = ("batch", "tokens", "past", "encoder_tokens")
_SHOWN = 40  # rows, unless --rows says otherwise
_MOST_SHOWN = 100_000  # rows are held until the widths of the columns are known


def add_arguments(takes: Arguments) -> None:
    add_class_and_config(takes)
    add_grid(takes)
    about_columns = "bytes, a field, an expression over these, or name=expression (default: params)"
    takes.value("--columns", "A,B,...", f"{', '.join(QUANTITIES)}, {about_columns}", default="params")
    add_dtype(takes)
    about_costs = f"of the call whose costs columns may name: {', '.join(COST_COLUMNS)}"
    takes.value("--batch", "B", f"sequences {about_costs}", type=int)
    takes.value(
        "--tokens",
        "N",
        f"positions that this call computes {USUAL}",
        type=int,
    )
    takes.value("--past", "P", "positions in its cache before (default: 0)", type=int)
    takes.value("--encoder-tokens", "M", "positions of its encoder; required if it has one", type=int)
    takes.value("--out", "FILE", "write all rows to a .csv, .parquet, .jsonl or .arrow file")
    takes.value("--plot", "FILE", "draw the sweep as a .png, .svg, .pdf or .html file")
    add_overwrite(takes)
    about_safe = "with --out FILE.csv: put ' before text cells that start with =, +, - or @"
    takes.flag("--csv-safe", about_safe)
    takes.value("--kind", None, "what to draw: auto (default), lines, contour or pareto", default="auto")
    takes.value("--log", "AXES", "with --plot: the axes that are logarithmic, x, y or xy", default="")
    takes.repeated("--beside", "ARCH|CONFIG", "with --plot: a model to draw in the same picture")
    about_sql = "print a SQL query: duckdb (default) or spark"
    takes.value("--sql", "DIALECT", about_sql, nargs="?", const="duckdb")
    takes.value("--table", "NAME", "with --sql: read the swept fields from this table, a column each")
    takes.flag("--wide", "with --out to .parquet or .arrow: integers as decimals of 38 digits")
    takes.flag("--yes", "go ahead with what takes more than a minute, or than is free of the disk")
    takes.value("--rows", "N", f"how many rows to print (default: {_SHOWN})", type=int, default=_SHOWN)
    add_json(takes)


def add_class_and_config(takes: Arguments) -> None:
    """`ARCH CONFIG`, or one of both, `--architecture` and `--specs`."""
    takes.value("model", "ARCH|CONFIG", MODEL_HELP)
    takes.value("config", None, "the config, where the first argument is the class to count", nargs="?")
    takes.value("--architecture", "CLASS", "the class to count, where the first argument is the config")
    add_specs(takes)


def class_and_config(args: Values) -> tuple[Any, str | None]:
    """The source of a config and the architecture that :func:`add_class_and_config` has read."""
    if args.config and args.architecture:
        raise SweepError(f"{args.model} and {args.architecture}: two classes", help="give one of them")
    return (given(args.config), args.model) if args.config else (given(args.model), args.architecture)


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
    _check_outputs(args)
    grid = _sweep(args, *class_and_config(args))
    if args.sql:
        print(grid.sql(args.sql, args.table))
        return 0
    if not 0 <= args.rows <= _MOST_SHOWN:
        help_ = f"up to {_MOST_SHOWN:,} are printed; --out FILE writes all"
        raise SweepError(f"--rows {args.rows}: no number of rows to print", help=help_)
    _write(args, grid)
    if args.json and not args.out and not args.plot:
        _print_lines(grid, args.yes)
    if not args.json and not args.out and not args.plot:
        _print(grid, args.rows, args.yes)
    return 0


def _check_outputs(args: Values) -> None:
    """Errors: :class:`ArchspecError` for an option that has no effect on what is printed or written."""
    needs(args, "--sql", "--table")
    excludes(args, "--sql", "--out", "--plot", "--json", "--rows", "--yes")
    needs(args, "--plot", "--kind", "--log", "--beside")
    for other in ("--out", "--plot"):
        excludes(args, other, "--json", "--rows")
    excludes(args, "--json", "--rows")
    binary = (args.out or "").endswith((".parquet", ".arrow"))
    needs(args, "--out FILE.parquet or FILE.arrow", "--wide", met=binary)
    needs(args, "--out or --plot", "--overwrite", met=bool(args.out or args.plot))
    needs(args, "--out FILE.csv", "--csv-safe", met=(args.out or "").lower().endswith(".csv"))


def _write(args: Values, grid: Sweep) -> None:
    """Writes the table and the picture that are asked for."""
    from archspec.sweeping.files import refuse_existing

    for path in filter(None, (args.out, args.plot)):
        refuse_existing(path, args.overwrite)
    if args.out:
        with progress("sweeping") as show:
            rows = grid.write(args.out, show, args.yes, args.overwrite, args.csv_safe)
        say(f"{args.out}: {rows:,} rows", sys.stderr)
        _say(grid.remarks())
    if args.plot:
        others = [_sweep(args, given(model), None) for model in args.beside]
        grid.plot(args.plot, args.kind, args.log, others, args.overwrite)
        say(args.plot, sys.stderr)
    if args.out or args.plot:
        _say(grid.notes)


def _stop(*_: Any) -> NoReturn:
    raise SystemExit(143)


def _sweep(args: Values, source: Any, architecture: str | None) -> Sweep:
    from archspec.sweeping.sweep import sweep

    if not args.set:
        example = args.config if "=" in (args.config or "") else "num_hidden_layers=2:96"
        raise SweepError("nothing is swept", help=f"give at least one field its values: --set {example}")
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


def _print_lines(grid: Sweep, yes: bool) -> None:
    from archspec.sweeping.files import write_lines
    from archspec.sweeping.limits import check_writing

    if not yes:
        check_writing(grid.table, ".jsonl", _descriptor(sys.stdout), "to print all")
    with progress("sweeping") as show:
        write_lines(grid.batches(None if sys.stdout.isatty() else show), sys.stdout)
    _say([*grid.remarks(), *grid.notes])


def _descriptor(stream: TextIO) -> int:
    """The number by which the system knows a stream; -1 for one that it does not know."""
    try:
        return stream.fileno()
    except OSError:
        return -1


def _print(grid: Sweep, rows: int, yes: bool) -> None:
    with progress("sweeping") as show:
        found = grid.head(rows, yes, show)
    table(*found.table())
    _say([f"{found.more}; --rows prints more, --out FILE writes all"] if found.more else [])
    _say(found.remarks)


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        say(line, sys.stderr)
