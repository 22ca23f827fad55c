"""Training FLOPs agree with torch's count, and an altered spec is found."""

from __future__ import annotations

from typing import Any

import pytest
from altering import altered

from archspec.specs.library import shipped_library
from archspec.specs.records import Spec
from archspec.verifying.costs.cases import Case
from archspec.verifying.costs.instruments import TRAINING, Comparison, compare

pytestmark = pytest.mark.reference
_HEADS = {"num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8}
_LINEAR = {"linear_num_value_heads": 2, "linear_num_key_heads": 2}
_LINEAR |= {"linear_key_head_dim": 6, "linear_value_head_dim": 10}
_QWEN = {"model_type": "qwen3_5_text", "hidden_size": 16, "num_hidden_layers": 4, **_HEADS, **_LINEAR}
_CANINE = {"model_type": "canine", "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1}

_ROUTED = {"model_type": "mixtral", "num_hidden_layers": 1, **_HEADS, "output_router_logits": True}


def compared(spec: Spec, architecture: str, raw: dict[str, Any]) -> Comparison:
    return compare(TRAINING, [Case(spec, architecture, raw)])


@pytest.mark.parametrize(
    ("model_type", "architecture", "raw"),
    [
        ("qwen3_5_text", "Qwen3_5TextModel", _QWEN),
        ("canine", "CanineModel", _CANINE),
        ("canine", "CanineForSequenceClassification", _CANINE),
        ("mixtral", "MixtralForCausalLM", _ROUTED),
    ],
)
def test_models_with_other_gradients(model_type: str, architecture: str, raw: dict[str, Any]) -> None:
    found = compared(shipped_library().load(model_type), architecture, raw)
    assert found.verdict == "exact", found
    assert found.compared >= 2


@pytest.mark.parametrize(
    ("architecture", "old", "new", "name"),
    [
        ("BertModel", "trained: pooled", "trained: 1", "pooler.dense"),
        (
            "BertForSequenceClassification",
            "pooled=1, reused=not drop",
            "reused=not drop",
            "bert.pooler.dense",
        ),
    ],
)
def test_a_pooler_that_is_read_or_not_is_found(architecture: str, old: str, new: str, name: str) -> None:
    spec = altered("bert", old, new)
    found = compared(spec, architecture, {"model_type": "bert", "num_hidden_layers": 1})
    first = found.differences[0]
    assert (first.quantity, first.name) == ("training flops", name)
    assert {first.expected, first.found} == {2 * 768**2 * first.at.batch * k for k in (1, 3)}
