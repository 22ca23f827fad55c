"""Reading, 18 of 19: methods of modules, classes and configs; what cannot be read is fitted to the default
config."""

from __future__ import annotations

import ast
import copy
import inspect
from typing import Any

from archspec.deriving.reading import terms, walks
from archspec.deriving.reading.copies import base_of
from archspec.deriving.reading.functions import source_of
from archspec.deriving.reading.leaves import is_leaf
from archspec.deriving.reading.modules import _OF_ONES_OWN, _SKIPPED, Modules, Template
from archspec.deriving.reading.state import Frame
from archspec.deriving.reading.statements import LIBRARIES, place_of
from archspec.deriving.reading.values import (
    MISSING,
    UNKNOWN,
    Bound,
    Choice,
    Config,
    Container,
    Instance,
    Leaf,
    ListValue,
    Mod,
    Parameters,
    Raised,
    Sym,
    Tensor,
    Unsupported,
    constructor,
    witness,
)

MAX_FITTED = 400
_OF_LOADING = ("config", "attn_implementation", "dtype", "torch_dtype", "trust_remote_code")


class Methods(Modules):
    """What a method call on a module, a class or a config does."""

    def module_method(self, bound: Bound, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        owner, name = bound.owner, bound.name
        if name == "__init__":
            return self.initialise(owner, bound, arguments, keywords)
        if name == "post_init":
            self.write(owner.attrs, "$post_init", True)
            return None
        if name in _SKIPPED and not (name in _OF_ONES_OWN and is_own(bound.function)):
            return None
        if name in ("to", "half", "float", "eval", "train", "type", "cuda", "bfloat16"):
            return owner
        if name == "requires_grad_":
            self.freeze(owner, arguments[0] if arguments else keywords.get("requires_grad", True))
            return owner
        if name == "parameters":
            return ListValue([Parameters(owner)])
        if name == "named_parameters":
            return ListValue([("a parameter", Parameters(owner))])
        if name in ("register_buffer", "register_parameter", "add_module", "register_module"):
            return self.register(owner, name, arguments, keywords)
        container = base_of(owner) if isinstance(owner, Instance) else owner
        if (
            isinstance(container, Container)
            and (found := self.container_method(container, name, arguments)) is not MISSING
        ):
            return found
        if name in ("children", "named_children") and isinstance(owner, Instance) and owner.template is None:
            found = [(key, value) for key, value in owner.attrs.items() if isinstance(value, Mod)]
            return ListValue(found if name == "named_children" else [value for _, value in found])
        if name in ("children", "modules", "named_children", "named_modules"):
            return ListValue([])
        function = bound.function
        if function is None or getattr(function, "__module__", "").startswith("torch."):
            return Tensor(None) if isinstance(owner, Leaf) else None
        return self.run_function(function, [owner, *arguments], keywords, bound.cls)

    def initialise(self, owner: Any, bound: Bound, arguments: list[Any], keywords: dict[str, Any]) -> None:
        """`__init__` of a class or, by super(), of one of its bases."""
        from torch import nn

        base = bound.cls
        if base in (nn.Module, object) or base.__module__ in ("builtins", "abc", "typing"):
            return
        if is_leaf(base):
            owner.base = self.leaf(base, arguments, keywords)
            return
        if base in (nn.ModuleList, nn.Sequential, nn.ModuleDict):
            owner.base = self.container(base, base.__name__, arguments)
            return
        if base.__name__ == "PreTrainedModel" and base.__module__ == "transformers.modeling_utils":
            config = arguments[0] if arguments else keywords["config"]
            self.write(owner.attrs, "config", config)
            return
        self.run_function(bound.function or constructor(base), [owner, *arguments], keywords, base)

    def register(self, owner: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> None:
        key = arguments[0] if arguments else keywords.get("name")
        value = (
            arguments[1]
            if len(arguments) > 1
            else keywords.get(
                {"register_buffer": "tensor", "register_parameter": "param"}.get(name, "module")
            )
        )
        if name == "register_buffer":
            persistent = keywords.get("persistent", arguments[2] if len(arguments) > 2 else True)
            if persistent is not False and value is not None:
                value = self.buffer(value)
        container = base_of(owner) if isinstance(owner, Instance) else owner
        if (
            isinstance(key, Sym)
            and isinstance(container, Container)
            and not isinstance(container.items, dict)
        ):
            self.write(container.items.cell, "parts", (*container.items.parts, ("item", value)))
            return
        if isinstance(key, Sym) and key.node is not None and self.frames[-1].loops:
            self.write(owner.attrs, ("$dynamic", terms.text(key.node)), (key, value))
            return
        if isinstance(key, Sym):
            raise Unsupported("a module whose name depends on the config")
        if isinstance(container, Container):
            if isinstance(container.items, dict):
                self.write(container.items, key, value)
            elif str(key) == str(len(container.items.parts)) and container.items.plain:
                self.write(container.items.cell, "parts", (*container.items.parts, ("item", value)))
            else:
                self.write(owner.attrs, str(key), value)
            return
        self.set_module_attribute(owner, str(key), value)

    def container_method(self, owner: Container, name: str, arguments: list[Any]) -> Any:
        if isinstance(owner.items, dict):
            if name in ("items", "keys", "values", "pop", "update"):
                return self.dict_method(owner.items, name, arguments)
            return MISSING
        if name in ("append", "extend", "insert", "pop"):
            value = arguments[0]
            found = self.list_method(
                owner.items, name, [value.items if isinstance(value, Container) else value, *arguments[1:]]
            )
            return owner if found is None else found
        return MISSING

    def walked(self, function: Any, module: Mod) -> bool:
        node = source_of(inspect.unwrap(function).__code__)
        if not walks.goes_on(node) or (isinstance(module, Instance) and module.template is None):
            return False
        asked = walks.sample()
        self.run_function(function, [asked], {})
        if not walks.norms_frozen(asked):
            raise Unsupported(f"what {node.name} does to the modules that it goes through")
        self.write(module.flags, "frozen_norms", True)
        return True

    # classes

    def class_method(self, cls: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        from torch import nn

        config = arguments[0] if arguments else keywords.get("config")
        if isinstance(config, Choice):
            return self.lift(
                config, lambda side: self.class_method(cls, name, [side, *arguments[1:]], keywords)
            )
        if name in ("from_config", "_from_config") and isinstance(config, Config):
            more = {key: value for key, value in keywords.items() if key not in _OF_LOADING}
            if hasattr(cls, "_model_mapping"):
                return self.automatic(cls, config, more)
            return self.construct(cls, [config], more)
        if name == "from_pretrained" and cls is nn.Embedding:
            weights = arguments[0] if arguments else keywords["embeddings"]
            made = self.leaf(cls, weights.sizes(), {})
            freeze = keywords.get("freeze", True)
            self.freeze(made, self.call(lambda v: not v, [freeze], {}))
            return made
        function = inspect.getattr_static(cls, name, None)
        if isinstance(function, classmethod):
            return self.run_function(function.__func__, [cls, *arguments], keywords)
        raise Unsupported(f"{cls.__name__}.{name}")

    def automatic(self, cls: Any, config: Config, keywords: dict[str, Any]) -> Any:
        """`AutoModel.from_config`: the class by name where it is fixed, AutoModel where the config
        decides."""
        from transformers.models.auto.auto_factory import _get_model_class

        if config.cls not in cls._model_mapping:
            raise Raised(f"ValueError: {config.cls.__name__} has no class for {cls.__name__}")
        target = _get_model_class(
            config.real if config.real is not None else _default(config.cls), cls._model_mapping
        )
        text = getattr(config.cls, "sub_configs", {}).get("text_config")
        if text is not None and getattr(target, "config_class", None) == text:
            config = self.attribute(config, "text_config")
        dynamic = (
            config.dynamic and config.home is config.cls
        )  # one made of another config is of the class that makes it
        if dynamic:
            for name in keywords:  # said in the call: the class is another one where the config says so
                if (target, name) not in self.formal:
                    self.formal[target, name], self.retry = set(), True
        made = self.construct(target, [config], keywords)
        if dynamic and isinstance(made, Instance):
            made.flags = {**made.flags, "auto": cls.__name__}
        return made

    # configs

    def config_method(
        self, config: Config, name: str, function: Any, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        if name == "get_text_config":
            return self.text_config(config, arguments, keywords)
        if name in ("to_dict", "to_diff_dict"):
            return {"$config": config}
        if name == "__init__" or function is None:
            return None
        static = inspect.getattr_static(config.cls, name, None)
        if isinstance(static, staticmethod):
            return self.call(static.__func__, arguments, keywords)
        if isinstance(static, classmethod):
            return self.class_method(config.cls, name, arguments, keywords)
        return self.run_function(static or function, [config, *arguments], keywords)

    def text_config(self, config: Config, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        real = config.real
        found = self.seen(lambda a, k: real.get_text_config(*a, **k), tuple(arguments), keywords)
        if found is UNKNOWN or found is real:
            return config
        for name in getattr(config.cls, "sub_configs", {}):
            if getattr(real, name, None) is found:
                return self.attribute(config, name)
        return config

    def made_config(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        source = keywords.pop("$config", None)
        real = _default(cls)
        if isinstance(source, Config):
            made = source.copy()
            made.cls = cls
            if source.real is not None:
                made.real = self.seen(lambda: cls(**source.real.to_dict()))
                made.real = real if made.real is UNKNOWN else made.real
        else:
            made = Config(cls, (), copy.copy(real))
            made.store["$literal"] = True
        for key, value in keywords.items():
            made.store[getattr(cls, "attribute_map", {}).get(key, key)] = value
            seen = witness(value)
            if seen is not UNKNOWN and not isinstance(seen, dict):
                made.real.__dict__[key] = seen
        return made

    # fitting

    def fit(self, cls: type, scope: Config | None, entered: dict[str, Any], reason: str) -> Template | None:
        import torch

        values = {name: witness(value) for name, value in entered.items()}
        if any(value is UNKNOWN for value in values.values()) or any(name.startswith("*") for name in values):
            return None
        try:
            parameters = inspect.signature(constructor(cls)).parameters
            with torch.device("meta"):
                made = cls(
                    **{name: copy.deepcopy(value) for name, value in values.items() if name in parameters}
                )
        except Exception:
            return None
        saved = set(made.state_dict(keep_vars=True))
        tensors = [(name, p, "Parameter") for name, p in made.named_parameters(remove_duplicate=False)]
        tensors += [
            (name, b, "Buffer") for name, b in made.named_buffers(remove_duplicate=False) if name in saved
        ]
        if len(tensors) > MAX_FITTED:
            return None
        proto = Instance(cls)
        body: dict[str, Any] = {}
        for name, tensor, kind in tensors:
            *path, last = name.split(".")
            inner = body
            for part in path:
                inner = inner.setdefault(part, {})
            leaf = Leaf(torch.nn.Parameter, kind, [("", int(size)) for size in tensor.shape])
            leaf.flags["frozen"] = kind == "Parameter" and not tensor.requires_grad
            inner[last] = leaf
        template = Template(cls, scope, proto, {}, Frame())
        template.fit = body
        for name, value in vars(made).items():
            if not name.startswith("_"):
                proto.attrs[name] = Sym(None, value) if isinstance(value, int | float | str) else value
        if tensors:
            template.notes.append(
                f"{cls.__name__} was not read ({reason}); its sizes are those of the default config"
            )
        return template

    def simple(self, statement: ast.stmt, env: Any) -> None:
        """A call for its effect that is not read becomes a note; whatever it changes shows in verify."""
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            mark = len(self.log)
            try:
                super().simple(statement, env)
            except Unsupported as error:
                self.rollback(mark)
                self.skip(ast.unparse(statement)[:80], str(error), place_of(statement, env))
            return
        try:
            super().simple(statement, env)
        except Unsupported as error:
            if not isinstance(statement, ast.Assign) or not isinstance(
                statement.targets[0], ast.Attribute | ast.Name
            ):
                raise
            for target in statement.targets:
                self.assign(target, Sym(None, UNKNOWN), env)
            self.skip(ast.unparse(statement)[:80], str(error), place_of(statement, env))


def is_own(function: Any) -> bool:
    """Whether a function is neither torch's nor transformers'."""
    home = getattr(function, "__module__", None) or "torch"
    return home.partition(".")[0] not in LIBRARIES


def _default(cls: type) -> Any:
    try:
        return cls()
    except Exception as error:
        raise Unsupported(f"{cls.__name__} has no default") from error
