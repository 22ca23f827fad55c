"""The `archspec` command: runs a command and turns errors into exit codes.

Exit codes: 0 success, 1 a difference was found, 2 invalid input (a config, a spec or the command line), an
unsupported model or an output that cannot be written, 70 a bug in archspec, 130 interrupted, 141 broken pipe.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from archspec.cli.run import run
from archspec.errors import ArchspecError, command_line, did_you_mean
from archspec.tables.verbs import VERBS
from archspec.terminal import print_sentence
from archspec.typing_light import NoReturn

_REPLACED = ("strict", "surrogateescape")  # Python's error handlers of encodings
_OPTIONS = {
    "--version": "print the version of archspec, and the transformers version that its specs match",
    "--print-completion SHELL": "print a completion script for bash, zsh or fish",
}


def command() -> NoReturn:
    """Run :func:`main` as a process, which ends without taking its objects apart: a sixth of a cold count."""
    gc.freeze()
    gc.set_threshold(10_000)  # as in workers: it saves a tenth of a long command
    try:
        code = main()
    except KeyboardInterrupt:
        code = _report_interrupt()
    os._exit(code)  # main() has flushed its outputs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code.

    >>> main(["count", "no_such_model"])
    2
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_outputs()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
        from archspec.cli.completion import answer

        answer()
    try:
        code = _exit_code(given)
        sys.stdout.flush()
        sys.stderr.flush()
        return code
    except BrokenPipeError:
        return 141
    except OSError as error:  # for example a full disk
        _complain(f"{error.filename or 'the output'}: {error.strerror or error}")
        return 2


def _exit_code(given: list[str]) -> int:
    """Run a command line and return its exit code; print its error."""
    try:
        with command_line():
            return _run(given)
    except ArchspecError as error:
        sys.stdout.flush()
        _complain(str(error))
        return 2
    except KeyboardInterrupt:
        return _report_interrupt()
    except SystemExit as stop:  # argparse printed a help text
        return stop.code if isinstance(stop.code, int) else 2
    except OSError:
        raise
    except Exception as error:
        from archspec.extras import missing_package

        if absent := missing_package(error):
            _complain(str(absent))
            return 2
        if os.environ.get("ARCHSPEC_DEBUG"):
            raise
        detail = next(iter(str(error).splitlines()), "")
        help_ = "help: ARCHSPEC_DEBUG=1 shows where; please report it with the command"
        _complain(f"a bug of archspec: {type(error).__name__}: {detail}\n{help_}")
        return 70


def _run(given: list[str]) -> int:
    if given[:1] == ["help"] and len(given) == 2:
        given = [given[1], "--help"]
    verb, *rest = given or ["--help"]
    if verb in VERBS:
        if "--json-schema" not in rest:
            return run(verb, rest)
        from archspec.schemas import text

        print(text(verb), end="")
    elif verb in ("-h", "--help", "help"):
        print(_help())
        return 0 if given else 2
    elif verb in ("-V", "--version"):
        from archspec import TRANSFORMERS_VERSION, __version__

        print(f"archspec {__version__} (its specs match transformers {TRANSFORMERS_VERSION})")
    elif verb == "--print-completion":
        from archspec.cli.completion import script

        print(script(rest[0] if rest else ""), end="")
    else:
        is_option = verb.startswith("-")
        known = [text.partition(" ")[0] for text in ("--help", *_OPTIONS)] if is_option else VERBS
        if is_option and rest[:1] and rest[0] in VERBS:
            raise ArchspecError(f"{verb} precedes the command", help=f"write archspec {rest[0]} … {verb}")
        message = f"unknown {'option' if is_option else 'command'} {verb!r}"
        raise ArchspecError(message, help=did_you_mean(verb, known))
    return 0


def _help() -> str:
    verbs, options = (
        "\n".join(f"  {name:<{max(map(len, part))}}  {text}" for name, text in part.items())
        for part in ({name: verb.help for name, verb in VERBS.items()}, _OPTIONS)
    )
    return f"""\
usage: archspec COMMAND ...

Exact parameter counts and costs of transformer models, and their closed-form formulas, from a config.

{verbs}

{options}

archspec COMMAND --help lists the options of a command.
Exit codes: 0 success; 1 a difference was found; 2 invalid or unsupported input; 70 a bug in archspec."""


def _prepare_outputs() -> None:
    """Replace a closed output by the null device; escape characters that an output's encoding lacks."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # until the process ends
        stream = getattr(sys, name)
        if getattr(stream, "errors", "") in _REPLACED and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _report_interrupt() -> int:
    _complain("interrupted")
    return 130


def _complain(text: str) -> None:
    """Print an error; ignore a stderr that is closed or full."""
    with suppress(OSError):
        for line in text.split("\n"):
            if line.startswith(" " * 4):  # a line of a file, or its caret
                print(line, file=sys.stderr)
            else:
                print_sentence(line, sys.stderr)
        sys.stderr.flush()
