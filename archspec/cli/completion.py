"""Completion in a shell, by argcomplete.

The script that a shell reads once calls the `archspec` command at each press of the tab key, so names are
those of the specs at hand, and fields those of the model on the line.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from typing import Any

from archspec.cli.command_line import argparse_form, choices_of, command_options
from archspec.errors import ArchspecError
from archspec.extras import import_optional
from archspec.tables.option import Option
from archspec.tables.verbs import VERBS

SHELLS = ("bash", "zsh", "fish")
Names = Callable[[str, Any], Iterable[str]]  # names that may complete a prefix, for a parsed command line
_MODELS = ("--config", "config", "b", "CONFIG|ARCH", "ARCH|CONFIG", "A")  # flags and metavars
_CLASSES = ("--architecture", "ARCHITECTURE|MODEL_TYPE", "TEXT", "CLASS|MODEL_TYPE|MODULE:CLASS")


def script(shell: str) -> str:
    """Return the script that completes `archspec` in a shell."""
    if shell not in SHELLS:
        message = f"--print-completion: unknown shell {shell!r}"
        raise ArchspecError(message, help=f"choose {', '.join(SHELLS)}")
    text: str = import_optional("argcomplete").shellcode(["archspec"], use_defaults=False, shell=shell)
    return text


def answer() -> None:
    """Print the completions of the line that a shell asks about, and end the process."""
    argcomplete = import_optional("argcomplete")
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


def _completer(option: Option) -> Any:
    completers = import_optional("argcomplete").completers
    kinds = {option.flag, option.metavar}
    if isinstance(option.choices, str):
        return _one_of(lambda *_: choices_of(option), is_list=option.choices == "columns")
    if option.metavar.startswith("FIELD"):
        return _one_of(_fields, is_list=True, end="=" if "=" in option.metavar else "")
    if kinds & {*_MODELS}:
        return _one_of(_models)
    if kinds & {*_CLASSES}:
        return _one_of(_names)
    if kinds & {"FOLDER", "DIR"}:
        return completers.DirectoriesCompleter()
    if kinds & {"FILE", "files"}:
        return completers.FilesCompleter(("yaml",) if option.flag == "files" else ())
    return None


def _one_of(names: Names, is_list: bool = False, end: str = "") -> Callable[..., list[str]]:
    """Return a completer; in a list it completes the last name, unless that has a value."""

    def complete(prefix: str, parsed_args: Any, **_: Any) -> list[str]:
        before, comma, last = prefix.rpartition(",") if is_list else ("", "", prefix)
        found = [] if is_list and "=" in last else names(last, parsed_args)
        return [f"{before}{comma}{name}{end}" for name in found if name.startswith(last)]

    return complete


def _names(prefix: str, parsed: Any) -> Iterable[str]:
    """Return the supported model types and architectures."""
    from archspec.specs.search_path import library_of

    try:
        known = library_of(getattr(parsed, "specs", None) or ())
    except ArchspecError:
        return ()
    return (*known.model_types(), *known.index())


def _models(prefix: str, parsed: Any) -> Iterable[str]:
    """Return configs and, after its first letter, the name of an architecture or model type."""
    files: Iterable[str] = import_optional("argcomplete").completers.FilesCompleter(("json",))(prefix)
    return [*files, *(_names(prefix, parsed) if prefix else ())]


def _fields(prefix: str, parsed: Any) -> Iterable[str]:
    """Return the fields of the model on the line; those of a sub-config follow a dot."""
    from archspec.configs.overrides import owner
    from archspec.models.model import load

    named = vars(parsed)
    source = named.get("config") or named.get("model") or named.get("a")
    try:
        scope, _ = owner(load(source, specs=parsed.specs).scope, prefix)
    except (ArchspecError, AttributeError):  # not a supported model, or not a sub-config
        return ()
    outer = prefix.rpartition(".")[0]
    return [f"{outer}.{name}" if outer else name for name in scope.spec.fields]
