"""`python -m tools.index` writes formulas/index.json; `--check` only says whether it is stale."""

from __future__ import annotations

import json
import os
import sys

from archspec.specs.index import FILE, Entries
from archspec.specs.library import shipped


def text(found: Entries) -> str:
    """The index as it is written: an entry a line."""
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(found.items()))
    return f"{{\n{rows}\n}}\n"


def main(arguments: list[str]) -> int:
    library = shipped()
    path = os.path.join(library.folder, FILE)
    fresh = text(library.entries())
    if "--check" not in arguments:
        with open(path, "w", encoding="utf-8") as file:
            file.write(fresh)
        return 0
    with open(path, encoding="utf-8") as file:
        stale = file.read() != fresh
    if stale:
        print(f"{path} is stale: python -m tools.index writes it")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
