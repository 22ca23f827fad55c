"""Under the reading of modules: what a finished module is to those around it, its demands and what it left on
its config."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.copies import changed
from archspec.deriving.reading.leaves import Leaves
from archspec.deriving.reading.terms import Facts
from archspec.deriving.reading.values import (
    Choice,
    Config,
    Container,
    Element,
    Instance,
    Leaf,
    ListValue,
    Mix,
    Raised,
    Sym,
    Unsupported,
)


class Aftermath(Leaves):
    """Follows what is left of a constructor once it has run."""

    def taken_over(self, made: Instance) -> None:
        """What a module demands that is not in the draft, or a single expression there: whoever makes it
        demands that."""
        values = {f"${name}": value for name, value in made.arguments.items()} | made.overrides
        for node in (*made.template.require, *made.template.soft):
            try:
                inner = {name: self.node(values[name]) for name in terms.names(node) & values.keys()}
            except Unsupported as error:
                self.note(f"not read: what {made.cls.__name__} demands ({error})")
                continue
            needed = terms.folded(terms.substitute(node, inner))
            if node in made.template.soft:
                self.demand(needed)
            else:
                self.enforce(needed, f"{made.cls.__name__} demands {terms.text(node)}")

    def thrown_away(self, proto: Instance) -> None:
        """A module that is made for its parts only, or for nothing, is not in the draft; what it demands
        holds all the same."""
        frame = self.frames[-1]
        kept = list(instances([*proto.attrs.values(), proto.base]))
        born = {one.born for one in kept}
        before, path, loops = self.facts, frame.path, frame.loops
        for made, way, turns in list(frame.made.values()):
            if made.born in born or any(
                one.template is made.template and self.alike(one, made) for one in kept
            ):
                continue
            self.facts = Facts(before)
            for test in way:
                self.facts.learn(test, True)
            frame.path, frame.loops = list(way), list(turns)
            try:
                self.taken_over(made)
            except Raised:
                if not way:
                    raise
                self.require(ast.Constant(False))  # nobody gets there
            finally:
                self.facts, frame.path, frame.loops = before, path, loops

    def left_behind(self, config: Config, made: Instance) -> None:
        """What a constructor sets on its config holds for whoever reads that object later."""
        for field, value in made.template.left.items():
            outer = self.outside(value, made.rebind())
            if (
                isinstance(outer, Sym)
                and outer.node is not None
                and any("." in n for n in terms.names(outer.node) if n[0] == "$")
            ):
                outer = Sym(
                    None, outer.value, outer.types
                )  # in terms of a loop's variable, which has a last value
            self.set_config(config, field, outer)

    def own_field(self, config: Config, field: str, value: Any) -> bool:
        return (
            isinstance(value, Sym)
            and value.node is not None
            and terms.text(value.node) == terms.text(config.node(field))
        )

    def alike(self, one: Any, two: Any) -> bool:
        if one.flags != two.flags or one.cls is not two.cls:
            return False
        if isinstance(one, Leaf):
            return self.same(dict(one.arguments), dict(two.arguments))
        if changed(one) or changed(two) or one.template is not two.template or one.template is None:
            return False
        return self.same(one.arguments, two.arguments) and self.same(one.overrides, two.overrides)

    def same(self, one: dict[str, Any], two: dict[str, Any]) -> bool:
        if one.keys() != two.keys():
            return False
        try:
            return all(
                one[k] is two[k] or terms.text(self.node(one[k])) == terms.text(self.node(two[k]))
                for k in one
            )
        except Unsupported:
            return False


def instances(value: Any) -> Iterator[Instance]:
    """The modules with a class of their own within a value, as far as others have not read them to
    their end."""
    seen: set[int] = set()
    open_ = [value]
    while open_:
        one = open_.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Instance):
            yield one
            if one.template is None:
                open_ += [*one.attrs.values(), one.base]
            open_ += [*one.patched.values(), *(part.made for part in one.copies.values())]
        elif isinstance(one, Container):
            open_ += [*one.attrs.values(), one.items]
        elif isinstance(one, Mix | Choice):
            open_ += [one.then, one.other]
        elif isinstance(one, Element):
            open_ += [one.owner, one.like]
        elif isinstance(one, ListValue):
            open_ += list(one.parts)
        elif isinstance(one, list | tuple):
            open_ += list(one)
        elif type(one) is dict:
            open_ += list(one.values())
