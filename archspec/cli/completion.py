"""Completion in a shell, by argcomplete: the script that a shell reads once, and what fits a line then.

The script asks the `archspec` command itself, at each press of the key: so names are those of the specs at
hand, and fields those of the model on the line.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from archspec.cli.command_line import Arguments
from archspec.errors import ArchspecError, did_you_mean
from archspec.extras import required

SHELLS = ("bash", "zsh", "fish")
Completer = Callable[
    ..., Iterable[str]
]  # argcomplete calls it by keyword, with the prefix and what is parsed
_CODES = ("flash", "eager")
_KINDS = ("auto", "lines", "contour", "pareto")
_DIALECTS = ("duckdb", "spark")


def script(shell: str) -> str:
    """What a shell reads to complete `archspec`. Errors: :class:`ArchspecError` for any other shell."""
    if shell not in SHELLS:
        message = f"--print-completion {shell}: there is no completion for this shell"
        raise ArchspecError(message, help=did_you_mean(shell, SHELLS))
    text: str = required("argcomplete").shellcode(["archspec"], use_defaults=False, shell=shell)
    return text


def answer(verbs: Mapping[str, str], module_of: Callable[[str], Any]) -> None:
    """Prints what may come next on the line that a shell asks about, and ends the process."""
    asked = required("argcomplete")
    words = os.environ.get("COMP_LINE", "").split()
    nothing = asked.completers.SuppressCompleter()
    parser = _parser(verbs, {verb: module_of(verb) for verb in verbs if verb in words})
    finder = asked.ExclusiveCompletionFinder()
    finder(parser, always_complete_options="long", default_completer=nothing)


def _parser(verbs: Mapping[str, str], modules: Mapping[str, Any]) -> argparse.ArgumentParser:
    """All verbs, with the arguments of those whose modules are given."""
    parser = argparse.ArgumentParser("archspec", allow_abbrev=False)
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--print-completion", choices=SHELLS)
    of_verbs = parser.add_subparsers()
    for verb, purpose in verbs.items():
        of_verb = of_verbs.add_parser(verb, help=purpose, allow_abbrev=False)
        if verb in modules:
            _add_arguments(of_verb, modules[verb])
    return parser


def _add_arguments(parser: argparse.ArgumentParser, module: Any) -> None:
    takes = Arguments()
    module.add_arguments(takes)
    for name, about in takes.told:
        action: Any = parser.add_argument(name, **about)
        if completer := _completer(name, about):
            action.completer = completer


def _completer(name: str, about: dict[str, Any]) -> Completer | None:
    """What completes an argument, by its name or by what its metavar says that it takes."""
    metavar = about.get("metavar") or ""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if metavar.startswith("FIELD"):
        return _assigned if "=" in metavar else _listed_fields
    return _BY_METAVAR.get(metavar)


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


def _quantities() -> Iterable[str]:
    from archspec.quantities import QUANTITIES

    return QUANTITIES


def _columns(prefix: str, **_: Any) -> Iterable[str]:
    from archspec.quantities import COST_COLUMNS

    before, comma, last = prefix.rpartition(",")
    known = [*_quantities(), "bytes", *COST_COLUMNS]
    return [f"{before}{comma}{name}" for name in known if name.startswith(last)]


def _dtypes() -> Iterable[str]:
    from archspec.formats.dtypes import DTYPE_BYTES

    return DTYPE_BYTES


def _formats() -> Iterable[str]:
    from archspec.formats.table import NAMES

    return NAMES


def _optimizers() -> Iterable[str]:
    from archspec.costs.optimizers import optimizers

    return optimizers()


def _laws() -> Iterable[str]:
    from archspec.solving.laws import laws

    return laws()


_BY_NAME: dict[str, Completer] = {
    "--architecture": _names,
    "--quantity": _one_of(_quantities),
    "--dtype": _one_of(_dtypes),
    "--weights": _one_of(_formats),
    "--optimizer": _one_of(_optimizers),
    "--law": _one_of(_laws),
    "--attention": _one_of(lambda: _CODES),
    "--kind": _one_of(lambda: _KINDS),
    "--sql": _one_of(lambda: _DIALECTS),
    "--columns": _columns,
    **dict.fromkeys(("--config", "config", "b"), _models),
    "files": _specs,
}
_BY_METAVAR: dict[str, Completer] = {
    **dict.fromkeys(("CONFIG|ARCH", "ARCH|CONFIG", "A"), _models),
    **dict.fromkeys(("ARCHITECTURE|MODEL_TYPE", "CLASS|MODEL_TYPE|MODULE:CLASS", "TEXT"), _names),
    **dict.fromkeys(("FOLDER", "DIR"), _folders),
    "FILE": _any_file,
}
