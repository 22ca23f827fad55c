"""Reading, 4 of 19: items and slices of lists, dicts, tensors and containers of modules."""

from __future__ import annotations

import ast
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.copies import base_of
from archspec.deriving.reading.evaluator import Evaluator
from archspec.deriving.reading.values import (
    MISSING,
    UNKNOWN,
    Choice,
    Config,
    Container,
    Element,
    Failed,
    Instance,
    ListValue,
    Mix,
    Mod,
    PerLayer,
    Raised,
    Sym,
    Tensor,
    Unsupported,
    symbolic,
    witness,
)


class Items(Evaluator):
    """Reads `value[index]`."""

    def item(self, value: Any, index: Any) -> Any:
        if isinstance(value, Choice):
            return self.lift(value, lambda side: self.item(side, index))
        if isinstance(index, Choice):
            return self.lift(index, lambda side: self.item(value, side))
        if isinstance(value, Mix):
            return self.fork(
                value.test,
                value.holds,
                lambda: self.item(value.then, index),
                lambda: self.item(value.other, index),
            )
        if isinstance(value, PerLayer):
            return self.layer_config(value.config, index)
        if isinstance(value, dict):
            return self.dict_item(value, index)
        if isinstance(value, Container):
            return self.module_item(value, index)
        if isinstance(value, Instance) and isinstance(value.base, Container):
            return self.module_item(base_of(value), index)
        if isinstance(value, Tensor):
            return Tensor(
                part_shape(value.shape, index), _or_none(self.seen(lambda v, i: v[i], value, index))
            )
        if isinstance(value, tuple | range) and not isinstance(index, Sym) and not symbolic(index):
            return self.native(lambda v, i: v[i], [value, index]) if not symbolic(value) else value[index]
        if isinstance(value, ListValue) and isinstance(value.length, Sym) and not isinstance(index, slice):
            return self.counted_item(value, index)
        if isinstance(value, ListValue):
            found = self.list_item(value, index)
            if found is not MISSING:
                return found
        if isinstance(value, ListValue) and any(
            part[0] == "item" and self.fitted(part[1]) for part in value.parts
        ):
            return Sym(None, self.seen(lambda v, i: v[i], value, self.plain_slice(index)))
        if not symbolic(value) and not symbolic(index) and not isinstance(index, slice):
            return self.native(lambda v, i: v[i], [value, index])
        if self.fitted(value, index):
            return Sym(None, self.seen(lambda v, i: v[i], value, index))
        position = self.slice_node(index) if isinstance(index, slice) else self.node(index)
        seen = self.seen(lambda v, i: v[i], value, self.plain_slice(index))
        listed = self.node(value)
        if (
            isinstance(value, Sym)
            and isinstance(value.node, ast.Name)
            and {"int", "list"} <= set(value.types)
        ):
            self.demand(terms.call("is_list", listed))
        simple = isinstance(position, ast.Name) or type(index) is int
        if (
            isinstance(value, Sym)
            and isinstance(value.value, list)
            and simple
            and not isinstance(index, slice)
        ):
            least = terms.constant(-index - 1) if type(index) is int and index < 0 else position
            self.demand(terms.compare(least, ast.Lt, terms.call("len", listed)))
        subscript = terms.subscript(listed, position)
        if terms.is_constant(subscript):
            return terms.value_of(subscript)
        types = (type(seen).__name__,) if seen is not UNKNOWN and seen is not None else ()
        if isinstance(index, slice) and self.types(value) == ("list",):
            types = ("list",)
        return Sym(subscript, seen, types)

    def counted_item(self, value: ListValue, index: Any) -> Any:
        """An item of a list of which only the default config's items, and the length, are known."""
        if value.length.node is not None and not self.fitted(index):
            last = isinstance(index, int) and index < 0
            asked = (
                self.compare(ast.GtE, value.length, -index)
                if last
                else self.compare(ast.Lt, index, value.length)
            )
            self.enforce(self.node(asked), "IndexError: list index out of range")
        return Sym(None, self.seen(lambda v, i: v[i], value, index))

    def plain_slice(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return index
        parts = [witness(part) for part in (index.start, index.stop, index.step)]
        return UNKNOWN if any(part is UNKNOWN for part in parts) else slice(*parts)

    def slice_node(self, index: slice) -> ast.expr:
        parts = [None if part is None else self.node(part) for part in (index.start, index.stop, index.step)]
        return ast.Slice(*parts)

    def list_item(self, value: ListValue, index: Any) -> Any:
        if (
            isinstance(index, slice)
            and not any(isinstance(part, Sym) for part in (index.start, index.stop, index.step))
            and value.plain
        ):
            return ListValue(value.items()[index])
        if type(index) is int:
            parts = value.parts
            if value.plain:
                if not -len(parts) <= index < len(parts):
                    raise Failed("IndexError: list index out of range")
                return parts[index][1]
            if index >= 0 and len(parts) > index and all(part[0] == "item" for part in parts[: index + 1]):
                return parts[index][1]
            if index < 0 and len(parts) >= -index and all(part[0] == "item" for part in parts[index:]):
                return parts[index][1]
        modules = all(part[0] in ("item", "each") and isinstance(part[1], Mod) for part in value.parts)
        if modules and value.parts and isinstance(index, slice):
            return self.sliced(value, index)
        if modules and value.parts:
            return value.parts[-1][1]
        return MISSING

    def sliced(self, value: ListValue, index: slice) -> ListValue:
        """A part of a list of modules: known ones at its beginning are left out first, then turns of its
        loop."""
        parts, start = list(value.parts), index.start or 0
        while (
            parts[0][0] == "item"
            and index.stop is None
            and index.step is None
            and type(start) is int
            and start > 0
        ):
            parts, start = parts[1:], start - 1
        if (start, index.stop, index.step) == (0, None, None):
            return ListValue.of(parts)
        (kind, *rest), *others = parts
        if (
            kind != "each"
            or others
            or len(rest[1]) != 1
            or rest[1][0][2]
            or isinstance(rest[1][0][1], ListValue)
        ):
            raise Unsupported("a part of a list of modules")
        element, ((target, iterable, tests),) = rest
        counted = (
            isinstance(iterable, ast.Call)
            and terms.text(iterable.func) == "range"
            and len(iterable.args) == 1
        )
        if counted and type(start) is int and start > 0 and index.stop is None and index.step is None:
            some = terms.call("range", terms.constant(start), iterable.args[0])
        else:
            listed = terms.call("list", iterable) if isinstance(iterable, ast.Call) else iterable
            some = terms.subscript(listed, self.slice_node(slice(start or None, index.stop, index.step)))
        return ListValue.of([("each", element, ((target, some, tests),))])

    def module_item(self, value: Container, index: Any) -> Any:
        if isinstance(value.items, dict):
            return self.dict_item(value.items, index)
        if isinstance(index, slice):
            found = self.list_item(value.items, index)
            if found is MISSING:
                raise Unsupported("a part of a list of modules")
            return Container(value.cls, value.kind, found)
        found = self.list_item(value.items, index)
        if found is MISSING:
            raise Unsupported("an item of a list of modules")
        return Element(value, index, found) if isinstance(index, Sym) else found

    def dict_item(self, value: dict[Any, Any], index: Any) -> Any:
        if type(value).__name__ == "ClassInstantier" and (isinstance(index, Sym) or index in value):
            return self.activation(value, index)
        if isinstance(index, Sym) and is_activations(value):
            return self.activation_class(value, index)
        if isinstance(index, str) and index not in value and "$config" in value:  # `to_dict()` of a config
            return self.attribute(value["$config"], index)
        if not isinstance(index, Sym):
            if index not in value and not hasattr(type(value), "__missing__"):
                raise Raised(f"KeyError: {index!r}")
            found = value[index]
            return ListValue(found) if type(found) is list else found
        if index.node is None and index.value is UNKNOWN:
            raise Unsupported("a key that is not known")
        if index.node is None:
            return value[index.value]
        keys = [key for key in value if isinstance(key, str | int | bool | None)]
        if len(keys) > 40:
            return value[index.value]

        def chosen(rest: list[Any]) -> Any:
            if not rest:
                raise Raised("KeyError")
            asked = self.compare(ast.Eq, index, rest[0])
            if isinstance(asked, bool):
                return value[rest[0]] if asked else chosen(rest[1:])
            return self.fork(asked.node, asked.value, lambda: value[rest[0]], lambda: chosen(rest[1:]))

        return chosen(keys)

    def layer_config(self, config: Config, index: Any) -> Any:
        """A config as the layer at a position sees it."""
        raise NotImplementedError

    def activation(self, table: Any, index: Any) -> Any:
        raise NotImplementedError

    def activation_class(self, table: Any, index: Any) -> Any:
        raise NotImplementedError


def is_activations(table: dict[Any, Any]) -> bool:
    """Whether a dict is transformers' own of the activations' classes."""
    from transformers.activations import ACT2CLS

    return table is ACT2CLS


def part_shape(shape: list[Any] | None, index: Any) -> list[Any] | None:
    """The sizes of `tensor[index]` for whole axes, numbers and None; None where it takes more than that."""
    if shape is None:
        return None
    left, sizes = list(shape), []
    for part in index if isinstance(index, tuple) else (index,):
        if part is None:
            sizes.append(1)
        elif isinstance(part, slice) and part == slice(None) and left:
            sizes.append(left.pop(0))
        elif type(part) is int and left:
            left.pop(0)
        else:
            return None
    return [*sizes, *left]


def _or_none(value: Any) -> Any:
    return None if value is UNKNOWN else value
