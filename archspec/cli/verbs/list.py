"""`archspec list`: what is described."""

from __future__ import annotations

from collections.abc import Iterator

from archspec.cli.arguments import add_json, add_specs, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.errors import Problem, UnknownArchitectureError, did_you_mean
from archspec.specs.library import Library
from archspec.specs.search_path import is_own, library_of
from archspec.terminal import say, table


def add_arguments(takes: Arguments) -> None:
    takes.value("filter", "TEXT", "only names that contain this text", nargs="?", default="")
    add_specs(takes)
    add_json(takes)


def run(args: Values) -> int:
    library = library_of(args.specs)
    library.widen()
    found = library.catalogue()
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
        missing = Problem(f"nothing that is described contains {args.filter!r}", help=help_)
        raise UnknownArchitectureError([missing, *library.unread])
    if args.json:
        print_json(shown)
        return 0
    none = "(refused, or a part of others)"
    rows = [(model_type, " ".join(names) or none) for model_type, names in shown.items()]
    caption = f"{sum(map(len, shown.values()))} architectures of {len(shown)} model types"
    table("model type|architectures", rows, caption=caption, header=False)
    for line in _of_ones_own(library, shown):
        say(line)
    return 0


def _of_ones_own(library: Library, shown: dict[str, list[str]]) -> Iterator[str]:
    """Where those stand that are not shipped, what they are in place of, and what is wrong with others."""
    for model_type in shown:
        first, *others = library.hidden(model_type)
        if is_own(library, model_type):
            hidden = "".join(f", in place of {one}" for one in others)
            yield f"note: {model_type} is described in {first}{hidden}"
    for problem in library.unread:
        yield f"note: {problem}"
