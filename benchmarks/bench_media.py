"""How long the costs of a vision-language model take, warm and cold.

`python benchmarks/bench_media.py [CLASS ...]` prints medians. Warm: FLOPs at another image size, against
those of LlamaForCausalLM at another number of tokens. Cold: a process with FLOPs of one image, against one
that counts the parameters of the same class.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import archspec

CLASSES = ["Qwen2_5_VLForConditionalGeneration", "LlavaForConditionalGeneration"]
WARM, COLD = 40, 7  # runs
STEP = 28  # pixels: a patch and its neighbor, merged
IMAGE = "1024x768"


def milliseconds(run: Callable[[], Any]) -> float:
    """Return how long a function takes."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1000


def warm(name: str) -> tuple[float, float]:
    """Return the medians of the class with another image each time, and of Llama with another length."""
    model, llama, sizes = archspec.load(name), archspec.load("LlamaForCausalLM"), count()

    def media() -> Any:
        return model.flops(text_tokens=64, images=[f"{448 + STEP * next(sizes)}x448"]).flops

    def text() -> Any:
        return llama.flops(tokens=64 + next(sizes)).flops

    media(), text()
    rounds = [(milliseconds(media), milliseconds(text)) for _ in range(WARM)]
    first, second = (statistics.median(column) for column in zip(*rounds, strict=True))
    return first, second


def cold(name: str) -> tuple[float, float]:
    """Return the medians of processes with FLOPs of an image, and with a count."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    lines = (["flops", name, "--image", IMAGE, "--json"], ["count", name, "--json"])

    def run(line: list[str]) -> float:
        command = [sys.executable, "-m", "archspec", *line]
        return milliseconds(lambda: subprocess.run(command, capture_output=True, check=True, env=environment))

    rounds = [tuple(map(run, lines)) for _ in range(COLD)]
    first, second = (statistics.median(column) for column in zip(*rounds, strict=True))
    return first, second


def main(names: list[str]) -> None:
    for name in names or CLASSES:
        media, text = warm(name)
        flops, counted = cold(name)
        print(f"{name}: warm {media:.1f} ms, Llama {text:.1f} ms, ratio {media / text:.1f}")
        print(f"  cold {flops:.0f} ms, count {counted:.0f} ms, ratio {flops / counted:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
