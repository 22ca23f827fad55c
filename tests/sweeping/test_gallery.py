"""Pictures of sweeps: labels, ticks, lines, few points of a large grid, and the commands of the gallery."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import archspec
from archspec.cli.main import main
from archspec.errors import SweepError
from archspec.sweeping.axes import axis
from archspec.sweeping.engine import Engine
from archspec.sweeping.pictures.panels import formatter, levels_of
from archspec.sweeping.pictures.points import thin_axis

DOCS, LLAMA, MIXTRAL = Path(__file__).parents[2] / "docs", "LlamaForCausalLM", "MixtralForCausalLM"
GALLERY = (DOCS / "gallery.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (archspec sweep .*)$", GALLERY, re.MULTILINE)
WIDTHS, EXPERTS = "hidden_size=1024:4096:256", "num_local_experts=4:16"
TOP = "num_experts_per_tok=1:4"
FIELDS = ["hidden_size", "num_hidden_layers"]
PLOTS: dict[str, tuple[list[str], list[str], str, list[str]]] = {  # fields, columns, kind, texts
    "two fields": ([WIDTHS, "num_hidden_layers=8:48:4"], ["params"], "auto", ["B<", *FIELDS]),
    "one field": ([EXPERTS], ["bytes", "active_params"], "lines", [" GB<", "num_local_experts"]),
    "equal size": ([WIDTHS, TOP, EXPERTS], ["params"], "contour", ["B<", "hidden_size", "num_local_experts"]),
    "pareto": ([WIDTHS, TOP, EXPERTS], ["params", "active_params"], "pareto", ["B<", "Pareto front"]),
}


@pytest.mark.parametrize("name", PLOTS)
def test_pictures_have_labels_and_units_and_are_reproducible(name: str, tmp_path: Path) -> None:
    fields, columns, kind, expected = PLOTS[name]
    tie = {"num_attention_heads": "hidden_size // 128"}
    grid = archspec.sweep(MIXTRAL, fields, columns=columns, tie=tie)
    written = {}
    for ending in ("png", "svg", "pdf", "html"):
        path = tmp_path / f"picture.{ending}"
        grid.plot(str(path), kind)
        written[ending] = path.read_bytes()
        if ending in ("svg", "pdf"):
            grid.plot(str(path), kind, overwrite=True)
            assert path.read_bytes() == written[ending]
    assert written["png"].startswith(b"\x89PNG") and written["pdf"].startswith(b"%PDF")
    for text in (written["svg"].decode(), page := written["html"].decode()):
        assert all(word in text for word in [MIXTRAL, columns[0], *expected])
    assert "<script" not in page and "src=" not in page and page.count("<svg") == 1


def test_a_picture_of_a_large_grid_evaluates_few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    batch = Engine.batch
    monkeypatch.setattr(Engine, "batch", lambda self, box: (seen.append(box.size), batch(self, box))[1])
    fields = ["hidden_size=32:320000:32", "num_hidden_layers=1:1000", "vocab_size=1:100000"]
    grid = archspec.sweep(LLAMA, fields)
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
    assert drawn.read_bytes()[16:24] == kept.read_bytes()[16:24]  # width and height


def test_the_gallery_shows_its_pictures(gallery: ModuleType) -> None:
    drawn = [Path(arguments[-1]).name for arguments in gallery.commands(GALLERY)]
    drawn += [name for _, name in gallery.formulas(GALLERY)]
    shown = re.findall(r"!\[[^]]+\]\(gallery/([^)]+)\)", GALLERY)
    assert drawn == shown and sorted(shown) == sorted(file.name for file in (DOCS / "gallery").iterdir())
    assert all(file.stat().st_size < 300_000 for file in (DOCS / "gallery").iterdir())


@pytest.mark.parametrize(("first", "last"), [(1, 8192), (64, 8192), (2, 96), (5, 1003), (0, 100_000)])
@pytest.mark.parametrize("most", [5, 200])
def test_values_for_a_picture_are_evenly_spaced(first: int, last: int, most: int) -> None:
    for step in (1, 3, 64):
        whole = axis("d", range(first, last + 1, step))
        values = thin_axis(whole, most).values
        count, span = len(whole.values), whole.values[-1] - first
        assert len(values) <= most and set(values) <= set(whole.values)
        assert values[0] == first and values[-1] == whole.values[-1]
        assert count <= most or len(values) > most / 2
        gaps = np.diff(values)
        assert len(gaps) == 0 or max(gaps) <= 3 * span / min(most, count) + step


def test_a_fine_grid_meets_points_that_can_be_built() -> None:
    grid = archspec.sweep(LLAMA, ["hidden_size=1:8192", "num_hidden_layers=2:96"])
    assert sum(value % 64 == 0 for value in thin_axis(grid.subject.axes[0], 200).values) > 90
    for figure in (grid.plot(), grid.plot(kind="contour")):
        assert all(len(line.get_xdata()) > 50 for line in figure.axes[0].get_lines())


@pytest.mark.parametrize("kind", ["lines", "contour", "pareto"])
@pytest.mark.parametrize("options", [{"where": "params < 0"}, {"tie": {"num_attention_heads": "3"}}])
def test_a_picture_without_a_point_is_refused(kind: str, options: dict[str, Any]) -> None:
    fields = ["hidden_size=64:128:64", "num_hidden_layers=2:4"]
    grid = archspec.sweep(LLAMA, fields, columns=["params", "buffers"], **options)
    with pytest.raises(SweepError, match="too few configs are valid for a plot"):
        grid.plot(kind=kind)


def test_other_pictures_are_refused() -> None:
    one, other = (
        archspec.sweep("BertModel", "num_hidden_layers=2:9"),
        archspec.sweep("GPT2Model", "n_layer=2"),
    )
    cases: list[tuple[dict[str, Any], str]] = [
        ({"overlay": [other]}, "GPT2Model is swept over other fields"),
        ({"log": "z"}, "log must be x, y or xy, not 'z'"),
        ({"kind": "contour"}, "needs two swept numeric fields"),
        ({"kind": "pie"}, "unknown kind of plot 'pie'"),
    ]
    for options, message in cases:
        with pytest.raises(SweepError, match=message):
            one.plot(**options)
    with pytest.raises(SweepError, match="hidden_act is not numeric"):
        archspec.sweep("BertModel", "num_hidden_layers=2:9", columns="hidden_act").plot()


def test_contours_are_round_levels_between_the_values() -> None:
    assert levels_of(np.geomspace(1.5e8, 9e10, 500)) == [2e8, 5e8, 1e9, 2e9, 5e9, 1e10, 2e10, 5e10]
    assert levels_of(np.linspace(0.011, 0.9, 500)) == pytest.approx([0.02, 0.05, 0.1, 0.2, 0.5])
    levels = levels_of(np.linspace(5.4e9, 9.6e9, 500))
    assert len(levels) >= 4 and all(5.5e9 <= level <= 9.5e9 for level in levels)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("params", {0: "0", 500: "500", 1000: "1K", 7.5e9: "7.5B", 0.05: "0.05", 3e6: "3M", 1.2e12: "1.2T"}),
        ("params", {5e15: "5000T"}),
        ("bytes", {0: "0 B", 16e9: "16 GB"}),
        ("flops", {3e12: "3 TFLOP"}),
    ],
)
def test_ticks_have_prefixes_and_units(column: str, values: dict[float, str]) -> None:
    assert {value: formatter(column)(value, 0) for value in values} == values


def texts(side: Any) -> list[str]:
    """The visible ticks of an axis."""
    low, high = sorted(side.get_view_interval())
    return [side.get_major_formatter()(at, 0) for at in side.get_major_locator()() if low <= at <= high]


def test_logarithmic_axes_have_round_ticks() -> None:
    grid = archspec.sweep(LLAMA, ["hidden_size=512:8192:32", "num_hidden_layers=10:50"])
    wide, deep = grid.plot(kind="lines", log="xy").axes
    assert wide.get_xscale() == wide.get_yscale() == "log"
    assert texts(wide.xaxis) == ["512", "1,024", "2,048", "4,096", "8,192"]
    assert texts(deep.xaxis) == ["16", "32"] and {"1B", "2B", "5B", "10B"} <= {*texts(wide.yaxis)}
    assert np.median(wide.get_lines()[0].get_xdata()) < 3000  # evenly spaced on a logarithmic axis
    only = grid.plot(kind="lines", log="y").axes[0]
    assert (only.get_xscale(), only.get_yscale()) == ("linear", "log")


def test_a_logarithmic_axis_leaves_out_zero() -> None:
    grid = archspec.sweep(LLAMA, ["num_hidden_layers=0:8", "vocab_size=1000:9000:1000"])
    for line in grid.plot(kind="lines", log="x").axes[0].get_lines():
        assert list(line.get_xdata()) == [*range(1, 9)]


def test_columns_of_one_unit_share_a_panel() -> None:
    columns = ["params", "active_params", "bytes", "flops"]
    figure = archspec.sweep(MIXTRAL, [EXPERTS], columns=columns).plot()
    assert [place.get_ylabel() for place in figure.axes] == ["parameters", "bytes", "flops"]
    assert [len(place.get_lines()) for place in figure.axes] == [2, 1, 1]
    for place in figure.axes:  # the FLOPs are the same everywhere
        low, high = place.get_ylim()
        assert low == 0 and all(max(line.get_ydata()) < 0.99 * high for line in place.get_lines())
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == columns[:2]


@pytest.mark.parametrize("kind", ["auto", "pareto"])
def test_models_share_a_picture(kind: str, folder: Path, cli: Any) -> None:
    fields, columns = ["num_hidden_layers=2:24", "hidden_size=768:1536:768"], "params,active_params"
    line = f"sweep GPT2LMHeadModel --overlay {MIXTRAL} --set {fields[0]} --set {fields[1]}"
    cli(f"{line} --columns {columns} --kind {kind} --plot models.pdf")
    assert (folder / "models.pdf").read_bytes().startswith(b"%PDF")
    grids = [archspec.sweep(name, fields, columns=columns) for name in ("GPT2LMHeadModel", MIXTRAL)]
    figure = grids[0].plot(kind=kind, overlay=grids[1:])
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(named) == 4 and len({name.replace(":", ",").partition(",")[0] for name in named}) == 2
    if kind == "auto":
        known = {"hidden_size": 768, "num_hidden_layers": 2}
        line_of_params = figure.axes[0].get_lines()[2]
        assert line_of_params.get_ydata()[0] == archspec.load(MIXTRAL, set=known).params


def test_configs_of_one_class_are_named_by_their_files() -> None:
    names = ("EleutherAI--pythia-1b", "EleutherAI--pythia-12b")
    paths = [str(DOCS.parent / "configs" / f"{name}.json") for name in names]
    first, second = (archspec.sweep(path, "num_hidden_layers=2:9") for path in paths)
    figure = first.plot(overlay=[second, second])
    assert figure.get_suptitle() == "GPTNeoXForCausalLM: params"
    shown = [f"GPTNeoXForCausalLM of {name}" for name in (*names, f"{names[1]} 3")]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == shown


def test_no_panel_is_empty() -> None:
    """No number of heads divides the middle width: its neighbor is drawn. The last panel fills its row."""
    fields = {"hidden_size": [512, 771, 1024], "num_attention_heads": "4:32", "num_hidden_layers": "2:8"}
    grid = archspec.sweep("BertModel", fields)
    figure = grid.plot()
    assert len(figure.axes) == 4
    for place in figure.axes[:3]:
        assert place.get_lines() and all(len(line.get_xdata()) for line in place.get_lines())
    figure = grid.plot(kind="lines")
    assert len(figure.axes) == 3 and figure.axes[2].get_subplotspec().colspan == range(2)
