"""Writing, 3 of 5: tensors under several names, ties that transformers declares, one object at several places."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from archspec.derive.reading import terms
from archspec.derive.reading.leaves import holds_tensors
from archspec.derive.reading.modules import Template
from archspec.derive.reading.recurrences import length
from archspec.derive.reading.values import Choice, Container, Element, Instance, Leaf, ListValue, Mix, Mod, TensorOf
from archspec.derive.writing.parts import Module

MAX_DEPTH = 6
_PLAIN = re.compile(r"[A-Za-z0-9_.]+$")
_NUMBER = re.compile(r"(\(\?!\[?0\]?(?:\\\.)?\)|\[1-9\])?(\\d\+|\\d\*|\[0-9\]\+|\(\\d\+\))$")


class Place:
    """A path within a module, with the loops and the conditions that it stands under."""

    def __init__(
        self, parts: tuple[str, ...] = (), loops: tuple[tuple[str, ast.expr], ...] = (), tests: tuple[ast.expr, ...] = ()
    ) -> None:
        self.parts, self.loops, self.tests = parts, loops, tests

    def at(self, part: str) -> Place:
        return Place((*self.parts, part), self.loops, self.tests)

    @property
    def path(self) -> str:
        return ".".join(self.parts)

    def clause(self) -> str:
        loops = [f"for {name} in {terms.text(iterable)}" for name, iterable in self.loops]
        tests = [terms.text(test) for test in self.tests]
        return " ".join([*loops, *([f"if {' and '.join(tests)}"] if tests else [])])


def attributes(value: Any) -> dict[str, Any]:
    """The children of a module by name."""
    if isinstance(value, Instance):
        own = dict(value.template.proto.attrs) if value.template is not None else dict(value.attrs)
        base = value.template.proto.base if value.template is not None else value.base
        own |= value.patched
        if isinstance(base, Container):
            own |= {"$items": base}
        return own
    return dict(value.attrs)


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
            counter = "ijklm"[len(place.loops)]
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


def declared(module: Module, template: Template) -> None:
    """`_tied_weights_keys`, its patterns as loops over the lists that they go through."""
    if not template.proto.attrs.get("$post_init"):
        return
    keys = template.proto.attrs.get("_tied_weights_keys", getattr(template.cls, "_tied_weights_keys", None))
    if isinstance(keys, Choice):
        for side, test in ((keys.then, keys.test), (keys.other, terms.negation(keys.test))):
            if isinstance(side, dict):
                tied(module, template, side, (test,))
        return
    if isinstance(keys, Mod) or keys is None:
        return
    if not isinstance(keys, dict):
        module.notes.append(f"ties that are not read: {keys!r}"[:120])
        return
    tied(module, template, keys, ())


def tied(module: Module, template: Template, keys: dict[Any, Any], given: tuple[ast.expr, ...]) -> None:
    """The pairs of one table of ties, where the conditions hold."""
    for target, source in keys.items():
        if not isinstance(target, str) or not isinstance(source, str):
            module.notes.append("ties whose names depend on the config")
            continue
        one, other = walked(template.proto, target), walked(template.proto, source)
        if one is None or other is None:
            module.notes.append(f"a tie that is not read: {target}: {source}")
            continue
        tests = tuple({terms.text(test): test for test in (*given, *one.tests, *other.tests)}.values())
        counters = {name for name, _ in one.loops}
        text = other.path
        if other.loops and len(other.loops) == len(one.loops):
            pass
        elif other.loops:
            module.notes.append(f"a tie that is not read: {target}: {source}")
            continue
        assert counters is not None
        place = Place(one.parts, one.loops, tests)
        for _, iterable in one.loops:
            module.used |= terms.names(iterable) - {"range", "len"}
        for test in tests:
            module.used |= terms.names(test) - {"range", "len"}
        module.tied[one.path] = " ".join(filter(None, (text, place.clause())))


def walked(root: Instance, pattern: str) -> Place | None:
    """A pattern of names, followed through the modules."""
    pattern = pattern.removeprefix("^").removesuffix("$").replace("\\.", ".")
    pieces = _split(pattern)
    place = Place()
    value: Any = root
    for piece in pieces:
        while isinstance(value, Element):
            value = value.like
        value, place = _through_mix(value, piece, place)
        if _PLAIN.match(piece):
            children = attributes(value) if isinstance(value, Mod) else {}
            if isinstance(value, Container) and isinstance(value.items, dict):
                children = value.items
            if piece.isdigit() and (isinstance(value, Container) or "$items" in children):
                container = value if isinstance(value, Container) else children["$items"]
                parts = container.items.parts if not isinstance(container.items, dict) else ()
                value = parts[min(int(piece), len(parts) - 1)][1] if parts else None
            else:
                value = children.get(piece)
            place = place.at(piece)
            continue
        match = _NUMBER.match(piece)
        container = value if isinstance(value, Container) else attributes(value).get("$items") if isinstance(value, Mod) else None
        if match is None or not isinstance(container, Container) or isinstance(container.items, dict):
            return None
        size = _size(container.items)
        if size is None:
            return None
        counter = "ijklm"[len(place.loops)]
        start = [terms.constant(1)] if match.group(1) else []
        place = Place((*place.parts, f"{{{counter}}}"), (*place.loops, (counter, terms.call("range", *start, size))), place.tests)
        value = container.items.parts[-1][1]
    return place


def _through_mix(value: Any, piece: str, place: Place) -> tuple[Any, Place]:
    while isinstance(value, Mix):
        then, other = value.then, value.other
        fits = [
            side is not None
            and (not _PLAIN.match(piece) or piece in attributes(side) or isinstance(side, Leaf | Container | Mix))
            for side in (then, other)
        ]
        if fits[0] and fits[1]:
            value = then
        else:
            place = Place(place.parts, place.loops, (*place.tests, value.test if fits[0] else terms.negation(value.test)))
            value = then if fits[0] else other
    return value, place


def _size(items: ListValue) -> ast.expr | None:
    total: ast.expr = terms.constant(0)
    for part in items.parts:
        if part[0] == "item":
            total = terms.binary(ast.Add, total, terms.constant(1))
        elif part[0] == "each" and len(part[2]) == 1 and not part[2][0][2]:
            total = terms.binary(ast.Add, total, length(part[2][0][1]))
        else:
            return None
    return total


def _split(pattern: str) -> list[str]:
    pieces, depth, current = [], 0, ""
    for letter in pattern:
        depth += (letter in "([") - (letter in ")]")
        if letter == "." and depth == 0:
            pieces.append(current)
            current = ""
        else:
            current += letter
    return [*pieces, current]
