"""Completion in a shell, by argcomplete: the script that a shell reads once, and what fits a line then.

The script asks the `archspec` command itself, at each press of the key: so names are those of the specs at
hand, and fields those of the model on the line.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from typing import Any

from archspec.cli.choices import choices_of
from archspec.cli.command_line import argparse_form, command_options
from archspec.errors import ArchspecError, did_you_mean
from archspec.extras import required
from archspec.tables.option import Option
from archspec.tables.quantities import COST_COLUMNS, QUANTITIES
from archspec.tables.verbs import VERBS

SHELLS = ("bash", "zsh", "fish")
Completer = Callable[
    ..., Iterable[str]
]  # argcomplete calls it by keyword, with the prefix and what is parsed


def script(shell: str) -> str:
    """What a shell reads to complete `archspec`. Errors: :class:`ArchspecError` for any other shell."""
    if shell not in SHELLS:
        message = f"--print-completion {shell}: there is no completion for this shell"
        raise ArchspecError(message, help=did_you_mean(shell, SHELLS))
    text: str = required("argcomplete").shellcode(["archspec"], use_defaults=False, shell=shell)
    return text


def answer() -> None:
    """Print the completions of the line that a shell asks about, and end the process."""
    asked = required("argcomplete")
    words = os.environ.get("COMP_LINE", "").split()
    nothing = asked.completers.SuppressCompleter()
    parser = _parser([verb for verb in VERBS if verb in words])
    finder = asked.ExclusiveCompletionFinder()
    finder(parser, always_complete_options="long", default_completer=nothing)


def _parser(named: list[str]) -> argparse.ArgumentParser:
    """Return a parser of all verbs, with the options of those that are named."""
    parser = argparse.ArgumentParser("archspec", allow_abbrev=False)
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--print-completion", choices=SHELLS)
    of_verbs = parser.add_subparsers()
    for verb, about in VERBS.items():
        of_verb = of_verbs.add_parser(verb, help=about.help, allow_abbrev=False)
        for option in command_options(verb) if verb in named else ():
            action: Any = of_verb.add_argument(option.flag, **argparse_form(option))
            if completer := _completer(option):
                action.completer = completer
    return parser


def _completer(option: Option) -> Completer | None:
    """Return the completer of an option, from its choices, or from its metavar."""
    if option.choices == "columns":
        return _columns
    if isinstance(option.choices, str):
        return _one_of(lambda: choices_of(option))
    if option.metavar.startswith("FIELD"):
        return _assigned if "=" in option.metavar else _listed_fields
    return _BY_FLAG.get(option.flag) or _BY_METAVAR.get(option.metavar)


def _models(prefix: str, parsed_args: Any, **_: Any) -> Iterable[str]:
    """Configs; and, once some of a name is typed, the architectures and model types that start with it."""
    return [*_files(prefix, "json"), *(_names(prefix, parsed_args) if prefix else ())]


def _names(prefix: str, parsed_args: Any, **_: Any) -> Iterable[str]:
    from archspec.specs.search_path import library_of

    try:
        known = library_of(getattr(parsed_args, "specs", None) or ())
    except ArchspecError:
        return []
    return [name for name in (*known.model_types(), *known.index()) if name.startswith(prefix)]


def _files(prefix: str, *endings: str) -> Iterable[str]:
    completer: Completer = required("argcomplete").completers.FilesCompleter(endings)
    return completer(prefix)


def _any_file(prefix: str, **_: Any) -> Iterable[str]:
    return _files(prefix)


def _specs(prefix: str, **_: Any) -> Iterable[str]:
    return _files(prefix, "yaml")


def _folders(prefix: str, **_: Any) -> Iterable[str]:
    folders: Iterable[str] = required("argcomplete").completers.DirectoriesCompleter()(prefix)
    return folders


def _one_of(values: Callable[[], Iterable[str]]) -> Completer:
    return lambda prefix, **_: [value for value in values() if value.startswith(prefix)]


def _fields(prefix: str, parsed: Any) -> list[str]:
    """The fields of the line's model that start with a prefix, those of its sub-configs behind a dot."""
    from archspec.configs.overrides import owner
    from archspec.models.model import load

    named = vars(parsed)
    source = named.get("config") or named.get("model") or named.get("a")
    try:
        scope, _ = owner(load(source, specs=parsed.specs).scope, prefix)
    except (ArchspecError, AttributeError):  # no model that is described, or no such sub-config
        return []
    outer = prefix.rpartition(".")[0]
    names = [f"{outer}.{name}" if outer else name for name in scope.spec.fields]
    return [name for name in names if name.startswith(prefix)]


def _assigned(prefix: str, parsed_args: Any, **_: Any) -> Iterable[str]:
    """`FIELD=`, of the last of several settings."""
    before, comma, last = prefix.rpartition(",")
    return [] if "=" in last else [f"{before}{comma}{name}=" for name in _fields(last, parsed_args)]


def _listed_fields(prefix: str, parsed_args: Any, **_: Any) -> Iterable[str]:
    before, comma, last = prefix.rpartition(",")
    return [f"{before}{comma}{name}" for name in _fields(last, parsed_args)]


def _columns(prefix: str, **_: Any) -> Iterable[str]:
    before, comma, last = prefix.rpartition(",")
    known = [*QUANTITIES, "bytes", *COST_COLUMNS]
    return [f"{before}{comma}{name}" for name in known if name.startswith(last)]


_BY_FLAG: dict[str, Completer] = {
    "--architecture": _names,
    **dict.fromkeys(("--config", "config", "b"), _models),
    "files": _specs,
}
_BY_METAVAR: dict[str, Completer] = {
    **dict.fromkeys(("CONFIG|ARCH", "ARCH|CONFIG", "A"), _models),
    **dict.fromkeys(("ARCHITECTURE|MODEL_TYPE", "CLASS|MODEL_TYPE|MODULE:CLASS", "TEXT"), _names),
    **dict.fromkeys(("FOLDER", "DIR"), _folders),
    "FILE": _any_file,
}
