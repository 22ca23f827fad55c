"""How long a call is: the default, and the most that a model's position embeddings allow.

`max_length` of a spec says what a table of position embeddings allows; rotary and relative positions have no
maximum.
"""

from __future__ import annotations

from collections.abc import Mapping

from archspec.configs.scope import Scope
from archspec.costs.builder import CostBuilder
from archspec.costs.forward import POSITIONS_HELP, Forward, held_to_transformers
from archspec.costs.records import Call, Step, axes_of
from archspec.errors import ArchspecError, FormulaError
from archspec.tree.builder import Builder
from archspec.tree.node import Node
from archspec.tree.runnable import unrunnable
from archspec.typing_light import Any

USUAL_TOKENS, USUAL_MEMORY = 2048, 512


def usual_lengths(scope: Scope, architecture: str) -> dict[str, int]:
    """Lengths that a formula is made at: :func:`usual_tokens`, of an encoder 512 positions at most."""
    lengths = {"batch": 1, "tokens": usual_tokens(scope)}
    if not encodes(scope, architecture):
        return lengths
    if architecture in scope.spec.equal_lengths:
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
    rule = scope.spec.max_length.get(axis)
    found = None if rule is None else scope.read(rule)
    return positions(found, "tokens") if isinstance(found, Scope) else found


def check_lengths(scope: Scope, architecture: str, call: Call | Step) -> None:
    """Errors: :class:`ArchspecError` for a call that is longer than there are positions for."""
    call = call.call if isinstance(call, Step) else call
    if architecture in scope.spec.equal_lengths and call.encoder_tokens not in (0, call.tokens):
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
        raise ArchspecError(
            f"{whose} positions for {most:,} tokens, and this call comes to {length:,}",
            help=f"{what} {most:,} at most: {scope.spec.max_length[axis].text}",
        )


def encodes(scope: Scope, architecture: str) -> bool:
    """Whether an encoder is built, whose positions are a call's `encoder_tokens`."""
    builder = CostBuilder(scope, axes_of(Call(1, 1)))
    builder.build(architecture)
    return builder.encoder


def check_positive(**given: Any) -> None:
    """Errors: :class:`ArchspecError` for a number that is not an integer of at least 1."""
    for name, value in given.items():
        if type(value) is not int or value < 1:
            raise ArchspecError(f"{name} is {value!r}", help="give an integer of at least 1")


def check_lengthless(quantity: str, lengths: Mapping[str, Any]) -> None:
    """Errors: :class:`FormulaError` for the length of a call, on which the quantity does not depend."""
    for name in lengths:
        raise FormulaError(f"{name} has no effect on {quantity}", help=f"leave out {name}")
