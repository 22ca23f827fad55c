"""Kept activations held to torch's saved_tensors_hooks, by module: eager and flash, run again or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.activations import StepActivations
from archspec.costs.records import ELEMENT_BYTES, KERNELS, Step
from archspec.errors import ArchspecError
from archspec.reference.costs import encodes
from archspec.reference.saved import recomputed, saved, trained
from archspec.reference.verdicts import Refused, Unavailable
from archspec.specs.records import Spec
from archspec.tree.node import Node
from archspec.verifying.comparison import Config

KINDS = tuple((attention, checkpointing) for attention in KERNELS for checkpointing in (False, True))
_LENGTHS = ((2, 64), (3, 17), (1, 40))  # sequences and tokens
_MEMORY = 33  # encoder positions
AGAIN = "(computed again)"  # where a module stands, what the largest layer keeps as it is run again


class ActivationDifference(NamedTuple):
    """A module that keeps other bytes in transformers than in the spec."""

    config: Config
    step: Step
    module: str
    expected: int
    found: int


class KindOutcome(NamedTuple):
    """How activations did in one kind of training: points compared, the differences at one of them.

    ``unavailable`` says why nothing could be compared.
    """

    compared: int
    differences: tuple[ActivationDifference, ...] = ()
    unavailable: str = ""

    @property
    def exact(self) -> bool:
        """Whether all points that were compared agree, and there are some."""
        return bool(self.compared) and not self.differences


def verify_activations(spec: Spec, architecture: str, configs: list[Config]) -> dict[str, KindOutcome]:
    """How each kind of training did, by its name (`flash checkpointing`), over configs that both sides build.

    The first config is compared in each dtype and at all lengths, the others at one point each.
    """
    found = {}
    for kind in KINDS:
        outcome = KindOutcome(0, unavailable="no config runs")
        for number, raw in enumerate(configs):
            steps = list(_steps(number, *kind))
            outcome = _joined(outcome, _at_config(spec, architecture, raw, steps))
            if outcome.differences or not (number or outcome.compared):
                break  # where the default config says nothing, no other does
        found[steps[0].kind] = outcome
    return found


def _steps(number: int, attention: str, checkpointing: bool) -> Iterator[Step]:
    dtypes = list(ELEMENT_BYTES)
    if number:
        yield Step(*_LENGTHS[number % 3], 0, dtypes[number % 2], attention, checkpointing)
        return
    for dtype in dtypes:
        for lengths in _LENGTHS:
            yield Step(*lengths, 0, dtype, attention, checkpointing)


def _joined(one: KindOutcome, other: KindOutcome) -> KindOutcome:
    compared = one.compared + other.compared
    return KindOutcome(compared, other.differences, "" if compared else other.unavailable)


def _at_config(spec: Spec, architecture: str, raw: Config, steps: list[Step]) -> KindOutcome:
    """The differences at the first step of a config that has any."""
    compared, models, refused = 0, {}, ""
    try:
        for step in steps:
            if step.dtype not in models:
                models[step.dtype] = trained(architecture, raw, spec.model_type, step)
            model = models[step.dtype]
            step = step._replace(encoder_tokens=_MEMORY) if encodes(model) else step
            try:
                ours = StepActivations(Scope(spec, raw), architecture, step)
                _ = ours.by_module
            except ArchspecError as error:
                refused = str(error)
                continue
            measured = saved(model, step)
            found = (
                *differences(raw, ours, ours.by_module, measured),
                *_recomputed_difference(raw, ours, model),
            )
            if found:
                return KindOutcome(compared, found)
            compared += 1
    except (Refused, Unavailable) as error:
        return KindOutcome(0, unavailable=str(error))
    return KindOutcome(compared, unavailable="" if compared else refused)


def differences(
    raw: Config, ours: StepActivations, by_module: dict[str, int], measured: dict[str, int]
) -> Iterator[ActivationDifference]:
    """The modules that differ at one step, of all that is kept or of a rank's part."""
    theirs: Counter[str] = Counter()
    for path, nbytes in measured.items():
        theirs[_described(ours.tree, path)] += nbytes
    for path in dict.fromkeys((*theirs, *by_module)):
        found = by_module.get(path, 0)
        if theirs[path] != found:
            yield ActivationDifference(raw, ours.step, path, theirs[path], found)


def _recomputed_difference(raw: Config, ours: StepActivations, model: Any) -> Iterator[ActivationDifference]:
    """What the largest layer keeps, where it is run again and a spec describes it."""
    if not ours.step.checkpointing:
        return
    try:
        found = ours.recomputed_bytes
    except ArchspecError:
        return  # asked for, it is refused
    expected = recomputed(model, ours.step)
    if expected != found:
        yield ActivationDifference(raw, ours.step, AGAIN, expected, found)


def _described(tree: Node, path: str) -> str:
    """The module that a spec has for a path, or the nearest around it: many leave out what has no tensors."""
    found: list[str] = []
    node: Node | None = tree
    for part in path.split("."):
        node = node.children.get(part) if node is not None else None
        if node is None or node.layer in ("Identity", "Dropout"):
            break
        found.append(part)
    return ".".join(found)
