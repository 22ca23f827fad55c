"""Configs for the branches and conditions of a spec that random draws do not reach."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from archspec.language.expression import Expression
from archspec.specs.library import shipped_library
from archspec.specs.records import Spec, leaves
from archspec.symbolic.runs.record import Run
from archspec.symbolic.runs.recorder import run
from archspec.verifying.generate.sampling import Sampler
from archspec.verifying.generate.search import Search

SPEC = """
model_type: made_up
config:
  hidden_size: 48
  num_heads: 4
  head_dim: = hidden_size // num_heads
  experts: int | None = None
  chosen: int | None = None
  kinds: list[str] = ["plain"] * num_hidden_layers
  num_hidden_layers: 2
  gated: false
  act: relu
require:
  - hidden_size % num_heads == 0
  - experts is None or (experts > 0 and chosen is not None and chosen <= experts)
  - all(kind in ["plain", "wide"] for kind in kinds)
modules:
  MadeUpBlock(kind):
    require: head_dim % 2 == 0 or head_dim < 5
    wide: Linear(hidden_size, 7 * num_heads) if hidden_size * num_heads == 1225 else None
    narrow: Linear(hidden_size // 3, 1) if kind == "wide" and gated else None
    gate: Linear(experts, chosen) if experts is not None else None
    bias: Linear(hidden_size, 1, bias=act == "gelu")
architectures:
  MadeUpModel:
    layers: ModuleList([MadeUpBlock(kind) for kind in kinds])
"""


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    (tmp_path / "made_up.yaml").write_text(SPEC.lstrip())
    return shipped_library().load_file(str(tmp_path / "made_up.yaml"))


Raw = dict[str, Any]


def searched(spec: Spec, architecture: str, *valid: Raw) -> tuple[Search, list[Run]]:
    """The search of an architecture, and the runs of all configs that it gives."""
    search = Search(spec, architecture, Sampler(spec, 0))
    return search, [run(spec, architecture, raw) for raw in search.configs(valid)]


def valid(runs: list[Run]) -> list[Raw]:
    return [found.raw for found in runs if found.refusal is None]


def conditions(spec: Spec) -> list[Expression]:
    return [*spec.require, *(condition for module in spec.modules.values() for condition in module.require)]


def is_broken_alone(spec: Spec, architecture: str, condition: Expression, runs: list[Run]) -> bool:
    """Return True if some config violates one condition only."""
    again = (run(spec, architecture, found.raw, condition) for found in runs if found.refusal is not None)
    return any(
        found.refusal is None and any(test.node is condition.tree and not held for test, held in found.met)
        for found in again
    )


@pytest.fixture
def made_up(spec: Spec) -> tuple[Search, list[Run]]:
    return searched(spec, "MadeUpModel", {"model_type": "made_up"})


def test_numbers_are_found_that_no_draw_comes_to(spec: Spec, made_up: tuple[Search, list[Run]]) -> None:
    sampler = Sampler(spec, 0)
    drawn = [sampler.sample() for _ in range(300)]
    products = [
        [raw.get("hidden_size", 48) * raw.get("num_heads", 4) for raw in raws]
        for raws in (drawn, valid(made_up[1]))
    ]
    assert 1225 not in products[0] and 1225 in products[1]  # 35 * 35


def test_every_test_comes_out_both_ways(spec: Spec, made_up: tuple[Search, list[Run]]) -> None:
    met = {key for found in made_up[0].runs for key in found.met}
    demanded = {one.tree for one in conditions(spec)}
    inside = {node for one in leaves(spec.modules["MadeUpBlock"].body) for node in ast.walk(one.tree)}
    tests = [(test, outcome) for test, outcome in met if test.call is None]
    own = [one for one in tests if one[0].node in inside and one[0].node not in demanded]
    assert [ast.unparse(test.node) for test, outcome in own if (test, not outcome) not in met] == []


def test_each_condition_is_broken_alone(spec: Spec, made_up: tuple[Search, list[Run]]) -> None:
    for condition in conditions(spec):
        assert is_broken_alone(spec, "MadeUpModel", condition, made_up[1]), condition.text


def test_what_refuses_a_config_is_changed_too(made_up: tuple[Search, list[Run]]) -> None:
    """Experts need a number of chosen ones, and no more of these than there are."""
    assert any(raw.get("experts") for raw in valid(made_up[1]))


def test_one_more_would_change_a_quotient(spec: Spec) -> None:
    start = {"model_type": "made_up", "kinds": ["wide"], "num_hidden_layers": 1, "gated": True}
    _, runs = searched(spec, "MadeUpModel", start)
    assert any((raw["hidden_size"] + 1) % 3 == 0 for raw in valid(runs) if "hidden_size" in raw)


SMALL_DETR: dict[str, Any] = {"encoder_layers": 0, "decoder_layers": 1, "use_timm_backbone": False}
SMALL_DETR["backbone_config"] = {"model_type": "resnet", "out_features": ["stage2", "stage3", "stage4"]}
ROTARY: dict[str, Any] = {"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}
TIMESTAMPS = "Nemotron3_5TranscribeWordTimestampModel"
COMPASS = "CohereCompassTextForSequenceClassification"
CONDITIONS: list[tuple[str, str, str, Raw]] = [
    ("segformer", "SegformerModel", "size > 0", {}),  # a parameter behind a local name, in a list
    ("nemotron_h", "NemotronHModel", "all(", {}),  # a kind of layer that this spec does not have
    ("falcon_h1", "FalconH1Model", "mamba_inner %", {}),  # a text among numbers
    ("persimmon", "PersimmonModel", "hidden_size %", {}),
    ("moshi", "MoshiModel", "given(", {}),  # what given() reads; a sub-config left out
    ("encoder-decoder", "EncoderDecoderModel", "decoder.model_type in", {}),  # another type
    ("encoder-decoder", "EncoderDecoderModel", "cross_", {}),  # what a part is asked for by name
    ("gpt_neo", "GPTNeoModel", "kind in", {}),  # a turn of a loop, in a list within a list
    ("iquestcoder", "LlamaModel", 'given("clip_qkv")', {}),  # a field that only given() knows
    ("nemotron3_5_transcribe_word_timestamp", TIMESTAMPS, "upsampling_factor >= 1", {}),
    ("cohere_compass_text", COMPASS, "not pooling", ROTARY),
    ("cohere_compass_text", "CohereCompassTextModel", "all([rope_parameters", ROTARY),
    # fields that must be equal change together
    ("dots3_note_vision_encoder", "Dots3NoteVisionModel", "hidden_size > 0", {"mlp_layer_types": ["dense"]}),
    # a field of a sub-config, which others divide
    ("florence2", "Florence2Model", "embed_dim == 3 or", {"vision_config": {"depths": [1, 1, 1, 1]}}),
    ("m2m_100", "M2M100Model", "d_model", {}),  # positions refuse a width that the heads divide
    ("detr", "DetrForSegmentation", "d_model // enc", SMALL_DETR),  # its attention needs fewer heads
    ("minimax", "MiniMaxModel", "head_dim > 0", {}),  # of all layers, and of one kind of them
    # the spec of a sub-config without architectures
    ("idefics", "IdeficsModel", "head_dim > 0", {"use_resampler": True}),
]


@pytest.mark.parametrize(("model_type", "architecture", "text", "more"), CONDITIONS)
def test_a_condition_of_a_model_is_broken(model_type: str, architecture: str, text: str, more: Raw) -> None:
    spec = shipped_library().load(model_type)
    found = [one for one in conditions(spec) if one.text.startswith(text)]
    condition = min(found, key=lambda one: "layer_types" in one.text)
    few = {"num_hidden_layers": 1, **more} if "num_hidden_layers" in spec.fields else more
    _, runs = searched(spec, architecture, {"model_type": model_type}, {"model_type": model_type, **few})
    assert is_broken_alone(spec, architecture, condition, runs)


def test_nulls_are_given_together() -> None:
    """Gemma 4's experts need three numbers that are null by default."""
    spec = shipped_library().load("gemma4_text")
    _, runs = searched(spec, "Gemma4TextModel", {"model_type": "gemma4_text", "num_hidden_layers": 1})
    assert any(raw.get("enable_moe_block") for raw in valid(runs))


def test_what_is_behind_a_branch_is_searched_too() -> None:
    """XLM's adaptive softmax needs three fields; only within it does a tie decide on a weight."""
    spec = shipped_library().load("xlm")
    search, _ = searched(spec, "XLMWithLMHeadModel", {"model_type": "xlm"})
    body = leaves(spec.modules["AdaptiveLogSoftmaxWithLoss"].body)
    (chosen,) = (leaf.tree for leaf in body if leaf.text.startswith("Parameter"))
    assert isinstance(chosen, ast.IfExp)
    met = {(test.node, outcome) for found in search.runs for test, outcome in found.met}
    assert {(chosen.test, True), (chosen.test, False)} <= met


def test_a_default_is_left_out() -> None:
    spec = shipped_library().load("llava_next_video")
    few = {"num_hidden_layers": 1}
    raw: Raw = {"model_type": "llava_next_video", "text_config": few, "vision_config": few}
    raw |= {"spatial_pool_mode": "conv", "spatial_pool_out_channels": 8}
    _, runs = searched(spec, spec.architectures[0], raw)
    assert any("spatial_pool_out_channels" not in found.raw for found in runs)
