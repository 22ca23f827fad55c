"""Drafts of values: those that cannot be told and need not be, those that a loop's turns leave for the
next, defaults."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_derive import derived, module, own

pytestmark = pytest.mark.reference

__all__ = ["module"]

READ = {
    "a condition that is not known and leaves the same modules": (
        [
            "now, before, scale = 1, 1, 1",
            "table = torch.ones(3, config.width)",
            "for i in range(config.depth):",
            "    now, before = (now * 3 + before) % 7, now",
            "    if now > 3:",
            "        table = table / 3",
            "        scale = 2",
            "    elif now > 2:",
            "        table /= 4",
            "self.a = nn.Parameter(table)",
        ],
        "a: Parameter(3, width)",
    ),
    "a value that every turn changes, and no tensor depends on": (
        [
            "now, seen = 1, 1",
            "self.a = nn.ModuleList()",
            "for i in range(config.depth):",
            "    now, seen = (now * 3 + seen) % 7, now",
            "    self.a.append(Windows((config.width, i + 1)))",
            "    self.a[-1].scale = now",
        ],
        "a: Windows([width, i + 1]) for i in range(depth)",
    ),
    "a module that holds no tensor, of a value that is not known": (
        [
            "now, before = 1, 1",
            "self.a = nn.ModuleList()",
            "for i in range(config.depth):",
            "    now, before = (now * 3 + before) % 7, now",
            "    self.a.append(Padded(config.width, now))",
        ],
        "a: Padded() for i in range(depth)",
    ),
    "a value that some turns add to": (
        [
            "now = 3",
            "self.a = nn.ModuleList()",
            "for i in range(config.depth):",
            "    if i % 2:",
            "        now += i",
            "    self.a.append(nn.Linear(now, config.width))",
        ],
        "3 + sum([j if j % 2 else 0 for j in range(i)])",
    ),
    "a class of the table of activations": (
        [
            "from transformers.activations import ACT2CLS",
            "self.act = ACT2CLS[config.act]()",
            "self.a = nn.Linear(config.width, 3)",
        ],
        "act: PReLU() if act == 'prelu' else None",
    ),
    "a product of what the turns have": (
        [
            "now = 3",
            "self.a = nn.ModuleList()",
            "for size in config.sizes:",
            "    now *= size // 16",
            "    self.a.append(nn.Linear(now + 1, 3))",
        ],
        "prod([sizes[j] // 16 for j in range(i)])",
    ),
    "a size that every turn makes smaller": (
        [
            "size = config.width",
            "for _ in range(config.depth):",
            "    size = (size + 3 - config.extra) // 2 + 1",
            "self.a = nn.Linear(size * size + 1, 3)",
        ],
        "(width + sum([(3 - extra + 2) * 2 ** j for j in range(depth)])) // 2 ** depth",
    ),
    "a value of the turn before that is made of one thing twice": (
        [
            "before = 5",
            "self.a = nn.ModuleList()",
            "for i in range(config.depth):",
            "    size = i * 8 + config.width",
            "    self.a.append(nn.Linear(before, 3))",
            "    before = size + 8 if size < 12 else size",
        ],
        "Linear(5 if i == 0 else (i - 1) * 8 + width + 8 "
        "if (i - 1) * 8 + width < 12 else (i - 1) * 8 + width, 3)",
    ),
    "rates of which only the number is known": (
        [
            "sizes = list(config.sizes)",
            "rates = [part.tolist() for part in torch.linspace(0, 1, sum(sizes)).split(sizes)]",
            "self.a = nn.ModuleList()",
            "for size, rate in zip(sizes, rates):",
            "    made = nn.Linear(size, 3)",
            "    made.rate = rate[0] or 1",
            "    self.a.append(made)",
        ],
        "Linear(size, 3) for size, i in zip(sizes, range(len(sizes)))",
    ),
    "a list that every turn divides": (
        [
            "sizes = [config.width, 64]",
            "self.a = nn.ModuleList()",
            "for i in range(config.depth):",
            "    self.a.append(nn.Linear(sizes[0] + 1, sizes[1] + 1))",
            "    sizes = [size // by for size, by in zip(sizes, (2, 3))]",
        ],
        "a: Linear(width // 2 ** i + 1, 64 // 3 ** i + 1) for i in range(depth)",
    ),
    "a list of the config's that every turn divides": (
        [
            "sizes = config.sizes",
            "self.a = nn.ModuleList()",
            "for i in range(config.depth):",
            "    self.a.append(nn.Linear(sizes[0] + 1, 1))",
            "    sizes = [size // by for size, by in zip(sizes, (2, 3))]",
        ],
        "[size // by ** i for size, by in zip(sizes, [2, 3])]",
    ),
    "a loop that breaks off in the last turn": (
        [
            "self.a = nn.ModuleList()",
            "for i in range(config.depth):",
            "    self.a.append(nn.Linear(i + 1, config.width))",
            "    if i + 1 == config.depth:",
            "        break",
            "    if config.extra:",
            "        self.a.append(nn.Linear(i + 1, 2))",
        ],
        "[] if i + 1 == depth or not extra else [Linear(i + 1, 2)]",
    ),
    "sizes of a tensor of the config's numbers": (
        [
            "table = torch.tensor(config.sizes).float().view(-1, 1, 1)",
            "self.a = nn.Parameter(table)",
            "more = torch.zeros(config.width, 3)",
            "self.b = nn.Parameter((more - more.mean()).view(2, -1))",
        ],
        "width * 3 % 2 == 0 a: Parameter(len(sizes), 1, 1) b: Parameter(2, width * 3 // 2)",
    ),
    "an activation with parameters as an argument": (
        ["self.a = Activated('relu')", "self.b = Activated(config.act)", "self.c = Activated(None)"],
        "act: PReLU() if act is not None and act == 'prelu' else None",
    ),
    "an expression that is long and said twice": (
        [
            "rounded = max(config.width, int(config.width * 0.9 + 4 / 2) // 4 * 4)",
            "self.a = nn.Linear(rounded, rounded)",
            "self.b = nn.ModuleList([nn.Linear(rounded, i + 1) for i in range(config.depth)])",
            "self.c = nn.Linear(config.width // 2, rounded) if config.extra else None",
        ],
        "where: rounded: max(width, int(width * 0.9 + 2.0) // 4 * 4) "
        "a: Linear(rounded, rounded) b: Linear(rounded, i + 1) for i",
    ),
    "two modules that are made alike": (
        [
            "for name in ('a', 'b'):",
            "    setattr(self, name, nn.Linear("
            "max(config.width, int(config.width * 0.9 + 4 / 2) // 4 * 4), 3))",
        ],
        "where: value: max(width, int(width * 0.9 + 2.0) // 4 * 4) a: Linear(value, 3) b: Linear(value, 3)",
    ),
    "a text in small letters": (
        [
            "self.a = nn.Linear(3, 4) if 'post' in config.kind.lower() else None",
            "self.b = nn.Linear(config.width, 2)",
        ],
        "a: Linear(3, 4) if 'post' in kind.lower() else None",
    ),
    "the order of a list's items": (
        [
            "import numpy as np",
            "order = np.argsort(config.sizes, axis=0).tolist()",
            "self.a = nn.ModuleList([nn.Linear(config.sizes[i], 2) for i in order])",
        ],
        "for i in [i_2 for item, i_2 in sorted(zip(sizes, range(len(sizes))))]",
    ),
    "a Python object that computes and makes modules": (
        ["self.a = Output(config.depth).projection(config.width)"],
        "proj: ModuleList([Linear(width, depth), Linear(width, depth * 2)])",
    ),
    "a dict whose first item is another": (
        [
            "blocks = {}",
            "for i in range(config.depth):",
            "    if i == 0:",
            "        blocks[f'block_{i + 1}'] = nn.Linear(3, config.width)",
            "    else:",
            "        blocks[f'block_{i + 1}'] = nn.Linear(config.width, config.width)",
            "self.a = nn.ModuleDict(blocks)",
        ],
        "''block_'' + str(i + 1): Linear(3, width) if i == 0 else Linear(width, width) for i in range(depth)",
    ),
    "a tuple as an argument": (
        [
            "self.a = nn.ModuleList("
            "[Windowed((config.width // 2**i, config.depth)) for i in range(config.depth)])"
        ],
        "inner: Windows(size)",
    ),
}
MORE = """
class Output:
    sizes = {"one": 1, "two": 2}

    def __init__(self, size):
        self.sizes = {name: size * times for name, times in self.sizes.items()}

    def projection(self, width):
        return Projection(width, self.sizes)

class Projection(nn.Module):
    def __init__(self, width, sizes):
        super().__init__()
        self.proj = nn.ModuleList([nn.Linear(width, size) for size in sizes.values()])

class Windowed(nn.Module):
    def __init__(self, size):
        super().__init__()
        least = [min(a, b) for a, b in zip(size, (32, 32))]
        pair = least[0] if isinstance(least[0], tuple) else (least[0], least[0])
        self.proj = nn.Conv2d(size[1], 3, kernel_size=pair)
        self.inner = Windows(size)

class Activated(nn.Module):
    def __init__(self, act=None):
        super().__init__()
        from transformers.activations import ACT2FN
        self.proj = nn.Linear(2, 3)
        self.act = ACT2FN[act] if act is not None else nn.Identity()

class Pad(nn.Module):
    def __init__(self, stride):
        super().__init__()
        self.stride = (stride, stride) if isinstance(stride, int) else stride

class Padded(nn.Module):
    def __init__(self, width, stride):
        super().__init__()
        self.proj = nn.Linear(width, width)
        if stride > 3:
            self.pad = Pad(stride)

class Windows(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.proj = nn.Linear(*size)
"""


@pytest.mark.parametrize(("body", "line"), READ.values(), ids=READ)
def test_what_need_not_be_told_is_left_out(module: Callable[..., None], body: list[str], line: str) -> None:
    module(
        own(*body).replace(
            "    extra: bool",
            "    sizes: tuple[int, ...] = (64, 32)\n    act: str = 'prelu'\n    extra: bool",
        )
        + MORE
    )
    found = derived("own:Net", samples=8)
    (outcome,) = found["architectures"]
    text = found["drafts"]["net"]
    assert (found["code"], outcome["differences"]) == (0, []), text
    assert line in " ".join(text.split())


DEFAULTS = {
    "DacModel": "upsampling_ratios: list | None = downsampling_ratios[::-1]",
    "PPOCRV6SmallRecModel": "backbone_config: AutoConfig(pp_lcnet_v4)",
}


@pytest.mark.parametrize(("name", "line"), DEFAULTS.items())
def test_defaults_that_other_code_gives(name: str, line: str) -> None:
    """A field that a config's own value wins over; a sub-config that is made of another type than the
    declared one."""
    found = derived(name, samples=3)
    assert found["code"] == 0, found["architectures"]
    assert any(line in text for text in found["drafts"].values())


def test_loops_within_loops_are_given_up(module: Callable[..., None]) -> None:
    """A class that counts pairs of places in Python is fitted to the default config, which its draft says."""
    module(
        own("self.a = Pairs()", "self.b = nn.Linear(config.width, 2)").replace(
            "class Net", PAIRS + "class Net"
        )
    )
    text = derived("own:Net", "--no-verify")["drafts"]["net"]
    assert "# Pairs was not read (Unsupported: loops of 40000 turns" in text
    assert "weight: Parameter(200)" in text


PAIRS = """class Pairs(nn.Module):
    def __init__(self):
        super().__init__()
        found = {}
        for one in range(200):
            for other in range(200):
                found[abs(one - other)] = one
        self.weight = nn.Parameter(torch.zeros(len(found)))

"""
