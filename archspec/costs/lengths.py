"""The lengths of a forward pass: their defaults, and the limits of position tables, `max_length` of a spec.

A table of position embeddings limits the sequence length; rotary and relative positions do not.
"""

from __future__ import annotations

from archspec.configs.choice import text_parts
from archspec.configs.scope import Scope
from archspec.costs.builder import cost_facts
from archspec.costs.forward import Forward, check_supported
from archspec.costs.media.items import default_sizes, modality_of, requested_items
from archspec.costs.records import Call, Step
from archspec.errors import ArchspecError, option
from archspec.language.values import value_of
from archspec.specs.records import MODALITIES
from archspec.tree.builder import tree_of
from archspec.tree.runnable import run_problems
from archspec.typing_light import Any

USUAL_TOKENS, _USUAL_ENCODER_TOKENS = 2048, 512


def usual_lengths(scope: Scope, architecture: str) -> dict[str, int]:
    """Return the default lengths of a formula: :func:`usual_tokens`, and at most 512 encoder tokens."""
    if modality_of(scope, architecture) is not None:
        return {"batch": 1}
    tokens, most = usual_tokens(scope), positions(scope, "encoder_tokens")
    encoder = _USUAL_ENCODER_TOKENS if most is None else max(1, min(_USUAL_ENCODER_TOKENS, most))
    if architecture in scope.spec.equal_lengths:
        encoder = tokens
    call = Call(1, tokens, encoder_tokens=encoder, new_encoder_tokens=encoder)
    encodes = cost_facts(scope, architecture, call).encodes
    return {"batch": 1, "tokens": tokens, **({"encoder_tokens": encoder} if encodes else {})}


def usual_tokens(scope: Scope, past: int = 0) -> int:
    """Return 2048, or the model's maximum after a past if that is smaller."""
    most = positions(scope, "tokens")
    left: int = USUAL_TOKENS if most is None or type(value_of(past)) is not int else most - past
    return max(1, min(USUAL_TOKENS, left))


def forward_of(scope: Scope, architecture: str, *, processed: bool = False, **lengths: Any) -> Forward:
    """Return the costs of a forward pass with the default number of tokens unless one is given.

    ``images``, ``videos`` and ``audios`` are those of :func:`archspec.processors.requested.read_items`.

    Errors: :class:`ArchspecError` for a class whose costs were not validated, for a config that transformers
    cannot run, and for a forward pass that is too long.
    """
    if lengths.get("tokens") is not None and lengths.get("text_tokens") is not None:
        message = f"{option('text_tokens')} cannot be combined with {option('tokens')}"
        help_ = f"leave out {option('tokens')}, which includes the tokens of images, videos and audio"
        raise ArchspecError(message, help=help_)
    given = {name: lengths.pop(name) for name in MODALITIES if name in lengths}
    check_supported(scope, architecture, items=[name for name in given if given[name]])
    check_runs(scope, architecture)
    if (modality := modality_of(scope, architecture)) is not None:
        _check_textless(architecture, modality, lengths)
    items = requested_items(scope, architecture, given, processed)
    lengths |= {**items.sizes, "padded": items.padded}
    lengths["held"] = scope.spec.library.costs(scope.spec.model_type).validated_figures(architecture)
    if modality or lengths.get("tokens") is not None or lengths.get("text_tokens") is not None:
        forward = Forward(scope, architecture, **lengths)
    else:
        forward = _usual_forward(scope, architecture, lengths)
    forward.files = items.lines(forward.tokens_by_item)
    check_lengths(scope, architecture, forward.call)
    return forward


def _usual_forward(scope: Scope, architecture: str, lengths: dict[str, Any]) -> Forward:
    """Return the costs for the usual number of tokens, or for all tokens of the items and one more."""
    tokens, items = usual_tokens(scope, lengths.get("past", 0)), lengths.keys() & MODALITIES.keys()
    alone = Forward(scope, architecture, **{**lengths, "text_tokens": 1}) if items else None
    if alone is not None and alone.call.tokens > tokens:
        return alone
    like = None if alone is None else alone.built
    return Forward(scope, architecture, **{**lengths, "tokens": tokens}, like=like)


def _check_textless(architecture: str, modality: str, lengths: dict[str, Any]) -> None:
    """Raise :class:`ArchspecError` for lengths of a text that the class does not take."""
    for name in ("tokens", "text_tokens", "past", "encoder_tokens", "new_encoder_tokens"):
        if lengths.get(name):
            message = f"{option(name)} has no effect: {architecture} takes {modality} only"
            raise ArchspecError(message, help=f"leave out {option(name)}")


def inputs_of(scope: Scope, architecture: str) -> dict[str, tuple[int, ...] | None]:
    """Return text if the class takes it, and each modality with the size of an item if none is given.

    If costs are not supported, the modalities of a class that takes text, too, are left out.
    """
    only = modality_of(scope, architecture)
    found: dict[str, tuple[int, ...] | None] = {only or "text": None}
    try:
        check_supported(scope, architecture)
        return found | default_sizes(scope, architecture)
    except ArchspecError:
        return found


def check_runs(scope: Scope, architecture: str) -> None:
    """Raise :class:`ArchspecError` for a config that transformers builds but cannot run."""
    if next(run_problems(scope, architecture), None) is not None:
        for problem in run_problems(scope, architecture, tree_of(scope, architecture)):
            raise ArchspecError(problem)


def positions(scope: Scope, axis: str) -> Any:
    """Return the limit of `tokens` or `encoder_tokens`; None without one.

    >>> import archspec
    >>> positions(archspec.load("RobertaModel").scope, "tokens")
    510
    """
    return _limit(scope, axis)[1]


def _limit(scope: Scope, axis: str) -> tuple[str, Any]:
    """Return the rule of a limit and its value; the language model inside a model limits its tokens."""
    rule = scope.spec.max_length.get(axis)
    if rule is not None:
        found = scope.read(rule)
        return _limit(found, "tokens") if isinstance(found, Scope) else (rule.text, found)
    for name, part in text_parts(scope) if axis == "tokens" else ():
        text, most = _limit(part.scope, axis)
        if text:
            return f"{name}.{text}", most
    return "", None


def stated_positions(scope: Scope) -> int | None:
    """Return `max_position_embeddings` of a config or of its text part; None if neither states it."""
    for one in (scope, *scope.parts().values()):
        name = one.canonical("max_position_embeddings")
        found = one.get(name) if one.has(name) else one.raw.get(name)
        if type(found) is int:
            return found
    return None


def check_lengths(scope: Scope, architecture: str, call: Call | Step) -> None:
    """Raise :class:`ArchspecError` for a forward pass that is longer than the model's position tables."""
    call = call.call if isinstance(call, Step) else call
    tokens, encoder = call.tokens, call.encoder_tokens
    if architecture in scope.spec.equal_lengths and encoder not in (0, tokens):
        message = f"{architecture} reads the same tokens in its encoder and in its decoder"
        help_ = f"pass {option('encoder_tokens', tokens)}"
        raise ArchspecError(f"{message}, not {encoder:,} and {tokens:,}", help=help_)
    limited = [("tokens", call.context, architecture, option("tokens"))]
    if encoder and cost_facts(scope, architecture, call).encodes:
        limited.append(
            ("encoder_tokens", encoder, f"the encoder of {architecture}", option("encoder_tokens"))
        )
    for axis, length, subject, what in limited:
        text, most = _limit(scope, axis)
        if most is not None and length > most:
            message = f"{subject} supports at most {most:,} tokens, not {length:,}"
            more = (
                f" (or {option('past')}), so that their sum is" if axis == "tokens" and call.past else " to"
            )
            raise ArchspecError(message, help=f"reduce {what}{more} at most {text} = {most:,}")
