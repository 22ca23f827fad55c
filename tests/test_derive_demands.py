"""What a constructor or a config class refuses, the draft refuses: also what modules demand that it does not show."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("transformers")

from test_derive import derived, drafted, own
from test_derive import module as module_fixture

module = module_fixture

EVEN = """
class Even(nn.Module):
    def __init__(self, size, config):
        super().__init__()
        if size % 2:
            raise ValueError("odd")

class Odd(nn.Linear):
    def __init__(self, size, config):
        if size % 2 == 0:
            raise ValueError("even")
        super().__init__(3, size)

class Strided(nn.Conv2d):
    def __init__(self, stride, padding):
        super().__init__(3, 4, 3, stride=stride, padding=padding)
"""
DEMANDS = {
    "of a module without tensors": (
        ["self.a = Even(config.width, config)", "self.b = Block(config)"],
        "require:\n      - not width % 2\n",
    ),
    "of a module without tensors, on one way": (
        ["if config.extra:", "    self.a = Even(config.width + 4, config)", "self.b = Block(config)"],
        "require:\n      - not extra or not (width + 4) % 2\n",
    ),
    "of a module without tensors, in a loop": (
        ["self.a = nn.ModuleList([Even(i * config.width, config) for i in range(config.depth)])", "self.b = Block(config)"],
        "require:\n      - all((not i * width % 2 for i in range(depth)))\n",
    ),
    "of one that never fits": (
        ["if config.extra:", "    self.a = Even(5, config)", "self.b = Block(config)"],
        "require:\n      - not extra\n",
    ),
    "of a layer's subclass": (
        ["self.a = Odd(config.depth, config)", "self.b = Odd(config.depth + 2, config)"],
        "require:\n      - depth % 2 != 0\n      - (depth + 2) % 2 != 0\n",
    ),
    "of torch, for a padding": (
        ["pad = 'valid' if config.depth == 2 else 'same'", "self.a = Strided(config.depth, pad)"],
        "require:\n      - depth == 2 or depth == 1\n",
    ),
}


@pytest.mark.parametrize(("body", "line"), DEMANDS.values(), ids=DEMANDS)
def test_a_demand_is_a_requirement_of_whoever_makes_the_module(module: Callable[..., None], body: list[str], line: str) -> None:
    text = own(*body).replace("class Net", EVEN + "\nclass Net").replace("depth: int = 3", "depth: int = 1")
    module(text)
    found = derived("own:Net", samples=8)
    drafted_text = found["drafts"]["net"]
    assert (found["code"], found["verify"][0]["differences"]) == (0, []), drafted_text
    assert line in drafted_text


def test_the_stages_of_a_backbone_are_held_to_its_config() -> None:
    """Its config class refuses others, also where no tensor depends on them."""
    made = drafted("Dinov2Model")[0]
    assert "- out_features == [stage_names[i] for i in out_indices]\n" in made.text
