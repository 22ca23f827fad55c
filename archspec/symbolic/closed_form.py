"""A closed form of a quantity of an architecture, with everything that it relies on."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cached_property
from itertools import product
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

import sympy

from archspec.arguments import check_arguments, describe_value
from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.records import Call, Step
from archspec.costs.training.activations import StepActivations, loss_saved
from archspec.errors import ArchspecError, FormulaError, option
from archspec.formats.dtypes import dtype_bytes
from archspec.language.expression import condition_text
from archspec.reports import assignments
from archspec.symbolic.builder import SymbolicBuilder, with_cost_rows
from archspec.symbolic.counts import Loops
from archspec.symbolic.fields import exact_number, with_ceilings, without_assumptions
from archspec.symbolic.polynomials import MAX_WORK
from archspec.symbolic.repetitions import SymbolicTensor, symbolic_tensors
from archspec.symbolic.validity.checks import Validity, validity
from archspec.tables.quantities import COSTS, FORMULAS
from archspec.tree.builder import tree_of
from archspec.tree.tensors import quantities_of, tensors

if TYPE_CHECKING:
    from typing import Self  # Python 3.11


class ClosedForm:
    """The closed form of one quantity, for one config's flags.

    ``expr`` is a SymPy expression whose symbols have the names of the config's fields, and ``symbols`` gives
    their values in the config. ``assumptions`` are the ``flags`` and ``conditions`` that hold,
    ``definitions`` the meanings of symbols that are not fields, ``tensors`` the rows that were added up.
    ``architecture``, ``model_type`` and ``quantity`` are those of the count, ``quantity_name`` is its title.

    For code that builds on it: ``scope`` is the config, ``call`` the forward pass, ``config_values`` the
    numbers of the config, ``pinned`` the fields that only decide, ``absent`` the other numeric fields.
    ``replacements`` are expressions in place of fields, ``stated`` their texts, and ``scale`` the bytes of an
    element if the quantity is in bytes.
    """

    def __init__(
        self,
        architecture: str,
        quantity: str,
        tensors: list[SymbolicTensor],
        builder: SymbolicBuilder,
        call: Call | Step | None = None,
    ) -> None:
        self.call, self.scope, notes = call, builder.scope, builder.notes
        self.architecture, self.quantity = architecture, quantity
        self.model_type, self.quantity_name, self.scale = self.scope.spec.model_type, quantity, 1
        if call is not None:
            whole = {name for name, one in notes.values.items() if type(one) is int}
            tensors = [with_tidy_sizes(one, whole) for one in tensors]
        self.tensors = tensors
        self.expr = without_assumptions(sympy.expand(sympy.Add(*map(FORMULAS[quantity].term, tensors))))
        self.replacements: dict[Any, Any] = {}
        self.stated: list[str] = []
        entering = {symbol.name for symbol in self.expr.free_symbols}
        self.definitions = {name: text for name, (text, *_) in notes.definitions.items() if name in entering}
        self.config_values: dict[str, int | float] = notes.values
        self.symbols = {name: notes.values[name] for name in sorted(entering & notes.values.keys())}
        self.flags, self.conditions = dict(builder.flags), notes.words
        self.pinned = notes.pinned - entering
        self._relied_on = notes, builder.config, builder.flags
        known = entering | self.pinned
        fields = self.scope.spec.fields.items()
        counted = [name for name, one in fields if not one.only_costs and not name.endswith("_token_id")]
        numeric = [name for name in counted if type(self.scope.get(name)) in (int, float)]
        self.absent = tuple(name for name in numeric if name not in known)
        self.assumptions = assignments(self.flags)
        met = (condition_text(text, holds) for text, holds in self.conditions.items())
        self.assumptions += dict.fromkeys(met)
        if isinstance(call, Step) and not call.loss:
            self.assumptions.append("a step without its loss, which is not validated")

    @classmethod
    def derive(
        cls, scope: Scope, architecture: str, quantity: str = "params", call: Call | Step | None = None
    ) -> Self:
        """Return the closed form of a quantity, checked against the exact count of the same config.

        A cost (:data:`archspec.tables.quantities.COSTS`) needs a ``call``, whose lengths become symbols;
        activations need a training step.

        Errors: :class:`FormulaError` for an unknown quantity, and if no closed form gives the exact count.
        """
        if quantity not in FORMULAS:
            raise FormulaError(f"unknown quantity {quantity!r}", help=f"choose from: {', '.join(FORMULAS)}")
        if quantity in COSTS and call is None:
            raise FormulaError(f"{quantity} is a cost of a call", help="give the lengths of the call")
        wanted = exact_count(scope, architecture, quantity, call)
        # int() of a float gets a symbol if its decimal value rounds differently; layers with single ties are
        # unrolled
        for unroll, opaque in product((False, True), repeat=2):
            builder = SymbolicBuilder(scope, call, quantity == "training_flops", opaque, unroll)
            try:
                rows = _rows(builder, architecture, call)
            except Loops:
                continue
            found = cls(architecture, quantity, rows, builder, call)
            if found.value_at(found.symbols) == wanted:
                return found
        raise FormulaError(f"{architecture}: the closed form does not give the exact {quantity}, {wanted:,}")

    @cached_property
    def validity(self) -> Validity:
        """Every condition that the formula relies on, before replacements."""
        with self._relied_on[0].space.allow_terms(MAX_WORK):
            return validity(*self._relied_on)

    @property
    def unused_fields(self) -> tuple[str, ...]:
        """The numeric fields that do not change the quantity, by counts at other values.

        Other fields that are not in the formula may decide which layers differ.
        """
        return tuple(name for name in self.absent if self._is_unused(name))

    def _is_unused(self, name: str) -> bool:
        """Return True if all valid values of a field give the same count, and other values are valid."""
        counts: dict[Any, int] = {}
        for value in other_values(self.scope.get(name)):
            with suppress(ArchspecError):
                scope = Scope(self.scope.spec, {**self.scope.raw, name: value}, self.scope.origin)
                scope.validate()
                counts[value] = exact_count(scope, self.architecture, self.quantity, self.call)
        return len(counts) > 1 and len({*counts.values()}) == 1

    def evaluate(self) -> int:
        return self.value_at(self.symbols)

    def replace(self, replacement: dict[Any, Any], stated: Iterable[str]) -> Self:
        """Return the formula with symbols replaced, all at once; ``stated`` are the texts."""
        other, stated = copy.copy(self), list(stated)
        other.expr = sympy.expand(self.expr.xreplace(replacement))
        other.replacements = self.compose_replacements(replacement)
        other.stated, other.assumptions = [*self.stated, *stated], [*self.assumptions, *stated]
        left = {symbol.name for symbol in other.expr.free_symbols}
        values = {**self.symbols, **self.config_values}
        other.symbols = {name: values[name] for name in sorted(left) if name in values}
        other.absent = tuple(name for name in self.absent if name not in left)
        return other

    @check_arguments
    def compose_replacements(self, replacement: dict[Any, Any]) -> dict[Any, Any]:
        """Return all replacements, if symbols of the result are replaced."""
        return {**replacement, **{old: new.xreplace(replacement) for old, new in self.replacements.items()}}

    @check_arguments
    def in_bytes(self, dtype: str) -> Self:
        """Return the formula times the bytes of one element.

        Errors: :class:`ArchspecError` for an unknown dtype, :class:`FormulaError` for a cache with tensors of
        other dtypes, for activations, which are bytes, and for FLOPs, which have no dtype.

        >>> import archspec
        >>> archspec.formula("GPT2Model").in_bytes("bfloat16").evaluate()
        248879616
        """
        if isinstance(self.call, Step):
            message = "activation_bytes is already in bytes, at the dtype of the training step"
            raise FormulaError(message, help=f"leave out {option('dtype')}")
        if FORMULAS[self.quantity].unit == "FLOPs":
            message = f"{option('dtype')} has no effect on {self.quantity}"
            raise FormulaError(message, help=f"leave out {option('dtype')}")
        is_cache = self.quantity == "cache_elements"
        kept = Forward(self.scope, self.architecture, *self.call).cache if is_cache and self.call else []
        if any(tensor.dtype for tensor in kept):
            message = f"some tensors in the cache of {self.architecture} have a fixed dtype"
            raise FormulaError(message, help=f"leave out {option('dtype')}; archspec cache reports the bytes")
        return self.multiply(dtype_bytes(dtype), f"bytes of the {self.quantity} in {dtype}")

    @check_arguments
    def multiply(self, times: int, name: str) -> Self:
        """Return a multiple of the formula under another name."""
        other = copy.copy(self)
        other.scale, other.quantity_name = self.scale * times, name
        other.expr = sympy.expand(self.expr * times)
        return other

    @check_arguments
    def number(self, expr: sympy.Expr | float) -> Any:
        """Return the exact value of any expression of the formula's symbols for the config."""
        table = {sympy.Symbol(name): exact_number(value) for name, value in self.symbols.items()}
        return _write_out_sums(sympy.sympify(expr).xreplace(table))

    @check_arguments
    def value_at(self, values: dict[str, int | float]) -> int:
        """Return the value at values of the symbols. Errors: :class:`FormulaError` if not an integer."""
        for name, value in values.items():
            endless = isinstance(value, float) and not isfinite(value)
            if endless or isinstance(value, bool) or not isinstance(value, Real):
                raise FormulaError(f"{name}: {describe_value(value)} is not a number", help=f"write {name}=2")
        exact = {sympy.Symbol(name): exact_number(value) for name, value in values.items()}
        number = _write_out_sums(self.expr.xreplace(exact))
        if not number.is_Integer:
            message = f"the formula gives {number}, which is not an integer: a field is out of range"
            raise FormulaError(message, help="choose other values of the fields")
        return int(number)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.architecture}.{self.quantity} = {self.expr})"


def with_tidy_sizes(tensor: SymbolicTensor, whole: Collection[str]) -> SymbolicTensor:
    """Return a tensor whose sizes have roundings in their usual form."""
    numel, active = with_ceilings(tensor.numel, whole), with_ceilings(tensor.active, whole)
    return tensor._replace(
        shape=tuple(with_ceilings(size, whole) for size in tensor.shape), numel=numel, active=active
    )


def _rows(builder: SymbolicBuilder, architecture: str, call: Call | Step | None) -> list[SymbolicTensor]:
    tree = builder.build(architecture)
    if call is None:
        return symbolic_tensors(tree, builder)
    checkpointing = isinstance(call, Step) and call.checkpointing
    if isinstance(call, Step) and call.loss:
        saved = loss_saved(builder, tree, call.loss)
        tree = tree.copy()
        tree.saves = [*tree.saves, saved]
    rows = symbolic_tensors(with_cost_rows(tree, checkpointing), builder)
    builder.check_past(rows)
    return rows


def other_values(value: Any, choices: Iterable[str] = ()) -> list[Any]:
    """Return other values of a field, to test if it changes a count; some may be invalid.

    ``choices`` are the texts that its spec distinguishes. A number's own value is included: some fields are
    read in another way once they are given.

    >>> other_values(3), other_values([8, 2])
    ([3, 4, 2, 6, 0, 1], [[8], [8, 2, 2], [8, 8], [2, 2]])
    """
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value, value + 1, value - 1, 2 * value, 0, 1]
    if isinstance(value, list):
        return [value[:-1], value + value[-1:], value[:1] * len(value), value[-1:] * len(value)]
    return [*choices, *([] if isinstance(value, str) else [1, True, [0]])]


def exact_count(scope: Scope, architecture: str, quantity: str, call: Call | Step | None) -> int:
    """Return the exact count of a quantity; for a cost, that of the forward pass."""
    if call is None:
        return quantities_of(tensors(tree_of(scope, architecture)))[quantity]
    if isinstance(call, Step):
        return StepActivations(scope, architecture, call).bytes
    found = Forward(scope, architecture, *call)
    return found.cache_elements() if quantity == "cache_elements" else int(getattr(found, quantity))


def _write_out_sums(number: Any) -> Any:
    """Return a number with its sums over layers written out, if SymPy knows no closed form of them."""

    def terms(function: Any, *limits: Any) -> Any:
        (index, first, last), *_ = limits
        if len(limits) > 1 or not (first.is_Integer and last.is_Integer):
            return sympy.Sum(function, *limits)
        turns = range(int(first), int(last) + 1)
        return sympy.Add(*(_write_out_sums(function.subs(index, value)) for value in turns))

    return number.replace(sympy.Sum, terms) if number.has(sympy.Sum) else number
