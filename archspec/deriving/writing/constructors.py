"""Writing, 1 of 5: modules as constructor expressions, with the lists and the conditions that they
stand in."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.configs import Reader
from archspec.deriving.reading.copies import changed, changes
from archspec.deriving.reading.modules import Template
from archspec.deriving.reading.values import (
    UNKNOWN,
    Choice,
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
from archspec.deriving.writing.parts import (
    Module,
    as_module,
    relocated,
    relocated_name,
)
from archspec.specs.torch_layers import LEAVES, no_tensors

_EMPTY = frozenset(kind for kind, function in LEAVES.items() if function is no_tensors)


class Constructors:
    """Writes what stands after an attribute's name."""

    def __init__(self, reader: Reader, home: str, cls: type = object) -> None:
        self.reader, self.root, self.root_class = reader, home, cls
        self.modules: dict[tuple[str, str], Module] = {}
        self.done: dict[int, Module | None] = {}
        self.variants: dict[tuple[str, type], list[Module]] = {}
        self.asked: set[tuple[str, str]] = set()  # modules that another model type's draft calls by name
        self.current: list[Module] = []
        self.finish: Callable[[Module], None] | None = None

    def module(self, template: Template) -> Module | None:
        """The module of a template; None for one without tensors."""
        raise NotImplementedError

    def described(self, template: Template, patched: dict[str, Any] | None = None) -> Module | None:
        """A new module for a template, with what was set on it from outside."""
        raise NotImplementedError

    def placeholder(self, item: Any) -> ast.expr:
        kind = item.kind if isinstance(item, Leaf) and item.kind in _EMPTY else "Identity"
        return terms.constant(None) if item is None else terms.call(kind)

    def expression(self, value: Any) -> ast.expr | None:
        """A module as a constructor expression; None for one without tensors."""
        value = as_module(value)
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
        norms = value.flags["frozen_norms"]
        if norms is not False:
            replaced = terms.call("replace_batch_norm", found)
            found = (
                replaced if norms is True else terms.conditional(as_test(self.scalar(norms)), replaced, found)
            )
        frozen = self.frozen(value)
        if frozen is True and not (isinstance(value, Leaf) and value.kind in ("Parameter", "Buffer")):
            found = method(found, "requires_grad_", ast.Constant(False))
        elif isinstance(frozen, Sym):
            found = method(found, "requires_grad_", terms.negation(self.scalar(frozen)))
        return found

    def frozen(self, value: Mod) -> Any:
        """Whether a module is frozen, as a whole or by each of its tensors; one that is in part is a
        comment."""
        grads = {
            key.removeprefix("$grad."): grad
            for key, grad in value.attrs.items()
            if str(key).startswith("$grad.")
        }
        if not isinstance(value, Leaf) or not grads or all(grad is True for grad in grads.values()):
            return value.flags.get("frozen")
        if grads.keys() == self.tensor_names(value) and len({repr(grad) for grad in grads.values()}) == 1:
            grad = next(iter(grads.values()))
            return (
                not grad
                if isinstance(grad, bool)
                else Sym(terms.negation(self.reader.node(grad)), UNKNOWN, ("bool",))
            )
        self.current[-1].notes.append(
            f"requires_grad of {', '.join(grads)} of a {value.kind} is not described"
        )
        return value.flags.get("frozen")

    def tensor_names(self, leaf: Leaf) -> set[str]:
        """The names of a layer's parameters, for the layers with a weight and, mostly, a bias."""
        given = dict(leaf.arguments)
        bias = (
            "bias" in inspect.signature(LEAVES[leaf.kind]).parameters and given.get("bias", True) is not False
        )
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
            return ast.Call(
                terms.name(value.kind), [self.scalar(size) for _, size in value.arguments], frozen
            )
        defaults = inspect.signature(LEAVES[value.kind]).parameters
        positional: list[ast.expr] = []
        keywords: list[ast.keyword] = []
        given = dict(value.arguments)
        bias = as_module(value.attrs.get("bias"))
        if isinstance(bias, Leaf | Mix) and "bias" in defaults:  # a bias that is set afterwards
            given["bias"] = (
                True
                if isinstance(bias, Leaf)
                else Sym(bias.test if bias.then is not None else terms.negation(bias.test), None)
            )
        for name, parameter in defaults.items():
            if name not in given:
                continue
            item = given[name]
            if (
                not isinstance(item, Sym)
                and item == parameter.default
                and type(item) is type(parameter.default)
            ):
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
        module = self.module_with(value) if changed(value) else self.module(template)
        if module is None:
            return None
        norm = self.norm(module)
        if norm is not None:
            norm = relocated(norm, module.path, template.path)
            self.checked(norm)
            return terms.substitute(
                norm, {name: self.scalar(Sym(node, None)) for name, node in value.rebind().items()}
            )
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
        read = (
            {relocated_name(name, module.path, template.path) for name in self.fields_of(module)}
            if value.overrides
            else set()
        )
        for name, item in value.overrides.items():
            if name in read:
                self.declare(template, name.removeprefix(".".join((*template.path, ""))))
                keywords.append(
                    ast.keyword(name.removeprefix(".".join(template.path) + "."), self.scalar(item))
                )
        auto = value.flags.get("auto")
        here = self.current[-1].path
        if template.path != here:
            if template.path[: len(here)] != here:
                raise Unsupported(f"{module.name} reads a config that is not at hand")
            sub = ".".join(template.path)
            self.current[-1].used.add(sub)
            arguments.insert(0, terms.name(sub))
            if not auto:
                self.asked.add((module.home, module.name))
        self.current[-1].calls[module.name] = module
        return ast.Call(terms.name(auto or module.name), arguments, keywords)

    def declare(self, template: Template, field: str) -> None:
        """A field that the code sets on a config, and its class does not have, is one of the draft all the
        same."""
        model = self.reader.models.get(template.scope.cls) if template.scope is not None else None
        if model is None or "." in field or field in {*model.types, *model.fixed}:
            return
        model.extras.setdefault(field, None)

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

    def module_with(self, value: Instance) -> Module | None:
        """A module that was changed from outside is a module of its own."""
        parts = {name: as_module(item) for name, item in changes(value).items()}
        names = {name: item for name, item in parts.items() if isinstance(item, Mod) or item is None}
        if not names:
            return self.module(value.template)
        return self.described(value.template, names)

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
            return ast.Call(
                terms.name("Sequential"), inner.elts if isinstance(inner, ast.List) else [inner], []
            )
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

        return self.reader.joined_lists(self.named_parts(value), node)

    def named_parts(self, value: ListValue) -> ListValue:
        """A list's parts, with the names that their loops and conditions read noted."""
        nested = []
        for part in value.parts:
            if part[0] == "each":
                turns = tuple(
                    (
                        t,
                        self.items(i) if isinstance(i, ListValue) else self.checked(i),
                        tuple(map(self.condition, ifs)),
                    )
                    for t, i, ifs in part[2]
                )
                part = ("each", part[1], turns)
            elif part[0] == "if":
                part = (
                    "if",
                    self.condition(part[1]),
                    self.named_parts(part[2]),
                    self.named_parts(part[3]),
                    part[4],
                )
            nested.append(part)
        return ListValue.of(nested)

    def condition(self, node: ast.expr) -> ast.expr:
        return self.checked(node)

    def scalar(self, value: Any) -> ast.expr:
        if isinstance(value, Choice):
            return terms.conditional(
                self.checked(value.test), self.scalar(value.then), self.scalar(value.other)
            )
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
                part.func.id
                for part in ast.walk(node)
                if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
            }
            self.current[-1].used |= terms.names(node) - functions
            for part in ast.walk(node):
                if isinstance(part, ast.Call) and terms.is_given(part):
                    self.current[-1].used.add(
                        ".".join((*self.current[-1].path, terms.value_of(part.args[0])))
                    )
                if getattr(part, "seen", False) and isinstance(part, ast.expr):
                    self.current[-1].notes.append(f"{terms.text(part)} holds for the default config only")
        return node


def as_test(node: ast.expr) -> ast.expr:
    """A value that only counts as true or false, without `True if x else False`."""
    sides = (node.body, node.orelse) if isinstance(node, ast.IfExp) else ()
    if len(sides) == 2 and all(isinstance(side, ast.Constant) for side in sides):
        then, other = (bool(side.value) for side in sides if isinstance(side, ast.Constant))
        if isinstance(node, ast.IfExp) and then != other:
            return node.test if then else terms.negation(node.test)
    return node


def method(owner: ast.expr, name: str, argument: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(owner, name, ast.Load()), [argument], [])
