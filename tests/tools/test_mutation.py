"""Every line of a spec broken once, as a slip of the hand would: verification finds it and names the line."""

from __future__ import annotations

import pytest

from archspec.errors import Source
from archspec.specs.library import shipped
from archspec.specs.parser import parse_spec
from tools.mutation.alterations import alterations
from tools.mutation.bench import mutate, mutate_file
from tools.mutation.hosts import standing
from tools.mutation.idle import implied

pytestmark = pytest.mark.reference

TYPES = [
    *("albert", "bart", "bert", "bloom", "clip", "deepseek_v3", "distilbert", "gemma2", "gemma3", "gpt2"),
    *("gpt_neox", "jamba", "llama", "llava", "mamba", "mistral", "mixtral", "opt", "qwen2", "qwen3_moe"),
    *("roberta", "swin", "t5", "vit", "wav2vec2", "whisper"),
]
HARD = [  # a line of each was hard to detect
    *("beit", "hyperclovax", "llama4_text", "luke", "resnet", "speech_to_text", "detr"),
    *("mistral_large4_text", "segformer"),
]
PARTS = [
    *("dbrx_ffn_config", "fun_asr_nano_adaptor", "gemma4_unified_vision", "sam_prompt_encoder"),
    "shared/multimodal",
]


@pytest.mark.parametrize("model_type", TYPES)
def test_every_alteration_is_found(model_type: str) -> None:
    results = mutate(shipped().load(model_type))
    assert len(results) > 5
    assert [
        result.alteration.what
        for result in results
        if not result.found and not result.hidden and not result.costly
    ] == []
    assert [result.alteration.what for result in results if result.found and not result.named] == []
    assert sum(result.hidden for result in results) <= 4  # shapes of tied tensors, and names of classes


@pytest.mark.parametrize("name", [*PARTS, *HARD])
def test_every_alteration_is_found_in_the_models_that_have_the_lines(name: str) -> None:
    """Sub-configs' specs and shared parts have no architecture; other lines only a whole model may show."""
    results = mutate_file(name)
    assert len(results) > 2
    assert [result.alteration.what for result in results if not result.well] == []


def test_a_line_is_tried_where_another_spec_has_it() -> None:
    """Whether Qwen2-VL's text model ties its embeddings only the whole model reads."""
    line = "config.tie_word_embeddings: False becomes True"
    (alone,) = [
        result for result in mutate(shipped().load("qwen2_vl_text")) if result.alteration.what == line
    ]
    (whole,) = [result for result in mutate_file("qwen2_vl_text") if result.alteration.what == line]
    assert (alone.found, whole.found) == (False, True)


def test_the_specs_that_have_a_line() -> None:
    found = [(host.model_type, spec.model_type) for host, spec, _ in standing("sam_prompt_encoder")]
    assert found == [
        ("sam", "sam_prompt_encoder"),
        ("sam_hq", "sam_hq_prompt_encoder"),
        ("edgetam", "edgetam_prompt_encoder"),
        ("sam3_tracker", "sam3_tracker_prompt_encoder"),
        ("sam2_video", "sam2_video_prompt_encoder"),
        ("edgetam_video", "edgetam_video_prompt_encoder"),
        ("sam3_tracker_video", "sam3_tracker_video_prompt_encoder"),
        ("sam3_video", "sam3_tracker_video_prompt_encoder"),
        ("sam2", "sam2_prompt_encoder"),
    ]
    found = [(host.model_type, spec.model_type) for host, spec, _ in standing("blt_global_transformer")]
    assert found[0] == ("blt_patcher", "blt_patcher") and ("blt", "blt_global_transformer") in found
    assert {host for host, _ in found} == {"blt", "blt_patcher"}


def test_a_line_that_a_module_takes_over_is_altered_in_the_specs_that_have_the_module() -> None:
    """BLT's cross-attention stands with the model that has none; what it takes over only the others' show."""
    decoder = shipped().load("blt_local_decoder")
    file = "formulas/blt_global_transformer.yaml"
    few, all_ = ({one.what for one in alterations(decoder, file, wide)} for wide in (False, True))
    assert "BltCrossAttention: q_norm left out" in few
    assert "BltCrossAttention: q_proj left out" in all_ - few


def test_an_alteration_that_nothing_shows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: without configs other than the default most slips stay unseen."""
    from tools.mutation import bench as mutation

    spec = shipped().load("gpt2")
    everything = mutation.answers(spec, 1, 0)
    monkeypatch.setattr(
        mutation,
        "answers",
        lambda *_: [answer for answer in everything if list(answer.raw) == ["model_type"]],
    )
    assert sum(not result.found for result in mutate(spec)) > 5


def test_an_architecture_that_the_default_config_does_not_make_is_altered_too() -> None:
    """Hiera's decoder has three sizes without defaults: mending comes to a config that has them all."""
    from tools.mutation.bench import answers

    spec = shipped().load("hiera")
    name = "HieraForPreTraining"
    told = answers(spec._replace(architectures=(name,)), 2, 0)
    assert sum(answer.rows is not None for answer in told) >= 2


@pytest.mark.parametrize(
    ("settings", "others", "expected"),
    [
        ("heads: 8, kv: 2", ["heads % kv == 0"], True),
        ("heads: 8, kv: 2", ["heads == 1 or heads % kv == 0"], False),  # not come to in any case
        ("heads: 8, kv: 2", ["all(heads % kv for i in range(heads))"], False),
        ("heads: 8, kv: 2", ["heads > 0 and kv == heads"], True),
        ("heads: 8, kv: 2", ["kv == heads"], False),
        ("heads: 8, kv: = heads", ["heads // kv > 1"], True),
        ("heads: 8, kv: 2.0", ["heads % kv == 0"], False),  # might be below zero
        ("heads: 8, kv: -1", ["heads % kv == 0"], False),
        ("heads: 8, kv: or heads", ["8 % heads == 0"], True),
        ("heads: 8, kv: = heads", ["8 % heads == 0"], False),  # 0 may be given
        ("heads: 8, kv: or heads", ["8 - heads == 0"], False),
        ("heads: 8, kv: 2}, fixed: {size: = heads // kv", ["size != 1"], True),
        ("heads: 8, kv: 2}, fixed: {size: = heads - kv", ["size != 1"], False),
    ],
)
def test_a_condition_taken_over_may_have_nothing_to_refuse(
    settings: str, others: list[str], expected: bool
) -> None:
    config = settings.replace("}, ", "}\n")  # what follows the fields
    spec = parse_spec(Source("toy.yaml", f"""
model_type: toy
config: {{{config}}}
require: [{", ".join(f'"{other}"' for other in others)}]
modules:
  A:
    require: kv > 0
    a: Linear(kv, kv)
architectures:
  B:
    a: A()
"""), lambda name, place: shipped().load(name), shipped())  # fmt: skip
    module = spec.modules["A"]
    assert implied(module.require[0], spec.require, module, spec) is expected
