"""The GitHub Action: annotate problems of spec files, and report how a branch changes parameter counts.

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
from archspec.terminal import number, with_sign

LINK = "120000"  # git's mode of a symbolic link
MARK = "<!-- archspec -->"  # finds the comment of an earlier run
MAX_COMMENT = 60_000  # characters; GitHub accepts 65,536
_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}  # of a workflow command


class Config(NamedTuple):
    """A config before and after: the model, the reason why it is not counted, or None for a missing file."""

    name: str
    before: archspec.Model | str | None
    after: archspec.Model | str | None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("github.py", description="The commands of the GitHub Action.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    lint = verbs.add_parser("lint", help="lint spec files, and print problems as annotations")
    lint.add_argument("files", nargs="+", metavar="FILE", help="spec files, or directories of them")
    diff = verbs.add_parser("diff", help="report how parameter counts of configs change since a commit")
    diff.add_argument("patterns", nargs="+", metavar="PATTERN", help="globs of git: '**/config.json'")
    diff.add_argument("--base", required=True, metavar="COMMIT", help="the commit to compare with")
    diff.add_argument("--report", required=True, metavar="FILE", help="the Markdown file to write")
    args = parser.parse_args(arguments)
    try:
        is_lint = args.verb == "lint"
        return lint_files(args.files) if is_lint else compare_configs(args.base, args.patterns, args.report)
    except archspec.ArchspecError as error:
        print(f"::error::{_in_command(str(error))}")
        return 2


def lint_files(files: list[str]) -> int:
    """Print the problems of spec files as annotations of their lines, and return the exit code.

    The report quotes lines of the files, so the runner must not execute commands in it.
    """
    if link := next(symbolic_links(files), None):
        raise archspec.ArchspecError(f"{link} is a symbolic link", help="lint the file that it points to")
    found = archspec.lint(files)
    for problem in found.problems:
        place = problem.place
        where = {"file": place.source.name, "line": place.line, "col": place.column} if place else {}
        location = ",".join(f"{key}={_in_command(str(value))}" for key, value in where.items())
        print(f"::error {location}::{_in_command(str(problem))}")
    pause = secrets.token_hex(16)
    print(f"::stop-commands::{pause}\n{found}\n::{pause}::")
    return 2 if found.problems else 0


def symbolic_links(files: list[str]) -> Iterator[Path]:
    """Yield the symbolic links among some paths, above them and below them."""
    for file in map(Path, files):
        yield from (path for path in (file, *file.parents) if path.is_symlink())
        for folder, folders, names in os.walk(file):
            paths = (Path(folder, name) for name in (*folders, *names))
            yield from (path for path in paths if path.is_symlink())


def _in_command(text: str) -> str:
    return "".join(_ESCAPES.get(sign, sign) for sign in text)


def compare_configs(base: str, patterns: list[str], report: str) -> int:
    """Write the report on the configs that a branch changes, and set the outputs of the job."""
    configs = changes(base, patterns)
    changed = any(_params(one.before) != _params(one.after) for one in configs)
    text = report_text(configs)
    Path(report).write_text(text, encoding="utf-8")
    output = f"changed={str(changed).lower()}\nreport={report}"
    for variable, lines in {"GITHUB_STEP_SUMMARY": text, "GITHUB_OUTPUT": output}.items():
        if path := os.environ.get(variable):  # a file that the runner reads
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"{lines}\n")
    print(f"configs that differ from {base}: {len(configs)}; a change of parameters: {changed}")
    return 0


def changes(base: str, patterns: list[str]) -> list[Config]:
    """Return the configs that differ from a commit. Errors: :class:`ArchspecError` for an unknown commit."""
    if _git("cat-file", "-e", f"{base}^{{commit}}") is None:
        _git("fetch", "--quiet", "--depth=1", "origin", base)  # a shallow checkout does not have it
    globs = [f":(glob){pattern}" for pattern in patterns]
    names = _git("diff", "--name-only", "--no-renames", "-z", base, "HEAD", "--", *globs)
    if names is None:
        message = f"{base} is not a commit in this checkout"
        raise archspec.ArchspecError(message, help="check out with fetch-depth: 0")
    with tempfile.TemporaryDirectory() as name:
        folder, files = Path(name), filter(None, names.split("\0"))
        return [Config(one, _side(base, one, folder), _side("HEAD", one, folder)) for one in files]


def _side(commit: str, name: str, folder: Path) -> archspec.Model | str | None:
    """Return a config at a commit, read from git: a file of the checkout may be a link to anything."""
    entry = _git("ls-tree", "--full-tree", "-z", commit, "--", name)
    if not entry:
        return None
    if entry.startswith(LINK):
        return "this is a symbolic link, which is not followed"
    text, path = _git("cat-file", "blob", f"{commit}:{name}"), folder / "config.json"
    if text is None:
        return "this is not a file"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    try:
        model = archspec.load(path)
        model.tensors()
        return model
    except archspec.ArchspecError as error:
        return str(error).replace(str(path), path.name)


def _git(*arguments: str) -> str | None:
    """Return the output of git; None if it fails."""
    done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    return done.stdout.decode(errors="surrogateescape") if done.returncode == 0 else None


def _params(side: object) -> int | None:
    return side.params if isinstance(side, archspec.Model) else None


def report_text(configs: list[Config]) -> str:
    """Return the report: one row per config, then the differences that fit into a comment."""
    if not configs:
        return f"{MARK}\nNo config differs."
    lines = [MARK, "### Parameters", "", "| config | architecture | before | after | change |"]
    lines += ["| --- | --- | ---: | ---: | ---: |", *map(_row, configs), ""]
    text = "\n".join(lines)
    for one in configs:
        details = _details(one)
        if len(text) + len(details) > MAX_COMMENT:
            return f"{text}\n\nThe rest does not fit into a comment: run `archspec diff`."
        text += details
    return text


def _row(one: Config) -> str:
    models = [side for side in (one.before, one.after) if isinstance(side, archspec.Model)]
    architectures = " → ".join(dict.fromkeys(model.architecture for model in models))
    before, after, change = _params(one.before), _params(one.after), ""
    if before is not None and after is not None:
        change = with_sign(after - before) + (f" ({(after - before) / before:+.2%})" if before else "")
    return f"| {_escape(one.name)} | {architectures} | {_cell(one.before)} | {_cell(one.after)} | {change} |"


def _cell(side: archspec.Model | str | None) -> str:
    if isinstance(side, archspec.Model):
        return number(side.params)
    return "" if side is None else "not counted"


def _details(one: Config) -> str:
    """Return the folded differences between two models, or the reasons why they are not counted."""
    if isinstance(one.before, archspec.Model) and isinstance(one.after, archspec.Model):
        text = archspec.diff(one.before, one.after).markdown().replace("@", "@\u200b")  # mentions nobody
    else:
        refused = [side for side in (one.before, one.after) if isinstance(side, str)]
        text = "\n\n".join(map(_fenced, refused))
    return f"\n<details><summary>{_escape(one.name)}</summary>\n\n{text}\n\n</details>\n" if text else ""


def _fenced(text: str) -> str:
    """Return a text as a Markdown code block: the fence is longer than any in the text."""
    fence = max(("```", *re.findall("`+", text)), key=len) + "`"
    return f"{fence}text\n{text}\n{fence}"


def _escape(name: str) -> str:
    """Escape the name of a file, which may contain any character, for Markdown."""
    return "".join(sign if sign.isalnum() or sign in "/._-" else f"&#{ord(sign)};" for sign in name)


if __name__ == "__main__":
    sys.exit(main())
