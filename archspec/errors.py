"""The errors of archspec, each with a place in the text that caused it.

Every error derives from :class:`ArchspecError`. It has one or more :class:`Problem`, printed as
``file:line:col: problem (in path)``, the source line with a caret, and one ``help:`` line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from archspec.typing_light import Any, NamedTuple

_CONTEXT_WIDTH = 160
_LONGEST = 2_000  # characters of a message: enough for any list of names
_MOST_PROBLEMS = 50  # of one error
_UNSAFE = r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
UNICODE_HELP = "write text that UTF-8 can hold, without halves of surrogate pairs"
_ADDRESS = r"( object)? at 0x[0-9a-fA-F]{6,}(?=>)"
OVERRIDE = "set"  # an option of overrides is the name of a source that is the text of one
_OVERRIDES = (OVERRIDE, "set_a", "set_b", "kwargs")
_OVERRIDE_WIDTH = 100
_MOST_NAMES = 20  # of a set that a help line lists in full
_NEAR = 0.3  # how much less similar another proposed name may be than the nearest
_on_command_line = ContextVar("on_command_line", default=False)


@contextmanager
def command_line() -> Iterator[None]:
    """Name options in messages as on the command line: `--batch 2`, not `batch=2`."""
    token = _on_command_line.set(True)
    try:
        yield
    finally:
        _on_command_line.reset(token)


def on_command_line() -> bool:
    """Return True if messages are for the user of the command."""
    return _on_command_line.get()


COMMAND_NAMES = {  # the names on the command line of options that have another one in Python
    "images": "image",
    "videos": "video",
    "audios": "audio",
    "text_tokens": "text",
    "r": "rank",
    "target_modules": "target",
    "exclude_modules": "exclude",
    "modules_to_save": "save",
    "layers_to_transform": "layers",
    "use_dora": "dora",
}


def option(name: str, value: Any = "") -> str:
    """Return an option, and maybe its value, as the caller writes it: in Python or on the command line.

    >>> option("encoder_tokens"), option("encoder_tokens", 512), option("set", {"hidden_size": 64})
    ('encoder_tokens', 'encoder_tokens=512', "set={'hidden_size': 64}")
    >>> with command_line():
    ...     option("encoder_tokens"), option("encoder_tokens", 512), option("set", {"hidden_size": 64})
    ('--encoder-tokens', '--encoder-tokens 512', '--set hidden_size=64')
    """
    if not _on_command_line.get():
        is_plain = isinstance(value, str) and value.isupper()  # a placeholder, such as CLASS
        return f"{name}={value if is_plain else repr(value)}" if value != "" else name
    name = COMMAND_NAMES.get(name, name)
    if value is True:  # a flag has no value
        return f"--{name.replace('_', '-')}"
    if isinstance(value, list):  # of items, one for each time that the option is given
        return " ".join(option(name, one) for one in value)
    if isinstance(value, dict):
        texts = {one: text if isinstance(text, str) else json.dumps(text) for one, text in value.items()}
        value = ",".join(f"{one}={text}" for one, text in texts.items())
        value = f"'{value}'" if re.search(r"[\s\[{\"]", value) else value
    return f"--{name.replace('_', '-')} {value}".rstrip()


def list_names(names: Iterable[Any], last: str = "or") -> str:
    """Return names as a phrase.

    >>> list_names(["a"]), list_names("ab"), list_names("abc", "and")
    ('a', 'a or b', 'a, b and c')
    """
    *others, final = map(str, names)
    return f"{', '.join(others)} {last} {final}" if others else final


def to_printable(text: str, most: int | None = None) -> str:
    r"""Return a text on one line, shortened in the middle; control characters and line breaks are escaped.

    >>> to_printable("a\x1b[31m\nb"), to_printable("x" * 50, most=9)
    ('a\\x1b[31m\\nb', 'xxxx…xxxx')
    """
    if most is not None and len(text) > most:
        text = f"{text[: most // 2]}…{text[len(text) - most // 2 :]}"
    if text.isprintable():
        return text
    return re.sub(_UNSAFE, lambda found: found[0].encode("unicode_escape").decode(), text)


def is_unicode(text: str) -> bool:
    r"""Return True for a text that UTF-8 can hold: one without halves of surrogate pairs.

    >>> is_unicode("é"), is_unicode("\udc80")
    (True, False)
    """
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Source(NamedTuple):
    """A text and its name in messages."""

    name: str
    text: str

    def line(self, number: int) -> str:
        lines = self.text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""


class Place(NamedTuple):
    """A position in a source, 1-based, and the number of characters that it covers."""

    source: Source
    line: int
    column: int
    width: int = 1

    def __str__(self) -> str:
        return f"{to_printable(self.source.name, _LONGEST)}:{self.line}:{self.column}"


class Problem(NamedTuple):
    """A problem: ``message``, ``place`` (file, line and column), ``path`` in a spec, and ``help`` line."""

    message: str
    place: Place | None = None
    path: str = ""
    help: str = ""

    def clean(self) -> Problem:
        """Return the problem with strings escaped and shortened, without memory addresses."""
        texts = (re.sub(_ADDRESS, "", text) for text in (self.message, self.path, self.help))
        message, path, help_ = (to_printable(text, _LONGEST) for text in texts)
        return self._replace(message=message, path=path, help=help_)

    def __str__(self) -> str:
        self = self.clean()
        where = f"{self.place}: " if self.place else ""
        inside = f" (in {self.path})" if self.path else ""
        lines = [f"{where}{self.message}{inside}"]
        if self.place and self.place.source.name in _OVERRIDES:
            text = to_printable(re.sub(_ADDRESS, "", self.place.source.text), _OVERRIDE_WIDTH)
            flag = f"{option(self.place.source.name)} " if on_command_line() else ""
            lines = [f"{flag}{text}: {self.message}"]
        elif self.place and (text := self.place.source.line(self.place.line)):
            lines += _caret(text, self.place.column, self.place.width)
        if self.help:
            lines.append(f"help: {self.help}")
        return "\n".join(lines)


@contextmanager
def overrides_of(name: str, fields: Iterable[str] | None = None) -> Iterator[None]:
    """Report errors of overrides, or of those of some fields, with the option that gives them."""
    try:
        yield
    except ArchspecError as error:
        raise type(error)([_of_option(one, name, fields) for one in error.problems]) from None


def _of_option(problem: Problem, name: str, fields: Iterable[str] | None) -> Problem:
    place = problem.place
    if place is None or place.source.name != OVERRIDE:
        return problem
    if fields is not None and place.source.text.partition("=")[0] not in fields:
        return problem
    help_ = re.sub(r"(?<=--)set(?= )|\bset(?==\{)", option(name).removeprefix("--"), problem.help)
    return problem._replace(place=place._replace(source=place.source._replace(name=name)), help=help_)


def _caret(text: str, column: int, width: int) -> list[str]:
    """Return the source line and a line with a caret; long lines are cut around the place."""
    start = max(0, column - 1 - _CONTEXT_WIDTH // 2) if len(text) > _CONTEXT_WIDTH else 0
    text = re.sub(_ADDRESS, lambda found: " " * len(found[0]), text)
    shown = "".join(c if c.isprintable() else " " for c in text[start : start + _CONTEXT_WIDTH])
    offset = column - 1 - start
    carets = "^" * max(1, min(width, len(shown) - offset))
    return [f"    {shown}", f"    {' ' * offset}{carets}"]


class ArchspecError(Exception):
    """Base class of all errors: ``problems`` are one or more :class:`Problem`."""

    def __init__(
        self,
        problems: str | Problem | Iterable[Problem],
        place: Place | None = None,
        path: str = "",
        help: str = "",
    ) -> None:
        if isinstance(problems, str):
            problems = Problem(problems, place, path, help)
        listed = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.problems = tuple(problem.clean() for problem in listed)
        texts = [str(problem) for problem in self.problems[:_MOST_PROBLEMS]]
        left = len(self.problems) - len(texts)
        super().__init__("\n".join([*texts, *([f"and {left:,} more problems"] if left else [])]))


class SpecError(ArchspecError):
    """A spec file that is not valid."""


class ConfigError(ArchspecError):
    """A config that cannot be read, or that transformers rejects."""


class UnknownArchitectureError(ArchspecError):
    """A model type or an architecture without a spec."""


class FormulaError(ArchspecError):
    """A closed form that is not supported, or an assumption that is not valid."""


class SweepError(ArchspecError):
    """A grid, a column or a budget that cannot be computed."""


class MissingPackageError(ArchspecError, ImportError):
    """An optional package that is not installed; the help names the extra that installs it."""


def nearest_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that a misspelled name can mean, at most three, the nearest first."""
    from difflib import SequenceMatcher, get_close_matches

    names = sorted(set(known))
    if same := [one for one in names if one.lower() == name.lower()]:
        return same
    found = get_close_matches(name, names, n=3, cutoff=0.6)
    likeness = [SequenceMatcher(None, one, name).ratio() for one in found]
    return [one for one, ratio in zip(found, likeness, strict=True) if ratio > likeness[0] - _NEAR]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a help line with the nearest names, or with all names if none is near and they are few.

    >>> did_you_mean("hiden_size", ["hidden_size", "vocab_size"])
    'did you mean hidden_size?'
    """
    names = sorted(set(known))
    if near := nearest_names(name, names):
        return f"did you mean {list_names(near)}?"
    return f"choose from: {', '.join(names)}" if 0 < len(names) <= _MOST_NAMES else ""
