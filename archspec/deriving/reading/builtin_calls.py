"""Reading, 11 of 19: Python's builtins, numbers and collections by what the spec language has for them."""

from __future__ import annotations

import ast
import copy
import math
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.statements import Statements
from archspec.deriving.reading.values import (
    UNKNOWN,
    Choice,
    Container,
    Iter,
    ListValue,
    Mod,
    Sym,
    Tensor,
    Unsupported,
    symbolic,
)

_NUMERIC = {
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    abs: "abs",
    round: "round",
    len: "len",
    min: "min",
    max: "max",
}


_NUMERIC |= {
    math.ceil: "ceil",
    math.floor: "floor",
    math.sqrt: "sqrt",
    math.log2: "log2",
    math.log: "log",
    math.prod: "prod",
}


_NUMERIC |= {sum: "sum", any: "any", all: "all", sorted: "sorted"}


_OF_NUMPY = ("prod", "ceil", "floor", "sqrt", "log2", "log")  # what `math` has too


_RESULT = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "len": "int",
    "ceil": "int",
    "floor": "int",
    "any": "bool",
    "all": "bool",
}


class BuiltinCalls(Statements):
    """Calls of `min`, `len`, `range`, `dict` and their like."""

    def collection(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if any(isinstance(argument, Choice) for argument in arguments):
            index = next(i for i, argument in enumerate(arguments) if isinstance(argument, Choice))
            return self.lift(
                arguments[index],
                lambda side: self.collection(
                    cls, [*arguments[:index], side, *arguments[index + 1 :]], keywords
                ),
            )
        if cls is range:
            if symbolic(arguments):
                if self.fitted(*arguments):
                    return Sym(None, self.seen(range, *arguments))
                return Sym(
                    terms.call("range", *map(self.node, arguments)), self.seen(range, *arguments), ("range",)
                )
            return self.native(range, arguments)
        if cls in (enumerate, zip, reversed):
            start = arguments[1] if cls is enumerate and len(arguments) > 1 else keywords.get("start", 0)
            made = Iter(cls.__name__, arguments[:1] if cls is enumerate else arguments, start)
            items = self.spread(made)
            return made if items is None else ListValue(items)
        if cls in (map, filter):
            function, items = arguments[0], self.spread(arguments[1])
            if items is None or cls is filter:
                raise Unsupported(f"{cls.__name__} over a list of unknown length")
            return ListValue([self.call(function, [item], {}) for item in items])
        if cls is dict:
            made_dict: dict[Any, Any] = {}
            if arguments and isinstance(arguments[0], dict):
                made_dict = dict(arguments[0])
            elif arguments:
                for pair in self.spread(arguments[0]) or ():
                    key, value = pair if isinstance(pair, tuple) else pair.items()
                    made_dict[self.hashable(key)] = value
            return made_dict | keywords
        if not arguments:
            return ListValue() if cls is list else () if cls is tuple else set()
        if isinstance(arguments[0], Sym) and (asked := self.null_refused(arguments[0])) is not None:
            self.enforce(asked, "TypeError: 'NoneType' object is not iterable")
        items = self.spread(arguments[0])
        if items is None or isinstance(arguments[0], ListValue | Sym):
            value = arguments[0]
            if isinstance(value, ListValue) and value.plain and cls is tuple:
                return tuple(value.items())
            if cls in (set, frozenset) and isinstance(value, Sym) and value.node is not None:
                return Sym(terms.call("set", value.node), self.seen(set, value))
            if cls is list and isinstance(value, Sym) and isinstance(value.node, ast.Name):
                value = Sym(copy.copy(value.node), value.value, value.types)
                value.node.listed = True  # type: ignore[union-attr]  # where the field's default is a tuple, this is none
            return value if isinstance(value, Sym) else ListValue.of(self.as_list(value).parts)
        if cls in (set, frozenset) and not symbolic(items):
            return cls(items)
        return tuple(items) if cls is tuple else ListValue(items)

    def numeric(self, name: str, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if any(isinstance(argument, Tensor) for argument in arguments):
            return Sym(None, self.seen(function, *arguments))
        if name == "len" and (counted := self.counted(arguments[0])) is not None:
            return counted
        if (name in ("min", "max") and "default" in keywords) or (name == "sorted" and keywords):
            return Sym(None, self.seen(lambda *a: function(*a, **keywords), *arguments))
        seen = self.seen(function, *arguments)
        if name == "int" and isinstance(arguments[0], Sym) and arguments[0].types == ("int",):
            return arguments[0]
        if name == "sum" and len(arguments) > 1 and not isinstance(arguments[1], int):
            raise Unsupported("a sum of lists")
        if name in ("min", "max", "sum", "any", "all", "prod") and len(arguments) == 1:
            items = self.spread(arguments[0])
            if items is not None and name == "sum" and not isinstance(arguments[0], Sym):
                total: Any = 0
                for item in items:
                    total = self.binary(ast.Add, total, item)
                return total
            if items is not None and name in ("any", "all"):
                return self.every(items, name == "all")
        if self.fitted(*arguments):
            return Sym(None, seen)
        if name in ("bool",):
            truth, holds = self.truth(arguments[0])
            return truth if isinstance(truth, bool) else Sym(truth, self.seen(bool, holds), ("bool",))
        nodes = [self.iterable(a) if isinstance(a, Iter) else self.node(a) for a in arguments]
        result = (_RESULT[name],) if name in _RESULT else ()
        return Sym(terms.call(name, *nodes), seen, result)

    def positions(self, value: Any) -> Sym:
        """`argsort` of a list: where the smallest of its items stands, and so on."""
        listed, item, index = self.node(value), terms.name(self.fresh("item")), terms.name(self.fresh("i"))
        ordered = terms.call(
            "sorted", terms.call("zip", listed, terms.call("range", terms.call("len", listed)))
        )
        loop = ast.comprehension(ast.Tuple([item, index], ast.Store()), ordered, [], 0)
        seen = self.seen(lambda items: sorted(range(len(items)), key=items.__getitem__), value)
        return Sym(ast.ListComp(index, [loop]), seen, ("list",))

    def every(self, items: list[Any], positive: bool) -> Any:
        if not items:
            return positive
        truth, holds = self.truth(items[0])
        if isinstance(truth, bool):
            return self.every(items[1:], positive) if truth == positive else not positive
        rest = self.every(items[1:], positive)
        if isinstance(rest, bool):
            return Sym(truth, holds, ("bool",)) if rest == positive else rest
        join = terms.both if positive else terms.either
        return Sym(join([truth, self.node(rest)]), UNKNOWN, ("bool",))

    def counted(self, value: Any) -> Any:
        if isinstance(value, Container):
            return self.counted(value.items)
        if isinstance(value, Mod | Choice):
            raise Unsupported("the length of a module")
        if isinstance(value, tuple | dict):
            return len(value)
        if isinstance(value, ListValue):
            if value.plain:
                return len(value.parts)
            if all(
                part[0] == "item" or (part[0] == "each" and isinstance(part[1], Mod)) for part in value.parts
            ):
                from archspec.deriving.reading.recurrences import length

                total: Any = 0
                for part in value.parts:
                    if part[0] == "item":
                        total = self.binary(ast.Add, total, 1)
                    elif len(part[2]) == 1 and not part[2][0][2]:
                        total = self.binary(ast.Add, total, Sym(length(part[2][0][1]), UNKNOWN, ("int",)))
                    else:
                        return None
                return total
        return None
