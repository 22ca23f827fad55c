"""Sweeps against the same closed form written by hand in NumPy, against instantiation on meta, and in memory.

    python benchmarks/bench_sweep.py [--quick]

prints, all in one run on this machine: - for each grid of about 10^7 points the time of the sweep (the whole
array, and box by box), of the closed form written by hand with broadcasting, and of the same over full
coordinate arrays, the best of several turns that alternate, and their ratios; - how many configs a second a
sweep counts, how many transformers instantiates on torch's meta device, and the ratio; - the peak memory of
writing 10^6, 10^7 and 10^8 points to Parquet (--quick: 10^5 to 10^7), each in a separate process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

import archspec  # noqa: E402

TURNS = 7


def llama(d: Any, layers: Any, f: Any) -> Any:
    return 2 * 32000 * d + layers * (4 * d * d + 3 * d * f + 2 * d) + d


def bert(v: Any, d: Any, layers: Any, f: Any) -> Any:
    return (v + 514) * d + 2 * d + layers * (4 * d * d + 2 * d * f + 9 * d + f) + d * d + d


def mixtral(layers: Any, d: Any, experts: Any, f: Any) -> Any:
    return (
        2 * 32000 * d
        + layers * (d * (32 + 2 * 8 + 32) * (d // 32) + 3 * experts * d * f + experts * d + 2 * d)
        + d
    )


GRIDS: dict[str, tuple[str, dict[str, range], Callable[..., Any]]] = {
    "Llama, wide last axis": (
        "LlamaForCausalLM",
        {
            "hidden_size": range(256, 8193, 128),
            "num_hidden_layers": range(2, 97),
            "intermediate_size": range(512, 27233, 16),
        },
        llama,
    ),
    "Llama, short last axis": (
        "LlamaForCausalLM",
        {
            "intermediate_size": range(512, 27233, 16),
            "hidden_size": range(256, 8193, 128),
            "num_hidden_layers": range(2, 97),
        },
        lambda f, d, layers: llama(d, layers, f),
    ),
    "BERT, four axes": (
        "BertModel",
        {
            "vocab_size": range(10_000, 60_001, 1000),
            "hidden_size": range(120, 2401, 60),
            "num_hidden_layers": range(1, 49),
            "intermediate_size": range(100, 10_101, 100),
        },
        bert,
    ),
    "Mixtral, with a quotient": (
        "MixtralForCausalLM",
        {
            "num_hidden_layers": range(1, 65),
            "hidden_size": range(256, 8193, 256),
            "num_local_experts": range(2, 65),
            "intermediate_size": range(256, 19968, 256),
        },
        mixtral,
    ),
}


def best(jobs: dict[str, Callable[[], Any]], turns: int = TURNS) -> dict[str, float]:
    """The shortest time of each job; the jobs take turns, so that a slow moment of the machine hits all."""
    times = dict.fromkeys(jobs, float("inf"))
    for _ in range(turns):
        for name, job in jobs.items():
            start = time.perf_counter()
            kept = job()
            times[name] = min(times[name], time.perf_counter() - start)
            del kept
    return times


def speed() -> float:
    """Ratios against NumPy by hand; gives the points a second of the first grid, box by box."""
    print(
        f"{'grid':26} {'points':>11} {'sweep':>9} {'by box':>9} {'broadcast':>10} {'meshgrid':>10}"
        "   ratios to the sweep"
    )
    rate = 0.0
    for name, (architecture, fields, closed) in GRIDS.items():
        grid = archspec.sweep(architecture, fields)
        values = [np.arange(span.start, span.stop, span.step) for span in fields.values()]
        opened = np.ix_(*values)
        full = np.meshgrid(*values, indexing="ij")
        assert (grid.array() == closed(*opened)).all(), name

        def boxes(grid: archspec.Sweep = grid) -> int:
            return sum(batch.box.size for batch in grid.engine.batches())

        jobs: dict[str, Callable[[], Any]] = {
            "sweep": grid.array,
            "by box": boxes,
            "broadcast": lambda closed=closed, opened=opened: closed(*opened),
            "meshgrid": lambda closed=closed, full=full: closed(*full),
        }
        times = best(jobs)
        rate = rate or grid.points / times["by box"]
        shown = "".join(f" {1e3 * seconds:7.1f}ms" for seconds in times.values())
        broadcast, meshgrid = times["broadcast"] / times["sweep"], times["meshgrid"] / times["sweep"]
        by_box = times["broadcast"] / times["by box"]
        ratios = f"broadcast {broadcast:.1f}x, meshgrid {meshgrid:.1f}x, broadcast to boxes {by_box:.1f}x"
        print(f"{name:26} {grid.points:11,} {shown}   {ratios}")
    return rate


def instantiation(rate: float) -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    def build() -> Any:
        with torch.device("meta"):
            return LlamaForCausalLM(LlamaConfig())

    build()
    seconds = best({"build": build}, 5)["build"]
    print(f"\nconfigs a second: sweep {rate:,.0f}, transformers on meta {1 / seconds:.2f};", end=" ")
    print(f"ratio {rate * seconds:,.0f}")


def memory(sizes: list[int]) -> None:
    print("\npeak memory of a sweep written to Parquet, in a separate process")
    peaks = []
    for points in sizes:
        with tempfile.TemporaryDirectory() as folder:
            command = [
                sys.executable,
                __file__,
                "--write",
                os.path.join(folder, "rows.parquet"),
                "--points",
                str(points),
            ]
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        peaks.append(int(said[1]))
        peak, size = int(said[1]) / 2**20, int(said[3]) / 2**20
        print(f"{int(said[0]):13,} points: {peak:7.1f} MiB, {float(said[2]):7.1f} s, file {size:8.1f} MiB")
    print(f"ratio of the largest to the smallest: {max(peaks) / min(peaks):.2f}")


def written(path: str, points: int) -> None:
    width = round(points / (64 * 100))
    fields = {"hidden_size": range(256, 256 + 64 * 64, 64), "num_hidden_layers": range(1, 101)}
    fields["intermediate_size"] = range(8, 8 * width + 1, 8)
    grid = archspec.sweep("LlamaForCausalLM", fields, columns=["params", "bytes"])
    start = time.perf_counter()
    rows = grid.write(path, yes=True)
    with open(
        "/proc/self/status", encoding="ascii"
    ) as file:  # ru_maxrss would be that of the process before exec, too
        peak = 1024 * int(next(line for line in file if line.startswith("VmHWM")).split()[1])
    print(rows, peak, time.perf_counter() - start, os.path.getsize(path))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--points", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        written(args.write, args.points)
        return
    instantiation(speed())
    memory([10**5, 10**6, 10**7] if args.quick else [10**6, 10**7, 10**8])


if __name__ == "__main__":
    main()
