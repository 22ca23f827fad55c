"""The options of a command, read from the table of options: quickly if they are plain, else by argparse."""

from __future__ import annotations

from types import SimpleNamespace

from archspec.errors import ArchspecError, list_names, nearest_names
from archspec.tables.option import BOTH, PYTHON, Option
from archspec.tables.options import options_of
from archspec.tables.quantities import COST_COLUMNS, FORMULAS, QUANTITIES
from archspec.tables.verbs import VERBS
from archspec.typing_light import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import argparse

Values = SimpleNamespace  # the values of a command line; ``given`` names the options that are on it
_GROUPS = {  # options that most verbs share, listed after a verb's own
    **dict.fromkeys(("architecture", "set", "set_a", "set_b", "config", "specs"), "model"),
    **dict.fromkeys(("format", "json", "json_schema"), "output"),
}
_NARROW, _WIDE = 30, 110  # columns of a help text


def command_options(verb: str) -> list[Option]:
    """Return the options that a verb takes on the command line, each name once.

    >>> [option.flag for option in command_options("memory")][-3:]
    ['--tensor-parallel', '--pipeline-parallel', '--expert-parallel']
    """
    also = VERBS[verb].also
    found: dict[str, Option] = {}
    for option in [*options_of(verb), *(options_of(also) if also else ())]:
        if option.where != PYTHON:
            found.setdefault(option.name, option)
    return [*found.values()]


def choices_of(option: Option) -> list[str]:
    """Return the values that an option may have; empty if the set is open.

    >>> [choices_of(option) for option in options_of("training") if option.name == "attention"]
    [['flash', 'eager']]
    """
    if not isinstance(option.choices, str):
        return [*option.choices]
    if option.choices == "quantities":
        return [*FORMULAS]
    if option.choices == "columns":
        return [*QUANTITIES, "bytes", *COST_COLUMNS]
    from archspec.costs.training.optimizers import optimizers
    from archspec.formats.dtypes import DTYPE_BYTES, SHORT_NAMES
    from archspec.formats.scheme import NAMES
    from archspec.gguf.types import FILES
    from archspec.solving.laws import laws

    dtypes = [*DTYPE_BYTES, *SHORT_NAMES]
    named = {"dtypes": dtypes, "formats": NAMES, "files": FILES, "optimizers": optimizers(), "laws": laws()}
    return [*named[option.choices]]


def read(verb: str, given: list[str]) -> Values:
    """Return the values of a command line. Errors: SystemExit if argparse printed the help text."""
    options = command_options(verb)
    values = _read_plain(options, given)
    if values is None:
        found = vars(parser_of(verb).parse_args(given, Values()))
        positionals = {option.name for option in options if option.positional}
        values = Values(**{**_defaults(options), **found}, given={*found} - positionals)
    _check_combinations(verb, options, values)
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
        value = True if option.type.startswith("bool") else next(texts, "-") if is_option else text
        if str(value).startswith("-"):
            return None
        if is_option:
            named.add(option.name)
        values[option.name] = [*values[option.name], value] if option.is_repeated else value
    return Values(**values, given=named) if next(positionals, None) is None else None


def _is_plain(option: Option) -> bool:
    is_text = not option.type.startswith(("int", "float"))
    is_closed = isinstance(option.choices, tuple) and bool(option.choices)
    return option.positional in ("", "1") and option.bare is None and is_text and not is_closed


def _defaults(options: list[Option]) -> dict[str, Any]:
    several = {option.name for option in options if option.is_repeated or option.positional in ("*", "+")}
    return {option.name: [] if option.name in several else option.default for option in options}


def _check_combinations(verb: str, options: list[Option], values: Values) -> None:
    """Raise an :class:`ArchspecError` for options that exclude each other, and for one that needs another."""
    given, flags = values.given, {option.name: option.flag for option in options}
    for option in (option for option in options if option.name in given):
        for needed in option.needs:
            if needed not in given:
                raise _without_effect(option.flag, flags[needed])
        for other in option.excludes:
            if other in given:
                raise combination_error(option.flag, flags[other])
    if not (VERBS[verb].also and values.train):
        return
    known = {option.name for option in options_of(VERBS[verb].also)}
    for option in options_of(verb):  # the method that --train chooses lacks some options
        if option.name in given - known and option.where == BOTH and option.name not in _GROUPS:
            raise combination_error(option.flag, "--train")


def require(values: Values, option: str, needed: str, is_met: object) -> None:
    """Raise an :class:`ArchspecError` for an option that has no effect without another one."""
    if option in values.given and not is_met:
        raise _without_effect(f"--{option.replace('_', '-')}", needed)


def _without_effect(flag: str, needed: str) -> ArchspecError:
    help_ = f"add {needed}, or leave out {flag}"
    return ArchspecError(f"{flag} has no effect without {needed}", help=help_)


def combination_error(flag: str, other: str) -> ArchspecError:
    """Return the error for two options that exclude each other."""
    return ArchspecError(f"{flag} cannot be combined with {other}", help=f"leave out {flag} or {other}")


def _unknown_option_help(verb: str, flag: str) -> str:
    """Return the commands that have an option which this one lacks, or its options with similar names."""
    flags = {name: [one.flag for one in command_options(name) if not one.positional] for name in VERBS}
    if others := [name for name in VERBS if flag in flags[name]]:
        return f"{flag} is an option of archspec {', '.join(others)}; run archspec {verb} --help for others"
    near = nearest_names(flag.strip("-"), [one.strip("-") for one in (*flags[verb], "--help")])
    names = list_names(f"--{name}" for name in near) if near else ""
    return f"did you mean {names}?" if near else f"run archspec {verb} --help"


def parser_of(verb: str) -> argparse.ArgumentParser:
    """Return an argparse parser that reads every command line of a verb."""
    import argparse
    import shutil
    import textwrap

    width = max(_NARROW, min(shutil.get_terminal_size((_WIDE, 24)).columns, _WIDE))

    class Parser(argparse.ArgumentParser):
        """A parser that raises its errors."""

        def error(self, message: str) -> NoReturn:
            raise _parse_error(verb, message)

    terms = [
        textwrap.fill(f"{name}: {meaning}", width - 2, subsequent_indent="  ")
        for name, meaning in VERBS[verb].terms.items()
    ]
    examples = [f"  archspec {line}" for line in VERBS[verb].examples]
    parser = Parser(
        prog=f"archspec {verb}",
        description=textwrap.fill(VERBS[verb].help, width - 2),
        epilog="\n".join([*terms, *([""] if terms else []), "examples:", *examples]),
        allow_abbrev=False,
        add_help=False,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=width),
    )
    groups = {title: parser.add_argument_group(title) for title in ("model", "output")}
    for option in command_options(verb):
        # only options that are given have a value
        absent = {} if option.positional else {"default": argparse.SUPPRESS, "dest": option.name}
        group = parser if option.positional else groups.get(_GROUPS.get(option.name, ""), parser)
        group.add_argument(option.flag, **{**argparse_form(option), **absent})
    groups["output"].add_argument("-h", "--help", action="help", help="show this help")
    return parser


def _parse_error(verb: str, message: str) -> ArchspecError:
    """Return the error for a command line that argparse rejects with a message."""
    see = f"run archspec {verb} --help"
    options = {option.flag: option for option in command_options(verb) if not option.positional}
    if extra := message.partition("unrecognized arguments: ")[2]:
        first = extra.partition(" ")[0].partition("=")[0]
        if not first.startswith("-"):
            return ArchspecError(f"unexpected argument {extra.partition(' ')[0]!r}", help=see)
        return ArchspecError(f"unknown option {first!r}", help=_unknown_option_help(verb, first))
    if absent := message.partition("arguments are required: ")[2]:
        return ArchspecError(f"missing {absent}", help=f"pass it, e.g. archspec {VERBS[verb].examples[0]}")
    flag, _, problem = message.removeprefix("argument ").partition(": ")
    option = options.get(flag)
    if option is None or "ignored explicit" in problem:
        return ArchspecError(message, help=see)
    closed = f"choose from: {', '.join(choices_of(option))}" if option.choices else ""
    if "expected" in problem:
        return ArchspecError(f"{flag} needs a value", help=closed or f"write {flag} {option.metavar}")
    value = problem.partition(": ")[2].partition(" (choose")[0]
    if "invalid choice" in problem:
        return ArchspecError(f"{flag}: unknown value {value}", help=closed)
    kind, example = ("an integer", "8") if option.type.startswith("int") else ("a number", "2.5")
    return ArchspecError(f"{flag} must be {kind}, not {value}", help=f"write e.g. {flag} {example}")


def argparse_form(option: Option) -> dict[str, Any]:
    """Return the arguments of argparse's `add_argument` for an option."""
    found: dict[str, Any] = {"help": help_of(option).replace("%", "%%")}
    if option.type.startswith("bool"):
        return {**found, "action": "store_true", "default": option.default}
    found |= {"metavar": option.metavar or None, "default": option.default}
    if option.is_repeated:
        return {**found, "action": "append", "default": []}
    if option.positional not in ("", "1"):
        found["nargs"] = option.positional
    if option.bare is not None:
        found |= {"nargs": "?", "const": option.bare}
    if option.type.startswith(("int", "float")):
        number = int if option.type.startswith("int") else float
        found["type"] = lambda text: number(text.encode("ascii"))  # only digits 0 to 9, as in configs
    if isinstance(option.choices, tuple) and option.choices:
        found["choices"] = option.choices
    return found


def help_of(option: Option) -> str:
    """Return the help text of an option, with its closed set of values and its default.

    >>> help_of(next(option for option in command_options("memory") if option.name == "attention"))
    'attention kernel: flash, eager (default: flash); requires --train'
    """
    found, choices = option.help, choices_of(option) if option.metavar and option.choices else []
    if not all(choice in found for choice in choices):
        found = f"{found}: {', '.join(choices)}"
    default = option.default_help
    if not default and option.default not in (None, "", (), False):
        default = "params" if option.default == ("params",) else str(option.default)
    found += f" (default: {default})" if default else ""
    needs = ", ".join(f"--{name.replace('_', '-')}" for name in option.needs)
    return f"{found}; requires {needs}" if needs else found
