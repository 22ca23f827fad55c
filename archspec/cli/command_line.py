"""What a verb takes of a command line: told once, read plainly or by argparse."""

from __future__ import annotations

from types import SimpleNamespace

from archspec.errors import printable
from archspec.typing_light import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import argparse

Values = SimpleNamespace  # what a command line gives
_PLAIN = {"metavar", "help", "action", "default"}  # what may be told of an argument that is read plainly
_SHARED = {  # what most verbs take stands below what is their own
    **dict.fromkeys(("--architecture", "--set", "--set-a", "--set-b", "--config", "--specs"), "which model"),
    **dict.fromkeys(("--format", "--json", "--json-schema"), "output"),
}
_NUMBERS: dict[Any, Any] = {}  # the types of numbers, and what reads them
_LONGEST = 2_000  # characters of an error
_NARROW, _WIDE = 30, 110  # columns of a help


class Arguments:
    """The positionals and options of a verb."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def value(self, name: str, metavar: str | None, help: str, **more: Any) -> None:
        """A positional, or an option with a value; ``more`` is as argparse has it."""
        self.told.append((name, {"metavar": metavar, "help": help, **more}))

    def repeated(self, name: str, metavar: str, help: str) -> None:
        """An option that may be given more than once."""
        self.value(name, metavar, help, action="append", default=[])

    def flag(self, name: str, help: str) -> None:
        self.told.append((name, {"action": "store_true", "default": False, "help": help}))

    def read(self, given: list[str]) -> Values | None:
        """The values of a plain command line; None for one that is not plain, or not right.

        argparse is left to say what is wrong, and to read whatever is not a positional, `--flag` or `--option
        VALUE`: its import and its first parser are 3 of the 30 ms of a cold count.
        """
        told = {name: about for name, about in self.told if about.keys() <= _PLAIN}
        values, named = self._defaults(), set[str]()
        positionals = iter([name for name, _ in self.told if not name.startswith("-")])
        texts = iter(given)
        for text in texts:
            option = text.startswith("-")
            name = text if option else next(positionals, "")
            flag = name in told and told[name].get("action") == "store_true"
            value = True if flag else next(texts, "-") if option else text
            if name not in told or str(value).startswith("-"):
                return None
            if option:
                named.add(_attribute(name))
            before = values[_attribute(name)]
            values[_attribute(name)] = [*before, value] if isinstance(before, list) else value
        return Values(**values, given=named) if next(positionals, None) is None else None

    def parse(self, verb: str, purpose: str, given: list[str]) -> Values:
        """The values of any command line, by argparse; ``given`` names those that are on it."""
        found = vars(self.parser(verb, purpose).parse_args(given, Values()))
        options = {_attribute(name) for name, _ in self.told if name.startswith("-")}
        return Values(**{**self._defaults(), **found}, given=options & {*found})

    def _defaults(self) -> dict[str, Any]:
        return {_attribute(name): about.get("default") for name, about in self.told}

    def parser(self, verb: str, purpose: str) -> argparse.ArgumentParser:
        """An argparse parser that reads all command lines; its help has what is the verb's own first."""
        import argparse
        import shutil
        import textwrap

        from archspec.cli.examples import EXAMPLES

        width = max(_NARROW, min(shutil.get_terminal_size((_WIDE, 24)).columns, _WIDE))

        class Parser(argparse.ArgumentParser):
            """A parser whose errors show no control characters of what was typed."""

            def error(self, message: str) -> NoReturn:
                super().error(printable(message, _LONGEST))

        parser = Parser(
            prog=f"archspec {verb}",
            description=textwrap.fill(purpose, width - 2),
            epilog="\n  ".join(["examples:", *(f"archspec {line}" for line in EXAMPLES.get(verb, ()))]),
            allow_abbrev=False,
            add_help=False,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=width),
        )
        groups = {title: parser.add_argument_group(title) for title in ("which model", "output")}
        for name, about in self.told:
            if about.get("type") in _NUMBERS:
                about = {**about, "type": _NUMBERS[about["type"]]}
            absent = {"default": argparse.SUPPRESS} if name.startswith("-") else {}  # to tell what is given
            groups.get(_SHARED.get(name, ""), parser).add_argument(name, **{**about, **absent})
        groups["output"].add_argument("-h", "--help", action="help", help="show this help")
        return parser


def _ascii_only(kind: type[int] | type[float]) -> Any:
    """A reader of numbers that refuses other digits than 0 to 9, as configs do."""

    def read(text: str) -> int | float:
        if not text.isascii():
            raise ValueError(text)
        return kind(text)

    read.__name__ = kind.__name__  # argparse shows it
    return read


_NUMBERS |= {kind: _ascii_only(kind) for kind in (int, float)}


def _attribute(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")
