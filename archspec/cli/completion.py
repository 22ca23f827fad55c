"""Completion in a shell, by argcomplete.

The script that a shell reads once calls the `archspec` command at each press of the tab key, so names are
those of the specs at hand, and fields those of the model on the line.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from typing import Any

from archspec.cli.choices import choices_of
from archspec.cli.command_line import argparse_form, command_options
from archspec.errors import ArchspecError
from archspec.extras import required
from archspec.tables.option import Option
from archspec.tables.verbs import VERBS

SHELLS = ("bash", "zsh", "fish")
Completer = Callable[..., Iterable[str]]  # argcomplete passes the prefix and the parsed arguments by keyword


def script(shell: str) -> str:
    """Return the script that completes `archspec` in a shell.

    Raises:
        ArchspecError: for an unknown shell.
    """
    if shell not in SHELLS:
        raise ArchspecError(
            f"--print-completion: unknown shell {shell!r}", help=f"choose {', '.join(SHELLS)}"
        )
    text: str = required("argcomplete").shellcode(["archspec"], use_defaults=False, shell=shell)
    return text


def answer() -> None:
    """Print the completions of the line that a shell asks about, and end the process."""
    argcomplete = required("argcomplete")
    words = os.environ.get("COMP_LINE", "").split()
    parser = argparse.ArgumentParser("archspec", allow_abbrev=False)
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--print-completion", choices=SHELLS)
    verbs = parser.add_subparsers()
    for verb, about in VERBS.items():
        of_verb = verbs.add_parser(verb, help=about.help, allow_abbrev=False)
        for option in command_options(verb) if verb in words else ():
            action: Any = of_verb.add_argument(option.flag, **argparse_form(option))
            if completer := _completer(option):
                action.completer = completer
    nothing = argcomplete.completers.SuppressCompleter()
    argcomplete.ExclusiveCompletionFinder()(parser, always_complete_options="long", default_completer=nothing)


def _completer(option: Option) -> Completer | None:
    if isinstance(option.choices, str):
        is_list = option.choices == "columns"
        return _listed(lambda *_: choices_of(option)) if is_list else _one_of(lambda *_: choices_of(option))
    if option.metavar.startswith("FIELD"):
        return _listed(_fields, "=" if "=" in option.metavar else "")
    return _COMPLETERS.get(option.flag) or _COMPLETERS.get(option.metavar)


def _one_of(names: Callable[[str, Any], Iterable[str]]) -> Completer:
    """Complete one of the names that a function returns."""

    def complete(prefix: str, parsed_args: Any, **_: Any) -> list[str]:
        return [name for name in names(prefix, parsed_args) if name.startswith(prefix)]

    return complete


def _listed(names: Callable[[str, Any], Iterable[str]], end: str = "") -> Completer:
    """Complete the last of several names with commas between them; a name that has a value is complete."""

    def complete(prefix: str, parsed_args: Any, **_: Any) -> list[str]:
        before, comma, last = prefix.rpartition(",")
        found = [] if "=" in last else [name for name in names(last, parsed_args) if name.startswith(last)]
        return [f"{before}{comma}{name}{end}" for name in found]

    return complete


def _files(*endings: str) -> Completer:
    return lambda prefix, **_: required("argcomplete").completers.FilesCompleter(endings)(prefix)


def _folders(prefix: str, **_: Any) -> Iterable[str]:
    folders: Iterable[str] = required("argcomplete").completers.DirectoriesCompleter()(prefix)
    return folders


def _names(prefix: str, parsed: Any) -> Iterable[str]:
    """Return the supported model types and architectures."""
    from archspec.specs.search_path import library_of

    try:
        known = library_of(getattr(parsed, "specs", None) or ())
    except ArchspecError:
        return []
    return (*known.model_types(), *known.index())


def _models(prefix: str, parsed_args: Any, **_: Any) -> Iterable[str]:
    """Complete configs and, after its first letter, the name of an architecture or model type."""
    names = _one_of(_names)(prefix, parsed_args=parsed_args) if prefix else ()
    return [*_files("json")(prefix), *names]


def _fields(prefix: str, parsed: Any) -> list[str]:
    """Return the fields of the model on the line; those of a sub-config follow a dot."""
    from archspec.configs.overrides import owner
    from archspec.models.model import load

    named = vars(parsed)
    source = named.get("config") or named.get("model") or named.get("a")
    try:
        scope, _ = owner(load(source, specs=parsed.specs).scope, prefix)
    except (ArchspecError, AttributeError):  # not a supported model, or not a sub-config
        return []
    outer = prefix.rpartition(".")[0]
    return [f"{outer}.{name}" if outer else name for name in scope.spec.fields]


_COMPLETERS: dict[str, Completer] = {  # by flag or metavar
    **dict.fromkeys(("--config", "config", "b", "CONFIG|ARCH", "ARCH|CONFIG", "A"), _models),
    **dict.fromkeys(("--architecture", "ARCHITECTURE|MODEL_TYPE", "TEXT"), _one_of(_names)),
    "CLASS|MODEL_TYPE|MODULE:CLASS": _one_of(_names),
    "files": _files("yaml"),
    "FILE": _files(),
    **dict.fromkeys(("FOLDER", "DIR"), _folders),
}
