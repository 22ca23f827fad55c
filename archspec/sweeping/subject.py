"""The subject of a sweep: a config, the fields that vary, and the columns.

A :class:`Region` is a set of points over which every column is one closed form. An exact count at one of
them finds it (:mod:`archspec.symbolic.counts`), and its closed forms are checked there before they are used.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

from archspec.configs.choice import choose, source_of
from archspec.configs.origin import RawConfig
from archspec.configs.overrides import check_overrides
from archspec.configs.reader import read_config
from archspec.configs.scope import Scope
from archspec.errors import ArchspecError, ConfigError, Place, Problem, Source, SweepError, did_you_mean
from archspec.formats.dtypes import dtype_bytes, dtype_of, known_bytes
from archspec.language.evaluator import MAX_WORK, Evaluator
from archspec.language.expression import EvaluationError, Expression, Locals, parse
from archspec.language.values import here
from archspec.language.yaml_reader import Scalar
from archspec.models.model import Model, load
from archspec.specs.search_path import Specs, library_of
from archspec.sweeping.axes import Axis
from archspec.sweeping.costs import TOKENS, CallCosts, names_in
from archspec.symbolic.decisions import Condition
from archspec.symbolic.path_conditions import Number, Path, fixed
from archspec.symbolic.polynomials import Space, TooLarge
from archspec.symbolic.swept import Growing, SweptDomain, counts
from archspec.tables.quantities import COST_COLUMNS
from archspec.tree.counts import quantities_of
from archspec.tree.runnable import unrunnable

_NOT_SWEPT = {
    **dict.fromkeys(("model_type", "architectures"), "sweep one architecture at a time"),
    **dict.fromkeys(("dtype", "torch_dtype"), "sweep at one dtype at a time: --dtype"),
}
CANNOT = (TooLarge, TypeError, ValueError, AttributeError)  # where numbers are not plain: a point alone


class Region(NamedTuple):
    """Where the conditions hold: each column's closed form or value, or the reason why there is no count.

    ``keep`` is false where `where` does not hold: then the values show only how large columns can be.
    ``point`` is the point at which the region was found; ``tokens`` is the length of the call whose costs are
    asked for, None without any.
    """

    conditions: tuple[Condition, ...]
    values: tuple[Any, ...]
    keep: bool
    refusal: ArchspecError | None
    point: tuple[int, ...]
    tokens: Any = None

    def holds(self, space: Space, known: Mapping[Any, Any]) -> bool:
        """Return True if a point, given by the number of its value along each axis, is in the region."""
        try:
            return all(condition.met(space, known) for condition in self.conditions)
        except ArithmeticError:  # a quotient that an earlier condition guards
            return False


def expression(text: str, name: str) -> Expression:
    """An expression of the spec language as users write it. Errors: :class:`SpecError`, with a caret."""
    if not text.strip():
        raise SweepError(f"{name}: there is no expression", help="write one, e.g. hidden_size % 128 == 0")
    return parse(Scalar(text, Place(Source(name, text), 1, 1), False, text), "")


class Columns(Evaluator):
    """Evaluates columns and filters: the names are quantities, and fields of the config."""

    def __init__(self, scope: Scope, quantities: Mapping[str, Any]) -> None:
        self.scope, self.quantities, self.domain = scope, quantities, scope.domain

    def read(self, wanted: Expression) -> Any:
        try:
            return self.evaluate(wanted)
        except EvaluationError as error:
            raise SweepError(error.problem()) from None

    def name(self, name: str, node: ast.Name) -> Any:
        if name in self.quantities:
            return self.quantities[name]
        if self.scope.has(name):
            return self.scope.name(name, node)
        if name in self.scope.raw:
            return self.scope.raw[name]  # no count depends on it
        known = [*self.quantities, *self.scope.spec.fields, *self.scope.spec.attribute_map]
        self.fail(f"{name} is neither a quantity nor a field", node, did_you_mean(name, known))

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        if isinstance(value, Scope):
            if not value.has(name):
                missing = f"{value.spec.model_type} has no field {name}"
                self.fail(missing, node, did_you_mean(name, value.spec.fields))
            return value.name(name, ast.Name(name))
        return super().attribute(value, name, node)

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        return self.scope.call(name, node, local) if name == "given" else super().call(name, node, local)


class Subject:
    """A config with fields that vary.

    ``ties`` are fields that follow others (name -> expression), ``columns`` expressions over fields and
    quantities, costs of a call of ``lengths`` too, ``where`` the conditions that a point has to meet.
    With ``runs`` a point is also refused if transformers builds it but cannot run it.
    """

    runs = False

    def __init__(
        self,
        source: Any,
        axes: Sequence[Axis],
        architecture: str | None = None,
        ties: Mapping[str, str] | None = None,
        columns: Mapping[str, str] | None = None,
        where: str | Mapping[str, str] | None = None,
        dtype: str | None = None,
        lengths: Mapping[str, int] | None = None,
        specs: Specs = (),
    ) -> None:
        self.axes = tuple(axes)
        self.space = Space([axis.bounds for axis in axes])
        self.ties = {name: expression(text, f"--tie {name}") for name, text in (ties or {}).items()}
        self.columns = {
            name: expression(text, "--columns") for name, text in (columns or {"params": "params"}).items()
        }
        named = {where: where} if isinstance(where, str) else where or {}
        self.where = [expression(text, "--where" if name == text else name) for name, text in named.items()]
        self.dtype = dtype
        self.names = names_in([*self.columns.values(), *self.where])
        self.costs = CallCosts(self.names & {*COST_COLUMNS, TOKENS}, dict(lengths or {}))
        self.element = dtype_bytes(dtype) if dtype is not None else None
        swept = {axis.name for axis in self.axes}
        for name in swept & self.ties.keys():
            raise SweepError(Problem(f"{name} is both set and tied", help="leave one of the two out"))
        for name in swept & _NOT_SWEPT.keys():
            raise SweepError(Problem(f"{name} is not swept", help=_NOT_SWEPT[name]))
        self.library = library_of(specs)
        found, architecture = source_of(source, architecture, self.library)
        chosen = choose(read_config(found), architecture, self.library)
        self.model_type, self.architecture, self.config, _ = chosen
        first = {axis.name: axis.values[0] for axis in self.axes}
        self.spec = self.library.load(self.model_type)
        settings = self.settled(first)
        try:
            check_overrides(self.spec, settings, self.configured(settings))
        except ConfigError as error:  # a first point that is refused is no reason to refuse the grid
            try:
                check_overrides(self.spec, settings, self.config)
            except ConfigError:
                raise error from None

    def over(self, axes: Sequence[Axis]) -> Subject:
        """The same over other values of the same fields."""
        other = copy(self)
        other.axes = tuple(axes)
        other.space = Space([axis.bounds for axis in axes])
        return other

    def settled(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values with those of the tied fields, each from the config with the earlier ones set."""
        settings = dict(values)
        for name, follows in self.ties.items():
            config = self.configured(settings)
            scope = Scope(self.spec, config.raw, config.origin, SweptDomain(), demanding=False)
            settings[name] = Columns(scope, {}).read(follows)
        return settings

    def configured(self, settings: Mapping[str, Any]) -> RawConfig:
        """The config with fields set to values that may be swept."""
        config = read_config(self.config, {name: here(value) for name, value in settings.items()})
        for name, value in settings.items():
            if isinstance(value, Number):
                *outer, leaf = name.split(".")
                inside = config.raw
                for part in outer:
                    inside = inside[part]
                inside[leaf] = value
        return config

    def values(self, point: Sequence[int]) -> dict[str, Any]:
        """The plain values of the axes at a point, given by its positions."""
        return {axis.name: axis.values[position] for axis, position in zip(self.axes, point, strict=True)}

    def model(self, point: Sequence[int]) -> Model:
        """The model at one point, counted plainly. Errors: :class:`ArchspecError` where there is none."""
        return load(self.config, self.architecture, self.settled(self.values(point)), self.library)

    def region(self, point: tuple[int, ...]) -> Region:
        """The region around a point.

        Errors: :class:`SweepError` for columns, ties and filters that make no sense.
        """
        exact, refusal = self._exact(point)
        try:
            path, found = self._run(point)
        except CANNOT:
            return self._alone(point, exact, refusal)
        failed = found if isinstance(found, ArchspecError) else None
        if failed is not None and refusal is None and (_limited(failed) or failed.problems[0].path == "tied"):
            return self._alone(point, exact, None)  # to a trace equal layers are one, and it takes more steps
        if failed is None and refusal is not None and _limited(refusal):
            message = f"at {self.values(point)} a count takes more than {MAX_WORK:,} steps"
            raise SweepError(Problem(message, help="sweep smaller values"))
        if (failed is None) != (refusal is None):
            said = f"the sweep says {failed}, the count {refusal}"
            raise SweepError(f"a bug of archspec: at {self.values(point)} {said}")
        if refusal is not None or failed is not None:
            return Region(tuple(path.conditions), (), False, refusal, point)
        scope, quantities = found
        for name, value in exact.items():
            if here(quantities[name]) != value:
                swept = f"{name} is {here(quantities[name])} at {self.values(point)}, and not {value}"
                raise SweepError(f"a bug of archspec: {swept}")
        return self._region(path, scope, quantities, point)

    def _exact(self, point: tuple[int, ...]) -> tuple[dict[str, int], ArchspecError | None]:
        settings = self.settled(self.values(point))
        try:
            model = load(self.config, self.architecture, settings, self.library)
            exact = quantities_of(model.tensors())
            if self.costs.names:
                exact |= self.costs.exact(model, self.dtype or model.dtype)
        except ArchspecError as error:
            return {}, error
        self.element = self.element or known_bytes(model.dtype)
        return exact, None

    def _run(self, point: tuple[int, ...]) -> tuple[Path, Any]:
        """The path, and the scope with the quantities, or the refusal."""
        path = Path(self.space)
        values = self.values(point)
        for number, axis in enumerate(self.axes):
            if axis.numeric:
                values[axis.name] = path.number(self.space.axis(number), values[axis.name])
            else:
                path.compare("==", self.space.axis(number), self.space.constant(point[number]), True)
        config = self.configured(self.settled(values))
        scope = Scope(self.spec, config.raw, config.origin, SweptDomain())
        try:
            scope.validate()
            quantities = counts(scope, self.architecture)
            if self.costs.names:
                dtype = self.dtype or dtype_of(scope.raw)
                quantities |= self.costs.symbolic(scope, self.architecture, dtype)
            return path, (scope, quantities)
        except ArchspecError as error:
            return path, error

    def _region(self, path: Path, scope: Scope, quantities: dict[str, Any], point: tuple[int, ...]) -> Region:
        if self.runs and (problem := next(unrunnable(scope, self.architecture), None)) is not None:
            return Region(tuple(path.conditions), (), False, SweepError(problem), point)
        if self.element:
            quantities["bytes"] = quantities["params"] * self.element
        columns = Columns(scope, quantities)
        keep = all(bool(columns.read(condition)) for condition in self.where)
        conditions = tuple(path.conditions)
        try:
            values = tuple(_node(columns.read(wanted)) for wanted in self.columns.values())
        except (SweepError, *CANNOT):
            if keep:
                raise
            values = ()  # the filter may be there to keep a column from failing
        tokens = _node(quantities[TOKENS]) if self.costs.names else None
        return Region(tuple(path.conditions) if keep else conditions, values, keep, None, point, tokens)

    def _alone(self, point: tuple[int, ...], exact: dict[str, int], refusal: ArchspecError | None) -> Region:
        path = Path(self.space)
        for number, axis in enumerate(self.axes):
            code = self.space.constant(axis.code(point[number]))
            path.compare("==", self.space.axis(number), code, True)
        if refusal is not None:
            return Region(tuple(path.conditions), (), False, refusal, point)
        return self._region(path, self.model(point).scope, dict(exact), point)


def _limited(refusal: ArchspecError) -> bool:
    """Whether a count was given up, which says nothing on whether transformers builds the model."""
    return f"more than {MAX_WORK:,} steps" in str(refusal)


def _settled(value: Any) -> Any:
    """A list, or a mapping, as plain data, on which the path rests from now on."""
    if isinstance(value, dict):
        return {str(fixed(key)): _settled(item) for key, item in value.items()}
    return [_settled(item) for item in value] if isinstance(value, list | tuple | Growing) else fixed(value)


def _node(value: Any) -> Any:
    """A column's value: a closed form, or what it is everywhere."""
    if isinstance(value, Number):
        return value.expr
    if isinstance(value, list | dict | Growing):
        return json.dumps(_settled(value))
    if isinstance(value, Scope):
        raise SweepError(Problem("a sub-config is no column", help="name one of its fields"))
    return value
