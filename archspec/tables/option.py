"""One option of a verb or of a Python function."""

from __future__ import annotations

from archspec.errors import COMMAND_NAMES
from archspec.typing_light import Any, NamedTuple

BOTH, COMMAND, PYTHON = "command line and Python", "command line", "Python"  # where an option exists


class Option(NamedTuple):
    """One option: ``type`` is that of its Python parameter, ``metavar`` stands for its value in help texts.

    ``choices`` lists a closed set of values, or names the table that has them. ``default_help`` explains a
    default of None. The option has an effect only with all of ``needs``, and with none of ``excludes``.
    A ``positional`` option is given by place on the command line; ``bare`` is the value of an option that is
    given without one.
    """

    name: str
    type: str
    help: str
    verbs: tuple[str, ...]
    default: Any = None
    metavar: str = ""
    choices: tuple[str, ...] | str = ()
    default_help: str = ""
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    where: str = BOTH
    positional: str = ""  # argparse's nargs: "?", "*" or "+", and "1" for exactly one
    bare: str | None = None

    @property
    def flag(self) -> str:
        """The option as it is written on the command line."""
        name = COMMAND_NAMES.get(self.name, self.name)
        return self.name if self.positional else "--" + name.replace("_", "-")

    @property
    def is_repeated(self) -> bool:
        """True if the command line may give the option more than once."""
        return not self.positional and self.type.startswith(("Mapping", "Sequence", "Specs", "Folder"))

    @property
    def settings(self) -> bool:
        """True if the values are `FIELD=VALUE,...` with values of a config."""
        return self.is_repeated and self.metavar.endswith("=VALUE,...")
