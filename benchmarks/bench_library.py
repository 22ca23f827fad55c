"""Measure how the number of specs affects loading, compiling formulas, and a cold count.

`python benchmarks/bench_library.py [--share 0.25]` takes an eighth, a quarter, a half and all of the specs
(or of a share of them, drawn with a fixed seed), each in a new process, and prints the time per spec
and per class against the smallest set: linear growth is a ratio near 1. Then it counts one config cold, in
turn with all specs and with the twenty that a smaller library would hold: one that touches only what it needs
takes the same time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONFIG = ROOT / "configs" / "google-bert--bert-base-uncased.json"
RUNS = 15
COMPILE = """
import json, sys, time
from archspec import load
from archspec.specs.library import shipped_library
from archspec.errors import ArchspecError
load("BertModel").formula  # imports sympy
start = time.perf_counter()
specs = [shipped_library().load(name) for name in json.loads(sys.argv[1])]
read = time.perf_counter()
compiled = refused = 0
for spec in specs:
    for architecture in spec.architectures:
        try:
            load({"model_type": spec.model_type}, architecture=architecture).formula
            compiled += 1
        except ArchspecError:  # the default config lacks what it needs
            refused += 1
print(json.dumps([read - start, time.perf_counter() - read, compiled, refused]))
"""


def compiled(names: list[str]) -> tuple[float, float, int, int]:
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, json.dumps(names)], capture_output=True, text=True, check=True
    )
    load_s, compile_s, count, refused = json.loads(done.stdout)
    return load_s, compile_s, count, refused


def cold(package: Path) -> float:
    """Seconds of a count whose package stands in this folder."""
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, "-m", "archspec", "count", str(CONFIG), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=package)
    assert '"params": 109514298' in done.stdout
    return time.perf_counter() - start


def smaller(folder: Path, names: list[str]) -> Path:
    """A copy of the package with these specs alone."""
    shutil.copytree(ROOT / "archspec", folder / "archspec")
    shutil.copytree(ROOT / "formulas" / "shared", folder / "formulas" / "shared")
    for name in [*names, "notation"]:
        shutil.copy(ROOT / "formulas" / f"{name}.yaml", folder / "formulas")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=1.0, help="of the specs to take")
    share = parser.parse_args().share
    sys.path.insert(0, str(ROOT))
    from archspec.specs.library import shipped_library

    names = shipped_library().model_types()
    random.Random(0).shuffle(names)
    names = names[: int(len(names) * share)]
    smallest: tuple[float, float] | None = None
    for part in (8, 4, 2, 1):
        some = names[: len(names) // part]
        load_s, compile_s, count, refused = compiled(some)
        each = load_s / len(some), compile_s / count
        smallest = smallest or each
        print(
            f"{len(some):4} specs loaded in {load_s:.2f} s "
            f"({each[0] * 1000:.1f} ms each, {each[0] / smallest[0]:.2f}x), "
            f"{count} formulas compiled in {compile_s:.1f} s "
            f"({each[1] * 1000:.0f} ms each, {each[1] / smallest[1]:.2f}x), "
            f"{refused} without a countable default"
        )
    twenty = [
        "bert",
        *[
            name
            for name in names
            if name != "bert" and "extends" not in shipped_library().load(name).source.text
        ][:19],
    ]
    with tempfile.TemporaryDirectory() as folder:
        few = smaller(Path(folder), twenty)
        pairs = [(cold(ROOT), cold(few)) for _ in range(RUNS)]
    all_s, few_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(
        f"cold count: {all_s * 1000:.1f} ms among all specs, {few_s * 1000:.1f} ms among twenty, "
        f"ratio {ratio:.2f} (median)"
    )


if __name__ == "__main__":
    main()
