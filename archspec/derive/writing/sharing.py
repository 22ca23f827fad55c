"""Writing, 3 of 5: tensors under several names, one object at several places."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from archspec.derive.reading import terms
from archspec.derive.reading.leaves import holds_tensors
from archspec.derive.reading.modules import Template
from archspec.derive.reading.recurrences import length
from archspec.derive.reading.values import Choice, Container, Instance, Leaf, Mix, Mod, TensorOf
from archspec.derive.writing.parts import Module
from archspec.derive.writing.ties import COUNTERS, Place, attributes, declared

MAX_DEPTH = 6


def occurrences(value: Any, wanted: dict[int, str], place: Place, depth: int = 0) -> Iterator[tuple[Place, int]]:
    """Where, inside of a module, objects stand that belong to the one around it."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, Mod) and id(value) in wanted and place.parts:
        yield place, id(value)
        return
    if isinstance(value, Mix):
        for side, test in ((value.then, value.test), (value.other, terms.negation(value.test))):
            yield from occurrences(side, wanted, Place(place.parts, place.loops, (*place.tests, test)), depth)
    elif isinstance(value, Container):
        yield from _in_container(value, wanted, place, depth)
    elif isinstance(value, Instance):
        for name, inner in attributes(value).items():
            if name == "$items":
                yield from occurrences(inner, wanted, place, depth + 1)
            elif isinstance(inner, Mod) and not name.startswith("$"):
                yield from occurrences(inner, wanted, place.at(name), depth + 1)


def _in_container(value: Container, wanted: dict[int, str], place: Place, depth: int) -> Iterator[tuple[Place, int]]:
    if isinstance(value.items, dict):
        for key, inner in value.items.items():
            if isinstance(inner, Mod):
                yield from occurrences(inner, wanted, place.at(str(key)), depth + 1)
        return
    if value.items.plain:
        for index, inner in enumerate(value.items.items()):
            yield from occurrences(inner, wanted, place.at(str(index)), depth + 1)
        return
    if len(value.items.parts) == 1 and value.items.parts[0][0] == "each" and len(value.items.parts[0][2]) == 1:
        _, inner, ((_, iterable, tests),) = value.items.parts[0]
        if not tests:
            counter = COUNTERS[len(place.loops)]
            looped = Place(
                (*place.parts, f"{{{counter}}}"), (*place.loops, (counter, terms.call("range", length(iterable)))), place.tests
            )
            yield from occurrences(inner, wanted, looped, depth + 1)


def own_modules(template: Template) -> dict[int, str]:
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

    for name, value in template.proto.attrs.items():
        if not name.startswith("$"):
            add(value, name)
    return found


def share(module: Module) -> None:
    """Fills a module's `tied:` and `alias:`."""
    template = module.template
    if template is None or template.fit is not None:
        return
    declared(module, template)
    own = own_modules(template)
    for name, value in template.proto.attrs.items():
        if not isinstance(name, str) or name.startswith("$") or not isinstance(value, Mod):
            continue
        if own.get(id(value), name) != name:
            module.alias[name] = own[id(value)]
        elif isinstance(value, Mix) and (shared := [side for side in _sides(value, ()) if own.get(id(side[0]), name) != name]):
            if len(shared) > 1:
                module.notes.append(f"a module that is not read: {name} is one of several others")
            (side, tests) = shared[0]
            module.alias[name] = " ".join(filter(None, (own[id(side)], Place(tests=tests).clause())))
            for test in tests:
                module.used |= terms.names(test) - {"range", "len"}
        elif isinstance(value, Instance | Container | Mix):
            outer = {key: path for key, path in own.items() if path != name and not path.startswith(name + ".")}
            for place, key in _below(value, outer, Place((name,))):
                source = outer[key]
                if source.split(".")[0] != place.parts[0]:
                    module.alias[place.path] = " ".join(filter(None, (source, place.clause())))
        if isinstance(value, Container):
            repeated(module, name, value)
        tensors(module, name, value, own)


def _below(value: Any, wanted: dict[int, str], place: Place) -> Iterator[tuple[Place, int]]:
    if isinstance(value, Instance):
        for name, inner in attributes(value).items():
            if name == "$items":
                yield from _in_container(inner, wanted, place, 1)
            elif isinstance(inner, Mod) and not name.startswith("$"):
                yield from occurrences(inner, wanted, place.at(name), 1)
    elif isinstance(value, Container):
        yield from _in_container(value, wanted, place, 1)
    elif isinstance(value, Mix):
        for side, test in ((value.then, value.test), (value.other, terms.negation(value.test))):
            if side is not None:
                yield from _below(side, wanted, Place(place.parts, place.loops, (*place.tests, test)))


def repeated(module: Module, name: str, value: Container) -> None:
    """One object in every turn of a loop, or at several positions of a list."""
    if isinstance(value.items, dict):
        return
    if value.items.plain:
        first: dict[int, int] = {}
        for index, item in enumerate(value.items.items()):
            if isinstance(item, Mod) and first.setdefault(id(item), index) != index:
                module.alias[f"{name}.{index}"] = f"{name}.{first[id(item)]}"
        return
    if len(value.items.parts) == 1 and value.items.parts[0][0] == "each" and len(value.items.parts[0][2]) == 1:
        _, inner, ((target, iterable, tests),) = value.items.parts[0]
        marks = [int(mark.rpartition(".")[2]) for mark in terms.names(target) if "." in mark]
        if isinstance(inner, Mod) and marks and inner.born < min(marks) and not inner.flags.get("copied") and not tests:
            module.alias[f"{name}.{{i}}"] = f"{name}.0 for i in range(1, {terms.text(length(iterable))})"
            module.used |= terms.names(iterable) - {"range", "enumerate", "zip", "len"}


def tensors(module: Module, name: str, value: Any, own: dict[int, str]) -> None:
    """`self.a.weight = self.b.weight`, under the conditions that it is said under."""
    held = value.patched if isinstance(value, Instance) else value.attrs
    for key, set_ in held.items():
        target = f"{name}.{key}"
        for item, tests in _sides(set_, ()):
            source = ""
            if isinstance(item, TensorOf) and id(item.owner) in own:
                source = f"{own[id(item.owner)]}.{item.name}"
            elif isinstance(item, Leaf) and item.kind == "Parameter" and id(item) in own and isinstance(value, Leaf):
                source = own[id(item)]
            elif isinstance(item, TensorOf):
                module.notes.append(f"a tie that is not read: {target}")
            if source and target in module.alias:
                module.notes.append(f"a tie that is not read: {target}: {source}")
            elif source:
                module.alias[target] = " ".join(filter(None, (source, Place(tests=tests).clause())))
                for test in tests:
                    module.used |= terms.names(test) - {"range", "len"}


def _sides(value: Any, tests: tuple[ast.expr, ...]) -> Iterator[tuple[Any, tuple[ast.expr, ...]]]:
    """What an attribute is, with the conditions that it is so under."""
    if isinstance(value, Choice | Mix):
        yield from _sides(value.then, (*tests, value.test))
        yield from _sides(value.other, (*tests, terms.negation(value.test)))
    else:
        yield value, tests
