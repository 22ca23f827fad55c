"""What was read, as modules of a spec: templates to bodies, modules to constructor expressions."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from typing import Any

from archspec.derive import terms
from archspec.derive.configs import Reader
from archspec.derive.modules import Template
from archspec.derive.values import (
    UNKNOWN,
    Choice,
    Config,
    Container,
    Element,
    Instance,
    Leaf,
    ListValue,
    Mix,
    Mod,
    Sym,
    Unsupported,
)
from archspec.layers import LEAVES, nothing

Body = ast.expr | dict[str, Any] | list[Any]
_EMPTY = frozenset(kind for kind, function in LEAVES.items() if function is nothing)


class Module:
    """A module of the draft: its name, parameters, body, and what it says about ties and requirements."""

    def __init__(self, name: str, cls: type, home: str, path: tuple[str, ...]) -> None:
        self.name, self.cls, self.home, self.path = name, cls, home, path
        self.parameters: dict[str, ast.expr | None] = {}
        self.order: list[str] = []
        self.body: Body = {}
        self.require: list[ast.expr] = []
        self.tied: dict[str, str] = {}
        self.alias: dict[str, str] = {}
        self.notes: list[str] = []
        self.used: set[str] = set()
        self.template: Template | None = None
        self.calls: dict[str, Module] = {}


class Dynamic:
    """Attributes that a loop sets: their name and the loop over the modules."""

    def __init__(self, key: ast.expr, modules: ast.expr) -> None:
        self.key, self.modules = key, modules


class Emitter:
    """Gives every template its module; templates that come out alike share one."""

    def __init__(self, reader: Reader, home: str, cls: type = object) -> None:
        self.reader, self.root, self.root_class = reader, home, cls
        self.modules: dict[tuple[str, str], Module] = {}
        self.done: dict[int, Module | None] = {}
        self.variants: dict[tuple[str, type], list[Module]] = {}
        self.current: list[Module] = []
        self.finish: Callable[[Module], None] | None = None

    def home(self, template: Template) -> str:
        scope = template.scope
        return home_of(scope.cls) if scope is not None and (scope.path or scope.cls is not self.root_class) else self.root

    def module(self, template: Template) -> Module | None:
        """The module of a template; None for one without tensors."""
        if id(template) not in self.done:
            self.done[id(template)] = None
            self.done[id(template)] = self.described(template)
        return self.done[id(template)]

    def described(self, template: Template, patched: dict[str, Any] | None = None) -> Module | None:
        module = Module(template.cls.__name__, template.cls, self.home(template), template.path)
        module.template = template
        self.current.append(module)
        try:
            attrs = dict(template.fit) if template.fit is not None else dict(template.proto.attrs)
            attrs |= patched or {}
            body = self.body(template.proto.base, attrs)
            if body is None:
                return None
            module.body = body
            module.require = [node for node in (self.named(node) for node in template.require) if node is not None]
            module.require += self.soft(module, template)
            module.notes += template.notes
        finally:
            self.current.pop()
        self.parameters(module, template)
        if self.finish is not None:
            self.finish(module)
        return self.shared(module)

    def soft(self, module: Module, template: Template) -> list[ast.expr]:
        """Divisions by zero that the module's own expressions and the config's would not run into."""
        model = self.reader.models.get(template.scope.cls) if template.scope else None
        whole = repr([shown(module.body), *map(shown, module.require)])
        config = [] if model is None else [*model.computed.values(), *model.fixed.values(), *model.require]
        settings = repr([shown(node) for node in config])
        kept = []
        for node in template.soft:
            own = relocated(node, template.path, ())  # as the config class itself calls its fields
            if not said_by(node, whole) and not said_by(own, settings) and (checked := self.named(node)) is not None:
                kept.append(checked)
        return kept

    def shared(self, module: Module) -> Module:
        known = self.variants.setdefault((module.home, module.cls), [])
        for other in known:
            if signature(other) == signature(module):
                return other
        known.append(module)
        name, count = module.name, 1
        while (module.home, module.name) in self.modules:
            count += 1
            module.name = f"{name}{count}"
        self.modules[module.home, module.name] = module
        return module

    def parameters(self, module: Module, template: Template) -> None:
        """The parameters that the body uses, with the constructor's defaults where those are plain."""
        used = {name for name in module.used if name.startswith("$") and "." not in name}
        declared = inspect.signature(template.cls.__init__).parameters
        for name in template.parameters:
            if f"${name}" in used:
                default = declared[name].default if name in declared else inspect.Parameter.empty
                plain = isinstance(default, bool | int | float | str | None)
                module.parameters[name] = terms.constant(default) if plain else None
        required = [name for name, default in module.parameters.items() if default is None]
        module.order = required + [name for name in module.parameters if name not in required]

    def body(self, base: Any, attrs: dict[str, Any]) -> Body | None:
        found: dict[str, Any] = {}
        grads = {key.removeprefix("$grad."): value for key, value in attrs.items() if key.startswith("$grad.")}
        for name, value in attrs.items():
            value = as_module(value)
            if (
                isinstance(value, dict)
                and not name.startswith("$")
                and value
                and all(isinstance(v, Mod | dict) for v in value.values())
            ):
                inner = self.body(None, value)
                if inner:
                    found[name] = inner
            elif isinstance(value, Container) and value.kind == "Dynamic":
                if self.tensors_in(value.items):
                    found[name] = Dynamic(self.checked(self.reader.node(value.attrs["$key"])), self.items(value.items))
            elif isinstance(value, Mod) and not name.startswith("$"):
                part = self.attribute_body(value)
                if part is not None:
                    found[name] = part
        if base is None:
            return found or None
        if isinstance(base, Container):
            own = self.attribute_body(base)
            if own is None or not found:
                return own or found or None
            if isinstance(own, list):
                return {**{str(i): part for i, part in enumerate(own) if not is_none(part)}, **found}
            raise Unsupported("a list of modules with attributes of its own")
        assert isinstance(base, Leaf)
        if not found and not grads:
            return self.expression(base)
        tensors = self.leaf_tensors(base)
        return {**tensors, **found}

    def leaf_tensors(self, base: Leaf) -> dict[str, Any]:
        arguments = [self.scalar(value) for _, value in base.arguments if value is not None]
        if base.kind == "Embedding":
            return {"weight": ast.Call(terms.name("Parameter"), arguments[:2], [])}
        if base.kind == "Linear":
            made = {"weight": ast.Call(terms.name("Parameter"), arguments[1::-1], [])}
            bias = dict(base.arguments).get("bias", True)
            parameter = ast.Call(terms.name("Parameter"), [arguments[1]], [])
            if bias is True:
                made["bias"] = parameter
            elif isinstance(bias, Sym):
                made["bias"] = ast.IfExp(self.scalar(bias), parameter, ast.Constant(None))
            return made
        if base.kind in ("LayerNorm", "RMSNorm"):
            made = {"weight": ast.Call(terms.name("Parameter"), arguments[:1], [])}
            return made if base.kind == "RMSNorm" else {**made, "bias": made["weight"]}
        raise Unsupported(f"a {base.kind} with attributes of its own")

    def attribute_body(self, value: Mod) -> Any:
        """A module as an attribute's value: a list stays a YAML list, anything else is an expression."""
        if isinstance(value, Container) and value.kind == "Sequential" and value.items.plain and not value.flags["frozen"]:
            parts = [self.expression(item) if item is not None else None for item in value.items.items()]
            if not any(parts):
                return None
            return [
                part if part is not None else self.placeholder(item)
                for part, item in zip(parts, value.items.items(), strict=True)
            ]
        return self.expression(value)

    def placeholder(self, item: Any) -> ast.expr:
        kind = item.kind if isinstance(item, Leaf) and item.kind in _EMPTY else "Identity"
        return terms.constant(None) if item is None else terms.call(kind)

    def expression(self, value: Any) -> ast.expr | None:
        """A module as a constructor expression; None for one without tensors."""
        found = self.plain_expression(value)
        if found is None:
            return None
        wrap = value.flags.get("wrap")
        if wrap:
            kind, options = wrap
            if kind != "weight_norm":
                raise Unsupported(kind)
            keywords = [ast.keyword(key, self.scalar(option)) for key, option in options.items()]
            found = ast.Call(terms.name("weight_norm"), [found], keywords)
        frozen = self.frozen(value)
        if frozen is True and not (isinstance(value, Leaf) and value.kind in ("Parameter", "Buffer")):
            found = method(found, "requires_grad_", ast.Constant(False))
        elif isinstance(frozen, Sym):
            found = method(found, "requires_grad_", terms.negation(self.scalar(frozen)))
        return found

    def frozen(self, value: Mod) -> Any:
        """Whether a module is frozen, as a whole or by each of its tensors; one that is in part is a comment."""
        grads = {key.removeprefix("$grad."): grad for key, grad in value.attrs.items() if str(key).startswith("$grad.")}
        if not isinstance(value, Leaf) or not grads or all(grad is True for grad in grads.values()):
            return value.flags.get("frozen")
        if grads.keys() == self.tensor_names(value) and len({repr(grad) for grad in grads.values()}) == 1:
            grad = next(iter(grads.values()))
            return not grad if isinstance(grad, bool) else Sym(terms.negation(self.reader.node(grad)), UNKNOWN, ("bool",))
        self.current[-1].notes.append(f"requires_grad of {', '.join(grads)} of a {value.kind} is not described")
        return value.flags.get("frozen")

    def tensor_names(self, leaf: Leaf) -> set[str]:
        """The names of a layer's parameters, for the layers with a weight and, mostly, a bias."""
        given = dict(leaf.arguments)
        bias = "bias" in inspect.signature(LEAVES[leaf.kind]).parameters and given.get("bias", True) is not False
        return {"weight", "bias"} if bias or leaf.kind in ("Conv1D", "GroupNorm") else {"weight"}

    def plain_expression(self, value: Any) -> ast.expr | None:
        if value is None:
            return None
        if isinstance(value, Leaf):
            return self.leaf(value)
        if isinstance(value, Instance):
            return self.instance(value)
        if isinstance(value, Container):
            return self.container(value)
        if isinstance(value, Mix):
            then = self.expression(value.then) if value.then is not None else None
            other = self.expression(value.other) if value.other is not None else None
            if then is None and other is None:
                return None
            none = terms.constant(None)
            return terms.conditional(self.condition(value.test), then or none, other or none)
        if isinstance(value, Element):
            return self.expression(value.like)
        raise Unsupported(f"{type(value).__name__} as a module")

    def leaf(self, value: Leaf) -> ast.expr | None:
        if value.kind in _EMPTY:
            return None
        if value.kind in ("Parameter", "Buffer"):
            frozen = (
                [ast.keyword("requires_grad", ast.Constant(False))]
                if value.flags["frozen"] is True and value.kind == "Parameter"
                else []
            )
            return ast.Call(terms.name(value.kind), [self.scalar(size) for _, size in value.arguments], frozen)
        defaults = inspect.signature(LEAVES[value.kind]).parameters
        positional: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        given = dict(value.arguments)
        bias = as_module(value.attrs.get("bias"))
        if isinstance(bias, Leaf | Mix) and "bias" in defaults:  # a bias that is set afterwards
            given["bias"] = (
                True if isinstance(bias, Leaf) else Sym(bias.test if bias.then is not None else terms.negation(bias.test), None)
            )
        for name, parameter in defaults.items():
            if name not in given:
                continue
            item = given[name]
            if not isinstance(item, Sym) and item == parameter.default and type(item) is type(parameter.default):
                continue
            node = self.scalar(item)
            if (
                not keywords
                and (len(positional) == list(defaults).index(name))
                and parameter.default in (inspect.Parameter.empty, None)
            ):
                positional.append(node)
            else:
                keywords.append(ast.keyword(name, node))
        return ast.Call(terms.name(value.kind), positional, keywords)

    def instance(self, value: Instance) -> ast.expr | None:
        template = value.template
        assert template is not None
        if value.patched:
            module = self.patched(value)
        else:
            module = self.module(template)
        if module is None:
            return None
        norm = self.norm(module)
        if norm is not None:
            norm = relocated(norm, module.path, template.path)
            self.checked(norm)
            return terms.substitute(norm, {name: self.scalar(Sym(node, None)) for name, node in value.rebind().items()})
        arguments: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        for name in module.order:
            item = value.arguments.get(name)
            default = module.parameters[name]
            if name not in value.arguments:
                continue
            node = self.scalar(item)
            if default is not None and terms.text(default) == terms.text(node):
                continue
            if len(arguments) == module.order.index(name) and not keywords and default is None:
                arguments.append(node)
            else:
                keywords.append(ast.keyword(name, node))
        read = {relocated_name(name, module.path, template.path) for name in self.fields_of(module)} if value.overrides else set()
        for name, item in value.overrides.items():
            if name in read:
                keywords.append(ast.keyword(name.removeprefix(".".join(template.path) + "."), self.scalar(item)))
        auto = value.flags.get("auto")
        here = self.current[-1].path
        if template.path != here:
            if template.path[: len(here)] != here:
                raise Unsupported(f"{module.name} reads a config that is not at hand")
            sub = ".".join(template.path)
            self.current[-1].used.add(sub)
            arguments.insert(0, terms.name(sub))
        self.current[-1].calls[module.name] = module
        return ast.Call(terms.name(auto or module.name), arguments, keywords)

    def fields_of(self, module: Module, seen: set[int] | None = None) -> set[str]:
        """Every config field that a module reads, itself or further in."""
        seen = seen if seen is not None else set()
        if id(module) in seen:
            return set()
        seen.add(id(module))
        found = {name for name in module.used if not name.startswith("$")}
        for inner in module.calls.values():
            found |= self.fields_of(inner, seen)
        if module.tied:
            found.add(".".join((*module.path, "tie_word_embeddings")))
        return found

    def patched(self, value: Instance) -> Module | None:
        """A module with attributes that were set on it from outside is a module of its own."""
        template = value.template
        inner = {name: item for name, item in value.patched.items()}
        names = {name: item for name, item in inner.items() if isinstance(item, Mod) or item is None}
        if not names:
            return self.module(template)
        return self.described(template, names)

    def norm(self, module: Module) -> ast.expr | None:
        """`RMSNorm(size)` for a class of that name that holds one weight."""
        body = module.body
        if (
            not module.name.rstrip("0123456789").endswith("RMSNorm")
            or not isinstance(body, dict)
            or list(body) != ["weight"]
            or module.require
        ):
            return None
        weight = body["weight"]
        if (
            isinstance(weight, ast.Call)
            and isinstance(weight.func, ast.Name)
            and weight.func.id == "Parameter"
            and len(weight.args) == 1
        ):
            return None if weight.keywords else ast.Call(terms.name("RMSNorm"), weight.args, [])
        return None

    def container(self, value: Container) -> ast.expr | None:
        if isinstance(value.items, dict):
            if "$each" in value.items:
                _, pair, turns = value.items["$each"]
                element = self.expression(pair[1])
                if element is None:
                    return None
                generators = [ast.comprehension(t, self.checked(i), list(ifs), 0) for t, i, ifs in turns]
                return ast.DictComp(self.scalar(pair[0]), element, generators)
            pairs = {key: self.expression(item) for key, item in value.items.items() if item is not None}
            kept = {key: item for key, item in pairs.items() if item is not None}
            return ast.Dict([terms.constant(str(key)) for key in kept], list(kept.values())) if kept else None
        if not self.tensors_in(value.items):
            return None
        inner = self.items(value.items)
        if value.kind == "Sequential":
            return ast.Call(terms.name("Sequential"), inner.elts if isinstance(inner, ast.List) else [inner], [])
        return inner if isinstance(inner, ast.ListComp) else ast.Call(terms.name("ModuleList"), [inner], [])

    def tensors_in(self, items: ListValue) -> bool:
        for part in items.parts:
            if part[0] in ("item", "each"):
                value = part[1]
                if isinstance(value, Sym):
                    inner = part[2][-1][1]
                    if isinstance(inner, ListValue) and self.tensors_in(inner):
                        return True
                elif isinstance(value, ListValue | Container):
                    if self.tensors_in(value.items if isinstance(value, Container) else value):
                        return True
                elif value is not None and self.expression(value) is not None:
                    return True
            elif part[0] == "if" and (self.tensors_in(part[2]) or self.tensors_in(part[3])):
                return True
        return False

    def items(self, value: ListValue) -> ast.expr:
        def node(item: Any) -> ast.expr:
            if isinstance(item, Sym) and isinstance(item.node, ast.Name):
                return item.node
            if isinstance(item, ListValue):
                return self.items(item)
            return self.expression(item) or self.placeholder(item)

        nested = []
        for part in value.parts:
            if part[0] == "each":
                turns = tuple(
                    (t, self.items(i) if isinstance(i, ListValue) else self.checked(i), tuple(map(self.condition, ifs)))
                    for t, i, ifs in part[2]
                )
                part = ("each", part[1], turns)
            elif part[0] == "if":
                part = ("if", self.condition(part[1]), *part[2:])
            nested.append(part)
        return self.reader.joined_lists(ListValue.of(nested), node)

    def condition(self, node: ast.expr) -> ast.expr:
        return self.checked(node)

    def scalar(self, value: Any) -> ast.expr:
        if isinstance(value, Choice):
            return terms.conditional(self.checked(value.test), self.scalar(value.then), self.scalar(value.other))
        return self.checked(self.reader.node(value))

    def named(self, node: ast.expr) -> ast.expr | None:
        try:
            return self.checked(node)
        except Unsupported:
            return None

    def checked(self, node: ast.expr) -> ast.expr:
        """Notes which names an expression reads."""
        if self.current:
            functions = {
                part.func.id for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
            }
            self.current[-1].used |= terms.names(node) - functions
            for part in ast.walk(node):
                if getattr(part, "seen", False) and isinstance(part, ast.expr):
                    self.current[-1].notes.append(f"{terms.text(part)} was seen at the default config only")
        return node


def as_module(value: Any) -> Any:
    """A choice between a module and something else, as the module that there is or is not."""
    if isinstance(value, Choice):
        then, other = as_module(value.then), as_module(value.other)
        if isinstance(then, Mod) or isinstance(other, Mod):
            return Mix(
                value.test, then if isinstance(then, Mod) else None, other if isinstance(other, Mod) else None, value.holds
            )
    return value


def home_of(cls: type) -> str:
    """The model type whose spec describes what a config class configures."""
    return (
        str(getattr(cls, "model_type", "")) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__.removesuffix("Config")).lower()
    )


def relocated_name(name: str, old: tuple[str, ...], new: tuple[str, ...]) -> str:
    """A field's absolute path where the same module stands at another sub-config."""
    if old == new or name.startswith("$"):
        return name
    prefix = ".".join(old) + "." if old else ""
    return ".".join((*new, name[len(prefix) :])) if name.startswith(prefix) else name


def relocated(node: ast.expr, old: tuple[str, ...], new: tuple[str, ...]) -> ast.expr:
    functions = {part.func.id for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}
    return terms.substitute(node, {name: terms.name(relocated_name(name, old, new)) for name in terms.names(node) - functions})


def said_by(node: ast.expr, whole: str) -> bool:
    """Whether expressions fail by themselves where a soft requirement does not hold."""
    inner = node.values[-1] if isinstance(node, ast.BoolOp) else node
    while isinstance(inner, ast.Call) and isinstance(inner.args[0], ast.GeneratorExp):
        inner = inner.args[0].elt
    if isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.NotEq):
        by = shown(inner.left)
        return any(f"{op} {by}{end}" in whole for op in "/%" for end in (" ", ")", "'", ",", "]")) or f"{by} ** -" in whole
    asked = [part for part in ast.walk(inner) if isinstance(part, ast.Call) and terms.text(part.func) in ("len", "is_list")]
    return any(shown(part.args[0]) in whole for part in asked) if asked else True


def method(owner: ast.expr, name: str, argument: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(owner, name, ast.Load()), [argument], [])


def is_none(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def plain(name: str) -> str:
    """A local name without its mark and number; two loops of a class may share one."""
    return name.split(".")[0].lstrip("$") if name.startswith("$") else name


def shown(body: Any) -> Any:
    """A body as text, for comparison."""
    if isinstance(body, ast.expr):
        import copy

        made = copy.deepcopy(body)
        for part in ast.walk(made):
            if isinstance(part, ast.Name):
                part.id = plain(part.id)
        return ast.unparse(made)
    if isinstance(body, Dynamic):
        return (shown(body.key), shown(body.modules))
    if isinstance(body, dict):
        return tuple((key, shown(value)) for key, value in body.items())
    return tuple(shown(value) for value in body)


def signature(module: Module) -> Any:
    prefix = ".".join(module.path) + "." if module.path else ""

    def relative(text: Any) -> Any:
        if isinstance(text, str):
            return text.replace(prefix, "") if prefix else text
        return tuple(relative(item) for item in text)

    ties = tuple(f"{a}: {b}" for a, b in (*module.tied.items(), *module.alias.items()))
    return relative((shown(module.body), tuple(module.parameters), tuple(shown(node) for node in module.require), ties))


__all__ = ["Config", "Emitter", "Module", "plain", "shown"]
