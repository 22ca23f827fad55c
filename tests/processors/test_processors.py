"""Sizes of tensors from files: parameters, sources, traces and refusals, without transformers."""

from __future__ import annotations

import random
from typing import Any

import pytest

from archspec import processors
from archspec.errors import ArchspecError, ConfigError
from archspec.processors.processor import KEYS, TABLE
from archspec.specs.files import read_json

QWEN = {"image_processor_type": "Qwen2VLImageProcessor", "min_pixels": 3136, "max_pixels": 1003520}
HUGE = 10**9
HOSTILE = [
    *(0, -1, 1, 2, 7, 1.5, "x", None, [], {}, [[1]], True, False, 1e308, 10**30, float("nan"), 10**9, 10**12),
    *({"height": -1, "width": 3}, {"height": 1, "width": 1}, {"shortest_edge": 1, "longest_edge": 1}, [1, 1]),
    *(
        {"longest_edge": 1},
        {"max_height": 1, "max_width": 10**9},
        {"height": {"a": 1}, "width": 2},
        {1: 2},
        0.5,
    ),
]


def read(model_type: str, preprocessor: dict[str, Any] | None = None) -> processors.Processor:
    found = processors.read(model_type, {}, preprocessor)
    assert found is not None
    return found


def test_a_file_wins_over_the_defaults_of_its_class() -> None:
    assert read("vit").images([(480, 640)]) == [(224, 224)]
    assert read("vit", {"size": 384}).images([(480, 640)]) == [(384, 384)]
    assert read("vit").source == "defaults of ViTImageProcessor"
    assert read("vit", {"size": 384}).source == "preprocessor_config.json"
    assert read("vit", {"size": None}).images([(480, 640)]) == [(224, 224)]


@pytest.mark.parametrize("key", ["image_processor_type", "feature_extractor_type"])
def test_a_file_names_its_class(key: str) -> None:
    name = "CLIPImageProcessorFast" if key == "image_processor_type" else "CLIPFeatureExtractor"
    assert read("vit", {key: name}).images([(100, 300)]) == [(224, 224)]
    assert read("vit", {key: name, "do_center_crop": False}).images([(100, 300)]) == [(224, 672)]
    assert read("vit", {key: "OtherImageProcessor"}).images([(100, 300)]) == [(224, 224)]


def test_the_config_names_a_class() -> None:
    found = processors.classes("vit", {"image_processor_type": "CLIPImageProcessor"}, None)
    assert found == {"images": "CLIPImageProcessor"}


def test_a_processor_config_has_a_part_for_each_kind() -> None:
    found = read("qwen2_5_omni", {"image_processor": QWEN, "feature_extractor": {"chunk_length": 300}})
    assert found.images([(1000, 1000)]) == [(980, 980)]
    assert found.audios([16000 * 100]) == [10_000]
    with pytest.raises(ArchspecError, match="video files are not supported"):
        found.videos([(2, 100, 100)])


def test_a_video_file_is_not_for_images() -> None:
    found = read("qwen2_vl", {"video_processor_type": "Qwen2VLVideoProcessor"})
    assert found.videos([(5, 480, 640)]) == [(6, 476, 644)]
    with pytest.raises(ArchspecError, match="image files are not supported"):
        found.images([(480, 640)])


def test_the_processor_of_a_model_passes_arguments() -> None:
    assert len(read("internvl").images([(480, 640)])) == 13
    assert len(read("got_ocr2").images([(480, 640)])) == 1
    (trace,) = read("siglip2", {"max_num_patches": 1024}).trace_images([(480, 640)])
    assert trace.tensors == ((224, 288),)
    assert trace.steps[-1] == "max_num_patches is set to 256 by the model's processor"


def test_images_of_a_call_are_padded_to_the_largest() -> None:
    assert read("detr").images([(480, 640)]) == [(800, 1066)]
    assert read("detr").images([(480, 640), (640, 480)]) == [(1066, 1066), (1066, 1066)]
    assert read("pixtral").images([(480, 640), (640, 480)]) == [(480, 640), (640, 480)]


def test_tiles_are_entries_in_their_order() -> None:
    lfm = read("lfm2_vl").images([(2000, 900)])
    assert lfm[:-1] == [(512, 512)] * (len(lfm) - 1) and lfm[-1] != (512, 512)
    assert read("llava_next").images([(2000, 900), (3, 5)]) == [(2000, 900), (3, 5)]
    assert read("mllama").images([(2000, 900)]) == [(224, 224)]


def test_a_trace_says_what_happened() -> None:
    (trace,) = read("clip").trace_images([(480, 640)])
    assert str(trace) == "640×480, resized to 298×224, center-cropped to 224×224"
    (video,) = read("qwen3_vl").trace_videos([(5, 480, 640)])
    assert video.steps == ("5 frames after sampling", "resized to 448×320", "padded to 6 frames")
    assert video.tensors == ((6, 320, 448),)
    (clip,) = read("whisper").trace_audios([560_000])
    assert str(clip) == "560,000, cut to 480,000 samples, in 3,000 frames"


def test_audio() -> None:
    assert read("whisper").sampling_rate == 16_000
    assert read("whisper").audios([1000, 900_000]) == [3000, 3000]
    assert read("wav2vec2").audios([1000, 2000]) == [1000, 2000]
    assert read("encodec").audios([1000, 2000]) == [2000, 2000]
    assert read("voxtral").audios([480_001]) == [3000, 3000]
    assert read("qwen3_omni_moe").audios([16_000, 32_000]) == [100, 200]
    assert read("audioflamingo3").audios([16_000 * 6000]) == [3000] * 20
    with pytest.raises(ArchspecError, match="too short"):
        read("speech_to_text").audios([399])


@pytest.mark.parametrize("model_type", ["llama", "timm_wrapper", "wav2vec2-bert", "no_such_type"])
def test_none_without_a_rule(model_type: str) -> None:
    assert processors.read(model_type, {}, None) is None


def test_an_extractor_that_a_file_names_has_a_rule() -> None:
    found = read("wav2vec2-bert", {"feature_extractor_type": "SeamlessM4TFeatureExtractor"})
    assert found.audios([16_000]) == [49]


@pytest.mark.parametrize(
    ("model_type", "key", "value"),
    [
        ("vit", "size", 0),
        ("vit", "size", {"height": -3, "width": 4}),
        ("vit", "size", {"height": 224}),
        ("vit", "do_resize", "yes"),
        ("clip", "crop_size", {"shortest_edge": 3}),
        ("detr", "size", {"shortest_edge": 800}),
        ("qwen2_vl", "patch_size", 14.0),
        ("qwen2_vl", "max_pixels", [1]),
        ("internvl", "max_patches", 10**9),
        ("llava_next", "image_grid_pinpoints", [[336, "672"]]),
        ("llama4", "size", {"height": 3, "width": 4}),
        ("gemma4", "max_soft_tokens", 100),
        ("whisper", "hop_length", 0),
        ("whisper", "sampling_rate", None.__class__.__name__),
        ("convnext", "crop_pct", 0),
    ],
)
def test_a_wrong_parameter_is_named(model_type: str, key: str, value: object) -> None:
    files: dict[str, list[Any]] = {"images": [(300, 400)], "audios": [16_000]}
    kind = "audios" if model_type == "whisper" else "images"
    given = {key: value, **({"size": {"shortest_edge": 224}} if key == "crop_pct" else {})}
    with pytest.raises(ConfigError, match=rf"preprocessor_config\.json: {key}"):
        getattr(read(model_type, given), kind)(files[kind])


@pytest.mark.parametrize("size", [(0, 5), (5, -1), (5, 10**10), (5.0, 5), (5,), (5, 5, 5), (True, 5)])
def test_a_wrong_size_is_refused(size: Any) -> None:
    with pytest.raises(ArchspecError, match="is not a size"):
        read("vit").images([size])


def test_huge_files() -> None:
    assert read("vit").images([(HUGE, HUGE)]) == [(224, 224)]
    assert read("idefics3").images([(HUGE, HUGE - 1)]) == [(364, 364)] * 17
    assert read("whisper").audios([HUGE]) == [3000]
    with pytest.raises(ArchspecError, match="has no pixels"):
        read("detr").images([(1, HUGE)])
    with pytest.raises(ArchspecError, match="aspect ratio"):
        read("qwen2_vl").images([(1, HUGE)])
    with pytest.raises(ArchspecError, match="windows"):
        read("voxtral", {"chunk_length": 1}).audios([HUGE])


def test_hostile_parameters_give_sizes_or_errors() -> None:
    rng, table = random.Random(0), read_json(TABLE)
    outcomes = {"sizes": 0, "refused": 0}
    edges = [1, 3, 31, 224, 1000, HUGE]
    for _ in range(1500):
        kind = rng.choice([*KEYS])
        name = rng.choice([*table[kind]])
        keys = [*table[kind][name], "size", "do_resize", "do_pad", "pad_size", "default_to_square"]
        given = {key: rng.choice(HOSTILE) for key in rng.sample(keys, 2)}
        found = processors.read("none", {}, {**given, KEYS[kind][0]: name})
        count = {"images": 2, "videos": 3, "audios": 1}[kind]
        sizes = [tuple(rng.choice(edges) for _ in range(count)) for _ in range(2)]
        files: list[Any] = [size[0] for size in sizes] if kind == "audios" else sizes
        try:
            tensors = getattr(found, kind)(files) if found else []
        except ArchspecError:
            outcomes["refused"] += 1
        else:
            flat = [edge for one in tensors for edge in (one if isinstance(one, tuple) else (one,))]
            assert min(flat, default=1) >= 1, (name, given, files)
            outcomes["sizes"] += 1
    assert min(outcomes.values()) > 300
