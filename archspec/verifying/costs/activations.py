"""The instruments of activations, by kind of training: of text only, and with images, videos and audio."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

from archspec.costs.media.items import with_items
from archspec.costs.records import ELEMENT_BYTES, KERNELS, Call, Step
from archspec.costs.training.activations import StepActivations
from archspec.errors import ArchspecError
from archspec.reference.contents import has_encoder_and_decoder
from archspec.reference.media.running import has_media
from archspec.reference.saved import recomputed_bytes, saved_bytes
from archspec.tree.node import Node
from archspec.verifying.costs.cases import ENCODER_TOKENS, Case, media_step_calls
from archspec.verifying.costs.instruments import Instrument, Row

RECOMPUTED = "(recomputed)"  # a difference in the bytes that the largest recomputed layer saves
_STEP_LENGTHS = ((2, 64), (3, 17), (1, 40))  # sequences and tokens
_DTYPES = [*ELEMENT_BYTES]
_TWICE = 2  # configs that are compared with each dtype
_FROZEN_STEPS = 2


def unequal_bytes(
    tree: Node, expected: dict[str, int], found: dict[str, int]
) -> Iterator[tuple[str, int, int]]:
    """Yield modules that save other bytes; those missing in the spec count for the module around them."""
    theirs: Counter[str] = Counter()
    for path, nbytes in expected.items():
        theirs[_nearest_module(tree, path)] += nbytes
    for path in dict.fromkeys((*theirs, *found)):
        if theirs[path] != found.get(path, 0):
            yield path, theirs[path], found.get(path, 0)


def _nearest_module(tree: Node, path: str) -> str:
    found: list[str] = []
    node: Node | None = tree
    for part in path.split("."):
        node = node.children.get(part) if node is not None else None
        if node is None or node.layer in ("Identity", "Dropout"):
            break
        found.append(part)
    return ".".join(found)


def _activation_rows(case: Case, step: Step) -> Iterator[Row]:
    model = case.training_model(step)
    encodes = has_encoder_and_decoder(model) and not has_media(step.call)
    step = step._replace(encoder_tokens=ENCODER_TOKENS) if encodes else step
    call = with_items(step.call, case.scope, case.architecture)
    ours = StepActivations(case.scope, case.architecture, step.at_call(call))  # its refusal says more
    theirs = saved_bytes(model, step)
    quantity = f"activations with {step.kind}"
    yield from ((quantity, *row) for row in unequal_bytes(ours.tree, theirs, ours.by_module))
    if step.checkpointing:
        yield from _recomputed_rows(quantity, ours, model, step)


def _activation_instrument(step: Step) -> Instrument:
    def points(_: Case, number: int) -> Iterator[Step]:
        """Yield all dtypes and lengths for the first config, one point for each other config."""
        chosen = [*product(_DTYPES, _STEP_LENGTHS)]
        if number:
            chosen = [(_DTYPES[number % 2], _STEP_LENGTHS[number % 3])]
        for dtype, (batch, tokens) in chosen:
            yield step._replace(batch=batch, tokens=tokens, dtype=dtype)

    return Instrument(points, _activation_rows, strict=True)


def _media_activation_instrument(step: Step) -> Instrument:
    def points(case: Case, number: int) -> Iterator[Step]:
        """Yield steps with media in turns of the dtypes; of the first configs also in the other order."""
        for turn in (number, number + 1) if number < _TWICE else (number,):
            for place, call in enumerate(media_step_calls(case, number)):
                yield step._replace(dtype=_DTYPES[(turn + place) % len(_DTYPES)]).at_call(call)

    return Instrument(points, _activation_rows)


def _frozen_activation_instrument(step: Step) -> Instrument:
    def points(case: Case, number: int) -> Iterator[Step]:
        """Yield a few steps with media of the first configs, whose towers are frozen."""
        calls = islice(media_step_calls(case, 0), _FROZEN_STEPS) if number < _TWICE else ()
        for place, call in enumerate(calls):
            if towers := _towers(case, call):
                dtype = _DTYPES[(number + place) % len(_DTYPES)]
                yield step._replace(dtype=dtype, freeze=towers).at_call(call)

    return Instrument(points, _activation_rows)


def _towers(case: Case, call: Call) -> tuple[str, ...]:
    """Return the names of the modules that encode a call's items; none if the call is refused."""
    try:
        return (*sorted(case.forward(call).built.towers),)
    except ArchspecError:
        return ()


def _recomputed_rows(quantity: str, ours: StepActivations, model: Any, step: Step) -> Iterator[Row]:
    try:
        found = ours.recomputed_bytes
    except ArchspecError:
        return  # archspec refuses this number for the class
    expected = recomputed_bytes(model, step)
    if expected != found:
        yield quantity, RECOMPUTED, expected, found


_STEPS = [Step(1, 1, 0, "", *options) for options in product(KERNELS, (False, True))]
_MEDIA_STEPS = [step._replace(audios=(1,)) for step in _STEPS]
ACTIVATIONS = {step.kind: _activation_instrument(step) for step in _STEPS}
MEDIA_ACTIVATIONS = {step.kind: _media_activation_instrument(step) for step in _MEDIA_STEPS}
FROZEN_ACTIVATIONS = {
    step._replace(freeze=("",)).kind: _frozen_activation_instrument(step) for step in _MEDIA_STEPS
}
