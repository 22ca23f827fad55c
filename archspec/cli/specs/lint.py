"""`archspec lint FILE...`: spec files checked whole."""

from __future__ import annotations

from archspec.cli.command_line import Values
from archspec.cli.run import print_json
from archspec.errors import ArchspecError
from archspec.terminal import show


def run(args: Values) -> int:
    if args.schema:
        if args.files:
            raise ArchspecError("--schema checks no files", help="leave out --schema or the files")
        from archspec.linting.schema import text

        print(text(), end="")
        return 0
    from archspec.linting.files import lint

    found = lint(args.files or None, args.specs)
    print_json(found.as_json()) if args.json else show(found.blocks())
    return 2 if found else 0
