"""Costs held to the instrument: FLOPs by module and cached tensors, at the default config and at random ones.

A point is one call of one config: prefill, a decode step, or several tokens on a past; below, at and above
the windows and chunks of the config.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.reference.costs import NO_CACHE, encodes, instance, measured
from archspec.reference.verdicts import Refused, Unavailable
from archspec.specs.records import Spec
from archspec.verifying.comparison import Config
from archspec.verifying.costs.activations import KindOutcome, verify_activations
from archspec.verifying.costs.held import held, working_set_held
from archspec.verifying.verifier import TRIES, Verifier

_CALLS = (Call(1, 1), Call(2, 5), Call(1, 67), Call(1, 600), Call(2, 1, 9), Call(1, 3, 67), Call(1, 1, 600))
_CALLS_OF_MANY_LAYERS = (Call(2, 67), Call(1, 5), Call(2, 3, 9))
_MORE_STEPS = (Call(2, 67), Call(3, 17), Call(1, 130))  # of training, which has none on a past
_DEPTH, _SHALLOW = "num_hidden_layers", 6  # as many as patterns of layers repeat after
_MEMORY = 33  # encoder positions
_BOUNDS = ("window", "chunk", "block")  # in the names of fields that FLOPs or caches change at
_LONGEST = 5000  # positions
_LONGEST_STEP = 300  # positions of a training step
_EXPERT = re.compile(r"expert_\d+")
_LEAST_POINTS = 6
_NEEDED: dict[str, Config] = {  # caches do not say how long they are without a layer of attention
    "dbrx": {"attn_config": {"rope_theta": 10000.0, "clip_qkv": 8}},
    "bamba": {"attn_layer_indices": [1]},
    "lfm2_moe": {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"]},
    "granitemoehybrid": {
        "num_hidden_layers": 3,
        "layer_types": ["linear_attention", "full_attention", "linear_attention"],
    },
}
_NOTHING: Mapping[str, KindOutcome] = {}
_DRAWN = 6  # configs for each one that is to run


class CostDifference(NamedTuple):
    """One way in which costs differ from what transformers computes: of a module's FLOPs, or the cache."""

    config: Config
    call: Call
    kind: str  # flops, training flops, or cache
    name: str
    expected: Any
    found: Any


class CostOutcome(NamedTuple):
    """How the costs of one architecture did: points compared, and the differences.

    ``unavailable`` says why nothing could be measured here. ``activations`` are those of each kind of
    training, ``configs`` those that were compared at; ``training`` is how gradients did, where asked for;
    ``held`` says which further numbers agree, too.
    """

    architecture: str
    model_type: str
    compared: int
    differences: tuple[CostDifference, ...]
    unavailable: str = ""
    activations: Mapping[str, KindOutcome] = _NOTHING
    configs: tuple[Config, ...] = ()
    training: CostOutcome | None = None
    held: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """exact, wrong, or unavailable."""
        return "wrong" if self.differences else "exact" if self.compared else "unavailable"


Compared = Callable[[Spec, str, Config, Any, Call], Iterable[CostDifference]]  # a model at one point


def verify_costs(spec: Spec, architecture: str, samples: int = 5, seed: int = 0) -> CostOutcome:
    """Compares at the default config, it with few layers, and at ``samples`` others that run on meta."""
    found = over(spec, architecture, configs(spec, architecture, samples, seed), samples, compared_at)
    if found.verdict != "exact":
        return found
    few = shallow(spec, found.configs)
    kept = verify_activations(spec, architecture, few)
    working = ("working_set",) if working_set_held(spec, architecture, few) else ()
    others = configs(spec, architecture, samples, seed)
    return found._replace(activations=kept, held=(*held(spec, architecture, few, others), *working))


def over(
    spec: Spec,
    architecture: str,
    raws: Iterable[Config],
    samples: int,
    compare: Compared,
    trains: bool = False,
) -> CostOutcome:
    """Compares at the first configs that run, two more than ``samples``; more than half must."""
    points, unavailable = 0, ""
    run: list[Config] = []
    for raw in raws:
        found = at_config(spec, architecture, raw, compare, trains)
        unavailable = unavailable or found.unavailable
        if found.differences:
            return found._replace(compared=points + found.compared)
        points += found.compared
        run += [raw] if found.compared else []
        if len(run) > samples + 1:
            break
    if points < _LEAST_POINTS or len(run) <= 1 + samples // 2:
        unavailable = unavailable or "too few configs run"
        return CostOutcome(architecture, spec.model_type, 0, (), unavailable)
    return CostOutcome(architecture, spec.model_type, points, (), configs=tuple(run))


def configs(spec: Spec, architecture: str, samples: int, seed: int) -> Iterator[Config]:
    """The default config, it with few layers, then random ones that both sides build.

    Some set fields that no spec mentions.

    More than ``samples``, as not all that are built run; at last the default config with one field of a
    random one each, of which most do.
    """
    default = {"model_type": spec.model_type}
    verifier = Verifier(spec, architecture, samples, seed)
    yield runnable(default, architecture)
    yield runnable({**default, _DEPTH: _SHALLOW}, architecture)
    given = 0
    for _ in range(TRIES * samples):
        verifier.draw()
        yield from (runnable(raw, architecture) for raw in verifier.valid[given:])
        given = len(verifier.valid)
        if given >= _DRAWN * samples:
            break
    for raw in verifier.valid:
        yield from (runnable({**default, name: value}, architecture) for name, value in raw.items())


def runnable(raw: Config, architecture: str) -> Config:
    """A config with what a call needs beyond what the constructor asks for.

    Question answering has two labels: where an answer begins, and where it ends.
    """
    for name, value in _NEEDED.get(raw["model_type"], {}).items():
        raw = {**raw, name: {**raw.get(name, {}), **value} if isinstance(value, dict) else value}
    if architecture.endswith("ForQuestionAnswering"):
        return {name: raw[name] for name in raw if name not in ("num_labels", "id2label", "label2id")}
    return raw


def at_config(
    spec: Spec, architecture: str, raw: Config, compare: Compared | None = None, trains: bool = False
) -> CostOutcome:
    """The differences at the first call of a config that has any."""
    try:
        model = instance(architecture, raw, spec.model_type, trains)
    except (Refused, Unavailable) as error:
        return CostOutcome(architecture, spec.model_type, 0, (), str(error))
    compared, unavailable, hands_on = 0, "", True
    found = calls(spec, raw, encodes(model))
    for call in _steps(found, encodes(model)) if trains else found:
        if call.past and not hands_on:
            continue
        try:
            differences = tuple((compare or compared_at)(spec, architecture, raw, model, call))
        except Unavailable as error:
            unavailable = unavailable or str(error)
            hands_on = NO_CACHE not in str(error)
            continue
        if differences:
            return CostOutcome(architecture, spec.model_type, compared, differences)
        compared += 1
    return CostOutcome(architecture, spec.model_type, compared, (), unavailable)


def calls(spec: Spec, raw: Config, encodes: bool) -> Iterator[Call]:
    """The calls to compare at; of a deep config a few only: few layers show all that it has."""
    scope = Scope(spec, raw)
    bounds = sorted({bound for bound in _bounds(scope) if 1 < bound < _LONGEST})
    around = [Call(1, bound + more) for bound in bounds for more in (-1, 0, 1)]
    after = [Call(1, tokens, bound - 1 + more) for bound in bounds for more in (0, 1) for tokens in (1, 3)]
    chosen = _CALLS_OF_MANY_LAYERS if is_deep(scope) else dict.fromkeys((*_CALLS, *around, *after))
    for call in chosen:
        yield from _with_memory(call) if encodes else (call,)


def _steps(calls: Iterable[Call], encodes: bool) -> Iterator[Call]:
    """The calls of training: those that are no longer than a step, and some more."""
    yield from (call for call in calls if not call.past and call.tokens <= _LONGEST_STEP)
    for call in _MORE_STEPS:
        yield from _with_memory(call) if encodes else (call,)


def _with_memory(call: Call) -> Iterator[Call]:
    yield call._replace(encoder_tokens=_MEMORY, new_encoder_tokens=0 if call.past else _MEMORY)
    if not call.past:  # all that classifiers take; and the encoder at its own bounds
        yield call._replace(encoder_tokens=call.tokens, new_encoder_tokens=call.tokens)


def is_deep(scope: Scope) -> bool:
    """Whether a config has more layers than it takes to show each kind of them."""
    depth = scope.get(_DEPTH) if scope.has(_DEPTH) else 0
    return type(depth) is int and depth > _SHALLOW


def shallow(spec: Spec, raws: Iterable[Config]) -> list[Config]:
    """Those configs that are not deep; all where there is none."""
    found = list(raws)
    return [raw for raw in found if not is_deep(Scope(spec, raw))] or found


def _bounds(scope: Scope) -> Iterator[int]:
    """Values of the config at which its costs may have a step."""
    for name in scope.spec.fields:
        if any(word in name for word in _BOUNDS):
            value = scope.get(name)
            if type(value) is int:
                yield value


def compared_at(
    spec: Spec, architecture: str, raw: Config, model: Any, call: Call
) -> Iterator[CostDifference]:
    """The differences at one point. Errors: :class:`Unavailable`, also where the spec gives no costs."""
    theirs = measured(model, call)
    try:
        ours = Forward(Scope(spec, raw), architecture, *call)
    except ArchspecError as error:
        raise Unavailable(str(error)) from None
    for path, expected, found in unlike(theirs.flops, ours.flops_by_module):
        yield CostDifference(raw, call, "flops", path, expected, found)
    kept = [(tensor.shape, tensor.dtype or "bfloat16") for tensor in ours.cache]
    given = [(shape, theirs.dtypes[path]) for path, shape in theirs.cache.items()]
    if sorted(kept) != sorted(given):
        missing, extra = _apart(given, kept)
        yield CostDifference(raw, call, "cache", "", missing, extra)


def unlike(theirs: dict[str, int], ours: dict[str, int]) -> Iterator[tuple[str, int, int]]:
    """The modules whose FLOPs differ, with both."""
    one, other = _folded(theirs), _folded(ours)
    for path in dict.fromkeys((*one, *other)):
        if one[path] != other[path]:
            yield path, one[path], other[path]


def _folded(flops: dict[str, int]) -> Counter[str]:
    """Experts with modules of their own count for the first: which of them work depends on values."""
    found: Counter[str] = Counter()
    for path, own in flops.items():
        found[_EXPERT.sub("expert_0", path)] += own
    return found


def _apart(one: Iterable[Any], other: Iterable[Any]) -> tuple[Any, Any]:
    """What each of two collections has beyond the other, with how often."""
    counted, others = Counter(one), Counter(other)
    return dict(counted - others), dict(others - counted)
