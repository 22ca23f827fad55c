"""Drafts of what cannot be told and need not be: conditions on tensors' values, and what a loop's turns leave for the next."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("transformers")

from test_derive import derived, module, own

__all__ = ["module"]

READ = {
    "a condition that is not known and leaves the same modules": (
        [
            "scale = torch.ones(config.width).sum().item()",
            "size = torch.arange(-(config.size or 3), 4).sum().item() + torch.rand(config.width).amax(0).item()",
            "table = torch.ones(3, config.width)",
            "if size > 3:",
            "    table = table / 3",
            "    scale = 2",
            "elif size > 2:",
            "    table /= 4",
            "self.a = nn.Parameter(table)",
        ],
        "a: Parameter(3, width)",
    ),
    "a tuple as an argument": (
        ["self.a = nn.ModuleList([Windowed((config.width // 2**i, config.depth)) for i in range(config.depth)])"],
        "inner: Windows(size)",
    ),
}
MORE = """
class Windowed(nn.Module):
    def __init__(self, size):
        super().__init__()
        least = [min(a, b) for a, b in zip(size, (32, 32))]
        pair = least[0] if isinstance(least[0], tuple) else (least[0], least[0])
        self.proj = nn.Conv2d(size[1], 3, kernel_size=pair)
        self.inner = Windows(size)

class Windows(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.proj = nn.Linear(*size)
"""


@pytest.mark.parametrize(("body", "line"), READ.values(), ids=READ)
def test_what_need_not_be_told_is_left_out(module: Callable[..., None], body: list[str], line: str) -> None:
    module(own(*body) + MORE)
    found = derived("own:Net", samples=8)
    (outcome,) = found["verify"]
    text = found["drafts"]["net"]
    assert (found["code"], outcome["differences"]) == (0, []), text
    assert line in text
