"""Parameter counts of other tools for the configs in configs/ whose exact sizes are published.

After `pip install --no-deps torchinfo llm-flops hf-vram-calc vramcalc`, `python benchmarks/bench_peers.py`
runs each tool in one process for all configs. It also runs it in new processes for one config, and prints
their median time as a ratio to that of a bare Python.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import yaml

CONFIGS = Path(__file__).parent.parent / "configs"
META = """
import torch, transformers
def model_of(path, architecture):
    raw = json.load(open(path))
    config = transformers.CONFIG_MAPPING[raw["model_type"]].from_dict(raw)
    with torch.device("meta"):
        return getattr(transformers, architecture)(config)
"""
TOOLS = {  # the code of `count(path, architecture)`
    "archspec": """
import archspec
def count(path, architecture):
    return archspec.load(path, architecture).params
""",
    "transformers on the meta device": META
    + """
def count(path, architecture):
    return sum(one.numel() for one in model_of(path, architecture).parameters())
""",
    "torchinfo": META
    + """
import torchinfo
def count(path, architecture):
    return torchinfo.summary(model_of(path, architecture), verbose=0).total_params
""",
    "llm-flops": """
from llmflops.memory import parameter_count
from llmflops.registry import _map_hf_config
def count(path, architecture):
    return parameter_count(_map_hf_config(path, json.load(open(path)))).total
""",
    "vramcalc": """
from vramcalc.loaders import load_arch
def count(path, architecture):
    raw = json.load(open(path))
    return load_arch({**raw, "architectures": [architecture]}).param_count()
""",
    "hf-vram-calc": """
from hf_vram_calc.calculator import ParameterCalculator
from hf_vram_calc.parser import ConfigParser
def count(path, architecture):
    with contextlib.redirect_stdout(None):
        return ParameterCalculator.calculate_transformer_params(ConfigParser.parse_config(path, path))
""",
}
RUN = """
import contextlib, json, sys
{code}
found = []
for path, architecture in json.loads(sys.argv[1]):
    try:
        found.append(count(path, architecture))
    except Exception as error:
        found.append(None)
print(json.dumps(found))
"""
RUNS = 5


def counts(code: str, configs: list[tuple[str, str]]) -> list[int | None] | None:
    """Return the counts of a tool, None for each that it refuses; None if the tool is not installed."""
    command = [sys.executable, "-c", RUN.format(code=code), json.dumps(configs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    found: list[int | None] = json.loads(done.stdout.splitlines()[-1])
    return found


def seconds(command: list[str]) -> float:
    """Return the median time of a process."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=False)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    published = yaml.safe_load((CONFIGS / "published.yaml").read_text(encoding="utf-8"))["exact"]
    configs = [(str(CONFIGS / one["file"]), one["architecture"]) for one in published]
    bare = seconds([sys.executable, "-c", "pass"])
    print(f"{len(configs)} configs; a bare Python takes {bare:.3f} s")
    for name, code in TOOLS.items():
        found = counts(code, configs)
        if found is None:
            print(f"{name}: not installed")
            continue
        sizes = [one["params"] for one in published]
        exact = sum(count == size for count, size in zip(found, sizes, strict=True))
        refused = found.count(None)
        errors = [count / size - 1 for count, size in zip(found, sizes, strict=True) if count is not None]
        one = seconds([sys.executable, "-c", RUN.format(code=code), json.dumps(configs[:1])])
        print(
            f"{name}: {exact} exact, {refused} refused, {len(found) - exact - refused} wrong "
            f"({min(errors, default=0):+.1%} to {max(errors, default=0):+.1%}); "
            f"one config {one:.2f} s, {one / bare:.1f} times a bare Python"
        )


if __name__ == "__main__":
    main()
