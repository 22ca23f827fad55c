"""Runs one verb: calls the function behind it with the options that are given, and prints its report."""

from __future__ import annotations

import importlib
import json
import re
import sys

from archspec.cli.command_line import Values, read
from archspec.errors import ArchspecError, overrides_of
from archspec.tables.option import COMMAND, Option
from archspec.tables.options import options_of
from archspec.tables.verbs import VERBS
from archspec.terminal import print_report, print_sentence
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.models.model import Model

STDIN = "-"
# what steers a terminal
_INVISIBLE = r"[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
_OWN_MODULE = {  # verbs that print more than a report: the module of their function
    **dict.fromkeys(("tree", "tensors", "lora", "sweep", "solve", "derive", "lint"), "verbs"),
    **{name: name for name in ("formula", "verify")},
}
_LOAD = ("model", "architecture", "set", "specs")
_SOURCES = ("model", "models", "a", "b", "config", "overlay")


def run(verb: str, given: list[str]) -> int:
    """Run a verb and return the exit code of the command."""
    values = read(verb, given)
    _read_stdin(values)
    if verb in _OWN_MODULE:
        module = importlib.import_module(f"archspec.cli.{_OWN_MODULE[verb]}")
        code: int = getattr(module, verb)(values)
        return code
    report = _report(verb, values)
    if values.json:
        print_json(report.as_json())
    elif getattr(values, "format", "text") != "text":
        print(getattr(report, values.format)())
    else:
        print_report(report.blocks())
    return int(getattr(report, "exit_code", 0))


def _report(verb: str, values: Values) -> Any:
    """Return the report of the function behind a verb."""
    about = VERBS[verb]
    if about.method:
        model = load_model(values, with_notes=verb != "count")  # a count's report has the notes
        method = about.also if getattr(values, "train", False) else about.method
        return getattr(model, method)(**arguments(method if about.also else verb, values, without=_LOAD))
    import archspec

    return getattr(archspec, about.function)(**arguments(verb, values))


def load_model(values: Values, with_notes: bool = True) -> Model:
    """Return the model that the options choose, and print a note for each override without effect."""
    from archspec.configs.overrides import parse_settings
    from archspec.models.model import load

    model = load(values.model, values.architecture, parse_settings(values.set), values.specs)
    for note in model.idle if with_notes else ():
        print_sentence(f"note: {note}", sys.stderr)
    return model


def class_and_config(values: Values) -> tuple[Any, str | None]:
    """Return the source of the config and the architecture, from `ARCH CONFIG` or one of both."""
    if values.config and values.architecture:
        message = f"{values.model} and {values.architecture}: two classes"
        raise ArchspecError(message, help="give one of them")
    return (values.config, values.model) if values.config else (values.model, values.architecture)


def arguments(verb: str, values: Values, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the keyword arguments of the Python function of a verb: those of its options that are given."""
    from archspec.configs.overrides import parse_settings

    found = {}
    for option in options_of(verb):
        value: Any = getattr(values, option.name, None)
        is_given = option.name in values.given or (option.positional and value not in (None, []))
        if not is_given or option.where == COMMAND or option.name in without:
            continue
        if option.settings:
            with overrides_of(option.name):
                value = parse_settings(value)
        elif option.is_repeated and option.type.startswith("Mapping") and "Sequence" not in option.type:
            value = pairs(option, value)
        found[option.name] = value
    return found


def pairs(option: Option, texts: list[str]) -> dict[str, str]:
    """Return the `NAME=VALUE` texts of a repeated option as a mapping of different names."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or name in found:
            problem = f"{name} is given twice" if name in found else "= is missing"
            help_ = f"write {option.flag} {option.metavar}"
            raise ArchspecError(f"{option.flag} {text}: {problem}", help=help_)
        found[name] = value
    return found


def _read_stdin(values: Values) -> None:
    """Replace each `-` by the config on stdin, which can be read only once."""
    sources = {name: value for name, value in vars(values).items() if name in _SOURCES}
    if not any(STDIN in (value if isinstance(value, list) else [value]) for value in sources.values()):
        return
    from archspec.configs.reader import read_stdin

    config = read_stdin()
    for name, value in sources.items():
        is_list = isinstance(value, list)
        found = [config if one == STDIN else one for one in (value if is_list else [value])]
        setattr(values, name, found if is_list else found[0])


def print_json(value: Any) -> None:
    """Print JSON; letters that steer a terminal are escaped."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(value, indent=2, ensure_ascii=not utf8)
    print(text if text.isascii() else re.sub(_INVISIBLE, lambda found: f"\\u{ord(found[0]):04x}", text))
