"""Values at the edge of what a spec's conditions allow: none at all, zero, an item too many, a text that nothing names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from archspec.expression import names
from archspec.field_kinds import ints
from archspec.library import model_types
from archspec.sampling import EDGES, Sampler
from archspec.scope import Scope, SubConfig
from archspec.spec import Field, Spec
from archspec.texts import conditions, expressions


class Edges:
    """Draws them for a sampler's spec; ``zeros`` are the fields of which a condition wants something above zero."""

    def __init__(self, sampler: Sampler, zeros: set[str]) -> None:
        self.sampler, self.zeros = sampler, zeros
        self.constants, self.lengths = constants(sampler.spec), lengths(sampler.spec)
        self.types, self.asked = asked(sampler.spec)
        self.offsets = [0]  # what is added to a field where another one is held to it
        self.parts_read = parts_read(sampler.spec)
        self.parts_above_zero = parts_above_zero(sampler.spec, self.parts_read)

    def beside(self, name: str, others: list[str], raw: dict[str, Any]) -> Any:
        """A value for one of some fields that are read together: that of another, or one more or less than it is."""
        here = self.number_of(name, raw)
        if here is not None:
            near = [number for other in others if (number := self.number_of(other, raw)) is not None and other != name]
            lists = [value for other in others if isinstance(value := self.value_of(other, raw), list) and ints(value)]
            near = [number + self.sampler.random.choice(self.offsets) for number in (*near, *(one[0] for one in lists))]
            return self.sampler.random.choice([*near, here + 1, here - 1])
        known = self.value_of(name, raw)
        if isinstance(known, list) and ints(known):  # as the others have it there
            place = self.sampler.random.randrange(len(known))
            lists = [value for other in others if other != name and isinstance(value := self.value_of(other, raw), list)]
            near = [value[place] for value in lists if place < len(value) and type(value[place]) is int]
            return [*known[:place], self.sampler.random.choice([*near, known[place] + 1]), *known[place + 1 :]]
        return self.value(name, raw)

    def value_of(self, name: str, raw: dict[str, Any]) -> Any:
        """What a field is in a config, which may leave it out."""
        field = self.sampler.spec.fields.get(name)
        return raw[name] if name in raw else self.sampler.default(field, raw) if field is not None else None

    def number_of(self, name: str, raw: dict[str, Any]) -> int | None:
        """What a field is in a config, where that is a whole number of one or more."""
        value = self.value_of(name, raw)
        return value if type(value) is int and value > 0 else None

    def value(self, name: str, raw: dict[str, Any]) -> Any:
        """A value for one field that may be at the edge of what is valid; ... to leave it out."""
        field = self.sampler.spec.fields.get(name)
        if field is None and name != "num_labels":  # only given() reads it
            mappings = ({}, *({key: 0.5} for key in self.asked.get(name, ())))
            return (
                self.sampler.random.choice(mappings if name in self.asked else (1, 7))
                if self.sampler.random.random() < 0.7
                else None
            )
        if field is None or name == "num_labels":
            return self.sampler.random.choice((1, 2, 3, 7))
        value = self.sampler.default(field, raw)
        chance = self.sampler.random.random()
        if chance < 0.1:
            return ...
        if types := self.sampler.parts(field, value):
            return self.part(field, value, types)
        if chance < 0.2 and value is not None:
            return value
        known = raw[name] if isinstance(raw.get(name), list) else value
        if isinstance(known, list) and name in self.zeros and self.sampler.random.random() < 0.1:
            return []
        if isinstance(known, list) and ints(known) and (wanted := self.lengths.get(name)) and self.sampler.random.random() < 0.4:
            length = self.sampler.random.choice(wanted)  # as many numbers of layers as a condition wants
            deep = [self.number_of(turn, raw) or 1 for turn in self.sampler.turns]
            return sorted(self.sampler.random.sample(range(max(length, 1 + max(deep, default=0))), length))
        if chance < 0.35 and type(known) is int and "list[int]" in field.types:  # one number a layer
            return self.one_at_edge(
                name, [known] * self.sampler.random.choice([self.number_of(turn, raw) or 1 for turn in self.sampler.turns])
            )
        if chance < 0.6 and isinstance(value, int) and not isinstance(value, bool):
            return self.number(name)
        if known == [] and "list[str]" in field.types:
            return [self.sampler.random.choice((*self.sampler.strings.get(name, ()), "none"))]
        if chance < 0.85 and isinstance(known, list):
            if ints(known) and self.sampler.random.random() < 0.2:
                return sorted({*known})  # ends of ranges ascend
            texts = self.sampler.strings.get(name, ()) if known and all(isinstance(item, str) for item in known) else ()
            if texts and self.sampler.random.random() < 0.2:  # every layer of one kind
                return [self.sampler.random.choice(texts)] * len(known)
            if known and self.sampler.random.random() < 0.6:
                return self.one_at_edge(name, known)
            return [*known, *known[-1:]] if self.sampler.random.random() < 0.5 else known[:-1]
        texts = [value] if isinstance(value, str) else self.sampler.strings.get(name, ()) if "str" in field.types else ()
        if chance < 0.3 and texts:
            return self.sampler.random.choice((f"{texts[0]}-{texts[0]}", "none"))
        if chance < 0.5 and isinstance(raw.get(name), dict):
            return self.one_key_less(raw[name])
        return self.sampler.draw(field, value, raw)

    def part(self, field: Field, value: SubConfig | None, types: list[str]) -> dict[str, Any]:
        """A sub-config: at times of a type that is compared, or of any other, or with a field that it is asked for."""
        compared = self.types.get(field.name) if value is not None and value.dynamic else None
        if compared and self.sampler.random.random() < 0.3:
            others = [model_type for model_type in model_types() if model_type not in compared]
            return {"model_type": self.sampler.random.choice(self.sampler.random.choice((compared, others)))}
        drawn = self.sampler.sub_config(field, value, types)
        if self.sampler.random.random() < 0.1:
            drawn = {key: known for key, known in drawn.items() if key != "model_type"}
        child = self.sampler.children.get(field.name)
        chosen = ""
        if (above := self.parts_above_zero.get(field.name)) and self.sampler.random.random() < 0.4:
            drawn[chosen := self.sampler.random.choice(above)] = 0
        elif child and (read := self.parts_read.get(field.name)) and self.sampler.random.random() < 0.3:
            chosen = self.sampler.random.choice(read)
            field_of = child.spec.fields.get(child.spec.attribute_map.get(chosen, chosen))
            known = drawn.get(chosen, child.default(field_of, drawn)) if field_of is not None else None
            if isinstance(known, list) and ints(known):
                drawn[chosen] = [*known[:-1], self.number(chosen)]
            elif type(known) is int:
                drawn[chosen] = self.number(chosen)
        if chosen and child and self.sampler.random.random() < 0.5:
            drawn |= dict.fromkeys(child.turns, 0)  # layers may not be that narrow
        wanted = [name for name in self.asked.get(field.name, ()) if self.sampler.random.random() < 0.3]
        return {**drawn, **{name: self.number(name) for name in wanted}}

    def number(self, name: str) -> int:
        """A small one, or what a condition has it with; half of them 0 where a condition wants more than that."""
        if name in self.zeros and self.sampler.random.random() < 0.5:
            return 0
        numbers: list[int] = [*EDGES, *self.constants.get(name, ())]
        return self.sampler.random.choice(numbers)

    def one_key_less(self, known: dict[str, Any]) -> dict[str, Any]:
        """A mapping without one of its keys, or with nothing under it."""
        rest = dict(known)
        for key in self.sampler.random.sample([*known], min(1, len(known))):
            del rest[key]
            if self.sampler.random.random() < 0.5:
                rest[key] = {}
        return rest

    def one_at_edge(self, name: str, known: list[Any]) -> list[Any]:
        """A list with one number at an edge, or with one text that may be none of those known; so also within lists."""
        items, place = list(known), self.sampler.random.randrange(len(known))
        if type(items[place]) is int:
            items[place] = self.number(name)
        elif isinstance(items[place], list) and items[place]:
            items[place] = self.one_at_edge(name, items[place])
        elif isinstance(items[place], str):
            items[place] = self.sampler.random.choice((*self.sampler.others.get(name, ()), f"{items[place]}-{items[place]}"))
        return items


def above_zero(tree: ast.expr) -> set[str]:
    """The names that a condition wants above zero."""
    found: set[str] = set()
    for node in ast.walk(tree):
        bound = (type(node.ops[0]), ast.unparse(node.comparators[0])) if isinstance(node, ast.Compare) else None
        if isinstance(node, ast.Compare) and bound in ((ast.Gt, "0"), (ast.GtE, "1")):
            found |= names(node.left) | {part.attr for part in ast.walk(node.left) if isinstance(part, ast.Attribute)}
    return found


def parts_read(spec: Spec) -> dict[str, list[str]]:
    """Of each sub-config: the fields that the spec reads."""
    found: dict[str, list[str]] = {}
    for node in (node for expression in expressions(spec) for node in ast.walk(expression.tree)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr != "get":
            found.setdefault(node.value.id, []).append(node.attr)
    return found


def parts_above_zero(spec: Spec, parts: dict[str, list[str]]) -> dict[str, list[str]]:
    """Of each sub-config: those of the fields that are read which a condition wants above zero."""
    above = set[str]().union(*(above_zero(condition.tree) for condition in conditions(spec)))
    found = {part: [name for name in read if name in above] for part, read in parts.items()}
    return {part: read for part, read in found.items() if read}


def constants(spec: Spec) -> dict[str, list[int]]:
    """Of each field: the numbers that conditions have it with, and one more than each (`d_model // 2 != 1`)."""
    found: dict[str, set[int]] = {}
    for condition in conditions(spec):
        for node in (node for node in ast.walk(condition.tree) if isinstance(node, ast.Compare)):
            numbers = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and type(part.value) is int}
            for name in names(node):
                near = {number for one in numbers for number in (one, one + 1) if number > 0}
                found.setdefault(spec.attribute_map.get(name, name), set()).update(near - {*EDGES})
    return {name: sorted(numbers) for name, numbers in found.items()}


def lengths(spec: Spec) -> dict[str, list[int]]:
    """Of each list: how long a condition wants it (`len(out_indices) == 4`)."""
    found: dict[str, list[int]] = {}
    for node in (node for condition in conditions(spec) for node in ast.walk(condition.tree)):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and ast.unparse(node.left.func) == "len":
            listed, wanted = node.left.args[0], getattr(node.comparators[0], "value", None)
            if isinstance(listed, ast.Name) and type(wanted) is int and wanted > 0:
                found.setdefault(listed.id, []).append(wanted)
    return found


def asked(spec: Spec) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Of each sub-config: the texts that its `model_type` is compared with, and what `.get("name")` asks it for."""
    types: dict[str, list[str]] = {}
    gets: dict[str, list[str]] = {}
    for node in (node for expression in expressions(spec) for node in ast.walk(expression.tree)):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "model_type":
            texts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            types.setdefault(ast.unparse(node.left.value), []).extend(texts)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            name, whole = node.args[0], node.func.value
            given = [call.args[0] for call in ast.walk(whole) if isinstance(call, ast.Call) and ast.unparse(call.func) == "given"]
            for part in [ast.unparse(whole), *(str(one.value) for one in given if isinstance(one, ast.Constant))]:
                gets.setdefault(part, []).extend([str(name.value)] if isinstance(name, ast.Constant) else [])
    return types, gets


def zeros(spec: Spec, configs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Configs with each of their numbers zero, the others as they are."""
    for raw in configs:
        scope = Scope(spec, raw)
        yield from ({**raw, name: 0} for name in spec.fields if type(value := scope.get(name)) is int and value)


def misfits(spec: Spec, configs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Configs with each text one that nothing names, each list an item short or long, or with such a text at its end."""
    for raw in configs:
        scope = Scope(spec, raw)
        for name in spec.fields:
            value = scope.get(name)
            if isinstance(value, str):
                yield {**raw, name: f"{value}-{value}"}
            elif isinstance(value, list) and value:
                yield from ({**raw, name: items} for items in (value[:-1], [*value, value[-1]]))
                if isinstance(value[-1], str):
                    yield {**raw, name: [*value[:-1], f"{value[-1]}-{value[-1]}"]}
