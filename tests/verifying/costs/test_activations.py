"""Kept activations validated against torch, and altered specs that must be found."""

from __future__ import annotations

from itertools import islice

import pytest
from altering import altered

from archspec.costs.records import Step
from archspec.costs.training.activations import StepActivations
from archspec.reference.saved import saved_bytes
from archspec.specs.library import shipped_library
from archspec.specs.records import Spec
from archspec.verifying.costs.activations import ACTIVATIONS, MEDIA_ACTIVATIONS, RECOMPUTED, unequal_bytes
from archspec.verifying.costs.cases import Case, configs
from archspec.verifying.costs.instruments import Comparison, compare
from archspec.verifying.costs.record import read_record

pytestmark = pytest.mark.reference
SMALL = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 24, "intermediate_size": 20}
SMALL |= {"num_attention_heads": 4, "num_key_value_heads": 2}
MAMBA = {"model_type": "mamba2", "num_hidden_layers": 2}
LLAMA = (SMALL, {**SMALL, "attention_dropout": 0.1})


def activations(spec: Spec, architecture: str, *raws: dict[str, object]) -> dict[str, Comparison]:
    cases = [Case(spec, architecture, raw) for raw in raws]
    return {kind: compare(instrument, cases) for kind, instrument in ACTIVATIONS.items()}


def test_exact_in_every_kind() -> None:
    found = activations(shipped_library().load("llama"), "LlamaForCausalLM", *LLAMA)
    assert found.keys() == {"flash", "flash checkpointing", "eager", "eager checkpointing"}
    assert {(outcome.verdict, outcome.compared) for outcome in found.values()} == {("exact", 7)}


def test_a_missing_activation_is_found() -> None:
    gated = "GatedMLP(intermediate_size, mlp_bias)"
    spec = altered("llama", f" {gated}", f"\n    extends: {gated}\n    saves: {{act_fn: 0}}")
    found = activations(spec, "LlamaForCausalLM", *LLAMA)
    first = found["flash"].differences[0]
    assert (first.name, first.found) == ("model.layers.0.mlp", 0)
    (recomputed,) = found["flash checkpointing"].differences  # the inputs of layers are right
    assert recomputed.name == RECOMPUTED
    assert recomputed.found < recomputed.expected


def test_an_unsupported_class_is_not_exact() -> None:
    found = activations(shipped_library().load("mamba2"), "Mamba2ForCausalLM", MAMBA)
    assert {outcome.verdict for outcome in found.values()} == {"unavailable"}
    assert "are not supported" in found["eager"].unavailable


def recorded() -> list[tuple[str, str]]:
    """A class of every third model type with recorded activations of text."""
    lines = read_record().items()
    return [(one, name) for one, line in lines for name in line.activations.get("eager", ())[:1]][::3]


@pytest.mark.parametrize(("model_type", "architecture"), recorded())
def test_recorded_activations_still_agree(model_type: str, architecture: str) -> None:
    """The record's digests tell changes of specs, but not of the reference."""
    spec = shipped_library().load(model_type)
    shallow = next(islice(configs(spec, architecture, 1, 0), 1, None))
    found = compare(ACTIVATIONS["eager"], [Case(spec, architecture, shallow)])
    assert found.differences == ()


VIT = {"model_type": "vit", "num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 2}
VIT |= {"intermediate_size": 20, "image_size": 32, "patch_size": 8, "hidden_dropout_prob": 0.1}
TOWER = {
    "model_type": "clip_vision_model",
    "num_hidden_layers": 2,
    "hidden_size": 24,
    "intermediate_size": 20,
}
TOWER |= {"num_attention_heads": 2, "image_size": 28, "patch_size": 7}
LLAVA = {
    "model_type": "llava",
    "vision_config": TOWER,
    "text_config": {**SMALL, "vocab_size": 40},
    "image_token_index": 30,
}


def with_media(spec: Spec, architecture: str, raw: dict[str, object]) -> dict[str, Comparison]:
    return {kind: compare(one, [Case(spec, architecture, raw)]) for kind, one in MEDIA_ACTIVATIONS.items()}


@pytest.mark.parametrize(
    ("architecture", "raw"),
    [("ViTModel", VIT), ("LlavaForConditionalGeneration", LLAVA)],
    ids=["vit", "llava"],
)
def test_exact_with_images(architecture: str, raw: dict[str, object]) -> None:
    found = with_media(shipped_library().load(str(raw["model_type"])), architecture, raw)
    assert {kind.removesuffix(" with media") for kind in found} == {*ACTIVATIONS}
    assert {one.verdict for one in found.values()} == {"exact"}
    assert all(one.compared >= 4 and one.measured == {"images"} for one in found.values())


def test_a_missing_activation_of_an_image_is_found() -> None:
    spec = altered("vit", "      dropout: 2 * dropped", "      dropout: dropped")
    first = with_media(spec, "ViTModel", VIT)["eager with media"].differences[0]
    assert first.name == "layers.0"
    assert first.found < first.expected


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("attention", ["eager", "flash"])
def test_a_frozen_tower_saves_nothing(attention: str, checkpointing: bool) -> None:
    case = Case(shipped_library().load("llava"), "LlavaForConditionalGeneration", LLAVA)
    step = Step(1, 24, 0, "bfloat16", attention, checkpointing, images=((28, 28),), freeze=("vision_tower",))
    ours = StepActivations(case.scope, case.architecture, step)
    theirs = saved_bytes(case.training_model(step), step)
    assert not [*unequal_bytes(ours.tree, theirs, ours.by_module)]
    inside = [path for path in ours.by_module if ".vision_tower." in path]
    assert bool(inside) == checkpointing  # transformers then asks for gradients of what is frozen
