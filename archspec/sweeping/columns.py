"""The columns, conditions and ties of a sweep, and costs of a forward pass: exact at a point, or symbolic."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.excess import excess_of
from archspec.costs.forward import COUNT_HELP, Forward
from archspec.costs.lengths import USUAL_TOKENS, forward_of
from archspec.costs.totals import counted_children, own_terms, routed_of, routed_share
from archspec.errors import ArchspecError, Place, Source, SweepError, did_you_mean, option
from archspec.formats.dtypes import dtype_bytes, element_bytes
from archspec.language.evaluator import Evaluator
from archspec.language.expression import EvaluationError, Expression, Locals, names, parse
from archspec.language.yaml_reader import Scalar
from archspec.models.model import Model
from archspec.sweeping.lengths import Lengths
from archspec.symbolic.counts import Loops
from archspec.symbolic.swept import SweptDomain
from archspec.tables.quantities import COST_COLUMNS, COSTS, QUANTITIES
from archspec.tree.node import Node

TOKENS = "tokens"  # the length that differs between configs if it is not given
BYTES = {"bytes", "cache_bytes"}  # the columns that depend on the dtype


def expression(text: str, name: str) -> Expression:
    """Parse an expression that a user typed. Errors: :class:`SpecError`, with a caret."""
    if not text.strip():
        raise SweepError(f"{name}: the expression is empty", help="write an expression, e.g. 4*hidden_size")
    return parse(Scalar(text, Place(Source(name, text), 1, 1), False, text), "")


class Columns(Evaluator):
    """Evaluates columns and conditions, whose names are quantities and fields of the config."""

    def __init__(self, scope: Scope, quantities: Mapping[str, Any]) -> None:
        self.scope, self.quantities, self.domain = scope, quantities, scope.domain

    def read(self, wanted: Expression) -> Any:
        """Return the value of an expression. Errors: :class:`SweepError`, with a caret."""
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
        quantities = [*QUANTITIES, "bytes", *COST_COLUMNS]
        help_ = f"choose from: {', '.join(quantities)}, or a config field"
        if name in COSTS:
            self.fail(f"{name} is not available here", node, help_)
        known = [*quantities, *self.scope.spec.fields, *self.scope.spec.attribute_map]
        message = f"{name} is neither a quantity nor a config field"
        self.fail(message, node, did_you_mean(name, known) or help_)

    def attribute(self, value: Any, name: str, node: ast.Attribute) -> Any:
        if not isinstance(value, Scope):
            return super().attribute(value, name, node)
        if not value.has(name):
            missing = f"{value.spec.model_type} has no field {name}"
            self.fail(missing, node, did_you_mean(name, value.spec.fields))
        return value.name(name, ast.Name(name))

    def call(self, name: str, node: ast.Call, local: Locals) -> Any:
        return self.scope.call(name, node, local) if name == "given" else super().call(name, node, local)


def order_ties(ties: Mapping[str, Expression], scope: Scope) -> dict[str, Expression]:
    """Return ties such that each one comes after those of the fields that it reads.

    Errors: :class:`SweepError` for fields that depend on each other.
    """
    left, ordered = {scope.canonical(name): name for name in ties}, dict[str, Expression]()
    while left:
        reads = {one: {*_fields_read(ties[name], scope)} & left.keys() - {one} for one, name in left.items()}
        ready = next((one for one, others in reads.items() if not others), None)
        if ready is None:
            message = f"{option('tie')}: {' and '.join(left.values())} depend on each other"
            raise SweepError(message, help="remove one of these ties")
        name = left.pop(ready)
        ordered[name] = ties[name]
    return ordered


def _fields_read(tie: Expression, scope: Scope) -> Iterator[str]:
    """Yield the fields that an expression reads, and those that their computed defaults read."""
    yield from (ast.unparse(node) for node in ast.walk(tie.tree) if isinstance(node, ast.Attribute))
    seen, left = set[str](), [scope.canonical(name) for name in names(tie.tree)]
    while left:
        if (name := left.pop()) in seen:
            continue
        seen.add(name)
        yield name
        field = scope.spec.fields.get(name)
        if field is not None and field.default is not None:
            left += names(field.default.tree)


class CallCosts(NamedTuple):
    """The cost columns ``names`` that are asked for, and the ``lengths`` of the forward passes.

    Lengths that are neither given nor swept follow the rule of :meth:`archspec.Model.forward`. With
    ``needs_cache`` a class without a KV cache has no cache columns; otherwise they are 0.
    """

    names: frozenset[str]
    lengths: Lengths
    needs_cache: bool = True

    def call(self, scope: Scope, architecture: str, settings: Mapping[str, Any]) -> Forward:
        """Return the forward pass of a config with some ``settings`` of fields and lengths.

        Errors: :class:`ArchspecError` for columns that it lacks, and for invalid lengths.
        """
        try:
            call = forward_of(scope, architecture, **self.lengths.lengths_at(settings))
        except ArchspecError as error:
            if error.problems[0].help != COUNT_HELP:
                raise
            help_ = "leave out columns and conditions on costs"
            raise ArchspecError(error.problems[0]._replace(help=help_)) from None
        if "masked_flops" in self.names:
            call.check_held("masked")
        if "training_flops" in self.names:
            call.check_trained()
        if self.needs_cache and self.names & {"cache_elements", "cache_bytes"}:
            call.check_cache()
        return call

    def exact_values(self, model: Model, dtype: str, settings: Mapping[str, Any]) -> dict[str, int]:
        """Return the columns of one config."""
        call = self.call(model.scope, model.architecture, settings)
        found: dict[str, Any] = {name: getattr(call, name) for name in self.names - {TOKENS}}
        if "cache_elements" in found:
            found["cache_elements"] = call.cache_elements()
        if "cache_bytes" in found:
            found["cache_bytes"] = call.cache_bytes(dtype)
        return {**found, TOKENS: call.call.tokens}

    def symbolic(
        self, scope: Scope, architecture: str, dtype: str, settings: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the columns of a scope with swept fields, and of swept lengths."""
        try:
            call = self.call(scope, architecture, settings)
        except Loops:
            unrolled = Scope(scope.spec, scope.raw, scope.origin, SweptDomain(unroll=True))
            call = self.call(unrolled, architecture, settings)
        found = {name: _total(call.tree, name, dtype_bytes(dtype)) for name in self.names - {TOKENS}}
        return {**found, TOKENS: call.call.tokens}

    def lengths_note(self, tokens: set[Any]) -> str:
        """Return a note on the lengths of all forward passes, empty if all are swept.

        ``tokens`` are the closed forms in all regions.
        """
        lengths, only = self.lengths, next(iter(tokens)) if len(tokens) == 1 else None
        if type(only) is not int or (lengths.has_items and lengths.names):
            only = lengths.given.get(TOKENS)
        text, known = lengths.text(only), {*lengths.given, *lengths.names}
        note = f"costs are for a forward pass with {text}"
        if only is not None or lengths.only or {TOKENS, "text_tokens"} & known:
            return note if text else ""
        note += ", and " if text else ""
        note += f"as many tokens as a config has positions for, at most {USUAL_TOKENS:,}"
        return note if TOKENS in self.names else f"{note}; the column tokens shows how many"

    def row_notes(self, rows: Mapping[str, Forward]) -> list[str]:
        """Return notes on some rows by name: the most FLOPs in excess, and the files of the last one."""
        notes = [f"at {name}: {'; '.join(call.files)}" for name, call in rows.items() if call.files][-1:]
        if any(name.endswith("flops") for name in self.names):
            found = {name: excess_of(call) for name, call in rows.items()}
            name = max(found, key=lambda one: found[one].ratio)
            notes += [f"at {name}: {note}"] if (note := found[name].note) is not None else []
        return notes


def names_in(wanted: Iterable[Expression]) -> frozenset[str]:
    """Return the names that expressions use."""
    nodes = (node for one in wanted for node in ast.walk(one.tree))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name))


def check_used(names: frozenset[str], dtype: str | None, lengths: Lengths) -> None:
    """Raise :class:`SweepError` for a dtype or a length that no column depends on."""
    idle = ["dtype"] if dtype is not None and not BYTES & names else []
    idle += [] if {*COST_COLUMNS} & names else [*lengths.given, *sorted(lengths.names)]
    if idle:
        needed = "bytes or cache_bytes" if idle == ["dtype"] else ", ".join(COST_COLUMNS)
        flag = f"--{idle[0].replace('_', '-')}" if idle[0] not in lengths.names else idle[0]
        help_ = f"add a column ({needed}), or leave out {flag}"
        raise SweepError(f"{flag} has no effect: no column depends on it", help=help_)


def _total(node: Node, column: str, element: int) -> Any:
    """Return a column of a module and all inside it; modules that a loop repeats count as often."""
    if column == "cache_bytes":
        name, found = "cache_elements", 0
        for kept in node.cache or ():
            size = element_bytes(kept.dtype) if kept.dtype else element
            found += prod(kept.shape) * kept.times * size
    else:
        name, found = column, sum(prod(sizes) for _, sizes in own_terms(column, node))
    for child in counted_children(node, name).values():
        found = found + _total(child, column, element) * (1 if child.turn is None else child.turn.times)
    return routed_share(found, routed_of(node)) if column.endswith("flops") else found
