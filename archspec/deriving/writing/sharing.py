"""Writing, 3 of 5: tensors under several names, ties that transformers declares, one object at several
places."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.holding import holds_tensors
from archspec.deriving.reading.recurrences import length
from archspec.deriving.reading.values import Container, Instance, Leaf, ListValue, Mix, Mod, TensorOf
from archspec.deriving.writing.parts import Module
from archspec.deriving.writing.places import Place, attributes, in_container, occurrences, sides
from archspec.deriving.writing.ties import declared


def own_modules(attrs: dict[str, Any]) -> dict[int, str]:
    """The modules with tensors that a class holds, by identity; those of its lists too."""
    found: dict[int, str] = {}

    def add(value: Any, path: str) -> None:
        if not holds_tensors(value):
            return
        if isinstance(value, Instance | Leaf):
            found.setdefault(id(value), path)
        elif isinstance(value, Container):
            found.setdefault(id(value), path)
            items = (
                value.items.items()
                if isinstance(value.items, dict)
                else enumerate(value.items.items())
                if value.items.plain
                else ()
            )
            for key, inner in items:
                if not str(key).startswith("$"):
                    add(inner, f"{path}.{key}")
        elif isinstance(value, Mix):
            found.setdefault(id(value), path)

    for name, value in attrs.items():
        if not name.startswith("$"):
            add(value, name)
    return found


def share(module: Module) -> None:
    """Fills a module's `tied:` and `alias:`."""
    template = module.template
    if template is None or template.fit is not None:
        return
    declared(module, template)
    own = own_modules(module.attrs)
    for name, value in module.attrs.items():
        if not isinstance(name, str) or name.startswith("$") or not isinstance(value, Mod):
            continue
        if own.get(id(value), name) != name:
            module.alias[name] = own[id(value)]
        elif isinstance(value, Mix) and (
            shared := [side for side in sides(value, ()) if own.get(id(side[0]), name) != name]
        ):
            if len(shared) > 1:
                module.notes.append(f"a module that is not read: {name} is one of several others")
            (side, tests) = shared[0]
            module.alias[name] = " ".join(filter(None, (own[id(side)], Place(tests=tests).clause())))
            for test in tests:
                module.used |= terms.names(test) - {"range", "len"}
        elif isinstance(value, Instance | Container | Mix):
            outer = {
                key: path for key, path in own.items() if path != name and not path.startswith(name + ".")
            }
            for place, key in _below(value, outer, Place((name,))):
                source = outer[key]
                if source.split(".")[0] != place.parts[0]:
                    module.alias[place.path] = " ".join(filter(None, (source, place.clause())))
        if isinstance(value, Container) and not isinstance(value.items, dict):
            repeated(module, name, value.items)
        tensors(module, name, value, own)


def _below(value: Any, wanted: dict[int, str], place: Place) -> Iterator[tuple[Place, int]]:
    if isinstance(value, Instance):
        for name, inner in attributes(value).items():
            if name == "$items":
                yield from in_container(inner, wanted, place, 1)
            elif isinstance(inner, Mod) and not name.startswith("$"):
                yield from occurrences(inner, wanted, place.at(name), 1)
    elif isinstance(value, Container):
        yield from in_container(value, wanted, place, 1)
    elif isinstance(value, Mix):
        for side, test in ((value.then, value.test), (value.other, terms.negation(value.test))):
            if side is not None:
                yield from _below(side, wanted, Place(place.parts, place.loops, (*place.tests, test)))


def repeated(module: Module, name: str, items: ListValue, given: tuple[ast.expr, ...] = ()) -> None:
    """One object in every turn of a loop, or at several positions of a list."""
    clause = f" {Place(tests=given).clause()}".rstrip()
    before = len(module.alias)
    if items.plain:
        first: dict[int, int] = {}
        for index, item in enumerate(items.items()):
            if isinstance(item, Mod) and first.setdefault(id(item), index) != index:
                module.alias[f"{name}.{index}"] = f"{name}.{first[id(item)]}{clause}"
    elif len(items.parts) == 1 and items.parts[0][0] == "if":
        _, test, then, other, _ = items.parts[0]
        repeated(module, name, then, (*given, test))
        repeated(module, name, other, (*given, terms.negation(test)))
    elif len(items.parts) == 1 and items.parts[0][0] == "each" and len(items.parts[0][2]) == 1:
        _, inner, ((target, iterable, tests),) = items.parts[0]
        marks = [int(mark.rpartition(".")[2]) for mark in terms.names(target) if "." in mark]
        if (
            isinstance(inner, Mod)
            and marks
            and inner.born < min(marks)
            and not inner.flags.get("copied")
            and not tests
        ):
            module.alias[f"{name}.{{i}}"] = (
                f"{name}.0 for i in range(1, {terms.text(length(iterable))}){clause}"
            )
            module.used |= terms.names(iterable) - {"range", "enumerate", "zip", "len"}
    if len(module.alias) > before:
        for test in given:
            module.used |= terms.names(test) - {"range", "len"}


def _plain(items: ListValue) -> list[Any]:
    return items.items() if items.plain else []


def tensors(module: Module, name: str, value: Any, own: dict[int, str]) -> None:
    """`self.a.weight = self.b.weight`, under the conditions that it is said under."""
    if isinstance(value, Container):
        items = value.items.items() if isinstance(value.items, dict) else enumerate(_plain(value.items))
        for key, inner in items:
            if isinstance(inner, Mod) and not str(key).startswith("$"):
                tensors(module, f"{name}.{key}", inner, own)
    held = value.patched if isinstance(value, Instance) else value.attrs
    for key, set_ in held.items():
        target = f"{name}.{key}"
        for item, tests in sides(set_, ()):
            source = ""
            if isinstance(item, TensorOf) and id(item.owner) in own:
                source = f"{own[id(item.owner)]}.{item.name}"
            elif (
                isinstance(item, Leaf)
                and item.kind == "Parameter"
                and id(item) in own
                and isinstance(value, Leaf)
            ):
                source = own[id(item)]
            elif isinstance(item, TensorOf):
                module.notes.append(f"a tie that is not read: {target}")
            if source and target in module.alias:
                module.notes.append(f"a tie that is not read: {target}: {source}")
            elif source:
                module.alias[target] = " ".join(filter(None, (source, Place(tests=tests).clause())))
                for test in tests:
                    module.used |= terms.names(test) - {"range", "len"}
