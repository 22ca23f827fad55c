"""Reading, 13 of 19: methods of texts, numbers, lists and dicts."""

from __future__ import annotations

import ast
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.attributes import STILL
from archspec.deriving.reading.reflection import Reflection
from archspec.deriving.reading.values import (
    Kwargs,
    ListValue,
    Raised,
    Sym,
    Unsupported,
    symbolic,
    witness,
)


class ValueMethods(Reflection):
    """What a method call on a plain value does."""

    def scalar_method(self, owner: Sym, name: str, arguments: list[Any]) -> Any:
        seen = self.seen(lambda v, *a: getattr(v, name)(*a), owner, *arguments)
        if name in (
            "split",
            "startswith",
            "endswith",
            "lower",
            "strip",
            "get",
            "index",
            "count",
        ) and not self.fitted(owner, *arguments):
            function = ast.Attribute(self.node(owner), name, ast.Load())
            kinds = {
                "startswith": ("bool",),
                "endswith": ("bool",),
                "split": ("list",),
                "lower": ("str",),
                "strip": ("str",),
            }
            types = kinds.get(name, ())
            return Sym(ast.Call(function, [self.node(a) for a in arguments], []), seen, types)
        if name in ("copy", "item", "tolist"):
            return Sym(owner.node, seen, owner.types)
        return Sym(None, seen)

    def list_method(self, owner: ListValue, name: str, arguments: list[Any]) -> Any:
        parts = owner.parts
        if name == "append":
            self.write(owner.cell, "parts", (*parts, ("item", arguments[0])))
        elif name == "extend":
            self.write(owner.cell, "parts", (*parts, *self.as_list(arguments[0]).parts))
        elif name == "insert" and type(arguments[0]) is int and owner.plain:
            items = list(parts)
            items.insert(arguments[0], ("item", arguments[1]))
            self.write(owner.cell, "parts", tuple(items))
        elif name == "pop" and owner.plain:
            at = arguments[0] if arguments else -1
            items = list(parts)
            if not items:
                raise Raised("IndexError: pop from empty list")
            found = items.pop(at)
            self.write(owner.cell, "parts", tuple(items))
            return found[1]
        elif name == "reverse" and owner.plain:
            self.write(owner.cell, "parts", tuple(reversed(parts)))
        elif name == "copy":
            return ListValue.of(parts)
        elif name in ("index", "count"):
            if owner.plain and not symbolic(owner.items()) and not symbolic(arguments):
                return self.native(getattr(list(self.plain(owner)), name), arguments)
            return self.scalar_method(Sym(self.node(owner), witness(owner)), name, arguments)
        else:
            raise Unsupported(f"the list method {name}")
        return None

    def given(self, name: str, default: Any) -> Any:
        """What a config has under a name that its class does not declare."""
        if name.startswith("_") or name in STILL:
            return default
        asked = terms.call("given", ast.Constant(name))
        if isinstance(default, Sym) and default.node is not None:
            absent = terms.compare(asked, ast.Is, ast.Constant(None))
            return Sym(ast.IfExp(absent, self.node(default), asked), default.value, default.types)
        if default is None:
            return Sym(asked, None)
        if isinstance(default, bool | int | float | str):
            return Sym(
                terms.call("given", ast.Constant(name), terms.constant(default)),
                default,
                (type(default).__name__,),
            )
        return default

    def dict_method(self, owner: dict[Any, Any], name: str, arguments: list[Any]) -> Any:
        if isinstance(owner, Kwargs):
            if name in ("get", "pop") and isinstance(arguments[0], str):
                return self.given(arguments[0], arguments[1] if len(arguments) > 1 else None)
            if name == "setdefault" and arguments[0] == "per_layer_config":
                self.write(owner, arguments[0], arguments[1])
            return None if name in ("update", "setdefault") else ListValue()
        if name in ("items", "keys", "values"):
            return ListValue([tuple(item) if name == "items" else item for item in getattr(owner, name)()])
        if name == "get":
            if isinstance(arguments[0], Sym):
                return self.item({**owner}, arguments[0])
            return owner.get(arguments[0], arguments[1] if len(arguments) > 1 else None)
        if name == "pop":
            key = self.hashable(arguments[0])
            if key not in owner and len(arguments) < 2:
                raise Raised("KeyError")
            found = owner.get(key, arguments[1] if len(arguments) > 1 else None)
            self.erase(owner, key)
            return found
        if name == "update":
            for key, value in (arguments[0] if arguments else {}).items():
                self.write(owner, key, value)
            return None
        if name == "setdefault":
            if arguments[0] not in owner:
                self.write(owner, arguments[0], arguments[1])
            return owner[arguments[0]]
        if name == "copy":
            return dict(owner)
        raise Unsupported(f"the dict method {name}")
