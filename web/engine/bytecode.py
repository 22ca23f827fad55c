"""Compile the page's Python in advance, because a browser compiles a module more slowly than it runs it.

Pyodide runs this script (bytecode.mjs). Of SymPy and the standard library, only the modules that a count
and a formula import are compiled: bytecode is twice as large as source, and the rest is seldom imported.
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
LEVEL: dict[int, int] = {CompressionParameter.compression_level: 12}  # higher levels are slow and save little


def main() -> None:
    sys.path += [str(PACKING / "archspec"), str(PACKING / "sympy")]
    import archspec

    (PACKING / "catalog.json").write_text(json.dumps(archspec.catalog().as_json()), encoding="utf-8")
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
    """Write an archive with similar files next to each other, which is smaller than a zip."""
    with tarfile.open(PACKING / f"{folder}.tar.zst", "w:zst", options=LEVEL) as archive:
        for path in sorted((PACKING / folder).rglob("*"), key=lambda one: (one.suffix, one)):
            archive.add(path, path.relative_to(PACKING / folder), recursive=False, filter=undated)


def undated(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Make an archive depend on its files only."""
    member.mtime = 0
    return member


main()
