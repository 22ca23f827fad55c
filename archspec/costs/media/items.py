"""The images, videos and audios of a call: which a class takes, and how many tokens of the text they are."""

from __future__ import annotations

from collections.abc import Iterable

from archspec.configs.scope import Scope
from archspec.costs.builder import CostBuilder, build_costs
from archspec.costs.media.groups import only_modality
from archspec.costs.media.sizes import UNKNOWN, Media, UnknownSize, item_of, sizes_of, value_text
from archspec.costs.records import Call, axes_of
from archspec.errors import ArchspecError, option
from archspec.specs.records import MODALITIES
from archspec.typing_light import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archspec.processors.requested import Requested


def with_items(call: Call, scope: Scope, architecture: str) -> Call:
    """Return a call whose batch is the number of items, for a class that takes nothing else.

    Errors: :class:`ArchspecError` for sizes that are not positive integers, and for another batch.
    """
    for name, names in MODALITIES.items():
        for size in getattr(call, name):
            given = sizes_of(size)
            if len(given) != len(names) or not all(type(one) is int and one > 0 for one in given):
                message = f"{name}: {size!r} is not a size"
                raise ArchspecError(message, help=f"pass ({', '.join(names)}), each at least 1")
    modality = modality_of(scope, architecture)
    if modality is None:
        return call
    items = getattr(call, modality)
    if call.batch not in (1, len(items)) and len(items) > 1:
        message = f"{option('batch', call.batch)} does not fit {len(items)} {modality}"
        raise ArchspecError(message, help=f"leave out {option('batch')}")
    batch = len(items) if len(items) > 1 else call.batch
    one_size = items[:1] if len({*items}) == 1 else items
    return call._replace(batch=batch, tokens=1, **{modality: one_size})


def modality_of(scope: Scope, architecture: str) -> str | None:
    """Return the modality of a class that takes nothing else; None for a class that takes text, too."""
    module = scope.spec.module(architecture)
    return None if module is None else only_modality(scope, module)


def given_modalities(call: Call, scope: Scope, architecture: str) -> list[str]:
    """Return the modalities of a call's items; always that of a class that takes nothing else."""
    only = modality_of(scope, architecture)
    return [only] if only else [name for name in MODALITIES if getattr(call, name)]


def check_items(built: CostBuilder, call: Call) -> None:
    """Raise :class:`ArchspecError` for items that the class does not take."""
    for modality in MODALITIES:
        if getattr(call, modality) and modality not in built.modalities:
            raise _untaken(built.architecture, modality, built.modalities)


def tokens_of_items(built: CostBuilder, call: Call) -> dict[str, list[int]]:
    """Return the tokens of the text that each item takes the place of, by modality."""
    found = {}
    for modality, placed in built.placed.items():
        tokens = {one.size: int(one.tokens) for one in placed}
        found[modality] = [tokens[sizes_of(item)] for item in getattr(call, modality)]
    return found


def placed_tokens(built: CostBuilder, call: Call) -> int:
    """Return how many of a sequence's tokens its items are; none of a decoder's with an encoder."""
    return 0 if built.encodes else _most_placed(built, call)


def _most_placed(built: CostBuilder, call: Call) -> int:
    """Return the tokens of the items of one sequence; items are spread evenly, in order.

    A sequence with fewer of them is padded.
    """
    found = tokens_of_items(built, call)
    if call.past or not any(found.values()):
        return 0  # also of a symbolic batch
    most = [0] * call.batch
    for tokens in found.values():
        for place, number in enumerate(tokens):
            most[place * call.batch // len(tokens)] += number
    return max(most, default=0)


def check_placed(built: CostBuilder, call: Call) -> None:
    """Raise :class:`ArchspecError` for fewer tokens than those of the items."""
    least = _most_placed(built, call)
    name = "encoder_tokens" if built.encodes else "tokens"
    given = getattr(call, name)
    if given < least:
        message = f"{option(name, given)}: images, videos and audios alone are {least:,} tokens"
        help_ = f"pass {option(name)} of at least {least:,}"
        help_ += "" if built.encodes else f", or {option('text')}"
        raise ArchspecError(message, help=help_)


def requested_items(
    scope: Scope, architecture: str, given: dict[str, Any], processed: bool = False
) -> Requested:
    """Return the sizes of the tensors of the items that a user gives.

    Errors: those of :func:`archspec.processors.requested.read_items`; for items that the class does not take.
    """
    from archspec.processors.requested import Requested, read_items

    if not processed and not any(given.values()):
        return Requested({})
    try:
        found = read_items(scope, given, processed)
    except ArchspecError:
        taken = takes(scope, architecture)
        for modality in given:
            if given[modality] and modality not in taken:
                raise _untaken(architecture, modality, taken) from None
        raise
    return fit_defaults(found, scope, architecture)


def _untaken(architecture: str, modality: str, taken: Iterable[str]) -> ArchspecError:
    takes = f": it takes {' and '.join(taken)}" if [*taken] else ""
    message = f"{architecture} does not take {modality}"
    return ArchspecError(message, help=f"leave out {option(modality)}{takes}")


def fit_defaults(given: Requested, scope: Scope, architecture: str) -> Requested:
    """Return items of the only size that a class takes if defaults of its processor give another one.

    Without the checkpoint's file, transformers resizes to a size that the class may not take.
    """
    for modality in given.assumed:
        built = _probe(scope, architecture, modality)
        if built is None or modality not in built.only:
            continue
        only = built.taken[modality]
        items = given.sizes[modality]
        if all(sizes_of(item) == only for item in items):
            continue
        steps = f"resized to {value_text(only)}, the only size that {architecture} takes"
        files = [one._replace(steps=steps) if one.modality == modality else one for one in given.files]
        sizes = {**given.sizes, modality: (item_of(only),) * len(items)}
        given = given._replace(sizes=sizes, files=tuple(files))
    return given


def takes(scope: Scope, architecture: str) -> dict[str, tuple[int, ...] | None]:
    """Return the modalities that a class takes, each with its only or usual size; None for any size."""
    only = modality_of(scope, architecture)
    call = with_items(Call(1, 1), scope, architecture)
    try:
        modalities = [only] if only else [*build_costs(scope, architecture, axes_of(call)).modalities]
    except UnknownSize as error:
        modalities = [error.modality]
    probes = {modality: _probe(scope, architecture, modality) for modality in modalities}
    return {name: None if built is None else built.taken.get(name) for name, built in probes.items()}


def default_sizes(scope: Scope, architecture: str) -> dict[str, tuple[int, ...] | None]:
    """Return the modalities that a class takes, each with the size of an item if none is given."""
    call = with_items(Call(1, 1), scope, architecture)
    try:
        modalities = build_costs(scope, architecture, axes_of(call)).modalities
    except UnknownSize as error:
        modalities = {error.modality: True}
    probes = {name: _probe(scope, architecture, name) for name, required in modalities.items() if required}
    sizes = {name: None if built is None else built.taken.get(name) for name, built in probes.items()}
    return dict.fromkeys(modalities) | sizes


def _probe(scope: Scope, architecture: str, modality: str) -> CostBuilder | None:
    """Return a build with one item whose size the class decides; None if it takes any size."""
    key = (architecture, modality)
    if key not in scope.probed:
        scope.probed[key] = _build_probe(scope, architecture, modality)
    found: CostBuilder | None = scope.probed[key]
    return found


def _build_probe(scope: Scope, architecture: str, modality: str) -> CostBuilder | None:
    axes: dict[str, Any] = axes_of(with_items(Call(1, 1), scope, architecture))
    unknown = ((1, (UNKNOWN,) * len(MODALITIES[modality])),)
    built = CostBuilder(scope, {**axes, "media": Media(**{modality: unknown})})
    try:
        built.build(architecture)
    except UnknownSize:
        return None
    return built
