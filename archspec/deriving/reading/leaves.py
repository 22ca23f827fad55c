"""Reading, 16 of 19: torch's layers, parameters, buffers and containers, with what they depend on."""

from __future__ import annotations

import ast
import functools
import inspect
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.tensor_calls import TensorCalls
from archspec.deriving.reading.values import (
    UNKNOWN,
    Choice,
    Container,
    Leaf,
    ListValue,
    Raised,
    Sym,
    Tensor,
    Unsupported,
    constructor,
    witness,
)
from archspec.specs.torch_layers import LEAVES

_IGNORED = frozenset([
    "eps", "momentum", "dropout", "stride", "padding", "dilation", "output_padding", "padding_mode",
    "device", "dtype",
    "batch_first", "max_norm", "norm_type", "scale_grad_by_freq", "sparse", "_weight", "_freeze",
    "nonlinearity", "inplace",
    "init", "add_zero_attn",
])  # fmt: skip


PARAMETRIC = ("prelu", "xielu")  # activations with parameters: no other text may stand for one unseen


class Leaves(TensorCalls):
    """Constructs what the spec language has a leaf or a container for."""

    def tensor_holder(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        value = arguments[0] if arguments else keywords.get("data")
        if cls.__name__ == "Buffer":
            persistent = keywords.get("persistent", arguments[1] if len(arguments) > 1 else True)
            return self.buffer(value) if persistent is not False else value
        if isinstance(value, Leaf):
            value = self.parameter(value)
        if isinstance(value, Choice):
            return self.lift(value, lambda side: self.tensor_holder(cls, [side, *arguments[1:]], keywords))
        if value is None or not isinstance(value, Tensor):
            real = witness(value)
            if isinstance(real, torch_tensor()):
                value = Tensor(list(real.shape), real)
            else:
                raise Unsupported("a Parameter of something that is no tensor")
        made = Leaf(cls, "Parameter", [("", size) for size in value.sizes()])
        trainable = keywords.get("requires_grad", arguments[1] if len(arguments) > 1 else True)
        if trainable is not True:
            made.flags["frozen"] = (
                True if trainable is False else Sym(terms.negation(self.node(trainable)), UNKNOWN)
            )
        return made

    def buffer(self, value: Any) -> Any:
        import torch

        if isinstance(value, torch.Tensor):
            value = Tensor(list(value.shape), value)
        if isinstance(value, Choice):
            return self.lift(value, self.buffer)
        return (
            Leaf(torch.nn.Buffer, "Buffer", [("", size) for size in value.sizes()])
            if isinstance(value, Tensor)
            else value
        )

    def container(self, cls: type, kind: str, arguments: list[Any]) -> Container:
        if kind in ("ModuleDict", "ParameterDict"):
            named = dict(arguments[0]) if arguments and isinstance(arguments[0], dict) else {}
            if arguments and not named and (pairs := self.spread(arguments[0])):
                named = {
                    pair[0]: pair[1]
                    for pair in (p if isinstance(p, tuple) else tuple(self.spread(p) or ()) for p in pairs)
                }
            return Container(cls, "ModuleDict", named)
        if kind == "Sequential" and len(arguments) == 1 and isinstance(arguments[0], dict):
            return Container(cls, "ModuleDict", dict(arguments[0]))
        if kind == "Sequential":
            parts: list[Any] = []
            for argument in arguments:
                starred = isinstance(argument, tuple) and argument and argument[0] == "$star"
                parts += self.as_list(argument[1]).parts if starred else [("item", argument)]
            return Container(cls, kind, ListValue.of(parts))
        items = arguments[0] if arguments else ListValue()
        if isinstance(items, Container):
            return items
        return Container(cls, "ModuleList", ListValue.of(self.as_list(items).parts))

    def leaf(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """One of torch's layers, with the arguments that its tensors depend on."""
        for index, argument in enumerate(arguments):
            if isinstance(argument, Choice):
                before, after = arguments[:index], arguments[index + 1 :]
                return self.lift(argument, functools.partial(self.leaf_with, cls, before, after, keywords))
        signature = inspect.signature(constructor(cls))
        try:
            bound = signature.bind(None, *arguments, **keywords).arguments
        except TypeError as error:
            raise Raised(f"TypeError: {error}") from error
        kind = leaf_kind(cls)
        known = inspect.signature(LEAVES[kind]).parameters
        given: list[tuple[str, Any]] = []
        more = {name: p.default for name, p in signature.parameters.items() if name in _IGNORED} | {
            k: v for k, v in bound.items() if k in _IGNORED
        }
        for name, value in bound.items():
            if name == "self" or name in _IGNORED:
                continue
            if name == "kwargs":
                for key, item in value.items():
                    if key in known and key not in _IGNORED:
                        given.append((key, item))
                continue
            if name == "args" and isinstance(value, tuple):
                names = [key for key in known if key not in dict(given)]
                given += [(key, item) for key, item in zip(names, value, strict=False) if key not in _IGNORED]
                continue
            if name not in known:
                continue
            given.append((name, value))
        made = Leaf(cls, kind, given)
        if bound.get("_freeze") is True or bound.get("kwargs", {}).get("_freeze") is True:
            made.flags["frozen"] = True
        made.attrs |= more
        if "padding" in more:
            self.strided(more["padding"], more["stride"])
        return made

    def strided(self, padding: Any, stride: Any) -> None:
        """torch pads to the same size only where every position is taken."""
        if (
            padding != "same"
            if not isinstance(padding, Sym)
            else padding.node is None or "str" not in padding.types
        ):
            return
        for step in stride if isinstance(stride, tuple) else (stride,):
            if isinstance(step, int) or (isinstance(step, Sym) and step.node is not None):
                asked = (self.compare(ast.NotEq, padding, "same"), self.compare(ast.Eq, step, 1))
                self.enforce(terms.either(self.node(part) for part in asked), "padding='same' with a stride")

    def leaf_with(
        self, cls: type, before: list[Any], after: list[Any], keywords: dict[str, Any], side: Any
    ) -> Any:
        """The layer with one side of an argument that is one of two."""
        return self.leaf(cls, [*before, side, *after], keywords)

    def without_tensors(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Leaf | None:
        """torch's modules that hold no tensor (activations, dropout, pooling)."""
        import torch

        with torch.device("meta"):
            made = self.seen(lambda a, k: cls(*a, **k), tuple(arguments), keywords)
        if made is UNKNOWN:
            if not cls.__module__.startswith("torch."):
                return None
            if not any(
                hasattr(cls, name) for name in ("reset_parameters", "_reset_parameters")
            ) and "__init__" in vars(cls):
                source = inspect.getsource(cls)
                return (
                    None
                    if "Parameter" in source or "Linear" in source or "Module" in source.partition("\n")[2]
                    else self.nothing(cls)
                )
            return None
        return self.nothing(cls) if not made.state_dict() and not list(made.parameters()) else None

    def nothing(self, cls: type) -> Leaf:
        return Leaf(cls, cls.__name__ if cls.__name__ in LEAVES else "Activation", [])

    def activation(self, table: Any, index: Any) -> Any:
        return self.call(self.activation_class(table, index), [], {})

    def activation_class(self, table: Any, index: Any) -> Any:
        """What a table of activations has for a text: any that holds no tensor stands for the others."""
        from torch import nn

        if not isinstance(index, Sym):
            return _activation_class(index) if index in PARAMETRIC else nn.GELU
        if index.value in PARAMETRIC and index.node is not None:
            holds = self.compare(ast.Eq, index, index.value)
            return self.fork(holds.node, True, lambda: _activation_class(index.value), lambda: nn.GELU)
        if index.node is not None:
            known = [name for name in table if name not in PARAMETRIC]
            wanted = self.require if self.composed(index.node) else self.demand
            wanted(ast.Compare(index.node, [ast.In()], [terms.constant(known)]))
        return nn.GELU

    def composed(self, node: ast.expr) -> bool:
        """Whether a text is made by the code, and not simply what the config says."""
        raise NotImplementedError


def torch_tensor() -> Any:
    import torch

    return torch.Tensor


def leaf_kind(cls: type) -> str:
    if cls.__name__.endswith("FrozenBatchNorm2d"):
        return "FrozenBatchNorm2d"
    return cls.__name__


def is_leaf(cls: type) -> bool:
    """Whether the layer table has the class."""
    own = cls.__module__.startswith("torch.nn.") or (
        cls.__name__ == "Conv1D" and cls.__module__ == "transformers.pytorch_utils"
    )
    return own and cls.__name__ in LEAVES


def _activation_class(name: str) -> type:
    from transformers.activations import ACT2CLS

    found: Any = ACT2CLS[name]
    cls: type = found[0] if isinstance(found, tuple) else found
    return cls
