"""The command line of a verb, read from the table of options: quickly if it is plain, else by argparse."""

from __future__ import annotations

from types import SimpleNamespace

from archspec.cli.choices import choices_of
from archspec.errors import ArchspecError, printable
from archspec.tables.option import BOTH, PYTHON, Option
from archspec.tables.options import options_of
from archspec.tables.verbs import VERBS
from archspec.typing_light import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import argparse

Values = SimpleNamespace  # the values of a command line; ``given`` names the options that are on it
_GROUPS = {  # options that most verbs share, listed after a verb's own
    **dict.fromkeys(("architecture", "set", "set_a", "set_b", "config", "specs"), "model"),
    **dict.fromkeys(("format", "json", "json_schema"), "output"),
}
_LONGEST = 2_000  # characters of an error
_NARROW, _WIDE = 30, 110  # columns of a help text


def command_options(verb: str) -> list[Option]:
    """Return the options that a verb takes on the command line, each name once.

    >>> [option.flag for option in command_options("memory")][-3:]
    ['--tensor-parallel', '--pipeline-parallel', '--expert-parallel']
    """
    also = VERBS[verb].also
    listed = [*options_of(verb), *(options_of(also) if also else ())]
    found: dict[str, Option] = {}
    for option in listed:
        if option.where != PYTHON:
            found.setdefault(option.name, option)
    return [*found.values()]


def read(verb: str, given: list[str]) -> Values:
    """Return the values of a command line.

    Raises:
        ArchspecError: for options that have no effect together.
        SystemExit: if argparse printed an error or the help text.
    """
    options = command_options(verb)
    values = _read_plain(options, given)
    if values is None:
        found = vars(parser_of(verb).parse_args(given, Values()))
        values = Values(**{**_defaults(options), **found}, given={*found} - _positionals(options))
    check_combinations(options, values.given)
    if getattr(values, "train", False):
        _check_other_method(verb, values.given)
    return values


def _read_plain(options: list[Option], given: list[str]) -> Values | None:
    """Return the values of a plain command line; None for any other one, or a wrong one.

    argparse reads whatever is not a positional, `--flag` or `--option TEXT`: importing it and building a
    parser takes 3 of the 30 ms of a cold count.
    """
    plain = {option.flag: option for option in options if _is_plain(option)}
    values, named = _defaults(options), set[str]()
    positionals = iter([option.flag for option in options if option.positional])
    texts = iter(given)
    for text in texts:
        is_option = text.startswith("-")
        option = plain.get(text if is_option else next(positionals, ""))
        if option is None:
            return None
        value = True if option.type == "bool" else next(texts, "-") if is_option else text
        if str(value).startswith("-"):
            return None
        if is_option:
            named.add(option.name)
        values[option.name] = [*values[option.name], value] if option.repeated else value
    return Values(**values, given=named) if next(positionals, None) is None else None


def _is_plain(option: Option) -> bool:
    is_text = not option.type.startswith(("int", "float"))
    is_closed = isinstance(option.choices, tuple) and bool(option.choices)
    return option.positional in ("", "1") and option.bare is None and is_text and not is_closed


def _defaults(options: list[Option]) -> dict[str, Any]:
    """Return the value of each option that is not given."""
    several = {option.name for option in options if option.repeated or option.positional in ("*", "+")}
    return {option.name: [] if option.name in several else option.default for option in options}


def _positionals(options: list[Option]) -> set[str]:
    return {option.name for option in options if option.positional}


def check_combinations(options: list[Option], given: set[str]) -> None:
    """Raise an :class:`ArchspecError` for an option that needs another one, or excludes one that is given."""
    flags = {option.name: option.flag for option in options}
    for option in options:
        if option.name not in given:
            continue
        for needed in option.needs:
            if needed not in given:
                message = f"{option.flag} has no effect without {flags[needed]}"
                raise ArchspecError(message, help=f"add {flags[needed]}, or leave out {option.flag}")
        for other in option.excludes:
            if other in given:
                message = f"{option.flag} cannot be combined with {flags[other]}"
                raise ArchspecError(message, help=f"leave out {option.flag} or {flags[other]}")


def _check_other_method(verb: str, given: set[str]) -> None:
    """Raise an :class:`ArchspecError` for an option that the method chosen by --train lacks."""
    known = {option.name for option in options_of(VERBS[verb].also)}
    for option in options_of(verb):
        if option.name in given - known and option.where == BOTH and option.name not in _GROUPS:
            message = f"{option.flag} cannot be combined with --train"
            raise ArchspecError(message, help=f"leave out {option.flag} or --train")


def parser_of(verb: str) -> argparse.ArgumentParser:
    """Return an argparse parser that reads every command line of a verb."""
    import argparse
    import shutil
    import textwrap

    width = max(_NARROW, min(shutil.get_terminal_size((_WIDE, 24)).columns, _WIDE))

    class Parser(argparse.ArgumentParser):
        """A parser whose errors escape control characters of the command line."""

        def error(self, message: str) -> NoReturn:
            super().error(printable(message, _LONGEST))

    parser = Parser(
        prog=f"archspec {verb}",
        description=textwrap.fill(VERBS[verb].help, width - 2),
        epilog="\n  ".join(["examples:", *(f"archspec {line}" for line in VERBS[verb].examples)]),
        allow_abbrev=False,
        add_help=False,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=width),
    )
    groups = {title: parser.add_argument_group(title) for title in ("model", "output")}
    for option in command_options(verb):
        absent = {} if option.positional else {"default": argparse.SUPPRESS}  # shows which options are given
        group = parser if option.positional else groups.get(_GROUPS.get(option.name, ""), parser)
        group.add_argument(option.flag, **{**argparse_form(option), **absent})
    groups["output"].add_argument("-h", "--help", action="help", help="show this help")
    return parser


def argparse_form(option: Option) -> dict[str, Any]:
    """Return the arguments of argparse's `add_argument` for an option."""
    found: dict[str, Any] = {"help": help_of(option).replace("%", "%%")}
    if option.type == "bool":
        return {**found, "action": "store_true", "default": False}
    found |= {"metavar": option.metavar or None, "default": option.default}
    if option.repeated:
        return {**found, "action": "append", "default": []}
    if option.positional not in ("", "1"):
        found["nargs"] = option.positional
    if option.bare is not None:
        found |= {"nargs": "?", "const": option.bare}
    if option.type.startswith(("int", "float")):
        found["type"] = _number(int if option.type.startswith("int") else float)
    if isinstance(option.choices, tuple) and option.choices:
        found["choices"] = option.choices
    return found


def help_of(option: Option) -> str:
    """Return the help text of an option, with its closed set of values and its default.

    >>> help_of(next(option for option in command_options("memory") if option.name == "attention"))
    'attention kernel: flash, eager (default: flash); needs --train'
    """
    found = option.help
    if option.choices not in ((), "quantities", "columns"):  # these two are part of the help itself
        found = f"{found}: {', '.join(choices_of(option))}"
    default = option.default_help
    if not default and option.default not in (None, "", (), False):
        default = option.default if isinstance(option.default, str) else str(option.default)
        default = "params" if option.default == ("params",) else default
    found += f" (default: {default})" if default else ""
    needs = ", ".join(f"--{name.replace('_', '-')}" for name in option.needs)
    return f"{found}; needs {needs}" if needs else found


def _number(kind: type[int] | type[float]) -> Any:
    """Return a reader of numbers that refuses digits other than 0 to 9, as configs do."""

    def read_number(text: str) -> int | float:
        if not text.isascii():
            raise ValueError(text)
        return kind(text)

    read_number.__name__ = kind.__name__  # argparse shows it
    return read_number
