"""`archspec list`: what is described."""

from __future__ import annotations

import json

import pytest

from archspec.cli.main import main


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    assert lines["bert"][0] == "BertModel"
    assert lines["roberta"][0] == "RobertaModel"
    assert "BertForMaskedLM" in lines["bert"]
    assert main(["list", "distilbert", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["model_types"]
    assert (found["model_type"], found["architectures"][0]) == ("distilbert", "DistilBertModel")
    assert main(["list", "gpt3"]) == 2
