"""What a rank holds, held to transformers shape for shape: formulas/plans.json, and how it is written.

`python -m tools.plans` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.activations import RankActivations, StepActivations
from archspec.costs.forward import Forward
from archspec.costs.parallel import KINDS, Plan, Ranks, Shares, parts
from archspec.costs.records import Call, Step
from archspec.errors import ArchspecError
from archspec.reference import Refused, Unavailable, versions
from archspec.reference.training import own_plans, rank_flops, rank_saved, rank_shapes
from archspec.specs.records import Spec
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors
from archspec.verifying.comparison import Config
from archspec.verifying.costs.activations import KINDS as _STEPS
from archspec.verifying.costs.activations import differences as differences_of
from archspec.verifying.costs.comparison import configs, unlike

POINTS = (
    *(Ranks(tensor=2), Ranks(tensor=4), Ranks(tensor=2, expert=2)),
    *(Ranks(expert=2, data=2), Ranks(tensor=2, expert=4, data=2)),
    *(Ranks(pipeline=2, stage=stage) for stage in range(2)),
    *(Ranks(tensor=2, pipeline=3, stage=stage) for stage in range(3)),
)
_RANDOM = 2
_CUT = Ranks(tensor=2), Ranks(tensor=4)
_STAGED = tuple(Ranks(pipeline=3, stage=stage) for stage in range(3))
_FLOPS, _HEAD = "FLOPs", "lm_head"
_LENGTHS = ((2, 64), (3, 17))  # sequences and tokens, in bfloat16 and in float32
_TIES, _DEPTH = "tie_word_embeddings", "num_hidden_layers"
_LAYERS = 5  # over three stages they are not even


class RankDifference(NamedTuple):
    """A tensor of another shape, or that only one side has; ``expected`` is transformers' shape."""

    raw: Config
    ranks: Ranks
    name: str
    expected: tuple[int, ...] | str | None
    found: tuple[int, ...] | None


class RankOutcome(NamedTuple):
    """The points at which a class was compared, and what was wrong."""

    compared: tuple[Ranks, ...]
    differences: tuple[RankDifference, ...]

    @property
    def kinds(self) -> list[str]:
        """The kinds of ranks that it was held to transformers with, and never differed."""
        wrong = {kind for one in self.differences for kind in _kinds(one.ranks)}
        right = {kind for ranks in self.compared for kind in _kinds(ranks)}
        return [kind for kind in KINDS if kind in right - wrong]


def _kinds(ranks: Ranks) -> list[str]:
    return [kind for kind in KINDS if getattr(ranks, kind) > 1]


def verify_ranks(spec: Spec, architecture: str) -> RankOutcome:
    """Compares at the default config with few layers, tied and not, and at random ones, at every point."""
    compared: list[Ranks] = []
    differences: list[RankDifference] = []
    for drawn, raw in _configs(spec, architecture):
        if drawn and not compared:
            break  # there is no plan
        for ranks in POINTS:
            try:
                found = list(compared_at(spec, architecture, raw, ranks))
            except (Unavailable, ArchspecError):
                continue
            compared.append(ranks)
            differences += found
    return RankOutcome(tuple(compared), tuple(differences))


def _configs(spec: Spec, architecture: str) -> Iterator[tuple[bool, Config]]:
    """Configs to compare at, and whether they are drawn."""
    few: Config = {"model_type": spec.model_type}
    if _DEPTH in spec.fields:
        few[_DEPTH] = _LAYERS
    yield False, few
    if _TIES in spec.fields:
        yield from ((False, {**few, _TIES: tied}) for tied in (False, True))
    yield from ((True, raw) for raw in islice(configs(spec, architecture, _RANDOM, 0), 2, _RANDOM + 2))


def compared_at(spec: Spec, architecture: str, raw: Config, ranks: Ranks) -> Iterator[RankDifference]:
    """The differences at one point. Errors: :class:`ArchspecError` where ours refuses, ``Unavailable``."""
    tree = Builder(Scope(spec, raw)).build(architecture)
    ours = {part.tensor.name: part.shape for part in parts(tree, tensors(tree), ranks)}
    try:
        theirs = rank_shapes(architecture, raw, spec.model_type, ranks)
    except Refused as error:
        yield RankDifference(raw, ranks, "", str(error), None)
        return
    for name in {**theirs, **ours}:
        if theirs.get(name) != ours.get(name):
            yield RankDifference(raw, ranks, name, theirs.get(name), ours.get(name))


def verify_steps(spec: Spec, architecture: str) -> list[str]:
    """Which numbers of a step are exact wherever a rank is measured: `tensor FLOPs`, `pipeline flash`, ...

    Those are left out that differ anywhere, or that nothing could be measured of at the default config.
    """
    kinds = [_FLOPS, *(Step(2, 64, 0, "bfloat16", *kind).kind for kind in _STEPS)]
    drawn = (raw for is_drawn, raw in _configs(spec, architecture) if is_drawn)
    raws = [next(_configs(spec, architecture))[1], *islice(drawn, 1)]
    found = [f"tensor {kind}" for kind in kinds if _exact(spec, architecture, raws, kind, _CUT)]
    staged = [kind for kind in kinds[1:] if _exact(spec, architecture, raws[:1], kind, _STAGED)]
    return [*found, *(f"pipeline {kind}" for kind in staged)]


def _exact(spec: Spec, architecture: str, raws: list[Config], kind: str, ranked: tuple[Ranks, ...]) -> bool:
    compared = 0
    for raw, ranks, lengths in product(raws, ranked, _LENGTHS):
        if raw is not raws[0] and not compared:
            break
        try:
            if not step_is_exact(spec, architecture, raw, ranks, kind, lengths):
                return False
            compared += 1
        except (ArchspecError, Refused, Unavailable):
            continue
    return bool(compared)


def step_is_exact(
    spec: Spec, architecture: str, raw: Config, ranks: Ranks, kind: str, lengths: tuple[int, int]
) -> bool:
    """Whether all modules of a rank agree. Errors: where one side gives no numbers."""
    scope = Scope(spec, raw)
    tree = Builder(scope).build(architecture)
    shares = Shares(tree, tensors(tree), ranks)
    if kind == _FLOPS:
        whole = Forward(scope, architecture, *lengths).step_flops_by_module
        own = {path: shares.flops(path, flops) for path, flops in whole.items()}
        theirs = rank_flops(architecture, raw, spec.model_type, ranks, Call(*lengths))
        return not list(unlike(theirs, own))
    attention, _, again = kind.partition(" ")
    dtype = "bfloat16" if lengths[0] == 2 else "float32"
    step = Step(*lengths, 0, dtype, attention, bool(again))
    whole_step = StepActivations(scope, architecture, step)
    rank = RankActivations(whole_step, shares)
    kept = rank_saved(architecture, raw, spec.model_type, ranks, step)
    own = {path: n for path, n in rank.by_module.items() if ranks.pipeline == 1 or path != _HEAD}
    return not list(differences_of(raw, whole_step, own, kept))


def text(found: dict[tuple[str, str], list[str]], plans: dict[str, Plan]) -> str:
    """The file as it is written: a class a line, then the classes that were held to transformers, by kind."""
    held: dict[str, dict[str, list[str]]] = {kind: {} for kind in KINDS}
    for (model_type, architecture), kinds_held in sorted(found.items()):
        for kind in kinds_held:
            held.setdefault(kind, {}).setdefault(model_type, []).append(architecture)
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(plan)}" for name, plan in sorted(plans.items()))
    kinds = ",\n".join(f"{json.dumps(kind)}: {json.dumps(types)}" for kind, types in held.items())
    return f'{json.dumps(versions())[:-1]}, "plans": {{\n{rows}\n}}, "held": {{\n{kinds}\n}}}}\n'


def plans_of(classes: Iterable[tuple[str, str]]) -> dict[str, Plan]:
    """The plans of some classes and of the models inside. Errors: ``Unavailable`` where two are at odds."""
    found: dict[str, Plan] = {}
    for model_type, architecture in classes:
        try:
            plans = own_plans(architecture, model_type)
        except (Refused, Unavailable):
            continue  # not to be built at its defaults
        for name, plan in plans.items():
            if found.setdefault(name, plan) != plan:
                raise Unavailable(f"two {name} with other plans")
    return found
