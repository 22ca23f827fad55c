"""Runs each line `$ archspec …` of docs/command-line.md and other pages, and writes what it prints anew.

`python docs/make_commands.py` rewrites the pages; `tests/test_docs.py` fails when what they show is not what
the commands print. A block may end in `…`: then only the lines before it are compared. Commands are run in
the repository's root; those of WORKED pages in a copy of docs/examples, where later ones find what earlier
ones wrote.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from archspec.cli.main import main

DOCS = Path(__file__).parent
EXAMPLES = DOCS / "examples"  # what stands in the folder that commands of WORKED pages run in
PAGES = [DOCS / name for name in ("command-line.md", "what-it-costs.md", "python.md")]
WORKED = [DOCS / name for name in ("sweeps.md", "solve.md", "own-specs.md")]
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def output(command: str, folder: Path) -> list[str]:
    """What a command prints, run in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            main(shlex.split(command)[1:])
    finally:
        os.chdir(before)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def renewed(block: str, folder: Path = DOCS.parent) -> str:
    """A block with each command followed by what it prints, cut where the block was cut."""
    lines: list[str] = []
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    for part in parts:
        command, *shown = part.rstrip("\n").split("\n")
        cut = "…" in shown
        printed = output(command, folder)
        lines.append(f"$ {command}")
        lines += [*printed[: shown.index("…")], "…"] if cut else printed
    return "\n".join(lines) + "\n"


def page(text: str, folder: Path = DOCS.parent) -> str:
    return _BLOCK.sub(lambda match: f"```console\n{renewed(match[1], folder)}```", text)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
    for worked in WORKED:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
            worked.write_text(page(worked.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")
