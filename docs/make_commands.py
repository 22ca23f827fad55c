"""Writes the outputs of the commands in docs/command-line.md anew: each line `$ archspec …` is run.

`python docs/make_commands.py` rewrites the page; `tests/test_docs.py` fails when what it shows is not what
the commands print. A block may end in `…`: then only the lines before it are compared.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from pathlib import Path

from archspec.cli import main

PAGE = Path(__file__).parent / "command-line.md"
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def output(command: str) -> list[str]:
    """What a command prints, run from the checkout's root."""
    before = Path.cwd()
    os.chdir(PAGE.parent.parent)
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            main(shlex.split(command)[1:])
    finally:
        os.chdir(before)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def renewed(block: str) -> str:
    """A block with each command followed by what it prints, cut where the block was cut."""
    lines: list[str] = []
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    for part in parts:
        command, *shown = part.rstrip("\n").split("\n")
        cut = "…" in shown
        printed = output(command)
        lines.append(f"$ {command}")
        lines += [*printed[: shown.index("…")], "…"] if cut else printed
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    return _BLOCK.sub(lambda match: f"```console\n{renewed(match[1])}```", text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
