"""`archspec verify --costs --formulas`: closed forms of a class, and one that is wrong."""

from __future__ import annotations

import pytest

from archspec.cli.main import main
from archspec.verifying.costs import formulas

pytestmark = pytest.mark.reference


def test_closed_forms_are_counted_by_how_they_agree(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["verify", "--costs", "--formulas", "BertModel"]
    monkeypatch.setattr(formulas, "compare_formulas", lambda *_: "polynomials")
    assert main(command) == 0
    assert capsys.readouterr().out == "1 polynomials, 0 points, 0 not over symbols and 0 wrong\n"
    monkeypatch.setattr(formulas, "compare_formulas", lambda *_: "the spec gives 1, torch 2")
    assert main(command) == 1
    assert "BertModel (bert): the spec gives 1, torch 2" in capsys.readouterr().out
