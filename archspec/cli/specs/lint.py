"""`archspec lint FILE...`: spec files checked whole."""

from __future__ import annotations

from archspec.cli.arguments import add_json, add_specs, excludes, print_json
from archspec.cli.command_line import Arguments, Values
from archspec.errors import ArchspecError
from archspec.terminal import show


def add_arguments(takes: Arguments) -> None:
    about_files = "spec files, or folders of them (default: those of --specs, or all that are shipped)"
    takes.value("files", "FILE", about_files, nargs="*")
    add_specs(takes)
    takes.flag("--schema", "print the JSON Schema of spec files, for editors")
    add_json(takes)


def run(args: Values) -> int:
    if args.schema:
        excludes(args, "--schema", "--specs", "--json")
        if args.files:
            raise ArchspecError("--schema checks no files", help="leave out --schema or the files")
        from archspec.linting.schema import text

        print(text(), end="")
        return 0
    from archspec.linting.files import lint

    found = lint(args.files or None, args.specs)
    print_json(found.as_json()) if args.json else show(found.blocks())
    return 2 if found else 0
