"""What a rank holds, held to transformers shape for shape: formulas/plans.json, and how it is written.

`python -m tools.plans` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from archspec.configs.scope import Scope
from archspec.costs.parallel import KINDS, Plan, Ranks, parts
from archspec.errors import ArchspecError
from archspec.oracle import Refused, Unavailable, versions
from archspec.oracle.training import own_plans, rank_shapes
from archspec.specs.records import Spec
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors
from archspec.verify.comparison import Config
from archspec.verify.costs.comparison import configs

POINTS = (
    *(Ranks(tensor=2), Ranks(tensor=4), Ranks(tensor=2, expert=2)),
    *(Ranks(expert=2, data=2), Ranks(tensor=2, expert=4, data=2)),
    *(Ranks(pipeline=2, stage=stage) for stage in range(2)),
    *(Ranks(tensor=2, pipeline=3, stage=stage) for stage in range(3)),
)
_RANDOM = 2
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


def text(found: dict[tuple[str, str], RankOutcome], plans: dict[str, Plan]) -> str:
    """The file as it is written: a class a line, then the classes that were held to transformers."""
    held: dict[str, dict[str, list[str]]] = {kind: {} for kind in KINDS}
    for (model_type, architecture), outcome in sorted(found.items()):
        for kind in outcome.kinds:
            held[kind].setdefault(model_type, []).append(architecture)
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
