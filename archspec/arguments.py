"""Checks of what callers pass to public functions: a wrong type is an error that names what is accepted."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from functools import wraps

from archspec.errors import ArchspecError, did_you_mean, printable
from archspec.typing_light import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing import TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


class Kind(NamedTuple):
    """A kind of argument: in words, by an example, and as a test."""

    what: str
    example: str
    fits: Callable[[Any], bool]


def is_path(value: Any) -> bool:
    """Return True for a path that the file system can hold."""
    try:
        return isinstance(value, str | os.PathLike) and "\0" not in os.fsdecode(os.fsencode(value))
    except UnicodeEncodeError:
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _several(value: Any, fits: Callable[[Any], bool]) -> bool:
    """Return True for a collection of some kind; a text, bytes and mappings are not one."""
    is_list = isinstance(value, Collection) and not isinstance(value, str | bytes | bytearray | Mapping)
    return is_list and getattr(value, "ndim", 1) != 0 and all(map(fits, value))  # NumPy has arrays of no axis


def _mapping(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value)) and all(map(fits, value.values()))


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _or_none(kind: Kind) -> Kind:
    return kind._replace(fits=lambda value: value is None or kind.fits(value))


def _anything(value: Any) -> bool:
    return True


TEXT = Kind("a text", "'params'", _is_text)
WHOLE = Kind("a whole number", "3", _is_whole)
FLAG = Kind("True or False", "True", _is_flag)
TEXTS = Kind("a text or a list of texts", "['a', 'b']", lambda v: _is_text(v) or _several(v, _is_text))
NUMBER = Kind("a number", "2.5", _is_number)
FIELDS = Kind("a mapping of fields to values", "{'hidden_size': 64}", lambda v: _mapping(v, _anything))
GRID = Kind(
    "a mapping of fields to their values, or texts",
    "{'hidden_size': [64, 128]}",
    lambda v: TEXTS.fits(v) or FIELDS.fits(v),
)
NAMED = Kind(
    "a mapping of names to texts", "{'intermediate_size': '4*hidden_size'}", lambda v: _mapping(v, _is_text)
)
COLUMNS = Kind(
    "a text, a list of texts, or a mapping of names to expressions",
    "['params', 'bytes']",
    lambda v: TEXTS.fits(v) or NAMED.fits(v),
)
MAYBE_COLUMNS, MAYBE_WHOLE = _or_none(COLUMNS), _or_none(WHOLE)
CALLED = Kind("a function", "print", callable)
STATED = Kind("a text or a mapping", "'n_inner=4*n_embd'", lambda v: _is_text(v) or _mapping(v, _anything))
MODEL = Kind("a model of archspec.load", "archspec.load('gpt2')", lambda v: hasattr(v, "scope"))
SWEEPS = Kind("a list of sweeps", "[other]", lambda v: _several(v, lambda one: hasattr(one, "subject")))
EXPRESSION = Kind("an expression of SymPy", "formula.expr", lambda v: hasattr(v, "xreplace") or _is_number(v))
PARTS = Kind("a list of parts", "[*formula.by()]", lambda v: _several(v, lambda one: hasattr(one, "expr")))
MAPPING = Kind("a mapping", "{symbol: 2}", lambda v: isinstance(v, Mapping))
CLASS = Kind("a text or a class", "'module:Class'", lambda v: isinstance(v, str | type))
PATH = Kind("a path", "'folder/file'", is_path)
DEPTH = _or_none(WHOLE)
ARRANGEMENT = _or_none(TEXT)
MAYBE_PATH = _or_none(PATH)
FOLDERS = Kind(
    "a path or a list of paths",
    "'specs'",
    lambda v: is_path(v) or _several(v, is_path) or hasattr(v, "folders"),
)
MAYBE_FOLDERS = _or_none(FOLDERS)
_VARARGS, _VARKEYWORDS = 4, 8  # of a function's code: it takes further arguments
_OPTIONAL = {  # texts that may be None, with examples
    "architecture": "BertForMaskedLM",
    "dtype": "bfloat16",
    "weights": "nf4",
    "stored": "nf4",
    "env": "align",
    "table": "grid",
}
_TEXTS = {
    "quantity": "params",
    "filter": "bert",
    "verb": "count",
    "column": "params",
    "format": "latex",
    "dialect": "duckdb",
    "kind": "lines",
    "log": "xy",
    "optimizer": "adamw",
    "attention": "flash",
}
_KINDS = {  # of the parameters that have one meaning wherever they are
    **{name: _or_none(TEXT._replace(example=repr(one))) for name, one in _OPTIONAL.items()},
    **{name: TEXT._replace(example=repr(one)) for name, one in _TEXTS.items()},
    **dict.fromkeys(("set", "set_a", "set_b", "kwargs", "multiple"), _or_none(FIELDS)),
    **dict.fromkeys(("tie", "ratio", "symbol"), _or_none(NAMED)),
    **dict.fromkeys(("where", "free"), _or_none(TEXTS)),
    "progress": _or_none(CALLED),
    **dict.fromkeys(("tolerance", "within", "width"), _or_none(NUMBER)),
    **dict.fromkeys(("top", "samples", "seed", "rows", "limit"), WHOLE),
    **dict.fromkeys(("notation", "output"), MAYBE_PATH),
    **dict.fromkeys(("specs", "files"), FOLDERS),
    "columns": _or_none(COLUMNS),
    "assume": TEXTS,
    "folder": PATH,
}


def checked(**kinds: Kind) -> Callable[[F], F]:
    """Check the arguments of a function, by their names; ``kinds`` are those that differ from the usual ones.

    Parameters with a default of True or False are flags. The function raises
    :class:`archspec.ArchspecError` for an argument of another kind, and for a name that it does not have.
    """

    def decorate(function: F) -> F:
        code = function.__code__
        count, most = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        positional, names = code.co_varnames[:count], code.co_varnames[:most]
        others = code.co_varnames[most] if code.co_flags & _VARARGS else ""
        defaults = function.__defaults__ or ()
        default = dict(zip(positional[count - len(defaults) :], defaults, strict=True))
        default |= function.__kwdefaults__ or {}
        flags = {name: FLAG for name, value in default.items() if isinstance(value, bool)}
        known, closed = _KINDS | flags | kinds, not code.co_flags & _VARKEYWORDS

        @wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            rest = ((others, value) for value in given[count:])
            for name, value in (*zip(positional, given, strict=False), *rest, *named.items()):
                if name in known and name in (*names, others) and not known[name].fits(value):
                    raise ArchspecError(
                        f"{name}: {described(value)} is not {known[name].what}",
                        help=f"write {name}={known[name].example}",
                    )
            for name in named if closed else ():
                if name not in names:
                    free = [one for one in names[len(given) :] if one not in named and one != "self"]
                    raise unknown_argument(function.__qualname__, name, free)
            return function(*given, **named)

        call.kinds = known  # type: ignore[attr-defined]  # for the test of defaults
        return call  # type: ignore[return-value]

    return decorate


def takes(verb: str, **kinds: Kind) -> Callable[[F], F]:
    """Check the arguments of the function behind a verb, as :func:`checked` does.

    Its parameters are those of the options table: `python -m tools.release` writes them.
    """
    return checked(**kinds)


def unknown_argument(function: str, name: str, known: Collection[str]) -> ArchspecError:
    """The error for an argument that a function does not have; ``known`` are those that it has."""
    where = function.removesuffix(".__init__").rpartition(".")[2]
    message = f"{where}() has no argument {printable(name, 60)}"
    return ArchspecError(message, help=did_you_mean(name, known) or "leave it out")


def described(value: Any) -> str:
    """A value as an error shows it: plain ones as they are, others by their class."""
    if isinstance(value, type):
        return f"the class {printable(value.__name__, 60)}"
    if isinstance(value, int) and value.bit_length() > 1_000:
        return "a number of hundreds of digits"
    if value is None or isinstance(value, int | float | str | bytes):
        return printable(repr(value), 60)
    return f"an object of the class {printable(type(value).__name__, 60)}"
