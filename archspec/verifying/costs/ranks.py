"""Validation of the parameters of a rank, shape by shape; the text of formulas/plans.json.

`python -m tools.from_transformers plans` writes the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice, product
from typing import NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.records import Call, Step
from archspec.costs.training.activations import StepActivations
from archspec.costs.training.parallel import KINDS, Plan, Ranks, Shares, parts
from archspec.errors import ArchspecError
from archspec.reference import Refused, Unavailable, versions
from archspec.reference.ranks import own_plans, rank_flops, rank_saved, rank_shapes
from archspec.specs.records import Spec
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors
from archspec.verifying.blame import Config
from archspec.verifying.costs.activations import ACTIVATIONS, unequal_bytes
from archspec.verifying.costs.cases import configs
from archspec.verifying.costs.instruments import CostDifference, unequal_modules
from archspec.verifying.costs.record import json_rows

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
_LAYERS = 5  # not divisible by three stages


class RankOutcome(NamedTuple):
    """The ranks at which a class was compared, and the parameters whose shapes differ."""

    compared: list[Ranks]
    differences: list[CostDifference]

    @property
    def kinds(self) -> list[str]:
        """The kinds of ranks that were compared and never differed."""
        wrong = {kind for one in self.differences for kind in _kinds(one.at)}
        right = {kind for ranks in self.compared for kind in _kinds(ranks)}
        return [kind for kind in KINDS if kind in right - wrong]


def _kinds(ranks: Ranks) -> list[str]:
    return [kind for kind in KINDS if getattr(ranks, kind) > 1]


def verify_ranks(spec: Spec, architecture: str) -> RankOutcome:
    """Compare at the default config with few layers, tied and not, and at random configs, at every point."""
    few, outcome = _shallow_config(spec), RankOutcome([], [])
    tied = [{**few, _TIES: value} for value in (False, True)] if _TIES in spec.fields else []
    for raws in ([few, *tied], _draw_configs(spec, architecture)):
        for raw, ranks in product(raws, POINTS):
            try:
                outcome.differences.extend(_rank_differences(spec, architecture, raw, ranks))
                outcome.compared.append(ranks)
            except (Unavailable, ArchspecError):
                continue
        if not outcome.compared:
            break  # a class without a plan
    return outcome


def _shallow_config(spec: Spec) -> Config:
    return {"model_type": spec.model_type} | ({_DEPTH: _LAYERS} if _DEPTH in spec.fields else {})


def _draw_configs(spec: Spec, architecture: str) -> Iterable[Config]:
    return islice(configs(spec, architecture, _RANDOM, 0), 2, _RANDOM + 2)


def _rank_differences(spec: Spec, architecture: str, raw: Config, ranks: Ranks) -> list[CostDifference]:
    """Return the parameters whose shapes differ. Errors: :class:`ArchspecError`, :class:`Unavailable`."""
    tree = Builder(Scope(spec, raw)).build(architecture)
    ours = {part.tensor.name: part.shape for part in parts(tree, tensors(tree), ranks)}
    try:
        theirs = rank_shapes(architecture, raw, spec.model_type, ranks)
    except Refused as error:
        return [CostDifference(raw, ranks, "shape", "", str(error), None)]
    return [
        CostDifference(raw, ranks, "shape", name, theirs.get(name), ours.get(name))
        for name in {**theirs, **ours}
        if theirs.get(name) != ours.get(name)
    ]


def verify_steps(spec: Spec, architecture: str) -> list[str]:
    """Return the numbers of a step that are exact on all measurable ranks: `tensor FLOPs`, …

    A number must be measurable at the default config.
    """
    raws = [_shallow_config(spec), *islice(_draw_configs(spec, architecture), 1)]
    cut = [kind for kind in (_FLOPS, *ACTIVATIONS) if _is_exact(spec, architecture, raws, kind, _CUT)]
    staged = [kind for kind in ACTIVATIONS if _is_exact(spec, architecture, raws[:1], kind, _STAGED)]
    return [*(f"tensor {kind}" for kind in cut), *(f"pipeline {kind}" for kind in staged)]


def _is_exact(
    spec: Spec, architecture: str, raws: list[Config], kind: str, ranked: tuple[Ranks, ...]
) -> bool:
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
    """Return True if all modules of a rank agree. Errors: :class:`Unavailable`, :class:`ArchspecError`."""
    scope = Scope(spec, raw)
    tree = Builder(scope).build(architecture)
    shares = Shares(tree, tensors(tree), ranks)
    if kind == _FLOPS:
        flops = Forward(scope, architecture, *lengths).step_flops_by_module
        ours = {path: shares.flops(path, count) for path, count in flops.items()}
        theirs = rank_flops(architecture, raw, spec.model_type, ranks, Call(*lengths))
        return not list(unequal_modules(theirs, ours))
    attention, _, checkpointing = kind.partition(" ")
    dtype = "bfloat16" if lengths[0] == 2 else "float32"
    step = Step(*lengths, dtype=dtype, attention=attention, checkpointing=bool(checkpointing))
    activations = StepActivations(scope, architecture, step, shares)
    kept = dict(activations.by_module)
    if ranks.pipeline > 1:
        kept.pop(_HEAD, None)
    saved = rank_saved(architecture, raw, spec.model_type, ranks, step)
    return not list(unequal_bytes(activations.tree, saved, kept))


def text(found: dict[tuple[str, str], list[str]], plans: dict[str, Plan]) -> str:
    """Return the text of the file: a line for each class with a plan, then the validated classes by kind."""
    exact: dict[str, dict[str, list[str]]] = {kind: {} for kind in KINDS}
    for (model_type, architecture), kinds in sorted(found.items()):
        for kind in kinds:
            exact.setdefault(kind, {}).setdefault(model_type, []).append(architecture)
    head, rows = json.dumps(versions())[:-1], json_rows(dict(sorted(plans.items())))
    return f'{head}, "plans": {rows}, "held": {json_rows(exact)}}}\n'


def plans_of(classes: Iterable[tuple[str, str]]) -> dict[str, Plan]:
    """Return the plans of classes and inner models. Errors: :class:`Unavailable` for contradictory plans."""
    found: dict[str, Plan] = {}
    for model_type, architecture in classes:
        try:
            plans = own_plans(architecture, model_type)
        except (Refused, Unavailable):
            continue  # cannot be built at its defaults
        for name, plan in plans.items():
            if found.setdefault(name, plan) != plan:
                raise Unavailable(f"two classes {name} have different plans")
    return found
