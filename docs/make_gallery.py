"""Draws the plots of docs/gallery.md: runs each `archspec sweep` of the page in the repository's root.

    python docs/make_gallery.py

Each command names its file; `tests/sweeping/test_gallery.py` runs the same commands. The formulas of the page
are typeset by `docs/make_formulas.py`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from pathlib import Path

from archspec.cli.main import main

PAGE = Path(__file__).parent / "gallery.md"


def commands(text: str) -> list[list[str]]:
    """Return the arguments of each sweep of a page.

    >>> commands("$ archspec sweep BertModel --plot 'a b.png'")
    [['sweep', 'BertModel', '--plot', 'a b.png']]
    """
    return [shlex.split(line)[1:] for line in re.findall(r"^\$ (archspec sweep .*)$", text, re.MULTILINE)]


def formulas(text: str) -> list[tuple[list[str], str]]:
    """Return the arguments of each formula of a page, and the name of its picture.

    >>> formulas("$ archspec formula BertModel --standalone")
    [(['formula', 'BertModel', '--standalone'], 'BertModel.png')]
    """
    found = [shlex.split(line)[1:] for line in re.findall(r"^\$ (archspec formula .*)$", text, re.MULTILINE)]
    return [(arguments, f"{arguments[1]}.png") for arguments in found]


if __name__ == "__main__":
    with contextlib.chdir(PAGE.parent.parent):
        for arguments in commands(PAGE.read_text(encoding="utf-8")):
            os.makedirs(os.path.dirname(arguments[-1]), exist_ok=True)
            if main([*arguments, "--overwrite"]):
                raise SystemExit(f"failed: archspec {shlex.join(arguments)}")
