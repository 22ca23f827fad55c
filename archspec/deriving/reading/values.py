"""Values, under the reading: what a constructor handles, numbers with their expression, modules, lists,
configs."""

from __future__ import annotations

import ast
import inspect
import itertools
from typing import Any

from archspec.deriving.reading import terms


class Unsupported(Exception):
    """Something in a constructor that is not read here."""


class Untold(Unsupported):
    """A condition on a value that is not known."""


class Raised(Exception):
    """The constructor raises on this way: what led here is refused."""


class Failed(Raised):
    """Python itself raised: a wrong type, a missing key."""


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise Unsupported("a value that is not known")


CLOCK = itertools.count(1)  # modules and loop variables in the order of their making
UNKNOWN: Any = _Unknown()
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()


NUMPY = "numpy"  # among the types of a number: what it is divided by may be zero


class Sym:
    """A scalar, text or list: its expression (None where only a value was seen) and its value at the default
    config."""

    __slots__ = ("node", "types", "value")

    def __init__(self, node: ast.expr | None, value: Any, types: tuple[str, ...] = ()) -> None:
        self.node, self.value, self.types = node, value, types

    def __repr__(self) -> str:
        return f"Sym({terms.text(self.node) if self.node else '?'} = {self.value!r})"

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise Unsupported("a comparison outside of the code that is read")

    def __bool__(self) -> bool:
        raise Unsupported("a condition outside of the code that is read")


class Choice:
    """One of two values that are no scalars, decided by a condition."""

    def __init__(self, test: ast.expr, then: Any, other: Any, holds: Any) -> None:
        self.test, self.then, self.other, self.holds = test, then, other, holds

    @property
    def seen(self) -> Any:
        return self.then if self.holds is True else self.other


class Tensor:
    """A tensor that was created: its sizes as far as they are known, and torch's own (on meta)."""

    def __init__(self, shape: list[Any] | None, real: Any = None, trainable: Any = True) -> None:
        self.shape, self.real, self.trainable = shape, real, trainable

    def sizes(self) -> list[Any]:
        if self.shape is not None:
            return self.shape
        if self.real is None:
            raise Unsupported("a tensor of unknown shape")
        return [Sym(None, int(size)) for size in self.real.shape]


class ListValue:
    """A list as parts: ("item", value), ("each", value, target, iterable) of a loop, ("all", Sym), ("if",
    test, list, list)."""

    def __init__(self, items: Any = (), kind: type = list) -> None:
        self.cell: dict[str, Any] = {"parts": tuple(("item", item) for item in items)}
        self.kind = kind
        self.length: Any = None  # of a list with the items of the default config: how many another one has

    @property
    def parts(self) -> tuple[Any, ...]:
        parts: tuple[Any, ...] = self.cell["parts"]
        return parts

    @classmethod
    def of(cls, parts: Any) -> ListValue:
        made = cls()
        made.cell["parts"] = tuple(parts)
        return made

    @property
    def plain(self) -> bool:
        return all(part[0] == "item" for part in self.parts)

    def items(self) -> list[Any]:
        if not self.plain:
            raise Unsupported("a list whose length is not known")
        return [part[1] for part in self.parts]


class Function:
    """A function defined within the code that is read."""

    def __init__(self, node: ast.FunctionDef | ast.Lambda, env: Any) -> None:
        self.node, self.env = node, env


class Bound:
    """A method with the value that it was taken from."""

    def __init__(self, owner: Any, name: str, function: Any = None, cls: Any = None) -> None:
        self.owner, self.name, self.function, self.cls = owner, name, function, cls

    def __repr__(self) -> str:
        return f"{type(self.owner).__name__}.{self.name}"


class Super:
    def __init__(self, cls: type, owner: Any, start: type | None = None) -> None:
        self.cls, self.owner = cls, owner
        self.start = start


class Mod:
    """A module that the constructor made. ``attrs`` are its Python attributes, modules among them."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.attrs: dict[str, Any] = {}
        self.flags: dict[str, Any] = {"frozen": False, "frozen_norms": False}
        self.born = next(CLOCK)


class Leaf(Mod):
    """One of torch's layers, or a Parameter or Buffer, with its constructor's arguments."""

    def __init__(self, cls: type, kind: str, arguments: list[tuple[str, Any]]) -> None:
        super().__init__(cls)
        self.kind, self.arguments = kind, arguments


class Instance(Mod):
    """A module of a class that is described: the class' template and what its parameters are here."""

    def __init__(self, cls: type) -> None:
        super().__init__(cls)
        self.template: Any = None
        self.arguments: dict[str, Any] = {}
        self.config: Any = None
        self.overrides: dict[str, Any] = {}
        self.base: Leaf | None = None
        self.patched: dict[str, Any] = {}
        self.copies: dict[int, Any] = {}  # of what its template holds, by identity
        self.outer: Instance | None = None  # the finished module that it was taken out of

    def rebind(self) -> dict[str, ast.expr]:
        """What the names of the template's own expressions are outside of it."""
        found = {f"${name}": value for name, value in self.arguments.items()}
        return {
            name: value.node
            for name, value in (found | self.overrides).items()
            if isinstance(value, Sym) and value.node
        }


class Container(Mod):
    """ModuleList, Sequential (``items`` a ListValue) or ModuleDict (``items`` a dict)."""

    def __init__(self, cls: type, kind: str, items: Any) -> None:
        super().__init__(cls)
        self.kind, self.items = kind, items


class Mix(Mod):
    """One of two modules, or none, by a condition."""

    def __init__(self, test: ast.expr, then: Any, other: Any, holds: Any) -> None:
        super().__init__(object)
        self.test, self.then, self.other, self.holds = test, then, other, holds


class Element(Mod):
    """An element of a list of modules that differ by position; enough to reach its attributes."""

    def __init__(self, owner: Container, index: Any, like: Any) -> None:
        super().__init__(getattr(like, "cls", object))
        self.owner, self.index, self.like = owner, index, like


class TensorOf:
    """A parameter of a module that exists: `module.weight`."""

    def __init__(self, owner: Mod, name: str) -> None:
        self.owner, self.name = owner, name


class Parameters:
    """`module.parameters()`: what is done to each is done to the module."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner


class Config:
    """A config object: its class, where it stands in the config of the model, and what was set on it since.

    ``home`` is the class whose fields it has: another one for a config that is made of one
    (`Other(**config.to_dict())`). ``absent`` is one that is null by default: ``real`` is what its class makes
    of it where it is not.
    """

    def __init__(
        self, cls: type, path: tuple[str, ...], real: Any, dynamic: bool = False, optional: bool = False
    ) -> None:
        self.cls, self.path, self.real, self.dynamic, self.optional = cls, path, real, dynamic, optional
        self.home = cls
        self.absent = False
        self.store: dict[str, Any] = {}
        self.children: dict[str, Config] = {}

    def copy(self, deep: bool = True) -> Config:
        made = Config(self.cls, self.path, self.real, self.dynamic, self.optional)
        made.home, made.absent, made.store = self.home, self.absent, dict(self.store)
        made.children = {name: child.copy() if deep else child for name, child in self.children.items()}
        return made

    def node(self, field: str) -> ast.expr:
        return terms.name(".".join((*self.path, field)))

    def expression(self) -> ast.expr | None:
        return terms.name(".".join(self.path)) if self.path else None

    def __repr__(self) -> str:
        return f"Config({self.cls.__name__} at {'.'.join(self.path) or 'root'}, {self.store})"


def witness(value: Any) -> Any:
    """The value at the default config; UNKNOWN where there is none."""
    if isinstance(value, Sym):
        return value.value
    if isinstance(value, Choice):
        return witness(value.seen)
    if isinstance(value, Tensor):
        return value.real if value.real is not None else UNKNOWN
    if isinstance(value, Config):
        return value.real
    if isinstance(value, ListValue):
        if not value.plain:
            return _witness_parts(value)
        found = [witness(item) for item in value.items()]
        return UNKNOWN if any(item is UNKNOWN for item in found) else value.kind(found)
    if isinstance(value, tuple):
        found = [witness(item) for item in value]
        return UNKNOWN if any(item is UNKNOWN for item in found) else tuple(found)
    if isinstance(value, dict):
        values = {key: witness(item) for key, item in value.items()}
        return UNKNOWN if any(item is UNKNOWN for item in values.values()) else values
    if isinstance(value, Mod | Function | Bound | TensorOf | Parameters | Super | Iter | PerLayer):
        return UNKNOWN
    return value


def _witness_parts(value: ListValue) -> Any:
    found: list[Any] = []
    for part in value.parts:
        if part[0] == "item":
            found.append(witness(part[1]))
        elif part[0] == "all" and isinstance(part[1].value, list | tuple | range):
            found += list(part[1].value)
        elif part[0] == "if" and part[4] is not UNKNOWN:
            inner = witness(part[2] if part[4] else part[3])
            if inner is UNKNOWN:
                return UNKNOWN
            found += list(inner)
        else:
            return UNKNOWN
    return UNKNOWN if any(item is UNKNOWN for item in found) else found


def symbolic(value: Any) -> bool:
    """Whether a value, or a part of it, is not a plain Python object."""
    if isinstance(
        value,
        Sym
        | Choice
        | Tensor
        | ListValue
        | Mod
        | Function
        | Bound
        | TensorOf
        | Config
        | Parameters
        | Super
        | Iter
        | PerLayer,
    ):
        return True
    if isinstance(value, list | tuple | set):
        return any(symbolic(item) for item in value)
    return isinstance(value, dict) and any(
        symbolic(item) for item in dict.values(value)
    )  # a lazy table loads nothing


def is_entry(table: dict[Any, Any], one: Any, two: Any) -> bool:
    """Whether an entry of a table of texts, as of ties, is there on one way only."""
    return {type(one), type(two)} == {str, type(MISSING)} and all(
        isinstance(item, str | Choice) for item in table.values()
    )


def present(value: Any) -> Any:
    return None if value is MISSING else value


class Iter:
    """`enumerate`, `zip` or `reversed` over something whose length is not known."""

    def __init__(self, kind: str, parts: list[Any], start: Any = 0) -> None:
        self.kind, self.parts, self.start = kind, parts, start


class PerLayer:
    """`config.per_layer_config`: by its position, a config as one of the layers sees it."""

    def __init__(self, config: Config) -> None:
        self.config = config


class Env:
    """The names of a function that is being read: its own, those around it, its module's globals."""

    def __init__(
        self, local: dict[Any, Any], outer: Any, around: dict[str, Any] | None = None, cls: type | None = None
    ) -> None:
        self.local, self.outer, self.around, self.cls = local, outer, around or {}, cls

    def inner(self) -> Env:
        return Env(dict(self.local), self.outer, self.around, self.cls)


def constructor(cls: type) -> Any:
    """The constructor of a class, its own or an inherited one."""
    return inspect.getattr_static(cls, "__init__")


class Kwargs(dict[str, Any]):
    """What a config is given beside its declared fields."""
