"""`extends:` within a module means what a subclass means: what the base has, then what is its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from archspec.configs.scope import Scope
from archspec.errors import ConfigError, SpecError
from archspec.specs.library import shipped
from archspec.specs.records import Spec
from archspec.tree.builder import Builder
from archspec.tree.tensors import tensors

BASE = """
config: {width: 4, words: 10, bias: true, tie_word_embeddings: true}
modules:
  Wide(size, bias=False):
    where: {double: 2 * size}
    require: width > 1
    up: Linear(width, double, bias=bias)
    down: Linear(double, width, bias=bias)
  Parent:
    words: Embedding(words, width)
    head: Linear(width, words, bias=False)
    tied: {head.weight: words.weight}
"""


def read(folder: Path, text: str, name: str = "toy") -> Spec:
    path = folder / f"{name}.yaml"
    path.write_text(f"model_type: {name}\n{text}", encoding="utf-8")
    return shipped().load_file(str(path))


def shapes(spec: Spec, **config: object) -> dict[str, tuple[int, ...]]:
    scope = Scope(spec, config)
    scope.validate()
    return {
        t.name: t.shape for t in tensors(Builder(scope).build(spec.architectures[0])) if t.tied_to is None
    }


def test_attributes_come_first_and_are_replaced_in_place(tmp_path: Path) -> None:
    own = "    extends: Wide(width + 1)\n    last: Linear(1, 1)\n    up: Linear(7, 7)\n"
    spec = read(tmp_path, BASE + "architectures:\n  Toy:\n" + own)
    assert list(shapes(spec)) == ["up.weight", "up.bias", "down.weight", "last.weight", "last.bias"]
    assert shapes(spec)["up.weight"] == (7, 7)
    assert shapes(spec)["down.weight"] == (4, 10)


def test_none_takes_away_and_a_name_is_handed_on(tmp_path: Path) -> None:
    spec = read(
        tmp_path, BASE + "architectures:\n  Toy(bias=True):\n    extends: Wide(3, bias)\n    up: None\n"
    )
    assert shapes(spec) == {"down.weight": (4, 6), "down.bias": (4,)}


def test_through_a_module_that_is_given_by_a_call(tmp_path: Path) -> None:
    narrow = "  Narrow: Wide(1, bias=bias)\n"
    own = "    extends: Narrow()\n    gate: Linear(1, 1, bias=False)\n"
    text = BASE + narrow + "architectures:\n  Toy:\n" + own
    assert shapes(read(tmp_path, text)) == {
        "up.weight": (2, 4),
        "up.bias": (2,),
        "down.weight": (4, 2),
        "down.bias": (4,),
        "gate.weight": (1, 1),
    }


def test_arguments_of_what_is_taken_away_are_not_kept(tmp_path: Path) -> None:
    given = "  Given(part):\n    part: part\n    other: Linear(1, 1)\n"
    spec = read(
        tmp_path, BASE + given + "architectures:\n  Toy:\n    extends: Given(Gone())\n    part: None\n"
    )
    assert list(shapes(spec)) == ["other.weight", "other.bias"]
    assert not spec.modules["Toy"].where


def test_conditions_and_ties_are_inherited(tmp_path: Path) -> None:
    spec = read(tmp_path, BASE + "architectures:\n  Toy:\n    extends: Parent()\n    more: Wide(1)\n")
    assert "head.weight" not in shapes(spec)
    assert "head.weight" in shapes(spec, tie_word_embeddings=False)
    with pytest.raises(ConfigError, match="width > 1"):
        shapes(
            read(tmp_path, BASE + "architectures:\n  Toy:\n    extends: Wide(1)\n    gate: Linear(1, 1)\n"),
            width=1,
        )


def test_the_parents_module_by_the_parents_name(tmp_path: Path) -> None:
    read(tmp_path, BASE + "  ToyLayer:\n    a: Linear(1, 1)\narchitectures:\n  Toy:\n    layer: ToyLayer()\n")
    child = read(
        tmp_path, "extends: toy\nmodules:\n  SonLayer:\n    extends: ToyLayer()\n    b: Linear(2, 2)\n", "son"
    )
    assert list(shapes(child)) == ["layer.a.weight", "layer.a.bias", "layer.b.weight", "layer.b.bias"]
    grandchild = read(
        tmp_path, "extends: son\nmodules:\n  TipLayer:\n    extends: SonLayer()\n    a: None\n", "tip"
    )
    assert list(shapes(grandchild)) == ["layer.b.weight", "layer.b.bias"]


def test_a_shared_head_names_the_base_model_as_the_spec_does(tmp_path: Path) -> None:
    read(
        tmp_path,
        "base_model_prefix: base_model\nmodules:\n  Head(base):\n    base_model: base\n    c: Linear(1, 2)\n",
        "heads_of",
    )
    model = "modules:\n  ToyModel: {a: 'Linear(1, 1)'}\narchitectures:\n  ToyForC: Head(ToyModel())\n"
    assert next(iter(shapes(read(tmp_path, "uses: heads_of\n" + model)))) == "toy.a.weight"
    assert (
        next(iter(shapes(read(tmp_path, "extends: toy\nbase_model_prefix: son\n", "son")))) == "son.a.weight"
    )
    assert next(iter(shapes(read(tmp_path, "extends: toy\n", "tip")))) == "toy.a.weight"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extends: Wdie(1)", "Wdie is not defined"),
        ("extends: Wide()", "Wide needs size"),
        ("extends: Wide(1, True, 3)", "Wide takes 2 arguments, 3 are given"),
        ("extends: Wide(1, depth=3)", "depth is not a parameter of Wide"),
        ("extends: Wide(1) if bias else Parent()", "is not a call of a module"),
        ("extends: [Wide(1), Parent()]", "extends is one call of a module"),
        ("extends: Toy()", "Toy is not defined"),
        ("extends: Round()", "Round extends itself"),
        ("extends: Narrow(1)", "size is a parameter of Narrow, and another one of Wide"),
        ("extends: Listed()", "Listed is not a mapping of attributes"),
    ],
)
def test_what_cannot_be_extended(tmp_path: Path, text: str, message: str) -> None:
    more = "  Narrow(size):\n    extends: Wide(size // 2)\n"
    more += (
        "  Round:\n    extends: Circle()\n  Circle:\n    extends: Round()\n  Listed:\n    - Linear(1, 1)\n"
    )
    with pytest.raises(SpecError, match=message):
        read(tmp_path, BASE + more + f"architectures:\n  Toy:\n    {text}\n    gate: Linear(1, 1)\n")
