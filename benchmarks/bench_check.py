"""Seconds to read a safetensors header, and the ratio to `json.loads` of its text; the best of several turns.

python benchmarks/bench_check.py [TENSORS]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from archspec.checkpoints.files import read_checkpoint

TURNS, BYTES = 5, 128


def header_text(tensors: int) -> str:
    """Return a header with the experts of a mixture of experts, as safetensors writes it."""
    entries = {
        f"model.layers.{index // 768}.mlp.experts.{index % 768}.down_proj.weight": {
            "dtype": "BF16",
            "shape": [8, 8],
            "data_offsets": [index * BYTES, (index + 1) * BYTES],
        }
        for index in range(tensors)
    }
    return json.dumps(entries, separators=(",", ":"))


def seconds(function: Callable[[], object]) -> float:
    """Return the processor time of the fastest of several calls."""
    times = []
    for _ in range(TURNS):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def main(tensors: int) -> None:
    text = header_text(tensors)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        path.write_bytes(len(text).to_bytes(8, "little") + text.encode())
        with open(path, "r+b") as file:
            file.truncate(8 + len(text) + tensors * BYTES)
        own, plain = seconds(lambda: read_checkpoint([str(path)])), seconds(lambda: json.loads(text))
    print(f"{tensors:,} tensors, {len(text):,} bytes: {own:.2f} s, {own / plain:.1f} times json.loads")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 100_000)
