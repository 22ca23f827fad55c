"""Modules: torch's layers as leaves, classes of the code as templates that are read once and called."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from archspec.derive import terms
from archspec.derive.state import Frame
from archspec.derive.tensorcalls import TensorCalls
from archspec.derive.terms import Facts
from archspec.derive.values import (
    MISSING,
    UNKNOWN,
    Bound,
    Choice,
    Config,
    Container,
    Instance,
    Leaf,
    ListValue,
    Mix,
    Mod,
    Parameters,
    Raised,
    Sym,
    Tensor,
    Unsupported,
    symbolic,
    witness,
)
from archspec.layers import LEAVES

_IGNORED = frozenset(
    "eps momentum dropout stride padding dilation output_padding padding_mode device dtype batch_first max_norm norm_type "
    "scale_grad_by_freq sparse _weight _freeze nonlinearity inplace init add_zero_attn".split()
)
_SKIPPED = frozenset(
    "post_init init_weights _init_weights initialize_weights apply tie_weights _backward_compatibility_gradient_checkpointing reset_parameters "
    "_reset_parameters reset_parameter gradient_checkpointing_enable _tie_weights register_forward_hook register_load_state_dict_pre_hook "
    "_register_load_state_dict_pre_hook _register_state_dict_hook register_forward_pre_hook register_full_backward_hook load_state_dict "
    "add_model_tags warn_if_padding_and_no_attention_mask init_parameters _freeze_parameters_hook prune_heads _prune_heads".split()
)


PARAMETRIC = ("prelu", "xielu")  # activations with parameters: no other text may stand for one unseen


class Template:
    """A class as read once: what its constructor leaves, in terms of its parameters and the config's fields."""

    def __init__(self, cls: type, scope: Config | None, proto: Instance, parameters: dict[str, Any], frame: Frame) -> None:
        self.cls, self.scope, self.proto = cls, scope, proto
        self.parameters = parameters
        self.require = list(frame.require.values())
        self.soft = list(frame.soft.values())
        self.notes = list(frame.notes)
        self.closed: dict[str, str] = {}
        self.fit: Any = None

    @property
    def path(self) -> tuple[str, ...]:
        return self.scope.path if self.scope is not None else ()


class Modules(TensorCalls):
    """Constructs modules."""

    def __init__(self) -> None:
        super().__init__()
        self.scope: Config | None = None
        self.formal: dict[tuple[type, str], set[str]] = {}
        self.memo: dict[Any, Any] = {}
        self.templates: list[Template] = []
        self.retry = False

    def construct(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        import torch
        from torch import nn

        if cls in (torch.nn.Parameter, torch.nn.Buffer):
            return self.tensor_holder(cls, arguments, keywords)
        if cls in (nn.ModuleList, nn.Sequential, nn.ModuleDict, nn.ParameterList, nn.ParameterDict):
            return self.container(cls, cls.__name__, arguments)
        if is_leaf(cls):
            return self.leaf(cls, arguments, keywords)
        if "Rotary" in cls.__name__:
            empty = self.without_tensors(cls, arguments, keywords)
            if empty is not None or not any(
                word in inspect.getsource(cls) for word in ("Parameter(", "Linear(", "Embedding(", "persistent=True")
            ):
                return empty or self.nothing(cls)
        if cls.__module__.startswith("torch.") and (empty := self.without_tensors(cls, arguments, keywords)) is not None:
            return empty
        return self.instance(cls, arguments, keywords)

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
            made.flags["frozen"] = True if trainable is False else Sym(terms.negation(self.node(trainable)), UNKNOWN)
        return made

    def buffer(self, value: Any) -> Any:
        import torch

        if isinstance(value, torch.Tensor):
            value = Tensor(list(value.shape), value)
        if isinstance(value, Choice):
            return self.lift(value, self.buffer)
        return Leaf(torch.nn.Buffer, "Buffer", [("", size) for size in value.sizes()]) if isinstance(value, Tensor) else value

    def container(self, cls: type, kind: str, arguments: list[Any]) -> Container:
        if kind in ("ModuleDict", "ParameterDict"):
            items = dict(arguments[0]) if arguments and isinstance(arguments[0], dict) else {}
            if arguments and not items and (pairs := self.spread(arguments[0])):
                items = {pair[0]: pair[1] for pair in (p if isinstance(p, tuple) else tuple(self.spread(p) or ()) for p in pairs)}
            return Container(cls, "ModuleDict", items)
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
                rest = arguments[:index], arguments[index + 1 :]
                return self.lift(argument, lambda side: self.leaf(cls, [*rest[0], side, *rest[1]], keywords))
        signature = inspect.signature(cls.__init__)
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
        padding = more.get("padding")
        if isinstance(padding, str) and padding == "same" and isinstance(more.get("stride"), Sym):
            self.require(terms.compare(self.node(more["stride"]), ast.Eq, terms.constant(1)))  # torch demands it
        return made

    def without_tensors(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Leaf | None:
        """torch's modules that hold no tensor (activations, dropout, pooling)."""
        import torch

        with torch.device("meta"):
            made = self.seen(lambda a, k: cls(*a, **k), tuple(arguments), keywords)
        if made is UNKNOWN:
            if not cls.__module__.startswith("torch."):
                return None
            if not any(hasattr(cls, name) for name in ("reset_parameters", "_reset_parameters")) and "__init__" in vars(cls):
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
        from torch import nn

        if isinstance(index, Sym):
            if index.value in PARAMETRIC and index.node is not None:
                holds = self.compare(ast.Eq, index, index.value)
                made = _activation_class(index.value)
                return self.fork(holds.node, True, lambda: self.construct(made, [], {}), lambda: self.nothing(nn.GELU))
            if index.node is not None and self.composed(index.node):
                known = [name for name in table if name not in PARAMETRIC]
                self.require(ast.Compare(index.node, [ast.In()], [terms.constant(known)]))
            return self.nothing(nn.GELU)
        found = _activation_class(index)
        return self.construct(found, [], {}) if index in PARAMETRIC else self.nothing(nn.GELU)

    def composed(self, node: ast.expr) -> bool:
        """Whether a text is made by the code, and not simply what the config says."""
        raise NotImplementedError

    # instances

    def instance(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        init = cls.__init__
        try:
            signature = inspect.signature(init)
            bound = signature.bind(None, *arguments, **keywords)
        except TypeError as error:
            raise Raised(f"TypeError: {error}") from error
        bound.apply_defaults()
        flat: dict[str, Any] = {}
        names = list(signature.parameters.values())[1:]
        for parameter in names:
            value = bound.arguments[parameter.name]
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                flat |= value
            elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                flat |= {f"*{index}": item for index, item in enumerate(value)}
            else:
                flat[parameter.name] = ListValue(value) if type(value) is list else value
        made = Instance(cls)
        main = next((value for value in flat.values() if isinstance(value, Config) and not value.store.get("$literal")), None)
        scope = main if main is not None else self.scope
        entered: dict[str, Any] = {}
        closed: dict[str, str] = {}
        for name, value in flat.items():
            if value is main and main is not None:
                entered[name] = self.entered(main, made)
                closed[name] = f"config {main.cls.__name__} {main.path} {sorted(main.store)}"
            else:
                entered[name] = self.entered_argument(cls, name, value, scope, made, closed)
        made.config = entered_main = next((v for v in entered.values() if isinstance(v, Config)), self.scope)
        default_scope = entered_main if main is not None else self.scope
        key = (cls, default_scope.path if default_scope else None, tuple(sorted(closed.items())))
        if key not in self.memo:
            self.memo[key] = self.read(cls, default_scope, entered, made)
        template = self.memo[key]
        if isinstance(template, Exception):
            raise template
        template.closed = closed
        made.template, made.attrs, made.base = template, template.proto.attrs, template.proto.base
        made.flags = dict(template.proto.flags)
        return made

    def entered(self, config: Config, made: Instance) -> Config:
        """A config as the constructed module sees it: what was set on it becomes a keyword of the call."""
        inner = config.copy()
        made.overrides = {
            ".".join((*config.path, f)): value for f, value in config.store.items() if not self.own_field(config, f, value)
        }
        if config.store and config.real is not None:
            import copy

            inner.real = copy.copy(config.real)
            for field, value in config.store.items():
                seen = witness(value)
                if seen is not UNKNOWN:
                    inner.real.__dict__[field] = seen
        inner.store = {}
        return inner

    def own_field(self, config: Config, field: str, value: Any) -> bool:
        return isinstance(value, Sym) and value.node is not None and terms.text(value.node) == terms.text(config.node(field))

    def entered_argument(
        self, cls: type, name: str, value: Any, scope: Config | None, made: Instance, closed: dict[str, str]
    ) -> Any:
        parameter = name.replace("*", "arg")  # one of `*args` has a name of its own in a draft
        if isinstance(value, Choice) and not isinstance(value.then, Sym) and terms.names(value.test):
            if self.local(value.test, scope) or (cls, name) in self.formal:
                made.arguments[parameter] = Sym(value.test, value.holds, ("bool",))
                closed[name] = f"choice {_identity(value.then)} {_identity(value.other)}"
                return Choice(terms.name(f"${parameter}"), value.then, value.other, value.holds)
        if isinstance(value, Mod | Config | Choice) or (isinstance(value, Sym) and value.node is None):
            closed[name] = _identity(value) if not isinstance(value, Sym) else "seen"
            return value
        try:
            node = self.node(value)
        except Unsupported:
            closed[name] = _identity(value)
            return value
        if (cls, name) in self.formal or self.local(node, scope):
            kinds = self.formal.setdefault((cls, name), set())
            types = self.types(value) or ("?",)
            if not set(types) <= kinds:
                kinds |= set(types)
                self.retry = True
            made.arguments[parameter] = (
                value if isinstance(value, Sym) else Sym(node, witness(value), tuple(types) if "?" not in types else ())
            )
            seen = witness(value)
            if value is None or isinstance(value, str | bool) and False:
                seen = value
            known = () if "?" in kinds else tuple(sorted(kinds))
            closed[name] = "$"
            return Sym(terms.name(f"${parameter}"), seen, known)
        closed[name] = terms.text(node)
        return value

    def local(self, node: ast.expr, scope: Config | None) -> bool:
        """Whether an expression means something only where the call stands."""
        prefix = ".".join(scope.path) + "." if scope is not None and scope.path else ""
        functions = {part.func.id for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}
        found = terms.names(node) - functions
        return any(name.startswith("$") or (prefix and not name.startswith(prefix)) for name in found)

    def read(self, cls: type, scope: Config | None, entered: dict[str, Any], made: Instance) -> Any:
        """Reads a class' constructor on its own: other logs, other facts."""
        proto = Instance(cls)
        proto.config = scope
        before = self.log, self.facts, self.scope
        self.log, self.facts, self.scope = [], Facts(), scope
        frame = Frame()
        self.frames.append(frame)
        try:
            positional = [entered[name] for name in entered if name.startswith("*")]
            named = {name: value for name, value in entered.items() if not name.startswith("*")}
            declared = list(inspect.signature(cls.__init__).parameters.values())[1:]
            parameters = [p.name for p in declared if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            if positional:
                leading = [named.pop(name) for name in parameters if name in named]
                positional = [*leading, *positional]
            init = cls.__init__
            owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
            self.module_method(Bound(proto, "__init__", init, owner), positional, named)
        except Raised as error:
            return error
        except (Unsupported, RecursionError) as error:
            template = self.fit(cls, scope, entered, f"{type(error).__name__}: {error}")
            if template is None:
                return error
            self.templates.append(template)
            return template
        finally:
            self.frames.pop()
            self.log, self.facts, self.scope = before
        template = Template(cls, scope, proto, dict(made.arguments), frame)
        self.templates.append(template)
        return template

    def fit(self, cls: type, scope: Config | None, entered: dict[str, Any], reason: str) -> Template | None:
        """A module whose code is not read: its tensors as they are at the default config."""
        raise NotImplementedError

    def alike(self, one: Any, two: Any) -> bool:
        if one.flags != two.flags or one.cls is not two.cls:
            return False
        if isinstance(one, Leaf):
            return self.same(dict(one.arguments), dict(two.arguments))
        if one.patched or two.patched or one.template is not two.template or one.template is None:
            return False
        return self.same(one.arguments, two.arguments) and self.same(one.overrides, two.overrides)

    def same(self, one: dict[str, Any], two: dict[str, Any]) -> bool:
        if one.keys() != two.keys():
            return False
        try:
            return all(one[k] is two[k] or terms.text(self.node(one[k])) == terms.text(self.node(two[k])) for k in one)
        except Unsupported:
            return False


def torch_tensor() -> type:
    import torch

    return torch.Tensor


def leaf_kind(cls: type) -> str:
    if cls.__name__.endswith("FrozenBatchNorm2d"):
        return "FrozenBatchNorm2d"
    return cls.__name__


def is_leaf(cls: type) -> bool:
    """Whether the layer table has the class."""
    own = cls.__module__.startswith("torch.nn.") or (cls.__name__ == "Conv1D" and cls.__module__ == "transformers.pytorch_utils")
    return own and cls.__name__ in LEAVES


def _activation_class(name: str) -> type:
    from transformers.activations import ACT2CLS

    found = ACT2CLS[name]
    cls: type = found[0] if isinstance(found, tuple) else found
    return cls


def _identity(value: Any) -> str:
    if isinstance(value, Config):
        return f"config {value.cls.__name__} {value.path} {sorted(value.store)} {id(value) if value.store else ''}"
    if isinstance(value, Choice):
        return f"{terms.text(value.test)} ? {_identity(value.then)} : {_identity(value.other)}"
    if isinstance(value, type) or not symbolic(value):
        return repr(value)
    return f"{type(value).__name__} {id(value)}"


__all__ = ["_SKIPPED", "MISSING", "Container", "Mix", "Modules", "Parameters", "Template", "is_leaf", "leaf_kind"]
