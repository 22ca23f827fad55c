"""Losses validated against torch's saved_tensors_hooks; the text of formulas/losses.json.

The bytes that a class saves only with labels are compared with each loss of
formulas/contractions.yaml. The class has the loss that agrees at every point.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

from archspec.costs.builder import CostBuilder
from archspec.costs.records import KERNELS, Step, training_axes
from archspec.costs.training.activations import PIPELINE, TENSOR, WHOLE, loss_saved
from archspec.costs.training.parallel import Ranks
from archspec.errors import ArchspecError
from archspec.reference import Refused, Unavailable, versions
from archspec.reference.contents import has_encoder_and_decoder
from archspec.reference.ranks import rank_loss
from archspec.reference.saved import loss_bytes, takes_labels
from archspec.specs.library import shipped_library
from archspec.specs.records import Spec
from archspec.verifying.blame import Config
from archspec.verifying.costs.cases import ENCODER_TOKENS, Case
from archspec.verifying.costs.record import json_rows, read_record

_LENGTHS = ((2, 64), (1, 40), (3, 17))  # sequences and tokens
_STEPS = (
    *(Step(*lengths, attention="flash") for lengths in _LENGTHS),
    *(Step(*lengths, attention="eager") for lengths in _LENGTHS[:2]),
    *(Step(2, 17, dtype="float32", attention=attention) for attention in KERNELS),
)
_LEAST_POINTS = 4
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
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers")


def classes() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the classes with exact activations, and the kinds of attention for which they are exact."""
    for model_type, line in read_record().items():
        for name in dict.fromkeys(name for found in line.activations.values() for name in found):
            yield model_type, name, [one for one in KERNELS if name in line.activations.get(one, ())]


def verify_loss(spec: Spec, architecture: str, kernels: list[str], drawn: int = 2) -> str | None:
    """Return the name of the loss that saves as many bytes as the class at every point, or None.

    The points are at some fixed configs, and at ``drawn`` random ones.
    """
    if not takes_labels(architecture, spec.model_type):
        return None
    left, compared = known_losses(), 0
    for number, raw in enumerate(_configs(spec, architecture, drawn)):
        case = Case(spec, architecture, raw)
        steps = [one for one in _STEPS if one.attention in kernels]
        for step in steps[:2] if number else steps:
            try:
                model = case.training_model(step)
                step = step._replace(encoder_tokens=ENCODER_TOKENS if has_encoder_and_decoder(model) else 0)
                expected = loss_bytes(model, step)
            except (Refused, Unavailable):
                continue
            left = [name for name in left if _predicted_bytes(case, step, name) == expected]
            compared += 1
        if not left or not compared:
            return None
    return left[0] if len(left) == 1 and compared >= _LEAST_POINTS else None


def known_losses() -> list[str]:
    """Return the names of losses in formulas/contractions.yaml."""
    return [name for name in shipped_library().contractions() if name.endswith("_loss")]


def verify_ranks_loss(spec: Spec, architecture: str, kernels: list[str], loss: str) -> list[str]:
    """Return the kinds of ranks (tensor, pipeline) that save as much for the loss as a single device."""
    case = Case(spec, architecture, next(_configs(spec, architecture, 0)))

    def agrees(ranks: Ranks, lengths: tuple[int, int]) -> bool:
        step = Step(*lengths, attention=kernels[0])
        try:
            expected = rank_loss(architecture, case.config, spec.model_type, ranks, step)
        except (Refused, Unavailable):
            return False
        return _predicted_bytes(case, step, loss) == expected

    return [kind for kind, ranked in _RANKS.items() if all(map(agrees, ranked, _LENGTHS))]


def _configs(spec: Spec, architecture: str, drawn: int) -> Iterator[Config]:
    """Yield the default config with two layers, the same with other labels, and random narrow configs."""
    default: Config = {"model_type": spec.model_type} | {name: 2 for name in _LAYERS if name in spec.fields}
    yield default
    if architecture.endswith("ForSequenceClassification"):
        yield from ({**default, **more} for more in _LABELS)
    random = Random(f"{spec.model_type} {architecture}")
    for _ in range(drawn):
        sizes = {"vocab_size": random.randrange(300, 3000), "hidden_size": random.choice((64, 128, 256))}
        sizes |= {"tie_word_embeddings": random.random() < 0.5, "num_labels": random.randrange(2, 9)}
        if architecture.endswith("ForQuestionAnswering"):
            del sizes["num_labels"]  # always two
        given = {name: size for name, size in sizes.items() if name in (*spec.fields, "num_labels")}
        yield {**default, **given}


def _predicted_bytes(case: Case, step: Step, name: str) -> int | None:
    """Return the bytes that a loss saves by its spec; None if the loss does not fit the class."""
    builder = CostBuilder(case.scope, training_axes(step))
    try:
        return int(loss_saved(builder, builder.build(case.architecture), name).nbytes)
    except ArchspecError:
        return None


def text(found: dict[str, dict[tuple[str, str], str]]) -> str:
    """Return the text of the file: ranks -> loss -> model type -> classes, one line for each loss."""
    lines = []
    for ranks in (WHOLE, TENSOR, PIPELINE):
        by_loss: dict[str, dict[str, list[str]]] = {}
        for (model_type, architecture), loss in sorted(found.get(ranks, {}).items()):
            by_loss.setdefault(loss, {}).setdefault(model_type, []).append(architecture)
        lines.append(f"{json.dumps(ranks)}: {json_rows(dict(sorted(by_loss.items())))}")
    return f'{json.dumps(versions())[:-1]}, "losses": {{\n' + ",\n".join(lines) + "\n}}\n"
