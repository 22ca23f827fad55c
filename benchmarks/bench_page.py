"""How quick the page is: first paint, first count, first formula, and from a knob to the count it gives.

    python benchmarks/bench_page.py [--rounds 5]

drives headless Chromium on the page that web/ has built (`npm ci && npm run build` there), from a server on
this machine, and prints medians, and ratios round by round. The floors that nothing can beat, in the same
rounds: a page of one word, and Pyodide alone, which runs `1 + 1` in a worker; for knobs the same counts by
archspec in this Python. Fails if a median misses its goal, or a count differs from archspec's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import archspec

WEB = Path(__file__).parent.parent / "web"
PAINT_MS, COUNT_MS, TURN_MS = 1000, 6000, 50
LINES = {
    "paint": ("first paint", "empty", PAINT_MS),
    "count": ("first count", "bare", COUNT_MS),
    "formula": ("first formula, after the count", "bare", None),
    "link": ("first formula, from a direct link", "bare", None),
    "warm_paint": ("paint of a second visit", "empty", PAINT_MS),
    "warm_count": ("count of a second visit", "bare", COUNT_MS),
}


def measured(rounds: int) -> Any:
    subprocess.run(["npx", "tsc", "-p", "tests"], cwd=WEB, check=True)
    command = ["node", ".tests/measure.js", str(rounds)]
    return json.loads(subprocess.run(command, cwd=WEB, check=True, stdout=subprocess.PIPE).stdout)


def report(what: str, ms: float, ratio: float, floor: str, aim: int | None) -> bool:
    """Prints a line; whether an aim is missed."""
    missed = aim is not None and ms >= aim
    said = "" if aim is None else f"   {'MISSES' if missed else 'keeps'} its aim of {aim:,} ms"
    print(f"{what:45} {ms:7,.0f} ms {ratio:6.1f}x {floor}{said}")
    return missed


def visits(rounds: list[dict[str, float]]) -> list[bool]:
    medians = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    print(f"{len(rounds)} rounds: an empty page {medians['empty']:,.0f} ms, bare {medians['bare']:,.0f} ms")
    missed = []
    for name, (what, floor, aim) in LINES.items():
        ratio = statistics.median(one[name] / one[floor] for one in rounds)
        missed.append(report(what, medians[name], ratio, floor, aim))
    return missed


def turns(name: str, field: str, params: list[int], ms: list[float]) -> bool:
    """Each turn has added one to a field."""
    model = archspec.load(name)
    [first] = [one.value for one in model.fields if one.field == field]
    ours = []
    for value, shown in enumerate(params, first + 1):
        start = time.perf_counter()
        found = model.with_fields({field: value})
        counts, _ = found.counts(depth=0), found.tree
        ours.append(1000 * (time.perf_counter() - start))
        assert counts.params == shown, f"{name} at {field} = {value}: {counts.params:,}, the page {shown:,}"
    native = statistics.median(ours)
    median = statistics.median(ms)
    return report(f"{name}, {field} turned", median, median / native, f"native {native:.1f} ms", TURN_MS)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    found = measured(parser.parse_args().rounds)
    missed = visits(found["rounds"])
    missed += [turns(name, **one) for name, one in found["turns"].items()]
    return int(any(missed))


if __name__ == "__main__":
    raise SystemExit(main())
