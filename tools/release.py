"""`python -m tools.release` writes what is generated from the specs; `--check` only reports what is stale.

It writes the compiled specs with their index, the JSON Schema of spec files, and the parameters of public
functions (tools/signatures.py). With `--transformers` it also writes what is read from the installed
transformers, its model types, parallelism plans and losses, which takes minutes. `archspec verify --coverage`
and `archspec verify --costs --coverage` write the records of verification.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from archspec.errors import SpecError
from archspec.linting import schema
from archspec.specs.files import COMPILED, compiled_text
from archspec.specs.library import Library, shipped
from tools.signatures import write_signatures

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
    return {
        Path(shipped().folder) / COMPILED: compiled_specs(shipped()),
        ROOT / "docs" / "spec.schema.json": schema.text(),
    }


def main(arguments: list[str]) -> int:
    """Write the generated files; with --check, write nothing and return 1 if a file is stale."""
    stale = {
        path: text
        for path, text in outputs().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }
    for path, text in stale.items():
        if "--check" in arguments:
            print(f"{path.relative_to(ROOT)} is stale: run python -m tools.release")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(ROOT)} written")
    if "--check" not in arguments and (changed := write_signatures()):
        subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", *changed], check=True)
    if "--transformers" in arguments:
        from tools import exported, losses, plans

        for tool in (exported, plans, losses):
            tool.main([])
    return int("--check" in arguments and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
