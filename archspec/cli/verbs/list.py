"""`archspec list`: what is described."""

from __future__ import annotations

from archspec.cli.arguments import add_json, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.errors import UnknownArchitectureError, did_you_mean
from archspec.specs.library import shipped
from archspec.terminal import table


def add_arguments(takes: Arguments) -> None:
    takes.value("filter", "TEXT", "only names that contain this text", nargs="?", default="")
    add_json(takes)


def run(args: Values) -> int:
    found = shipped().catalogue()
    wanted = args.filter.lower()
    shown: dict[str, list[str]] = {}
    for model_type, names in found.items():
        fitting = [name for name in names if wanted in name.lower()]
        if wanted in model_type.lower():
            shown[model_type] = list(names)
        elif fitting:
            shown[model_type] = fitting
    if not shown:
        help_ = did_you_mean(args.filter, [*found, *(name for names in found.values() for name in names)])
        raise UnknownArchitectureError(f"nothing that is described contains {args.filter!r}", help=help_)
    if args.json:
        print_json(shown)
        return 0
    none = "(refused, or a part of others)"
    rows = [(model_type, " ".join(names) or none) for model_type, names in shown.items()]
    caption = f"{sum(map(len, shown.values()))} architectures of {len(shown)} model types"
    table("model type|architectures", rows, caption=caption, header=False)
    return 0
