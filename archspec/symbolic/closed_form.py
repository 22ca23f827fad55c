"""A closed form of a quantity of an architecture, with everything that it relies on."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import product
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any

import sympy

from archspec.arguments import checked, described
from archspec.configs.scope import Scope
from archspec.costs.activations import StepActivations, loss_saved
from archspec.costs.forward import Forward
from archspec.costs.records import Call, Step
from archspec.errors import ArchspecError, FormulaError, Problem
from archspec.formats.dtypes import dtype_bytes
from archspec.reports import stated
from archspec.symbolic.builder import SymbolicBuilder, SymbolicCostBuilder, priced
from archspec.symbolic.counts import Loops
from archspec.symbolic.fields import MAX_TERMS
from archspec.symbolic.repetitions import SymbolicTensor, symbolic_tensors
from archspec.symbolic.validity.checks import Validity, exactly, validity
from archspec.tables.quantities import COSTS, FORMULAS
from archspec.tree.builder import tree_of
from archspec.tree.tensors import quantities_of, tensors

if TYPE_CHECKING:
    from typing import Self  # Python 3.11


class ClosedForm:
    """The closed form of one quantity, specialised on one config's flags.

    ``expr`` is a SymPy expression whose symbols carry the names of the config's fields; ``symbols`` gives
    each symbol's value in the config, ``assumptions`` the flags and conditions that hold, ``definitions``
    what the symbols without a field stand for, ``tensors`` the rows that were added up. ``architecture``,
    ``model_type`` and ``quantity`` are what was asked for, ``quantity_name`` is the quantity in words;
    ``scope`` and ``call`` are the config and the call that it was made at, ``flags`` and ``conditions``
    what these decided.

    For those who build on it: ``config_values`` are the numbers of the config, ``pinned`` the fields that
    only decide, ``absent`` the numeric ones that do neither, ``replacements`` what fields were replaced by,
    as ``stated``, and ``scale`` the bytes of an element where it is in bytes.
    """

    def __init__(
        self,
        architecture: str,
        quantity: str,
        tensors: list[SymbolicTensor],
        builder: SymbolicBuilder,
        call: Call | Step | None = None,
    ) -> None:
        self.call = call
        self.architecture, self.quantity, self.tensors = architecture, quantity, tensors
        self.scope = builder.scope
        self.model_type = self.scope.spec.model_type
        self.expr = self.plain(sympy.expand(sympy.Add(*map(FORMULAS[quantity].term, tensors))))
        self.replacements: dict[Any, Any] = {}
        self.stated: list[str] = []
        self.scale = 1
        self.quantity_name = quantity
        entering = {symbol.name for symbol in self.expr.free_symbols}
        definitions, values = builder.path.definitions, builder.path.values
        self.definitions = {name: text for name, (text, _) in definitions.items() if name in entering}
        self.symbols: dict[str, int | float] = {
            name: values[name] for name in sorted(entering & values.keys())
        }
        self.config_values: dict[str, int | float] = values
        self.flags = dict(builder.flags)
        self.conditions = builder.path.words
        self.pinned = builder.path.pinned - entering
        self._relied_on = builder.path, builder.decided, builder.flags
        known = entering | self.pinned
        self.absent = tuple(name for name in _numeric_fields(builder.scope) if name not in known)
        self.assumptions = stated(self.flags)
        self.assumptions += [text if holds else f"not ({text})" for text, holds in self.conditions.items()]
        if isinstance(call, Step) and not call.loss:
            self.assumptions.append("a step without its loss, which is not validated")

    @classmethod
    def of(
        cls, scope: Scope, architecture: str, quantity: str = "params", call: Call | Step | None = None
    ) -> Self:
        """The closed form of a quantity, checked against the exact count of the same config.

        A cost (:data:`archspec.tables.quantities.COSTS`) needs a ``call``, whose lengths are symbols, too;
        activations need a training step.

        Errors: :class:`FormulaError` when no closed form gives the count exactly, or for a quantity that
        is not one of `archspec.tables.quantities.FORMULAS`.
        """
        if quantity not in FORMULAS:
            raise FormulaError(f"{quantity} is not a quantity; there are {', '.join(FORMULAS)}")
        if quantity in COSTS and call is None:
            raise FormulaError(f"{quantity} is one of a call: give its lengths")
        wanted, trains = exact(scope, architecture, quantity, call), quantity == "training_flops"
        again = isinstance(call, Step) and call.checkpointing
        # a float that int() rounds has no closed form where the decimal number rounds otherwise; layers that
        # are tied one by one are told apart
        for unroll, opaque in product((False, True), repeat=2):
            builder = SymbolicBuilder(scope, opaque, unroll)
            if call is not None:
                builder = SymbolicCostBuilder(scope, call, trains, opaque_floats=opaque, unroll=unroll)
            try:
                tree = builder.build(architecture)
                if isinstance(call, Step) and call.loss and isinstance(builder, SymbolicCostBuilder):
                    saved = loss_saved(builder, tree, call.loss)
                    tree = tree.copy()
                    tree.saves = [*tree.saves, saved]
                rows = symbolic_tensors(tree if call is None else priced(tree, checkpointing=again), builder)
                if isinstance(builder, SymbolicCostBuilder):
                    builder.hands_on(rows)
            except Loops:
                continue
            found = cls(architecture, quantity, rows, builder, call)
            if found.substituted(found.symbols) == wanted:
                return found
        raise FormulaError(f"{architecture}: the closed form does not give the exact {quantity}, {wanted:,}")

    @staticmethod
    def plain(expr: Any) -> Any:
        """The expression over symbols without assumptions, as a user writes them."""
        return sympy.sympify(expr).xreplace(
            {symbol: sympy.Symbol(symbol.name) for symbol in sympy.sympify(expr).free_symbols}
        )

    @cached_property
    def validity(self) -> Validity:
        """Every condition that the formula relies on, for programs to check; nothing is replaced in it."""
        with self._relied_on[0].fields.allowance(MAX_TERMS):
            return validity(*self._relied_on)

    @property
    def unused(self) -> tuple[str, ...]:
        """The numeric fields that do not enter: other values alone, where they are taken, change nothing.

        That they do not stand in the formula says less: a field may make the list that tells layers apart.
        """
        counted = exact(self.scope, self.architecture, self.quantity, self.call)
        return tuple(name for name in self.absent if {*self._at_others(name)} <= {counted})

    def _at_others(self, name: str) -> Iterator[int]:
        """The quantity at other values of a field, where they are taken."""
        for value in others(self.scope.get(name)):
            try:
                scope = Scope(self.scope.spec, {**self.scope.raw, name: value}, self.scope.origin)
                scope.validate()
                yield exact(scope, self.architecture, self.quantity, self.call)
            except ArchspecError:
                continue

    def evaluate(self) -> int:
        """The quantity at the config."""
        return self.substituted(self.symbols)

    def replaced(self, replacement: dict[Any, Any], stated: Iterable[str]) -> Self:
        """The formula with symbols replaced by expressions of others, all at once, which is stated so."""
        other, stated = copy.copy(self), list(stated)
        other.expr = sympy.expand(self.expr.xreplace(replacement))
        other.replacements = self.composed(replacement)
        other.stated, other.assumptions = [*self.stated, *stated], [*self.assumptions, *stated]
        left = {symbol.name for symbol in other.expr.free_symbols}
        values = {**self.symbols, **self.config_values}
        other.symbols = {name: values[name] for name in sorted(left) if name in values}
        other.absent = tuple(name for name in self.absent if name not in left)
        return other

    @checked
    def composed(self, replacement: dict[Any, Any]) -> dict[Any, Any]:
        """What symbols are replaced by, where those of the result are replaced once more."""
        return {**replacement, **{old: new.xreplace(replacement) for old, new in self.replacements.items()}}

    @checked
    def in_bytes(self, dtype: str) -> Self:
        """The formula times the bytes of one element.

        Errors: :class:`ArchspecError` for an unknown dtype, :class:`FormulaError` for a cache with dtypes of
        its own, and for activations, which are bytes.

        >>> import archspec
        >>> archspec.formula("GPT2Model").in_bytes("bfloat16").evaluate()
        248879616
        """
        if isinstance(self.call, Step):
            raise FormulaError("activations are bytes already: the dtype is one of the step")
        if self.quantity == "cache_elements" and self.call is not None:
            self._one_dtype(self.call)
        return self.scaled(dtype_bytes(dtype), f"bytes of the {self.quantity} in {dtype}")

    @checked
    def scaled(self, times: int, name: str) -> Self:
        """The formula so many times, under another name."""
        other = copy.copy(self)
        other.scale, other.quantity_name = self.scale * times, name
        other.expr = sympy.expand(self.expr * times)
        return other

    def _one_dtype(self, call: Call) -> None:
        """Refuses a cache some of whose tensors do not have the model's dtype."""
        if any(kept.dtype for kept in Forward(self.scope, self.architecture, *call).cache):
            message = f"the cache of {self.architecture} has states in dtypes of their own"
            help_ = "bytes are given at numbers: model.forward(...).cache_bytes(dtype)"
            raise FormulaError(Problem(message, help=help_))

    @checked
    def number(self, expr: sympy.Expr | float) -> Any:
        """The exact value of any expression of this formula's symbols at the config's values."""
        table = {sympy.Symbol(name): exactly(value) for name, value in self.symbols.items()}
        return _summed(sympy.sympify(expr).xreplace(table))

    @checked
    def substituted(self, values: dict[str, int | float]) -> int:
        """The expression at values of its symbols. Errors: :class:`FormulaError` for no whole number."""
        for name, value in values.items():
            endless = isinstance(value, float) and not isfinite(value)
            if endless or isinstance(value, bool) or not isinstance(value, Real):
                raise FormulaError(f"{name}: {described(value)} is not a number", help=f"write {name}=2")
        exact = {sympy.Symbol(name): exactly(value) for name, value in values.items()}
        number = _summed(self.expr.xreplace(exact))
        if not number.is_Integer:
            raise FormulaError(f"the formula gives {number}, which is no count: a size is out of its range")
        return int(number)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.architecture}.{self.quantity} = {self.expr})"


def others(value: Any, choices: Iterable[str] = ()) -> list[Any]:
    """Values of a field to try in place of one: whether it enters a count is whether one changes that.

    Some of them it may not take. ``choices`` are the texts that its spec tells apart. A number's own is
    among them: some fields are read otherwise once they are named.

    >>> others(3), others([8, 2])
    ([3, 4, 2, 6, 0, 1], [[8], [8, 2, 2], [8, 8], [2, 2]])
    """
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value, value + 1, value - 1, 2 * value, 0, 1]
    if isinstance(value, list):
        return [value[:-1], value + value[-1:], value[:1] * len(value), value[-1:] * len(value)]
    return [*choices, *([] if isinstance(value, str) else [1, True, [0]])]


def exact(scope: Scope, architecture: str, quantity: str, call: Call | Step | None) -> int:
    """The exact count of a quantity, of a call where it is one of its costs."""
    if call is None:
        return quantities_of(tensors(tree_of(scope, architecture)))[quantity]
    if isinstance(call, Step):
        return StepActivations(scope, architecture, call).bytes
    found = Forward(scope, architecture, *call)
    return found.cache_elements() if quantity == "cache_elements" else int(getattr(found, quantity))


def _summed(number: Any) -> Any:
    """A number whose sums over layers are written out, where SymPy knows no closed form of theirs."""
    if not number.has(sympy.Sum):
        return number

    def terms(function: Any, *limits: Any) -> Any:
        (index, first, last), *_ = limits
        if len(limits) > 1 or not (first.is_Integer and last.is_Integer):
            return sympy.Sum(function, *limits)
        return sympy.Add(
            *(_summed(function.subs(index, value)) for value in range(int(first), int(last) + 1))
        )

    return number.replace(sympy.Sum, terms)


def _numeric_fields(scope: Scope) -> list[str]:
    names = []
    for name, field in scope.spec.fields.items():
        value = scope.get(name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and not field.only_costs and not name.endswith("_token_id"):
            names.append(name)
    return names
