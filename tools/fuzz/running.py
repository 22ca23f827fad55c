"""Run one command line, and check how it ended."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from typing import Any, NamedTuple

from archspec.cli.main import main

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
STYLES = r"\x1b\[[01]m"  # of the heads of tables
BAR = "\x1b[?25l"  # a progress bar hides the cursor
LONGEST = 100_000  # characters of an error, which may have many problems
LIMIT = 20  # seconds of processor time for one line
CODES = {0, 1, 2, 130, 141}
DIFFERING = ("diff", "verify", "derive")  # the verbs that end in 1 for a difference
NOT_A_NUMBER = re.compile(r"(?<![\w./'\"=-])(?:nan|NaN|inf|Infinity|zoo|oo)(?![\w.'\"])")


class Outcome(NamedTuple):
    """How a command line ended."""

    code: int | None
    out: str
    err: str


class TooSlow(BaseException):
    """A line that did not end; no `except Exception` may hide it."""


class Terminal(io.TextIOWrapper):
    """A terminal: it accepts UTF-8 without lone surrogates."""

    def isatty(self) -> bool:
        return True


def run(line: list[str], width: int = 0) -> Outcome:
    """Run the line in this process, without a standard input; on a terminal of a width, or piped."""
    kind = Terminal if width else io.TextIOWrapper
    out = kind(io.BytesIO(), "utf-8", "strict", write_through=True)
    err = kind(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
    os.environ["COLUMNS"] = str(width or 80)
    before, sys.stdin = sys.stdin, None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with limited():
                code: int | None = main(line)
        except BaseException:
            code = None
            traceback.print_exc(file=err)
        finally:
            sys.stdin = before
    out.seek(0)
    err.seek(0)
    return Outcome(code, out.read(), err.read())


def run_alone(line: list[str]) -> Outcome:
    """Run the line in a separate process."""
    command = [sys.executable, "-m", "archspec", *line]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
    return Outcome(done.returncode, *(text.decode(errors="replace") for text in (done.stdout, done.stderr)))


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raise :class:`TooSlow` after :data:`LIMIT` seconds of processor time."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def problem_of(line: list[str], ended: Outcome) -> str:
    """Return the problem of a finished line; an empty text if it is fine."""
    verb, text = line[0] if line else "", ended.out + ended.err
    err = "" if BAR in ended.err else ended.err
    problems = {
        f"takes more than {LIMIT} s": TooSlow.__name__ in ended.err,
        "a traceback or a bug": "Traceback" in ended.err or "a bug of archspec" in text,
        f"ends in {ended.code}": ended.code not in CODES,
        "a warning of another package": "Warning" in ended.err,
        "a difference without a comparison": ended.code == 1 and verb not in DIFFERING,
        "refused without a reason": ended.code == 2 and bool(line) and not text.strip(),
        "a control character": bool(CONTROL.search(re.sub(STYLES, "", ended.out) + err)),
        "an address of an object": " at 0x" in text,
        f"an error of more than {LONGEST:,} characters": len(ended.err) > LONGEST,
        "not a number": bool(NOT_A_NUMBER.search(ended.out)),
        "not JSON": not _is_json(line, ended),
    }
    found = next((problem for problem, is_there in problems.items() if is_there), "")
    return found or (_disagreement(line) if verb == "count" and ended.code == 0 else "")


def _is_json(line: list[str], ended: Outcome) -> bool:
    """Return False if `--json` prints anything but one JSON value, or one per line of a sweep."""
    if "--json" not in line or ended.code == 2 or ended.out[:1] not in ("{", "["):
        return True
    by_line = line[0] == "sweep" and "--json-schema" not in line
    try:
        for text in ended.out.splitlines() if by_line else [ended.out]:
            json.loads(text, parse_constant=_refuse)
    except ValueError:
        return False
    return True


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _disagreement(line: list[str]) -> str:
    """Return how `count` and `count --json` differ."""
    plain = [text for text in line if text != "--json"]
    if any(text in plain for text in ("--help", "-h", "--json-schema")):
        return ""
    text, found = run(plain), run([*plain, "--json"])
    if (text.code, found.code) != (0, 0):
        return f"count ends in {text.code}, with --json in {found.code}"
    params = json.loads(found.out)["params"]
    printed = re.search(r"^params +([\d,]+)$", text.out, re.MULTILINE)
    if printed is None or int(printed[1].replace(",", "")) != params:
        return f"count prints {printed and printed[1]}, with --json {params}"
    return ""
