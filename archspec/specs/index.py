"""Which architectures each spec describes, read off the files' text: parsing all specs would take a second.

A test holds this to what parsing gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_KEY = re.compile(r"^(prefix|extends|drop|architectures):(.*(?:\n(?:[ \t#-].*)?)*)", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|[ \t])#.*$", re.MULTILINE)
_CLASS = re.compile(r"([A-Za-z_]\w*)(?:\(.*\))?:")


class Entry(NamedTuple):
    """What a file says of its architectures; ``own`` is None where the text alone does not tell."""

    prefix: str
    extends: str
    dropped: tuple[str, ...]
    own: tuple[str, ...] | None


def entry(text: str) -> Entry:
    """What one spec's text says.

    >>> entry("extends: bert\\ndrop: [A, B]\\narchitectures:\\n  C:\\n    a: b\\n  D(x=1): E()\\n")
    Entry(prefix='', extends='bert', dropped=('A', 'B'), own=('C', 'D'))
    """
    found = {match.group(1): match.group(2) for match in _KEY.finditer(text)}
    plain = {key: _COMMENT.sub("", value) if "#" in value else value for key, value in found.items()}
    words = {key: re.findall(r"[\w\-]+", plain.get(key, "")) for key in ("prefix", "extends", "drop")}
    own = _classes(plain["architectures"]) if "architectures" in plain else ()
    return Entry(
        "".join(words["prefix"][:1]),
        "".join(words["extends"][:1]),
        tuple(w for w in words["drop"] if w != "-"),
        own,
    )


def _classes(block: str) -> tuple[str, ...] | None:
    first, *lines = block.split("\n")
    if first.strip():
        return None
    listed = [line for line in lines if line.strip()]
    indent = len(listed[0]) - len(listed[0].lstrip(" ")) if listed else 0
    names = []
    for line in listed:
        if len(line) - len(line.lstrip(" ")) > indent:
            continue
        match = _CLASS.match(line, indent)
        if match is None:
            return None
        names.append(match.group(1))
    return tuple(names)


def architectures(
    model_types: list[str], text: Callable[[str], str], whole: Callable[[str], tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Model type -> its architectures, the base model first.

    ``text`` gives a spec's text, ``whole`` the architectures by parsing, asked for where the text does not tell.
    """
    from archspec.specs.records import camel_case

    entries = {name: entry(text(name)) for name in model_types}
    prefixes = {name: one.prefix or camel_case(name) for name, one in entries.items()}
    found: dict[str, tuple[str, ...]] = {}

    def of(name: str, below: tuple[str, ...]) -> tuple[str, ...]:
        if name not in found:
            one = entries[name]
            if one.own is None or (one.extends and (one.extends not in entries or one.extends in below)):
                found[name] = whole(name)
                return found[name]
            names: list[str] = []
            if one.extends:
                parent, prefix = prefixes[one.extends], prefixes[name]
                inherited = of(one.extends, (*below, name))
                names = [
                    prefix + known[len(parent) :] if known.startswith(parent) else known
                    for known in inherited
                ]
            names += [known for known in one.own if known not in names]
            found[name] = tuple(known for known in names if known not in one.dropped)
        return found[name]

    return {name: of(name, ()) for name in model_types}
