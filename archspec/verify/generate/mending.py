"""A drawn config that a spec refuses, brought near: as much of it as the spec takes together with a valid
one.

Blind draws seldom meet several conditions at once (this divides that, a list is as long as layers are many);
one field after the other, from a valid config on, they do.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

Config = dict[str, Any]
Path = tuple[str, ...]

_MISSING = object()


def mended(drawn: Config, valid: Config, accepts: Callable[[Config], bool], chance: random.Random) -> Config:
    """``valid`` with every value of ``drawn`` that can be had beside the others, halves before single fields.

    >>> def divides(raw): return raw.get("width", 8) % raw["heads"] == 0
    >>> mended({"heads": 5, "width": 7}, {"heads": 2}, divides, random.Random(1))
    {'heads': 2}
    >>> mended({"heads": 5, "depth": 7}, {"heads": 2}, lambda raw: 8 % raw["heads"] == 0, random.Random(0))
    {'heads': 2, 'depth': 7}
    """
    kept = copy.deepcopy(valid)
    together: dict[
        Any, list[Path]
    ] = {}  # lists of one length, and the number of their items, may have to agree
    changed = [path for path in _paths(drawn, valid) if _at(drawn, path) != _at(valid, path)]
    lengths = {(path[:-1], len(_at(drawn, path))) for path in changed if isinstance(_at(drawn, path), list)}
    for path in changed:
        value = _at(drawn, path)
        size = (path[:-1], len(value) if isinstance(value, list) else value if type(value) is int else None)
        together.setdefault(size if size in lengths else path, []).append(path)
    groups = list(together.values())
    chance.shuffle(groups)

    def take(some: list[list[Path]]) -> None:
        nonlocal kept
        trial = copy.deepcopy(kept)
        for path in (path for group in some for path in group):
            _put(trial, path, _at(drawn, path))
        if accepts(trial):
            kept = trial
        elif len(some) > 1:
            take(some[: len(some) // 2])
            take(some[len(some) // 2 :])

    if groups:
        take(groups)
    return kept


def _paths(drawn: Config, valid: Config, outer: Path = ()) -> list[Path]:
    """The fields of both, those of sub-configs one by one where both are of one model type."""
    found: list[Path] = []
    for name in dict.fromkeys((*drawn, *valid)):
        one, other = drawn.get(name, _MISSING), valid.get(name, _MISSING)
        if (
            isinstance(one, dict)
            and isinstance(other, dict)
            and one.get("model_type") == other.get("model_type")
        ):
            found += _paths(one, other, (*outer, name))
        else:
            found.append((*outer, name))
    return found


def _at(raw: Config, path: Path) -> Any:
    value: Any = raw
    for name in path:
        value = value.get(name, _MISSING)
    return value


def _put(raw: Config, path: Path, value: Any) -> None:
    for name in path[:-1]:
        raw = raw[name]
    if value is _MISSING:
        raw.pop(path[-1], None)
    else:
        raw[path[-1]] = copy.deepcopy(value)
