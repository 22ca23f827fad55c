"""Draws the pictures of docs/gallery.md anew: each command on that page is run, from the checkout's root.

    python docs/make_gallery.py

A picture goes where its command says; `tests/sweeping/test_gallery.py` runs the same commands.
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
    """The arguments of each command of a page.

    >>> commands("$ archspec sweep BertModel --plot 'a b.png'")
    [['sweep', 'BertModel', '--plot', 'a b.png']]
    """
    return [shlex.split(line)[1:] for line in re.findall(r"^\$ (archspec .*)$", text, re.MULTILINE)]


if __name__ == "__main__":
    with contextlib.chdir(PAGE.parent.parent):
        for arguments in commands(PAGE.read_text(encoding="utf-8")):
            os.makedirs(os.path.dirname(arguments[-1]), exist_ok=True)
            if main(arguments):
                raise SystemExit(f"failed: archspec {shlex.join(arguments)}")
