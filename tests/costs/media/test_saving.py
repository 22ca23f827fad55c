"""Bytes that layers on images save for the backward pass."""

from __future__ import annotations

from collections.abc import Callable

from archspec.configs.scope import Scope
from archspec.costs.records import Step
from archspec.costs.training.activations import StepActivations

Toy = Callable[[str], tuple[Scope, str]]

CONVOLUTIONS = """Toy:
  inputs: images
  layers:
    - Conv2d(3, 4, 2, stride=2)
    - BatchNorm2d(4)
    - ReLU()
    - Conv2d(4, 5, 1)
    - GELU()
    - Flatten()
"""
TOWER = """Toy:
  inputs: {images: tower}
  runs: {tower: {KEYS}}
  tower:
    conv: Conv2d(3, 4, 2, stride=2)
    second: Conv2d(4, 4, 1)
  text: Linear(2, 2)
"""


def saved(toy: Toy, body: str, checkpointing: bool = False, freeze: tuple[str, ...] = ()) -> dict[str, int]:
    scope, name = toy(body)
    step = Step(2, 3, 0, "bfloat16", "eager", checkpointing, images=((8, 6),) * 2, freeze=freeze)
    return StepActivations(scope, name, step).by_module


def test_convolutions_save_inputs_and_norms_their_statistics(toy: Toy) -> None:
    row = 2 * 2 * 4 * 3  # bytes of one channel of all positions
    norm, second, gelu = 4 * row + 2 * 4 * 4, 4 * row, 5 * row
    found = saved(toy, CONVOLUTIONS)
    assert found == {"layers.1": norm, "layers.3": second, "layers.4": gelu}


def test_a_tower_may_run_on_copies_of_its_images(toy: Toy) -> None:
    own = saved(toy, TOWER.replace("KEYS", "fresh: True"))
    copied = saved(toy, TOWER.replace("KEYS", "fresh: False"))
    assert copied["tower.conv"] == 2 * 2 * 3 * 8 * 6
    assert own == {name: size for name, size in copied.items() if name != "tower.conv"}


def test_what_nothing_reads_is_freed(toy: Toy) -> None:
    assert {*saved(toy, TOWER.replace("KEYS", "kept: False"))} == {"text"}


def test_a_frozen_convolution_saves_its_input_if_a_gradient_passes(toy: Toy) -> None:
    found = saved(toy, TOWER.replace("KEYS", "fresh: True"), checkpointing=True, freeze=("tower",))
    assert found["tower.second"] == 2 * 2 * 4 * 4 * 3
    assert {*saved(toy, TOWER.replace("KEYS", "fresh: True"), freeze=("tower",))} == {"text"}
    unhooked = TOWER.replace("KEYS", "hooked: False")
    assert {*saved(toy, unhooked, checkpointing=True, freeze=("tower",))} == {"text"}
