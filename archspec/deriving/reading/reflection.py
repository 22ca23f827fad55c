"""Reading, 12 of 19: getattr, setattr, isinstance, type and copies."""

from __future__ import annotations

import copy
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.builtin_calls import BuiltinCalls
from archspec.deriving.reading.copies import duplicate
from archspec.deriving.reading.values import (
    UNKNOWN,
    Bound,
    Choice,
    Config,
    Function,
    ListValue,
    Mix,
    Mod,
    Raised,
    Sym,
    Tensor,
    Unsupported,
    symbolic,
    witness,
)


class Reflection(BuiltinCalls):
    """Calls that ask what a value is."""

    def reflect(self, function: Any, arguments: list[Any]) -> Any:
        owner = arguments[0]
        if function in (isinstance, issubclass):
            return (
                self.is_instance(owner, arguments[1])
                if function is isinstance
                else self.native(issubclass, arguments)
            )
        if function is type:
            return getattr(owner, "cls", None) or type(witness(owner))
        if function is callable:
            return isinstance(owner, Function | Bound | Mod) or callable(owner)
        name = self.plain(arguments[1])
        if isinstance(name, Sym):
            if (
                name.node is not None
                and function is setattr
                and isinstance(owner, Mod)
                and self.frames[-1].loops
            ):
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
        if (
            isinstance(owner, Config)
            and len(arguments) == 3
            and self.another_default(owner, name, arguments[2])
        ):
            return self.extra(owner, name, arguments[2])
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
        kinds = (
            tuple(kinds.items())
            if isinstance(kinds, ListValue)
            else kinds
            if isinstance(kinds, tuple)
            else (kinds,)
        )
        kinds = tuple(
            k
            for kind in kinds
            for k in (kind.__args__ if hasattr(kind, "__args__") and not isinstance(kind, type) else (kind,))
        )
        names = {getattr(kind, "__name__", "") for kind in kinds}
        if isinstance(value, Mix | Choice):
            return self.fork(
                value.test,
                value.holds,
                lambda: self.is_instance(value.then, kinds),
                lambda: self.is_instance(value.other, kinds),
            )
        if isinstance(value, Mod | Config):
            return any(isinstance(kind, type) and issubclass(value.cls, kind) for kind in kinds)
        if isinstance(value, ListValue):
            return bool(names & {"list", "tuple", "Iterable", "Sequence"})
        if isinstance(value, tuple | dict):
            return any(isinstance(kind, type) and isinstance(value, kind) for kind in kinds)
        if isinstance(value, Sym):
            if value.types:
                fits = [
                    kind in names
                    or (kind == "bool" and "int" in names)
                    or (kind in ("list", "str") and "Iterable" in names)
                    for kind in value.types
                ]
                if kinds and ({"Iterable", "Sequence", "tuple"} & names) and "list" in value.types:
                    fits = [fit or kind == "list" for fit, kind in zip(fits, value.types, strict=True)]
                if all(fits) or not any(fits):
                    return all(fits)
                if value.node is not None and {
                    k for k, fit in zip(value.types, fits, strict=True) if fit
                } == {"list"}:
                    return Sym(
                        terms.call("is_list", value.node),
                        self.seen(lambda v: isinstance(v, list | tuple), value),
                        ("bool",),
                    )
                if value.node is not None and {
                    k for k, fit in zip(value.types, fits, strict=True) if fit
                } == {"int"}:
                    return Sym(
                        terms.call("is_int", value.node),
                        self.seen(lambda v: isinstance(v, int), value),
                        ("bool",),
                    )
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
            return duplicate(value)
        return copy.copy(value) if symbolic(value) else copy.deepcopy(value)
