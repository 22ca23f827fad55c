"""`archspec count`: the exact counts of one architecture at one config."""

from __future__ import annotations

from archspec.cli.arguments import add_dtype, add_model, load_model, natural, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.errors import ArchspecError
from archspec.quantities import QUANTITIES
from archspec.specs.library import TRANSFORMERS_VERSION
from archspec.terminal import number, say, share, size, table
from archspec.tree.overview import Part, every_row, overview, rows
from archspec.tree.ties import tie_notes, tied_json
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.models.model import Model


def add_arguments(takes: Arguments) -> None:
    add_model(takes)
    add_dtype(takes)
    about_depth = "all modules down to level N (default: those that show where the parameters are)"
    takes.value("--depth", "N", about_depth, type=natural)


def run(args: Values) -> int:
    model = load_model(args)
    found = report(model, args.dtype)
    parts = overview(model.root, model.tensors(), args.depth)
    if args.json:
        print_json({**found, "modules": [_as_json(part, found["params"]) for part in parts]})
    else:
        _print(found, rows(parts) if args.depth is None else list(every_row(parts)))
    return 0


def report(model: Model, dtype: str | None = None) -> dict[str, Any]:
    """The counts as plain data, but for the modules."""
    tensors, notes = model.tensors(), model.notes
    counts = {name: model.count(name) for name in QUANTITIES}
    size_at: int | None = None
    try:
        size_at = model.params_bytes(dtype)
    except ArchspecError as error:
        if dtype is not None:
            raise
        notes.append(f"bytes: {error}; choose one with --dtype")
    whole = counts["params"]
    return {
        "architecture": model.architecture,
        "model_type": model.model_type,
        **counts,
        "dtype": dtype or model.dtype,
        "bytes": size_at,
        "modules": [],
        "tied": tied_json(tensors),
        "notes": [*tie_notes(tensors, whole), *notes],
        "transformers_version": TRANSFORMERS_VERSION,
    }


def _as_json(part: Part, whole: int) -> dict[str, Any]:
    return {
        "name": part.name,
        "copies": part.copies,
        "params": part.params,
        "share": part.params / whole if whole else 0.0,
        "children": [_as_json(child, whole) for child in part.children],
    }


def _print(found: dict[str, Any], shown: list[tuple[int, Part]]) -> None:
    whole = found["params"]
    facts = [("architecture", found["architecture"]), ("model type", found["model_type"])]
    facts += [(quantity.title, number(found[name])) for name, quantity in QUANTITIES.items()]
    if found["bytes"] is not None:
        facts.append((f"bytes in {found['dtype']}", f"{number(found['bytes'])}  ({size(found['bytes'])})"))
    facts.append(("transformers", f"{found['transformers_version']} (the version that the specs describe)"))
    table("count|", facts, header=False)
    if shown:
        print()
        table("module|>params|>share|>each", [_row(level, part, whole) for level, part in shown])
    if found["notes"]:
        print()
    for note in found["notes"]:
        say(f"note: {note}")


def _row(level: int, part: Part, whole: int) -> tuple[str, ...]:
    """A module with its parameters, those of all copies and of one; a number for a name says little."""
    number_alone = part.cls and part.copies == 1 and part.name[-1:].isdecimal()
    label = f"{part.name} ({part.cls})" if number_alone else part.name
    times = f" × {part.copies}" if part.copies > 1 else ""
    each = number(part.each) if part.places > 1 and part.each is not None else ""
    return "  " * level + label + times, number(part.params), share(part.params, whole), each
