"""A plain command line, read without argparse, whose import and first parser are 4 of a cold count's 30 ms.

Known are positionals, `--flag`, `--option VALUE` and options that may be repeated. Of all else this reader
says nothing: it gives None, and argparse reads the line, with the words for what is wrong. What it does give
is what argparse gives; a test of random lines holds it to that.
"""

from __future__ import annotations

from types import SimpleNamespace

from archspec.typing_light import Any


class PlainOptions:
    """Is told what a verb takes as an argparse parser is."""

    def __init__(self) -> None:
        self.positionals: list[str] = []
        self.actions: dict[str, str] = {}  # of the options that are read here
        self.defaults: dict[str, Any] = {}
        self.readable = True

    def add_argument(self, name: str, *, action: str = "store", default: Any = None, **about: object) -> None:
        plain = about.keys() <= {"metavar", "help"}
        if not name.startswith("-"):
            self.positionals.append(name)
            self.readable = self.readable and plain
            return
        self.defaults[_attribute(name)] = default if action != "store_true" else False
        if plain:
            self.actions[name] = action

    def read(self, given: list[str]) -> SimpleNamespace | None:
        """The values of a command line; None for one that is not plain, or not right."""
        values = {
            name: list(value) if isinstance(value, list) else value for name, value in self.defaults.items()
        }
        texts = iter(given)
        found: list[str] = []
        for text in texts:
            action = self.actions.get(text)
            if not text.startswith("-"):
                found.append(text)
            elif action == "store_true":
                values[_attribute(text)] = True
            else:
                value = next(texts, "-")
                if action is None or value.startswith("-"):
                    return None
                if action == "append":
                    values[_attribute(text)].append(value)
                else:
                    values[_attribute(text)] = value
        if not self.readable or len(found) != len(self.positionals):
            return None
        return SimpleNamespace(**dict(zip(self.positionals, found, strict=True)), **values)


def _attribute(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")
