"""The documentation's site: the page of an architecture, and every page of docs/."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import archspec
from tools.site.__main__ import SETTINGS, TOP, stage
from tools.site.architectures import FIELDS, main_head, page

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

DOCS = Path(__file__).parents[2] / "docs"


def test_a_page_has_text_closed_forms_parts_and_checkpoints() -> None:
    names = archspec.catalog("llama").model_types["llama"]
    text = page("llama", names, [("meta/one", "`LlamaForCausalLM`", "7")])
    formula = archspec.formula("LlamaForCausalLM")
    assert "Llama: pre-norm decoder, SwiGLU, rotary positions, grouped-query attention." in text
    assert "[arXiv:2302.13971](https://arxiv.org/abs/2302.13971)" in text
    assert "src/transformers/models/llama/modeling_llama.py)" in text
    assert "### LlamaModel" in text and archspec.formula("LlamaModel").mathml() in text
    assert formula.mathml() in text and f"**{formula.evaluate():,}** parameters" in text
    for part in formula.split("component"):
        assert f"<td>{part.label}</td><td class='number'>{part.value:,}</td>" in text
        assert f"<td>{part.mathml()}</td></tr>" in text
    assert "<code>num_hidden_layers</code> = 32" in text and "`head_dim > 0`" in text
    assert "| meta/one | `LlamaForCausalLM` | 7 |" in text


def test_classes_link_to_the_page_in_the_browser() -> None:
    link = "[`BertModel`](../app/index.html#source=%7B%22name%22%3A%20%22BertModel%22%7D)"
    assert f"Classes, to open in the browser: {link}\n" in page("bert", ["BertModel"], browser=True)
    assert "Classes: `BertModel`\n" in page("bert", ["BertModel"])


def test_a_page_gives_the_reason_for_a_missing_number() -> None:
    names = archspec.catalog("time_series_transformer").model_types["time_series_transformer"]
    text = page("time_series_transformer", names)
    assert "The default config is rejected: `context_length` is null." in text
    formula = archspec.formula(
        "TimeSeriesTransformerModel", set={"prediction_length": 24, "context_length": 48}
    )
    assert "With `prediction_length = 24`, `context_length = 48` it has **128,512** parameters." in text
    assert formula.mathml() in text
    left = page("qwen4_exp_text", ["Qwen4ExpTextModel"])
    assert "`indexer_n_heads` is null." in left and "it has" not in left and "<math" not in left


def test_fields_complete_a_default_config_that_is_refused() -> None:
    supported = archspec.catalog().model_types
    for model_type, fields in FIELDS.items():
        names = supported[model_type]
        for name in {names[0], main_head(names) or names[0]}:
            assert archspec.load({"model_type": model_type}, name, fields).params
        with pytest.raises(archspec.ArchspecError):
            assert archspec.load({"model_type": model_type}, main_head(names) or names[0]).params


def listed(text: str) -> list[str]:
    """Return the pages of the navigation, which a setting lists by title."""
    entries = [page for entry in tomllib.loads(text)["project"]["nav"] for page in entry.values()]
    return [name for page in entries for name in ([page] if isinstance(page, str) else page)]


def test_every_page_of_docs_is_in_the_navigation_once() -> None:
    names = listed(SETTINGS.read_text(encoding="utf-8"))
    assert len(names) == len(set(names))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    records = {page for page in pages if page.startswith("decisions/2")}  # their index links to them
    assert pages - records == set(names) - {"index.md", "app/index.html", "architectures/index.md", *TOP}


def test_links_of_staged_pages_lead_to_staged_files(tmp_path: Path) -> None:
    stage(tmp_path, tmp_path / "missing")
    assert "app/index.html" not in listed((tmp_path / SETTINGS.name).read_text(encoding="utf-8"))
    for path in (tmp_path / "docs").rglob("*.md"):
        text = re.sub(r"```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if not target.startswith("http"):
                assert (path.parent / target).is_file(), (path.name, target)


def test_a_built_page_in_the_browser_is_a_part_of_the_site(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "index.html").write_text("<head></head>the page", encoding="utf-8")
    stage(tmp_path / "site", tmp_path / "dist")
    assert "app/index.html" in listed((tmp_path / "site" / SETTINGS.name).read_text(encoding="utf-8"))
    app = tmp_path / "site" / "docs" / "app" / "index.html"
    [back] = re.findall('<head><link rel="help" href="(.+)"></head>the page', app.read_text(encoding="utf-8"))
    assert (app.parent / back).resolve() == (tmp_path / "site" / "docs" / "index.html").resolve()
