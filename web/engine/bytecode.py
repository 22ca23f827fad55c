"""Compiles the page's Python beforehand: a browser takes longer to compile a module than to run it.

Run by the page's own Python (bytecode.mjs), in folders of modules. Of SymPy and the standard library only
what a count and a formula import: bytecode takes twice the room of source, and the rest is seldom imported.
"""

from __future__ import annotations

import json
import py_compile
import sys
import tarfile
from pathlib import Path

from compression.zstd import CompressionParameter

PACKING = Path("/packing")
SITE = "/lib/python3.14/site-packages"
STDLIB = "/lib/python314.zip"
LEVEL: dict[int, int] = {CompressionParameter.compression_level: 12}  # higher ones take long for little


def main() -> None:
    sys.path += [str(PACKING / "archspec"), str(PACKING / "sympy")]
    import archspec

    (PACKING / "catalogue.json").write_text(json.dumps(archspec.catalogue().as_json()), encoding="utf-8")
    archspec.load("GPT2LMHeadModel").formula.latex()
    imported = {getattr(module, "__file__", None) for module in sys.modules.values()}
    for folder, here, in_page in (
        ("archspec", PACKING / "archspec", SITE),
        ("sympy", PACKING / "sympy", SITE),
        ("python_stdlib", STDLIB, STDLIB),
    ):
        for path in (PACKING / folder).rglob("*.py"):
            name = path.relative_to(PACKING / folder)
            if folder == "archspec" or f"{here}/{name}" in imported:
                compile_in_place(path, f"{in_page}/{name}")
    packed("archspec")
    packed("sympy")


def compile_in_place(path: Path, shown: str) -> None:
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(path), f"{path}c", shown, doraise=True, invalidation_mode=unchecked)
    path.unlink()


def packed(folder: str) -> None:
    """One stream, like files side by side: smaller than a zip."""
    with tarfile.open(PACKING / f"{folder}.tar.zst", "w:zst", options=LEVEL) as archive:
        for path in sorted((PACKING / folder).rglob("*"), key=lambda one: (one.suffix, one)):
            archive.add(path, path.relative_to(PACKING / folder), recursive=False, filter=undated)


def undated(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """So that an archive is the same whenever its files are."""
    member.mtime = 0
    return member


main()
