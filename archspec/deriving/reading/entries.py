"""Under the reading: entries of a dict that two ways of a condition set, one by its name, one by the loop's
variable."""

from __future__ import annotations

import ast
from typing import Any

from archspec.deriving.reading import terms

Writes = dict[tuple[int, Any], tuple[dict[Any, Any], Any, Any]]


def aligned(named: Writes, counted: Writes, equal: dict[str, Any]) -> None:
    """An entry whose name is known where the loop's variable is, as at `if i == 0:`, is the one of any other
    turn too."""
    known = {name: terms.constant(value) for name, value in equal.items() if isinstance(value, int | str)}
    for (owner, name), (container, _, left) in counted.items():
        if name != "$pair" or (owner, name) in named:
            continue
        key = terms.folded(terms.substitute(left[0].node, known))
        if isinstance(key, ast.Constant) and (owner, key.value) in named:
            _, _, value = named.pop((owner, key.value))
            named[owner, name] = (container, name, (left[0], value))
