"""How long a cold count takes against instantiating the same class on torch's meta device.

`python benchmarks/bench_cold.py [CONFIG ...]` runs whole processes in turn, A B C A B C …, their bytecode
cached, and prints medians, and ratios round by round. A bare `python -c pass` is the floor that nothing can
beat.
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
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": ""}
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return time.perf_counter() - start, done.stdout


def main(names: list[str]) -> None:
    import archspec

    for name in names or CONFIGS:
        path = str(ROOT / "configs" / name)
        model = archspec.load(path)
        bare = [sys.executable, "-c", "pass"]
        ours = [sys.executable, "-m", "archspec", "count", path, "--json"]
        theirs = [sys.executable, "-c", META, path, model.architecture]
        assert f'"params": {model.params}' in seconds(ours)[1]
        assert str(model.params) in seconds(theirs)[1], "the two must count the same"
        rounds = [tuple(seconds(command)[0] for command in (bare, ours, theirs)) for _ in range(RUNS)]
        floor, count, meta = (statistics.median(column) * 1000 for column in zip(*rounds, strict=True))
        over_bare = statistics.median(count / bare for bare, count, _ in rounds)
        under_meta = statistics.median(meta / count for _, count, meta in rounds)
        print(f"{name}: count {count:.1f} ms, meta {meta:.0f} ms, python alone {floor:.1f} ms")
        print(
            f"  count / python alone {over_bare:.1f}, meta / count {under_meta:.1f} (round by round, medians)"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
