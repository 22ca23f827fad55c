"""Losses validated against torch's saved_tensors_hooks: formulas/losses.json, and how it is written.

Each class is given labels, and what is kept then and is not kept without them is compared with the losses of
formulas/contractions.yaml. The class has the loss that agrees at every point.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from archspec.configs.scope import Scope
from archspec.costs.activations import PIPELINE, TENSOR, WHOLE, loss_saved
from archspec.costs.builder import CostBuilder
from archspec.costs.parallel import Ranks
from archspec.costs.records import ELEMENT_BYTES, KERNELS, Step, training_axes
from archspec.errors import ArchspecError
from archspec.oracle import Refused, Unavailable, versions
from archspec.oracle.costs import encodes
from archspec.oracle.saved import loss_bytes, trained
from archspec.oracle.training import rank_loss
from archspec.specs.library import shipped
from archspec.specs.records import Spec
from archspec.verifying.comparison import Config
from archspec.verifying.costs.comparison import configs
from archspec.verifying.costs.record import recorded

_LENGTHS = ((2, 64), (1, 40), (3, 17))  # sequences and tokens
_MEMORY = 33  # encoder positions
_LEAST = 4  # points
_DRAWN = 2  # random configs
_SUFFIX = "_loss"
_RANKS = {
    TENSOR: (Ranks(tensor=2), Ranks(tensor=4)),
    PIPELINE: (Ranks(pipeline=2, stage=1), Ranks(tensor=2, pipeline=2, stage=1)),
}
_LABELS: tuple[Config, ...] = (  # of sequence classification
    {"num_labels": 1},
    {"num_labels": 5},
    {"num_labels": 3, "problem_type": "regression"},
    {"num_labels": 4, "problem_type": "multi_label_classification"},
    {"num_labels": 1, "problem_type": "single_label_classification"},
)
_NARROW = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers")


def classes() -> Iterator[tuple[str, str, list[str]]]:
    """The classes whose activations are exact, with the kinds of attention that they are exact for."""
    for model_type, line in recorded().items():
        names = dict.fromkeys(name for found in line.activations.values() for name in found)
        for name in names:
            yield model_type, name, [one for one in KERNELS if name in line.activations.get(one, ())]


def verify_loss(spec: Spec, architecture: str, kernels: list[str], drawn: int = _DRAWN) -> str | None:
    """The name of the loss that keeps what a class keeps of its loss, at every point; None without one."""
    left, compared = known_losses(), 0
    for number, raw in enumerate(_configs(spec, architecture, drawn)):
        for expected, scope, step in _measured(spec, architecture, raw, kernels, few=number > 0):
            left = [name for name in left if _found(scope, architecture, step, name) == expected]
            compared += 1
        if not left or not compared:
            return None
    return left[0] if len(left) == 1 and compared >= _LEAST else None


def known_losses() -> list[str]:
    """The names of losses in formulas/contractions.yaml."""
    return [name for name in shipped().contractions() if name.endswith(_SUFFIX)]


def verify_ranks_loss(spec: Spec, architecture: str, kernels: list[str], loss: str) -> list[str]:
    """The kinds of ranks of which one keeps as much of the loss as one rank alone: tensor, pipeline."""
    raw = next(_configs(spec, architecture, 0))
    return [kind for kind, ranks in _RANKS.items() if _same(spec, architecture, raw, kernels[0], loss, ranks)]


def _same(
    spec: Spec, architecture: str, raw: Config, attention: str, loss: str, ranked: tuple[Ranks, ...]
) -> bool:
    for ranks, lengths in zip(ranked, _LENGTHS, strict=False):
        step = Step(*lengths, 0, "bfloat16", attention)
        try:
            expected = rank_loss(architecture, raw, spec.model_type, ranks, step)
        except (Refused, Unavailable):
            return False
        if _found(Scope(spec, raw), architecture, step, loss) != expected:
            return False
    return True


def _configs(spec: Spec, architecture: str, drawn: int) -> Iterator[Config]:
    """The default config with two layers, others with other labels, random ones."""
    default: Config = {"model_type": spec.model_type} | {name: 2 for name in _NARROW if name in spec.fields}
    yield default
    if architecture.endswith("ForSequenceClassification"):
        yield from ({**default, **more} for more in _LABELS)
    yield from islice(configs(spec, architecture, drawn, 0), 2, drawn + 2) if drawn else ()


def _measured(
    spec: Spec, architecture: str, raw: Config, kernels: Iterable[str], few: bool
) -> Iterator[tuple[int, Scope, Step]]:
    """What a loss keeps at each point of a config that runs."""
    for attention in kernels:
        for dtype in list(ELEMENT_BYTES)[: 1 if few else None]:
            try:
                model = trained(architecture, raw, spec.model_type, Step(2, 64, 0, dtype, attention))
                for lengths in _LENGTHS[: 2 if few else None]:
                    step = Step(*lengths, _MEMORY if encodes(model) else 0, dtype, attention)
                    yield loss_bytes(model, step), Scope(spec, raw), step
            except (Refused, Unavailable):
                continue


def _found(scope: Scope, architecture: str, step: Step, name: str) -> int | None:
    """What a loss keeps by its spec; None if it does not go with the class."""
    builder = CostBuilder(scope, training_axes(step))
    try:
        return int(loss_saved(builder, builder.build(architecture), name).nbytes)
    except ArchspecError:
        return None


def text(found: dict[str, dict[tuple[str, str], str]]) -> str:
    """The file: ranks -> loss -> model type -> classes; a line for each loss."""
    lines = []
    for ranks in (WHOLE, TENSOR, PIPELINE):
        by_loss: dict[str, dict[str, list[str]]] = {}
        for (model_type, architecture), loss in sorted(found.get(ranks, {}).items()):
            by_loss.setdefault(loss, {}).setdefault(model_type, []).append(architecture)
        rows = (f"{json.dumps(loss)}: {json.dumps(types)}" for loss, types in sorted(by_loss.items()))
        lines.append(f"{json.dumps(ranks)}: {{\n" + ",\n".join(rows) + "\n}")
    head: dict[str, Any] = versions()
    return f'{json.dumps(head)[:-1]}, "losses": {{\n' + ",\n".join(lines) + "\n}}\n"
