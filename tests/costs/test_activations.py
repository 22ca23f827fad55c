"""Activations that autograd saves: of layers, as specs give them, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import archspec
from archspec.configs.scope import Scope
from archspec.costs.activations import StepActivations, validated_activations
from archspec.costs.records import Step
from archspec.errors import ArchspecError
from archspec.models.formula import Formula
from archspec.specs.index import CostRecord
from archspec.specs.library import Library, shipped
from archspec.symbolic.closed_form import ClosedForm

Kept = Callable[..., StepActivations]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """Return the activations of the first class of a spec, at 2 sequences of 5 tokens."""

    def made(body: str, **options: Any) -> StepActivations:
        path = tmp_path / "toy.yaml"
        lines = "".join(f"  {line}\n" for line in body.splitlines())
        path.write_text(f"model_type: toy\nconfig: {{n: 3, h: 2, layers: 2}}\narchitectures:\n{lines}")
        spec = shipped().load_file(str(path))
        return StepActivations(Scope(spec, {}), spec.architectures[0], Step(2, 5, **options))

    return made


@pytest.mark.parametrize(("dtype", "element"), [("bfloat16", 2), ("float32", 4)])
def test_layers_keep_their_inputs(kept: Kept, dtype: str, element: int) -> None:
    body = "Toy:\n  embed: Embedding(9, n)\n  proj: Linear(n, 7)\n  conv: Conv1D(7, n)\n"
    body += "  norm: LayerNorm(n)\n  rms: RMSNorm(n)"
    found = kept(body, dtype=dtype)
    assert found.by_module == {
        "proj": 10 * 3 * element,
        "conv": 10 * 3 * element,
        "norm": 10 * (3 * element + 8),
        "rms": 10 * (3 * (4 + element) + 4),
    }
    assert found.bytes == sum(found.by_module.values())
    assert found.recomputed_bytes == 0


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
    body = "Toy:\n  head: Linear(n, n)\n  layers: Layer() for i in range(layers)\n"
    body += "Layer:\n  saves: {checkpoint: batch * tokens * 7}\n  one: Linear(n, n)\n  two: Linear(n, n)"
    assert kept(body).by_module.keys() == {
        "head",
        *(f"layers.{i}.{name}" for i in "01" for name in ("one", "two")),
    }
    again = kept(body, checkpointing=True)
    assert again.by_module == {"head": 60, "layers.0": 70, "layers.1": 70}
    assert again.recomputed_bytes == 120


def test_an_undescribed_layer_is_refused_when_it_is_run_again(kept: Kept) -> None:
    body = "Toy:\n  layers: Layer() for i in range(layers)\nLayer:\n"
    body += "  saves: {checkpoint: 7}\n  conv: Conv1d(n, n, 1)"
    again = kept(body, checkpointing=True)
    assert again.bytes == 14
    with pytest.raises(ArchspecError, match=r"the activations of layers\.0\.conv \(Conv1d\)"):
        _ = again.recomputed_bytes


@pytest.mark.parametrize("attention", ["eager", "flash"])
@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("architecture", ["LlamaForCausalLM", "Qwen3ForCausalLM"])
def test_the_closed_form_is_the_count(architecture: str, attention: str, checkpointing: bool) -> None:
    step = Step(2, 64, attention=attention, checkpointing=checkpointing)
    model = archspec.load(architecture)
    found = Formula.of(model.scope, architecture, "activation_bytes", step)
    assert {symbol.name for symbol in found.expr.free_symbols} & {
        "past",
        "new_encoder_tokens",
        "encoder_tokens",
    } == set()
    for batch, tokens in ((2, 64), (3, 17), (5, 1000)):
        there = step._replace(batch=batch, tokens=tokens)
        expected = StepActivations(model.scope, architecture, there).bytes
        assert found.evaluate(batch=batch, tokens=tokens) == expected
    narrow = archspec.load({**model.config.raw, "hidden_size": 512}, architecture)
    assert found.evaluate(hidden_size=512) == StepActivations(narrow.scope, architecture, step).bytes


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> archspec.Model:
    """Return Llama with validated activations for eager attention only."""
    model = archspec.load("LlamaForCausalLM")
    record = CostRecord(["LlamaForCausalLM"], activations={"eager": ["LlamaForCausalLM"]})
    monkeypatch.setattr(Library, "costs", lambda *_: record)
    return model


def test_only_what_was_held_to_torch_is_given(recorded: archspec.Model) -> None:
    found = validated_activations(recorded.scope, recorded.architecture, 2, 64, attention="eager")
    assert found.bytes == StepActivations(recorded.scope, recorded.architecture, found.step).bytes > 0
    with pytest.raises(ArchspecError, match="with flash are not supported: they were not validated against"):
        validated_activations(recorded.scope, recorded.architecture, 2, 64)
    with pytest.raises(ArchspecError, match="with eager checkpointing are not supported"):
        validated_activations(
            recorded.scope, recorded.architecture, 2, 64, attention="eager", checkpointing=True
        )
    assert (
        recorded.quantity("activation_bytes", attention="eager", batch=2, tokens=64).evaluate() == found.bytes
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float16"}, "activations are not supported with float16"),
        ({"attention": "sdpa"}, "activations are not supported with sdpa"),
        ({"batch": 0}, "batch is 0"),
        ({"tokens": 1}, "tokens is 1"),
        ({"encoder_tokens": 1}, "encoder_tokens is 1"),
    ],
)
def test_other_steps_are_refused(recorded: archspec.Model, options: dict[str, Any], message: str) -> None:
    step: dict[str, Any] = {"batch": 2, "tokens": 64, "attention": "eager", **options}
    with pytest.raises(ArchspecError, match=message):
        validated_activations(recorded.scope, recorded.architecture, **step)


def test_a_closed_form_of_activations_is_in_bytes_already() -> None:
    model = archspec.load("LlamaForCausalLM")
    found = ClosedForm.of(model.scope, model.architecture, "activation_bytes", Step(2, 64))
    with pytest.raises(archspec.ArchspecError, match="bytes already"):
        found.in_bytes("bfloat16")
