"""Writing, 2 of 5: templates as modules; those that come out alike are one."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.modules import Template
from archspec.deriving.reading.values import (
    Container,
    Leaf,
    ListValue,
    Mix,
    Mod,
    Sym,
    Unsupported,
    constructor,
)
from archspec.deriving.writing.constructors import Constructors
from archspec.deriving.writing.parts import (
    Body,
    Dynamic,
    Module,
    as_module,
    home_of,
    is_none,
    named_text,
    read_by,
    relocated,
    said_by,
    signature,
)
from archspec.specs.torch_layers import LEAVES


class Emitter(Constructors):
    """Gives every template its module; templates that come out alike share one."""

    def home(self, template: Template) -> str:
        scope = template.scope
        return (
            home_of(scope.home)
            if scope is not None and (scope.path or scope.home is not self.root_class)
            else self.root
        )

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
            module.attrs = attrs = attrs | (patched or {})
            body = self.body(attrs.pop("$base", template.proto.base), attrs)
            if body is None:
                return None
            if patched:
                self.at_hand(module, template)
            module.body = body
            if isinstance(body, dict):
                module.require = [
                    node for node in (self.named(node) for node in template.require) if node is not None
                ]
                module.require += self.soft(module, template)
            elif len(self.current) == 1 and (template.require or self.soft(module, template)):
                raise Unsupported(
                    "requirements of what is one expression"
                )  # elsewhere, whoever makes it says them
            module.notes += template.notes
        finally:
            self.current.pop()
        self.parameters(module, template)
        if self.finish is not None:
            self.finish(module)
        return self.shared(module)

    def at_hand(self, module: Module, template: Template) -> None:
        """What was set on a module from outside must mean the same inside of it."""
        known = {f"${name}" for name in template.parameters}
        prefix = ".".join((*module.path, ""))
        for name in module.used:
            local = name.startswith("$")
            if (local and "." not in name and name not in known) or (
                not local and not f"{name}.".startswith(prefix)
            ):
                raise Unsupported(f"what is set on a {module.name} from outside reads {name.lstrip('$')}")

    def soft(self, module: Module, template: Template) -> list[ast.expr]:
        """Divisions by zero that the module's own expressions and the config's would not run into.

        Also the names of an activation where they read it: a text that nothing else is said of may be any.
        """
        model = self.reader.models.get(template.scope.cls) if template.scope else None
        settings = (
            [] if model is None else [*model.fixed.values(), *model.require]
        )  # a default is computed for some only
        kept = []
        for node in template.soft:
            own = relocated(node, template.path, ())  # as the config class itself calls its fields
            said = said_by(node, [module.body, *module.require]) or said_by(own, settings)
            if (text := named_text(node)) is not None:
                said = not (
                    read_by(text, module.body) or read_by(relocated(text, template.path, ()), settings)
                )
            if not said and (checked := self.named(node)) is not None:
                kept.append(checked)
        return kept

    def shared(self, module: Module) -> Module:
        """The module itself, or one that says the same; its name is no other's, nor one of torch's layers."""
        known = self.variants.setdefault((module.home, module.cls), [])
        for other in known:
            if signature(other) == signature(module):
                return other
        known.append(module)
        name, count = module.name, 1
        while (module.home, module.name) in self.modules or (
            module.name in LEAVES and self.norm(module) is None
        ):
            count += 1
            module.name = f"{name}{count}"
        self.modules[module.home, module.name] = module
        return module

    def parameters(self, module: Module, template: Template) -> None:
        """The parameters that the body uses, with the constructor's defaults where those are plain."""
        used = {name for name in module.used if name.startswith("$") and "." not in name}
        declared = inspect.signature(constructor(template.cls)).parameters
        for name in template.parameters:
            if f"${name}" in used:
                default = declared[name].default if name in declared else inspect.Parameter.empty
                plain = isinstance(default, bool | int | float | str | None)
                module.parameters[name] = terms.constant(default) if plain else None
        required = [name for name, default in module.parameters.items() if default is None]
        module.order = required + [name for name in module.parameters if name not in required]

    def body(self, base: Any, attrs: dict[str, Any]) -> Body | None:
        found: dict[str, Any] = {}
        grads = {
            key.removeprefix("$grad."): value for key, value in attrs.items() if key.startswith("$grad.")
        }
        for name, value in attrs.items():
            value = conditioned(as_module(value))
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
                    found[name] = Dynamic(
                        self.checked(self.reader.node(value.attrs["$key"])), self.items(value.items)
                    )
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
            made: dict[str, ast.expr] = {"weight": ast.Call(terms.name("Parameter"), arguments[1::-1], [])}
            bias = dict(base.arguments).get("bias", True)
            parameter = ast.Call(terms.name("Parameter"), [arguments[1]], [])
            if bias is True:
                made["bias"] = parameter
            elif isinstance(bias, Sym):
                made["bias"] = ast.IfExp(self.scalar(bias), parameter, ast.Constant(None))
            return made
        if base.kind in ("LayerNorm", "RMSNorm") and len(arguments) == 1:
            weight = ast.Call(terms.name("Parameter"), arguments, [])
            return {"weight": weight} if base.kind == "RMSNorm" else {"weight": weight, "bias": weight}
        raise Unsupported(f"a {base.kind} with attributes of its own")

    def attribute_body(self, value: Mod) -> Any:
        """A module as an attribute's value: a list stays a YAML list, anything else is an expression."""
        if (
            isinstance(value, Container)
            and value.kind == "Sequential"
            and value.items.plain
            and not value.flags["frozen"]
        ):
            parts = [self.expression(item) if item is not None else None for item in value.items.items()]
            if not any(parts):
                return None
            return [
                part if part is not None else self.placeholder(item)
                for part, item in zip(parts, value.items.items(), strict=True)
            ]
        return self.expression(value)


def conditioned(value: Any) -> Any:
    """Attributes that a loop names, made on one way of a condition: a condition of the loop."""
    if not isinstance(value, Mix) or (value.then is None) == (value.other is None):
        return value
    test, inner = (
        (value.test, value.then) if value.other is None else (terms.negation(value.test), value.other)
    )
    if not isinstance(inner, Container) or inner.kind != "Dynamic":
        return value
    parts = [
        (kind, item, (*turns[:-1], (*turns[-1][:2], (*turns[-1][2], test))))
        for kind, item, turns in inner.items.parts
    ]
    made = Container(inner.cls, inner.kind, ListValue.of(parts))
    made.attrs = inner.attrs
    return made
