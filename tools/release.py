"""`python -m tools.release` writes what is generated from specs and tables; `--check` reports stale files.

It writes the compiled specs with their index, the JSON Schema of spec files, the tables of the page, the
reference pages of docs/, and the parameters of public functions. With `--transformers` it also writes the
files that are read from the installed transformers. `archspec verify --coverage` and `archspec verify --costs
--coverage` write the records of verification.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

from archspec.errors import SpecError
from archspec.linting import schema
from archspec.specs.files import COMPILED, compiled_text
from archspec.specs.library import Library, shipped_library
from tools.signatures import stale_declarations

ROOT = Path(__file__).parent.parent


def compiled_specs(library: Library) -> str:
    """Return the compiled file of a directory of specs, read from its YAML files."""
    found, files = library.entries(from_scratch=True), library.files()
    if library.unread:
        raise SpecError(library.unread)
    names = {name: Path(path).relative_to(library.folder).with_suffix("") for name, path in files.items()}
    return compiled_text(library.folder, {path.as_posix(): found[name] for name, path in names.items()})


def outputs() -> dict[Path, str]:
    """Return the text of each generated file."""
    from tools.page_tables import PATH, page_tables  # not when a wheel is built, without SymPy

    pages = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))["PAGES"]
    return {
        Path(shipped_library().folder) / COMPILED: compiled_specs(shipped_library()),
        ROOT / "docs" / "spec.schema.json": schema.text(),
        PATH: page_tables(),
        **{ROOT / "docs" / "reference" / name: text() for name, text in pages.items()},
    }


def main(arguments: list[str]) -> int:
    """Write the generated files; with --check, write nothing and return 1 if a file is stale."""
    check = "--check" in arguments
    new, declarations = outputs(), stale_declarations()
    current = {path: path.read_text(encoding="utf-8") for path in new if path.is_file()}
    stale = {path: text for path, text in new.items() if current.get(path) != text}
    for path, text in {**stale, **declarations}.items():
        if not check:
            path.write_text(text, encoding="utf-8")
        message = "is stale: run python -m tools.release" if check else "written"
        print(f"{path.relative_to(ROOT)} {message}")
    if declarations and not check:
        subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", *declarations], check=True)
    if "--transformers" in arguments:
        from tools.from_transformers import WRITERS

        for write in WRITERS.values():
            write()
        from tools.from_loading import write_conversions, write_names

        write_conversions()
        write_names()
    return int(check and bool(stale or declarations))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
