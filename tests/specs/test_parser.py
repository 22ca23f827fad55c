"""All problems of a spec file are reported at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from archspec.errors import SpecError
from archspec.specs.library import shipped

HEAD = "model_type: toy\nconfig: {n: 3}\narchitectures:\n  ToyModel:\n    a: Linear(n, n)\n"


def refused(folder: Path, text: str) -> list[str]:
    """The messages for a spec file, each with its line."""
    path = folder / "toy.yaml"
    path.write_text(text)
    with pytest.raises(SpecError) as error:
        shipped().load_file(str(path))
    return [
        f"{problem.place.line if problem.place else 0}: {problem.message}" for problem in error.value.problems
    ]


def test_a_note_with_an_invalid_condition(tmp_path: Path) -> None:
    assert refused(tmp_path, f"{HEAD}notes: {{'n ==': said}}\n") == ["6: not an expression: invalid syntax"]


def test_all_problems_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    text = f"{HEAD}attribute_map: {{n: m}}\ndrop: [gone, ToyModel]\nrequires: n > 0\n"
    assert refused(tmp_path, text) == [
        "8: requires is not a key of a spec",
        "6: n is a field, and another name of one",
        "7: gone is not there to be dropped",
        "7: ToyModel is dropped, but defined here",
    ]


def test_drop_removes_inherited_names(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text("model_type: toy\nextends: llama\ndrop: [ToyForCausalLM, mlp_bias, require]\n")
    parent, spec = shipped().load("llama"), shipped().load_file(str(path))
    assert spec.prefix == "Toy" and spec.architectures[0] == "ToyModel"
    assert set(spec.architectures) == {
        f"Toy{name.removeprefix('Llama')}" for name in parent.architectures
    } - {"ToyForCausalLM"}
    assert "mlp_bias" in parent.fields and "mlp_bias" not in spec.fields
    assert parent.require and not spec.require
