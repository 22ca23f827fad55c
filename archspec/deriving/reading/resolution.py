"""After the reading of a config class: its fields sorted into defaults, values of their own, and expressions
of the raw field."""

from __future__ import annotations

import ast
import copy
import dataclasses
from typing import Any

from archspec.deriving.reading import terms
from archspec.deriving.reading.values import MISSING


class ConfigModel:
    """A config class as read.

    ``computed`` are defaults of fields that are absent or null, ``fixed`` what a field becomes whatever the
    config says, or, for those in ``kept``, in terms of what it says; ``early`` ones are computed only where
    they are absent.
    """

    def __init__(self, cls: type, real: Any) -> None:
        self.cls, self.real = cls, real
        self.types: dict[str, tuple[str, ...]] = {}
        self.defaults: dict[str, Any] = {}
        self.computed: dict[str, ast.expr] = {}
        self.fixed: dict[str, ast.expr] = {}
        self.kept: set[str] = set()
        self.falsy: set[str] = set()  # computed where the config says 0, too
        self.require: list[ast.expr] = []
        self.soft: list[ast.expr] = []
        self.checks: dict[str, list[ast.expr]] = {}  # what the validators of single fields demand
        self.extras: dict[str, Any] = {}
        self.notes: list[str] = []
        self.parts: dict[str, dict[str, Any]] = {}  # what is set on the sub-configs
        self.made: dict[str, list[ast.expr]] = {}  # where a null sub-config becomes its default
        self.early: set[str] = (
            set()
        )  # set before PreTrainedConfig's own __post_init__: a config's own value wins
        self.backbone = hasattr(cls, "set_output_features_output_indices")

    @property
    def declared(self) -> set[str]:
        """The fields that the class itself declares."""
        return (
            {field.name for field in dataclasses.fields(self.cls)}
            if dataclasses.is_dataclass(self.cls)
            else set(self.types)
        )


def resolve(model: ConfigModel, finals: dict[str, tuple[ast.expr, tuple[str, ...]]]) -> None:
    """Sorts what the fields have become."""
    for name, (node, types) in finals.items():
        _sorted(model, name, node, types)
    raw = {
        name: raw_field(model, name)
        for name in model.computed.keys() | model.fixed.keys()
        if name in model.declared
    }

    def given(node: ast.expr) -> ast.expr:
        """What a field was before `__post_init__` is asked for as the config gives it."""
        asked = {
            n: new
            for n, new in raw.items()
            if new is not None and n in terms.names(node) and (n in model.fixed or asks_null(node, n))
        }
        return terms.substitute(node, asked)

    whole = {
        terms.text(given(node)): name
        for name, (node, _) in finals.items()
        if not terms.is_constant(node) and name[0] != "_" and name not in model.early
    }
    for section in (model.computed, model.fixed):
        for name, node in section.items():
            section[name] = contracted(given(node), whole, name)
    model.require = [contracted(given(node), whole, "") for node in model.require]
    model.soft = [contracted(given(node), whole, "") for node in model.soft]
    if model.backbone:
        _backbone(model)


def _sorted(model: ConfigModel, name: str, node: ast.expr, types: tuple[str, ...]) -> None:
    if terms.text(node) == name:
        return
    declared, default = name in model.declared, model.defaults.get(name, MISSING)
    absent = given_default(name, node)
    if absent is not None and not declared:
        if terms.is_constant(absent) and terms.value_of(absent) is not None:
            model.defaults[name] = terms.value_of(absent)
            model.types[name] = (type(model.defaults[name]).__name__,)
        else:
            model.computed[name] = absent
            model.types[name] = types
        return
    filler = null_default(name, node)
    if (
        filler is not None
        and declared
        and "None" in (model.types.get(name) or ("None",))
        and default in (None, MISSING)
    ):
        model.computed[name] = filler
        if isinstance(node, ast.BoolOp):
            model.falsy.add(name)
        return
    if name in terms.names(node) and declared:
        model.fixed[name] = node
        model.kept.add(name)
        return
    hidden = (
        name in model.early and name not in model.types
    )  # a private one, which a config may have nonetheless
    if hidden and terms.is_constant(node) and type(terms.value_of(node)) is bool:
        model.defaults[name] = terms.value_of(node)
        model.types[name] = ("bool",)
        return
    read_before = (
        model.backbone and name == "stage_names"
    )  # by out_features, when a config's own is not yet set
    kinds = (("int",), ("bool",), ("list",))
    if (
        name in model.early
        and not declared
        and not read_before
        and types in kinds
        and not terms.is_constant(node)
    ):
        model.computed[name] = node
        model.types[name] = types
        return
    model.fixed[name] = node
    model.types[name] = types or model.types.get(name, ())


def null_default(name: str, node: ast.expr) -> ast.expr | None:
    """D where a field is `D if field is None else field`, or `field or D`."""
    if isinstance(node, ast.IfExp):
        test, then, other = node.test, node.body, node.orelse
        if terms.text(test) == f"{name} is not None":
            test, then, other = terms.negation(test), other, then
        if (
            terms.text(test) == f"{name} is None"
            and terms.text(other) == name
            and name not in terms.names(then)
        ):
            return then
    if (
        isinstance(node, ast.BoolOp)
        and isinstance(node.op, ast.Or)
        and len(node.values) == 2
        and terms.text(node.values[0]) == name
    ):
        return node.values[1] if name not in terms.names(node.values[1]) else None
    return None


def given_default(name: str, node: ast.expr) -> ast.expr | None:
    """D where a value is `D if given("name") is None else given("name")`, or `given("name", D)`."""
    if (
        isinstance(node, ast.IfExp)
        and terms.text(node.test) == f"given('{name}') is None"
        and terms.text(node.orelse) == f"given('{name}')"
    ):
        return node.body
    if terms.is_given(node) and isinstance(node, ast.Call) and terms.text(node.args[0]) == repr(name):
        return node.args[1] if len(node.args) > 1 else terms.constant(None)
    return None


class _Contract(ast.NodeTransformer):
    def __init__(self, whole: dict[str, str], own: str) -> None:
        self.whole, self.own = whole, own

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and not isinstance(node, ast.Name | ast.Constant):
            found = self.whole.get(terms.text(node))
            if found is not None and found != self.own:
                return terms.name(found)
        return self.generic_visit(node)


def contracted(node: ast.expr, whole: dict[str, str], own: str) -> ast.expr:
    """An expression with other fields' values called by the fields' names."""
    found = _Contract(whole, own).visit(copy.deepcopy(node))
    assert isinstance(found, ast.expr)
    return found


def raw_field(model: ConfigModel, name: str) -> ast.expr | None:
    """What the config gives under a field's very name, else the field's default."""
    default = model.defaults.get(name, MISSING)
    arguments: list[ast.expr] = [ast.Constant(name)]
    if default is not None and default is not MISSING:
        try:
            arguments.append(terms.constant(list(default) if isinstance(default, tuple) else default))
        except TypeError:
            return None
    return terms.call("given", *arguments)


def asks_null(node: ast.expr, name: str) -> bool:
    return any(
        isinstance(part, ast.Compare)
        and terms.text(part.left) == name
        and isinstance(part.ops[0], ast.Is | ast.IsNot)
        for part in ast.walk(node)
    )


def _backbone(model: ConfigModel) -> None:
    """out_indices follow out_features and the reverse, as BackboneConfigMixin has them."""
    given = "stage_names[-1:] if given('out_features') is None else given('out_features')"
    text = f"[stage_names.index(s) for s in ({given})]"
    model.computed["out_indices"] = ast.parse(text, mode="eval").body
    model.computed["out_features"] = ast.parse("[stage_names[i] for i in out_indices]", mode="eval").body
    model.types |= {"out_indices": ("list",), "out_features": ("list",)}


BACKBONE_REQUIRE = (
    "out_features == [stage_names[i] for i in out_indices]",
    "out_features == [name for name in stage_names if name in out_features]",
)
