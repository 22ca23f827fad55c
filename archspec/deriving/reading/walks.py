"""Under the reading: functions that go through all of a module, told by what they do to a small one.

What such a function meets may be of a class that only the config decides, so that it cannot be read by going
through it.
"""

from __future__ import annotations

import ast
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.values import UNKNOWN, Instance, Leaf, Mod, Sym

_SIZE = "$features"
_FROZEN = ["bias", "running_mean", "running_var", "weight"]


def goes_on(node: ast.FunctionDef) -> bool:
    """Whether a function calls itself for the children of its first argument."""
    called = {ast.unparse(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    return (
        bool(node.args.args) and node.name in called and f"{node.args.args[0].arg}.named_children" in called
    )


def sample() -> Instance:
    """A module with a batch norm and another layer, and with a module that has the same."""
    from torch import nn

    def made(**more: Any) -> Instance:
        found = Instance(nn.Module)
        size = Sym(terms.name(_SIZE), UNKNOWN, ("int",))
        found.attrs = {
            "norm": Leaf(nn.BatchNorm2d, "BatchNorm2d", [("num_features", size)]),
            "layer": Leaf(nn.Linear, "Linear", [("in_features", size), ("out_features", size)]),
            **more,
        }
        return found

    return made(inner=made())


def norms_frozen(found: Instance) -> bool:
    """Whether the sample's batch norms, and nothing else, have become ones whose tensors are all buffers."""
    inner = found.attrs["inner"]
    return isinstance(inner, Instance) and all(
        list(part.attrs) == names
        and _is_frozen(part.attrs["norm"])
        and getattr(part.attrs["layer"], "kind", "") == "Linear"
        for part, names in ((found, ["norm", "layer", "inner"]), (inner, ["norm", "layer"]))
    )


def _is_frozen(norm: Any) -> bool:
    if not isinstance(norm, Instance) or norm.template is None:
        return False
    tensors = {name: value for name, value in norm.attrs.items() if isinstance(value, Mod)}
    return sorted(tensors) == _FROZEN and all(_is_buffer(value, norm.rebind()) for value in tensors.values())


def _is_buffer(value: Mod, mapping: dict[str, ast.expr]) -> bool:
    """Whether a tensor is a buffer with a value for each feature."""
    if not isinstance(value, Leaf) or value.kind != "Buffer" or len(value.arguments) != 1:
        return False
    ((_, size),) = value.arguments
    return (
        isinstance(size, Sym)
        and size.node is not None
        and terms.text(terms.substitute(size.node, mapping)) == _SIZE
    )
