"""The `archspec` command: runs a verb, and turns errors into exit codes.

Exit codes: 0 done, 1 a difference was found, 2 bad input (a config, a spec or the command line) or
an output that cannot be written, 70 a bug of archspec, 130 interrupted, 141 the reader of a pipe went away.
"""

from __future__ import annotations

import codecs
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from archspec.cli.run import run
from archspec.tables.verbs import VERBS
from archspec.typing_light import NoReturn

_ENDING = ("strict", "surrogateescape", "backslashreplace")  # how Python treats letters that it cannot print
_IN_ASCII = dict(zip("×·−–—─‘’“”\u00a0\u2009\u202f", "x*----''\"\"   ", strict=True))
_IN_ASCII |= {"…": "...", "≈": "~", "≥": ">=", "≤": "<=", "→": "->"}
_POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_OPTIONS = {
    "--version": "print the version, and the version of transformers that the specs describe",
    "--print-completion SHELL": "print a completion script for bash, zsh or fish",
}
_EPILOG = (
    "archspec COMMAND --help lists its options. Exit codes: 0 done, 1 a difference was found, 2 bad input."
)


def command() -> NoReturn:
    """The `archspec` script: :func:`main` in a process of its own.

    What is imported stays: the garbage collector need not look at it, and as the process ends it is not taken
    apart piece by piece. Both together are a sixth of a cold count.
    """
    try:
        gc.disable()
        if sys.argv[1:2] and VERBS.get(sys.argv[1]) and VERBS[sys.argv[1]].method:
            pass
        gc.freeze()
        gc.enable()
        code = main()
    except KeyboardInterrupt:
        code = _interrupted()
    os._exit(code)  # main() has flushed what it printed


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and gives its exit code.

    >>> main(["count", "no_such_model"])
    2
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    _open_streams()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what may come next
        from archspec.cli.completion import answer

        answer()
    try:
        code = _run(given)
        sys.stdout.flush()
        sys.stderr.flush()
        return code
    except BrokenPipeError:
        return 141
    except OSError as error:  # a disk that is full, above all
        _complain(f"{error.filename or 'the output'}: {error.strerror or error}")
        return 2


def _open_streams() -> None:
    """Prepare both outputs: a closed one goes nowhere, and letters that its encoding lacks are replaced."""
    codecs.register_error("archspec", _replaced)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # until the process ends
        stream = getattr(sys, name)
        if getattr(stream, "errors", "") in _ENDING and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="archspec")


def _replaced(error: UnicodeError) -> tuple[str | bytes, int]:
    """Letters that an encoding lacks: signs in ASCII, anything else as an escape."""
    assert isinstance(error, UnicodeEncodeError)
    letter, rest = error.object[error.start], error.object[error.start : error.end]
    if letter in _IN_ASCII:
        return _IN_ASCII[letter], error.start + 1
    if digits := rest[: len(rest) - len(rest.lstrip(_POWERS))]:
        return "^" + "".join(str(_POWERS.index(digit)) for digit in digits), error.start + len(digits)
    error.end = error.start + 1
    return codecs.backslashreplace_errors(error)


def _interrupted() -> int:
    _complain("interrupted")
    return 130


def _complain(text: str) -> None:
    """Says what is wrong, if anyone hears it."""
    from archspec.terminal import say

    with suppress(OSError):
        for line in text.split("\n"):
            if line.startswith(" " * 4):  # of a file, and the caret below it
                print(line, file=sys.stderr)
            else:
                say(line, sys.stderr)
        sys.stderr.flush()


def _run(given: list[str]) -> int:
    if given[:1] == ["help"] and len(given) == 2:
        given = [given[1], "--help"]
    verb = given[0] if given else "--help"
    if verb in ("-h", "--help", "help"):
        print(_help())
        return 0 if given else 2
    if verb in ("-V", "--version"):
        from archspec import TRANSFORMERS_VERSION, __version__

        print(f"archspec {__version__} (its specs describe transformers {TRANSFORMERS_VERSION})")
        return 0
    from archspec.errors import ArchspecError, did_you_mean

    try:
        if verb == "--print-completion":
            from archspec.cli.completion import script

            print(script(given[1] if given[1:] else ""), end="")
            return 0
        if verb not in VERBS:
            what = "option" if verb.startswith("-") else "command"
            message = f"unknown {what} {verb!r}"
            help_ = did_you_mean(verb, VERBS) or f"choose {', '.join(VERBS)}"
            raise ArchspecError(message, help=help_)
        return _verb(verb, given[1:])
    except ArchspecError as error:
        sys.stdout.flush()
        _complain(str(error))
        return 2
    except KeyboardInterrupt:
        return _interrupted()
    except OSError:
        raise
    except Exception as error:
        from archspec.extras import missing

        if told := missing(error):
            _complain(str(told))
            return 2
        if os.environ.get("ARCHSPEC_DEBUG"):
            raise
        detail = next(iter(str(error).splitlines()), "")
        _complain(f"a bug of archspec: {type(error).__name__}: {detail}")
        _complain("help: ARCHSPEC_DEBUG=1 shows where; please report it with the command")
        return 70


def _verb(verb: str, given: list[str]) -> int:
    if "--json-schema" in given:
        from archspec.schemas import text

        print(text(verb), end="")
        return 0
    try:
        return run(verb, given)
    except SystemExit as stop:  # argparse printed the error or the help text
        return stop.code if isinstance(stop.code, int) else 2


def _help() -> str:
    verbs = {name: verb.help for name, verb in VERBS.items()}
    about = "Exact parameter counts and costs of transformer models, and their closed forms, from a config."
    return "\n".join(
        [
            *("usage: archspec COMMAND ...", "", about, ""),
            *_aligned(verbs),
            "",
            *_aligned(_OPTIONS),
            "",
            _EPILOG,
        ]
    )


def _aligned(rows: dict[str, str]) -> list[str]:
    width = max(map(len, rows))
    return [f"  {name:<{width}}  {purpose}" for name, purpose in rows.items()]
