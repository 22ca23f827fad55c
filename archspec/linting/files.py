"""`archspec.lint`: check spec files, or directories of them, and report the problems."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache

from archspec.arguments import check_arguments_of
from archspec.errors import ConfigError, Problem
from archspec.linting import checks
from archspec.models.report import Record, Report, fact
from archspec.reports import Block
from archspec.specs.files import folder
from archspec.specs.search_path import DIRECTORY_HELP, Folder, folders_of, library_of

Folders = Folder | Sequence[Folder]


class SpecProblem(Record):
    """a problem"""

    file: str | None = fact("the file, or null", lambda one: one.place and one.place.source.name)
    line: int | None = fact("the line, from 1", lambda one: one.place and one.place.line, least=1)
    column: int | None = fact("the column, from 1", lambda one: one.place and one.place.column, least=1)
    path: str = fact("module and attribute; empty for the whole spec")
    message: str = fact("the problem")
    help: str = fact("an instruction that solves the problem; may be empty")


class Lint(Report):
    """The problems of spec files, made by :func:`archspec.lint`. Its length is the number of problems."""

    files: list[str] = fact("files that were checked", kind="int", json=lambda self: len(self.files))
    problems: list[Problem] = fact("the problems, in the order found", kind="list[SpecProblem]")

    def __init__(self, files: Sequence[str], problems: Sequence[Problem]) -> None:
        self.files, self.problems = list(files), list(problems)

    def __len__(self) -> int:
        return len(self.problems)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)

    def blocks(self) -> Iterator[Block]:
        """Yield the problems, each with its line and a caret, and their number."""
        yield from map(str, self.problems)
        counts = ((len(self.files), "file"), (len(self.problems), "problem"))
        yield ", ".join(f"{number or 'no'} {what}{'' if number == 1 else 's'}" for number, what in counts)


@check_arguments_of("lint")
def lint(files: Folders | None = None, specs: Folder | Sequence[Folder] = ()) -> Lint:
    """Check spec files: unknown names, fields, calls and arguments, ties to missing tensors, headers.

    ``files`` are files or directories, by default those of ``specs``, else all shipped ones. ``specs`` are
    directories with your own specs, which the files may refer to.

    Errors: :class:`ConfigError` for a file that cannot be read, and for an empty list of files.

    >>> import archspec
    >>> print(archspec.lint("formulas/bert.yaml"))
    1 file, no problems
    """
    own = folders_of(specs)
    named = own if files is None else folders_of(files)
    if files is not None and not named:
        raise ConfigError("files: the list is empty", help="pass a file or a directory, or leave out files")
    found = [file for name in named for file in _files(name)] if named else checks.shipped_files()
    library = cache(lambda directory: library_of([*own, *directory]))
    problems = [problem for file in found for problem in checks.lint(file, library(_own_directory(file)))]
    return Lint(found, problems)


def _own_directory(file: str) -> tuple[str, ...]:
    """Return the directory of a spec that is not shipped, where other specs may be, too."""
    home = os.path.dirname(os.path.abspath(file))
    is_own = os.path.isfile(file) and os.path.basename(home) != "shared" and home != folder()
    return (home,) if is_own else ()


def _files(name: str) -> list[str]:
    if not os.path.isdir(name):
        return [name]
    found = [os.path.join(name, file) for file in sorted(os.listdir(name)) if file.endswith(".yaml")]
    if not found:
        raise ConfigError(f"{name}: the directory has no .yaml files", help=DIRECTORY_HELP)
    return found
