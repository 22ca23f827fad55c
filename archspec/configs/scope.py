"""A config seen through its spec: every field with its value, checked, defaults computed.

transformers' rules are kept: a field that is absent takes its default, null counts as absent where
the default is computed, and `num_labels` follows `id2label` where it is not given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from archspec.configs import checks, of_layers
from archspec.configs.origin import Origin as Origin
from archspec.configs.own_names import own_names
from archspec.errors import ConfigError, Problem, UnknownArchitectureError, did_you_mean
from archspec.language.domain import EXACT, Exact
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, Expression, Locals, names
from archspec.language.trees import callee
from archspec.language.values import describe, frozen, here
from archspec.specs.records import Field, Spec
from archspec.typing_light import Any, NoReturn

MAX_PATH = 300  # a sub-config within a sub-config, and so on


class SubConfig:
    """A part of a config that another spec describes; resolved when it is asked for."""

    def __init__(
        self, outer: Scope, field: Field, model_type: str, raw: Mapping[str, Any], origin: Origin
    ) -> None:
        self.library, self.domain, self.demanding = outer.spec.library, outer.domain, outer.demanding
        self.model_type, self.raw, self.origin = model_type, raw, origin
        self.place = field.place
        self._scope: Scope | None = None

    @property
    def scope(self) -> Scope:
        """The part as its own spec sees it; what is wrong with it is said where it is first asked for."""
        if self._scope is None:
            self._scope = self.opened(self._spec())
            self._scope.validate()
        return self._scope

    def _spec(self) -> Spec:
        try:
            return self.library.load(self.model_type)
        except UnknownArchitectureError:
            from archspec.configs.refusals.unknown import unknown_part

            raise unknown_part(self.model_type, self.raw, self.origin, self.place, self.library) from None

    def opened(self, spec: Spec) -> Scope:
        return Scope(spec, self.raw, self.origin, self.domain, self.demanding)


class Scope(Evaluator):
    """The values of a spec's fields for one config; also what an expression's names mean.

    ``demanding`` is false for a config some of whose fields have still to be set: nothing is demanded of it.
    """

    def __init__(
        self,
        spec: Spec,
        raw: Mapping[str, Any],
        origin: Origin | None = None,
        domain: Exact = EXACT,
        demanding: bool = True,
    ) -> None:
        self.spec, self.origin, self.domain, self.demanding = spec, origin or Origin(), domain, demanding
        self.raw, self.given, self.nulls, self.flattened = own_names(spec, self.origin, raw)
        self.values: dict[str, Any] = {}
        self.overridden: frozenset[str] = frozenset()
        self._pending: list[str] = []

    def problem(self, field: str, message: str, help_: str = "") -> Problem:
        """A problem with a field, under the name that the config gives it."""
        return self.origin.problem(self.given.get(field, field), message, help_)

    def refuse(self, field: str, message: str, help_: str = "") -> NoReturn:
        raise ConfigError(self.problem(field, message, help_))

    def canonical(self, name: str) -> str:
        return self.spec.attribute_map.get(name, name)

    def has(self, name: str) -> bool:
        name, spec = self.canonical(name), self.spec
        return name in self.values or name in spec.fields or name in spec.fixed or name == "num_labels"

    def replaced(self, values: Mapping[str, Any]) -> Scope:
        """The same config with some fields set anew, as a copied config is in transformers."""
        self.validate()
        copy = Scope.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        named = {self.canonical(name): value for name, value in values.items()}
        copy.values, copy.overridden = {**self.values, **named}, self.overridden | frozenset(named)
        return copy

    def validate(self) -> None:
        """Every field's type, and what `require:` demands. Errors: :class:`ConfigError`, all at once."""
        if not self.demanding:
            return
        problems = [self.problem(*fault) for fault in checks.undescribed(self.spec, self.raw)]
        for name in [*self.spec.fields, *self.spec.fixed, "num_labels"]:
            try:
                value = self.get(name)
                if isinstance(value, SubConfig):
                    _ = value.scope  # a part is checked even where it is not built
            except ConfigError as error:
                problems += [problem for problem in error.problems if problem not in problems]
            except UnknownArchitectureError:
                continue  # only a part that is built needs a spec
        if problems or (problems := self._layer_lists()):
            raise ConfigError(problems)
        for condition in self.spec.require:
            self.demand(condition, {})

    def _layer_lists(self) -> list[Problem]:
        """A list of layer types has to name each layer, where no condition speaks of its length."""
        for name in ("layer_types", "mlp_layer_types") if self.has("num_hidden_layers") else ():
            if any(checks.takes_length(condition.tree, name) for condition in self.spec.require):
                continue  # this config class has a rule of its own
            listed = self.get(name) if self.has(name) else self.raw.get(name)
            if self.domain.length(listed) is None:
                break
            if fault := checks.layer_list_fault(name, listed, self.get("num_hidden_layers"), self.domain):
                return [self.problem(name, *fault)]
        return []

    def demand(self, condition: Expression, local: Locals) -> None:
        """Errors: :class:`ConfigError` when a condition that transformers enforces does not hold."""
        if self.truth(self.read(condition, local), condition.tree):
            return
        read = sorted(name for name in names(condition.tree) if self.has(name))
        values = {name: checks.told(self.get(name)) for name in read}
        raise ConfigError(
            self.blamed(read, checks.unmet(condition, self.origin, values, read, self.spec.model_type))
        )

    def blamed(self, fields: Iterable[str], problem: Problem) -> Problem:
        """A problem of a spec's line, at the first of some fields that the config gives."""
        own = [self.canonical(name) for name in fields if self.has(name)]
        given = next((self.given.get(name, name) for name in own if name in self.raw), "")
        return self.origin.blamed(given, problem) if given else problem

    def read(self, expression: Expression, local: Locals | None = None) -> Any:
        """The value of an expression; a value it cannot take is a :class:`ConfigError`."""
        try:
            return self.evaluate(expression, local)
        except EvaluationError as error:
            read = sorted(names(error.expression.tree))
            raise ConfigError(self.blamed(read, error.problem(self.origin.name))) from None

    def name(self, name: str, node: ast.Name) -> Any:
        if not self.has(name):
            help_ = did_you_mean(name, self.spec.fields)
            self.fail(f"{name} is neither a config field nor a local name", node, help_)
        return opened(self.get(name))

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        if isinstance(value, Scope):
            return value.asked(name, node, self)
        return super().attribute(value, name, node)

    def asked(self, name: str, node: ast.Attribute, at: Evaluator) -> Any:
        """What `config.name` means in an expression, which fails where there is no such field."""
        if name == "model_type":
            return self.spec.model_type
        if not self.has(name):
            at.fail(f"{self.spec.model_type} has no field {name}", node, did_you_mean(name, self.spec.fields))
        return opened(self.get(name))

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        if name != "given":
            return super().call(name, node, local)
        field = str(self.visit(node.args[0], local)) if node.args else ""
        name = self.canonical(field)
        absent = self.visit(node.args[1], local) if len(node.args) > 1 else None
        own = self.given.get(name, name) == field  # transformers reads other names last
        value = self.raw.get(name, absent) if own else None if field in self.nulls else absent
        if isinstance(value, bool) and type(here(absent)) is int:
            self.refuse(name, f"{describe(value)} is not int or null", "true and false are no numbers")
        return value

    def get(self, name: str) -> Any:
        """A field's value.

        Errors: :class:`ConfigError` for a wrong type, a missing field without a default, or a default
        that depends on itself.
        """
        name = self.canonical(name)
        if name in self.values:
            return self.values[name]
        if name in self._pending:
            circle = " -> ".join([*self._pending[self._pending.index(name) :], name])
            default = self.spec.fixed.get(name) or self.spec.fields[name].default
            message, place = f"{name} depends on itself: {circle}", default and default.place
            raise ConfigError(Problem(message, place, f"config.{name}"))
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
                self._checked(field, self.raw[name])
            return self.read(self.spec.fixed[name])
        if name == "num_labels":
            return self._num_labels(field)
        assert field is not None  # `has` was asked first
        if field.sub_config is not None:
            return self._sub_config(field, field.sub_config, self.raw.get(name))
        value = self.raw.get(name, ...)
        if field.of_layers is not None and value is not ...:
            return self._of_layers(field, value)
        if value is ... or (value is None and field.computed and "None" not in field.types):
            if field.default is None:
                missing = f"is missing, and {self.spec.model_type} has no default for it"
                self.refuse(name, missing, f"needed at {field.place}")
            return frozen(self.read(field.default))
        checked = self._checked(field, value)
        if field.falsy and field.default is not None and not self.truth(checked, field.default.tree):
            return frozen(self.read(field.default))
        return checked

    def _checked(self, field: Field, value: Any) -> Any:
        kinds = field.types or checks.default_kinds(field, field.default and self.read(field.default))
        if message := checks.misfit(field, kinds, value):
            self.refuse(field.name, message, f"declared at {field.place}")
        return frozen(value)

    def _of_layers(self, field: Field, value: Any) -> dict[int, dict[str, Any]]:
        """What single layers have of their own, by the layer's index; null is nothing."""
        given = self._checked(field, {} if value is None else value)
        shared = lambda name: self.get(name) if self.has(name) else self.raw.get(name, ...)  # noqa: E731
        for message in of_layers.faults(field, given, self.spec, shared, self.get("num_hidden_layers")):
            self.refuse(field.name, message, f"said at {field.place}")
        return of_layers.own(field, given)

    def _num_labels(self, field: Field | None) -> Any:
        """transformers: `num_labels` where it is given, else the length of `id2label`, else 2."""
        labels, count = self.raw.get("id2label"), self.raw.get("num_labels", ...)
        if labels is not None:
            if not isinstance(labels, Mapping):
                self.refuse("id2label", f"{describe(labels)} is not a mapping")
            count = len(labels) if count is ... else count
        if count is ...:
            return int(self.read(field.default)) if field and field.default else 2
        for field_name, message in checks.label_faults(count, self.raw.get("problem_type")):
            self.refuse(field_name, message)
        return count

    def _sub_config(self, field: Field, call: ast.Call, value: Any) -> SubConfig | None:
        """The part that `Config(type, …)` or `AutoConfig(type, …)` describes; None where it is not there."""
        default = field.default
        assert default is not None  # its call is given
        options = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        optional, legacy = options.pop("optional", None), options.pop("legacy", None)
        merged, former = options.pop("merge", None) is not None, options.pop("formerly", None)

        def read(tree: ast.expr) -> Any:
            return self.read(default._replace(tree=tree))

        first = call.args[0] if call.args else None
        model_type: Any = first.id if isinstance(first, ast.Name) else read(first) if first else ""
        key = field.name
        if isinstance(legacy, ast.Name) and isinstance(self.raw.get(legacy.id), Mapping):
            key, value = legacy.id, self.raw[legacy.id]
        flattened = self.flattened and field.name == self.spec.flat
        brought = self.origin.brought(field.name)
        if value is None and optional is not None and read(optional):
            return None
        if value is not None and not isinstance(value, Mapping):
            self.refuse(field.name, f"{describe(value)} is not a sub-config", f"declared at {field.place}")
        if value is None or (brought and not flattened) or merged:
            value = {**{name: read(tree) for name, tree in options.items()}, **(value or {})}
        given = value.get("model_type") if callee(call) == "AutoConfig" else None
        if given and not (isinstance(former, ast.Name) and given == former.id):
            model_type = given
        elif key == "backbone_config" and not (self.raw.get(key) is None or given or optional or brought):
            model_type = None  # transformers knows a given backbone by its own model type alone
        if not isinstance(model_type, str) or not model_type:
            self.refuse(f"{field.name}.model_type", f"{describe(model_type)} is not a model type")
        if len(self.origin.path) > MAX_PATH:
            message = "sub-configs contain each other without end"
            raise ConfigError(Problem(message, field.place, f"config.{field.name}"))
        origin = self.origin if flattened and not brought else self.origin.child(key)
        return SubConfig(self, field, model_type, value, origin)


def opened(value: Any) -> Any:
    """A field's value as expressions see it: a sub-config as the scope of its own fields."""
    return value.scope if isinstance(value, SubConfig) else value
