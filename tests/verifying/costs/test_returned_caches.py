"""Heads of encoder-decoders return a cache that they do not take: its tensors are those of a real forward."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import archspec
from archspec.configs.scope import Scope
from archspec.costs.forward import Forward
from archspec.costs.records import Call
from archspec.errors import ArchspecError
from archspec.reference.costs import encodes, instance, measured
from archspec.specs.library import shipped

HEADS = ("ForSequenceClassification", "ForQuestionAnswering", "ForTokenClassification", "ForMultipleChoice")
RECORD = json.loads((Path(shipped().folder) / "costs.json").read_text())["types"]
NARROW = {"num_layers": 1, "num_decoder_layers": 1, "encoder_layers": 1, "decoder_layers": 1}


def heads() -> list[tuple[str, str]]:
    """The task heads, with costs, of every model type that has an encoder and a decoder."""
    return [
        (model_type, name)
        for model_type, line in RECORD.items()
        for name in line["exact"]
        if name.endswith(HEADS) and any(one.endswith("ForConditionalGeneration") for one in line["exact"])
    ]


@pytest.mark.reference
@pytest.mark.parametrize(("model_type", "architecture"), heads())
def test_a_head_keeps_the_tensors_that_its_forward_returns(model_type: str, architecture: str) -> None:
    spec = shipped().load(model_type)
    raw = {"model_type": model_type} | {name: count for name, count in NARROW.items() if name in spec.fields}
    model = instance(architecture, raw, model_type)
    call = Call(2, 7, 0, 7, 7) if encodes(model) else Call(2, 7)
    ours = Forward(Scope(spec, raw), architecture, *call)
    theirs = Counter(measured(model, call).cache.values())
    assert Counter(tensor.shape for tensor in ours.cache) == theirs


def test_question_answering_of_t5_returns_its_cache_and_takes_none() -> None:
    model = archspec.load("T5ForQuestionAnswering")
    kept = model.cache(tokens=5, encoder_tokens=9, dtype="bf16")
    assert kept.cache_bytes["exact"] == 2 * 6 * 2 * 8 * 64 * (5 + 9)
    with pytest.raises(ArchspecError, match="returns a KV cache, but its forward does not take one"):
        model.forward(tokens=1, past=4, encoder_tokens=9)
