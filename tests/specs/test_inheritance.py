"""`extends:` within a module means what a subclass means: the base's parts, then its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from archspec.configs.scope import Scope
from archspec.errors import ConfigError, SpecError
from archspec.specs.library import shipped_library
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
  Given(part):
    part: part
    other: Linear(1, 1)
  Short: Wide(1, bias=bias)
"""
WRONG = """
  Narrow(size): {extends: Wide(size // 2)}
  Round: {extends: Circle()}
  Circle: {extends: Round()}
  Listed: [Linear(1, 1)]
"""


def read(folder: Path, text: str, name: str = "toy") -> Spec:
    path = folder / f"{name}.yaml"
    path.write_text(f"model_type: {name}\n{text}", encoding="utf-8")
    return shipped_library().load_file(str(path))


def shapes(spec: Spec, **config: object) -> dict[str, tuple[int, ...]]:
    scope = Scope(spec, config)
    scope.validate()
    found = tensors(Builder(scope).build(spec.architectures[0]))
    return {tensor.name: tensor.shape for tensor in found if tensor.tied_to is None}


@pytest.mark.parametrize(
    ("toy", "expected"),
    [
        (  # attributes come first, and are replaced in place
            "Toy: {extends: Wide(width + 1), last: 'Linear(1, 2)', up: 'Linear(7, 7)'}",
            "up.weight 7x7, up.bias 7, down.weight 4x10, last.weight 2x1, last.bias 2",
        ),
        (  # None removes one, and a name is handed on
            "Toy(bias=True): {extends: 'Wide(3, bias)', up: None}",
            "down.weight 4x6, down.bias 4",
        ),
        (  # through a module that a call defines
            "Toy: {extends: Short(), gate: 'Linear(1, 1, bias=False)'}",
            "up.weight 2x4, up.bias 2, down.weight 4x2, down.bias 4, gate.weight 1x1",
        ),
        (  # ties are inherited
            "Toy: {extends: Parent(), more: 'Linear(1, 1, bias=False)'}",
            "words.weight 10x4, more.weight 1x1",
        ),
    ],
)
def test_attributes(toy: str, expected: str, tmp_path: Path) -> None:
    spec = read(tmp_path, f"{BASE}architectures:\n  {toy}\n")
    found = (f"{name} {'x'.join(map(str, shape))}" for name, shape in shapes(spec).items())
    assert ", ".join(found) == expected
    assert ("head.weight" in shapes(spec, tie_word_embeddings=False)) == ("Parent" in toy)


def test_an_argument_goes_with_the_attribute_that_needed_it(tmp_path: Path) -> None:
    spec = read(tmp_path, f"{BASE}architectures:\n  Toy: {{extends: Given(Gone()), part: None}}\n")
    assert list(shapes(spec)) == ["other.weight", "other.bias"] and not spec.modules["Toy"].where


def test_conditions_are_inherited(tmp_path: Path) -> None:
    spec = read(tmp_path, f"{BASE}architectures:\n  Toy: {{extends: Wide(1), gate: 'Linear(1, 1)'}}\n")
    with pytest.raises(ConfigError, match="width > 1"):
        shapes(spec, width=1)


def test_the_parents_module_by_the_parents_name(tmp_path: Path) -> None:
    read(tmp_path, "modules: {ToyLayer: {a: 'Linear(1, 1)'}}\narchitectures: {Toy: {layer: ToyLayer()}}\n")
    son = "extends: toy\nmodules: {SonLayer: {extends: ToyLayer(), b: 'Linear(2, 2)'}}\n"
    tip = "extends: son\nmodules: {TipLayer: {extends: SonLayer(), a: None}}\n"
    names = ["layer.a.weight", "layer.a.bias", "layer.b.weight", "layer.b.bias"]
    assert list(shapes(read(tmp_path, son, "son"))) == names
    assert list(shapes(read(tmp_path, tip, "tip"))) == names[2:]


def test_a_shared_head_names_the_base_model_as_the_spec_does(tmp_path: Path) -> None:
    head = "base_model_prefix: base_model\nmodules: {Head(base): {base_model: base, c: 'Linear(1, 2)'}}\n"
    model = "modules: {ToyModel: {a: 'Linear(1, 1)'}}\narchitectures: {ToyForC: Head(ToyModel())}\n"
    read(tmp_path, head, "heads_of")
    for text, name, prefix in (
        (f"uses: heads_of\n{model}", "toy", "toy"),
        ("extends: toy\nbase_model_prefix: son\n", "son", "son"),
        ("extends: toy\n", "tip", "toy"),
    ):
        assert next(iter(shapes(read(tmp_path, text, name)))) == f"{prefix}.a.weight"


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("Wdie(1)", "Wdie is not defined"),
        ("Wide()", "Wide needs size"),
        ("Wide(1, True, 3)", "Wide takes 2 arguments, 3 are given"),
        ("Wide(1, depth=3)", "depth is not a parameter of Wide"),
        ("Wide(1) if bias else Parent()", "is not a call of a module"),
        ("[Wide(1), Parent()]", "this must be an expression"),
        ("Toy()", "Toy is not defined"),
        ("Round()", "Round extends itself"),
        ("Narrow(1)", "size is a parameter of Narrow, and another one of Wide"),
        ("Listed()", "Listed is not a mapping of attributes"),
    ],
)
def test_wrong_bases(tmp_path: Path, base: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        read(tmp_path, f"{BASE}{WRONG}architectures:\n  Toy:\n    extends: {base}\n    gate: Linear(1, 1)\n")
