"""Under the reading: a finished module's own copies of what is in it, made where other code reaches in.

All modules of a class share what its constructor left. What code around one of them sets further in
(`self.model.decoder.head = …`) holds for that one only: an attribute that is taken out of a finished
module is a copy, the same one each time.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from archspec.deriving.reading.values import (
    Choice,
    Container,
    Element,
    Instance,
    ListValue,
    Mix,
    Mod,
    TensorOf,
)


class Copy(NamedTuple):
    """A copy, what it is a copy of, and how it was when it was made."""

    origin: Any
    made: Any
    before: tuple[dict[Any, Any], ...]


def own(root: Instance, value: Any) -> Any:
    """A part of a finished module as this module's own."""
    if not root.copies and root.template is not None:
        proto = root.template.proto
        root.copies[id(proto)] = Copy(proto, proto, _state(proto))
        for part in (
            *proto.attrs.values(),
            proto.base,
        ):  # all of them: a module further in may hold one of these too
            _own(root, part)
    return _own(root, value)


def _own(root: Instance, value: Any) -> Any:
    if isinstance(value, Mod):
        known = _known(root, value)
        return known.made if known is not None else _copied(root, value)
    if isinstance(value, TensorOf):
        return TensorOf(_own(root, value.owner), value.name)
    if isinstance(value, Choice):
        return Choice(value.test, _own(root, value.then), _own(root, value.other), value.holds)
    if isinstance(value, ListValue) and any(
        isinstance(item, Mod | tuple | ListValue) for item in _items(value)
    ):
        return _list(root, value)
    if type(value) is tuple:
        return tuple(_own(root, item) for item in value)
    if type(value) is dict and any(isinstance(item, Mod | tuple) for item in value.values()):
        return {key: _own(root, item) for key, item in value.items()}
    return value


def duplicate(value: Mod) -> Mod:
    """A copy of a module and of all that it holds."""
    made = _copied(Instance(object), value)
    made.flags["copied"] = True
    return made


def base_of(module: Instance) -> Any:
    """The container or the layer that a module's class is derived from."""
    return (
        own(module, module.base) if module.template is not None and module.base is not None else module.base
    )


def children(module: Instance) -> dict[str, Any]:
    """A module's attributes; its own copies, where others have reached into it."""
    if module.template is None:
        return dict(module.attrs)
    found = dict(module.template.proto.attrs)
    if module.copies:
        found = {name: own(module, value) for name, value in found.items()}
    return found | module.patched


def changed(module: Instance) -> bool:
    """Whether a finished module, or anything that it holds, is no longer as its class' constructor
    left it."""
    return bool(module.patched) or any(
        _differs(part) or _within(part.made) for part in module.copies.values()
    )


def changes(module: Instance) -> dict[str, Any]:
    """What a module has otherwise than its class' constructor left it; `$base` is what its class is derived
    from."""
    proto = module.template.proto
    parts = {**proto.attrs, "$base": proto.base}
    return {
        name: own(module, part) for name, part in parts.items() if _changed(module, part)
    } | module.patched


def _within(value: Any) -> bool:
    return isinstance(value, Instance) and value.template is not None and changed(value)


def _changed(root: Instance, value: Any) -> bool:
    known = _known(root, value) if isinstance(value, Mod) else None
    if known is None:
        return False
    inner: list[Any] = []
    if isinstance(value, Container):
        inner = list(value.items.values()) if isinstance(value.items, dict) else list(_items(value.items))
    elif isinstance(value, Mix):
        inner = [value.then, value.other]
    return _differs(known) or _within(known.made) or any(_changed(root, item) for item in inner)


def _known(root: Instance | None, value: Mod) -> Copy | None:
    while root is not None:
        if id(value) in root.copies:
            found: Copy = root.copies[id(value)]
            return found
        root = root.outer
    return None


def _copied(root: Instance, value: Mod) -> Mod:
    made = copy.copy(value)
    root.copies[id(value)] = Copy(value, made, ())  # known before what it holds: that may hold it too
    made.flags = dict(value.flags)
    if not isinstance(made, Instance) or made.template is None:
        made.attrs = dict(value.attrs)
    if isinstance(value, Instance) and isinstance(made, Instance):
        made.outer, made.copies = root, {}
        made.patched = {name: _own(root, item) for name, item in value.patched.items()}
        for part in value.copies.values():  # what the constructor around it has changed
            made.copies[id(part.origin)] = Copy(part.origin, _own(made, part.made), part.before)
    elif isinstance(made, Container):
        items = made.items
        made.items = (
            {k: _own(root, v) for k, v in items.items()} if isinstance(items, dict) else _list(root, items)
        )
    elif isinstance(made, Mix):
        made.then, made.other = _own(root, made.then), _own(root, made.other)
    elif isinstance(made, Element):
        made.owner, made.like = _own(root, made.owner), _own(root, made.like)
    root.copies[id(value)] = Copy(value, made, _state(made))
    return made


def _list(root: Instance, value: ListValue) -> ListValue:
    made = ListValue.of([_part(root, part) for part in value.parts])
    made.kind = value.kind
    return made


def _part(root: Instance, part: tuple[Any, ...]) -> tuple[Any, ...]:
    if part[0] == "if":
        return ("if", part[1], _list(root, part[2]), _list(root, part[3]), part[4])
    if part[0] == "each":
        turns = tuple(
            (t, _list(root, i) if isinstance(i, ListValue) else i, tests) for t, i, tests in part[2]
        )
        return ("each", _own(root, part[1]), turns)
    return (part[0], _own(root, part[1]), *part[2:])


def _items(value: ListValue) -> Iterator[Any]:
    """What a list holds, under conditions and in loops too."""
    for part in value.parts:
        if part[0] == "if":
            yield from (*_items(part[2]), *_items(part[3]))
            continue
        yield part[1]
        if part[0] == "each":
            yield from (
                item for turn in part[2] if isinstance(turn[1], ListValue) for item in _items(turn[1])
            )


def _state(made: Mod) -> tuple[dict[Any, Any], ...]:
    """What can be set on a module."""
    if isinstance(made, Instance):
        return dict(made.patched), dict(made.flags)
    held = made.items if isinstance(made, Container) else {}
    return dict(made.attrs), dict(made.flags), dict(held if isinstance(held, dict) else held.cell)


def _differs(part: Copy) -> bool:
    now = _state(part.made)
    return any(
        one.keys() != two.keys() or any(one[key] is not two[key] for key in one)
        for one, two in zip(part.before, now, strict=True)
    )
