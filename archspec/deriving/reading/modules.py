"""Reading, 17 of 19: classes of the code as templates that are read once and called."""

from __future__ import annotations

import ast
import copy
import inspect
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.aftermath import Aftermath, instances
from archspec.deriving.reading.holding import holds_tensors
from archspec.deriving.reading.leaves import PARAMETRIC, is_leaf
from archspec.deriving.reading.state import Frame
from archspec.deriving.reading.tensorless import attributes_set
from archspec.deriving.reading.terms import Facts
from archspec.deriving.reading.values import (
    UNKNOWN,
    Bound,
    Choice,
    Config,
    Instance,
    Leaf,
    ListValue,
    Mod,
    Raised,
    Sym,
    Unsupported,
    constructor,
    symbolic,
    witness,
)

_SKIPPED = frozenset([
    "post_init", "init_weights", "_init_weights", "initialize_weights", "apply", "tie_weights",
    "_backward_compatibility_gradient_checkpointing", "reset_parameters", "_reset_parameters",
    "reset_parameter",
    "gradient_checkpointing_enable", "_tie_weights", "register_forward_hook",
    "register_load_state_dict_pre_hook",
    "_register_load_state_dict_pre_hook", "_register_state_dict_hook", "register_forward_pre_hook",
    "register_full_backward_hook", "load_state_dict", "add_model_tags",
    "warn_if_padding_and_no_attention_mask",
    "init_parameters", "_freeze_parameters_hook", "prune_heads", "_prune_heads",
])  # fmt: skip


_OF_ONES_OWN = frozenset([  # of these names those that the user's own code defines are read
    "init_weights", "initialize_weights", "tie_weights", "_tie_weights", "reset_parameters",
    "_reset_parameters", "reset_parameter", "init_parameters",
])  # fmt: skip


class Template:
    """A class as read once: what its constructor leaves, in terms of its parameters and the config's
    fields."""

    def __init__(
        self, cls: type, scope: Config | None, proto: Instance, parameters: dict[str, Any], frame: Frame
    ) -> None:
        self.cls, self.scope, self.proto = cls, scope, proto
        self.parameters = parameters
        self.require = list(frame.require.values())
        self.soft = list(frame.soft.values())
        self.notes = list(frame.notes)
        self.closed: dict[str, str] = {}
        self.left: dict[str, Any] = {}  # what the constructor leaves on the config that it is given
        self.fit: Any = None

    @property
    def path(self) -> tuple[str, ...]:
        return self.scope.path if self.scope is not None else ()


class Modules(Aftermath):
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
                word in inspect.getsource(cls)
                for word in ("Parameter(", "Linear(", "Embedding(", "persistent=True")
            ):
                self.frequencies(cls, [*arguments, *keywords.values()])
                return empty or self.nothing(cls)
        if (
            cls.__module__.startswith("torch.")
            and (empty := self.without_tensors(cls, arguments, keywords)) is not None
        ):
            return empty
        return self.instance(cls, arguments, keywords)

    def frequencies(self, cls: type, given: list[Any]) -> None:
        """What a rotary embedding without tensors divides by: of its code, only what computes the frequencies
        is read."""
        config = next((value for value in given if isinstance(value, Config)), None)
        if config is None:
            return
        from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

        rope = getattr(config.real, "rope_parameters", None) or {}
        of_layers = {
            kind: one for kind, one in rope.items() if isinstance(one, dict)
        }  # one for each kind of layer
        ways = [(one, {"layer_type": kind}) for kind, one in of_layers.items()] or [(rope, {})]
        for one, keywords in ways:
            kind = one.get("rope_type", "default")
            compute = getattr(cls, f"compute_{kind}_rope_parameters", None) or ROPE_INIT_FUNCTIONS.get(kind)
            if compute is None:
                continue
            mark = len(self.log)
            try:
                self.call(compute, [config], keywords)
            except (Unsupported, Raised) as error:
                self.note(f"not read: the frequencies of {cls.__name__} ({error})")
            finally:
                self.rollback(mark)

    # instances

    def instance(self, cls: type, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        init = constructor(cls)
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
        main = self.main_config(flat)
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
        self.unread += any(note.startswith("not read: ") for note in template.notes)
        template.closed = closed
        made.template, made.attrs, made.base = template, template.proto.attrs, template.proto.base
        made.flags = dict(template.proto.flags)
        if main is not None:
            self.left_behind(main, made)
        frame = self.frames[-1]
        for handed in instances(list(flat.values())):  # whoever holds it says what it demands
            self.erase(frame.made, handed.born)
        if made.base is not None or not holds_tensors(made):
            self.taken_over(made)
        elif template.require or template.soft:
            self.write(frame.made, made.born, (made, tuple(frame.path), tuple(frame.loops)))
        return made

    def main_config(self, given: dict[str, Any]) -> Config | None:
        """The config that a module is of: the first it is given, or the caller's own, where it reads another
        part of that too."""
        configs = [
            value for value in given.values() if isinstance(value, Config) and not value.store.get("$literal")
        ]
        if not configs:
            return None
        here = self.scope.path if self.scope is not None else ()
        apart = any(other.path[: len(configs[0].path)] != configs[0].path for other in configs)
        return None if apart and all(other.path[: len(here)] == here for other in configs) else configs[0]

    def entered(self, config: Config, made: Instance) -> Config:
        """A config as the constructed module sees it: what was set on it becomes a keyword of the call."""
        inner = config.copy()
        made.overrides = {
            ".".join((*config.path, f)): value
            for f, value in config.store.items()
            if not self.own_field(config, f, value)
        }
        if config.store and config.real is not None:
            inner.real = copy.copy(config.real)
            for field, value in config.store.items():
                seen = witness(value)
                if seen is not UNKNOWN:
                    inner.real.__dict__[field] = seen
        inner.store = {}
        return inner

    def entered_argument(
        self, cls: type, name: str, value: Any, scope: Config | None, made: Instance, closed: dict[str, str]
    ) -> Any:
        parameter = name.replace("*", "arg")  # one of `*args` has a name of its own in a draft
        chosen = isinstance(value, Choice) and not isinstance(value.then, Sym) and terms.names(value.test)
        if chosen and (self.local(value.test, scope) or (cls, name) in self.formal):
            made.arguments[parameter] = Sym(value.test, value.holds, ("bool",))
            closed[name] = f"choice {_identity(value.then)} {_identity(value.other)}"
            return Choice(terms.name(f"${parameter}"), value.then, value.other, value.holds)
        if isinstance(value, Instance | Leaf) and (arguments := self.local_arguments(value, scope)):
            return self.entered_module(cls, parameter, value, arguments, made, closed)
        if isinstance(value, Mod | Config | Choice) or (isinstance(value, Sym) and value.node is None):
            closed[name] = _identity(value) if not isinstance(value, Sym) else "seen"
            return value
        try:
            node = self.node(value)
        except Unsupported:
            held = (
                vars(value).values()
                if type(value).__module__ != "builtins" and hasattr(value, "__dict__")
                else ()
            )
            if any(
                isinstance(item, Sym) and item.node is not None and self.local(item.node, scope)
                for item in held
            ):
                raise Unsupported(
                    f"a {type(value).__name__} that holds what means something elsewhere"
                ) from None
            closed[name] = _identity(value)
            return value
        if (cls, name) in self.formal or self.local(node, scope):
            inner = self.formal_argument(cls, name, parameter, value, node, made)
            if inner.types == ("list",) and (items := _items(value)):
                closed[name] = f"$ {len(items)}"
                return opened(inner, [self.types(item) for item in items], type(value))
            closed[name] = "$"
            return inner
        closed[name] = terms.text(node)
        return value

    def given_for_tuple(self, node: ast.expr | None) -> ast.expr | None:
        if not isinstance(node, ast.Name) or self.scope is None or hasattr(node, "listed"):
            return None
        *path, field = node.id.split(".")
        default = getattr(self.scope.real, field, None) if tuple(path) == self.scope.path else None
        return terms.call("given", ast.Constant(field)) if isinstance(default, tuple) else None

    def formal_argument(
        self, cls: type, name: str, parameter: str, value: Any, node: ast.expr, made: Instance
    ) -> Sym:
        """A parameter of the draft's module: inside it is a name, the call says what it is."""
        noted = self.formal.setdefault((cls, name), set())
        seen = witness(value)
        types = self.types(value) or ("?",)
        news = {*types, *([f"={seen}"] if isinstance(seen, str) and seen in PARAMETRIC else [])}
        if not news <= noted:
            noted |= news
            self.retry = True
        kinds = {kind for kind in noted if kind[0] != "="}
        seen = next(
            (kind[1:] for kind in sorted(noted) if kind[0] == "="), seen
        )  # that of any call that asks for more
        made.arguments[parameter] = (
            value
            if isinstance(value, Sym)
            else Sym(node, witness(value), tuple(types) if "?" not in types else ())
        )
        return Sym(terms.name(f"${parameter}"), seen, () if "?" in kinds else tuple(sorted(kinds)))

    def local_arguments(self, value: Instance | Leaf, scope: Config | None) -> list[str]:
        """The arguments of a module that mean something only where it was made."""
        if isinstance(value, Instance) and (value.patched or value.overrides or value.flags.get("wrap")):
            return []
        given = value.arguments.items() if isinstance(value, Instance) else value.arguments
        return [
            key
            for key, item in given
            if isinstance(item, Sym) and item.node is not None and self.local(item.node, scope)
        ]

    def entered_module(
        self,
        cls: type,
        parameter: str,
        value: Instance | Leaf,
        local: list[str],
        made: Instance,
        closed: dict[str, str],
    ) -> Mod:
        """A module that is handed to another one: what it is made of becomes that one's parameters."""
        inner = copy.copy(value)
        pairs = value.arguments.items() if isinstance(value, Instance) else value.arguments
        entered: list[tuple[str, Any]] = []
        for key, item in pairs:
            name = f"{parameter}_{key}".rstrip("_")
            name += "_" if name in inspect.signature(constructor(cls)).parameters else ""
            entered.append(
                (key, self.formal_argument(cls, name, name, item, item.node, made) if key in local else item)
            )
        what = id(value.template) if isinstance(value, Instance) else value.kind
        texts = [
            _identity(item) if not isinstance(item, Sym) or not item.node else terms.text(item.node)
            for _, item in entered
        ]
        closed[parameter] = f"<{what} {texts} {value.flags}>"
        if isinstance(inner, Instance):
            inner.arguments = dict(entered)
        else:
            inner.arguments = entered
        return inner

    def local(self, node: ast.expr, scope: Config | None) -> bool:
        """Whether an expression means something only where the call stands."""
        prefix = ".".join(scope.path) + "." if scope is not None and scope.path else ""
        functions = {
            part.func.id
            for part in ast.walk(node)
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
        }
        found = terms.names(node) - functions
        return any(name.startswith("$") or (prefix and not name.startswith(prefix)) for name in found)

    def read(self, cls: type, scope: Config | None, entered: dict[str, Any], made: Instance) -> Any:
        """Reads a class' constructor on its own: other logs, other facts."""
        proto = Instance(cls)
        proto.config = scope
        before, unread = (self.log, self.facts, self.scope), self.unread
        self.log, self.facts, self.scope = [], Facts(), scope
        frame = Frame()
        self.frames.append(frame)
        try:
            positional = [entered[name] for name in entered if name.startswith("*")]
            named = {name: value for name, value in entered.items() if not name.startswith("*")}
            declared = list(inspect.signature(constructor(cls)).parameters.values())[1:]
            parameters = [p.name for p in declared if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            if positional:
                leading = [named.pop(name) for name in parameters if name in named]
                positional = [*leading, *positional]
            init = constructor(cls)
            owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
            self.module_method(Bound(proto, "__init__", init, owner), positional, named)
            if isinstance(inspect.getattr_static(cls, "_tied_weights_keys", None), property):
                proto.attrs["_tied_weights_keys"] = self.attribute(proto, "_tied_weights_keys")
            self.thrown_away(proto)
        except Raised as error:
            return error
        except (Unsupported, RecursionError) as error:
            template = self.calculating(cls, scope, entered) or self.fit(
                cls, scope, entered, f"{type(error).__name__}: {error}"
            )
            if template is None:
                return error
            self.templates.append(template)
            return template
        finally:
            self.frames.pop()
            self.log, self.facts, self.scope = before
        if self.unread > unread and self.calculating(cls, scope, entered):
            self.unread, frame.notes = unread, {}
        template = Template(cls, scope, proto, dict(made.arguments), frame)
        if scope is not None:
            template.left = {
                name: value for name, value in scope.store.items() if not self.own_field(scope, name, value)
            }
        self.templates.append(template)
        return template

    def calculating(self, cls: type, scope: Config | None, entered: dict[str, Any]) -> Template | None:
        """A module that is not read, and holds no tensor all the same; its attributes are not known."""
        names = attributes_set(cls) if all(map(_no_module, entered.values())) else None
        if names is None:
            return None
        proto = Instance(cls)
        proto.attrs |= {name: Sym(None, UNKNOWN) for name in names}
        return Template(cls, scope, proto, {}, Frame())

    def fit(self, cls: type, scope: Config | None, entered: dict[str, Any], reason: str) -> Template | None:
        """A module whose code is not read: its tensors as they are at the default config."""
        raise NotImplementedError


def _no_module(value: Any) -> bool:
    if isinstance(value, Choice):
        return _no_module(value.then) and _no_module(value.other)
    return isinstance(value, Sym | Config) or not symbolic(value)


def _items(value: Any) -> list[Any]:
    """The items of a list or tuple of known length."""
    if isinstance(value, ListValue):
        return value.items() if value.plain else []
    return list(value) if isinstance(value, tuple) else []


def opened(value: Sym, types: list[tuple[str, ...]], kind: type) -> Any:
    """An argument that is a list of known length, item by item."""
    seen = value.value if isinstance(value.value, list | tuple) else [UNKNOWN] * len(types)
    items = []
    for index, kinds in enumerate(types):
        assert value.node is not None
        node = ast.Subscript(value.node, ast.Constant(index), ast.Load())
        node.whole = len(types)  # type: ignore[attr-defined]  # how many there are: all of them together are the argument
        items.append(Sym(node, seen[index], kinds))
    return tuple(items) if kind is tuple else ListValue(items)


def _identity(value: Any) -> str:
    if isinstance(value, Config):
        own = id(value) if value.store else ""
        return f"config {value.cls.__name__} {value.path} {sorted(value.store)} {own}"
    if isinstance(value, Choice):
        return f"{terms.text(value.test)} ? {_identity(value.then)} : {_identity(value.other)}"
    if isinstance(value, type) or not symbolic(value):
        return repr(value)
    return f"{type(value).__name__} {id(value)}"
