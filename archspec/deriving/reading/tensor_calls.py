"""Reading, 15 of 19: torch's functions, what shape they give as far as the code's own numbers tell."""

from __future__ import annotations

import ast
import math
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.calls import Calls
from archspec.deriving.reading.values import (
    UNKNOWN,
    Leaf,
    ListValue,
    Mix,
    Mod,
    Sym,
    Tensor,
    TensorOf,
    Unsupported,
    symbolic,
    witness,
)

_FILLED = frozenset(["zeros", "ones", "empty", "randn", "rand", "normal"])
_SAME = frozenset([
    "clone", "detach", "float", "half", "double", "to", "contiguous", "exp", "log", "log1p", "sqrt", "abs",
    "neg", "sin",
    "cos", "cuda", "cpu", "long", "int", "bool", "clamp", "type", "uniform_", "normal_", "fill_", "zero_",
    "copy_", "mul_",
    "add_", "div_", "sub_", "pow", "from_numpy",
    "astype", "asarray", "requires_grad_", "zeros_like", "ones_like", "empty_like", "randn_like",
    "rand_like",
    "round", "softmax", "sigmoid", "tanh", "mul", "add", "div", "sub", "bfloat16", "type_as", "tril", "triu",
])  # fmt: skip


class TensorCalls(Calls):
    """Creation and reshaping of tensors."""

    def tensor_call(self, name: str, arguments: list[Any], keywords: dict[str, Any], function: Any) -> Any:
        import torch

        if name in ("weight_norm", "spectral_norm") and arguments and isinstance(arguments[0], Mod):
            return self.normed(name, function, arguments, keywords)
        if isinstance(function, type(torch)) or name in (
            "register_parametrization",
            "skip_init",
            "is_tracing",
            "is_compiling",
        ):
            return False if name.startswith("is_") else None
        if any(isinstance(argument, Mod | TensorOf) for argument in arguments) and not isinstance(
            self.chosen(arguments[0]), Leaf
        ):
            return None
        if function is None and name in ("item", "tolist", "numel", "dim", "size", "nelement"):
            return self.read_off(name, arguments)
        if name == "meshgrid":
            return self.meshgrid(function, arguments, keywords)
        arguments = [self.chosen(argument) for argument in arguments]
        arguments = [self.parameter(a) if isinstance(a, Leaf) else a for a in arguments]
        keywords = {
            k: v for k, v in keywords.items() if k not in ("device", "dtype", "requires_grad", "generator")
        }
        real = self.run(name, function, arguments, keywords)
        if (
            name == "split"
            and isinstance(real, tuple)
            and len(arguments) == 2
            and self.listlike(arguments[1])
        ):
            pieces = ListValue([Tensor(None, piece) for piece in real])
            pieces.length = self.call(len, [arguments[1]], {})
            return pieces
        if real is not UNKNOWN and not isinstance(real, torch.Tensor):
            open_ = not all(map(self.certain, (*arguments, *keywords.values())))
            if open_ and type(real).__name__ == "ndarray":
                return Tensor(self.shape(name, function, arguments, keywords), real)
            return Sym(None, real) if isinstance(real, int | float | list | tuple) and open_ else real
        shape = self.shape(name, function, arguments, keywords)
        return Tensor(shape, None if real is UNKNOWN else real)

    def certain(self, argument: Any) -> bool:
        """Whether what torch makes of an argument is the same at every config."""
        if isinstance(argument, Tensor):
            return argument.shape is not None and not any(isinstance(size, Sym) for size in argument.shape)
        return not symbolic(argument)

    def meshgrid(self, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        axes = self.sizes_given(arguments, {})
        sizes = [axis.sizes()[0] if isinstance(axis, Tensor) else len(axis) for axis in axes]
        real = self.seen(lambda *a: list(function(*a, **keywords)), *axes)
        usual = "xy" if getattr(function, "__module__", "").startswith("numpy") else "ij"
        shape = sizes[::-1] if keywords.get("indexing", usual) == "xy" and len(sizes) == 2 else sizes
        return ListValue(
            [Tensor(list(shape), None if real is UNKNOWN else real[index]) for index in range(len(sizes))]
        )

    def chosen(self, value: Any) -> Any:
        """A module or nothing, where it is known which."""
        if isinstance(value, Mix):
            test = self.facts.decide(value.test)
            if isinstance(test, ast.Constant):
                return self.chosen(value.then if test.value else value.other)
        return value

    def parameter(self, leaf: Leaf) -> Tensor:
        return Tensor([size for _, size in leaf.arguments])

    def run(self, name: str, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        import torch

        if name in _FILLED and function is not None:
            sizes = (
                [witness(s) for s in self.sizes_given(arguments, keywords)] if (arguments or keywords) else []
            )
            if any(type(size) is not int for size in sizes):
                return UNKNOWN
            return torch.empty(sizes, device="meta")

        def native(*values: Any, **named: Any) -> Any:
            return (
                getattr(values[0], name)(*values[1:], **named)
                if function is None
                else function(*values, **named)
            )

        values = [witness(argument) for argument in arguments]
        named = {key: witness(value) for key, value in keywords.items()}
        if any(value is UNKNOWN for value in [*values, *named.values()]):
            return UNKNOWN
        try:
            return native(*values, **named)
        except Exception:
            return UNKNOWN

    def sizes_given(self, arguments: list[Any], keywords: dict[str, Any]) -> list[Any]:
        if "size" in keywords:
            arguments = [keywords["size"]]
        if len(arguments) == 1 and (
            isinstance(arguments[0], ListValue | tuple | list) or self.listlike(arguments[0])
        ):
            found = self.spread(arguments[0])
            if found is None:
                raise Unsupported("a shape of unknown rank")
            return found
        return list(arguments)

    def listlike(self, value: Any) -> bool:
        return isinstance(value, Sym) and isinstance(value.value, list | tuple)

    def shape(
        self, name: str, function: Any, arguments: list[Any], keywords: dict[str, Any]
    ) -> list[Any] | None:
        if function is not None and name in _FILLED:
            return self.sizes_given(arguments, keywords)
        if function is not None and name == "full":
            return self.sizes_given([arguments[0]] if arguments else [keywords["size"]], {})
        if name in ("tensor", "as_tensor") and arguments:
            return self.nested(arguments[0])
        if name == "arange" and "end" in keywords and not arguments:
            bounds = [
                keywords.get("start", 0),
                keywords["end"],
                *([keywords["step"]] if "step" in keywords else []),
            ]
            return self.shape(name, function, bounds, {})
        if (
            name == "outer"
            and len(arguments) == 2
            and all(isinstance(side, Tensor) and side.shape for side in arguments)
        ):
            return [arguments[0].shape[0], arguments[1].shape[0]]
        if name in ("new_zeros", "new_ones", "new_empty") and function is None:
            return self.sizes_given(arguments[1:], keywords)
        if name == "arange" and len(arguments) == 1 and not keywords:
            return [arguments[0]]
        if name == "arange" and 2 <= len(arguments) <= 3 and not keywords:
            span = self.binary(ast.Sub, arguments[1], arguments[0])
            step = arguments[2] if len(arguments) == 3 else 1
            if isinstance(span, Sym) and span.node is not None and step == 1:
                self.require(terms.compare(self.node(span), ast.GtE, terms.constant(0)))  # torch demands it
            if isinstance(step, float) and step.is_integer():
                step = int(step)
            if isinstance(step, int):
                return [span if step == 1 else self.call(math.ceil, [self.binary(ast.Div, span, step)], {})]
        if name == "linspace":
            return [arguments[2] if len(arguments) > 2 else keywords.get("steps", 100)]
        if name == "eye" and arguments:
            return [arguments[0], arguments[1] if len(arguments) > 1 else arguments[0]]
        if (
            name == "stack"
            and arguments
            and (items := self.spread(arguments[0]))
            and isinstance(items[0], Tensor)
            and items[0].shape is not None
        ):
            at = arguments[1] if len(arguments) > 1 else keywords.get("dim", keywords.get("axis", 0))
            at = at + len(items[0].shape) + 1 if type(at) is int and at < 0 else at
            return [*items[0].shape[:at], len(items), *items[0].shape[at:]] if type(at) is int else None
        if name in ("cat", "concat", "concatenate") and arguments and (items := self.spread(arguments[0])):
            return self.joined(
                items, arguments[1] if len(arguments) > 1 else keywords.get("dim", keywords.get("axis", 0))
            )
        first = arguments[0] if arguments else None
        if not isinstance(first, Tensor) or first.shape is None:
            return None
        if name in _SAME:
            return first.shape
        if name == "unsqueeze" and type(arguments[1]) is int:
            at = arguments[1] if arguments[1] >= 0 else len(first.shape) + 1 + arguments[1]
            return [*first.shape[:at], 1, *first.shape[at:]]
        if name in ("view", "reshape", "expand"):
            sizes = self.sizes_given(arguments[1:], {})
            if name == "expand" and len(sizes) >= len(first.shape):
                kept: list[Any] = [None] * (len(sizes) - len(first.shape)) + list(first.shape)
                return [k if type(s) is int and s == -1 else s for s, k in zip(sizes, kept, strict=True)]
            if not any(type(size) is int and size == -1 for size in sizes):
                return sizes
            given = self.product([size for size in sizes if not (type(size) is int and size == -1)])
            rest = self.product(first.shape)
            if (
                isinstance(given, Sym)
                and isinstance(rest, Sym)
                and given.node
                and rest.node
                and same(given.node, rest.node)
            ):
                self.enforce(
                    terms.compare(given.node, ast.NotEq, terms.constant(0)),
                    "-1 of no elements may be any size",
                )
                rest = 1
            elif not (type(given) is int and given == 1):
                if isinstance(left := self.binary(ast.Mod, rest, given), Sym) and left.node is not None:
                    self.require(terms.compare(left.node, ast.Eq, terms.constant(0)))  # torch demands it
                rest = self.binary(ast.FloorDiv, rest, given)
            return [rest if type(size) is int and size == -1 else size for size in sizes]
        if name == "permute":
            order = self.sizes_given(arguments[1:], {})
            return [first.shape[at] for at in order] if all(type(at) is int for at in order) else None
        if name == "flatten" and len(arguments) <= 2:
            at = arguments[1] if len(arguments) > 1 else 0
            return [*first.shape[:at], self.product(first.shape[at:])]
        if (
            name in ("sum", "mean", "std", "var", "max", "min", "prod", "norm")
            and len(arguments) == 1
            and not keywords
        ):
            return []
        if (
            name in ("sum", "mean", "amax")
            and len(arguments) == 2
            and type(arguments[1]) is int
            and not keywords
        ):
            left = list(first.shape)
            left.pop(arguments[1])
            return left
        if (name == "transpose" and len(first.shape) == 2) or name == "t":
            return list(reversed(first.shape))
        if name == "repeat" and len(arguments) - 1 == len(first.shape):
            return [
                self.binary(ast.Mult, size, times)
                for size, times in zip(first.shape, arguments[1:], strict=True)
            ]
        return None

    def product(self, sizes: list[Any]) -> Any:
        total: Any = 1
        for size in sizes:
            total = self.binary(ast.Mult, total, size)
        return total

    def joined(self, items: list[Any], at: Any) -> list[Any] | None:
        items = [self.chosen(item) for item in items]
        shapes = [
            self.parameter(i).shape if isinstance(i, Leaf) else getattr(i, "shape", None) for i in items
        ]
        if type(at) is not int or any(shape is None for shape in shapes):
            return None
        known = [shape for shape in shapes if shape is not None]
        total: Any = 0
        for shape in known:
            total = self.binary(ast.Add, total, shape[at])
        for shape in known[1:]:
            for axis, (one, other) in enumerate(zip(known[0], shape, strict=False)):
                if (
                    axis != at % len(known[0])
                    and isinstance(asked := self.compare(ast.Eq, one, other), Sym)
                    and asked.node
                ):
                    self.require(self.node(asked))  # torch demands it
        made = list(known[0])
        made[at] = total
        return made

    def nested(self, value: Any) -> list[Any] | None:
        if isinstance(value, ListValue | list | tuple):
            items = self.spread(value)
            if items is None and isinstance(value, ListValue):
                numbers = all(
                    part[0] == "each" and isinstance(part[1], Sym | int | float) for part in value.parts
                )
                return [Sym(terms.call("len", self.node(value)), UNKNOWN, ("int",))] if numbers else None
            if items is None:
                return None
            return [len(items), *(self.nested(items[0]) or [])] if items else [0]
        if isinstance(value, Sym) and isinstance(value.value, list | tuple):
            flat = (
                value.node is not None
                and value.value
                and all(isinstance(item, int | float) for item in value.value)
            )
            return [Sym(terms.call("len", self.node(value)), len(value.value), ("int",))] if flat else None
        return []

    def read_off(self, name: str, arguments: list[Any]) -> Any:
        tensor = arguments[0]
        if name == "dim" and tensor.shape is not None:
            return len(tensor.shape)
        if name == "size" and tensor.shape is not None:
            return tensor.shape[arguments[1]] if len(arguments) > 1 else tuple(tensor.shape)
        seen = self.seen(lambda v, *a: getattr(v, name)(*a), *arguments)
        if name == "tolist" and isinstance(seen, list):
            made = ListValue([Sym(None, item) for item in seen])
            made.length = tensor.shape[0] if isinstance(tensor, Tensor) and tensor.shape else None
            return made
        return Sym(None, seen)

    def normed(self, name: str, function: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        owner = arguments[0]
        options = dict(zip(("name", "dim"), arguments[1:], strict=False)) | keywords
        old = "parametrizations" not in getattr(function, "__module__", "")
        made = self.copied(owner)
        made.flags.pop("copied", None)
        made.flags["wrap"] = (name + ("_old" if old else ""), options)
        return made


def same(one: ast.expr, two: ast.expr) -> bool:
    return terms.text(one) == terms.text(two)
