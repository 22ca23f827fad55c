"""`python -m tools.exported` writes formulas/transformers.json; `--check` only says whether it is stale."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from archspec.oracle import exported, versions
from archspec.specs.exported import FILE
from archspec.specs.library import folder

PATH = os.path.join(folder(), FILE)


def text() -> str:
    """The model types and classes of the transformers that is installed, a model type a line."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    types: dict[str, dict[str, Any]] = {model_type: {} for model_type in CONFIG_MAPPING_NAMES}
    for (model_type, name), listing in exported().items():
        line: dict[str, Any] = {"auto": listing.autos}
        if listing.reads != model_type:
            line["reads"] = listing.reads
        types.setdefault(model_type, {})[name] = line
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(classes)}" for key, classes in sorted(types.items()))
    return f'{{"transformers": "{versions()["transformers"]}", "types": {{\n{rows}\n}}}}\n'


def stale() -> bool:
    """Whether the file is not what the installed transformers has."""
    with open(PATH, encoding="utf-8") as file:
        return file.read() != text()


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        return int(stale())
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
