"""The verbs that print more than a report: tree, tensors, sweep, solve, derive and lint."""

from __future__ import annotations

import os
import re
import signal
import sys

from archspec.cli.command_line import Values, combination_error, require
from archspec.cli.run import arguments, class_and_config, load_model, print_json
from archspec.errors import ArchspecError, SweepError
from archspec.tables.items import lengths_in
from archspec.terminal import number, print_report, print_sentence, progress, table
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.sweeping.sweep import Sweep
    from archspec.tree.tensors import Tensor

_NAMES = re.compile(r"[\w.,-]*")  # of modules, not a regular expression
_MEMORY = ("weights", "dtype", "optimizer", "checkpointing")  # options of a step with an adapter
_MOST_ROWS = 100_000  # rows are in memory until the widths of the columns are known


def tree(args: Values) -> int:
    """Print the module tree."""
    found = load_model(args).tree
    print_json(found.as_json(args.depth)) if args.json else print_report([found.table(args.depth)])
    return 0


def tensors(args: Values) -> int:
    """Print every parameter and persistent buffer as in torch, or the tensors of a GGUF file."""
    model = load_model(args)
    if args.weights is not None:
        from archspec.models.tree import FileTensors

        file = FileTensors(model, model.weights(args.weights))
        print_json(file.as_json()) if args.json else print_report(file.blocks())
        return 0
    if args.json:
        from archspec.models.report import data_of
        from archspec.models.tree import Tensors

        print_json(data_of(Tensors, model))
        return 0
    found = model.tensors()
    rows = [(one.name, str(one.shape), number(one.numel), _marks(one)) for one in found]
    parameters = sum(one.kind == "parameter" for one in found)
    caption = f"{parameters} parameters of {number(model.params)} elements, {len(found) - parameters} buffers"
    table("tensor|shape|>elements|", rows, title=model.architecture, caption=caption, header=False)
    return 0


def _marks(tensor: Tensor) -> str:
    kind = "buffer" if tensor.kind == "buffer" else "" if tensor.trainable else "frozen"
    return ", ".join(filter(None, [kind, tensor.tied_to and f"tied to {tensor.tied_to}"]))


def lora(args: Values) -> int:
    """Print the tensors of a LoRA adapter."""
    options = arguments("lora", args, without=("model", "architecture", "set", "specs"))
    for name in ("target_modules", "exclude_modules", "modules_to_save", "target_parameters"):
        if name in options and (name == "modules_to_save" or _NAMES.fullmatch(options[name])):
            options[name] = options[name].split(",")  # any other text is a regular expression
    if options.get("target_modules") == ["all-linear"]:
        options["target_modules"] = "all-linear"
    for name, value in options.get("rank_pattern", {}).items():
        options["rank_pattern"][name] = _as_int(value, "--rank-pattern")
    if "layers_to_transform" in options:
        layers = options["layers_to_transform"].split(",")
        options["layers_to_transform"] = [_as_int(one, "--layers") for one in layers]
    with_memory = args.train or args.budget is not None
    for name in _MEMORY:
        require(args, name, "--train or --budget", with_memory)
    for name in ("batch", "encoder_tokens") if with_memory else ():
        require(args, name, "--tokens", args.tokens)
    adapter = load_model(args).lora(**options)
    adapter.lengths = lengths_in(vars(args))
    more = {name: getattr(args, name) for name in (*_MEMORY, "budget")}
    found = adapter.memory(**adapter.lengths, **more) if with_memory else adapter
    print_json(found.as_json()) if args.json else print_report(found.blocks())
    return 0


def _as_int(text: str, flag: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ArchspecError(f"{flag}: {text!r} is not an integer", help=f"write integers after {flag}")
    return int(text)


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
        _write_grid(args, grid)
    else:
        _print_grid(args, grid)
    return 0


def _grid(args: Values, source: Any, architecture: str | None) -> Sweep:
    from archspec.sweeping.sweep import sweep

    if not args.set:
        example = args.config if "=" in (args.config or "") else "num_hidden_layers=2:96"
        raise SweepError("nothing is swept", help=f"pass values for at least one field, e.g. --set {example}")
    options = arguments("sweep", args, without=("model", "architecture", "where"))
    where = args.where[0] if len(args.where) == 1 else args.where
    return sweep(source, options.pop("set"), architecture=architecture, where=where, **options)


def _write_grid(args: Values, grid: Sweep) -> None:
    from archspec.sweeping.files import refuse_existing

    for path in filter(None, (args.out, args.plot)):
        refuse_existing(path, args.overwrite)
    if args.out:
        with progress("sweeping") as show:
            rows = grid.write(args.out, show, args.yes, args.overwrite, args.csv_safe)
        _print_notes(f"{args.out}: {rows:,} rows", *grid.remarks())
    if args.plot:
        others = [_grid(args, model, None) for model in args.overlay]
        grid.plot(args.plot, args.kind, args.log, others, args.overwrite)
        _print_notes(args.plot)
    _print_notes(*grid.notes)


def _print_grid(args: Values, grid: Sweep) -> None:
    from archspec.sweeping.files import check_size, write_lines

    if not 0 <= args.rows <= _MOST_ROWS:
        help_ = f"pass --rows 0 to {_MOST_ROWS}, or write all rows with --out FILE"
        raise SweepError(f"--rows {args.rows} is out of range", help=help_)
    if args.json:
        check_size(grid.points, args.yes)
        with progress("sweeping") as show:
            write_lines(grid.batches(None if sys.stdout.isatty() else show), sys.stdout)
        _print_notes(*grid.remarks(), *grid.notes)
        return
    with progress("sweeping") as show:
        found = grid.head(args.rows, args.yes, show)
    table(*found.table())
    more = f"{found.more}; use --rows N to print more, or --out FILE to write all" if found.more else ""
    _print_notes(*filter(None, [more]), *found.remarks)


def _print_notes(*notes: str) -> None:
    for note in notes:
        print_sentence(note, sys.stderr)


def solve(args: Values) -> int:
    """Print configs that meet a budget, and write them to the directory that is given."""
    from archspec.solving.solve import solve
    from archspec.sweeping.files import refuse_existing

    require(args, "overwrite", "--out", args.out)
    require(args, "sequence", "--flops or --memory", args.flops or args.memory)
    require(args, "dtype", "--bytes, --memory or --json", args.bytes or args.memory or args.json)
    source, architecture = class_and_config(args)
    options: dict[str, Any] = arguments("solve", args, without=("model", "architecture"))
    for name, step in options.get("multiple", {}).items():
        options["multiple"][name] = int(step) if step.isascii() and step.isdecimal() else step
    found = solve(source, architecture=architecture, **options)
    folders = [os.path.join(args.out, str(rank)) for rank in range(1, len(found) + 1)] if args.out else []
    for folder in folders:
        refuse_existing(os.path.join(folder, "config.json"), args.overwrite)  # all files or none are written
    for one, folder in zip(found, folders, strict=False):
        one.save(folder, args.overwrite)
    print_json(found.as_json()) if args.json else print_report(found.blocks())
    _print_notes(*(f"note: {note}" for note in found.notes))
    return 0


def derive(args: Values) -> int:
    """Print or write a spec drafted from the constructor of a class, with its validation."""
    from archspec.authoring.derive import derive

    require(args, "overwrite", "--output", args.output)
    check_samples(args)
    found = derive(verify=not args.no_verify, **arguments("derive", args))
    if args.json:
        print_json(found.as_json())
    elif args.output:
        print("\n".join(os.path.join(args.output, f"{model_type}.yaml") for model_type in found.drafts))
    else:
        print(found)
    _print_notes(*found.verdicts())
    return 1 if found.has_differences else 0


def check_samples(args: Values) -> None:
    """Raise an :class:`ArchspecError` for a negative number of random configs."""
    if args.samples < 0:
        message = f"--samples must be an integer of at least 0, not {args.samples}"
        raise ArchspecError(message, help="pass --samples 0 or more; 0 verifies the default config only")


def lint(args: Values) -> int:
    """Print the problems of spec files, or the JSON Schema of such files."""
    if args.schema:
        if args.files:
            raise combination_error("--schema", "files")
        from archspec.linting.schema import text

        print(text(), end="")
        return 0
    from archspec.linting.files import lint

    found = lint(**arguments("lint", args))
    print_json(found.as_json()) if args.json else print_report(found.blocks())
    return 2 if found else 0
