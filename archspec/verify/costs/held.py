"""Which further numbers of a call are held to transformers: masked FLOPs, static caches, working sets.

A class without one of them has exact FLOPs and caches; that number of it is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.forward import Forward, own_flops
from archspec.costs.records import Call
from archspec.costs.working_set import working_set
from archspec.errors import ArchspecError
from archspec.oracle.costs import encodes, instance
from archspec.oracle.masks import let_through
from archspec.oracle.memory import measured_peak, reserved
from archspec.oracle.verdicts import Refused, Unavailable
from archspec.specs.records import Spec
from archspec.verify.comparison import Config

_WINDOWS = ("sliding_window", "attention_chunk_size")
_NARROW = 16  # positions: windows of a config are made so short, and calls are around it
_MEMORY = 9  # encoder positions
_EXPERTS = "expert_"


class Check(NamedTuple):
    """Whether a number of a call is transformers' own, the calls to ask at, and at how many configs."""

    agrees: Callable[[Forward, Any, Call], bool]
    calls: tuple[Call, ...]
    configs: int = 2


def held(
    spec: Spec, architecture: str, configs: Iterable[Config], names: Collection[str] = ()
) -> tuple[str, ...]:
    """The names, of all CHECKS or some, that agree wherever they can be measured, at two points or more."""
    agreed: Counter[str] = Counter()
    differ: set[str] = set()
    for number, raw in enumerate(configs):
        asked = [name for name in names or CHECKS if number < CHECKS[name].configs]
        raw, model = _narrow(spec, architecture, raw) if asked else (raw, None)
        for name in asked if model is not None else ():
            check = CHECKS[name]
            for call in check.calls:
                if encodes(model):
                    call = call._replace(memory=_MEMORY, encoded=0 if call.past else _MEMORY)
                try:
                    same = check.agrees(Forward(Scope(spec, raw), architecture, *call), model, call)
                except (Unavailable, ArchspecError):
                    continue
                agreed[name] += same
                if not same:
                    differ.add(name)
                    break
    return tuple(name for name in CHECKS if agreed[name] > 1 and name not in differ)


def _narrow(spec: Spec, architecture: str, raw: Config) -> tuple[Config, Any]:
    """A config and its model on meta, with short windows where both sides take them so; None without one."""
    scope = Scope(spec, raw)
    windows = {name: _NARROW for name in _WINDOWS if name in spec.fields and type(scope.get(name)) is int}
    for given in ({**raw, **windows}, raw):
        try:
            Scope(spec, given).validate()
            return given, instance(architecture, given, spec.model_type)
        except (ArchspecError, Refused, Unavailable):
            continue
    return raw, None


def masked(ours: Forward, model: Any, call: Call) -> bool:
    """Whether masks let through what `masked_flops` says, module for module."""
    computed, through = let_through(model, call)
    let: Counter[str] = Counter()
    for path, cost in own_flops(ours.tree):
        let[path] += cost.masked
    modules = (computed, ours.flops_by_module), (through, let)
    return all(_comparable(one) == _comparable(other) for one, other in modules)


def static(ours: Forward, model: Any, call: Call) -> bool:
    """Whether StaticCache reserves what `allocation="static"` says."""
    if not ours.cache:
        raise Unavailable("there is no cache")
    tensors = ours.allocated("static")
    return reserved(model, call) == Counter((kept.shape, kept.dtype or "bfloat16") for kept in tensors)


def allocated(ours: Forward, model: Any, call: Call) -> bool:
    """Whether torch allocates what the working set is, with the logits of all positions and of the last."""
    described = {last: working_set(ours, last) for last in (False, True)}
    if None in described.values():
        raise Unavailable("the working set is not described")
    return all(
        found is not None and measured_peak(model, call, last).working_set == found.bytes
        for last, found in described.items()
    )


CHECKS = {
    "masked": Check(masked, (Call(2, 5), Call(1, 16), Call(1, 17), Call(1, 67), Call(1, 3, 15))),
    "static": Check(static, (Call(2, 5), Call(1, 17))),
    "working_set": Check(
        allocated,
        (Call(2, 5), Call(1, 15), Call(1, 67), Call(1, 600), Call(2, 1, 9), Call(1, 1, 600)),
        configs=8,
    ),
}


def _comparable(flops: Any) -> Counter[str]:
    """FLOPs by module, without those of experts: which of them work depends on values."""
    return Counter({path: own for path, own in flops.items() if _EXPERTS not in path})
