"""Activations that autograd saves: of layers, as specs give them, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import archspec
from archspec.costs.records import Step
from archspec.costs.training.activations import StepActivations, validated_activations
from archspec.errors import ArchspecError
from archspec.models.formula import Formula
from archspec.specs.index import CostRecord
from archspec.specs.library import Library
from archspec.symbolic.closed_form import ClosedForm

Kept = Callable[..., StepActivations]
LAYERED = "Toy:\n  layers: Layer() for i in range(layers)\n"


@pytest.fixture
def kept(toy: Any) -> Kept:
    """Return the activations of a toy model, at 2 sequences of 5 tokens."""
    return lambda body, **options: StepActivations(*toy(body), Step(2, 5, **options))


@pytest.mark.parametrize(("dtype", "element"), [("bfloat16", 2), ("float32", 4)])
def test_layers_keep_their_inputs(kept: Kept, dtype: str, element: int) -> None:
    body = "Toy:\n  embed: Embedding(9, n)\n  proj: Linear(n, 7)\n  conv: Conv1D(7, n)\n"
    found = kept(f"{body}  norm: LayerNorm(n)\n  rms: RMSNorm(n)", dtype=dtype)
    inputs = 10 * 3 * element
    norms = {"norm": inputs + 10 * 8, "rms": inputs + 10 * (3 * 4 + 4)}
    assert found.by_module == {"proj": inputs, "conv": inputs, **norms}
    assert (found.bytes, found.recomputed_bytes) == (sum(found.by_module.values()), 0)


@pytest.mark.parametrize(
    ("body", "by_module"),
    [
        (
            "saves:\n    k: 0\n    act: activation('gelu', h)\n    gone: 8\n"
            "  q: Linear(n, h)\n  k: Linear(n, h)\n  gone: Linear(n, h) if n < 0 else None",
            {"": 2 * 2 * 5 * 2, "q": 60},
        ),
        (
            "runs: {norm: tokens * h, often: {times: 3}, idle: 0}\n"
            "  norm: RMSNorm(n)\n  idle: Linear(n, n)\n  often: Linear(n, n)",
            {"norm": 2 * 10 * (3 * 6 + 4), "often": 3 * 60},
        ),
    ],
    ids=["saves", "runs"],
)
def test_modules_state_their_bytes(kept: Kept, body: str, by_module: dict[str, int]) -> None:
    assert kept(f"Toy:\n  {body}").by_module == by_module


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("inner:\n    conv: Conv1d(n, n, 1)", r"the activations of inner\.conv \(Conv1d\) are not supported"),
        ("ops: matmul(n, n, n)\n  proj: Linear(n, n)", r"the activations of Toy \(matmul\)"),
        ("saves:\n    act: activation('sine', n)\n  proj: Linear(n, n)", "sine"),
        ("saves: {inner: 0}\n  inner:\n    proj: Linear(n, n)", "inner is not a layer"),
    ],
)
def test_unknown_activations_are_refused(kept: Kept, body: str, message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        _ = kept(f"Toy:\n  {body}").bytes


def test_with_checkpointing_layers_keep_their_inputs_only(kept: Kept) -> None:
    layer = "Layer:\n  saves: {checkpoint: batch * tokens * 7}\n  one: Linear(n, n)\n  two: Linear(n, n)"
    body = f"{LAYERED}  head: Linear(n, n)\n{layer}"
    inner = {f"layers.{i}.{name}" for i in "01" for name in ("one", "two")}
    assert kept(body).by_module.keys() == {"head", *inner}
    again = kept(body, checkpointing=True)
    assert again.by_module == {"head": 60, "layers.0": 70, "layers.1": 70}
    assert again.recomputed_bytes == 120


def test_an_unknown_layer_is_refused_when_it_is_recomputed(kept: Kept) -> None:
    again = kept(f"{LAYERED}Layer:\n  saves: {{checkpoint: 7}}\n  conv: Conv1d(n, n, 1)", checkpointing=True)
    assert again.bytes == 14
    with pytest.raises(ArchspecError, match=r"the activations of layers\.0\.conv \(Conv1d\)"):
        _ = again.recomputed_bytes


@pytest.mark.parametrize("attention", ["eager", "flash"])
@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("architecture", ["LlamaForCausalLM", "Qwen3ForCausalLM"])
def test_the_closed_form_is_the_count(architecture: str, attention: str, checkpointing: bool) -> None:
    step = Step(2, 64, attention=attention, checkpointing=checkpointing)
    model = archspec.load(architecture)
    found = Formula.derive(model.scope, architecture, "activation_bytes", step)
    found.source = model
    lengths = {"past", "new_encoder_tokens", "encoder_tokens"}
    assert not {symbol.name for symbol in found.expr.free_symbols} & lengths
    for batch, tokens in ((2, 64), (3, 17), (5, 1000)):
        there = step._replace(batch=batch, tokens=tokens)
        expected = StepActivations(model.scope, architecture, there).bytes
        assert found.evaluate(batch=batch, tokens=tokens) == expected
    narrow = archspec.load({**model.config.raw, "hidden_size": 512}, architecture)
    assert found.evaluate(hidden_size=512) == StepActivations(narrow.scope, architecture, step).bytes
    with pytest.raises(archspec.ArchspecError, match="activation_bytes is already in bytes"):
        ClosedForm.derive(model.scope, architecture, "activation_bytes", step).in_bytes("bfloat16")


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> archspec.Model:
    """Return Llama with validated activations for eager attention only."""
    model = archspec.load("LlamaForCausalLM")
    record = CostRecord(["LlamaForCausalLM"], activations={"eager": ["LlamaForCausalLM"]})
    monkeypatch.setattr(Library, "costs", lambda *_: record)
    return model


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attention": "flash"}, "with flash attention: not validated against"),
        ({"checkpointing": True}, "with eager attention and checkpointing: not validated"),
        ({"dtype": "float16"}, "activations are not supported with float16"),
        ({"attention": "sdpa"}, "activations are not supported with sdpa"),
        ({"batch": 0}, "batch must be an integer of at least 1, not 0"),
        ({"tokens": 1}, "tokens must be an integer of at least 2, not 1"),
        ({"encoder_tokens": 1}, "encoder_tokens must be an integer of at least 2, not 1"),
    ],
)
def test_only_validated_steps_have_activations(
    recorded: archspec.Model, options: dict[str, Any], message: str
) -> None:
    model, step = (recorded.scope, recorded.architecture), {"batch": 2, "tokens": 64, "attention": "eager"}
    found = validated_activations(*model, **step)
    assert found.bytes == StepActivations(*model, found.step).bytes > 0
    assert recorded.quantity("activation_bytes", **step).evaluate() == found.bytes
    with pytest.raises(ArchspecError, match=message):
        validated_activations(*model, **{**step, **options})
