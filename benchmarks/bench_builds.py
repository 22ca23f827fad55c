"""Builds of module trees and milliseconds of each verb, after imports.

python benchmarks/bench_builds.py [VERB...]
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from archspec.cli.main import main
from archspec.reports import Table
from archspec.terminal import print_report
from archspec.tree.builder import Builder

CONFIG = str(next((Path(__file__).parents[1] / "configs").glob("mistralai--*.json")))
REPEATS = 3
LINES = {
    "count": f"count {CONFIG}",
    "flops": f"flops {CONFIG}",
    "cache": f"cache {CONFIG}",
    "cache --budget": f"cache {CONFIG} --budget 80GiB",
    "memory": f"memory {CONFIG}",
    "memory --train": f"memory {CONFIG} --train",
    "formula": f"formula {CONFIG}",
    "formula of FLOPs": f"formula {CONFIG} --quantity flops",
    "sensitivity": f"sensitivity {CONFIG}",
    "diff": f"diff {CONFIG} BertModel",
    "table": f"table {CONFIG} BertModel --columns model,params,flops,cache_bytes",
    "sweep": f"sweep {CONFIG} --set hidden_size=1024:4096:1024 --columns params,flops",
    "solve": f"solve {CONFIG} --params 7e9",
}


def counted(run: Callable[[], Any]) -> tuple[int, Any]:
    """Return how many trees a function builds, and its result.

    >>> import archspec
    >>> counted(lambda: archspec.load("GPT2Model").params)
    (1, 124439808)
    """
    builds, build = 0, Builder.build

    def counting(self: Builder, architecture: str) -> Any:
        nonlocal builds
        builds += 1
        return build(self, architecture)

    Builder.build = counting  # type: ignore[method-assign]
    try:
        found = run()
    finally:
        Builder.build = build  # type: ignore[method-assign]
    return builds, found


def run_line(line: str) -> str:
    """Run a command line and return its output."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        main(line.split())
    return printed.getvalue()


def measure(line: str) -> tuple[int, float]:
    """Return the builds of a command line, and the milliseconds of its fastest run."""
    builds, _ = counted(lambda: run_line(line))
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run_line(line)
        times.append(time.perf_counter() - start)
    return builds, 1000 * min(times)


if __name__ == "__main__":
    chosen = sys.argv[1:] or LINES
    measured = {name: measure(LINES[name]) for name in chosen}
    rows = [(name, str(builds), f"{spent:.1f}") for name, (builds, spent) in measured.items()]
    print_report([Table("verb|>builds|>ms", rows)])
