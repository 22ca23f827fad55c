"""The costs of a call as columns: exact at a point, and as numbers on the path of a region."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.lengths import USUAL_TOKENS, called, check_memory
from archspec.costs.notes.excess import Excess
from archspec.costs.quantities import routed_of, routed_share
from archspec.errors import SweepError
from archspec.formats.dtypes import dtype_bytes
from archspec.language.expression import Expression
from archspec.models.model import Model
from archspec.symbolic.counts import Loops
from archspec.symbolic.swept import SweptDomain
from archspec.tables.quantities import COST_COLUMNS
from archspec.tree.node import Node

LENGTHS = ("batch", "tokens", "past", "encoder_tokens", "new_encoder_tokens")
FLOPS_COLUMNS = ("flops", "masked_flops", "training_flops")
TOKENS = "tokens"  # the length that differs between configs where it was not given


class Sums(NamedTuple):
    """What a module adds to each column, all inside it included."""

    flops: Any = 0
    masked: Any = 0
    backward: Any = 0
    elements: Any = 0
    bytes: Any = 0

    def times(self, count: Any) -> Sums:
        return Sums(*(number * count for number in self))

    def plus(self, other: Sums) -> Sums:
        return Sums(*(one + more for one, more in zip(self, other, strict=True)))

    def columns(self) -> dict[str, Any]:
        training = self.flops + self.backward
        numbers = (self.flops, self.masked, training, self.elements, self.bytes)
        return dict(zip(COST_COLUMNS, numbers, strict=True))


class Wanted(NamedTuple):
    """The cost columns that are asked for, and the lengths that were given for their calls.

    Lengths that were not given are resolved for each config, by the rule of :meth:`archspec.Model.forward`.
    """

    names: frozenset[str]
    lengths: dict[str, int]

    def of(self, scope: Scope, architecture: str) -> Forward:
        """The call of one config. Errors: :class:`ArchspecError` for columns that are not given of it."""
        call = called(scope, architecture, **self.lengths)
        if encoder_tokens := self.lengths.get("encoder_tokens"):
            check_memory(scope, architecture, encoder_tokens)
        if "masked_flops" in self.names:
            call.check_held("masked")
        if "training_flops" in self.names:
            call.check_trained()
        return call

    def said(self, tokens: set[Any]) -> str:
        """The lengths of the calls, as a note; ``tokens`` are those of the closed forms of all rows."""
        given = {"batch": 1, **self.lengths}
        if len(tokens) == 1 and type(only := next(iter(tokens))) is int:
            given["tokens"] = only
        names = [name for name in LENGTHS if given.get(name)]
        lengths = [f"{name} {given[name]:,}" for name in names]
        if "tokens" not in given:
            lengths.append(f"and as many tokens as a config has positions for, at most {USUAL_TOKENS:,}")
        column = "" if "tokens" in given or "tokens" in self.names else "; the column tokens shows how many"
        return f"costs are those of a call with {', '.join(lengths)}{column}"


def costs_in(wanted: Iterable[Expression]) -> frozenset[str]:
    """The costs of a call that expressions name."""
    nodes = (node for one in wanted for node in ast.walk(one.tree))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name)) & {*COST_COLUMNS, TOKENS}


def exact_costs(model: Model, wanted: Wanted, dtype: str) -> dict[str, int]:
    """The columns of one config."""
    call = wanted.of(model.scope, model.architecture)
    known: dict[str, Callable[[], int]] = {
        "flops": lambda: call.flops,
        "masked_flops": lambda: call.masked_flops,
        "training_flops": lambda: call.training_flops,
        "cache_elements": call.cache_elements,
        "cache_bytes": lambda: call.cache_bytes(dtype),
        TOKENS: lambda: call.call.tokens,
    }
    asked = {*wanted.names, TOKENS}
    return {name: known[name]() for name in asked}


def swept_costs(scope: Scope, architecture: str, wanted: Wanted, dtype: str) -> dict[str, Any]:
    """The columns over the numbers of a scope whose fields are swept."""
    try:
        call = wanted.of(scope, architecture)
    except Loops:
        plainly = Scope(scope.spec, scope.raw, scope.origin, SweptDomain(unroll=True))
        call = wanted.of(plainly, architecture)
    columns = _sums(call.tree, dtype_bytes(dtype)).columns()
    return {name: columns[name] for name in columns if name in wanted.names} | {TOKENS: call.call.tokens}


def excess_notes(rows: Mapping[str, Model], wanted: Wanted) -> list[str]:
    """The note on the row, of some rows by name, whose eager code spends most beyond what is expected."""
    if not wanted.names & {*FLOPS_COLUMNS} or not rows:
        return []
    found = {name: Excess(wanted.of(model.scope, model.architecture)) for name, model in rows.items()}
    name = max(found, key=lambda one: found[one].ratio)
    note = found[name].note
    return [] if note is None else [f"at {name}, {note}"]


def _sums(node: Node, element: int, keeps: bool = True) -> Sums:
    """All of a module, with the turns of its loops; of routed experts the products of those that work."""
    keeps = keeps and node.cache is not None
    found = Sums()
    for cost in node.costs:
        found = found.plus(Sums(cost.flops, cost.masked, cost.backward))
    for kept in (node.cache or ()) if keeps else ():
        elements = prod(kept.shape) * kept.times
        size = dtype_bytes(kept.dtype) if kept.dtype else element
        found = found.plus(Sums(elements=elements, bytes=elements * size))
    for child in node.children.values():
        inner = _sums(child, element, keeps)
        found = found.plus(inner if child.turn is None else inner.times(child.turn.times))
    flops, masked, backward = (routed_share(number, routed_of(node)) for number in found[:3])
    return found._replace(flops=flops, masked=masked, backward=backward)


def subject_names(columns: Mapping[str, Expression], where: Iterable[Expression]) -> set[str]:
    """The names in the columns and conditions of a sweep."""
    nodes = (node for one in (*columns.values(), *where) for node in ast.walk(one.tree))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def check_used(named: set[str], dtype: str | None, lengths: Mapping[str, int]) -> None:
    """Errors: :class:`SweepError` for a dtype or a length of a call that no column depends on."""
    idle = [] if {"bytes", "cache_bytes"} & named or dtype is None else ["dtype"]
    idle += [] if {*COST_COLUMNS} & named else lengths
    if idle:
        needed = "bytes or cache_bytes" if idle == ["dtype"] else ", ".join(COST_COLUMNS)
        message = f"{idle[0]} has no effect: no column depends on it"
        raise SweepError(message, help=f"add a column ({needed}), or leave out {idle[0]}")
