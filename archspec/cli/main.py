"""The `archspec` command: finds a verb, imports its module alone, and turns errors into exit codes.

Exit codes: 0 done, 1 a difference was found, 2 bad input (a config, a spec or the command line) or
an output that cannot be written, 70 a bug of archspec, 130 interrupted, 141 the reader of a pipe went away.
"""

from __future__ import annotations

import codecs
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from archspec.cli.command_line import Arguments
from archspec.typing_light import Any, NoReturn

# what each verb is for; its module gives add_arguments(arguments) and run(args) -> int
VERBS = {
    "count": "exact parameter counts of a config, by kind and by module",
    "tree": "the modules, as print(model) shows them, with counts and shares",
    "tensors": "every parameter and persistent buffer: name, shape, ties",
    "formula": "the closed form of a count, in the config's own fields",
    "flops": "the FLOPs of one call, by module",
    "cache": "what one call keeps for the next, and how much of it a budget holds",
    "memory": "what a call needs: weights and cache; or, with --train, a training step",
    "sensitivity": "how a count answers to each field, and which do not enter",
    "diff": "what differs between two architectures or configs, in numbers and symbols",
    "table": "several models side by side: text, LaTeX or Markdown",
    "sweep": "counts over a grid of configs: a table, a file, a picture, a SQL query",
    "solve": "configs for a budget of parameters, bytes or FLOPs, the usual shapes first",
    "list": "the model types and architectures that are described",
    "verify": "hold specs to transformers, tensor for tensor, at random configs",
    "derive": "draft a spec from the constructor of a class, and verify it",
    "lint": "check spec files; --schema prints their JSON Schema",
}
_ROOMS = {  # the folder of a verb's module, where it is not verbs/
    **dict.fromkeys(("flops", "cache", "memory"), "costs"),
    **dict.fromkeys(("verify", "derive", "lint"), "specs"),
}
_ENDING = ("strict", "surrogateescape", "backslashreplace")  # how Python treats letters that it cannot print
_IN_ASCII = dict(zip("×·−–—─‘’“”\u00a0\u2009\u202f", "x*----''\"\"   ", strict=True))
_IN_ASCII |= {"…": "...", "≈": "~", "≥": ">=", "≤": "<=", "→": "->"}
_POWERS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_OPTIONS = {
    "--version": "the version, and the transformers that the specs describe",
    "--print-completion SHELL": "a script that completes command lines in bash, zsh or fish",
}
_EPILOG = (
    "archspec VERB --help shows what a verb takes. Exit codes: 0 done, 1 a difference was found, 2 bad input."
)


def command() -> NoReturn:
    """The `archspec` script: :func:`main` in a process of its own.

    What is imported stays: the garbage collector need not look at it, and as the process ends it is not taken
    apart piece by piece. Both together are a sixth of a cold count.
    """
    try:
        gc.disable()
        if sys.argv[1:2] and sys.argv[1] in VERBS:
            module_of(sys.argv[1])
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

        answer(VERBS, module_of)
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
            what = "option" if verb.startswith("-") else "verb"
            message = f"archspec: {verb!r} is no {what} of archspec"
            raise ArchspecError(message, help=did_you_mean(verb, VERBS))
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
    module = module_of(verb)
    arguments = Arguments()
    module.add_arguments(arguments)
    values = arguments.read(given)
    if values is None:
        try:
            values = arguments.parse(verb, VERBS[verb], given)
        except SystemExit as stop:  # argparse has said what is wrong, or shown its help
            return stop.code if isinstance(stop.code, int) else 2
    code: int = module.run(values)
    return code


def module_of(verb: str) -> Any:
    """The module of a verb."""
    return importlib.import_module(f"archspec.cli.{_ROOMS.get(verb, 'verbs')}.{verb}")


def _help() -> str:
    about = "Parameter counts of model architectures, exact and in closed form, from configs."
    return "\n".join(
        [*("usage: archspec VERB ...", "", about, ""), *_aligned(VERBS), "", *_aligned(_OPTIONS), "", _EPILOG]
    )


def _aligned(rows: dict[str, str]) -> list[str]:
    width = max(map(len, rows))
    return [f"  {name:<{width}}  {purpose}" for name, purpose in rows.items()]
