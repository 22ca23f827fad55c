"""`archspec.lint`: spec files, or folders of them, checked whole; as a report."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from archspec.arguments import MAYBE_FOLDERS, takes
from archspec.errors import ConfigError, Problem
from archspec.linting import checks
from archspec.models.report import Report
from archspec.reports import Block
from archspec.specs.library import folder
from archspec.specs.search_path import Folder, folders_of, library_of

Folders = Folder | Sequence[Folder]


class Lint(Report):
    """What is wrong with spec files, made by :func:`lint`: ``problems``, in the order of the ``files``.

    It is true where there are problems, and as long as there are problems.
    """

    def __init__(self, files: Sequence[str], problems: Sequence[Problem]) -> None:
        self.files, self.problems = list(files), list(problems)

    def __len__(self) -> int:
        return len(self.problems)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.problems)

    def as_json(self) -> dict[str, Any]:
        """Plain data, as `archspec lint --json` prints it."""
        return {"files": len(self.files), "problems": [_as_json(problem) for problem in self.problems]}

    def blocks(self) -> Iterator[Block]:
        """The problems, each with its line and a caret, and how many there are."""
        yield from map(str, self.problems)
        counts = ((len(self.files), "file"), (len(self.problems), "problem"))
        yield ", ".join(f"{number or 'no'} {what}{'' if number == 1 else 's'}" for number, what in counts)


@takes("lint", files=MAYBE_FOLDERS)
def lint(files: Folders | None = None, specs: Folder | Sequence[Folder] = ()) -> Lint:
    """All that is wrong with spec files: names, fields and calls that mean nothing, ties of nothing, headers.

    ``files`` are files, or folders of them; without any, those of ``specs``, folders of specs of one's own
    that the files may name, and without these all that are shipped.

    Errors: :class:`ConfigError` for a file that cannot be read, and for an empty list of files.

    >>> import archspec
    >>> print(archspec.lint("formulas/bert.yaml"))
    1 file, no problems
    """
    own = folders_of(specs)
    named = own if files is None else folders_of(files)
    if files is not None and not named:
        raise ConfigError("files: the list is empty", help="name a file or a folder, or leave out files")
    found = [file for name in named for file in _files(name)] if named else checks.everything()
    library = cache(lambda beside: library_of([*own, *beside]))
    problems = [problem for file in found for problem in checks.lint(file, library(_beside(file)))]
    return Lint(found, problems)


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


def _as_json(problem: Problem) -> dict[str, Any]:
    place = problem.place
    return {
        "file": place.source.name if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "path": problem.path,
        "message": problem.message,
        "help": problem.help,
    }
