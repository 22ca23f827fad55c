"""Which further numbers of a call are held to transformers: masked FLOPs, static caches, working sets.

A class without one of them has exact FLOPs and caches; that number of it is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, product
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.forward import Forward, own_flops
from archspec.costs.records import Call
from archspec.costs.working_set import working_set
from archspec.errors import ArchspecError
from archspec.reference.costs import encodes, instance
from archspec.reference.masks import let_through
from archspec.reference.memory import measured_peak, reserved
from archspec.reference.verdicts import Refused, Unavailable
from archspec.specs.records import Spec
from archspec.verifying.comparison import Config, counted

_WINDOWS = ("sliding_window", "attention_chunk_size")
_NARROW = 16  # positions: windows of a config are made so short, and calls are around it
_MEMORY = 9  # encoder positions
_CONFIGS = 2
_SMALLEST = 6
_EXPERTS = "expert_"
_THIN = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "intermediate_size": 8,
    "vocab_size": 60,
}
_LARGEST: tuple[Config, ...] = (  # of each another part is the largest: a norm, queries, keys, mlp, head
    {**_THIN, "head_dim": 8},
    {**_THIN, "head_dim": 64},
    {**_THIN, "num_key_value_heads": 4},
    {**_THIN, "intermediate_size": 4096},
    {**_THIN, "vocab_size": 9000},
)
_PARTS = {"mlp", "self_attn", "post_attention_layernorm"}  # each of which is to be the largest once
_ALLOCATING = (Call(2, 5), Call(1, 15), Call(1, 67), Call(1, 600), Call(2, 1, 9), Call(1, 1, 600))


class Check(NamedTuple):
    """Whether a number of a call is transformers' own, and the calls to ask at."""

    agrees: Callable[[Forward, Any, Call], bool]
    calls: tuple[Call, ...]


class Agreement(NamedTuple):
    """Of CHECKS those that agree wherever they can be measured, at two points or more; those that do not."""

    agreed: tuple[str, ...]
    differ: frozenset[str]


def held(
    spec: Spec, architecture: str, configs: Iterable[Config], others: Iterable[Config] = ()
) -> tuple[str, ...]:
    """The names of CHECKS that agree; masks that only values show are asked for at the smallest of others."""
    found = _agreement(spec, architecture, [*configs][:_CONFIGS], CHECKS)
    if "masked" in (*found.agreed, *found.differ):
        return found.agreed
    sizes = [(_size(spec, architecture, raw), raw) for raw in others]
    small = [raw for size, raw in sorted(sizes, key=itemgetter(0)) if size][:_SMALLEST]
    return (*_agreement(spec, architecture, small, {"masked": CHECKS["masked"]}).agreed, *found.agreed)


def _size(spec: Spec, architecture: str, raw: Config) -> int:
    return sum(prod(row.shape) for row in counted(spec, architecture, raw).rows)


def _agreement(
    spec: Spec, architecture: str, configs: list[Config], checks: Mapping[str, Check]
) -> Agreement:
    agreed: Counter[str] = Counter()
    differ: set[str] = set()
    for raw in configs:
        raw, model = _narrow(spec, architecture, raw)
        for name, check in checks.items() if model is not None else ():
            for call in check.calls:
                if encodes(model):
                    call = call._replace(
                        encoder_tokens=_MEMORY, new_encoder_tokens=0 if call.past else _MEMORY
                    )
                try:
                    same = check.agrees(Forward(Scope(spec, raw), architecture, *call), model, call)
                except (Unavailable, ArchspecError):
                    continue
                agreed[name] += same
                if not same:
                    differ.add(name)
                    break
    names = tuple(name for name in checks if agreed[name] > 1 and name not in differ)
    return Agreement(names, frozenset(differ))


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


CHECKS = {
    "masked": Check(masked, (Call(2, 5), Call(1, 16), Call(1, 17), Call(1, 67), Call(1, 3, 15))),
    "static": Check(static, (Call(2, 5), Call(1, 17))),
}


def working_set_held(spec: Spec, architecture: str, configs: Iterable[Config]) -> bool:
    """Whether torch allocates what the working set is wherever it is described and can be measured.

    Each part that may be the largest has to be so once, or a rule for another part would pass.
    """
    default = {"model_type": spec.model_type}
    largest: set[str] = set()
    small = [{**default, **thin} for thin in _LARGEST]
    if not any(_described(spec, architecture, raw) for raw in small):
        return False  # before others are drawn
    for raw in (raw for raw in chain(small, configs) if _described(spec, architecture, raw)):
        raw, model = _narrow(spec, architecture, raw)
        for call, last in product(_ALLOCATING if model is not None else (), (False, True)):
            try:
                ours = working_set(Forward(Scope(spec, raw), architecture, *call), last)
                theirs = measured_peak(model, call, last) if ours is not None else None
            except (Unavailable, ArchspecError):
                continue
            if ours is None or theirs is None:
                continue
            if theirs.working_set != ours.bytes:
                return False
            largest.add(ours.part)
    return largest >= _PARTS


def _described(spec: Spec, architecture: str, raw: Config) -> bool:
    """Whether there is a working set of a short call, before a model is made to hold it to."""
    try:
        return working_set(Forward(Scope(spec, raw), architecture, *_ALLOCATING[0])) is not None
    except ArchspecError:
        return False


def _comparable(flops: Any) -> Counter[str]:
    """FLOPs by module, without those of experts: which of them work depends on values."""
    return Counter({path: own for path, own in flops.items() if _EXPERTS not in path})
