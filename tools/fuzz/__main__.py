"""`python -m tools.fuzz --lines 1000 --seed 7`: runs random command lines, and shows those that end badly.

`--agree 200` compares numbers that must be the same instead, at random configs of random classes. It ends in
1 if anything is wrong. `--only N` runs the Nth of a seed alone.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from archspec.tables.verbs import VERBS
from tools.fuzz.agreement import disagreements
from tools.fuzz.lines import line, prepare
from tools.fuzz.running import run, run_alone, wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m tools.fuzz", description="Runs random command lines.")
    parser.add_argument("--lines", type=int, default=1000, metavar="N", help="how many (1000)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the lines (0)")
    parser.add_argument("--agree", type=int, default=0, metavar="N", help="compare numbers of N classes")
    parser.add_argument("--only", type=int, metavar="N", help="the Nth line alone")
    parser.add_argument("--alone", type=int, default=40, metavar="N", help="each Nth in a process, too (40)")
    args = parser.parse_args(arguments)
    os.environ["HF_HUB_OFFLINE"] = "1"
    started, ends, failures = time.monotonic(), Counter[str](), Counter[str]()
    numbers = range(args.agree or args.lines) if args.only is None else [args.only]
    if args.agree:
        return compared(args.seed, numbers)
    for number in numbers:
        alone = args.only is not None or number % args.alone == args.alone - 1
        given, code, what = tried(args.seed, number, alone)
        ends[f"{given[0] if given[:1] and given[0] in VERBS else 'no verb'} {code}"] += 1
        if what:
            failures[what] += 1
    seconds = time.monotonic() - started
    print(f"seed {args.seed}: {len(numbers):,} lines in {seconds:.0f} s; ended in:")
    print(", ".join(f"{end}: {count}" for end, count in sorted(ends.items())))
    print(f"{sum(failures.values())} ended badly: {dict(failures)}")
    return 1 if failures else 0


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    """Run the block in a directory; contextlib.chdir needs Python 3.11."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def compared(seed: int, numbers: Iterable[int]) -> int:
    """Compares numbers, shows those that disagree, and returns the exit code."""
    counts, wrong = Counter[str](), 0
    for number in numbers:
        name, (numbers_compared, messages) = disagreements(seed, number)
        counts[name.split()[0]] += numbers_compared
        wrong += len(messages)
        for message in messages:
            print(f"=== {number}: {name}: {message}", file=sys.stderr)
    print(f"seed {seed}: {dict(counts)} numbers compared, {wrong} wrong")
    return 1 if wrong else 0


def tried(seed: int, number: int, alone: bool) -> tuple[list[str], int | None, str]:
    """Run one line in a new directory; return the line, its exit code and its problem."""
    source = random.Random(f"{seed}/{number}")
    with tempfile.TemporaryDirectory() as name, _inside(name):
        prepare(Path(name), source)
        given = line(source, Path(name))
        ended = run(given, source.choice((0, 0, 0, 30, 60, 200)))
        what = wrong(given, ended)
        if alone and not what:
            apart = run_alone(given)
            what = wrong(given, apart) or (
                "" if apart.code == ended.code else f"{ended.code} here, {apart.code} alone"
            )
            ended = apart if what else ended
        if what:
            shown = " ".join(shlex.quote(text[:300]) for text in given)
            print(f"\n=== {number}: {what}\narchspec {shown}", file=sys.stderr)
            for path in Path(name).rglob("config.json"):
                print(f"{path.name}: {path.read_bytes()[:600]!r}", file=sys.stderr)
            print((ended.out[-600:] + ended.err[-1500:]).encode(errors="replace").decode(), file=sys.stderr)
    return given, ended.code, what


if __name__ == "__main__":
    sys.exit(main())
