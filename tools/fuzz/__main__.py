"""`python -m tools.fuzz --lines 1000 --seed 7` runs random command lines, and prints those that end badly.

The exit code is 1 if a line ends badly. `--only N` runs the Nth line of a seed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tools.fuzz.lines import line, prepare
from tools.fuzz.running import problem_of, run, run_alone


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m tools.fuzz", description="Run random command lines.")
    parser.add_argument("--lines", type=int, default=1000, metavar="N", help="number of lines (1000)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the lines (0)")
    parser.add_argument("--only", type=int, metavar="N", help="the Nth line alone")
    parser.add_argument("--alone", type=int, default=40, metavar="N", help="each Nth in a process, too (40)")
    args = parser.parse_args(arguments)
    os.environ["HF_HUB_OFFLINE"] = "1"
    numbers = range(args.lines) if args.only is None else [args.only]
    ends, failures = Counter[str](), Counter[str]()
    for number in numbers:
        alone = args.only is not None or number % args.alone == args.alone - 1
        code, problem = run_line(args.seed, number, alone)
        ends[str(code)] += 1
        failures.update([problem] * bool(problem))
    print(f"seed {args.seed}: {len(numbers):,} lines, exit codes {dict(ends)}, ended badly: {dict(failures)}")
    return 1 if failures else 0


def run_line(seed: int, number: int, alone: bool) -> tuple[int | None, str]:
    """Run one line in a new directory; return its exit code and its problem."""
    source = random.Random(f"{seed}/{number}")
    with tempfile.TemporaryDirectory() as name, _inside(name):
        prepare(Path(name), source)
        given = line(source, Path(name))
        ended = run(given, source.choice((0, 0, 0, 30, 60, 200)))
        problem = problem_of(given, ended)
        if alone and not problem:
            apart = run_alone(given)
            differs = f"{ended.code} here, {apart.code} alone" if apart.code != ended.code else ""
            problem = problem_of(given, apart) or differs
            ended = apart if problem else ended
        if problem:
            command = " ".join(shlex.quote(text[:300]) for text in given)
            print(f"\n=== {number}: {problem}\narchspec {command}", file=sys.stderr)
            for path in Path(name).rglob("config.json"):
                print(f"{path.name}: {path.read_bytes()[:600]!r}", file=sys.stderr)
            print((ended.out[-600:] + ended.err[-1500:]).encode(errors="replace").decode(), file=sys.stderr)
    return ended.code, problem


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    """Run the block in a directory; contextlib.chdir needs Python 3.11."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    sys.exit(main())
