"""A model in a notebook."""

from __future__ import annotations

import archspec


def test_html_is_escaped_and_has_the_modules() -> None:
    model = archspec.load("BertForMaskedLM")
    html = model._repr_html_()
    assert html.count("<tr>") == html.count("</tr>") > 20
    for text in ("109,514,298", "12 × BertLayer", "85,054,464", "counting it again gives 132,955,194"):
        assert text in html
    model.architecture = "<script>alert(1)</script>"
    assert "<script>" not in model._repr_html_()
