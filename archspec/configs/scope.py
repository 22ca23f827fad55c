"""A config seen through its spec: every field with its value, checked, defaults computed.

transformers' rules are kept: a field that is absent takes its default, null counts as absent where
the default is computed, and `num_labels` follows `id2label` where it is not given.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from archspec.configs.origin import Origin as Origin
from archspec.errors import ConfigError, Place, Problem, UnknownArchitectureError, did_you_mean
from archspec.language.domain import EXACT, Exact
from archspec.language.evaluator import Evaluator
from archspec.language.expression import SEEN, EvaluationError, Expression, Locals
from archspec.language.values import (
    MAX_INT,
    describe,
    fits,
    frozen,
    has_negative,
    here,
    kind_of,
    numbers,
    shown,
)
from archspec.specs.layer_types import ALLOWED, renamed
from archspec.specs.records import Field, Spec, SpecLibrary
from archspec.specs.references import compared_texts

MAX_PATH = 300  # a sub-config within a sub-config, and so on


class SubConfig:
    """A part of a config that another spec describes; resolved when it is asked for."""

    domain: Exact = EXACT
    demanding = True

    def __init__(
        self,
        library: SpecLibrary,
        model_type: str,
        raw: Mapping[str, Any],
        origin: Origin,
        dynamic: bool,
        place: Place,
    ) -> None:
        self.library, self.model_type, self.raw = library, model_type, raw
        self.origin, self.dynamic, self.place = origin, dynamic, place
        self._scope: Scope | None = None

    @property
    def scope(self) -> Scope:
        if self._scope is None:
            try:
                spec = self.library.load(self.model_type)
            except UnknownArchitectureError as error:
                message, help_ = error.problems[0].message, error.problems[0].help
                problem = Problem(message, self.place, help=help_)
                if self.raw.get("model_type"):
                    problem = self.origin.problem("model_type", message, help_)
                raise UnknownArchitectureError(problem) from None
            self._scope = self.opened(spec)
            self._scope.validate()
        return self._scope

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
        self.given: dict[str, str] = {}  # field -> the name under which the config has it
        self.nulls: set[str] = set()  # fields that are null under their own name, and given under another
        self.flattened = False
        self.raw = self._canonical(raw)
        self.values: dict[str, Any] = {}
        self.overridden: frozenset[str] = frozenset()
        self._pending: list[str] = []

    def _canonical(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Fields under their own names; a field under two names must have one value."""
        values = dict(raw)
        for alias, name in self.spec.attribute_map.items():
            if alias not in values or alias == name:
                continue
            value, other = values.pop(alias), values.get(name)
            chosen, known = self.origin.overridden(alias), self.origin.overridden(self.given.get(name, name))
            if (
                other is not None and other != value and chosen == known
            ):  # also for null, which transformers takes
                shown_ = "null" if value is None else repr(value)
                message = f"is {shown_}, but {self.given.get(name, name)}, the same field, is {other!r}"
                raise ConfigError(self.origin.problem(alias, message, "keep one of the two"))
            field = self.spec.fields.get(name)
            if (
                value is None
                and other is None
                and field is not None
                and field.computed
                and "None" not in field.types
            ):
                raise ConfigError(
                    self.origin.problem(
                        alias, f"is null, and transformers sets {name} to that", "leave it out"
                    )
                )
            refused = (
                name in values and field is not None and not may_be_null(field)
            )  # transformers checks both
            if chosen or (other is None and not known and not refused):
                self.nulls |= {name} if name in values else set()
                values[name], self.given[name] = value, alias
        for name in (self.canonical("layer_types"), "mtp_layer_types"):
            if name in values:
                values[name] = renamed(values[name])
        flat = self.spec.flat
        if flat and (self.origin.brought(flat) or values.get(flat) is None):
            outer = {k: v for k, v in values.items() if k not in self.spec.fields and k != "model_type"}
            self.flattened = True
            values[flat] = {**outer, **(values.get(flat) or {})}
        return values

    def problem(self, field: str, message: str, help_: str = "") -> Problem:
        """A problem with a field, under the name that the config gives it."""
        return self.origin.problem(self.given.get(field, field), message, help_)

    def canonical(self, name: str) -> str:
        return self.spec.attribute_map.get(name, name)

    def has(self, name: str) -> bool:
        name = self.canonical(name)
        return (
            name in self.values or name in self.spec.fields or name in self.spec.fixed or name == "num_labels"
        )

    def replaced(self, values: Mapping[str, Any]) -> Scope:
        """The same config with some fields set anew, as a copied config is in transformers."""
        self.validate()
        copy = Scope.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        named = {self.canonical(name): value for name, value in values.items()}
        copy.values = {**self.values, **named}
        copy.overridden = self.overridden | frozenset(named)
        return copy

    def validate(self) -> None:
        """Every field's type, and what `require:` demands. Errors: :class:`ConfigError`, all at once."""
        if not self.demanding:
            return
        problems = []
        if self.raw.get("per_layer_config") and "per_layer_config" not in self.spec.fields:
            message = "this spec does not describe layers that differ from the config"
            problems.append(
                self.problem("per_layer_config", message, "leave it out to count the uniform model")
            )
        for name in (name for name in self.spec.readonly if name in self.raw):
            message = "is what transformers computes itself, and it refuses a config that gives it"
            problems.append(self.problem(name, message, f"leave it out; said at {self.spec.readonly[name]}"))
        for name, value in self.raw.items():
            if self._unknown_activation(self.canonical(name), value):
                message = "this spec does not describe activations with parameters of their own"
                problems.append(self.problem(name, message, "choose one without, such as relu"))
        for name in [*self.spec.fields, *self.spec.fixed, "num_labels"]:
            try:
                value = self.get(name)
                _ = (
                    value.scope if isinstance(value, SubConfig) else None
                )  # a part is checked even where it is not built
            except ConfigError as error:
                problems += [problem for problem in error.problems if problem not in problems]
            except UnknownArchitectureError:
                continue  # only a part that is built needs a spec
        if problems or (problems := self._layer_lists()):
            raise ConfigError(problems)
        for condition in self.spec.require:
            self.demand(condition, {})

    def _unknown_activation(self, name: str, value: Any) -> bool:
        """Whether a value names an activation that has parameters, and the spec does not ask for it."""
        texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
        found = [
            text for text in texts if text.rpartition("-")[2] in ("prelu", "xielu")
        ]  # T5 writes gated-prelu
        return bool(found) and not set(found) <= set(compared_texts(self.spec).get(name, ()))

    def _layer_lists(self) -> list[Problem]:
        """transformers demands that a list of layer types names each layer, where the spec has no condition on its length."""
        for name in ("layer_types", "mlp_layer_types") if self.has("num_hidden_layers") else ():
            if any(_takes_length(condition.tree, name) for condition in self.spec.require):
                continue  # this config class has a rule of its own
            listed, layers = (
                self.get(name) if self.has(name) else self.raw.get(name),
                self.get("num_hidden_layers"),
            )
            length = self.domain.length(listed)
            if length is None:
                break
            if found := self._layer_list(name, listed, length, layers):
                return found
        return []

    def _layer_list(self, name: str, listed: Any, length: Any, layers: Any) -> list[Problem]:
        unknown = self.domain.first(listed, lambda item: item not in ALLOWED[name])
        if unknown is not None:
            message = f"{unknown!r} is no layer type that transformers knows"
            return [self.problem(name, message, f"known: {', '.join(ALLOWED[name])}")]
        if layers is not None and length != layers:
            message = f"names {length} layers, but num_hidden_layers is {layers}"
            return [self.problem(name, message, f"give one for each layer, or leave {name} out")]
        return []

    def demand(self, condition: Expression, local: Locals) -> None:
        """Errors: :class:`ConfigError` when a condition that transformers enforces does not hold."""
        if not self.truth(self.read(condition, local), condition.tree):
            names = sorted(
                {n.id for n in ast.walk(condition.tree) if isinstance(n, ast.Name) and self.has(n.id)}
            )
            found = ", ".join(f"{name} = {self._shown(name)}" for name in names)
            problem = Problem(
                f"{self.origin.name}: transformers demands `{condition.text}`, but {found or 'it does not hold'}",
                condition.place,
                self.spec.model_type,
                f"change {' or '.join(self.origin.path + name for name in names)}" if names else "",
            )
            raise ConfigError(problem)

    def _shown(self, name: str) -> str:
        value = self.get(name)
        return "a sub-config" if isinstance(value, SubConfig | Scope) else shown(value)

    def read(self, expression: Expression, local: Locals | None = None) -> Any:
        """The value of an expression; a value it cannot take is a :class:`ConfigError`."""
        try:
            return self.evaluate(expression, local)
        except EvaluationError as error:
            problem = error.problem()
            raise ConfigError(problem._replace(message=f"{self.origin.name}: {problem.message}")) from None

    def name(self, name: str, node: ast.Name) -> Any:
        if not self.has(name):
            self.fail(
                f"{name} is neither a config field nor a local name",
                node,
                did_you_mean(name, self.spec.fields),
            )
        value = self.get(name)
        return value.scope if isinstance(value, SubConfig) else value

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        if isinstance(value, Scope):
            if name == "model_type":
                return value.spec.model_type
            if not value.has(name):
                self.fail(
                    f"{value.spec.model_type} has no field {name}",
                    node,
                    did_you_mean(name, value.spec.fields),
                )
            found = value.get(name)
            return found.scope if isinstance(found, SubConfig) else found
        return super().attribute(value, name, node)

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        if name == "given":
            field = str(self.visit(node.args[0], local)) if node.args else ""
            name = self.canonical(field)
            absent = self.visit(node.args[1], local) if len(node.args) > 1 else None
            own = self.given.get(name, name) == field  # transformers reads other names last
            value = self.raw.get(name, absent) if own else None if field in self.nulls else absent
            if isinstance(value, bool) and type(here(absent)) is int:
                raise ConfigError(
                    self.problem(
                        name, f"{describe(value)} is not int or null", "true and false are no numbers"
                    )
                )
            return value
        return super().call(name, node, local)

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
            raise ConfigError(
                Problem(f"{name} depends on itself: {circle}", default and default.place, f"config.{name}")
            )
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
        value = self.raw.get(name, ...)
        if (sub := self._sub_config(field, None if value is ... else value)) is not ...:
            return sub
        if value is ... or (value is None and field.computed and "None" not in field.types):
            if field.default is None:
                message = f"is missing, and {self.spec.model_type} has no default for it"
                problem = self.problem(name, message, f"needed at {field.place}")
                raise ConfigError(problem)
            return frozen(self.read(field.default))
        checked = self._checked(field, value)
        if field.falsy and field.default is not None and not self.truth(checked, field.default.tree):
            return frozen(self.read(field.default))
        return checked

    def _checked(self, field: Field, value: Any) -> Any:
        kinds = field.types or self._default_kinds(field)
        if not fits(value, kinds):
            expected = " or ".join(kind.replace("None", "null") for kind in kinds)
            message = f"{shown(value) if isinstance(value, list) else describe(value)} is not {expected}"
            raise ConfigError(self.problem(field.name, message, f"declared at {field.place}"))
        for number in numbers(value):
            if not -MAX_INT <= number <= MAX_INT:
                what = "NaN is not a number" if number != number else "the number is beyond 64 bits"
                raise ConfigError(self.problem(field.name, what, f"declared at {field.place}"))
            if number < 0 and isinstance(here(number), int) and not may_be_negative(field):
                raise ConfigError(
                    self.problem(field.name, f"{number} is negative", f"declared at {field.place}")
                )
        return frozen(value)

    def _default_kinds(self, field: Field) -> tuple[str, ...]:
        """The types that a default without a written type stands for."""
        assert field.default is not None
        default = self.read(field.default)
        kind = kind_of(default)
        if not kind:
            raise ConfigError(
                Problem(f"{describe(default)} cannot be a default", field.place, f"config.{field.name}")
            )
        kinds = ("float", "int") if kind == "float" else (kind,)
        return (*kinds, "None") if field.computed else kinds

    def _num_labels(self, field: Field | None) -> Any:
        """transformers: `num_labels` where it is given, else the length of `id2label`, else 2."""
        labels, count = self.raw.get("id2label"), self.raw.get("num_labels", ...)
        if labels is not None:
            if not isinstance(labels, Mapping):
                raise ConfigError(self.problem("id2label", f"{describe(labels)} is not a mapping"))
            count = len(labels) if count is ... else count
        if count is ...:
            return int(self.read(field.default)) if field and field.default else 2
        kind = type(here(count))
        if not issubclass(kind, int) or kind is bool or not 0 <= count <= 10**9:
            raise ConfigError(self.problem("num_labels", f"{describe(count)} is not a number of labels"))
        if count == 1 and self.raw.get("problem_type") == "single_label_classification":
            raise ConfigError(
                self.problem("problem_type", "single_label_classification needs more than one label")
            )
        return count

    def _sub_config(self, field: Field, value: Any) -> Any:
        """`Config(type, …)`, `AutoConfig(type, …)` as a default mark a field as a sub-config; else `...`."""
        tree = field.default.tree if field.default else None
        if not (
            isinstance(tree, ast.Call)
            and isinstance(tree.func, ast.Name)
            and tree.func.id in ("Config", "AutoConfig")
        ):
            return ...
        assert field.default is not None
        options = {k.arg: k.value for k in tree.keywords if k.arg}
        first = tree.args[0] if tree.args else None
        model_type = (
            first.id
            if isinstance(first, ast.Name)
            else self.read(field.default._replace(tree=first))
            if first
            else ""
        )
        optional = options.pop("optional", None)
        legacy = options.pop("legacy", None)
        merged = options.pop("merge", None) is not None
        former = options.pop("formerly", None)
        key = (
            legacy.id
            if isinstance(legacy, ast.Name) and isinstance(self.raw.get(legacy.id), Mapping)
            else field.name
        )
        value = self.raw[key] if key != field.name else value
        flattened = self.flattened and field.name == self.spec.flat
        brought = self.origin.brought(field.name)
        if value is None and optional is not None and self.read(field.default._replace(tree=optional)):
            return None
        if value is None or (brought and not flattened) or (merged and isinstance(value, Mapping)):
            defaults = {
                name: self.read(field.default._replace(tree=default)) for name, default in options.items()
            }
            value = {**defaults, **(value or {})}
        if not isinstance(value, Mapping):
            raise ConfigError(
                self.problem(
                    field.name, f"{describe(value)} is not a sub-config", f"declared at {field.place}"
                )
            )
        dynamic = tree.func.id == "AutoConfig"
        if dynamic:
            given = value.get("model_type")
            model_type = (
                model_type if not given or (isinstance(former, ast.Name) and given == former.id) else given
            )
        if not isinstance(model_type, str) or not model_type:
            raise ConfigError(
                self.problem(f"{field.name}.model_type", f"{describe(model_type)} is not a model type")
            )
        origin = self.origin if flattened and not brought else self.origin.child(key)
        if len(self.origin.path) > MAX_PATH:
            raise ConfigError(
                Problem("sub-configs contain each other without end", field.place, f"config.{field.name}")
            )
        part = SubConfig(self.spec.library, model_type, value, origin, dynamic, field.place)
        part.domain, part.demanding = self.domain, self.demanding
        return part


@lru_cache(maxsize=SEEN)
def _takes_length(tree: ast.AST, name: str) -> bool:
    """Whether an expression has `len(name)` in it."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    return any(ast.unparse(call) == f"len({name})" for call in calls)


def may_be_null(field: Field) -> bool:
    """Whether null is a value of a field, or stands for its computed default."""
    return field.computed or "None" in field.types


def may_be_negative(field: Field) -> bool:
    """The number of a token or of a layer, and a field whose own default is below zero."""
    number_of_something = field.name.endswith(("_token_id", "_id", "_idx", "_indices"))
    return number_of_something or (field.default is not None and has_negative(field.default.tree))
