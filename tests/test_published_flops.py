"""FLOPs equal published ones at their printed digits, by the convention of each source."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def published() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_published_flops", DOCS / "make_published_flops.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_current(published: ModuleType) -> None:
    """`python docs/make_published_flops.py` writes the tables."""
    text = published.PAGE.read_text(encoding="utf-8")
    assert text == published.page()
    assert all(f"<!-- table: {name} -->" in text for name in published.TABLES)


def test_clip_equals_open_clip(published: ModuleType) -> None:
    assert [compared for _, compared in published.clip_rows() if not compared.is_equal] == []


def test_images_equal_timm_and_swin_with_their_norms(published: ModuleType) -> None:
    found = [compared for *_, sources in published.image_rows() for compared in sources.values()]
    assert len(found) >= 10 and [one for one in found if not one.is_equal] == []


def test_detr_is_between_two_formats(published: ModuleType) -> None:
    (_, _, narrow), (_, _, wide), _ = published.detr_rows()
    assert narrow < float(published.PUBLISHED["detr"]["published"]) * 1e9 < wide


def test_layers_of_llava_equal_the_formula_of_token_pruning(published: ModuleType) -> None:
    for row, compared in published.llava_rows():
        assert compared.is_equal and compared.found == published.formula(row["tokens"]) / 1e12


def test_a_figure_with_other_digits_is_not_equal(published: ModuleType) -> None:
    assert published.Compared("", "17.58", 17.583).is_equal
    assert not published.Compared("", "17.58", 17.564).is_equal
