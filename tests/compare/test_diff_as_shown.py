"""`archspec.diff`: the report, its JSON and its costs, from Python and from the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Command

import archspec
from archspec.errors import ArchspecError

CASES: list[tuple[str, dict[str, Any]]] = [
    ("BertModel BertForMaskedLM", {}),
    ("BertModel BertForMaskedLM --depth 1", {"depth": 1}),
    ("BertModel BertForMaskedLM --config bert", {"config": "bert"}),
    ("bert bert --architecture BertForMaskedLM", {"architecture": "BertForMaskedLM"}),
    (
        "LlamaModel LlamaModel --set hidden_size=2048 --set-b num_key_value_heads=8",
        {"set": {"hidden_size": 2048}, "set_b": {"num_key_value_heads": 8}},
    ),
    (
        "T5Model T5Model --set-a num_layers=2 --tokens 8 --batch 3 --encoder-tokens 16",
        {"set_a": {"num_layers": 2}, "tokens": 8, "batch": 3, "encoder_tokens": 16},
    ),
    ("GPT2Model GPT2LMHeadModel --tokens 1 --past 9", {"tokens": 1, "past": 9}),
]


@pytest.mark.parametrize(("line", "options"), CASES)
def test_text_and_data_are_those_of_the_command(line: str, options: dict[str, Any], cli: Command) -> None:
    found = archspec.diff(*line.split()[:2], **options)
    assert isinstance(found, archspec.Diff)
    code = int(bool(found.changes))
    assert cli(f"diff {line}", code=code).out == f"{found}\n"
    assert cli(f"diff {line} --json", code=code).json == json.loads(json.dumps(found.as_json()))


def test_numbers_and_formula() -> None:
    found = archspec.diff("LlamaModel", "LlamaModel", set_b={"num_key_value_heads": 8})
    assert found.difference == sum(row["params"] for row in found.rows()) < 0
    values = found.forms.values
    assert found.formula.subs(values) == found.difference
    assert {"A.num_key_value_heads", "B.num_key_value_heads"} <= {*values}


def test_html_has_every_row_and_is_escaped() -> None:
    found = archspec.diff("BertModel", "BertForMaskedLM")
    html = found._repr_html_()
    assert html.count("<tr>") == html.count("</tr>") == 2 + 1 + len(found.changes) + 1
    for text in ("-590,592", "B - A = 2*hidden_size + vocab_size", "encoder of A"):
        assert (text in html) == (text in str(found))
    found.changes = (found.changes[0]._replace(module="<script>"), *found.changes[1:])
    assert "&lt;script&gt;" in found._repr_html_() and "<script>" not in found._repr_html_()


def test_loaded_models() -> None:
    a, b = archspec.load("BertModel"), archspec.load("BertModel", set={"num_hidden_layers": 6})
    by_name = archspec.diff("bert", "bert", set_b={"num_hidden_layers": 6})
    assert archspec.diff(a, b).as_json() == by_name.as_json()
    assert not archspec.diff(a, a).changes and "no difference" in str(archspec.diff(a, a))
    for options in ({"config": "bert"}, {"architecture": "BertModel"}, {"set": {"num_hidden_layers": 1}}):
        with pytest.raises(ArchspecError, match="BertModel is already loaded"):
            archspec.diff(a, b, **options)


def test_costs_of_the_call_of_both_models() -> None:
    a, b = archspec.load("BertModel"), archspec.load("BertModel", set={"num_hidden_layers": 6})
    flops, cache = archspec.diff(a, b, tokens=100, batch=2).costs
    assert flops == ("flops", a.forward(2, 100).flops, b.forward(2, 100).flops)
    assert cache == ("cache_elements", 0, 0)
    found = archspec.diff("LlamaModel", "LlamaModel", set_b={"num_key_value_heads": 8}, tokens=2048)
    assert found.costs[1] == ("cache_elements", 2048 * 262_144, 2048 * 65_536)


@pytest.mark.parametrize(
    ("b", "options", "message"),
    [
        ("BertModel", {"past": 4}, "past has no effect without tokens"),
        ("Wav2Vec2Model", {"tokens": 4}, "B: tokens has no effect: Wav2Vec2Model takes audios only"),
        ("BertModel", {"config": "bert", "architecture": "BertModel"}, "config cannot be combined with arch"),
        ("BertModel", {"depth": -1}, "depth must be an integer of at least 0, not -1"),
    ],
)
def test_invalid_arguments_are_refused(b: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArchspecError, match=message):
        archspec.diff("BertModel", b, **options)


def test_past_without_tokens_on_the_command_line(cli: Command) -> None:
    assert "--past has no effect without --tokens" in cli("diff GPT2Model GPT2Model --past 4", code=2).err


def test_as_markdown(cli: Command) -> None:
    lines = cli("diff BertModel BertForMaskedLM --format markdown", code=1).out.splitlines()
    assert "| removed | pooler.dense | -590,592 | weight (768, 768), bias (768,) |" in "\n".join(lines)
    assert "B - A = vocab\\_size + 2\\*hidden\\_size" in lines
