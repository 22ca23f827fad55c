"""Validation of an architecture's costs: every quantity of the table, for the configs that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from math import prod
from operator import itemgetter
from typing import NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.media.items import takes
from archspec.costs.media.sizes import UnknownSize
from archspec.costs.records import Call
from archspec.costs.working_set import working_set
from archspec.errors import ArchspecError
from archspec.reference.verdicts import Refused, Unavailable
from archspec.specs.records import Spec
from archspec.verifying.blame import Config
from archspec.verifying.comparison import count
from archspec.verifying.costs import instruments
from archspec.verifying.costs.activations import ACTIVATIONS, FROZEN_ACTIVATIONS, MEDIA_ACTIVATIONS
from archspec.verifying.costs.cases import Case, configs, make_runnable, shallow_configs
from archspec.verifying.costs.instruments import (
    FORWARD,
    MASKED,
    STATIC,
    TEXT,
    TRAINING,
    Comparison,
    Instrument,
    compare,
    working_set_instrument,
)
from archspec.verifying.costs.media import shallow, takes_media

FURTHER = ("masked", "static", "working_set", "media_training")
_LEAST_POINTS, _LEAST_TRAINED = 6, 4
_TRAINING_DRAWS = 4  # configs for each one that is to run
_NARROW = 16  # tokens: windows are made this short, with forward passes around them
_WINDOWS = ("sliding_window", "attention_chunk_size")
_FURTHER_CONFIGS, _SMALLEST = 2, 6
_THIN = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 1}
_THIN |= {"intermediate_size": 8, "vocab_size": 60}
_LARGEST: tuple[Config, ...] = (  # in each, another part is the largest: a norm, queries, keys, MLP, head
    {**_THIN, "head_dim": 8},
    {**_THIN, "head_dim": 64},
    {**_THIN, "num_key_value_heads": 4},
    {**_THIN, "intermediate_size": 4096},
    {**_THIN, "vocab_size": 9000},
)
_PARTS = {"mlp", "self_attn", "post_attention_layernorm"}  # each must be the largest at some point


class CostOutcome(NamedTuple):
    """The comparison of an architecture's costs with the reference model.

    ``activations`` has a comparison for each kind of training; ``further`` lists those of FURTHER that agree.
    ``text`` is True if a class that does not agree does so without images, videos and audio. ``without`` are
    the modalities that an agreeing class takes and that could not be measured.
    """

    architecture: str
    model_type: str
    forward: Comparison
    training: Comparison | None = None
    activations: Mapping[str, Comparison] = {}  # never changed
    further: tuple[str, ...] = ()
    text: bool = False
    without: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """exact, wrong, or unavailable: FLOPs of a forward pass and the cache."""
        return self.forward.verdict


def verify_costs(spec: Spec, architecture: str, samples: int = 5, seed: int = 0) -> CostOutcome:
    """Compare a forward pass at the default config, with few layers, and at ``samples`` random configs.

    If these agree, compare the other quantities at configs with few layers.
    """

    def cases(raws: Iterable[Config]) -> Iterator[Case]:
        return (Case(spec, architecture, raw) for raw in raws)

    forward = _compare_most(FORWARD, cases(configs(spec, architecture, samples, seed)), samples)
    if forward.verdict != "exact":
        text = _compare_most(TEXT, cases(configs(spec, architecture, samples, seed)), samples)
        return CostOutcome(architecture, spec.model_type, forward, text=text.verdict == "exact")
    without: tuple[str, ...] = ()
    if has_media := takes_media(architecture, spec.model_type):
        taken = _modalities(spec, architecture, forward.configs)
        without = tuple(modality for modality in taken if modality not in forward.measured)
    few = shallow_configs(spec, forward.configs)
    if has_media:
        few = [make_runnable(shallow(spec.model_type, raw), architecture) for raw in forward.configs[1:]]
    activations, further = dict[str, Comparison](), tuple[str, ...]()
    if has_media:
        activations, further = _learning_with_media(cases, few, [one for one in taken if one not in without])
    if runs_on_items(spec, architecture, forward.configs[0]):
        further += further_agreeing(spec, architecture, few)
        return CostOutcome(
            architecture, spec.model_type, forward, None, activations, further, without=without
        )
    activations |= {kind: compare(one, cases(few)) for kind, one in ACTIVATIONS.items()}
    others = configs(spec, architecture, samples, seed)
    further += further_agreeing(spec, architecture, few, others)
    if working_set_agrees(spec, architecture, few):
        further += ("working_set",)
    more = (raw for raw in configs(spec, architecture, samples, seed + 1) if raw not in few)
    drawn = 0 if has_media else _TRAINING_DRAWS * samples
    tried = chain(few, islice(more, drawn))  # some that run cannot be trained
    training = _compare_most(TRAINING, cases(tried), len(few) - 2)
    return CostOutcome(
        architecture, spec.model_type, forward, training, activations, further, without=without
    )


def _learning_with_media(
    cases: Callable[[Iterable[Config]], Iterator[Case]], few: list[Config], modalities: list[str]
) -> tuple[dict[str, Comparison], tuple[str, ...]]:
    """Return comparisons of activations with media, and whether training FLOPs agree with all modalities."""
    found = {kind: compare(one, cases(few)) for kind, one in MEDIA_ACTIVATIONS.items()}
    for kind, one in found.items():
        if one.verdict == "exact" and (
            one.compared < _LEAST_POINTS or not one.measured.issuperset(modalities)
        ):
            found[kind] = Comparison(unavailable=one.unavailable or "too few steps run")
    found |= {kind: compare(one, cases(few)) for kind, one in FROZEN_ACTIVATIONS.items()}
    trained = compare(instruments.MEDIA_TRAINING, cases(few))
    agrees = trained.verdict == "exact" and trained.compared >= _LEAST_TRAINED
    return found, ("media_training",) if agrees and trained.measured.issuperset(modalities) else ()


def _modalities(spec: Spec, architecture: str, raws: Iterable[Config]) -> list[str]:
    """Return the modalities of a class at the first config that fits an item."""
    for raw in raws:
        with suppress(ArchspecError):
            return [*takes(Scope(spec, raw), architecture)]
    return []


def runs_on_items(spec: Spec, architecture: str, raw: Config) -> bool:
    """Return True for a class that does not run without images, videos or audio: only its FLOPs and cache."""
    try:
        return Case(spec, architecture, raw).forward(Call(1, 1)).has_items
    except UnknownSize:
        return True
    except ArchspecError:
        return False


def _compare_most(instrument: Instrument, cases: Iterable[Case], samples: int) -> Comparison:
    """Compare at the first configs that run, two more than ``samples``; more than half must run."""
    found = compare(instrument, cases, enough=samples + 2)
    if found.differences:
        return found
    if found.compared < _LEAST_POINTS or len(found.configs) <= 1 + samples // 2:
        return Comparison(unavailable=found.unavailable or "too few configs run")
    return found._replace(unavailable="")


def further_agreeing(
    spec: Spec, architecture: str, raws: Iterable[Config], others: Iterable[Config] = ()
) -> tuple[str, ...]:
    """Return which of masked FLOPs and static caches agree, at two points or more.

    If masks cannot be measured at ``raws``, the smallest of ``others`` are tried: gradients show some masks,
    at the cost of a forward pass with values.
    """
    few = [*raws][:_FURTHER_CONFIGS]
    masked = compare(MASKED, _narrow_cases(spec, architecture, few))
    static = compare(STATIC, _narrow_cases(spec, architecture, few))
    if not masked.differences and masked.compared < 2:
        rows = [(count(spec, architecture, raw).rows, raw) for raw in others]
        sizes = [(sum(prod(row.shape) for row in one), raw) for one, raw in rows if one]
        small = [raw for _, raw in sorted(sizes, key=itemgetter(0))][:_SMALLEST]
        masked = compare(MASKED, _narrow_cases(spec, architecture, small))
    found = {"masked": masked, "static": static}
    return tuple(name for name, one in found.items() if one.compared > 1 and not one.differences)


def _narrow_cases(spec: Spec, architecture: str, raws: Iterable[Config]) -> Iterator[Case]:
    """Yield the configs that run, with short windows if both sides accept them."""
    for raw in raws:
        scope = Scope(spec, raw)
        windows = {name: _NARROW for name in _WINDOWS if name in spec.fields and type(scope.get(name)) is int}
        for given in ({**raw, **windows}, raw):
            case = Case(spec, architecture, given)
            try:
                case.scope.validate()
                case.model()
            except (ArchspecError, Refused, Unavailable):
                continue
            yield case
            break


def working_set_agrees(spec: Spec, architecture: str, raws: Iterable[Config]) -> bool:
    """Return True if peak temporary memory agrees wherever it is supported and can be measured.

    Each part that may be the largest must be so at some point. Otherwise a rule for another part would pass.
    """
    small = [{"model_type": spec.model_type, **thin} for thin in _LARGEST]
    if not any(_has_working_set(spec, architecture, raw) for raw in small):
        return False  # before other configs are drawn
    parts: set[str] = set()
    supported = (raw for raw in chain(small, raws) if _has_working_set(spec, architecture, raw))
    found = compare(working_set_instrument(parts), _narrow_cases(spec, architecture, supported))
    return not found.differences and parts >= _PARTS


def _has_working_set(spec: Spec, architecture: str, raw: Config) -> bool:
    try:
        return working_set(Case(spec, architecture, raw).forward(instruments.ALLOCATING_CALLS[0])) is not None
    except ArchspecError:
        return False
