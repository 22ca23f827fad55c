"""`python docs/make_commands.py [PAGE...]` runs the commands of the pages and writes what they print.

A block of commands is marked `console`; each command starts with `$ archspec`. If its output ends in `…`,
only the lines before that are kept and compared. Commands run in the repository's root. Those of WORKED pages
run in a copy of docs/examples, where later commands find what earlier ones wrote.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from archspec.cli.main import main

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "docs" / "examples"
WORKED = ("sweep.md", "find-a-config.md", "your-own-model.md", "check-a-checkpoint.md")
PAGES = [
    path
    for path in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
    if path.name != "gallery.md" and "```console\n" in path.read_text(encoding="utf-8")
]
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def output(command: str, folder: Path) -> list[str]:
    """Return the lines that a command prints in a directory."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            main(shlex.split(command)[1:])
    finally:
        os.chdir(before)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def renewed(block: str, folder: Path = ROOT) -> str:
    """Return a block with the current output of each command."""
    lines: list[str] = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        printed = output(command, folder)
        cut = shown.index("…") if "…" in shown else None
        lines += [f"$ {command}", *(printed if cut is None else [*printed[:cut], "…"])]
    return "\n".join(lines) + "\n"


def page(path: Path, folder: Path = ROOT) -> str:
    """Return the text of a page with renewed blocks."""
    text = path.read_text(encoding="utf-8")
    return _BLOCK.sub(lambda match: f"```console\n{renewed(match[1], folder)}```", text)


if __name__ == "__main__":
    for path in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
            path.write_text(page(path, Path(folder) if path.name in WORKED else ROOT), encoding="utf-8")
