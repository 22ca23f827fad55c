"""Records tests/checking/real.json: configs, names and sizes of published checkpoints, without their weights.

`python -m tools.real_checkpoints FOLDER...` reads git repositories of models: configs, index files, git LFS
pointers and adapters. It keeps the expected findings of folders that are recorded already.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import groupby
from math import prod
from pathlib import Path
from typing import Any

from archspec.checkpoints.files import POINTER, read_checkpoint
from archspec.errors import ArchspecError

PATH = Path(__file__).parent.parent / "tests" / "checking" / "real.json"
_CONFIGS = "config.json", "adapter_config.json"


def fold(names: list[str]) -> list[list[str]]:
    """Return patterns of names, each with the ranges of its numbers: ["h.{}.w", "0-2"]."""
    groups: dict[str, list[tuple[int, ...]]] = {}
    for name in names:
        parts = name.split(".")
        numbers = tuple(int(one) for one in parts if one.isdecimal())
        groups.setdefault(".".join("{}" if one.isdecimal() else one for one in parts), []).append(numbers)
    return [[pattern, *row] for pattern, places in groups.items() for row in _ranges(places)]


def _ranges(places: list[tuple[int, ...]]) -> list[list[str]]:
    """Return rows of ranges; the products of each row are the given numbers."""
    columns = [sorted(set(column)) for column in zip(*places, strict=True)]
    if prod(map(len, columns)) == len(set(places)):
        return [[_range(column) for column in columns]]
    groups = groupby(sorted(places), key=lambda one: one[0])
    return [[str(first), *row] for first, some in groups for row in _ranges([one[1:] for one in some])]


def _range(numbers: list[int]) -> str:
    runs = groupby(enumerate(numbers), key=lambda item: item[1] - item[0])
    ends = ([number for _, number in run] for _, run in runs)
    return ",".join(f"{one[0]}-{one[-1]}" if len(one) > 1 else str(one[0]) for one in ends)


def record(folder: Path) -> dict[str, Any]:
    """Return the content of a repository that archspec reads."""
    found: dict[str, Any] = {"name": folder.as_posix().replace("+", "/")}
    for name in _CONFIGS:
        if (folder / name).exists():
            found[name] = json.loads((folder / name).read_text(encoding="utf-8"))
    try:
        checkpoint = read_checkpoint([str(folder)])
    except ArchspecError as error:
        return found | {"refused": str(error).rpartition("/")[2]}
    found["pointers"] = {
        os.path.basename(one.file): one.size for one in checkpoint.headers if one.format == POINTER
    }
    found["stored"] = {
        one.name: [one.dtype, one.shape] for one in checkpoint.tensors if one.shape is not None
    }
    listed = [one for one in checkpoint.tensors if one.shape is None]
    if listed:
        index = next(folder.glob("*.index.json"))
        content = json.loads(index.read_text(encoding="utf-8"))
        files = sorted({*content["weight_map"].values()})
        found |= {"index": index.name, "metadata": content.get("metadata"), "files": files}
        found["listed"] = fold([one.name for one in listed])
    return found


def main(*folders: str) -> None:
    """Write one record per line."""
    old = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else []
    expected = {one["name"]: one["expected"] for one in old}
    rows = [record(Path(one)) for one in folders]
    rows = [{**one, "expected": expected.get(one["name"])} for one in rows if "refused" not in one]
    PATH.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
