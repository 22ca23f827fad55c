"""Reading, 14 of 19: what a call is a call of, and with what."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import math
from typing import Any

from archspec.deriving.reading.builtin_calls import _NUMERIC, _OF_NUMPY
from archspec.deriving.reading.value_methods import ValueMethods
from archspec.deriving.reading.values import (
    MISSING,
    NUMPY,
    UNKNOWN,
    Bound,
    Choice,
    Config,
    Element,
    Function,
    Kwargs,
    ListValue,
    Mod,
    Parameters,
    Raised,
    Super,
    Sym,
    Tensor,
    TensorOf,
    Unsupported,
    constructor,
    symbolic,
)

_SILENT = (
    "logging",
    "warnings",
    "torch.nn.init",
    "transformers.initialization",
    "transformers.utils.logging",
)
_SIZES = ("numel", "nelement", "dim", "ndimension", "size", "element_size")  # of parameters that exist


class Calls(ValueMethods):
    """Decides what a call means."""

    def construct(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError

    def module_method(self, bound: Bound, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError

    def tensor_call(self, name: str, arguments: list[Any], keywords: dict[str, Any], function: Any) -> Any:
        raise NotImplementedError

    def config_method(
        self, config: Config, name: str, function: Any, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        raise NotImplementedError

    def made_config(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError

    def walked(self, function: Any, module: Mod) -> bool:
        """Whether a function goes through all of a module; what it does there is then done."""
        raise NotImplementedError

    def class_method(self, cls: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError

    def on_Call(self, node: ast.Call, env: Env_) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and node.func.id not in env.local:
            return self.super_of(node, env)
        if isinstance(node.func, ast.Name) and node.func.id == "locals":
            return dict(env.local)
        function = self.evaluate(node.func, env)
        if function is print:  # what it shows is often counted from parameters, whose sizes are not read
            return None
        if getattr(function, "__module__", "") == "torch.nn.init":
            return self.initialised(node, env)
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

    def initialised(self, node: ast.Call, env: Env_) -> None:
        """What sets a tensor's values changes no size: what it is given is read for what it may refuse."""
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            mark = len(self.log)
            try:
                self.evaluate(argument, env)
            except Unsupported:
                self.rollback(mark)

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
        if function is MISSING:
            raise Raised("NameError: a class that has no name here")
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
        if (
            home.startswith(_SILENT)
            or type(owner).__module__.startswith("logging")
            or type(owner).__name__ == "Logger"
        ):
            return None
        if getattr(function, "__qualname__", "") == "PreTrainedConfig.__post_init__":
            return None
        if isinstance(function, type):
            return self.call_type(function, arguments, keywords)
        if function in (getattr, hasattr, setattr, isinstance, issubclass, type, callable):
            return self.reflect(function, arguments)
        for index, argument in enumerate(arguments):
            if isinstance(argument, Choice) and (
                function in _NUMERIC or home.startswith(("builtins", "math"))
            ):
                before, after = arguments[:index], arguments[index + 1 :]
                return self.lift(
                    argument, functools.partial(self.call_with, function, before, after, keywords)
                )
        if function in (copy.deepcopy, copy.copy):
            return self.copied(arguments[0])
        if _hashable(function) and function in _NUMERIC and symbolic(arguments):
            return self.numeric(_NUMERIC[function], function, arguments, keywords)
        name = getattr(function, "__name__", "")
        if (
            home.startswith("numpy")
            and name in _OF_NUMPY
            and len(arguments) == 1
            and not keywords
            and symbolic(arguments)
        ):
            found = self.numeric(name, getattr(math, name), arguments, keywords)
            return Sym(found.node, found.value, (NUMPY,)) if isinstance(found, Sym) else found
        if home.startswith("numpy") and name == "argsort" and symbolic(arguments):
            return self.positions(arguments[0])
        if isinstance(owner, type) and inspect.ismethod(function):
            return self.class_method(owner, function.__name__, arguments, keywords)
        if home.startswith(("torch", "numpy", "_VariableFunctions")) or type(function).__module__.startswith(
            "torch"
        ):
            return self.tensor_call(getattr(function, "__name__", ""), arguments, keywords, function)
        if inspect.ismethod(function) and symbolic(
            [*arguments, *keywords.values(), *getattr(owner, "__dict__", {}).values()]
        ):
            return self.object_method(function, arguments, keywords)
        if not symbolic(arguments) and not symbolic(keywords):
            return self.native(function, arguments, keywords)
        if inspect.isfunction(inspect.unwrap(function)):
            if len(arguments) == 1 and isinstance(arguments[0], Mod) and self.walked(function, arguments[0]):
                return None
            return self.run_function(function, arguments, keywords)
        return self.fallback(function, arguments, keywords)

    def call_with(
        self, function: Any, before: list[Any], after: list[Any], keywords: dict[str, Any], side: Any
    ) -> Any:
        """The call with one side of an argument that is one of two."""
        return self.call(function, [*before, side, *after], keywords)

    def fallback(self, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """What cannot be read is run on the values of the default config."""
        seen = self.seen(lambda a, k: function(*a, **k), tuple(arguments), keywords)
        return (
            Sym(None, seen) if isinstance(seen, int | float | str | list | tuple) or seen is UNKNOWN else seen
        )

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
            failed = self.python_error(error)
            if isinstance(failed, Unsupported) and inspect.isfunction(
                inspect.getattr_static(cls, "__init__")
            ):
                return self.made_object(cls, arguments, keywords)
            raise failed from error

    def made_object(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """A Python object that computes with what it is given: its constructor is read."""
        made: Any = object.__new__(cls)
        self.run_function(constructor(cls), [made, *arguments], keywords)
        return made

    def object_method(self, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """A method of a Python object, read; where it cannot be, it is run on the values of the default
        config."""
        mark = len(self.log)
        try:
            return self.run_function(function.__func__, [function.__self__, *arguments], keywords)
        except Unsupported:
            self.rollback(mark)
            return self.fallback(function, arguments, keywords)

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
        if isinstance(owner, Parameters | TensorOf) and bound.name in _SIZES:
            return Sym(None, UNKNOWN)
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
