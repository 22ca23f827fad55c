"""What the verbs share: the options that choose a model, options of several values, and JSON output."""

from __future__ import annotations

import json
import re
import sys

from archspec.cli.command_line import Arguments, Values
from archspec.errors import ArchspecError
from archspec.terminal import say
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.configs.origin import RawConfig
    from archspec.models.model import Model

STDIN = "-"
_UNSEEN = r"[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"  # steers a terminal
MODEL_HELP = (
    "a config.json, a folder that holds one, a hub id, - for a config on stdin, "
    "or the name of an architecture or a model type (its default config)"
)


def add_model(takes: Arguments, metavar: str = "CONFIG|ARCH") -> None:
    """The model, and how it is chosen."""
    takes.value("model", metavar, MODEL_HELP)
    add_choices(takes)


def add_choices(takes: Arguments) -> None:
    """`--architecture`, `--set`, `--specs` and `--json`."""
    about_class = "the class to count, e.g. BertForMaskedLM (default: the config's own)"
    takes.value("--architecture", "CLASS", about_class)
    about_set = "set fields anew, e.g. text_config.num_hidden_layers=2,vocab_size=32000"
    takes.repeated("--set", "FIELD=VALUE,...", about_set)
    add_specs(takes)
    add_json(takes)


def add_specs(takes: Arguments) -> None:
    """`--specs`, as `specs=` of the functions has it."""
    about = "a folder of specs of your own, found before those of ARCHSPEC_PATH and the shipped ones"
    takes.repeated("--specs", "FOLDER", about)


def add_dtype(takes: Arguments) -> None:
    about_dtype = "the dtype of the bytes, e.g. bf16 (default: the config's own, else float32)"
    takes.value("--dtype", None, about_dtype)


def add_json(takes: Arguments) -> None:
    takes.flag("--json", "print JSON")
    takes.flag("--json-schema", "print the JSON Schema of that")


def pairs(option: str, texts: list[str], example: str) -> dict[str, str]:
    """The `NAME=VALUE` of a repeated option. Errors: :class:`ArchspecError` for a name that is given twice.

    >>> pairs("--tie", ["intermediate_size = 4*hidden_size"], "")
    {'intermediate_size': '4*hidden_size'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or name in found:
            wrong = f"{name} is given twice" if name in found else "there is no ="
            raise ArchspecError(f"{option} {text}: {wrong}", help=f"write {example}")
        found[name] = value
    return found


def print_json(value: Any) -> None:
    utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(value, indent=2, ensure_ascii=not utf8)
    print(text if text.isascii() else re.sub(_UNSEEN, lambda found: f"\\u{ord(found[0]):04x}", text))


def load_model(args: Values) -> Model:
    """The model that the options of :func:`add_model` choose; fields that were set in vain are said."""
    model = loaded(args.model, args.architecture, args.set, args.specs)
    say_idle(model)
    return model


def say_idle(model: Model) -> None:
    """Says which of the fields that were set nothing depends on."""
    for note in model.idle:
        say(f"note: {note}", sys.stderr)


def loaded(source: str | RawConfig, architecture: str | None, settings: list[str], specs: list[str]) -> Model:
    from archspec.models.model import load

    return load(given(source), architecture, parsed(settings), specs)


def given(source: Any) -> Any:
    """A config as the command line names it: `-` is the one on stdin, which can be read only once."""
    if source != STDIN:
        return source
    from archspec.configs.reader import read_stdin

    return read_stdin()


def parsed(settings: list[str]) -> dict[str, Any]:
    """The fields that `--set` gives, with their values."""
    if not settings:
        return {}
    from archspec.configs.overrides import parse_settings

    return parse_settings(settings)


def needs(args: Values, needed: str, *options: str, met: bool | None = None) -> None:
    """Refuse options that have no effect without another one, which is ``met`` if it is given.

    Errors: :class:`ArchspecError` with the option, and the one that it needs.
    """
    if met if met is not None else _attribute(needed) in args.given:
        return
    for option in options:
        if _attribute(option) in args.given:
            message = f"{option} has no effect without {needed}"
            raise ArchspecError(message, help=f"add {needed}, or leave out {option}")


def excludes(args: Values, other: str, *options: str, met: bool | None = None) -> None:
    """Refuse options that have no effect next to another one, which is ``met`` if it is given.

    Errors: :class:`ArchspecError` with both options.
    """
    if met if met is not None else _attribute(other) in args.given:
        for option in options:
            if _attribute(option) in args.given:
                message = f"{option} has no effect with {other}"
                raise ArchspecError(message, help=f"leave out {option} or {other}")


def _attribute(option: str) -> str:
    return option.partition(" ")[0].removeprefix("--").replace("-", "_")


def natural(text: str) -> int:
    """A number of levels, for argparse.

    >>> natural("3")
    3
    """
    if not (text.isascii() and text.isdecimal()) or len(text) > 6:
        raise ValueError(text)
    return int(text)


def add_overwrite(takes: Arguments) -> None:
    """`--overwrite`, without which no verb replaces a file."""
    takes.flag("--overwrite", "replace files that exist; without it they are an error")


def add_samples(takes: Arguments, default: int, help: str) -> None:
    """`--samples` and `--seed`, of the random configs that specs are held to."""
    takes.value("--samples", "N", help, type=samples, default=default)
    takes.value("--seed", "S", "the seed of the random configs (default: 0)", type=int, default=0)


def samples(text: str) -> int:
    """A number of random configs, for argparse."""
    if not text.isascii():
        raise ValueError(text)
    if int(text) < 0:
        message = f"--samples {text}: a number of configs is not negative"
        raise ArchspecError(message, help="0 is the default config only")
    return int(text)
