"""Under the reading: the kinds of value that a config field's annotation allows."""

from __future__ import annotations

import ast
import re
from typing import Any

_KINDS = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "list": "list",
    "tuple": "list",
    "dict": "dict",
    "None": "None",
}
_KINDS |= {"List": "list", "Tuple": "list", "Dict": "dict", "Sequence": "list", "Iterable": "list"}


def annotated(annotation: Any) -> tuple[str, ...]:
    """The kinds of value that an annotation allows, () where it does not tell.

    >>> annotated("int | list[int] | None")
    ('int', 'list', 'None')
    """
    text = (
        annotation
        if isinstance(annotation, str)
        else annotation.__name__
        if isinstance(annotation, type)
        else str(annotation)
    )
    if text in ("Any", "typing.Any"):
        return ()
    if "Optional[" in text:
        text += " | None"
    text = text.replace("typing.", "").replace("NoneType", "None")
    while re.search(r"\[[^\[\]]*\]", text):
        literal = re.search(r"Literal\[([^\[\]]*)\]", text)
        if literal:
            kinds = {
                type(ast.literal_eval(part.strip())).__name__
                for part in literal.group(1).split(",")
                if part.strip()
            }
            text = text.replace(literal.group(0), " | ".join(sorted(kinds)))
            continue
        union = re.search(r"(Union|Optional)\[([^\[\]]*)\]", text)
        if union:
            text = text.replace(union.group(0), union.group(2).replace(",", " |"))
            continue
        text = re.sub(r"\[[^\[\]]*\]", "", text)
    found = dict.fromkeys(_KINDS.get(part.strip().strip("'\""), "?") for part in text.split("|"))
    found.pop("?", None) if len(found) > 1 else None
    return () if "?" in found else tuple(found)


def choices(annotation: Any) -> list[Any]:
    """The values that an annotation names one by one, [] where it allows others.

    >>> choices("Literal['mean', 'sum'] | None")
    ['mean', 'sum', None]
    """
    text = (annotation if isinstance(annotation, str) else str(annotation)).replace("typing.", "")
    text = re.sub(r"^Optional\[(.*)\]$", r"\1 | None", text)
    found = re.fullmatch(r"Literal\[([^\[\]]*)\](\s*\|\s*None)?", text)
    return [*ast.literal_eval(f"[{found.group(1)}]"), *([None] if found.group(2) else [])] if found else []


def kinds_of(value: Any) -> tuple[str, ...]:
    """The kind of a plain value, () where an annotation has no name for it."""
    kind = "list" if isinstance(value, list | tuple) else "None" if value is None else type(value).__name__
    return (kind,) if kind in _KINDS.values() and kind != "None" else ()
