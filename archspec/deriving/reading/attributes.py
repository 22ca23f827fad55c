"""Reading, 5 of 19: attributes of configs, modules, tensors, and of what Python itself has."""

from __future__ import annotations

import ast
import copy
import inspect
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.copies import own
from archspec.deriving.reading.items import Items
from archspec.deriving.reading.values import (
    MISSING,
    UNKNOWN,
    Bound,
    Choice,
    Config,
    Container,
    Element,
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
    TensorOf,
    Unsupported,
    symbolic,
)

# Fields that steer the forward pass, bookkeeping or kernels; their value at the default config is taken.
STILL = frozenset([
    "output_attentions", "output_hidden_states", "return_dict", "use_return_dict", "use_cache",
    "gradient_checkpointing",
    "architectures", "dtype", "torch_dtype", "name_or_path", "rope_parameters", "rope_scaling", "rope_theta",
    "problem_type", "id2label", "label2id", "transformers_version", "is_heterogeneous", "per_layer_config",
    "quantization_config", "initializer_range",
])  # fmt: skip


class Attributes(Items):
    """Reads attributes and items."""

    def __init__(self) -> None:
        super().__init__()
        self.classes: dict[tuple[str, ...], type] = {}  # the classes of the sub-configs, by where they stand

    def config_types(self, config: Config, field: str) -> tuple[str, ...] | None:
        """The types of a field, None for one that the config class does not declare."""
        raise NotImplementedError

    def extra(self, config: Config, field: str, default: Any) -> Any:
        """A field that the config class does not declare, read with a default."""
        raise NotImplementedError

    def another_default(self, config: Config, field: str, default: Any) -> bool:
        """Whether such a field has been read with another default."""
        raise NotImplementedError

    def settled(self, config: Config, field: str) -> bool:
        """Whether `__post_init__` gives a field a value that depends on others."""
        raise NotImplementedError

    def declares(self, config: Config, field: str) -> bool:
        """Whether the config class itself has the field."""
        raise NotImplementedError

    def extra_known(self, config: Config, field: str) -> Any:
        """The same, where it was read with a default before."""
        raise NotImplementedError

    def run_function(
        self, function: Any, arguments: list[Any], keywords: dict[str, Any], cls: Any = None
    ) -> Any:
        raise NotImplementedError

    def attribute(self, value: Any, name: str) -> Any:
        if isinstance(value, Choice):
            return self.lift(value, lambda side: self.attribute(side, name))
        if isinstance(value, Config):
            return self.config_attribute(value, name)
        if isinstance(value, Mix):
            return self.fork(
                value.test,
                value.holds,
                lambda: self.attribute(value.then, name),
                lambda: self.attribute(value.other, name),
            )
        if isinstance(value, Mod):
            return self.mod_attribute(value, name)
        if isinstance(value, Tensor):
            return self.tensor_attribute(value, name)
        if isinstance(value, Super):
            return self.super_attribute(value, name)
        if isinstance(value, TensorOf):
            if name in ("data", "T"):
                return value
            if name == "shape":
                return self.sizes_of(value)
            if name == "device":
                return torch_device()
            return Bound(value, name)
        if isinstance(value, Sym):
            if name == "value" and not hasattr(value.value, "value"):
                return value
            return Bound(value, name)
        if isinstance(value, ListValue | Parameters | Iter) or (isinstance(value, dict) and symbolic(value)):
            return Bound(value, name)
        if isinstance(value, dict) and type(value) in (dict, Kwargs):
            return Bound(value, name)
        if isinstance(value, str) and name in ("join", "format"):
            return Bound(value, name)
        found = self.native(getattr, [value, name])
        return ListValue(found) if type(found) is list else found

    def config_attribute(self, config: Config, name: str) -> Any:
        cls = config.cls
        name = getattr(cls, "attribute_map", {}).get(name, name)
        if name in config.store:
            return config.store[name]
        if name in ("__class__", "__dict__"):
            return cls if name == "__class__" else copy.copy(vars(config.real))
        if name.startswith("_attn_implementation"):
            return "eager"
        if name == "num_labels" and hasattr(cls, "attribute_map"):
            return Sym(config.node(name), getattr(config.real, name, 2), ("int",))
        if name in config.children:
            return config.children[name]
        static = inspect.getattr_static(cls, name, MISSING)
        if isinstance(static, property) and static.fget is not None and name not in STILL:
            inherited = static.fget.__module__.startswith("transformers.configuration_utils")
            if not (inherited and name.startswith("_")):
                return self.run_function(static.fget, [config], {})
        seen = seen_field(config.real, name)
        if name in STILL and seen is MISSING and not name.startswith("_"):
            return None
        if seen is not MISSING and hasattr(type(seen), "model_type") and hasattr(type(seen), "to_dict"):
            return self.child(config, name, seen)
        if seen is MISSING and static is not MISSING and not hasattr(static, "__get__"):
            return ListValue(static) if type(static) is list else static
        specs = getattr(cls, "sub_configs_defaults", {})
        if name in specs:
            return self.child(config, name, seen if seen is not MISSING else None)
        hidden = name.startswith("_") and not self.settled(config, name) and not self.declares(config, name)
        if (name in STILL or hidden) and seen is not MISSING:
            return copy.deepcopy(seen) if isinstance(seen, dict | list) else seen
        if inspect.isfunction(static) or isinstance(static, classmethod | staticmethod):
            return Bound(config, name, getattr(cls, name))
        types = self.config_types(config, name)
        if types is None:
            if seen is not MISSING and name not in vars(config.real or object):
                return seen
            if seen is MISSING and (known := self.extra_known(config, name)) is not MISSING:
                return known
            if seen is MISSING:
                raise Raised(f"AttributeError: {cls.__name__} has no {name}")
            types = ()
        if seen is MISSING:
            seen = UNKNOWN
        return Sym(config.node(name), list(seen) if isinstance(seen, tuple) else seen, types)

    def child(self, config: Config, name: str, seen: Any) -> Config:
        """A sub-config; one that is null by default is looked at as its default class would be."""
        spec = getattr(config.cls, "sub_configs_defaults", {}).get(name)
        dynamic = spec is None or not hasattr(spec.config_class, "to_dict")
        optional = bool(spec and spec.optional)
        real = seen if seen is not MISSING else None
        absent = real is None and spec is not None
        if spec is not None and absent:
            try:
                real = spec.default_config
            except Exception as error:
                raise Unsupported(f"the sub-config {name} has no default") from error
        assert real is not None
        cls = type(real)
        made_config = Config(cls, (*config.path, name), real, dynamic, optional)
        made_config.absent = absent
        self.write(config.children, name, made_config)
        self.classes[made_config.path] = cls
        return made_config

    def mod_attribute(self, mod: Mod, name: str) -> Any:
        if isinstance(mod, Instance):
            if name in mod.patched:
                return mod.patched[name]
            if name in mod.attrs:
                found = mod.attrs[name]
                if isinstance(found, Config) and mod.overrides:
                    return told(found, mod.overrides)
                return found if mod.template is None else self.outside(own(mod, found), mod.rebind())
            tensor = isinstance(mod.base, Leaf) and name in ("weight", "bias", "training")
            if tensor or name == "_modules":
                return TensorOf(mod, name)
        elif name in mod.attrs:
            return spatial(mod, name, mod.attrs[name])
        if name == "__class__":
            return mod.cls
        if isinstance(mod, Element):
            return self.attribute(mod.like, name)
        if isinstance(mod, Container) and mod.kind == "ModuleDict" and name in mod.items:
            return mod.items[name]
        leaf = mod if isinstance(mod, Leaf) else getattr(mod, "base", None)
        if isinstance(leaf, Leaf):
            arguments = dict(leaf.arguments)
            if name in arguments:
                return spatial(leaf, name, arguments[name])
            if name in ("weight", "bias"):
                return TensorOf(mod, name)
            if leaf.kind in ("Parameter", "Buffer"):
                return (
                    leaf
                    if name == "data"
                    else self.attribute(Tensor([value for _, value in leaf.arguments]), name)
                )
        static = inspect.getattr_static(mod.cls, name, MISSING)
        if static is MISSING:
            if name in ("config",) and isinstance(mod, Instance) and mod.config is not None:
                return mod.config
            if name in _MODULE_METHODS:
                return Bound(mod, name)
            if isinstance(leaf, Leaf) and name.startswith("_"):  # a layer's own business
                return Sym(None, UNKNOWN)
            raise Raised(f"AttributeError: {mod.cls.__name__} has no {name}")
        if isinstance(static, property) and static.fget is not None:
            return self.run_function(static.fget, [mod], {})
        if isinstance(static, staticmethod):
            return static.__func__
        if isinstance(static, classmethod):
            return getattr(mod.cls, name)
        if inspect.isfunction(static):
            return Bound(mod, name, static, mod.cls)
        if type(static) is dict:  # the class' own stays as it is
            return (
                mod.attrs.setdefault(name, dict(static))
                if getattr(mod, "template", None) is None
                else dict(static)
            )
        return ListValue(static) if type(static) is list else static

    def outside(self, value: Any, mapping: dict[str, ast.expr]) -> Any:
        """A value of a finished module, in the terms of those around it."""
        if not mapping:
            return value
        if isinstance(value, Sym) and value.node is not None:
            return Sym(terms.substitute(value.node, mapping), value.value, value.types)
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(self.outside(item, mapping) for item in value)
        if isinstance(value, ListValue) and value.plain:
            return ListValue([self.outside(item, mapping) for item in value.items()])
        if isinstance(value, Leaf):
            made = Leaf(
                value.cls, value.kind, [(key, self.outside(item, mapping)) for key, item in value.arguments]
            )
            made.flags, made.attrs = value.flags, value.attrs
            return made
        if isinstance(value, Instance):
            other = copy.copy(value)
            other.arguments = {key: self.outside(item, mapping) for key, item in value.arguments.items()}
            other.overrides = {key: self.outside(item, mapping) for key, item in value.overrides.items()}
            return other
        return value

    def super_attribute(self, value: Super, name: str) -> Any:
        cls = value.owner if isinstance(value.owner, type) else value.owner.cls
        order = list(cls.__mro__)
        for base in order[order.index(value.cls) + 1 :]:
            if name in vars(base):
                found = vars(base)[name]
                if isinstance(found, property) and found.fget is not None:
                    return self.run_function(found.fget, [value.owner], {}, base)
                if isinstance(found, staticmethod | classmethod):
                    return (
                        found.__func__
                        if isinstance(found, staticmethod)
                        else Bound(cls, name, found.__func__, base)
                    )
                return Bound(value.owner, name, found, base) if callable(found) else found
        raise Raised(f"AttributeError: {name}")

    def tensor_attribute(self, value: Tensor, name: str) -> Any:
        if name == "shape":
            return tuple(value.sizes())
        if name == "data":
            return value
        if value.real is None and name in ("device", "dtype"):
            import torch

            return torch_device() if name == "device" else torch.float32
        if name in ("device", "dtype", "ndim", "T") and value.real is not None:
            found = getattr(value.real, name)
            return Tensor(list(reversed(value.sizes())), found) if name == "T" else found
        return Bound(value, name)

    def sizes_of(self, value: TensorOf) -> Any:
        leaf = value.owner if isinstance(value.owner, Leaf) else getattr(value.owner, "base", None)
        if isinstance(leaf, Leaf):
            arguments = [item for _, item in leaf.arguments]
            if leaf.kind in ("Linear", "Embedding") and value.name == "weight":
                return tuple(arguments[1::-1] if leaf.kind == "Linear" else arguments[:2])
            if leaf.kind in ("LayerNorm", "RMSNorm"):
                return (arguments[0],)
        raise Unsupported("the shape of a layer's tensor")


_MODULE_METHODS = frozenset([
    "to", "half", "float", "eval", "train", "requires_grad_", "parameters", "named_parameters", "children",
    "named_children", "modules", "named_modules", "apply", "append", "extend", "insert", "items", "values",
    "keys",
])  # fmt: skip


def told(config: Config, overrides: dict[str, Any]) -> Config:
    """A module's config with what was set on it before the module was made of it."""
    made, prefix = config.copy(), ".".join((*config.path, ""))
    inner = {key.removeprefix(prefix): value for key, value in overrides.items() if key.startswith(prefix)}
    made.store = {name: value for name, value in inner.items() if "." not in name} | made.store
    return made


def torch_device() -> Any:
    """Where the modules of a draft are."""
    import torch

    return torch.device("meta")


def seen_field(real: Any, name: str) -> Any:
    """A field of the default config, MISSING where it has none."""
    try:
        return getattr(real, name, MISSING) if real is not None else MISSING
    except Exception:  # a field that differs between layers is not to be read from the whole config
        return vars(real).get(name, MISSING)


def spatial(mod: Any, name: str, value: Any) -> Any:
    """torch holds a convolution's numbers as tuples, one for each axis."""
    rank = getattr(mod, "kind", "")[-2:-1]
    if (
        name in ("kernel_size", "stride", "padding", "dilation")
        and rank.isdigit()
        and isinstance(value, Sym | int)
    ):
        return (value,) * int(rank)
    return value
