"""The reports of verify and derive as text, HTML and plain data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import archspec
from archspec.authoring.derive import Derived
from archspec.authoring.verify import Verification
from archspec.cli.main import main
from archspec.deriving import Draft
from archspec.verifying.blame import Difference
from archspec.verifying.campaign import Report, Result
from archspec.verifying.verifier import Outcome

WRONG = Difference("NetModel", {"d": 8}, "shape", "a.weight", "(8, 8)", "(8, 7)", ("own/net.yaml:9:5",))


def verification(own: tuple[str, ...] = ()) -> Verification:
    outcome = Outcome("NetModel", "net", 3, 0, (WRONG,))
    return Verification(Report((Result(outcome, 1.5),), 2, 7, 4.0, {"transformers": "5", "torch": "2"}), own)


def test_a_difference_is_laid_on_its_line() -> None:
    found = verification()
    lines = str(found).splitlines()
    assert lines[0] == "own/net.yaml:9: shape: shapes differ (NetModel)"
    assert lines[1:3] == ["    a.weight: transformers: (8, 8); the spec: (8, 7)", '    for {"d": 8}']
    assert lines[3] == "0 exact, 1 wrong: 3 configs compared, tensor by tensor"
    assert (found.count("wrong"), found.results[0].seconds) == (1, 1.5)
    assert "your code: (8, 8); the spec" in str(verification(own=("NetModel",)))
    assert "shapes differ" in found._repr_html_()


def test_a_draft_keeps_its_lines_in_a_notebook() -> None:
    draft = Draft("net", "model_type: net\nmodules:\n  Net:\n    a: Linear(8, 8)\n", ["Net"], {}, {})
    found = Derived([draft], [])
    assert str(found) == draft.text.rstrip("\n") and not found.has_differences
    assert found._repr_html_() == f"<div><pre>{found}</pre></div>"


def test_its_plain_data() -> None:
    found = verification().as_json()
    assert found["versions"] == {"transformers": "5", "torch": "2"} and found["totals"]["wrong"] == 1
    assert found["architectures"][0]["differences"][0]["places"] == ["own/net.yaml:9:5"]


def test_what_to_verify_has_to_be_said() -> None:
    with pytest.raises(archspec.ArchspecError, match="pass one of"):
        archspec.verify()
    with pytest.raises(archspec.ArchspecError, match="pass one of"):
        archspec.verify("BertModel", all=True)


@pytest.mark.reference
def test_python_verifies_as_the_command_does(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[object, ...]] = []
    found = archspec.verify("BertModel", samples=1, seed=3, progress=lambda *given: seen.append(given))
    assert main(["verify", "BertModel", "--samples", "1", "--seed", "3", "--json"]) == 0
    there, here = json.loads(capsys.readouterr().out), found.as_json()
    times = {"seconds": 0}
    assert [one | times for one in there["architectures"]] == [one | times for one in here["architectures"]]
    assert seen[-1][:2] == (1, 1)


@pytest.mark.reference
def test_python_derives_as_the_command_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = archspec.derive("GPT2Model", samples=1, output=str(tmp_path))
    assert main(["derive", "GPT2Model", "--samples", "1"]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{found}\n" == (tmp_path / "gpt2.yaml").read_text()
    assert printed.err.splitlines() == list(found.verdicts())
    assert not found.has_differences and archspec.load("GPT2Model", specs=tmp_path).params == 124_439_808
