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

STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
STYLES = r"\x1b\[[01]m"  # of the heads of tables
BAR = "\x1b[?25l"  # a progress bar hides the cursor
LONGEST = 100_000  # characters of an error, which may have many problems
LIMIT = 20  # seconds of the processor for one line
CODES = {0, 1, 2, 130, 141}
DIFFERING = ("diff", "verify", "derive")  # the verbs that may say that there is a difference
NO_NUMBER = re.compile(r"(?<![\w./'\"=-])(?:nan|NaN|inf|Infinity|zoo|oo)(?![\w.'\"])")


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
    """The line in this process, without a standard input; on a terminal of a width, or piped."""
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
    return Outcome(code, _text(out), _text(err))


def run_alone(line: list[str]) -> Outcome:
    """Run the line in a separate process."""
    command = [sys.executable, "-m", "archspec", *line]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
    return Outcome(
        done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raises :class:`TooSlow` after :data:`LIMIT` seconds of the processor."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def wrong(line: list[str], ended: Outcome) -> str:
    """Return the problem of a finished line; an empty text if it is fine."""
    verb = line[0] if line else ""
    if TooSlow.__name__ in ended.err:
        return f"takes more than {LIMIT} s"
    if "Traceback" in ended.err or "a bug of archspec" in ended.out + ended.err:
        return "a traceback or a bug"
    if ended.code not in CODES:
        return f"ends in {ended.code}"
    if "Warning" in ended.err:
        return "a warning of another package"
    if ended.code == 1 and verb not in DIFFERING:
        return "a difference, where none was asked for"
    if ended.code == 2 and line and not (ended.out + ended.err).strip():
        return "refused without a reason"
    err = "" if BAR in ended.err else ended.err
    if STEERS.search(re.sub(STYLES, "", ended.out) + err):
        return "a character that steers a terminal"
    if " at 0x" in ended.out + ended.err:
        return "an address of an object"
    if len(ended.err) > LONGEST:
        return f"an error of more than {LONGEST:,} characters"
    if NO_NUMBER.search(ended.out):
        return "a number that is none"
    return _not_json(line, ended) or (_disagreement(line) if verb == "count" and ended.code == 0 else "")


def _not_json(line: list[str], ended: Outcome) -> str:
    """Return the problem of the output of `--json`, which is one JSON value, or one per line of a sweep."""
    if "--json" not in line or ended.code == 2 or ended.out[:1] not in ("{", "["):
        return ""
    by_line = line[0] == "sweep" and "--json-schema" not in line
    texts = ended.out.splitlines() if by_line else [ended.out]
    for text in texts:
        try:
            json.loads(text, parse_constant=_refuse)
        except ValueError as error:
            return f"no JSON: {error}"
    return ""


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _disagreement(line: list[str]) -> str:
    """`count`, `count --json` and the tensors say the same."""
    plain = [text for text in line if text != "--json"]
    if any(text in plain for text in ("--help", "-h", "--json-schema")):
        return ""
    shown, found = run(plain), run([*plain, "--json"])
    if (shown.code, found.code) != (0, 0):
        return f"count ends in {shown.code}, with --json in {found.code}"
    params = json.loads(found.out)["params"]
    said = re.search(r"^params +([\d,]+)$", shown.out, re.MULTILINE)
    if said is None or int(said[1].replace(",", "")) != params:
        return f"count says {said and said[1]}, with --json {params}"
    return ""
