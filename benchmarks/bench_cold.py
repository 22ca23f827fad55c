"""How long a cold count takes against instantiating the same class on torch's meta device.

`python benchmarks/bench_cold.py [CONFIG ...]` runs whole processes in turn, A B A B …, and prints medians
and the ratio pair by pair. A bare `python -c pass` is the floor that nothing can beat.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONFIGS = [
    "openai-community--gpt2.json",
    "google-bert--bert-base-uncased.json",
    "mistralai--Mistral-7B-v0.1.json",
]
RUNS = 7
META = """
import json, sys, torch, transformers
raw = json.load(open(sys.argv[1]))
config = transformers.CONFIG_MAPPING[raw["model_type"]](**{k: v for k, v in raw.items() if k != "model_type"})
with torch.device("meta"):
    model = getattr(transformers, sys.argv[2])(config)
print(sum(p.numel() for p in model.parameters()))
"""


def seconds(command: list[str]) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )
    return time.perf_counter() - start, done.stdout


def main(names: list[str]) -> None:
    import archspec

    bare = statistics.median(seconds([sys.executable, "-c", "pass"])[0] for _ in range(RUNS))
    print(f"python alone: {bare * 1000:.1f} ms (median of {RUNS})")
    for name in names or CONFIGS:
        path = str(ROOT / "configs" / name)
        model = archspec.load(path)
        ours = [sys.executable, "-m", "archspec", "count", path, "--json"]
        theirs = [sys.executable, "-c", META, path, model.architecture]
        assert f'"params": {model.params}' in seconds(ours)[1]
        assert str(model.params) in seconds(theirs)[1], "the two must count the same"
        pairs = [(seconds(ours)[0], seconds(theirs)[0]) for _ in range(RUNS)]
        count, meta = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(b / a for a, b in pairs)
        print(
            f"{name}: count {count * 1000:.1f} ms, meta {meta * 1000:.0f} ms, ratio {ratio:.1f} (pair by pair, median)"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
