"""The lengths of a call: their defaults, and the limits of position tables, `max_length` of a spec.

A table of position embeddings limits the sequence length; rotary and relative positions do not.
"""

from __future__ import annotations

from collections.abc import Mapping

from archspec.configs.scope import Scope
from archspec.costs.builder import cost_facts
from archspec.costs.forward import ENCODER_HELP, Forward, check_supported
from archspec.costs.records import Call, Step
from archspec.errors import ArchspecError, FormulaError
from archspec.tree.builder import tree_of
from archspec.tree.runnable import unrunnable
from archspec.typing_light import Any

USUAL_TOKENS, USUAL_ENCODER_TOKENS = 2048, 512


def usual_lengths(scope: Scope, architecture: str) -> dict[str, int]:
    """Return the default lengths of a formula: :func:`usual_tokens`, and at most 512 encoder tokens."""
    tokens, most = usual_tokens(scope), positions(scope, "encoder_tokens")
    encoder_tokens = USUAL_ENCODER_TOKENS if most is None else max(1, min(USUAL_ENCODER_TOKENS, most))
    if architecture in scope.spec.equal_lengths:
        encoder_tokens = tokens
    call = Call(1, tokens, 0, encoder_tokens, encoder_tokens)
    encodes = cost_facts(scope, architecture, call).encodes
    encoder = {"encoder_tokens": encoder_tokens} if encodes else {}
    return {"batch": 1, "tokens": tokens, **encoder}


def usual_tokens(scope: Scope, past: int = 0) -> int:
    """Return 2048, or the model's maximum after a past if that is smaller."""
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
    """Return the costs of a call with the default number of tokens unless one is given.

    Errors: :class:`ArchspecError` for a class whose costs were not validated, for a config that transformers
    cannot run, and for a call that is too long.
    """
    check_supported(scope, architecture)
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
    problem = next(unrunnable(scope, architecture, tree_of(scope, architecture)), None)
    if problem is not None:
        raise ArchspecError(problem)


def positions(scope: Scope, axis: str) -> Any:
    """Return the limit of `tokens` or `encoder_tokens`; None without one.

    >>> import archspec
    >>> positions(archspec.load("RobertaModel").scope, "tokens")
    510
    """
    rule = scope.spec.max_length.get(axis)
    found = None if rule is None else scope.read(rule)
    return positions(found, "tokens") if isinstance(found, Scope) else found


def check_lengths(scope: Scope, architecture: str, call: Call | Step) -> None:
    """Errors: :class:`ArchspecError` for a call that is longer than the model's position tables."""
    call = call.call if isinstance(call, Step) else call
    if architecture in scope.spec.equal_lengths and call.encoder_tokens not in (0, call.tokens):
        message = f"{architecture} reads the same tokens in its encoder and in its decoder"
        raise ArchspecError(
            f"{message}, not {call.encoder_tokens:,} and {call.tokens:,}",
            help=f"use encoder_tokens={call.tokens}",
        )
    _check(scope, "tokens", call.context, architecture, "past + tokens is")
    if call.encoder_tokens and cost_facts(scope, architecture, call).encodes:
        _check(
            scope,
            "encoder_tokens",
            call.encoder_tokens,
            f"the encoder of {architecture}",
            "encoder_tokens is",
        )


def check_memory(scope: Scope, architecture: str, encoder_tokens: int | None) -> None:
    """Errors: :class:`ArchspecError` for an encoder's sequence length that has no effect, or is missing."""
    built = cost_facts(scope, architecture, Call(1, 1))
    if encoder_tokens and not built.attends:
        message = f"encoder_tokens has no effect: {architecture} does not attend to an encoder"
        raise ArchspecError(message, help="leave out encoder_tokens")
    if encoder_tokens is None and built.encodes:
        message = f"{architecture} needs the sequence length of its encoder"
        raise ArchspecError(message, help=ENCODER_HELP)


def _check(scope: Scope, axis: str, length: int, subject: str, limited: str) -> None:
    most = positions(scope, axis)
    if most is not None and length > most:
        message = f"{subject} supports at most {most:,} tokens, and this call has {length:,}"
        raise ArchspecError(message, help=f"{limited} at most {most:,}: {scope.spec.max_length[axis].text}")


def check_positive(**given: Any) -> None:
    """Errors: :class:`ArchspecError` for a number that is not an integer of at least 1."""
    for name, value in given.items():
        if type(value) is not int or value < 1:
            raise ArchspecError(f"{name} is {value!r}", help="give an integer of at least 1")


def check_lengthless(quantity: str, lengths: Mapping[str, Any]) -> None:
    """Errors: :class:`FormulaError` for a length, on which the quantity does not depend."""
    for name in lengths:
        raise FormulaError(f"{name} has no effect on {quantity}", help=f"leave out {name}")
