"""What action.yml runs: spec files linted as annotations, and how a branch changes the parameters of configs.

`python tools/github.py lint FOLDER`; in a checkout, `… diff --base COMMIT --report FILE 'configs/*.json'`.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import archspec
from archspec.terminal import number, signed

LINK = "120000"  # git's mode of a symbolic link
MARK = "<!-- archspec -->"  # by which the action finds its own comment again
LONGEST = 60_000  # characters of a comment; GitHub takes 65,536
_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}  # of a workflow command


class Config(NamedTuple):
    """A config before and after: the model, or why it is not counted; None where there is no such file."""

    name: str
    before: archspec.Model | str | None
    after: archspec.Model | str | None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("github.py", description="What the GitHub Action runs.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    lint = verbs.add_parser("lint", help="lint spec files, and say what is wrong as annotations")
    lint.add_argument("files", nargs="+", metavar="FILE", help="spec files, or folders of them")
    diff = verbs.add_parser("diff", help="tell how parameters of configs change since a commit")
    diff.add_argument(
        "patterns", nargs="+", metavar="PATTERN", help="configs, as git's glob: '**/config.json'"
    )
    diff.add_argument("--base", required=True, metavar="COMMIT", help="the commit before")
    diff.add_argument("--report", required=True, metavar="FILE", help="where the Markdown goes")
    args = parser.parse_args(arguments)
    try:
        return linted(args.files) if args.verb == "lint" else compared(args.base, args.patterns, args.report)
    except archspec.ArchspecError as error:
        print(f"::error::{_in_command(str(error))}")
        return 2


def linted(files: list[str]) -> int:
    """Prints the problems of spec files as annotations of their lines; returns the exit code.

    The report quotes lines of the files, so the runner is told to take nothing in it for a command.
    """
    if link := next(links(files), None):
        raise archspec.ArchspecError(f"{link} is a symbolic link", help="lint the file that it points to")
    found = archspec.lint(files)
    for problem in found.problems:
        place = problem.place
        where = {"file": place.source.name, "line": place.line, "col": place.column} if place else {}
        told = ",".join(f"{key}={_in_command(str(value))}" for key, value in where.items())
        print(f"::error {told}::{_in_command(str(problem))}")
    pause = secrets.token_hex(16)
    print(f"::stop-commands::{pause}\n{found}\n::{pause}::")
    return 2 if found.problems else 0


def links(files: list[str]) -> Iterator[Path]:
    """The symbolic links among some paths, in the folders above them, and in all folders below them."""
    for file in map(Path, files):
        yield from (path for path in (file, *file.parents) if path.is_symlink())
        for folder, folders, names in os.walk(file):
            paths = (Path(folder, name) for name in (*folders, *names))
            yield from (path for path in paths if path.is_symlink())


def _in_command(text: str) -> str:
    return "".join(_ESCAPES.get(sign, sign) for sign in text)


def compared(base: str, patterns: list[str], report: str) -> int:
    """Writes how the configs that a branch touches change, and tells the job of it."""
    configs = changes(base, patterns)
    changed = any(_params(one.before) != _params(one.after) for one in configs)
    text = written(configs)
    Path(report).write_text(text, encoding="utf-8")
    _append("GITHUB_STEP_SUMMARY", text)
    _append("GITHUB_OUTPUT", f"changed={str(changed).lower()}\nreport={report}")
    print(f"configs that differ from {base}: {len(configs)}; a change of parameters: {changed}")
    return 0


def _append(variable: str, text: str) -> None:
    """Adds lines to a file that the runner reads."""
    if path := os.environ.get(variable):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{text}\n")


def changes(base: str, patterns: list[str]) -> list[Config]:
    """The configs that differ from a commit. Errors: :class:`ArchspecError` for no commit."""
    if _git("cat-file", "-e", f"{base}^{{commit}}") is None:
        _git("fetch", "--quiet", "--depth=1", "origin", base)  # a shallow checkout does not have it
    globs = [f":(glob){pattern}" for pattern in patterns]
    names = _git("diff", "--name-only", "--no-renames", "-z", base, "HEAD", "--", *globs)
    if names is None:
        raise archspec.ArchspecError(f"{base} is no commit here", help="check out with fetch-depth: 0")
    with tempfile.TemporaryDirectory() as folder:
        return [_config(base, name, Path(folder)) for name in names.split("\0") if name]


def _config(base: str, name: str, folder: Path) -> Config:
    """A config at both commits."""
    return Config(name, *(_side(commit, name, folder) for commit in (base, "HEAD")))


def _side(commit: str, name: str, folder: Path) -> archspec.Model | str | None:
    """A config at a commit, as git has it: a file of the checkout may be a link to anything."""
    entry = _git("ls-tree", "--full-tree", "-z", commit, "--", name)
    if not entry:
        return None
    if entry.startswith(LINK):
        return "this is a symbolic link, which is not followed"
    text = _git("cat-file", "blob", f"{commit}:{name}")
    return "this is not a file" if text is None else _model(text, folder)


def _model(text: str, folder: Path) -> archspec.Model | str:
    """The model of a config's text, or why there is none."""
    path = folder / "config.json"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    try:
        model = archspec.load(path)
        model.tensors()
    except archspec.ArchspecError as error:
        return str(error).replace(str(path), path.name)
    return model


def _git(*arguments: str) -> str | None:
    """What git prints; None where it fails."""
    done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    return done.stdout.decode(errors="surrogateescape") if done.returncode == 0 else None


def _params(side: object) -> int | None:
    return side.params if isinstance(side, archspec.Model) else None


def written(configs: list[Config]) -> str:
    """The report: a line for each config, and below it what differs, as far as a comment has room for it."""
    if not configs:
        return f"{MARK}\nNo config differs."
    lines = [MARK, "### Parameters", "", "| config | architecture | before | after | change |"]
    lines += ["| --- | --- | ---: | ---: | ---: |", *map(_row, configs), ""]
    text = "\n".join(lines)
    for one in configs:
        details = _details(one)
        if len(text) + len(details) > LONGEST:
            return f"{text}\n\nThere is more than a comment has room for: run `archspec diff`."
        text += details
    return text


def _row(one: Config) -> str:
    models = [side for side in (one.before, one.after) if isinstance(side, archspec.Model)]
    architectures = " → ".join(dict.fromkeys(model.architecture for model in models))
    before, after = _params(one.before), _params(one.after)
    change = "" if before is None or after is None else _change(before, after)
    return f"| {_shown(one.name)} | {architectures} | {_cell(one.before)} | {_cell(one.after)} | {change} |"


def _change(before: int, after: int) -> str:
    return (
        f"{signed(after - before)} ({(after - before) / before:+.2%})" if before else signed(after - before)
    )


def _cell(side: archspec.Model | str | None) -> str:
    if isinstance(side, archspec.Model):
        return number(side.params)
    return "" if side is None else "not counted"


def _details(one: Config) -> str:
    """What differs between two models, folded; or why one has no count."""
    if isinstance(one.before, archspec.Model) and isinstance(one.after, archspec.Model):
        told = archspec.diff(one.before, one.after).markdown().replace("@", "@\u200b")  # mentions nobody
    else:
        refused = [side for side in (one.before, one.after) if isinstance(side, str)]
        told = "\n\n".join(map(_fenced, refused))
    return f"\n<details><summary>{_shown(one.name)}</summary>\n\n{told}\n\n</details>\n" if told else ""


def _fenced(text: str) -> str:
    """A text as Markdown that shows it as it is: the fence is longer than any in the text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(4, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _shown(name: str) -> str:
    """A file's name, which may have any characters, in Markdown."""
    return "".join(sign if sign.isalnum() or sign in "/._-" else f"&#{ord(sign)};" for sign in name)


if __name__ == "__main__":
    sys.exit(main())
