"""Runs one verb: calls the function behind it with the options that are given, and prints its report."""

from __future__ import annotations

import importlib
import json
import re
import sys

from archspec.cli.command_line import Values, command_options, read
from archspec.errors import ArchspecError
from archspec.tables.option import COMMAND, Option
from archspec.tables.options import options_of
from archspec.tables.verbs import VERBS
from archspec.terminal import say, show
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.models.model import Model

STDIN = "-"
_INVISIBLE = (
    r"[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"  # steers a terminal
)
_OWN_MODULE = {  # verbs that print more than a report, and the package of their module
    **dict.fromkeys(("tree", "tensors", "formula", "sweep", "solve"), "verbs"),
    **dict.fromkeys(("verify", "derive", "lint"), "specs"),
}
_LOAD = ("model", "architecture", "set", "specs")
_SOURCES = ("model", "models", "a", "b", "config", "beside")


def run(verb: str, given: list[str]) -> int:
    """Run a verb and return the exit code of the command."""
    values = _with_stdin(read(verb, given))
    if verb in _OWN_MODULE:
        module = importlib.import_module(f"archspec.cli.{_OWN_MODULE[verb]}.{verb}")
        code: int = module.run(values)
        return code
    report = _report(verb, values)
    print_report(report, values)
    return int(getattr(report, "exit_code", 0))


def _report(verb: str, values: Values) -> Any:
    """Return the report of the function behind a verb."""
    about = VERBS[verb]
    if about.method:
        model = load_model(values)
        if verb != "count":  # its report has these notes
            print_idle_fields(model)
        method = about.also if getattr(values, "train", False) else about.method
        return getattr(model, method)(**arguments(method if about.also else verb, values, besides=_LOAD))
    import archspec

    return getattr(archspec, about.function)(**arguments(verb, values))


def arguments(verb: str, values: Values, besides: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the keyword arguments of a Python function: of its options those that are given."""
    options = [
        option for option in options_of(verb) if option.where != COMMAND and option.name not in besides
    ]
    given = [option for option in options if option.name in values.given or _has_value(option, values)]
    return {option.name: python_value(option, getattr(values, option.name)) for option in given}


def _has_value(option: Option, values: Values) -> bool:
    return bool(option.positional) and getattr(values, option.name) not in (None, [])


def python_value(option: Option, value: Any) -> Any:
    """Return the value of an option as Python takes it."""
    if option.settings:
        return parse_settings(value)
    if option.repeated and option.type.startswith("Mapping") and "Sequence" not in option.type:
        return pairs(option, value)
    return value


def parse_settings(texts: list[str]) -> dict[str, Any]:
    """Return the fields of `FIELD=VALUE,...` texts with their values."""
    if not texts:
        return {}
    from archspec.configs.overrides import parse_settings as parse

    return parse(texts)


def pairs(option: Option, texts: list[str]) -> dict[str, str]:
    """Return the `NAME=VALUE` texts of a repeated option as a mapping.

    Raises:
        ArchspecError: for a name that is given twice, and for a text without `=`.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or name in found:
            problem = f"{name} is given twice" if name in found else "= is missing"
            raise ArchspecError(
                f"{option.flag} {text}: {problem}", help=f"write {option.flag} {option.metavar}"
            )
        found[name] = value
    return found


def load_model(values: Values) -> Model:
    """Return the model that the options of `archspec.load` choose."""
    from archspec.models.model import load

    return load(values.model, values.architecture, parse_settings(values.set), values.specs)


def print_idle_fields(model: Model) -> None:
    """Print a note for each overridden field that nothing depends on."""
    for note in model.idle:
        say(f"note: {note}", sys.stderr)


def _with_stdin(values: Values) -> Values:
    """Return the values with `-` replaced by the config on stdin, which can be read only once."""
    named = {name: getattr(values, name) for name in _SOURCES if hasattr(values, name)}
    if not any(value == STDIN or (isinstance(value, list) and STDIN in value) for value in named.values()):
        return values
    from archspec.configs.reader import read_stdin

    config = read_stdin()

    def replaced(value: Any) -> Any:
        if isinstance(value, list):
            return [replaced(one) for one in value]
        return config if value == STDIN else value

    return Values(**{**vars(values), **{name: replaced(value) for name, value in named.items()}})


def print_report(report: Any, values: Values) -> None:
    """Print a report as JSON, in the format that is asked for, or as text."""
    if values.json:
        print_json(report.as_json())
    elif getattr(values, "format", "text") != "text":
        print(getattr(report, values.format)())
    else:
        show(report.blocks())


def print_json(value: Any) -> None:
    """Print JSON; letters that steer a terminal are escaped."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(value, indent=2, ensure_ascii=not utf8)
    print(text if text.isascii() else re.sub(_INVISIBLE, lambda found: f"\\u{ord(found[0]):04x}", text))


def option_named(verb: str, name: str) -> Option:
    """Return the option of a verb by its name."""
    return next(option for option in command_options(verb) if option.name == name)
