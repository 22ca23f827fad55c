"""The names that a spec's expressions read, and the texts that its fields are compared with."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from archspec.specs import references
from archspec.specs.library import shipped_library
from archspec.specs.records import Spec, leaves, model_types, output_paths
from archspec.symbolic.runs.solver import is_deep
from archspec.verifying.generate.choices import kinds_of

TEXT = """model_type: toy
config:
  size: 4
  kind: plain
  norm: str | None = None
  prefix: gated-gelu
  rate: str | None = None
  text_config: Config(llama)
  audio: AutoConfig("bert" if size else "gpt2")
fixed:
  form: = kind
require:
  - size > 0
modules:
  ToyLayer(i, mode):
    where: {half: size // 2}
    require: half > 1
    a: Linear(half, 2) if mode == "wide" else None
    b:
      - Linear(1, text_config.hidden_size)
      - Linear(i, 3)
architectures:
  ToyModel:
    layer: ToyLayer(0, norm)
    head: Linear(1, 2) if form in ["plain", "fine"] else None
    rated: Linear(1, int(rate.split("/")[0]))
    other: Linear(1, 3) if prefix.startswith("gated-") and given("size") else None
    output_embeddings: head if size > 3 else layer.a
"""


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    path = tmp_path / "toy.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return shipped_library().load_file(str(path))


def test_compared_texts(spec: Spec) -> None:
    """Fields are compared directly, by the start or the parts of a text, as fixed values and parameters."""
    assert references.compared_texts(spec) == {
        "norm": ["wide"],
        "kind": ["fine", "plain"],
        "prefix": ["gated-gated-gelu"],
        "rate": ["1/2", "3/4"],
    }


def test_every_expression_that_a_count_depends_on(spec: Spec) -> None:
    found = {ast.unparse(expression.tree) for expression in references.expressions(spec)}
    for part in ("size > 0", "kind", "4", "size // 2", "half > 1", "Linear(i, 3)", "size > 3"):
        assert part in found, part


def test_paths_of_output_embeddings_and_what_chooses_them(spec: Spec) -> None:
    paths, tests = output_paths(spec.modules["ToyModel"])
    assert sorted(paths) == ["head", "layer.a"]
    assert [ast.unparse(test.tree) for test in tests] == ["size > 3"]
    assert output_paths(spec.modules["ToyLayer"]) == ([], [])


def test_leaves_are_in_order(spec: Spec) -> None:
    texts = [expression.text for expression in leaves(spec.modules["ToyLayer"].body)]
    assert texts == [
        'Linear(half, 2) if mode == "wide" else None',
        "Linear(1, text_config.hidden_size)",
        "Linear(i, 3)",
    ]


@pytest.mark.parametrize(("field", "types"), [("audio", ["bert", "gpt2"]), ("text_config", ["llama"])])
def test_model_types_of_a_sub_config(spec: Spec, field: str, types: list[str]) -> None:
    call = spec.fields[field].sub_config
    assert call is not None and model_types(call) == types


def test_kinds_and_depth_of_fields(spec: Spec) -> None:
    assert kinds_of(spec.fields["norm"]) == {"str", "None"}
    fields = ("num_hidden_layers", "depths", "block_size", "width")
    assert [*map(is_deep, fields)] == [True, True, True, False]
