"""Values at the edge of what a spec's conditions allow: none at all, zero, an item too many, a text that
nothing names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from archspec.configs.checks import may_be_negative
from archspec.configs.scope import SubConfig
from archspec.specs.field_kinds import ints, is_deep
from archspec.specs.records import Field
from archspec.specs.references import conditions
from archspec.verify.generate.sampling import EDGES, Sampler
from archspec.verify.generate.wanted import (
    above_zero,
    asked,
    constants,
    lengths,
    parts_above_zero,
    parts_read,
)

_TEXTS = 3  # of those that a field is compared with


class Edges:
    """Draws them for a sampler's spec; ``zeros`` are the fields of which a condition wants something above
    zero.
    """

    def __init__(self, sampler: Sampler, zeros: set[str]) -> None:
        self.sampler, self.zeros = sampler, zeros
        self.constants, self.lengths = constants(sampler.spec), lengths(sampler.spec)
        self.types, self.asked = asked(sampler.spec)
        self.offsets = [0]  # what is added to a field where another one is held to it
        self.parts_read = parts_read(sampler.spec)
        self.parts_above_zero = parts_above_zero(sampler.spec, self.parts_read)
        self.parts: dict[tuple[str, str], Edges] = {}

    def inner(self, name: str, raw: dict[str, Any]) -> tuple[Edges, str, dict[str, Any]] | None:
        """Of a field within a sub-config (`text_config.width`): the edges there, its name there, and the
        sub-config.
        """
        part, _, rest = name.partition(".")
        field = self.sampler.spec.fields.get(part) if rest else None
        if field is None:
            return None
        value, given = self.sampler.default(field, raw), raw.get(part)
        types = self.sampler.parts(field, value)
        chosen = given.get("model_type") if isinstance(given, dict) else None
        model_type = chosen if chosen in types else next(iter(types), "")
        if (part, model_type) not in self.parts:
            child = self.sampler.child(field, model_type) if types else None
            if child is None:
                return None
            above = {name for condition in conditions(child.spec) for name in above_zero(condition.tree)}
            self.parts[part, model_type] = Edges(child, above | {*self.parts_above_zero.get(part, ())})
        edges, head = self.parts[part, model_type], rest.partition(".")[0]
        spec = edges.sampler.spec
        own = given if isinstance(given, dict) else value.raw if isinstance(value, SubConfig) else {}
        return (edges, rest, dict(own)) if spec.attribute_map.get(head, head) in spec.fields else None

    def put(self, name: str, value: Any, raw: dict[str, Any]) -> None:
        """Gives a field of a config a value; ... leaves it out."""
        if (inner := self.inner(name, raw)) is not None:
            edges, rest, own = inner
            edges.put(rest, value, own)
            raw[name.partition(".")[0]] = own
        elif value is ...:
            raw.pop(name, None)
        else:
            raw[name] = value
            raw.pop(
                self.sampler.spec.attribute_map.get(name, ""), None
            )  # the same field, which has one value

    def beside(self, name: str, others: list[str], raw: dict[str, Any]) -> Any:
        """A value for one of some fields that are read together: that of another, or one more or less than
        it is.
        """
        here = self.number_of(name, raw)
        if here is not None:
            near = [
                number
                for other in others
                if (number := self.number_of(other, raw)) is not None and other != name
            ]
            lists = [
                value
                for other in others
                if isinstance(value := self.value_of(other, raw), list) and ints(value)
            ]
            near = [
                number + self.sampler.random.choice(self.offsets)
                for number in (*near, *(one[0] for one in lists))
            ]
            return self.sampler.random.choice([*near, here + 1, here - 1])
        known = self.value_of(name, raw)
        if isinstance(known, list) and ints(known):  # as the others have it there
            place = self.sampler.random.randrange(len(known))
            lists = [
                value
                for other in others
                if other != name and isinstance(value := self.value_of(other, raw), list)
            ]
            there = [value[place] for value in lists if place < len(value) and type(value[place]) is int]
            near = [number + self.sampler.random.choice(self.offsets) for number in there]
            return [
                *known[:place],
                self.sampler.random.choice([*near, known[place] + 1]),
                *known[place + 1 :],
            ]
        return self.value(name, raw)

    def value_of(self, name: str, raw: dict[str, Any]) -> Any:
        """What a field is in a config, which may leave it out."""
        if (inner := self.inner(name, raw)) is not None:
            return inner[0].value_of(*inner[1:])
        field = self.sampler.spec.fields.get(name)
        return raw[name] if name in raw else self.sampler.default(field, raw) if field is not None else None

    def number_of(self, name: str, raw: dict[str, Any]) -> int | None:
        """What a field is in a config, where that is a whole number of one or more."""
        value = self.value_of(name, raw)
        return value if type(value) is int and value > 0 else None

    def one_of(self, name: str, raw: dict[str, Any]) -> Any:
        """One, or a list of ones, for a field that has a number in a config, or numbers; else None."""
        known = self.value_of(name, raw)
        return (
            [1] * len(known)
            if isinstance(known, list) and ints(known)
            else 1
            if self.number_of(name, raw)
            else None
        )

    def extremes(self, name: str, raw: dict[str, Any]) -> list[Any]:
        """Values that hardly anything divides, or that nothing names, each text, null; a list that ends
        so, longer or shorter.
        """
        if (inner := self.inner(name, raw)) is not None:
            return inner[0].extremes(*inner[1:])
        field, known = self.sampler.spec.fields.get(name), self.value_of(name, raw)
        if field is None:  # only given() reads it
            return [None, 1]
        named = self.sampler.strings.get(name, ())
        unnamed = [text for text in self.sampler.others.get(name, ()) if text not in named]
        texts = (*named[:_TEXTS], *unnamed[:1])
        null = [None] if field.computed or "None" in field.types else []
        if known is None or known == []:
            given: dict[str, list[Any]] = {
                "int": [1],
                "bool": [True],
                "str": [*texts],
                "list[int]": [[1], [0]],
                "list[str]": [[text] for text in texts],
            }
            return [*(value for kind in field.types for value in given.get(kind, ())), *null]
        if isinstance(known, list) and known:
            last = [[*known[:-1], value] for value in _extremes(known[-1], texts)]
            first = [[value, *known[1:]] for value in _extremes(known[0], texts)] if len(known) > 1 else []
            return [
                *last,
                *first,
                known[:-1],
                [*known, known[-1]],
                *null,
            ]  # the last may be one that no layer reads
        listed = [[known], [known] * 2] if type(known) is int and "list[int]" in field.types else []
        return [*_extremes(known, texts), *listed, *null]

    def beyond(self, name: str, others: list[str], raw: dict[str, Any]) -> list[Any]:
        """One more than any of some fields is in a config, for a number among them; for lists of numbers,
        as their first.

        Where a number may be negative, also that far below zero.
        """
        known = self.value_of(name, raw)
        values = [self.value_of(other, raw) for other in others]
        if is_deep(name):  # as deep as it is wide would be a large one
            return []
        if type(known) is int:
            most = max([known, *(value for value in values if type(value) is int)]) + 1
            field = self.sampler.spec.fields.get(name)
            return [most, -most] if field is not None and may_be_negative(field) else [most]
        if isinstance(known, list) and known and ints(known):
            firsts = [value[0] for value in values if isinstance(value, list) and value and ints(value)]
            return [[max(firsts) + 1, *known[1:]]]
        return []

    def value(self, name: str, raw: dict[str, Any]) -> Any:
        """A value for one field that may be at the edge of what is valid; ... to leave it out."""
        if (inner := self.inner(name, raw)) is not None:
            return inner[0].value(*inner[1:])
        field = self.sampler.spec.fields.get(name)
        if field is None and name != "num_labels":  # only given() reads it
            mappings = ({}, *({key: 0.5} for key in self.asked.get(name, ())))
            return (
                self.sampler.random.choice(mappings if name in self.asked else (1, 7))
                if self.sampler.random.random() < 0.5  # a condition may want one of two given
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
        if (
            isinstance(known, list)
            and ints(known)
            and (wanted := self.lengths.get(name))
            and self.sampler.random.random() < 0.4
        ):
            length = self.sampler.random.choice(wanted)  # as many numbers of layers as a condition wants
            deep = [self.number_of(turn, raw) or 1 for turn in self.sampler.turns]
            return sorted(self.sampler.random.sample(range(max(length, 1 + max(deep, default=0))), length))
        if chance < 0.35 and type(known) is int and "list[int]" in field.types:  # one number a layer
            return self.one_at_edge(
                name,
                [known]
                * self.sampler.random.choice([self.number_of(turn, raw) or 1 for turn in self.sampler.turns]),
            )
        if chance < 0.6 and isinstance(value, int) and not isinstance(value, bool):
            return self.number(name)
        if known == [] and "list[str]" in field.types:
            return [self.sampler.random.choice((*self.sampler.strings.get(name, ()), "none"))]
        if chance < 0.85 and isinstance(known, list):
            if ints(known) and self.sampler.random.random() < 0.2:
                return sorted({*known})  # ends of ranges ascend
            texts = (
                self.sampler.strings.get(name, ())
                if known and all(isinstance(item, str) for item in known)
                else ()
            )
            if texts and self.sampler.random.random() < 0.2:  # every layer of one kind
                return [self.sampler.random.choice(texts)] * len(known)
            if known and self.sampler.random.random() < 0.6:
                return self.one_at_edge(name, known)
            return [*known, *known[-1:]] if self.sampler.random.random() < 0.5 else known[:-1]
        texts = (
            [value]
            if isinstance(value, str)
            else self.sampler.strings.get(name, ())
            if "str" in field.types
            else ()
        )
        if chance < 0.3 and texts:
            return self.sampler.random.choice((f"{texts[0]}-{texts[0]}", "none"))
        if chance < 0.5 and isinstance(raw.get(name), dict):
            return self.one_key_less(raw[name])
        return self.sampler.draw(field, value, raw)

    def part(self, field: Field, value: SubConfig | None, types: list[str]) -> dict[str, Any]:
        """A sub-config: at times of a type that is compared, or of any other, or with a field that it is
        asked for.
        """
        compared = self.types.get(field.name) if value is not None and value.dynamic else None
        if compared and self.sampler.random.random() < 0.3:
            library = self.sampler.spec.library
            others = [model_type for model_type in library.model_types() if model_type not in compared]
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
        """A small one, or what a condition has it with; half of them 0 where a condition wants more than
        that.
        """
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
        """A list with one number at an edge, or with one text that may be none of those known; so also
        within lists.
        """
        items, place = list(known), self.sampler.random.randrange(len(known))
        if type(items[place]) is int:
            items[place] = self.number(name)
        elif isinstance(items[place], list) and items[place]:
            items[place] = self.one_at_edge(name, items[place])
        elif isinstance(items[place], str):
            items[place] = self.sampler.random.choice(
                (*self.sampler.others.get(name, ()), f"{items[place]}-{items[place]}")
            )
        return items


def _extremes(known: Any, texts: Sequence[str]) -> list[Any]:
    if isinstance(known, bool):
        return [not known]
    return (
        [0, 1, known + 1]
        if isinstance(known, int)
        else [*texts, f"{known}-{known}"]
        if isinstance(known, str)
        else []
    )
