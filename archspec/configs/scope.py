"""A config as its spec reads it: the value of every field, checked, with defaults as in transformers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property

from archspec.configs import checks
from archspec.configs.blame import blame, example, type_help, unmet_condition
from archspec.configs.origin import Origin, spec_line
from archspec.configs.unknown import unknown_type
from archspec.errors import ArchspecError, ConfigError, Place, Problem, UnknownArchitectureError, did_you_mean
from archspec.language.domain import EXACT, Exact
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, Expression, Locals, callee, names
from archspec.language.values import describe, value_of, without_tuple
from archspec.specs.records import Field, Spec
from archspec.typing_light import Any, NoReturn

MAX_PATH = 300  # characters of the path of nested sub-configs


class SubConfig:
    """A part of a config that has a spec; its scope is created when it is first used."""

    def __init__(
        self, outer: Scope, field: Field, model_type: str, raw: Mapping[str, Any], origin: Origin
    ) -> None:
        self.kind, self.library = type(outer), outer.spec.library
        self.domain, self.demanding = outer.domain, outer.demanding
        self.model_type, self.raw, self.origin = model_type, raw, origin
        self.place = field.place

    @cached_property
    def scope(self) -> Scope:
        """The sub-config as its spec reads it. Errors: those of :meth:`Scope.validate`, on first use."""
        try:
            spec = self.library.load(self.model_type)
        except UnknownArchitectureError:
            message, help_ = unknown_type(self.model_type, self.library, "auto_map" in self.raw)
            problem = Problem(message, self.place, help=help_)
            if self.raw.get("model_type"):
                problem = self.origin.problem("model_type", message, help_)
            raise UnknownArchitectureError(problem) from None
        scope = self.open(spec)
        scope.validate()
        return scope

    def open(self, spec: Spec) -> Scope:
        return self.kind(spec, self.raw, self.origin, self.domain, self.demanding)


class Scope(Evaluator):
    """The values of a spec's fields for one config; nothing is checked if it is not ``demanding``."""

    def __init__(
        self,
        spec: Spec,
        raw: Mapping[str, Any],
        origin: Origin | None = None,
        domain: Exact = EXACT,
        demanding: bool = True,
    ) -> None:
        self.spec, self.origin, self.domain, self.demanding = spec, origin or Origin(), domain, demanding
        self.raw, self.given, self.nulls, self.flattened = checks.resolve_names(spec, self.origin, raw)
        self.values: dict[str, Any] = {}
        self.overridden: frozenset[str] = frozenset()
        self.built, self._pending = list[Any](), list[str]()  # builders whose trees are used again
        self.probed: dict[tuple[str, str], Any] = {}  # builders by class and modality

    def problem(self, field: str, message: str, help_: str = "") -> Problem:
        """Return a problem with a field, under the name that the config uses."""
        return self.origin.problem(self.given.get(field, field), message, help_)

    def refuse(self, field: str, message: str, help_: str = "", place: Place | None = None) -> NoReturn:
        raise ConfigError(self.problem(field, message + spec_line(place), help_))

    def canonical(self, name: str) -> str:
        return self.spec.attribute_map.get(name, name)

    def known_names(self) -> set[str]:
        return {*self.spec.fields, *self.spec.fixed, *self.spec.attribute_map}

    def has(self, name: str) -> bool:
        name, spec = self.canonical(name), self.spec
        return name in self.values or name in spec.fields or name in spec.fixed or name == "num_labels"

    def find(self, name: str) -> Any:
        return self.get(name) if self.has(name) else self.raw.get(name, ...)

    def parts(self) -> dict[str, Scope]:
        """Return the valid sub-configs, by their fields."""
        parts: dict[str, Scope] = {}
        for name in [name for name, field in self.spec.fields.items() if field.sub_config is not None]:
            with suppress(ArchspecError):
                if isinstance(part := open_part(self.get(name)), Scope):
                    parts[name] = part
        return parts

    def with_fields(self, values: Mapping[str, Any]) -> Scope:
        """Return a copy with other values of some fields, as transformers copies a config and changes it."""
        self.validate()
        copy = Scope.__new__(type(self))
        named = {self.canonical(name): value for name, value in values.items()}
        copy.__dict__ = {**self.__dict__, "values": {**self.values, **named}, "built": [], "probed": {}}
        copy.overridden = self.overridden | {*named}
        return copy

    def validate(self) -> None:
        """Check each field, and the conditions of `require:`. Errors: :class:`ConfigError`, all at once."""
        if not self.demanding:
            return
        problems = [self.problem(*fault) for fault in checks.unsupported_values(self.spec, self.raw)]
        for name in [*self.spec.fields, *self.spec.fixed, "num_labels"]:
            try:
                value = self.get(name)
                if isinstance(value, SubConfig):
                    _ = value.scope  # a part is checked even if it is not built
            except ConfigError as error:
                problems += [problem for problem in error.problems if problem not in problems]
            except UnknownArchitectureError:
                continue  # only a part that is built needs a spec
        if problems or (problems := self._layer_lists()):
            raise ConfigError(problems)
        for condition in self.spec.require:
            self.demand(condition, {})

    def _layer_lists(self) -> list[Problem]:
        """Return the problem of a list of layer types that does not name each layer, if there is one."""
        for name in ("layer_types", "mlp_layer_types") if self.has("num_hidden_layers") else ():
            if any(checks.takes_length(condition.tree, name) for condition in self.spec.require):
                continue
            listed = self.find(name)
            if self.domain.length(listed) is None:
                break
            if fault := checks.layer_list_fault(name, listed, self.get("num_hidden_layers"), self.domain):
                return [self.problem(*fault)]
        return []

    def demand(self, condition: Expression, local: Locals) -> None:
        """Raise :class:`ConfigError` if a condition of transformers does not hold."""
        if self.is_true(self.read(condition, local), condition.tree):
            return
        values = {name: self.get(name) for name in names(condition.tree) if self.has(name)}
        raise ConfigError(unmet_condition(self, condition, values, self.spec.model_type))

    def read(self, expression: Expression, local: Locals | None = None) -> Any:
        """Return the value of an expression. Errors: :class:`ConfigError` if it cannot be evaluated."""
        try:
            return self.evaluate(expression, local)
        except EvaluationError as error:
            read = names(error.expression.tree)
            raise ConfigError(blame(self, read, error.problem(self.origin.label))) from None

    def name(self, name: str, node: ast.Name) -> Any:
        if not self.has(name):
            help_ = did_you_mean(name, self.spec.fields)
            self.fail(f"{name} is neither a config field nor a local name", node, help_)
        return open_part(self.get(name))

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        if isinstance(value, Scope):
            return value.read_attribute(name, node, self)
        return super().attribute(value, name, node)

    def read_attribute(self, name: str, node: ast.Attribute, at: Evaluator) -> Any:
        """Return the value of `config.name` in an expression of the evaluator ``at``."""
        if name == "model_type":
            return self.spec.model_type
        if not self.has(name):
            at.fail(f"{self.spec.model_type} has no field {name}", node, did_you_mean(name, self.spec.fields))
        return open_part(self.get(name))

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        if name != "given":
            return super().call(name, node, local)
        field = str(self.visit(node.args[0], local)) if node.args else ""
        name = self.canonical(field)
        absent = self.visit(node.args[1], local) if len(node.args) > 1 else None
        own = self.given.get(name, name) == field  # transformers reads other names last
        value = self.raw.get(name, absent) if own else None if field in self.nulls else absent
        if isinstance(value, bool) and type(value_of(absent)) is int:
            self.refuse(name, f"must be an integer or null, not {describe(value)}", "write a number or null")
        return value

    def get(self, name: str) -> Any:
        """Return a field's value. Errors: :class:`ConfigError` for a wrong, missing or circular one."""
        name = self.canonical(name)
        if name in self.values:
            return self.values[name]
        if name in self._pending:
            circle = " -> ".join([*self._pending[self._pending.index(name) :], name])
            default = self.spec.fixed.get(name) or self.spec.fields[name].default
            message, place = f"{name} depends on itself: {circle}", default and default.place
            raise ConfigError(Problem(message, place, f"config.{name}", f"write a default for {name}"))
        self._pending.append(name)
        try:
            value = self._value(name)
        finally:
            self._pending.pop()
        self.values[name] = value
        return value

    def _value(self, name: str) -> Any:
        field = self.spec.fields.get(name)
        if name in self.spec.fixed:
            if field and name in self.raw:
                self._check_value(field, self.raw[name])
            return self.read(self.spec.fixed[name])
        if name == "num_labels":
            if fault := checks.label_fault(self.raw):
                self.refuse(*fault)
            if (count := checks.count_labels(self.raw)) is ...:
                count = int(self.read(field.default)) if field and field.default else 2
            return count
        assert field is not None  # callers ask `has` first
        if field.sub_config is not None:
            return self._sub_config(field, field.sub_config, self.raw.get(name))
        value = self.raw.get(name, ...)
        if field.of_layers is not None and value is not ...:
            return self._of_layers(field, value)
        if value is ... or (value is None and field.computed and "None" not in field.types):
            if field.default is None:
                message = f"is missing, and {self.spec.model_type} has no default for it"
                self.refuse(name, message, f"add it, e.g. {example(self, field, ())}", field.place)
            return without_tuple(self.read(field.default))
        checked = self._check_value(field, value)
        if field.falsy and field.default is not None and not self.is_true(checked, field.default.tree):
            return without_tuple(self.read(field.default))
        return checked

    def _check_value(self, field: Field, value: Any) -> Any:
        kinds = field.types or checks.default_kinds(field, field.default and self.read(field.default))
        if message := checks.value_fault(field, kinds, value):
            self.refuse(field.name, message, type_help(self, field, kinds, value), field.place)
        return without_tuple(value)

    def _of_layers(self, field: Field, value: Any) -> dict[int, dict[str, Any]]:
        given = self._check_value(field, {} if value is None else value)
        layers = self.get("num_hidden_layers")
        for message in checks.layer_faults(field, given, self.spec, self.find, layers):
            self.refuse(field.name, message, f"correct this entry of {field.name}", field.place)
        allowed = field.of_layers or ()
        return {int(i): {one: own[one] for one in allowed if one in own} for i, own in given.items()}

    def _sub_config(self, field: Field, call: ast.Call, value: Any) -> SubConfig | None:
        """Return the part that `Config(type, …)` or `AutoConfig(type, …)` declares; None if it is absent."""
        default = field.default
        assert default is not None  # the call itself

        def read(tree: ast.expr) -> Any:
            return self.read(default._replace(tree=tree))

        options = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        optional, merged = options.pop("optional", None), options.pop("merge", None) is not None
        legacy, former = (_name(options.pop(one, None)) for one in ("legacy", "formerly"))
        first = call.args[0] if call.args else None
        model_type: Any = _name(first) or (read(first) if first else "")
        key = field.name
        if isinstance(self.raw.get(legacy), Mapping):
            key, value = legacy, self.raw[legacy]
        flattened = self.flattened and field.name == self.spec.flat
        is_opened = self.origin.is_opened(field.name)
        if value is None and optional is not None and read(optional):
            return None
        if value is not None and not isinstance(value, Mapping):
            message = f"must be a mapping of fields, not {describe(value)}"
            self.refuse(field.name, message, "write { … } around its fields", field.place)
        if value is None or (is_opened and not flattened) or merged:
            value = {**{name: read(tree) for name, tree in options.items()}, **(value or {})}
        given = value.get("model_type") if callee(call) == "AutoConfig" else None
        if given and given != former:
            model_type = given
        elif key == "backbone_config" and not (self.raw.get(key) is None or given or optional or is_opened):
            model_type = None  # transformers knows a given backbone by its own model type alone
        if not isinstance(model_type, str) or not model_type:
            message = f"must be a model type, not {describe(model_type)}"
            self.refuse(f"{field.name}.model_type", message, "run archspec list to see the model types")
        if len(self.origin.path) > MAX_PATH:
            message = "sub-configs contain each other without end"
            raise ConfigError(Problem(message, field.place, f"config.{field.name}"))
        origin = self.origin if flattened and not is_opened else self.origin.child(key)
        return SubConfig(self, field, model_type, value, origin)


def _name(tree: ast.expr | None) -> str:
    return tree.id if isinstance(tree, ast.Name) else ""


def open_part(value: Any) -> Any:
    """Return a field's value in expressions: a sub-config becomes the scope of its fields."""
    return value.scope if isinstance(value, SubConfig) else value
