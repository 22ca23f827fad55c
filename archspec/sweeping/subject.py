"""The subject of a sweep: a config, the fields that vary, and the columns.

A :class:`Region` is a set of points over which every column is one closed form. A count on numbers that
record their expressions finds it, and its closed forms must equal the exact count at that point.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

from archspec.configs.choice import choose, source_of
from archspec.configs.notes import check_fields
from archspec.configs.origin import RawConfig
from archspec.configs.overrides import check_overrides
from archspec.configs.reader import read_config
from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.media.items import modality_of
from archspec.errors import OVERRIDE, ArchspecError, ConfigError, Problem, SweepError, option
from archspec.formats.dtypes import ASSUMED, DTYPE_BYTES, dtype_bytes, stated_dtype
from archspec.language.evaluator import MAX_WORK
from archspec.language.values import value_of
from archspec.models.model import Model, load
from archspec.specs.search_path import Specs, library_of
from archspec.sweeping.axes import Axis
from archspec.sweeping.columns import TOKENS, CallCosts, Columns, expression, names_in, order_ties
from archspec.sweeping.lengths import Lengths, swept_lengths
from archspec.symbolic.expressions import Condition, TooLarge
from archspec.symbolic.path_conditions import Number, Path, fix_value
from archspec.symbolic.polynomials import Space
from archspec.symbolic.swept import Growing, SweptDomain, counts
from archspec.tables.quantities import COST_COLUMNS
from archspec.tree.runnable import run_problems
from archspec.tree.tensors import quantities_of

_NOT_SWEPT = {"model_type": "architecture", "architectures": "architecture"}  # the option instead of a field
_NOT_SWEPT |= {"dtype": "dtype", "torch_dtype": "dtype"}
CANNOT = (TooLarge, TypeError, ValueError, AttributeError)  # numbers with expressions do not get through


class Region(NamedTuple):
    """The points that meet the conditions: a closed form or value of each column, or a refusal.

    ``keep`` is False if `where` excludes them; the values then show the types of columns. ``point`` is the
    point at which the region was found, ``tokens`` the length of the forward pass.
    """

    conditions: tuple[Condition, ...]
    values: tuple[Any, ...]
    keep: bool
    refusal: ArchspecError | None
    point: tuple[int, ...]
    tokens: Any = None


class Subject:
    """A config with fields that vary.

    ``ties`` are fields that follow others, and ``columns`` expressions over fields, quantities and the costs
    of a forward pass of ``lengths``; ``where`` are the conditions that a point has to meet. With ``runs`` a
    point is also refused if transformers builds it but cannot run it. With ``sweeps_lengths`` axes and ties
    can also be lengths.
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
        lengths: Mapping[str, Any] | None = None,
        specs: Specs = (),
        *,
        sweeps_lengths: bool = False,
    ) -> None:
        self.axes = tuple(axes)
        self.space = Space([axis.bounds for axis in axes])
        columns, ties = columns or {"params": "params"}, ties or {}
        self.ties = {name: expression(text, f"{option('tie')} {name}") for name, text in ties.items()}
        self.columns = {name: expression(text, option("columns")) for name, text in columns.items()}
        pairs = [(where, where)] if isinstance(where, str) else [*(where or {}).items()]
        self.where = [expression(text, option("where") if name == text else name) for name, text in pairs]
        self.dtype = dtype
        self.names = names_in([*self.columns.values(), *self.where])
        self.element = dtype_bytes(dtype) if dtype is not None else None
        for name in (axis.name for axis in self.axes):
            if name in self.ties:
                message = f"{name} is in {option('set')} and in {option('tie')}"
                raise SweepError(message, help="leave out one of the two")
            if name in _NOT_SWEPT:
                help_ = f"run one sweep for each {option(_NOT_SWEPT[name])}"
                raise SweepError(f"{name} cannot be swept", help=help_)
        self.library = library_of(specs)
        found, architecture = source_of(source, architecture, self.library)
        chosen = choose(read_config(found), architecture, self.library)
        self.model_type, self.architecture, self.config, _ = chosen
        self.spec = self.library.load(self.model_type)
        scope = Scope(self.spec, *self.config, demanding=False)
        varied = swept_lengths([*(axis.name for axis in axes), *ties] if sweeps_lengths else (), scope)
        self.lengths = Lengths(lengths or {}, varied, modality_of(scope, self.architecture))
        self.lengths.check_points(axes)
        self.costs = CallCosts(self.names & {*COST_COLUMNS, TOKENS}, self.lengths)
        self.ties = order_ties(self.ties, scope)
        settings = self.with_ties({axis.name: axis.values[0] for axis in self.axes})
        first, fields = self.make_config(settings), self.lengths.fields_in(settings)
        try:
            check_overrides(self.spec, fields, first)
        except ConfigError as error:
            try:
                check_overrides(self.spec, fields, self.config)  # passes if the first point is refused
            except ConfigError:
                raise error from None
        check_fields(first, Scope(self.spec, *first, demanding=False))

    def with_axes(self, axes: Sequence[Axis]) -> Subject:
        """Return the same subject over other values of the same fields."""
        other = copy(self)
        other.axes, other.space = tuple(axes), Space([axis.bounds for axis in axes])
        return other

    def with_ties(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values with those of the tied fields, each from the config with the earlier ones set."""
        settings = dict(values)
        for name, follows in self.ties.items():
            config = self.make_config(settings)
            scope = Scope(self.spec, config.raw, config.origin, SweptDomain(), demanding=False)
            settings[name] = Columns(scope, self.lengths.values(settings)).read(follows)
        return settings

    def make_config(self, settings: Mapping[str, Any]) -> RawConfig:
        """Return the config with fields set to values, which can have expressions."""
        settings = self.lengths.fields_in(settings)
        config = read_config(self.config, {name: value_of(value) for name, value in settings.items()})
        for name, value in settings.items():
            if isinstance(value, Number):
                *outer, leaf = name.split(".")
                inside = config.raw
                for part in outer:
                    inside = inside[part]
                inside[leaf] = value
        return config

    def values(self, point: Sequence[int]) -> dict[str, Any]:
        """Return the values of the fields at a point, given by its position along each axis."""
        return {axis.name: axis.values[position] for axis, position in zip(self.axes, point, strict=True)}

    def model(self, point: Sequence[int]) -> Model:
        """Return the model at one point. Errors: :class:`ArchspecError` if it is refused."""
        settings = self.lengths.fields_in(self.with_ties(self.values(point)))
        return load(self.config, self.architecture, settings, self.library)

    def forward(self, point: Sequence[int]) -> Forward:
        """Return the forward pass at one point. Errors: :class:`ArchspecError` if it is refused."""
        settings = self.with_ties(self.values(point))
        return self.costs.call(self.model(point).scope, self.architecture, settings)

    @property
    def pinned_axes(self) -> list[int]:
        """The axes along which each value is evaluated: all lengths if there are items."""
        names = self.lengths.names if self.lengths.has_items else ()
        return [number for number, axis in enumerate(self.axes) if axis.name in names]

    def region(self, point: tuple[int, ...]) -> Region:
        """Return the region around a point. Errors: :class:`SweepError` for invalid expressions."""
        exact, refusal = self._count_exactly(point)
        if len(self.pinned_axes) == len(self.axes):
            return self._point(point, exact, refusal)
        try:
            path, found = self._run(point)
        except CANNOT:
            return self._point(point, exact, refusal)
        if isinstance(found, ArchspecError):
            if refusal is None and (_is_limit(found) or found.problems[0].path == "tied"):
                return self._point(point, exact, None)  # equal layers are one here, and take more steps
            if refusal is not None:
                return Region(tuple(path.conditions), (), False, refusal, point)
        elif refusal is not None and _is_limit(refusal):
            message = f"at {self.values(point)} a count takes more than {MAX_WORK:,} steps"
            raise SweepError(message, help="sweep smaller values")
        elif refusal is None:
            scope, quantities = found
            if exact == {name: value_of(quantities[name]) for name in exact}:
                return self._region(path, scope, quantities, point)
        said = f"the count is {refusal or exact}, and the closed form differs"
        raise SweepError(f"a bug of archspec: at {self.values(point)} {said}")

    def _of_tie(self, problem: Problem) -> Problem:
        """Return a problem with an override as one with the tie that computes it."""
        text = problem.place.source.text if problem.place and problem.place.source.name == OVERRIDE else ""
        name, _, value = text.partition("=")
        if name not in self.ties:
            return problem
        help_ = (
            f"use // to round a quotient down in {option('tie')}"
            if "." in value
            else f"change {option('tie')}"
        )
        return Problem(problem.message, help=help_)

    def _count_exactly(self, point: tuple[int, ...]) -> tuple[dict[str, int], ArchspecError | None]:
        settings = self.with_ties(self.values(point))
        try:
            model = load(self.config, self.architecture, self.lengths.fields_in(settings), self.library)
            exact = quantities_of(model.tensors())
            if self.costs.names:
                exact |= self.costs.exact_values(model, self.dtype or model.dtype, settings)
        except ArchspecError as error:
            return {}, ConfigError([self._of_tie(problem) for problem in error.problems])
        self.element = self.element or DTYPE_BYTES.get(model.dtype)
        return exact, None

    def _run(self, point: tuple[int, ...]) -> tuple[Path, Any]:
        path = Path(self.space)
        values = self.values(point)
        for number, axis in enumerate(self.axes):
            if axis.numeric:
                values[axis.name] = path.number(self.space.axis(number), values[axis.name])
            else:
                path.compare("==", self.space.axis(number), self.space.constant(point[number]), True)
        settings = self.with_ties(values)
        if self.lengths.has_items:
            settings |= {name: fix_value(settings[name]) for name in self.lengths.names}
        config = self.make_config(settings)
        scope = Scope(self.spec, config.raw, config.origin, SweptDomain())
        try:
            scope.validate()
            quantities = counts(scope, self.architecture) | self.lengths.values(settings)
            if self.costs.names:
                dtype = self.dtype or stated_dtype(scope.raw) or ASSUMED
                quantities |= self.costs.symbolic(scope, self.architecture, dtype, settings)
            return path, (scope, quantities)
        except ArchspecError as error:
            return path, error

    def _region(self, path: Path, scope: Scope, quantities: dict[str, Any], point: tuple[int, ...]) -> Region:
        if self.runs and (problem := next(run_problems(scope, self.architecture), None)) is not None:
            return Region(tuple(path.conditions), (), False, SweepError(problem), point)
        if self.element:
            quantities["bytes"] = quantities["params"] * self.element
        columns, values = Columns(scope, quantities), tuple[Any, ...]()
        keep = all(bool(columns.read(condition)) for condition in self.where)
        conditions = tuple(path.conditions)
        try:
            values = tuple(_node(columns.read(wanted)) for wanted in self.columns.values())
        except (SweepError, *CANNOT):
            if keep:
                raise  # otherwise the condition may exclude points at which a column fails
        tokens = _node(quantities[TOKENS]) if self.costs.names else None
        conditions = tuple(path.conditions) if keep else conditions
        return Region(conditions, values, keep, None, point, tokens)

    def _point(self, point: tuple[int, ...], exact: dict[str, int], refusal: ArchspecError | None) -> Region:
        path = Path(self.space)
        for number, axis in enumerate(self.axes):
            code = self.space.constant(axis.code(point[number]))
            path.compare("==", self.space.axis(number), code, True)
        if refusal is not None:
            return Region(tuple(path.conditions), (), False, refusal, point)
        lengths = self.lengths.values(self.with_ties(self.values(point)))
        return self._region(path, self.model(point).scope, lengths | exact, point)


def _is_limit(refusal: ArchspecError) -> bool:
    return f"over {MAX_WORK:,} steps" in str(refusal)


def _plain_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(fix_value(key)): _plain_value(item) for key, item in value.items()}
    is_list = isinstance(value, list | tuple | Growing)
    return [_plain_value(item) for item in value] if is_list else fix_value(value)


def _node(value: Any) -> Any:
    """Return the closed form of a column, or its value in the whole region."""
    if isinstance(value, Number):
        return value.expr
    if isinstance(value, list | dict | Growing):
        return json.dumps(_plain_value(value))
    if isinstance(value, Scope):
        raise SweepError("a sub-config is not a column", help="name one of its fields")
    return value
