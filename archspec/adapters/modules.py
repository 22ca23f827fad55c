"""The modules of a model as peft sees them: a copy of its tree that adapters may change.

formulas/adapters.json lists the modules without tensors, which specs leave out, by the class around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from archspec.specs.files import read_json
from archspec.tree.node import Node
from archspec.tree.tensors import Tensor, join_path
from archspec.typing_light import Any

LINEAR = ("Linear", "Conv1D")
SUPPORTED = ("Embedding", "Conv2d", "Conv3d", "Conv1d", "MultiheadAttention", "Linear", "Conv1D")
KINDS = {"LORA": SUPPORTED, "IA3": (*LINEAR, "Conv2d", "Conv3d"), "VERA": LINEAR}  # that peft adapts
CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")
LISTS = ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict")  # without a forward pass
ADAPTER = "default"  # the name of the adapter, which is part of its tensors' names
BASE = "base_layer"  # the module that an adapter wraps
ADAPTERS = ("lora", "parameter")  # roles
OTHER = "other"  # the kind of a subclass that differs from torch's layer
_PARAMETRIZED, _DIRECTION = "parametrizations.weight", "original1"


@cache
def facts() -> dict[str, Any]:
    """Return formulas/adapters.json, which tools/from_peft.py writes."""
    return dict(read_json("adapters.json"))


@cache
def _unlisted_kinds() -> dict[str, dict[str, str]]:
    """Return the kind of each module without tensors by its path, for each class that contains any."""
    found: dict[str, dict[str, str]] = {}
    for row, classes in facts()["unlisted"].items():
        path, _, kind = row.partition(" ")
        for cls in classes:
            found.setdefault(cls, {})[path.replace("*", "0")] = kind
    return found


class Weight:
    """A parameter; several modules may share it. ``origin`` is its name in the base model, '' if added."""

    def __init__(self, shape: tuple[int, ...], trainable: bool = True, origin: str = "") -> None:
        self.shape, self.trainable, self.origin = shape, trainable, origin


class Module:
    """A module: its parameters and children by name, and the ``kind`` of torch layer that it is.

    ``role`` is `lora` or `parameter` for a module that peft wrapped, `saved` for one of modules_to_save.
    """

    def __init__(self, kind: str = "", children: dict[str, Module] | None = None, role: str = "") -> None:
        self.kind, self.role, self.cls = kind, role, ""
        self.differs = False  # from torch's layer, so that its adapter is not known
        self.weights: dict[str, Weight] = {}
        self.buffers: dict[str, tuple[int, ...]] = {}
        self.children: dict[str, Module] = children or {}
        self.groups, self.parameter, self.path = 1, "", ""

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """The shape of a layer's weight, also if `weight_norm` divides it into a length and a direction."""
        if "weight" in self.weights:
            return self.weights["weight"].shape
        return self.find(_PARAMETRIZED).weights[_DIRECTION].shape

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The rank, the input width and the output width of the adapter of a linear layer."""
        first, second = (self.children[name].children[ADAPTER] for name in ("lora_A", "lora_B"))
        (rank, width), (out, _) = first.weights["weight"].shape, second.weights["weight"].shape
        return rank, width, out

    @property
    def base(self) -> Module:
        """The module that adapters wrap; this module if it is not wrapped."""
        return self.children[BASE].base if self.role in ADAPTERS else self

    def child(self, name: str) -> Module | None:
        """Return an attribute; a module of modules_to_save passes on those of its copy."""
        if name in self.children or self.role != "saved":
            return self.children.get(name)
        return self.children["modules_to_save"].children[ADAPTER].child(name)

    def find(self, path: str) -> Module:
        """Return the module at a path that exists."""
        found: Module | None = self
        for part in path.split(".") if path else ():
            found = found.child(part) if found is not None else None
        assert found is not None
        return found

    def walk(self, path: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Module]]:
        """Yield each module with its path, as torch's `named_modules()`."""
        seen = set() if seen is None else seen
        if id(self) in seen:
            return
        seen.add(id(self))
        yield path, self
        for name, child in [*self.children.items()]:
            yield from child.walk(join_path(path, name), seen)

    def named_weights(self) -> Iterator[tuple[str, Weight]]:
        """Yield each parameter with its first name, as torch's `named_parameters()`."""
        seen: set[int] = set()
        for path, module in self.walk():
            for name, weight in module.weights.items():
                if id(weight) not in seen:
                    seen.add(id(weight))
                    yield join_path(path, name), weight

    def copy(self, known: dict[int, Weight] | None = None) -> Module:
        """Return a copy with its own parameters, as `copy.deepcopy`; ``known`` ones are shared instead."""
        other, known = Module(self.kind, role=self.role), {} if known is None else known
        other.__dict__ |= {**self.__dict__, "weights": {}, "children": {}}
        for name, one in self.weights.items():
            other.weights[name] = known.setdefault(id(one), Weight(one.shape, one.trainable, one.origin))
        for name, child in self.children.items():
            other.children[name] = child.copy(known)
        return other


def build_modules(root: Node, tensors: list[Tensor]) -> Module:
    """Return the modules of a model, whose tied parameters are shared."""
    weights: dict[str, Weight] = {}
    for one in tensors:
        if one.kind == "parameter":
            shared = weights.get(one.tied_to or "")
            weights[one.name] = shared or Weight(one.shape, one.trainable, one.name)
    return _build(root, "", weights)


def listed_kind(node: Node) -> str:
    """Return the kind of a module by its spec, '' for one that is neither a layer nor a container."""
    return node.layer if node.layer in SUPPORTED else node.cls if node.cls in CONTAINERS else ""


def _build(node: Node, path: str, weights: dict[str, Weight]) -> Module:
    module = Module(listed_kind(node))
    module.cls, module.path, module.groups = node.cls, path, node.groups
    for leaf in node.tensors:
        *inner, name = leaf.name.split(".")
        holder = _make(module, inner)
        if leaf.kind == "parameter":
            holder.weights[name] = weights[join_path(path, leaf.name)]
        else:
            holder.buffers[name] = leaf.shape
    if node.layer == "MultiheadAttention":
        module.children["out_proj"].kind = "Linear"
    for name, child in node.children.items():
        full = join_path(path, name)
        if child.cls == "Parameter":
            module.weights[name] = weights[full]
        elif child.cls == "Buffer":
            module.buffers[name] = child.tensors[0].shape
        else:
            module.children[name] = _build(child, full, weights)
    if not node.leaf:
        for inside, kind in _unlisted_kinds().get(node.cls, {}).items():
            found = _make(module, inside.split("."))
            found.differs = kind == OTHER
            found.kind = found.kind if kind in ("", OTHER) else kind
    return module


def _make(module: Module, path: list[str]) -> Module:
    """Return the module at a path, which is added without a kind if it does not exist."""
    for name in path:
        outer, path_ = module, join_path(module.path, name)
        module = outer.children.setdefault(name, Module())
        module.path = module.path or path_
    return module
