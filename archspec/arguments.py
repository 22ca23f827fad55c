"""Checks of the arguments of public functions: a wrong type is an error that names the accepted ones.

The accepted types are those of the annotations, which are read as texts: nothing is imported for a check.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache, wraps

from archspec.errors import ArchspecError, did_you_mean, to_printable
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

Test = Callable[[Any], bool]
_VARARGS, _VARKEYWORDS = 4, 8  # flags of a function's code: it takes further arguments
_PATHS = ("path", "folder", "notation", "output")  # parameters whose texts are paths
_SHOWN = 60  # characters of a value in an error


def _is_path(value: Any) -> bool:
    """Return True for a path that the file system can hold."""
    try:
        return isinstance(value, str | os.PathLike) and "\0" not in os.fsdecode(os.fsencode(value))
    except UnicodeEncodeError:
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _is_list(value: Any) -> bool:
    if not isinstance(value, Collection) or isinstance(value, str | bytes | bytearray | Mapping):
        return False
    return getattr(value, "ndim", 1) != 0  # NumPy has 0-d arrays


def _list_of(fits: Test) -> Test:
    return lambda value: _is_list(value) and all(map(fits, value))


def _mapping_to(kind: type) -> Test:
    def is_mapping(value: Any) -> bool:
        is_named = isinstance(value, Mapping) and all(map(_is_text, value))
        return is_named and all(isinstance(one, kind) for one in value.values())

    return is_mapping


def _has(name: str) -> Test:
    return lambda value: hasattr(value, name)


Accepted = tuple[str, str, tuple[Test, ...]]  # in words, by an example, and as tests, one of which must hold
_TEXTS = "a text or a list of texts", "['a', 'b']", (_is_text, _list_of(_is_text))
_FOLDERS = "a path or a list of paths", "'specs'", (_is_path, _list_of(_is_path), _has("folders"))
_FIELDS = "a mapping of fields to values", "{'hidden_size': 64}", (_mapping_to(object),)
_COLUMNS = "a text, a list of texts, or a mapping of names to expressions", "['params', 'bytes']"
_TYPES: dict[str, Accepted] = {  # parts of annotations
    "None": ("None", "None", (lambda value: value is None,)),
    "bool": ("True or False", "True", (lambda value: isinstance(value, bool),)),
    "int": ("a whole number", "3", (lambda value: isinstance(value, int) and _is_number(value),)),
    "float": ("a number", "2.5", (_is_number,)),
    "str": ("a text", "'text'", (_is_text,)),
    "type": ("a class", "'module:Class'", (lambda value: isinstance(value, type),)),
    "sympy.Expr": ("an expression of SymPy", "formula.expr", (_has("xreplace"),)),
    "path": ("a path", "'folder/file'", (_is_path,)),
    "Columns": (*_COLUMNS, (_is_text, _list_of(_is_text), _mapping_to(str))),
    "Iterable[Part]": ("a list of parts", "[*formula.split()]", (_list_of(_has("expr")),)),
    "Mapping[str, str]": ("a mapping of names to texts", "{'n_inner': '4*n_embd'}", (_mapping_to(str),)),
    "Model": ("a model of archspec.load", "archspec.load('gpt2')", (_has("scope"),)),
    "Progress": ("a function", "print", (callable,)),
    "Sequence[Any]": ("a list", "[(768, 1024)]", (_is_list,)),
    "Sequence[Sweep]": ("a list of sweeps", "[other]", (_list_of(_has("subject")),)),
    "dict[Any, Any]": ("a mapping", "{symbol: 2}", (lambda value: isinstance(value, Mapping),)),
    **dict.fromkeys(("Sequence[str]", "Iterable[str]"), _TEXTS),
    **dict.fromkeys(("Specs", "Folders", "Folder | Sequence[Folder]"), _FOLDERS),
    **dict.fromkeys(("Mapping[str, Any]", "Mapping[str, int]", "Mapping[str, str | int]"), _FIELDS),
    "dict[str, int | float]": _FIELDS,
}


@cache
def accepted_values(annotation: str) -> Accepted:
    """Return the values that an annotation accepts; tests are missing if it accepts any value.

    >>> accepted_values("str | None")[:2], accepted_values("Source")
    (('a text or None', "'text'"), ('', '', ()))
    """
    listed = [annotation] if annotation in _TYPES else re.split(r" \| (?![^[]*\])", annotation)
    if {"Sequence[str]", "Iterable[str]"} & {*listed}:
        listed = [one for one in listed if one != "str"]
    if not all(one in _TYPES for one in listed):
        return "", "", ()
    words, examples, tests = zip(*map(_TYPES.__getitem__, listed), strict=True)
    return " or ".join(words), examples[0], tuple(test for several in tests for test in several)


def check_arguments(function: F) -> F:
    """Raise :class:`ArchspecError` for an argument of another type than annotated, or an unknown name."""
    code = function.__code__
    count, most = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names, others = code.co_varnames[:most], code.co_varnames[most:]
    rest = others[0] if code.co_flags & _VARARGS else ""
    is_closed = not code.co_flags & _VARKEYWORDS
    annotations = {name: function.__annotations__.get(name, "Any") for name in (*names, rest)}
    for name in annotations.keys() & {*_PATHS}:
        annotations[name] = annotations[name].replace("str", "path")

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        placed = zip((*names[:count], *[rest] * (len(given) - count)), given, strict=False)
        for name, value in (*placed, *named.items()):
            if name in annotations:
                _check(name, value, annotations[name])
            elif is_closed and name in named:
                free = [one for one in names[len(given) :] if one not in named and one != "self"]
                verb = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
                message = f"{verb}() has no argument {to_printable(name, _SHOWN)}"
                raise ArchspecError(message, help=did_you_mean(name, free) or "leave it out")
        return function(*given, **named)

    return call  # type: ignore[return-value]


def _check(name: str, value: Any, annotation: str) -> None:
    words, example, tests = accepted_values(annotation)
    if tests and not any(fits(value) for fits in tests):
        raise ArchspecError(f"{name}: {describe_value(value)} is not {words}", help=f"write {name}={example}")


def check_arguments_of(verb: str) -> Callable[[F], F]:
    """Return :func:`check_arguments`, for a function whose parameters `python -m tools.release` writes."""
    return check_arguments


def describe_value(value: Any) -> str:
    """Return a value as an error shows it: plain ones as they are, others by their class."""
    if isinstance(value, type):
        return f"the class {to_printable(value.__name__, _SHOWN)}"
    if isinstance(value, int) and value.bit_length() > 1_000:
        return "a number of hundreds of digits"
    if value is None or isinstance(value, int | float | str | bytes):
        return to_printable(repr(value), _SHOWN)
    return f"an object of the class {to_printable(type(value).__name__, _SHOWN)}"
