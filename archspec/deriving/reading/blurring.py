"""Under the reading: what is left of two values where nobody can tell which one of them it is."""

from __future__ import annotations

from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.holding import holds_tensors
from archspec.deriving.reading.values import MISSING, UNKNOWN, ListValue, Mod, Sym, Tensor, Untold


def blurred(one: Any, two: Any, error: Untold) -> Any:
    """A number, a text or a tensor that is not known; what says which tensors a module holds must agree.

    Errors: the condition's own, where the two ways leave modules, lists or configs that differ.
    """
    if one is two or _text(one) == _text(two) != "":
        return one
    if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two) and one[:1] != ("$status",):
        return tuple(blurred(a, b, error) for a, b in zip(one, two, strict=True))
    if isinstance(one, tuple) and isinstance(two, tuple) and one[:2] == two[:2]:
        return (*one[:2], blurred(one[2], two[2], error))
    if (
        isinstance(one, ListValue)
        and isinstance(two, ListValue)
        and one.plain
        and two.plain
        and len(one.parts) == len(two.parts)
    ):
        return ListValue(blurred(a, b, error) for a, b in zip(one.items(), two.items(), strict=True))
    if any(isinstance(side, Tensor) for side in (one, two)) and all(
        isinstance(side, Tensor) or _plain(side) for side in (one, two)
    ):
        shapes = [side.shape if isinstance(side, Tensor) else None for side in (one, two)]
        same = all(shape is not None for shape in shapes) and _texts(shapes[0]) == _texts(shapes[1])
        return Tensor(shapes[0] if same else None)
    if _plain(one) and _plain(two):
        return Sym(None, UNKNOWN)
    for made, other in ((one, two), (two, one)):  # it does not matter whether there is one
        absent = other is None or other is MISSING or isinstance(other, Mod)
        if isinstance(made, Mod) and absent and not holds_tensors(made) and not holds_tensors(other):
            return made
    raise error


def _plain(value: Any) -> bool:
    return value is MISSING or isinstance(value, Sym | bool | int | float | str | None)


def _text(value: Any) -> str:
    if isinstance(value, Sym):
        return terms.text(value.node) if value.node is not None else ""
    return repr(value) if isinstance(value, bool | int | float | str | None) else ""


def _texts(sizes: Any) -> list[str]:
    return [_text(size) or repr(id(size)) for size in sizes]
