"""Under the writing: where modules stand within others, by path, with the loops and the conditions around
them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.copies import base_of
from archspec.deriving.reading.copies import children as inside
from archspec.deriving.reading.recurrences import length
from archspec.deriving.reading.values import Choice, Container, Instance, Mix, Mod

MAX_DEPTH = 6
COUNTERS = "ijklm"  # what a loop's variables are called


class Place:
    """A path within a module, with the loops and the conditions that it stands under."""

    def __init__(
        self,
        parts: tuple[str, ...] = (),
        loops: tuple[tuple[str, ast.expr], ...] = (),
        tests: tuple[ast.expr, ...] = (),
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
        own, base = inside(value), base_of(value) if value.copies else value.base
        if isinstance(base, Container):
            own |= {"$items": base}
        return own
    return dict(value.attrs)


def occurrences(
    value: Any, wanted: dict[int, str], place: Place, depth: int = 0
) -> Iterator[tuple[Place, int]]:
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
        yield from in_container(value, wanted, place, depth)
    elif isinstance(value, Instance):
        for name, inner in attributes(value).items():
            if name == "$items":
                yield from occurrences(inner, wanted, place, depth + 1)
            elif isinstance(inner, Mod) and not name.startswith("$"):
                yield from occurrences(inner, wanted, place.at(name), depth + 1)


def in_container(
    value: Container, wanted: dict[int, str], place: Place, depth: int
) -> Iterator[tuple[Place, int]]:
    if isinstance(value.items, dict):
        for key, inner in value.items.items():
            if isinstance(inner, Mod):
                yield from occurrences(inner, wanted, place.at(str(key)), depth + 1)
        return
    if value.items.plain:
        for index, inner in enumerate(value.items.items()):
            yield from occurrences(inner, wanted, place.at(str(index)), depth + 1)
        return
    if (
        len(value.items.parts) == 1
        and value.items.parts[0][0] == "each"
        and len(value.items.parts[0][2]) == 1
    ):
        _, inner, ((_, iterable, tests),) = value.items.parts[0]
        if not tests:
            counter = COUNTERS[len(place.loops)]
            looped = Place(
                (*place.parts, f"{{{counter}}}"),
                (*place.loops, (counter, terms.call("range", length(iterable)))),
                place.tests,
            )
            yield from occurrences(inner, wanted, looped, depth + 1)


def sides(value: Any, tests: tuple[ast.expr, ...]) -> Iterator[tuple[Any, tuple[ast.expr, ...]]]:
    """What an attribute is, with the conditions that it is so under."""
    if isinstance(value, Choice | Mix):
        yield from sides(value.then, (*tests, value.test))
        yield from sides(value.other, (*tests, terms.negation(value.test)))
    else:
        yield value, tests
