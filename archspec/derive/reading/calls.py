"""Calls: Python's builtins and methods by what the spec language has for them, functions by their source."""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import inspect
import math
from typing import Any

from archspec.derive import terms
from archspec.derive.attributes import STILL
from archspec.derive.statements import Statements
from archspec.derive.values import (
    MISSING,
    UNKNOWN,
    Bound,
    Choice,
    Config,
    Container,
    Element,
    Function,
    Instance,
    Iter,
    Kwargs,
    Leaf,
    ListValue,
    Mix,
    Mod,
    Parameters,
    Raised,
    Super,
    Sym,
    Tensor,
    Unsupported,
    symbolic,
    witness,
)

_SILENT = ("logging", "warnings", "torch.nn.init", "transformers.initialization", "transformers.utils.logging")
_NUMERIC = {int: "int", float: "float", bool: "bool", str: "str", abs: "abs", round: "round", len: "len", min: "min", max: "max"}
_NUMERIC |= {math.ceil: "ceil", math.floor: "floor", math.sqrt: "sqrt", math.log2: "log2", math.log: "log", math.prod: "prod"}
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


class Calls(Statements):
    """Decides what a call means."""

    def construct(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError

    def module_method(self, bound: Bound, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError

    def tensor_call(self, name: str, arguments: list[Any], keywords: dict[str, Any], function: Any) -> Any:
        raise NotImplementedError

    def config_method(self, config: Config, name: str, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError

    def made_config(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError

    def class_method(self, cls: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError

    def on_Call(self, node: ast.Call, env: Env_) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and node.func.id not in env.local:
            return self.super_of(node, env)
        if isinstance(node.func, ast.Name) and node.func.id == "locals":
            return dict(env.local)
        function = self.evaluate(node.func, env)
        arguments: list[Any] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.evaluate(argument.value, env)
                spread = self.spread(value)
                if (
                    spread is None
                    and isinstance(value, Sym)
                    and isinstance(value.value, list | tuple)
                    and not _is_module(function)
                ):
                    arguments += [self.item(value, index) for index in range(len(value.value))]
                elif spread is None or (isinstance(value, ListValue) and not value.plain):
                    arguments.append(("$star", value))
                else:
                    arguments += spread
            else:
                arguments.append(self.evaluate(argument, env))
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, env)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, Kwargs):
                keywords["$kwargs"] = value
            elif isinstance(value, dict):
                keywords |= value
            else:
                raise Unsupported("`**` of something that is no dict")
        return self.call(function, arguments, keywords)

    def super_of(self, node: ast.Call, env: Env_) -> Super:
        if node.args:
            cls, owner = (self.evaluate(argument, env) for argument in node.args)
        else:
            cls, owner = env.cls, next(iter(env.local.values()))
        if cls is None:
            raise Unsupported("super() outside of a class")
        return Super(cls, owner)

    def call(self, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if isinstance(function, Choice):
            return self.lift(function, lambda side: self.call(side, arguments, keywords))
        if isinstance(function, Bound):
            return self.call_bound(function, arguments, keywords)
        if isinstance(function, Function):
            return self.run_closure(function, arguments, keywords)
        if isinstance(function, functools.partial):
            return self.call(function.func, [*function.args, *arguments], {**function.keywords, **keywords})
        if isinstance(function, Mod):
            raise Unsupported("a module that is called")
        home = getattr(function, "__module__", "") or ""
        owner = getattr(function, "__self__", None)
        if home.startswith(_SILENT) or type(owner).__module__.startswith("logging") or type(owner).__name__ == "Logger":
            return None
        if getattr(function, "__qualname__", "") == "PreTrainedConfig.__post_init__":
            return None
        if isinstance(function, type):
            return self.call_type(function, arguments, keywords)
        if function in (getattr, hasattr, setattr, isinstance, issubclass, type, callable):
            return self.reflect(function, arguments)
        for index, argument in enumerate(arguments):
            if isinstance(argument, Choice) and (function in _NUMERIC or home.startswith(("builtins", "math"))):
                at = index
                return self.lift(
                    argument, lambda side: self.call(function, [*arguments[:at], side, *arguments[at + 1 :]], keywords)
                )
        if function in (copy.deepcopy, copy.copy):
            return self.copied(arguments[0])
        if _hashable(function) and function in _NUMERIC and symbolic(arguments):
            return self.numeric(_NUMERIC[function], function, arguments, keywords)
        if home.startswith("numpy") and getattr(function, "__name__", "") in _OF_NUMPY and len(arguments) == 1 and not keywords:
            if symbolic(arguments):
                name = function.__name__
                return self.numeric(name, getattr(math, name), arguments, keywords)
        if isinstance(owner, type) and inspect.ismethod(function):
            return self.class_method(owner, function.__name__, arguments, keywords)
        if (
            home.startswith(("torch", "numpy"))
            or type(function).__module__.startswith("torch")
            or home.startswith("_VariableFunctions")
        ):
            return self.tensor_call(getattr(function, "__name__", ""), arguments, keywords, function)
        if not symbolic(arguments) and not symbolic(keywords):
            return self.native(function, arguments, keywords)
        if inspect.isfunction(inspect.unwrap(function)):
            return self.run_function(function, arguments, keywords)
        return self.fallback(function, arguments, keywords)

    def fallback(self, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """What cannot be read is run on the values of the default config."""
        seen = self.seen(lambda a, k: function(*a, **k), tuple(arguments), keywords)
        return Sym(None, seen) if isinstance(seen, int | float | str | list | tuple) or seen is UNKNOWN else seen

    def call_type(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        import torch

        if issubclass(cls, torch.nn.Module) or cls in (torch.nn.Parameter, torch.nn.Buffer):
            return self.construct(cls, arguments, keywords)
        if cls is type and len(arguments) == 1:
            return self.reflect(type, arguments)
        if hasattr(cls, "model_type") and hasattr(cls, "to_dict"):
            return self.made_config(cls, arguments, keywords)
        if cls in (enumerate, zip, reversed, range, list, tuple, dict, set, map, filter, frozenset):
            return self.collection(cls, arguments, keywords)
        if _hashable(cls) and cls in _NUMERIC and symbolic(arguments):
            return self.numeric(_NUMERIC[cls], cls, arguments, keywords)
        if cls is super:
            return Super(arguments[0], arguments[1])
        if issubclass(cls, torch.Tensor) or cls in (torch.FloatTensor, torch.LongTensor, torch.IntTensor):
            if len(arguments) == 1 and not isinstance(arguments[0], Sym | int):
                return self.tensor_call("tensor", arguments, keywords, torch.tensor)
            return self.tensor_call("empty", arguments, keywords, torch.empty)
        if cls is torch.Size and arguments:
            return tuple(self.spread(arguments[0]) or ())
        if not symbolic(arguments) and not symbolic(keywords):
            return self.native(cls, arguments, keywords)
        if cls.__module__.startswith("collections") and arguments and cls.__name__ == "OrderedDict":
            return self.collection(dict, arguments, keywords)
        try:
            return cls(*arguments, **keywords)
        except Unsupported:
            return self.fallback(cls, arguments, keywords)
        except Exception as error:
            raise self.python_error(error) from error

    def collection(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if any(isinstance(argument, Choice) for argument in arguments):
            index = next(i for i, argument in enumerate(arguments) if isinstance(argument, Choice))
            return self.lift(
                arguments[index], lambda side: self.collection(cls, [*arguments[:index], side, *arguments[index + 1 :]], keywords)
            )
        if cls is range:
            if symbolic(arguments):
                if self.fitted(*arguments):
                    return Sym(None, self.seen(range, *arguments))
                return Sym(terms.call("range", *map(self.node, arguments)), self.seen(range, *arguments), ("range",))
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
        items = self.spread(arguments[0])
        if items is None or isinstance(arguments[0], ListValue | Sym):
            value = arguments[0]
            if isinstance(value, ListValue) and value.plain and cls is tuple:
                return tuple(value.items())
            if cls in (set, frozenset) and isinstance(value, Sym) and value.node is not None:
                return Sym(terms.call("set", value.node), self.seen(set, value))
            return value if isinstance(value, Sym) else ListValue.of(self.as_list(value).parts)
        if cls in (set, frozenset) and not symbolic(items):
            return cls(items)
        return tuple(items) if cls is tuple else ListValue(items)

    def numeric(self, name: str, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if any(isinstance(argument, Tensor) for argument in arguments):
            return Sym(None, self.seen(function, *arguments))
        if name == "len" and (counted := self.counted(arguments[0])) is not None:
            return counted
        if name in ("min", "max") and "default" in keywords or name == "sorted" and keywords:
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
            if all(part[0] == "item" or (part[0] == "each" and isinstance(part[1], Mod)) for part in value.parts):
                from archspec.derive.loops import length

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

    def reflect(self, function: Any, arguments: list[Any]) -> Any:
        owner = arguments[0]
        if function in (isinstance, issubclass):
            return self.is_instance(owner, arguments[1]) if function is isinstance else self.native(issubclass, arguments)
        if function is type:
            return getattr(owner, "cls", None) or type(witness(owner))
        if function is callable:
            return isinstance(owner, Function | Bound) or callable(owner)
        name = self.plain(arguments[1])
        if isinstance(name, Sym):
            if name.node is not None and function is setattr and isinstance(owner, Mod) and self.frames[-1].loops:
                self.write(owner.attrs, ("$dynamic", terms.text(name.node)), (name, arguments[2]))
                return None
            if name.node is not None:
                raise Unsupported("an attribute whose name depends on the config")
            name = name.value
        if function is setattr:
            self.set_attribute(owner, name, arguments[2])
            return None
        if isinstance(owner, Choice | Mix) and function is getattr:
            return self.fork(
                owner.test,
                owner.holds,
                lambda: self.reflect(function, [owner.then, *arguments[1:]]),
                lambda: self.reflect(function, [owner.other, *arguments[1:]]),
            )
        try:
            found = self.attribute(owner, name)
        except Raised:
            if function is hasattr:
                return False
            if len(arguments) < 3:
                raise
            if isinstance(owner, Config) and not name.startswith("_"):
                return self.extra(owner, name, arguments[2])
            return arguments[2]
        return True if function is hasattr else found

    def is_instance(self, value: Any, kinds: Any) -> Any:
        kinds = tuple(kinds.items()) if isinstance(kinds, ListValue) else kinds if isinstance(kinds, tuple) else (kinds,)
        kinds = tuple(
            k for kind in kinds for k in (kind.__args__ if hasattr(kind, "__args__") and not isinstance(kind, type) else (kind,))
        )
        names = {getattr(kind, "__name__", "") for kind in kinds}
        if isinstance(value, Mix | Choice):
            return self.fork(
                value.test, value.holds, lambda: self.is_instance(value.then, kinds), lambda: self.is_instance(value.other, kinds)
            )
        if isinstance(value, Mod | Config):
            return any(isinstance(kind, type) and issubclass(value.cls, kind) for kind in kinds)
        if isinstance(value, ListValue):
            return bool(names & {"list", "tuple", "Iterable", "Sequence"})
        if isinstance(value, Sym):
            if value.types:
                fits = [
                    kind in names or (kind == "bool" and "int" in names) or (kind in ("list", "str") and "Iterable" in names)
                    for kind in value.types
                ]
                if kinds and ({"Iterable", "Sequence", "tuple"} & names) and "list" in value.types:
                    fits = [fit or kind == "list" for fit, kind in zip(fits, value.types, strict=True)]
                if all(fits) or not any(fits):
                    return all(fits)
                if value.node is not None and {k for k, fit in zip(value.types, fits, strict=True) if fit} == {"list"}:
                    return Sym(
                        terms.call("is_list", value.node), self.seen(lambda v: isinstance(v, list | tuple), value), ("bool",)
                    )
                if value.node is not None and {k for k, fit in zip(value.types, fits, strict=True) if fit} == {"int"}:
                    return Sym(terms.call("is_int", value.node), self.seen(lambda v: isinstance(v, int), value), ("bool",))
                left = {k for k, fit in zip(value.types, fits, strict=True) if not fit}
                if value.node is not None and left == {"int"}:
                    return Sym(
                        terms.negation(terms.call("is_int", value.node)),
                        self.seen(lambda v: not isinstance(v, int), value),
                        ("bool",),
                    )
            if value.value is UNKNOWN:
                raise Unsupported("the type of a value that is not known")
            return isinstance(value.value, tuple(k for k in kinds if isinstance(k, type)))
        if isinstance(value, Tensor):
            return "Tensor" in names
        return self.native(isinstance, [value, tuple(kinds)])

    def copied(self, value: Any) -> Any:
        if isinstance(value, Config):
            return value.copy()
        if isinstance(value, ListValue):
            return ListValue.of(value.parts)
        if isinstance(value, Mod):
            made = copy.copy(value)
            made.attrs, made.flags = dict(value.attrs), dict(value.flags)
            made.flags["copied"] = True
            return made
        return copy.copy(value) if symbolic(value) else copy.deepcopy(value)

    def call_bound(self, bound: Bound, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        owner = bound.owner
        if isinstance(owner, Config):
            return self.config_method(owner, bound.name, bound.function, arguments, keywords)
        if isinstance(owner, type):
            return self.run_function(bound.function, [owner, *arguments], keywords, bound.cls)
        if isinstance(owner, Mod):
            return self.module_method(bound, arguments, keywords)
        if isinstance(owner, Tensor):
            return self.tensor_call(bound.name, [owner, *arguments], keywords, None)
        if isinstance(owner, Parameters | Element) or (not isinstance(owner, Sym | ListValue | dict | str)):
            return None
        if isinstance(owner, ListValue):
            return self.list_method(owner, bound.name, arguments)
        if isinstance(owner, dict):
            return self.dict_method(owner, bound.name, arguments)
        if isinstance(owner, str):
            return (
                owner
                if symbolic(arguments) or symbolic(keywords)
                else self.native(getattr(owner, bound.name), arguments, keywords)
            )
        return self.scalar_method(owner, bound.name, arguments)

    def scalar_method(self, owner: Sym, name: str, arguments: list[Any]) -> Any:
        seen = self.seen(lambda v, *a: getattr(v, name)(*a), owner, *arguments)
        if name in ("split", "startswith", "endswith", "get", "index", "count") and not self.fitted(owner, *arguments):
            function = ast.Attribute(self.node(owner), name, ast.Load())
            types = ("bool",) if name.endswith("swith") else ("list",) if name == "split" else ()
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
            return Sym(terms.call("given", ast.Constant(name), terms.constant(default)), default, (type(default).__name__,))
        return default

    def dict_method(self, owner: dict[Any, Any], name: str, arguments: list[Any]) -> Any:
        if isinstance(owner, Kwargs):
            if name in ("get", "pop") and isinstance(arguments[0], str):
                return self.given(arguments[0], arguments[1] if len(arguments) > 1 else None)
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


def _is_module(function: Any) -> bool:
    import torch

    return isinstance(function, type) and issubclass(function, torch.nn.Module)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


Env_ = Any
__all__ = ["MISSING", "Calls", "Instance", "Leaf", "builtins"]
