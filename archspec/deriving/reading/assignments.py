"""Reading, 8 of 19: assignments to names, attributes and items of whatever the code holds."""

from __future__ import annotations

import ast
import inspect
import math
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.copies import duplicate, own
from archspec.deriving.reading.loops import Loops
from archspec.deriving.reading.recurrences import length, turn
from archspec.deriving.reading.values import (
    UNKNOWN,
    Choice,
    Config,
    Container,
    Env,
    Instance,
    Leaf,
    ListValue,
    Mix,
    Mod,
    Parameters,
    Raised,
    Sym,
    Tensor,
    TensorOf,
    Unsupported,
    witness,
)

MAX_APART = 4  # turns of a loop that are written one by one


class Assignments(Loops):
    """What an assignment changes."""

    def assign(self, target: ast.expr, value: Any, env: Env) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, Sym) and value.node is not None and not hasattr(value.node, "hint"):
                value.node.hint = target.id  # type: ignore[attr-defined]  # what a draft calls it, where it needs a name
            self.write(env.local, target.id, value)
        elif isinstance(target, ast.Attribute):
            if value is None or isinstance(value, Mod):
                self.apart(target.value, env)
            self.set_attribute(self.evaluate(target.value, env), target.attr, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self.unpack(target.elts, value, env)
        elif isinstance(target, ast.Subscript):
            owner = self.evaluate(target.value, env)
            if isinstance(target.slice, ast.Slice):
                if isinstance(owner, ListValue):
                    raise Unsupported("a part of a list that is set")
                return
            if isinstance(owner, Tensor):
                parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
                self.fits(owner, [self.position(part, env) for part in parts], value)
                return
            index = self.evaluate(target.slice, env)
            if isinstance(owner, Sym) and owner.node is not None and type(index) is int and index >= -1:
                self.assign(target.value, self.replaced(owner, index, value), env)
                return
            self.set_item(owner, index, value)
        else:
            raise Unsupported("an assignment to something else than a name")

    def fits(self, owner: Tensor, index: list[Any], value: Any) -> None:
        """Torch refuses a tensor that is set as every n-th part of another one and has other sizes
        than that."""
        if not isinstance(value, Tensor) or owner.shape is None or value.shape is None:
            return
        sizes: list[Any] = []
        for size, part in zip(owner.shape, index, strict=False):
            if part == slice(None):
                sizes.append(None)
                continue
            if (
                not isinstance(part, slice)
                or part.stop is not None
                or type(part.step) is not int
                or part.step < 2
            ):
                return
            start = part.start or 0
            if type(start) is not int or start < 0:
                return
            if start == 0 and isinstance(size, Sym):  # of a whole number, the same
                sizes.append(self.call(math.ceil, [self.binary(ast.Div, size, part.step)], {}))
            else:
                sizes.append(
                    self.binary(ast.FloorDiv, self.binary(ast.Add, size, part.step - 1 - start), part.step)
                )
        sizes += [None] * (len(owner.shape) - len(sizes))
        for one, other in zip(reversed(sizes), reversed(value.shape), strict=False):
            tests = (
                [] if one is None else [self.compare(ast.Eq, one, other), self.compare(ast.Eq, other, 1)]
            )  # 1 is spread
            nodes = [test.node if isinstance(test, Sym) else terms.constant(bool(test)) for test in tests]
            known = [node for node in nodes if node is not None]
            if tests and len(known) == len(tests):
                self.enforce(terms.either(known), "a tensor is set to one of another size")

    def apart(self, reached: ast.expr, env: Env) -> None:
        """`layers[0].norm = None` changes one item: the turns up to it are taken out of their loop."""
        inner = reached
        while isinstance(inner, ast.Attribute | ast.Subscript):
            if isinstance(inner, ast.Subscript) and (index := _number(inner.slice)) is not None:
                self.apart(inner.value, env)
                owner = self.evaluate(inner.value, env)
                if isinstance(owner, Container) and isinstance(owner.items, ListValue):
                    self.turn_apart(owner.items, index)
                return
            inner = inner.value

    def turn_apart(self, value: ListValue, index: int) -> None:
        part: tuple[Any, ...] = value.parts[0] if len(value.parts) == 1 else ("",)
        if part[0] != "each" or not isinstance(part[1], Instance) or part[1].patched or len(part[2]) != 1:
            return
        ((target, iterable, tests),) = part[2]
        turns = [turn(target, iterable, at) for at in (range(index + 1) if index >= 0 else range(index, 0))]
        if tests or isinstance(iterable, ListValue) or len(turns) > MAX_APART or None in turns:
            return
        self.enforce(
            terms.compare(terms.constant(len(turns)), ast.LtE, length(iterable)),
            "IndexError: list index out of range",
        )
        apart = [("item", self.outside(duplicate(part[1]), known)) for known in turns if known is not None]
        if index >= 0:
            parts = (*apart, *self.sliced(value, slice(len(turns), None)).parts)
        else:
            parts = (*self.sliced(value, slice(None, index)).parts, *apart)
        self.write(value.cell, "parts", parts)

    def unpack(self, targets: list[ast.expr], value: Any, env: Env) -> None:
        starred = [index for index, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if isinstance(value, Choice):
            value = self.lift(value, lambda side: side)
        items = self.spread(value)
        if items is None:
            seen = self.seen_list(value)
            if starred:
                raise Unsupported("a starred assignment")
            if seen is not None and len(seen) != len(targets):
                raise Raised("ValueError: a wrong number of values to unpack")
            if isinstance(value, Sym) and value.node is not None and value.types == ("list",):
                sized = terms.compare(terms.call("len", value.node), ast.Eq, terms.constant(len(targets)))
                self.enforce(sized, "ValueError: a wrong number of values to unpack")
            items = [self.item(value, index) for index in range(len(targets))]
        if starred:
            first, rest = starred[0], len(targets) - starred[0] - 1
            middle = ListValue(items[first : len(items) - rest])
            items = [*items[:first], middle, *items[len(items) - rest :]]
            targets = [target.value if isinstance(target, ast.Starred) else target for target in targets]
        if len(items) != len(targets):
            raise Raised("ValueError: a wrong number of values to unpack")
        for target, item in zip(targets, items, strict=True):
            self.assign(target, item, env)

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        if isinstance(owner, Choice | Mix):
            self.fork(
                owner.test,
                owner.holds,
                lambda: self.set_attribute(owner.then, name, value),
                lambda: self.set_attribute(owner.other, name, value),
            )
        elif isinstance(owner, Config):
            self.set_config(owner, name, value)
        elif isinstance(owner, TensorOf):
            if name == "requires_grad":
                self.set_attribute(owner.owner, f"$grad.{owner.name}", value)
        elif isinstance(owner, Parameters):
            if name == "requires_grad":
                self.freeze(owner.owner, value)
        elif isinstance(owner, Leaf) and owner.kind == "Parameter" and name == "requires_grad":
            self.write(owner.flags, "frozen", self.call(lambda v: not v, [value], {}))
        elif isinstance(owner, Mod):
            self.set_module_attribute(owner, name, value)
        elif (
            owner is not None
            and not isinstance(owner, Sym | ListValue)
            and hasattr(owner, "__dict__")
            and not isinstance(owner, type)
        ):
            self.write(owner.__dict__, name, value)

    def set_module_attribute(self, owner: Mod, name: str, value: Any) -> None:
        if isinstance(owner, Instance) and owner.template is not None:
            self.patch(owner, name, value)
            return
        static = inspect.getattr_static(owner.cls, name, None)
        if isinstance(static, property) and static.fset is not None:
            self.run_function(static.fset, [owner, value], {})
            return
        if isinstance(static, dict) and name not in owner.attrs:
            owner.attrs[name] = static  # what a branch that sets nothing leaves
        self.write(owner.attrs, name, value)

    def patch(self, owner: Instance, name: str, value: Any) -> None:
        """Sets an attribute of a module that has been read to its end."""
        built = owner.attrs.get(name)
        if name not in owner.patched and isinstance(built, Mod):
            owner.patched[name] = own(owner, built)  # what a branch that sets nothing leaves
        self.write(owner.patched, name, value)

    def set_config(self, config: Config, name: str, value: Any) -> None:
        name = getattr(config.cls, "attribute_map", {}).get(name, name)
        static = inspect.getattr_static(config.cls, name, None)
        if isinstance(value, Config):
            self.write(config.children, name, value)
        elif isinstance(static, property) and name != "num_labels":
            self.set_property(config, static, value)
        elif name.startswith("__"):
            return
        else:
            if name not in config.store and self.config_types(config, name) is not None:
                config.store[name] = self.attribute(config, name)  # what a branch that sets nothing leaves
            self.write(config.store, name, value)

    def set_property(self, config: Config, static: property, value: Any) -> None:
        """A property of the config's own may set other fields; what PreTrainedConfig's do changes no
        tensor."""
        if static.fset is None or static.fset.__module__ == "transformers.configuration_utils":
            return
        mark = len(self.log)
        try:
            self.run_function(static.fset, [config, value], {})
        except Unsupported as error:
            self.rollback(mark)
            self.skip(f"what {static.fset.__name__} sets", str(error))

    def config_types(self, config: Config, field: str) -> tuple[str, ...] | None:
        raise NotImplementedError

    def freeze(self, owner: Any, value: Any) -> None:
        if value is False and isinstance(owner, Mod):
            self.write(owner.flags, "frozen", True)
        elif isinstance(owner, Mod) and isinstance(value, Sym):
            self.write(owner.flags, "frozen", Sym(terms.negation(self.node(value)), UNKNOWN))

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        if isinstance(owner, TensorOf) and owner.name == "_modules" and isinstance(index, str):
            self.set_attribute(owner.owner, index, value)
        elif isinstance(owner, dict) and isinstance(index, Sym) and self.frames[-1].loops:
            self.write(owner, "$pair", (index, value))
        elif isinstance(owner, dict):
            self.write(owner, self.hashable(index), value)
        elif isinstance(owner, ListValue):
            if owner.plain and type(index) is int:
                items = list(owner.parts)
                items[index] = ("item", value)
                self.write(owner.cell, "parts", tuple(items))
            elif index == -1 and len(owner.parts) == 1 and not isinstance(value, Mod):
                before = ListValue.of(owner.parts)
                self.write(
                    owner.cell, "parts", (("all", self.item(before, slice(None, -1))), ("item", value))
                )
            else:
                raise Unsupported("an item of a list that is set")
        elif (
            isinstance(owner, Container)
            and isinstance(owner.items, dict)
            and isinstance(index, Sym)
            and self.frames[-1].loops
        ):
            self.write(owner.items, "$pair", (index, value))
        elif isinstance(owner, Container) and isinstance(owner.items, dict):
            self.write(owner.items, self.hashable(index), value)
        elif isinstance(owner, Container):
            self.set_item(owner.items, index, value)

    def replaced(self, owner: Sym, index: int, value: Any) -> Sym:
        """A list of the config with another item."""
        before = self.as_list(self.item(owner, slice(None, index)))
        after = ListValue() if index == -1 else self.as_list(self.item(owner, slice(index + 1, None)))
        made = ListValue.of([*before.parts, ("item", value), *after.parts])
        return Sym(self.node(made), witness(made), ("list",))

    def delete(self, target: ast.expr, env: Env) -> None:
        if isinstance(target, ast.Attribute):
            self.apart(target.value, env)
            owner = self.evaluate(target.value, env)
            if isinstance(owner, Instance) and owner.template is None:
                self.erase(owner.attrs, target.attr)
            elif isinstance(owner, Instance):
                self.patch(owner, target.attr, None)
        elif isinstance(target, ast.Name):
            self.erase(env.local, target.id)
        elif isinstance(target, ast.Subscript):
            owner, index = self.evaluate(target.value, env), self.evaluate(target.slice, env)
            if not isinstance(owner, dict) or isinstance(index, Sym):
                raise Unsupported("an item that is deleted")
            if index not in owner:
                raise Raised(f"KeyError: {index!r}")
            self.erase(owner, index)


def _number(node: ast.expr) -> int | None:
    """An index that the code says as a number."""
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return None
    return found if type(found) is int else None
