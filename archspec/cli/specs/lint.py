"""`archspec lint FILE...`: spec files checked whole."""

from __future__ import annotations

import os
from functools import cache

from archspec.cli.arguments import add_json, add_specs, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.errors import ConfigError, Problem
from archspec.specs.library import folder
from archspec.specs.search_path import library_of


def add_arguments(takes: Arguments) -> None:
    about_files = "spec files, or folders of them (default: those of --specs, or all that are shipped)"
    takes.value("files", "FILE", about_files, nargs="*")
    add_specs(takes)
    takes.flag("--schema", "print the JSON Schema of spec files, for editors")
    add_json(takes)


def run(args: Values) -> int:
    if args.schema:
        from archspec.linting.schema import text

        print(text(), end="")
        return 0
    from archspec.linting.checks import everything, lint

    names = args.files or args.specs
    files = [file for name in names for file in _files(name)] if names else everything()
    library = cache(lambda own: library_of([*args.specs, *own]))
    found = [problem for file in files for problem in lint(file, library(_beside(file)))]
    if args.json:
        print_json({"files": len(files), "problems": [_as_json(problem) for problem in found]})
    else:
        for problem in found:
            print(problem)
        counts = ((len(files), "file"), (len(found), "problem"))
        print(", ".join(f"{number or 'no'} {what}{'' if number == 1 else 's'}" for number, what in counts))
    return 2 if found else 0


def _beside(file: str) -> tuple[str, ...]:
    """The folder of a spec of one's own: what it names may stand there, too."""
    home = os.path.dirname(os.path.abspath(file))
    is_own = os.path.isfile(file) and os.path.basename(home) != "shared" and home != folder()
    return (home,) if is_own else ()


def _files(name: str) -> list[str]:
    if not os.path.isdir(name):
        return [name]
    found = [os.path.join(name, file) for file in sorted(os.listdir(name)) if file.endswith(".yaml")]
    if not found:
        raise ConfigError(f"{name}: the folder has no spec", help="specs are files that end in .yaml")
    return found


def _as_json(problem: Problem) -> dict[str, object]:
    place = problem.place
    return {
        "file": place.source.name if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "path": problem.path,
        "message": problem.message,
        "help": problem.help,
    }
