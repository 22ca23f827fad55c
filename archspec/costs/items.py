"""The images, videos and audios of a call: which a class takes, and how many tokens of the text they are."""

from __future__ import annotations

from archspec.configs.scope import Scope
from archspec.costs.builder import CostBuilder, build_costs
from archspec.costs.media import UnknownSize, only_modality
from archspec.costs.records import Call, Media, axes_of
from archspec.errors import ArchspecError, option
from archspec.specs.records import MODALITIES
from archspec.typing_light import Any


def with_items(call: Call, scope: Scope, architecture: str) -> Call:
    """Return a call whose batch is the number of items, for a class that takes nothing else.

    Errors: :class:`ArchspecError` for sizes that are not positive integers, and for another batch.
    """
    for modality, names in MODALITIES.items():
        for size in getattr(call, modality):
            given = size if isinstance(size, tuple) else (size,)
            if len(given) != len(names) or not all(type(one) is int and one > 0 for one in given):
                message = f"{modality}: {size!r} is not a size"
                raise ArchspecError(message, help=f"pass ({', '.join(names)}), each at least 1")
    module = scope.spec.module(architecture)
    modality = None if module is None else only_modality(scope, module)
    if modality is None:
        return call
    number = len(getattr(call, modality))
    if call.batch not in (1, number) and number:
        message = f"{option('batch', call.batch)} does not fit {number} {modality}"
        raise ArchspecError(message, help=f"leave out {option('batch')}")
    return call._replace(batch=number or call.batch, tokens=1)


def check_items(built: CostBuilder, call: Call) -> None:
    """Raise :class:`ArchspecError` for items that the class does not take."""
    for modality in MODALITIES:
        if getattr(call, modality) and modality not in built.modalities:
            takes = " and ".join(built.modalities)
            message = f"{built.architecture} does not take {modality}"
            help_ = f"leave out {option(modality[:-1])}" + (f": it takes {takes}" if takes else "")
            raise ArchspecError(message, help=help_)


def tokens_of_items(built: CostBuilder, call: Call) -> dict[str, list[int]]:
    """Return the tokens of the text that each item takes the place of, by modality."""
    found = {}
    for modality, placed in built.placed.items():
        tokens = {one.size if len(one.size) > 1 else one.size[0]: int(one.tokens) for one in placed}
        found[modality] = [tokens[size] for size in getattr(call, modality)]
    return found


def placed_tokens(built: CostBuilder, call: Call) -> int:
    """Return the tokens of the items of one sequence; items are spread evenly, in order.

    A sequence with fewer of them is padded.
    """
    most = [0] * call.batch
    for tokens in tokens_of_items(built, call).values():
        for place, number in enumerate(tokens):
            most[place * call.batch // len(tokens)] += number
    return 0 if call.past else max(most, default=0)


def check_placed(built: CostBuilder, call: Call) -> None:
    """Raise :class:`ArchspecError` for fewer tokens than those of the items."""
    least = placed_tokens(built, call)
    if call.tokens < least:
        message = f"{option('tokens', call.tokens)}: the images, videos and audios alone are {least:,} tokens"
        raise ArchspecError(
            message, help=f"pass {option('tokens')} of at least {least:,}, or {option('text')}"
        )


def takes(scope: Scope, architecture: str) -> dict[str, tuple[int, ...] | None]:
    """Return the modalities that a class takes, each with its only or usual size; None for any size."""
    call = with_items(Call(1, 1), scope, architecture)
    try:
        built = build_costs(scope, architecture, axes_of(call))
    except UnknownSize:
        module = scope.spec.module(architecture)
        modality = None if module is None else only_modality(scope, module)
        if modality is not None:
            return {modality: None}
        raise
    return {modality: _usual_size(scope, architecture, modality) for modality in built.modalities}


def _usual_size(scope: Scope, architecture: str, modality: str) -> tuple[int, ...] | None:
    from archspec.costs.media import UNKNOWN

    axes: dict[str, Any] = axes_of(with_items(Call(1, 1), scope, architecture))
    unknown = ((1, (UNKNOWN,) * len(MODALITIES[modality])),)
    built = CostBuilder(scope, {**axes, "media": Media(**{modality: unknown})})
    try:
        built.build(architecture)
    except UnknownSize:
        return None
    return built.taken.get(modality)
