"""Under the writing: the ties that a class declares in `_tied_weights_keys`, its patterns as loops over
lists."""

from __future__ import annotations

import ast
import re
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.modules import Template
from archspec.deriving.reading.recurrences import length
from archspec.deriving.reading.values import (
    Choice,
    Container,
    Element,
    Instance,
    Leaf,
    ListValue,
    Mix,
    Mod,
    Sym,
)
from archspec.deriving.writing.parts import Module
from archspec.deriving.writing.places import COUNTERS, Place, attributes, sides
from archspec.deriving.writing.texts import dynamic_key

_PLAIN = re.compile(r"[A-Za-z0-9_.]+$")
_NUMBER = re.compile(r"(\(\?!\[?0\]?(?:\\\.)?\)|\[1-9\])?(\\d\+|\\d\*|\[0-9\]\+|\(\\d\+\))$")


def declared(module: Module, template: Template) -> None:
    """`_tied_weights_keys`, its patterns as loops over the lists that they go through."""
    if not template.proto.attrs.get("$post_init"):
        return
    keys = template.proto.attrs.get("_tied_weights_keys", getattr(template.cls, "_tied_weights_keys", None))
    if isinstance(keys, Choice):
        then, other = _on_way(keys.then, keys.test, True), _on_way(keys.other, keys.test, False)
        for target in [target for target in then if target in other and then[target] != other[target]]:
            if then.get(other[target]) == then[target]:  # the other's source is tied to the same tensor
                then[target] = other[target]
            elif other.get(then[target]) == other[target]:
                other[target] = then[target]
            else:
                module.notes.append(
                    f"another tie where {terms.text(terms.negation(keys.test))}: "
                    f"{target}: {other.pop(target)}"
                )
        both = {
            target: source for target, source in then.items() if target in other and other[target] == source
        }
        for side, given in ((both, ()), (then, (keys.test,)), (other, (terms.negation(keys.test),))):
            tied(
                module,
                template,
                side if side is both else {key: side[key] for key in side if key not in both},
                given,
            )
        return
    if isinstance(keys, Mod) or keys is None:
        return
    if not isinstance(keys, dict):
        module.notes.append(f"ties that are not read: {keys!r}"[:120])
        return
    tied(module, template, keys, ())


def _on_way(side: Any, test: ast.expr, holds: bool) -> dict[Any, Any]:
    """The table of ties on one way of a condition, which may decide some of its entries too."""
    found = {}
    for target, source in side.items() if isinstance(side, dict) else ():
        if isinstance(source, Choice) and terms.text(source.test) == terms.text(test):
            source = source.then if holds else source.other
        if source is not None:
            found[target] = source
    return found


def tied(module: Module, template: Template, keys: dict[Any, Any], given: tuple[ast.expr, ...]) -> None:
    """The pairs of one table of ties, where the conditions hold."""
    root = Instance(template.cls)
    root.attrs, root.base = module.attrs, template.proto.base
    pairs = [
        (target, side, tests)
        for target, source in keys.items()
        for side, tests in sides(source, given)
        if side is not None
    ]
    for target, source, given in pairs:
        if target == "$each":
            dynamic(module, root, source, given)
            continue
        if not isinstance(target, str) or not isinstance(source, str):
            module.notes.append("ties whose names depend on the config")
            continue
        one, other = walked(root, target), walked(root, source)
        tests = () if one is None or other is None else (*given, *one.tests, *other.tests)
        if (
            one is None
            or other is None
            or any(name.startswith("$") for test in tests for name in terms.names(test))
        ):
            module.notes.append(f"a tie that is not read: {target}: {source}")
            continue
        tests = tuple({terms.text(test): test for test in tests}.values())
        if any(terms.text(terms.negation(test)) in map(terms.text, tests) for test in tests):
            continue
        counters = {name for name, _ in one.loops}
        text = other.path
        if other.loops and len(other.loops) == len(one.loops):
            pass
        elif other.loops:
            module.notes.append(f"a tie that is not read: {target}: {source}")
            continue
        assert counters is not None
        place = Place(one.parts, one.loops, tests)
        if one.loops and not one.tests:
            nonempty(module, place, given)
        for _, iterable in one.loops:
            module.used |= terms.names(iterable) - {"range", "len"}
        for test in tests:
            module.used |= terms.names(test) - {"range", "len"}
        for earlier in [
            path for path in module.tied if path.startswith(f"{one.path}.") and not place.loops and not tests
        ]:
            del module.tied[earlier]  # a later pair of the table takes the place of those further in
        sources = [source.split(" ")[0] for source in module.tied.values()]
        if any(
            _overlap(source, one.path) for source in sources
        ):  # transformers ties those to what it was before
            module.notes.append(f"a tie of what others are tied to: {target}")
        module.tied[one.path] = " ".join(filter(None, (text, place.clause())))


def _overlap(one: str, two: str) -> bool:
    """Whether one of two paths leads to the other, as far as they are no patterns."""
    one, two = one.split("{")[0].rstrip("."), two.split("{")[0].rstrip(".")
    return f"{one}.".startswith(f"{two}.") or f"{two}.".startswith(f"{one}.")


def nonempty(module: Module, place: Place, given: tuple[ast.expr, ...]) -> None:
    """transformers refuses to tie by a pattern that no tensor's name fits."""
    tied = terms.name(".".join((*module.path, "tie_word_embeddings")))
    for _, iterable in place.loops:
        assert isinstance(iterable, ast.Call)
        *start, stop = iterable.args
        some = terms.compare(stop, ast.Gt, start[0] if start else terms.constant(0))
        module.require.append(terms.either([terms.negation(tied), *map(terms.negation, given), some]))
        module.used |= terms.names(module.require[-1]) - {"len"}


def dynamic(module: Module, root: Instance, loop: tuple[Any, ...], given: tuple[ast.expr, ...]) -> None:
    """Ties that a loop adds to the table: names with the loop's variables in them."""
    _, pair, turns = loop
    variables = [name for target, _, _ in turns for name in sorted(terms.names(target))]
    counters = dict(zip(variables, map(terms.name, COUNTERS), strict=False))
    names = [name.node if isinstance(name, Sym) else terms.constant(name) for name in pair]
    nodes = [node for node in names if node is not None]
    loops = [(target, iterable) for target, iterable, _ in turns if isinstance(iterable, ast.expr)]
    if len(nodes) < len(names) or len(loops) < len(turns) or len(counters) < len(variables):
        module.notes.append("ties whose names depend on the config")
        return
    target, source = (dynamic_key(terms.substitute(node, counters)) for node in nodes)
    if any(walked(root, re.sub(r"\{[^}]*\}", r"\\d+", name)) is None for name in (target, source)):
        module.notes.append(f"a tie that is not read: {target}: {source}")
        return
    tests = (*given, *(terms.substitute(test, counters) for _, _, inner in turns for test in inner))
    shown = tuple(
        (terms.text(terms.substitute(one, counters)), terms.substitute(iterable, counters))
        for one, iterable in loops
    )
    for node in (*nodes, *(iterable for _, iterable in loops), *tests):
        module.used |= {
            name for name in terms.variables(node) if name not in counters and name not in COUNTERS
        }
    module.tied[target] = " ".join(filter(None, (source, Place(loops=shown, tests=tests).clause())))


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
        container = (
            value
            if isinstance(value, Container)
            else attributes(value).get("$items")
            if isinstance(value, Mod)
            else None
        )
        if match is None or not isinstance(container, Container) or isinstance(container.items, dict):
            return None
        size = _size(container.items)
        if size is None:
            return None
        counter = COUNTERS[len(place.loops)]
        start = [terms.constant(1)] if match.group(1) else []
        place = Place(
            (*place.parts, f"{{{counter}}}"),
            (*place.loops, (counter, terms.call("range", *start, size))),
            place.tests,
        )
        value = _last(container.items)
    return place


def _through_mix(value: Any, piece: str, place: Place) -> tuple[Any, Place]:
    while isinstance(value, Mix):
        then, other = value.then, value.other
        fits = [
            side is not None
            and (
                not _PLAIN.match(piece)
                or piece in attributes(side)
                or isinstance(side, Leaf | Container | Mix)
            )
            for side in (then, other)
        ]
        if fits[0] and fits[1]:
            value = then
        else:
            place = Place(
                place.parts,
                place.loops,
                (*place.tests, value.test if fits[0] else terms.negation(value.test)),
            )
            value = then if fits[0] else other
    return value, place


def _size(items: ListValue) -> ast.expr | None:
    total: ast.expr = terms.constant(0)
    for part in items.parts:
        if part[0] == "item":
            total = terms.binary(ast.Add, total, terms.constant(1))
        elif part[0] == "each" and len(part[2]) == 1 and not part[2][0][2]:
            total = terms.binary(ast.Add, total, length(part[2][0][1]))
        elif (
            part[0] == "if" and (then := _size(part[2])) is not None and (other := _size(part[3])) is not None
        ):
            total = terms.binary(ast.Add, total, terms.conditional(part[1], then, other))
        else:
            return None
    return total


def _last(items: ListValue) -> Any:
    """A list's last module."""
    part = items.parts[-1]
    return part[1] if part[0] != "if" else _last(part[2] if part[2].parts else part[3])


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
