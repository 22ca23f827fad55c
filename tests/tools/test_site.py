"""The documentation's site: what a page of an architecture says, and that no page of docs/ is left out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import archspec
from tools.site.__main__ import settings
from tools.site.architectures import Checkpoint, main_head, page
from tools.site.pages import SECTIONS, navigation, stage

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

TOOLS = Path(__file__).parents[2] / "tools/site"
DOCS = Path(__file__).parents[2] / "docs"


def test_a_page_says_what_it_is_its_form_its_parts_and_its_checkpoints() -> None:
    names = archspec.catalogue("llama").model_types["llama"]
    text = page("llama", names, [Checkpoint("meta/one", "LlamaForCausalLM", 7)])
    formula = archspec.formula("LlamaForCausalLM")
    assert "Llama: pre-norm decoder, SwiGLU, rotary positions, grouped-query attention." in text
    assert "[arXiv:2302.13971](https://arxiv.org/abs/2302.13971)" in text
    assert "src/transformers/models/llama/modeling_llama.py)" in text
    assert "### LlamaModel" in text and archspec.formula("LlamaModel").mathml() in text
    assert formula.mathml() in text and f"**{formula.evaluate():,}** parameters" in text
    for part in formula.by("component"):
        assert f"<td>{part.label}</td><td class='number'>{part.value:,}</td>" in text
        assert f"<td>{part.mathml()}</td></tr>" in text
    assert "<code>num_hidden_layers</code> = 32" in text and "`head_dim > 0`" in text
    assert "| meta/one | `LlamaForCausalLM` | 7 |" in text


def test_a_page_leads_to_the_page_in_the_browser_where_there_is_one() -> None:
    link = "[`BertModel`](../app/index.html#source=%7B%22name%22%3A%20%22BertModel%22%7D)"
    assert f"Classes, to open in the browser: {link}\n" in page("bert", ["BertModel"], browser=True)
    assert "Classes: `BertModel`\n" in page("bert", ["BertModel"])


def test_a_page_says_why_a_config_has_no_number() -> None:
    names = archspec.catalogue("time_series_transformer").model_types["time_series_transformer"]
    text = page("time_series_transformer", names)
    assert "The default config is refused: config: `context_length` is null." in text
    formula = archspec.formula(
        "TimeSeriesTransformerModel", set={"prediction_length": 24, "context_length": 48}
    )
    assert "With `prediction_length = 24`, `context_length = 48` it has **128,512** parameters." in text
    assert formula.mathml() in text
    left = page("qwen4_exp_text", ["Qwen4ExpTextModel"])
    assert "config: `indexer_n_heads` is null." in left and "it has" not in left and "<math" not in left


def test_fields_that_a_default_config_lacks_make_it_one() -> None:
    described = archspec.catalogue().model_types
    for model_type, fields in json.loads((TOOLS / "fields.json").read_text(encoding="utf-8")).items():
        names = described[model_type]
        for name in {names[0], main_head(names) or names[0]}:
            assert archspec.load({"model_type": model_type}, name, fields).params
        with pytest.raises(archspec.ArchspecError):
            assert archspec.load({"model_type": model_type}, main_head(names) or names[0]).params


def test_every_page_of_docs_is_in_the_navigation_once() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    assert len(listed) == len(set(listed))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    records = {page for page in pages if page.startswith("decisions/2")}  # their index links to them
    assert pages - records == set(listed) - {"index.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}
    assert tomllib.loads(settings())["project"]["nav"] == navigation()


def test_links_of_staged_pages_lead_to_staged_files(tmp_path: Path) -> None:
    stage(tmp_path / "docs")
    for path in (tmp_path / "docs").rglob("*.md"):
        text = re.sub(r"```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if not target.startswith("http"):
                assert (path.parent / target).is_file(), (path.name, target)


def test_the_page_in_the_browser_is_a_part_of_the_site_where_it_was_built(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "index.html").write_text("<head></head>the page", encoding="utf-8")
    stage(tmp_path / "docs", tmp_path / "dist")
    [linked] = [
        entry["In the browser"] for entry in navigation(tmp_path / "dist") if "In the browser" in entry
    ]
    text = (tmp_path / "docs" / str(linked)).read_text(encoding="utf-8")
    [back] = re.findall('<head><link rel="help" href="(.+)"></head>the page', text)
    assert (tmp_path / "docs" / str(linked)).parent / back == tmp_path / "docs" / "app" / "../index.html"
    assert not any("In the browser" in entry for entry in navigation(tmp_path / "elsewhere"))
