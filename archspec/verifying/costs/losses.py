"""Losses validated against torch's saved_tensors_hooks: formulas/losses.json, and how it is written.

Each class is given labels, and what is kept then and is not kept without them is compared with the losses of
formulas/contractions.yaml. The class has the loss that agrees at every point.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from archspec.configs.scope import Scope
from archspec.costs.activations import PIPELINE, TENSOR, WHOLE, loss_saved
from archspec.costs.builder import CostBuilder
from archspec.costs.parallel import Ranks
from archspec.costs.records import KERNELS, Step, training_axes
from archspec.errors import ArchspecError
from archspec.reference import Refused, Unavailable, versions
from archspec.reference.costs import encodes
from archspec.reference.saved import loss_bytes, takes_labels, trained
from archspec.reference.training import rank_loss
from archspec.specs.library import shipped
from archspec.specs.records import Spec
from archspec.verifying.comparison import Config
from archspec.verifying.costs.record import recorded

_LENGTHS = ((2, 64), (1, 40), (3, 17))  # sequences and tokens
_STEPS = (
    *(Step(*lengths, 0, "bfloat16", "flash") for lengths in _LENGTHS),
    *(Step(*lengths, 0, "bfloat16", "eager") for lengths in _LENGTHS[:2]),
    *(Step(2, 17, 0, "float32", attention) for attention in KERNELS),
)
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
_WIDTH, _TIES = "hidden_size", "tie_word_embeddings"
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers")


def classes() -> Iterator[tuple[str, str, list[str]]]:
    """The classes whose activations are exact, with the kinds of attention that they are exact for."""
    for model_type, line in recorded().items():
        names = dict.fromkeys(name for found in line.activations.values() for name in found)
        for name in names:
            yield model_type, name, [one for one in KERNELS if name in line.activations.get(one, ())]


def verify_loss(spec: Spec, architecture: str, kernels: list[str], drawn: int = _DRAWN) -> str | None:
    """The name of the loss that keeps what a class keeps of its loss, at every point; None without one."""
    if not takes_labels(architecture, spec.model_type):
        return None
    left, compared = known_losses(), 0
    for number, raw in enumerate(_configs(spec, architecture, drawn)):
        steps = [one for one in _STEPS if one.attention in kernels]
        for expected, step in _measured(spec, architecture, raw, steps[:2] if number else steps):
            left = [name for name in left if _found(Scope(spec, raw), architecture, step, name) == expected]
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
    """The default config with two layers, others with other labels, random narrow ones."""
    default: Config = {"model_type": spec.model_type} | {name: 2 for name in _LAYERS if name in spec.fields}
    yield default
    if architecture.endswith("ForSequenceClassification"):
        yield from ({**default, **more} for more in _LABELS)
    random = Random(f"{spec.model_type} {architecture}")
    for _ in range(drawn):
        sizes = {"vocab_size": random.randrange(300, 3000), _WIDTH: random.choice((64, 128, 256))}
        sizes |= {_TIES: random.random() < 0.5, "num_labels": random.randrange(2, 9)}
        if architecture.endswith("ForQuestionAnswering"):
            del sizes["num_labels"]  # there are two
        yield {
            **default,
            **{name: one for name, one in sizes.items() if name in (*spec.fields, "num_labels")},
        }


def _measured(spec: Spec, architecture: str, raw: Config, steps: list[Step]) -> Iterator[tuple[int, Step]]:
    """The elements that a loss keeps, for each step that runs."""
    models: dict[tuple[str, str], Any] = {}
    for step in steps:
        key = step.attention, step.dtype
        try:
            if key not in models:
                models[key] = trained(architecture, raw, spec.model_type, step)
            step = step._replace(encoder_tokens=_MEMORY if encodes(models[key]) else 0)
            yield loss_bytes(models[key], step), step
        except (Refused, Unavailable):
            continue


def _found(scope: Scope, architecture: str, step: Step, name: str) -> int | None:
    """The elements that a loss keeps by its spec; None if it does not fit the class."""
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
