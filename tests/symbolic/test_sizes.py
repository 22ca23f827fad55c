"""A closed form that is too large is refused, or holds only for the values of the config; it never hangs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from archspec.errors import ArchspecError
from archspec.models.model import Model, load

ROOT = Path(__file__).parents[2]
SUM = "(w + v + u + z + {})"
PINNED = ("(w - v + u - z + 1) ** 500", "w ** 1000000000000", "(w * v) ** 99 + u")
REFUSED = (
    f"{SUM.format(1)} ** 8",
    f"1 + {SUM.format(1)} ** 8 * {SUM.format(2)} ** 3 // ({SUM.format(3)} ** 8 + 1) % 3",
    f"1 + sum([({SUM.format(1)} ** 5 + i) // ({SUM.format(3)} ** 5 + i) for i in range(60)])",
    f"1 + max({SUM.format(1)} ** 8 // 3 ** 9, {SUM.format(2)} ** 8 // 3 ** 19) ** 40 % 7",
    "1 + prod([w + i * v + u - z for i in range(1, 30)]) // 30 ** 30",
    "1 + sum([1 for i in range(99) for j in range(99) if (u + i * j) % (z + j) < (w + i) // (v + i)])",
)


def model(folder: Path, width: str) -> Model:
    head = "model_type: toy\nconfig: {w: 1, v: 1, u: 1, z: 1}\narchitectures:\n  Toy:\n    x: "
    (folder / "toy.yaml").write_text(f"{head}Linear(1, {width})\n", encoding="utf-8")
    return load("Toy", specs=folder)


@pytest.mark.parametrize("width", PINNED)
def test_a_power_that_would_be_expanded_holds_for_one_value(width: str, tmp_path: Path) -> None:
    found = model(tmp_path, width)
    formula = found.quantity("params")
    assert formula.evaluate() == found.params
    assert any(text.startswith("w == 1") for text in formula.assumptions)
    assert len(str(formula)) < 1000


@pytest.mark.parametrize("width", REFUSED)
def test_a_long_closed_form_is_refused(width: str, tmp_path: Path) -> None:
    found = model(tmp_path, width)
    assert found.params > 0
    with pytest.raises(ArchspecError, match=r"the closed form .* more than [\d,]+ terms") as refusal:
        found.quantity("params")
    assert "archspec count" in str(refusal.value)


SWEEP = ("sweep", "GPT2Model", "--set", "n_layer=1:5")


@pytest.mark.parametrize(
    "line",
    [
        (*SWEEP, "--where", "[[[[0]*999]*999]*999]*999 == [[[[0]*999]*999]*999]*999"),
        (*SWEEP, "--columns", "[[[0]*1000]*1000]*1000"),
        (*SWEEP, "--columns", "n_layer ** 1000000000000"),
        (*SWEEP, "--tie", "n_head=len([[[0]*1000]*1000]*1000)"),
        ("formula", "GPT2Model", "--assume", "n_inner=(n_embd + n_head + n_layer + vocab_size) ** 500"),
        ("formula", "GPT2Model", "--assume", "n_inner=n_embd ** 1000000000000"),
        ("table", "GPT2Model", "--columns", "[[[0]*1000]*1000]*1000"),
    ],
    ids=" ".join,
)
def test_a_hostile_expression_is_refused_in_bounded_memory(line: tuple[str, ...]) -> None:
    limited = (
        "import re, sys; from archspec.cli.main import main; code = main(sys.argv[1:]);"
        "peak = re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read());"
        "used = int(peak[1]) // 1024; print(f'{used} MiB') if used > 200 else None; sys.exit(code)"
    )
    command = [sys.executable, "-c", limited, *line]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stdout) == (2, "")
    assert "MemoryError" not in done.stderr and "a bug" not in done.stderr
