"""`archspec verify` on a command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from archspec.cli import verify
from archspec.cli.main import main
from archspec.costs.records import Call
from archspec.specs.exported import ModelType, exported_types
from archspec.verifying.costs import formulas, record
from archspec.verifying.costs.instruments import Comparison, CostDifference
from archspec.verifying.costs.verify import CostOutcome

pytestmark = pytest.mark.reference


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "MistralModel", "--samples", "2", "--seed", "7", "--json"]) == 0
    printed = capsys.readouterr()
    assert "1 exact, 0 wrong: 3 configs compared" in printed.err
    found = json.loads(printed.out)
    assert (found["samples"], found["seed"]) == (2, 7)
    assert found["totals"] == {"exact": 1, "wrong": 0, "unavailable": 0}
    assert found["versions"]["transformers"] == "5.24.0"
    [outcome] = found["architectures"]
    assert outcome["architecture"] == "MistralModel" and outcome["verdict"] == "exact"
    assert outcome["compared"] == 3 and outcome["differences"] == []


def test_a_difference_is_told_by_its_line_and_ends_in_1(checkout: Path, capsys: Any) -> None:
    assert main(["verify", "BertModel", "GPT2Model", "--samples", "1", "--jobs", "1"]) == 1
    out = capsys.readouterr().out
    start = next(text for text in out.splitlines() if "shape" in text)
    lines = (checkout / "shared" / "encoder.yaml").read_text().splitlines()
    [number] = [n for n, text in enumerate(lines, 1) if "query: Linear(hidden_size, 7)" in text]
    assert f"encoder.yaml:{number}: shape" in start
    assert "encoder.layer.0.attention.self.query.weight: transformers: (768, 768); the spec: (7, 768)" in out
    assert "1 exact, 1 wrong" in out


def test_all_goes_on_past_a_spec_that_is_not_well_formed(checkout: Path, capsys: Any) -> None:
    (checkout / "bert.yaml").unlink()
    assert main(["verify", "--all", "--samples", "0", "--jobs", "1"]) == 1
    out = capsys.readouterr().out
    assert "llama.yaml:2" in out or "llama.yaml:3" in out
    assert "6 exact, 1 wrong" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["verify"], "nothing to verify"),
        (["verify", "BertModell"], "did you mean BertModel"),
        (["verify", "nosuch"], "run archspec list"),
        (["verify", "bert", "--all"], "too many ways to choose"),
        (["verify", "bert", "--samples", "-1"], "--samples must be an integer of at least 0, not -1"),
        (["verify", "layoutlmv2"], "layoutlmv2 is not supported"),
        (["verify", "t5gemma2_decoder"], "t5gemma2_decoder is only a part of other models"),
        (["verify", "--costs", "MistralModel", "--json"], "--json cannot be combined with --costs"),
    ],
)
def test_bad_input_ends_in_2(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert says in capsys.readouterr().err


def test_training_steps_are_reported_with_calls(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    difference = CostDifference({}, Call(2, 5), "training flops", "pooler.dense", 3, 9)
    outcome = CostOutcome("BertModel", "bert", Comparison(8), Comparison(2, (difference,)))
    monkeypatch.setattr(record, "run", lambda *given: given[-1](outcome))
    assert main(["verify", "--costs", "BertModel"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "BertModel (bert): training flops of pooler.dense: transformers: 3; the spec: 9"
    assert "1 exact, 0 wrong, 0 not measured, 8 points: FLOPs by module and the cache" in lines
    assert "0 exact, 1 wrong, 0 not measured, 2 points: training FLOPs by module" in lines


def test_closed_forms_are_counted_by_how_they_agree(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["verify", "--costs", "--formulas", "BertModel"]
    monkeypatch.setattr(formulas, "compare_formulas", lambda *_: "polynomials")
    assert main(command) == 0
    assert capsys.readouterr().out == "1 polynomials, 0 points, 0 not over symbols and 0 wrong\n"
    monkeypatch.setattr(formulas, "compare_formulas", lambda *_: "the spec gives 1, torch 2")
    assert main(command) == 1
    assert "BertModel (bert): the spec gives 1, torch 2" in capsys.readouterr().out


def test_nothing_is_new_with_the_release_of_the_specs() -> None:
    found = verify.changes()
    assert (found.new, found.gone) == ([], [])
    assert "BertModel" in found.both["bert"]
    assert "Llama4ForCausalLM" in found.both["llama4_text"]


def test_a_class_of_one_release_alone_is_new_or_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    older = {name: found for name, found in exported_types().items() if name != "mobilenet_v1"}
    older["bygone"] = ModelType({"BygoneModel": exported_types()["bert"].classes["BertModel"]}, {}, ())
    monkeypatch.setattr(verify, "exported_types", lambda: older)
    found = verify.changes()
    assert found.gone == [("bygone", "BygoneModel")]
    assert {model_type for model_type, _ in found.new} == {"mobilenet_v1"}
    drafts = verify.draft_classes(found.new, str(tmp_path))
    assert drafts == {"mobilenet_v1": f"draft: {tmp_path / 'mobilenet_v1.yaml'}"}
    assert "MobileNetV1Model:" in (tmp_path / "mobilenet_v1.yaml").read_text()
