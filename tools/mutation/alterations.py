"""Every leaf of a spec altered once: what a verification is worth is how many of these it finds.

An alteration is one that a slip of the hand could be: a size that is one off, a bias that is there or
not, an attribute, a tie or a condition left out, one layer more, another default. It keeps its line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from archspec.errors import Place
from archspec.language.expression import Expression
from archspec.specs.records import Body, Field, Module, Spec
from tools.mutation.changes import changed, has_tensors, in_constructor, in_value, negated
from tools.mutation.constants import settled
from tools.mutation.idle import implied, living, masked, nothing


class Alteration(NamedTuple):
    """An altered spec, the line that shows it, and how; ``module`` is empty for the config's part.

    ``line`` is the one that was altered, in the file under test: where it is left out, its module shows that.
    """

    place: Place
    what: str
    module: str
    spec: Spec
    line: int


def alterations(spec: Spec, file: str = "", wide: bool = False) -> Iterator[Alteration]:
    """Every alteration of the modules and settings of a spec's own file, or of those taken over from another.

    ``wide``: also of the lines that the other one's modules take over in turn.
    """
    own = not file or file == spec.source.name
    file = file or spec.source.name
    for name, module in spec.modules.items():
        if own and module.place.source.name != spec.source.name:
            continue
        for altered, place, at, what in _modules(module, spec, file):
            if own or at.source.name == file or (wide and module.place.source.name == file):
                whole = spec._replace(modules={**spec.modules, name: altered})
                yield Alteration(place, f"{name}: {what}", name, whole, at.line)
    yield from _fields(spec, file)
    yield from _fixed(spec, file)
    start = Place(spec.source, 1, 1)  # what is left out has no line any more
    for name, place in spec.readonly.items():
        if place.source.name == file:
            whole = spec._replace(readonly=_without(name, spec.readonly))
            yield Alteration(start, f"readonly: {name} left out", "", whole, place.line)
    for index, condition in enumerate(spec.require):
        if condition.place.source.name == file:
            before, after, line = spec.require[:index], spec.require[index + 1 :], condition.place.line
            whole = spec._replace(require=(*before, *after))
            yield Alteration(start, f"require: {condition.text} left out", "", whole, line)
            other, what = changed(condition, condition.tree, negated)
            whole = spec._replace(require=(*before, other, *after))
            yield Alteration(condition.place, f"require: {what}", "", whole, line)


def _fields(spec: Spec, file: str) -> Iterator[Alteration]:
    """Other defaults; a fixed field's is never read."""
    for name, field in spec.fields.items():
        place = field.place
        if place.source.name != file or field.default is None or name in spec.fixed:
            continue
        others = [(field._replace(default=value), what) for value, what in in_value(field.default)]
        others += [(field._replace(falsy=False), "= instead of or")] if field.falsy else []
        for other, what in others:
            whole = spec._replace(fields={**spec.fields, name: other})
            yield Alteration(place, f"config.{name}: {what}", "", whole, place.line)


def _fixed(spec: Spec, file: str) -> Iterator[Alteration]:
    """Other fixed values; where one only keeps the config's own from being read, that one is read."""
    for name, value in spec.fixed.items():
        place, others = value.place, list(in_value(value))
        if place.source.name != file:
            continue
        if others and masked(name, spec):
            fields = {**spec.fields, name: Field(name, (), value, False, place)}
            whole = spec._replace(fixed=_without(name, spec.fixed), fields=fields)
            yield Alteration(place, f"fixed.{name}: {value.text} as a default", "", whole, place.line)
            continue
        for other, what in others:
            whole = spec._replace(fixed={**spec.fixed, name: other})
            yield Alteration(place, f"fixed.{name}: {what}", "", whole, place.line)


class _Altered(NamedTuple):
    """An altered module, the place that shows it, that of what was altered, and how."""

    module: Module
    place: Place
    line: Place
    what: str


def _modules(module: Module, spec: Spec, file: str) -> Iterator[_Altered]:
    yield from _attributes(module, spec, file)
    for name, expression in module.where.items():
        for other, what in in_value(expression):
            altered = module._replace(where={**module.where, name: other})
            yield _Altered(altered, expression.place, expression.place, f"where.{name}: {what}")
    for index, tie in enumerate(module.ties):
        altered = module._replace(ties=(*module.ties[:index], *module.ties[index + 1 :]))
        yield _Altered(altered, module.place, tie.place, f"tie of {tie.target} left out")
    output = module.output_embeddings
    if output is not None and output.place.source.name == file:  # one taken over may lead to nothing here
        altered = module._replace(output_embeddings=None)
        yield _Altered(altered, module.place, output.place, f"output_embeddings: {output.text} left out")
    if (layer := module.layer) is not None:
        for other, what in in_constructor(layer, spec, ast.walk(layer.tree)):
            yield _Altered(module._replace(layer=other), layer.place, layer.place, f"extends: {what}")
    yield from _conditions(module, spec, file)


def _attributes(module: Module, spec: Spec, file: str) -> Iterator[_Altered]:
    for path, expression in _places(module.body, ()):
        place, tree = expression.place, expression.tree
        own = place.source.name == file  # a line taken over may be idle here, an own one must not
        nodes = ast.walk(tree) if own else living(tree, module, spec)
        for other, what in in_constructor(expression, spec, nodes):
            yield _Altered(module._replace(body=_with(module.body, path, other)), place, place, what)
        if path and has_tensors(expression) and (own or not nothing(tree, module, spec)):
            left = module._replace(body=_with(module.body, path, None))
            yield _Altered(left, module.place, place, f"{'.'.join(path)} left out")


def _conditions(module: Module, spec: Spec, file: str) -> Iterator[_Altered]:
    for index, condition in enumerate(module.require):
        before, after = module.require[:index], module.require[index + 1 :]
        place, others = condition.place, (*spec.require, *before, *after)
        idle = settled(condition.tree, module, spec) or implied(condition, others, module, spec)
        if idle and place.source.name != file:
            continue
        left = module._replace(require=(*before, *after))
        yield _Altered(left, module.place, place, f"require: {condition.text} left out")
        other, what = changed(condition, condition.tree, negated)
        turned = module._replace(require=(*before, other, *after))
        yield _Altered(turned, place, place, f"require: {what}")


def _without(name: str, known: dict[str, Any]) -> dict[str, Any]:
    return {other: value for other, value in known.items() if other != name}


def _places(part: Body, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Expression]]:
    if isinstance(part, Expression):
        yield path, part
    else:
        for key, item in part.items() if isinstance(part, dict) else enumerate(part):
            yield from _places(item, (*path, str(key)))


def _with(part: Body, path: tuple[str, ...], value: Expression | None) -> Body:
    """A body with one expression put in place of another, or left out; a list keeps its positions."""
    if not path:
        assert value is not None
        return value
    if isinstance(part, list):
        place = int(path[0])
        if len(path) == 1 and value is None:
            return part[:place] + part[place + 1 :]
        return [*part[:place], _with(part[place], path[1:], value), *part[place + 1 :]]
    assert isinstance(part, dict)
    if len(path) == 1 and value is None:
        return {key: item for key, item in part.items() if key != path[0]}
    return {key: _with(item, path[1:], value) if key == path[0] else item for key, item in part.items()}
