"""FLOPs of training steps held to the instrument, by module, where those of a forward are exact."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.reference.training import measured_training
from archspec.reference.verdicts import Unavailable
from archspec.specs.records import Spec
from archspec.verifying.comparison import Config
from archspec.verifying.costs.comparison import (
    CostDifference,
    CostOutcome,
    configs,
    over,
    shallow,
    unlike,
    verify_costs,
)

_MORE = 4  # configs for each one that is to run


def verify_with_training(spec: Spec, architecture: str, samples: int = 5, seed: int = 0) -> CostOutcome:
    """Compares a forward, then a training step at the same configs."""
    forward = verify_costs(spec, architecture, samples, seed)
    if forward.verdict != "exact":
        return forward
    few = shallow(spec, forward.configs)
    more = (raw for raw in configs(spec, architecture, samples, seed + 1) if raw not in few)
    tried = chain(few, islice(more, _MORE * samples))  # not all that run train, as without a dropout's rate
    training = over(spec, architecture, tried, len(few) - 2, compared_step, trains=True)
    return forward._replace(training=training)


def compared_step(
    spec: Spec, architecture: str, raw: Config, model: Any, call: Call
) -> Iterator[CostDifference]:
    """The differences at one point. Errors: :class:`Unavailable`, also where the spec gives no costs."""
    theirs = measured_training(model, call)
    try:
        ours = Forward(Scope(spec, raw), architecture, *call)
    except ArchspecError as error:
        raise Unavailable(str(error)) from None
    for path, expected, found in unlike(theirs, ours.step_flops_by_module):
        yield CostDifference(raw, call, "training flops", path, expected, found)
