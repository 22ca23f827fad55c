"""Typesets the formulas of docs/gallery.md: the document that each command of the page prints, as a picture.

    python docs/make_formulas.py

It needs pdflatex and pdftoppm (poppler-utils), and pillow, which matplotlib brings.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import tempfile
from pathlib import Path

from make_gallery import PAGE, formulas
from PIL import Image, ImageOps

from archspec.cli.main import main

_DPI, _MARGIN, _GREYS = 80, 12, 8


def printed(arguments: list[str]) -> str:
    """Return the output of a command."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        if main(arguments):
            raise SystemExit(f"failed: archspec {' '.join(arguments)}")
    return out.getvalue()


def picture(document: str, path: Path) -> None:
    """Write the first page of a document, without its empty margins."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "formula.tex").write_text(document, encoding="utf-8")
        for command in (
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "formula.tex"],
            ["pdftoppm", "-gray", "-singlefile", "-r", str(_DPI), "formula.pdf", "formula"],
        ):
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        page = Image.open(Path(folder) / "formula.pgm")
        box = ImageOps.invert(page).getbbox()
        assert box is not None, "a document is not empty"
        cut = page.crop((box[0] - _MARGIN, box[1] - _MARGIN, box[2] + _MARGIN, box[3] + _MARGIN))
        cut.quantize(_GREYS).save(path, optimize=True)


if __name__ == "__main__":
    for arguments, name in formulas(PAGE.read_text(encoding="utf-8")):
        picture(printed(arguments), PAGE.parent / "gallery" / name)
