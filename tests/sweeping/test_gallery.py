"""Pictures of sweeps: labelled, the same every time, few points of however large a grid; the gallery's
commands draw them.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import SweepError
from archspec.sweeping.axes import axis
from archspec.sweeping.engine import Engine
from archspec.sweeping.pictures.panels import formatter, levels_of, thin

DOCS = Path(__file__).parents[2] / "docs"
GALLERY = (DOCS / "gallery.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (archspec .*)$", GALLERY, re.MULTILINE)


PLOTS = {
    "two fields": (["hidden_size=1024:4096:256", "num_hidden_layers=8:48:4"], ["params"], "auto"),
    "one field": (["num_local_experts=4:16"], ["bytes", "active_params"], "lines"),
    "equal size": (
        ["hidden_size=1024:4096:256", "num_experts_per_tok=1:4", "num_local_experts=4:16"],
        ["params"],
        "contour",
    ),
    "pareto": (
        ["hidden_size=1024:4096:256", "num_experts_per_tok=1:4", "num_local_experts=4:16"],
        ["params", "active_params"],
        "pareto",
    ),
}


@pytest.mark.parametrize("name", PLOTS)
def test_pictures_have_labels_units_and_prefixes(name: str, tmp_path: Path) -> None:
    fields, columns, kind = PLOTS[name]
    grid = archspec.sweep(
        "MixtralForCausalLM", fields, columns=columns, tie={"num_attention_heads": "hidden_size // 128"}
    )
    for ending in ("png", "svg", "html"):
        grid.plot(str(tmp_path / f"picture.{ending}"), kind)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    page = (tmp_path / "picture.html").read_text(encoding="utf-8")
    for text in ("MixtralForCausalLM", columns[0]):
        assert text in svg and text in page
    ticks = [" GB<" if columns[0] == "bytes" else "G<"]
    labels = (
        ["params (elements)"]
        if kind == "pareto"
        else [field.partition("=")[0] for field in fields if "per_tok" not in field]
    )
    for text in [*ticks, *labels]:
        assert text in svg
    assert "<script" not in page and "src=" not in page and page.count("<svg") == 1
    first = svg
    grid.plot(str(tmp_path / "picture.svg"), kind)
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8") == first, "pictures are the same every time"


def test_a_picture_of_a_large_grid_looks_at_few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    plain_batch = Engine.batch
    monkeypatch.setattr(Engine, "batch", lambda self, box: (seen.append(box.size), plain_batch(self, box))[1])
    grid = archspec.sweep(
        "LlamaForCausalLM", ["hidden_size=32:320000:32", "num_hidden_layers=1:1000", "vocab_size=1:100000"]
    )
    grid.plot()
    assert grid.points == 10**12 and 0 < sum(seen) < 100_000


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_gallery", DOCS / "make_gallery.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("command", COMMANDS, ids=[command.rpartition("/")[2] for command in COMMANDS])
def test_the_gallery_is_drawn_by_its_commands(command: str, gallery: ModuleType, tmp_path: Path) -> None:
    ((*arguments, picture),) = gallery.commands(f"$ {command}")
    drawn, kept = tmp_path / "picture.png", DOCS.parent / picture
    assert main([*arguments, str(drawn)]) == 0
    assert drawn.read_bytes()[16:24] == kept.read_bytes()[16:24], (
        "the kept picture has another size"
    )  # width and height


def test_the_gallery_shows_its_pictures(gallery: ModuleType) -> None:
    drawn = [Path(arguments[-1]).name for arguments in gallery.commands(GALLERY)]
    shown = re.findall(r"!\[[^]]+\]\(gallery/([^)]+)\)", GALLERY)
    assert drawn == shown and sorted(shown) == sorted(file.name for file in (DOCS / "gallery").iterdir())
    assert all(file.stat().st_size < 300_000 for file in (DOCS / "gallery").iterdir())


@pytest.mark.parametrize(("first", "last"), [(1, 8192), (64, 8192), (2, 96), (5, 1003), (0, 100_000)])
@pytest.mark.parametrize("most", [5, 200])
def test_values_for_a_picture_are_round_and_even(first: int, last: int, most: int) -> None:
    for step in (1, 3, 64):
        whole = axis("d", range(first, last + 1, step))
        values = thin(whole, most).values
        assert len(values) <= most and set(values) <= set(whole.values) and values[0] == first
        assert values[-1] == whole.values[-1] and (len(whole.values) <= most or len(values) > most / 2)
        gaps = np.diff(values)
        assert (
            len(gaps) == 0
            or max(gaps) <= 3 * (whole.values[-1] - first) / min(most, len(whole.values)) + step
        )


def test_a_fine_grid_meets_points_that_can_be_built() -> None:
    grid = archspec.sweep("LlamaForCausalLM", ["hidden_size=1:8192", "num_hidden_layers=2:96"])
    seen = [value for value in thin(grid.subject.axes[0], 200).values if value % 64 == 0]
    assert len(seen) > 90
    for figure in (grid.plot(), grid.plot(kind="contour")):
        assert all(len(line.get_xdata()) > 50 for line in figure.axes[0].get_lines())


@pytest.mark.parametrize("kind", ["lines", "contour", "pareto"])
@pytest.mark.parametrize("options", [{"where": "params < 0"}, {"tie": {"num_attention_heads": "3"}}])
def test_nothing_to_draw_is_said(kind: str, options: dict[str, object]) -> None:
    grid = archspec.sweep(
        "LlamaForCausalLM",
        ["hidden_size=64:128:64", "num_hidden_layers=2:4"],
        columns=["params", "buffers"],
        **options,
    )
    with pytest.raises(SweepError, match="no point to draw"):
        grid.plot(kind=kind)


def test_lines_are_levels_between_the_values() -> None:
    values = np.geomspace(1.5e8, 9e10, 500)
    assert levels_of(values) == [2e8, 5e8, 1e9, 2e9, 5e9, 1e10, 2e10, 5e10]
    shares = np.linspace(0.011, 0.9, 500)
    assert levels_of(shares) == [0.02, 0.05, 0.1, 0.2, 0.5]
    assert all(5.5e9 <= level <= 9.5e9 for level in levels_of(np.linspace(5.4e9, 9.6e9, 500)))
    assert len(levels_of(np.linspace(5.4e9, 9.6e9, 500))) >= 4


def test_ticks_have_prefixes_and_units() -> None:
    shown = [formatter("params")(value, 0) for value in (0, 500, 1_000, 7_500_000_000, 0.05)]
    assert shown == ["0", "500", "1k", "7.5G", "0.05"]
    assert [formatter("bytes")(value, 0) for value in (0, 16e9)] == ["0 B", "16 GB"]
