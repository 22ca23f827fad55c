"""The sizes of tensors against those of transformers' own processors, for every class that has a rule."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from witness import Call, ask

from archspec import processors
from archspec.errors import ArchspecError
from archspec.processors.audios import AUDIOS
from archspec.processors.processor import KEYS
from archspec.processors.rules import IMAGES, VIDEOS

pytestmark = pytest.mark.reference
ODD = [  # tiny, wide, tall, exact
    *([2, 2], [1, 40], [33, 2], [17, 500], [29, 31], [224, 224], [336, 672], [640, 480], [1344, 26]),
    [1333, 800],
]
ORDERED_BY_TENSOR = ("DeepseekOcr2", "UnlimitedOcr", "Step3p7")  # all whole images after all tiles
FRAMES_FIRST = (
    "AST Clap CohereAsr Gemma Granite Inkling Lasr Nemotron Parakeet Phi4 Seamless Speech2Text UnivNet"
)
WITH_PIL = "Bit CLIP ConvNext Detr Gemma4 GotOcr2 Idefics3 LlavaNext Mllama Pixtral Qwen2VL Siglip2 Yolos"
SCAN = {
    "do_pan_and_scan": True,
    "pan_and_scan_min_crop_size": 64,
    "pan_and_scan_max_num_crops": 4,
    "pan_and_scan_min_ratio_to_activate": 1.2,
}
FILES: list[tuple[str, Call]] = [  # a class and parameters as checkpoints have them
    ("CLIPImageProcessor", {"size": 336, "crop_size": 336}),
    ("ViTImageProcessor", {"size": 384}),
    ("ViTImageProcessor", {"do_pad": True, "pad_size": 512}),
    ("SegformerImageProcessor", {"size": 640}),
    ("DetrImageProcessor", {"size": 800, "max_size": 1333}),
    ("DetrImageProcessor", {"size": {"max_height": 500, "max_width": 700}}),
    ("YolosImageProcessor", {"size": {"shortest_edge": 512, "longest_edge": 864}}),
    ("MaskFormerImageProcessor", {"size": {"shortest_edge": 512, "longest_edge": 2048}, "size_divisor": 32}),
    ("ConvNextImageProcessor", {"size": {"shortest_edge": 224}, "crop_pct": 0.875}),
    ("DPTImageProcessor", {"size": 518, "keep_aspect_ratio": True, "ensure_multiple_of": 14}),
    ("DonutImageProcessor", {"size": [1920, 2560], "do_align_long_axis": True}),
    ("SamImageProcessor", {"size": {"longest_edge": 512}, "pad_size": {"height": 512, "width": 512}}),
    ("LlavaImageProcessor", {"do_pad": True, "size": {"shortest_edge": 336}, "crop_size": 336}),
    ("LlavaNextImageProcessor", {"size": {"shortest_edge": 336}, "crop_size": 336}),
    ("GotOcr2ImageProcessor", {"size": {"height": 448, "width": 448}, "crop_to_patches": True}),
    ("GotOcr2ImageProcessor", {"crop_to_patches": True, "min_patches": 3, "max_patches": 5}),
    ("Ovis2ImageProcessor", {"size": 448, "crop_to_patches": True, "max_patches": 9}),
    ("Ovis2ImageProcessor", {"crop_to_patches": True, "use_covering_area_grid": False}),
    ("Gemma3ImageProcessor", {"size": {"height": 896, "width": 896}, **SCAN}),
    ("Idefics2ImageProcessor", {"do_image_splitting": True}),
    ("Idefics3ImageProcessor", {"size": {"longest_edge": 1456}, "do_image_splitting": False}),
    ("SmolVLMImageProcessor", {"size": {"longest_edge": 2048}, "max_image_size": {"longest_edge": 512}}),
    ("Llama4ImageProcessor", {"max_patches": 4, "resize_to_max_canvas": True}),
    ("MllamaImageProcessor", {"size": {"height": 560, "width": 560}, "max_image_tiles": 4}),
    ("AriaImageProcessor", {"split_image": True, "max_image_size": 490}),
    ("Phi4MultimodalImageProcessor", {"dynamic_hd": 12}),
    ("Siglip2ImageProcessor", {"max_num_patches": 1024}),
    ("PixtralImageProcessor", {"patch_size": 14, "size": {"longest_edge": 1540}}),
    ("Qwen2VLImageProcessor", {"min_pixels": 3136, "max_pixels": 12845056}),
    ("Glm4vImageProcessor", {"size": {"shortest_edge": 12544, "longest_edge": 200704}}),
    ("EomtImageProcessor", {"do_split_image": True, "do_pad": True}),
]
VIDEO_FILES: list[tuple[str, Call]] = [
    ("Qwen2VLVideoProcessor", {"cap_pixels_per_frame": True, "max_video_tokens": 900}),
    ("Qwen3VLVideoProcessor", {"cap_pixels_per_frame": True, "max_video_tokens": 300}),
    ("VJEPA2VideoProcessor", {"crop_size": 384}),
]
AUDIO_FILES: list[tuple[str, Call]] = [
    ("EncodecFeatureExtractor", {"chunk_length_s": 1.0, "overlap": 0.01}),
    ("WhisperFeatureExtractor", {"chunk_length": 10}),
    ("ClapFeatureExtractor", {"truncation": "rand_trunc"}),
]


def sizes(seed: str) -> list[list[list[int]]]:
    """Return the sizes of several calls: odd ones, random ones, and several images of one call."""
    rng = random.Random(seed)
    drawn = [[int(2 ** rng.uniform(4, 10.3)), int(2 ** rng.uniform(4, 10.3))] for _ in range(5)]
    return [[size] for size in (*ODD, *drawn[:3])] + [drawn[3:]]


def image_calls() -> list[Call]:
    given = [(name, {}) for name in IMAGES] + FILES
    pil = [(f"{name}ImageProcessor", {}) for name in WITH_PIL.split()]
    calls = []
    for suffix, (name, parameters) in [("", one) for one in given] + [("Pil", one) for one in pil]:
        without_text = {"apply_ocr": False} if "LayoutLM" in name else {}
        for files in sizes(name)[:: 3 if suffix else 1]:
            of_pair = name.startswith(("EfficientLoFTR", "LightGlue", "SuperGlue"))
            call: Call = {"cls": name + suffix, "kind": "images", "given": parameters}
            call["sizes"] = (files * 2)[:2] if of_pair else files
            is_left_out = name.startswith(("Phi4", "Mllama")) and len(files) > 1  # padded with tiles of zeros
            is_left_out |= name.startswith("Emu3") and files[0][0] == 1  # whose rows it takes for channels
            calls += [] if is_left_out else [{**call, "parameters": {**parameters, **without_text}}]
    return calls


def video_calls() -> list[Call]:
    calls = []
    for name, given in [(name, {}) for name in VIDEOS] + VIDEO_FILES:
        rng = random.Random(name)
        for files in sizes(name)[3:]:
            frames = [1, 2, 3, 5, 8] if max(height * width for height, width in files) < 300_000 else [1, 2]
            videos = [[rng.choice(frames), *size] for size in files]
            call: Call = {"cls": name, "kind": "videos", "given": given, "parameters": given, "sizes": videos}
            calls.append({**call, "options": {"draw_on_frames": False} if name.startswith("Ernie") else {}})
    return calls


def audio_calls() -> list[Call]:
    calls = []
    for name, given in [(name, {}) for name in AUDIOS] + AUDIO_FILES:
        rng = random.Random(name)
        axis = -2 if name.startswith(tuple(FRAMES_FIRST.split())) else -1
        lengths = [[400], [401], [641], [2, 900], [16000], [480001]]
        lengths += [[int(2 ** rng.uniform(9, 18)) for _ in range(count)] for count in (1, 1, 3)]
        call: Call = {"cls": name, "kind": "audios", "given": given, "parameters": given, "axis": axis}
        calls += [{**call, "sizes": one} for one in lengths]
    return calls


@cache
def answers() -> list[tuple[Call, list[Any] | str]]:
    """Return all calls with what transformers answers, from one process."""
    calls = image_calls() + video_calls() + audio_calls()
    return [*zip(calls, ask(calls), strict=True)]


def computed(call: Call) -> list[Any] | str:
    """Return the sizes of archspec; a text if it refuses the call."""
    kind, name = call["kind"], call["cls"].removesuffix("Pil")
    processor = processors.read("none", {}, {KEYS[kind][0]: name, **call["given"]})
    assert processor is not None
    files = call["sizes"] if kind == "audios" else [tuple(size) for size in call["sizes"]]
    try:
        traces = getattr(processor, f"trace_{kind}")(files)
    except ArchspecError as error:
        return str(error)
    tensors = [
        [*size, *([trace.patches] if trace.patches else [])] for trace in traces for size in trace.tensors
    ]
    return [size[0] for size in tensors] if kind == "audios" else tensors


@pytest.mark.parametrize("name", [*IMAGES, *VIDEOS, *AUDIOS])
def test_sizes_are_those_of_transformers(name: str) -> None:
    found = [(call, theirs) for call, theirs in answers() if call["cls"].removesuffix("Pil") == name]
    compared = 0
    for call, theirs in found:
        ours = computed(call)
        if isinstance(theirs, str) or isinstance(ours, str):
            empty = isinstance(ours, str) and not isinstance(theirs, str) and call["kind"] == "audios"
            assert isinstance(ours, str) and (isinstance(theirs, str) or empty), (call, ours, theirs)
            continue
        if name.startswith(ORDERED_BY_TENSOR):
            ours, theirs = sorted(ours), sorted(theirs)
        if name.startswith("Phi4") and call["kind"] == "images":  # whose masks are of patches
            ours = [[448 * -(-edge // 448) - -edge % 448 // 14 * 14 for edge in one] for one in ours]
        assert ours == theirs, call
        compared += 1
    assert compared >= 4


def test_the_table_is_up_to_date() -> None:
    from archspec.specs.files import read_json
    from tools.from_transformers import processors as processors_of_transformers

    recorded = read_json("processors.json")
    del recorded["transformers"]
    assert recorded == processors_of_transformers()
