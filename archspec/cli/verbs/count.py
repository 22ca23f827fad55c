"""`archspec count`: the exact counts of one architecture at one config."""

from __future__ import annotations

from archspec.cli.arguments import add_dtype, add_model, load_model, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.errors import ArchspecError
from archspec.quantities import QUANTITIES
from archspec.specs.library import TRANSFORMERS_VERSION
from archspec.terminal import number, say, share, size, table
from archspec.tree.outline import shares
from archspec.tree.ties import tie_notes, tied_json
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.models.model import Model


def add_arguments(takes: Arguments) -> None:
    add_model(takes)
    add_dtype(takes)


def run(args: Values) -> int:
    model = load_model(args)
    found = report(model, args.dtype)
    print_json(found) if args.json else _print(found)
    return 0


def report(model: Model, dtype: str | None = None) -> dict[str, Any]:
    """The counts as plain data, as `--json` prints them."""
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
        "modules": [
            {"name": name, "params": params, "share": params / whole if whole else 0.0}
            for name, params in shares(model.root, tensors).items()
        ],
        "tied": tied_json(tensors),
        "notes": [*tie_notes(tensors, whole), *notes],
        "transformers_version": TRANSFORMERS_VERSION,
    }


def _print(found: dict[str, Any]) -> None:
    whole = found["params"]
    facts = [("architecture", found["architecture"]), ("model type", found["model_type"])]
    facts += [(quantity.title, number(found[name])) for name, quantity in QUANTITIES.items()]
    if found["bytes"] is not None:
        facts.append((f"bytes in {found['dtype']}", f"{number(found['bytes'])}  ({size(found['bytes'])})"))
    facts.append(("transformers", f"{found['transformers_version']} (the version that the specs describe)"))
    table("count|", facts, header=False)
    print()
    rows = [(m["name"], number(m["params"]), share(m["params"], whole)) for m in found["modules"]]
    table("module|>params|>share", rows)
    if found["notes"]:
        print()
    for note in found["notes"]:
        say(f"note: {note}")
