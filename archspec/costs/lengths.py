"""How long a call is: as usual, and at most what transformers has positions for, by formulas/positions.json.

Positions that are looked up in a table end with it; rotary and relative ones go on as long as one likes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache

from archspec.configs.scope import Scope
from archspec.costs.builder import CostBuilder
from archspec.costs.forward import POSITIONS_HELP, Forward, held_to_transformers
from archspec.costs.records import Call, Step, axes_of
from archspec.errors import ArchspecError, FormulaError, Place, Source
from archspec.language.expression import Expression, parse
from archspec.language.yaml_nodes import Scalar
from archspec.specs.library import folder
from archspec.tree.builder import Builder
from archspec.tree.node import Node
from archspec.tree.runnable import unrunnable
from archspec.typing_light import Any

POSITIONS = (
    "positions.json"  # model type -> of `tokens`, past ones included, and of its encoder's `encoder_tokens`
)
USUAL_TOKENS, USUAL_MEMORY = 2048, 512


def usual_lengths(scope: Scope, architecture: str) -> dict[str, int]:
    """Lengths that a formula is made at: :func:`usual_tokens`, of an encoder 512 positions at most."""
    lengths = {"batch": 1, "tokens": usual_tokens(scope)}
    if not encodes(scope, architecture):
        return lengths
    if _one_length(architecture):
        return {**lengths, "encoder_tokens": lengths["tokens"]}
    most = positions(scope, "encoder_tokens")
    return {**lengths, "encoder_tokens": USUAL_MEMORY if most is None else max(1, min(USUAL_MEMORY, most))}


def usual_tokens(scope: Scope, past: int = 0) -> int:
    """2048, or as many as there are positions for after a past."""
    most = positions(scope, "tokens")
    left: int = USUAL_TOKENS if most is None or type(past) is not int else most - past
    return max(1, min(USUAL_TOKENS, left))


def called(
    scope: Scope,
    architecture: str,
    batch: int = 1,
    tokens: int | None = None,
    past: int = 0,
    encoder_tokens: int | None = None,
    new_encoder_tokens: int | None = None,
) -> Forward:
    """A call by the rule of every verb: :func:`usual_tokens` unless tokens are given, no usual memory.

    Errors: :class:`ArchspecError` for a class whose costs are not given, for a config that transformers
    cannot run, and for a call that is too long.
    """
    held_to_transformers(scope, architecture)
    check_runs(scope, architecture)
    held = scope.spec.library.costs(scope.spec.model_type).held(architecture)
    if tokens is None:
        tokens = usual_tokens(scope, past)
    call = Forward(scope, architecture, batch, tokens, past, encoder_tokens, new_encoder_tokens, held)
    check_lengths(scope, architecture, call.call)
    return call


def check_runs(scope: Scope, architecture: str) -> None:
    """Errors: :class:`ArchspecError` for a config that transformers builds and cannot run."""
    if next(unrunnable(scope, architecture), None) is None:
        return
    problem = next(unrunnable(scope, architecture, Builder(scope).build(architecture)), None)
    if problem is not None:
        raise ArchspecError(problem)


def positions(scope: Scope, axis: str) -> Any:
    """How many positions there are for `tokens` or `encoder_tokens`; None where no table ends them.

    >>> import archspec
    >>> positions(archspec.load("RobertaModel").scope, "tokens")
    510
    """
    rule = _rule(scope, axis)
    found = None if rule is None else scope.read(rule)
    return positions(found, "tokens") if isinstance(found, Scope) else found


def check_lengths(scope: Scope, architecture: str, call: Call | Step) -> None:
    """Errors: :class:`ArchspecError` for a call that is longer than there are positions for."""
    call = call.call if isinstance(call, Step) else call
    if call.encoder_tokens and call.encoder_tokens != call.tokens and _one_length(architecture):
        message = f"{architecture} runs with as many encoder positions as tokens"
        raise ArchspecError(
            f"{message}, not with {call.encoder_tokens:,} and {call.tokens:,}",
            help=f"encoder_tokens={call.tokens}",
        )
    _check(scope, "tokens", call.context, f"{architecture} has", "past and tokens are")
    if call.encoder_tokens and encodes(scope, architecture):
        _check(
            scope,
            "encoder_tokens",
            call.encoder_tokens,
            f"the encoder of {architecture} has",
            "encoder_tokens is",
        )


def check_memory(scope: Scope, architecture: str, encoder_tokens: int | None) -> None:
    """Errors: :class:`ArchspecError` for encoder positions that a class does not take, or needs."""
    if encoder_tokens and not _uses_memory(scope, architecture, encoder_tokens):
        message = f"encoder_tokens has no effect: {architecture} attends to no encoder"
        raise ArchspecError(message, help="leave encoder_tokens out")
    if encoder_tokens is None and encodes(scope, architecture):
        message = f"{architecture} reads what its encoder gives"
        raise ArchspecError(message, help=POSITIONS_HELP)


def _uses_memory(scope: Scope, architecture: str, encoder_tokens: int) -> bool:
    """Return True if any cost of a call depends on an encoder's positions."""
    without, given = (
        CostBuilder(scope, axes_of(Call(1, 1, 0, length, length))).build(architecture)
        for length in (0, encoder_tokens)
    )
    return _costs(without) != _costs(given)


def _costs(node: Node) -> list[Any]:
    return [node.costs, node.cache, *map(_costs, node.children.values())]


def _check(scope: Scope, axis: str, length: int, whose: str, what: str) -> None:
    most = positions(scope, axis)
    if most is not None and length > most:
        rule = _rule(scope, axis)
        assert rule is not None  # or there would be no end
        raise ArchspecError(
            f"{whose} positions for {most:,} tokens, and this call comes to {length:,}",
            help=f"{what} {most:,} at most: {rule.text}",
        )


def encodes(scope: Scope, architecture: str) -> bool:
    """Whether an encoder is built, whose positions are a call's `encoder_tokens`."""
    builder = CostBuilder(scope, axes_of(Call(1, 1)))
    builder.build(architecture)
    return builder.encoder


def _one_length(architecture: str) -> bool:
    """Return True for a class whose decoder reads the encoder's tokens again, such as BART's classifier."""
    return _rules().get(architecture, {}).get("encoder_tokens") == "tokens"


def _rule(scope: Scope, axis: str) -> Expression | None:
    text = _rules().get(scope.spec.model_type, {}).get(axis)
    return None if text is None else parse(Scalar(text, Place(Source(POSITIONS, text), 1, 1), False, text))


@cache
def _rules() -> dict[str, dict[str, str]]:
    with open(os.path.join(folder(), POSITIONS), encoding="utf-8") as file:
        found: dict[str, dict[str, str]] = json.load(file)
    return found


def check_positive(**given: Any) -> None:
    """Errors: :class:`ArchspecError` for a number that is not an integer of at least 1."""
    for name, value in given.items():
        if type(value) is not int or value < 1:
            raise ArchspecError(f"{name} is {value!r}", help="give an integer of at least 1")


def check_lengthless(quantity: str, lengths: Mapping[str, Any]) -> None:
    """Errors: :class:`FormulaError` for the length of a call, on which the quantity does not depend."""
    for name in lengths:
        raise FormulaError(f"{name} has no effect on {quantity}", help=f"leave out {name}")
