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
ODD = [
    [2, 2],
    [1, 40],
    [33, 2],
    [17, 500],
    [29, 31],
    [224, 224],
    [336, 672],
    [640, 480],
    [1000, 30],
    [1333, 800],
]


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
            is_padded = name.startswith(("Phi4", "Mllama")) and len(files) > 1  # with tiles of zeros
            calls += [] if is_padded else [{**call, "parameters": {**parameters, **without_text}}]
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
        return [one if kind == "audios" else [*one] for one in getattr(processor, kind)(files)]
    except ArchspecError as error:
        return str(error)


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
        assert ours == theirs, call
        compared += 1
    assert compared >= 4


def test_the_table_is_up_to_date() -> None:
    from tools.from_transformers import processors as processors_of_transformers

    from archspec.specs.files import read_json

    recorded = read_json("processors.json")
    del recorded["transformers"]
    assert recorded == processors_of_transformers()
