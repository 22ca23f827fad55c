"""What a constructor or a config class refuses, the draft refuses: also what modules demand that it does
not show."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_derive import derived, drafted, own
from test_derive import module as module_fixture

pytestmark = pytest.mark.reference

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

class Picky(nn.Module):
    def __init__(self, size, config):
        super().__init__()
        if size % 2:
            raise ValueError("odd")
        self.inner = Block(config)

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
        [
            "self.a = nn.ModuleList([Even(i * config.width, config) for i in range(config.depth)])",
            "self.b = Block(config)",
        ],
        "require:\n      - all((not i * width % 2 for i in range(depth)))\n",
    ),
    "in a loop, which may have no turn": (
        [
            "self.a = nn.ModuleList([Even(config.width, config) for i in range(config.depth)])",
            "self.b = Block(config)",
        ],
        "require:\n      - all((not width % 2 for i in range(depth)))\n    b",
    ),
    "of an item of what torch made": (
        [
            "rates = [r.item() for r in torch.linspace(0, 1, config.depth)]",
            "self.rate = rates[2]",
            "self.b = Block(config)",
        ],
        "require:\n      - 2 < depth\n",
    ),
    "of one that never fits": (
        ["if config.extra:", "    self.a = Even(5, config)", "self.b = Block(config)"],
        "require:\n      - not extra\n",
    ),
    "of a module that is made for its parts": (
        [
            "if config.extra:",
            "    made = Picky(config.width + 4, config)",
            "    self.a = made.inner",
            "self.b = Block(config)",
        ],
        "require:\n      - not extra or not (width + 4) % 2\n",
    ),
    "of a module that stays, by itself": (
        ["made = Picky(config.width, config)", "self.a = nn.Sequential(made)", "self.b = made.inner"],
        "  Net:\n    a:\n      - Picky()\n    b: Block()\n",
    ),
    "to be a power of two": (
        ["if config.width & (config.width - 1):", "    raise ValueError", "self.b = Block(config)"],
        "require:\n      - width >= 0\n      - width <= 0 or 2 ** int(log2(width)) == width\n",
    ),
    "of a layer's subclass": (
        ["self.a = Odd(config.depth, config)", "self.b = Odd(config.depth + 2, config)"],
        "require:\n      - depth % 2 != 0\n      - (depth + 2) % 2 != 0\n",
    ),
    "of a class that no way has named": (
        [
            "if config.kind == 'plain':",
            "    made = Block",
            "elif config.kind == 'other':",
            "    made = Outer",
            "self.a = made(config)",
        ],
        "require:\n      - kind == 'plain' or kind == 'other'\n",
    ),
    "of a comparison, to be of no null": (
        ["if config.extra:", "    self.limit = 1 if config.size < 1 else 2", "self.b = Block(config)"],
        "require:\n      - not extra or size is not None\n",
    ),
    "of torch, for what every second item is set to": (
        [
            "table = torch.zeros(3, config.width)",
            "table[:, 1::2] = torch.cos(torch.arange(0, config.width, 2))",
            "self.b = Block(config)",
        ],
        "require:\n      - width // 2 == ceil(width / 2) or ceil(width / 2) == 1\n",
    ),
    "of torch, for a size that it works out": (
        [
            "grid = torch.stack([torch.zeros(config.width, config.depth)] * 2, -1)",
            "grid = torch.concat([grid, grid], -1).reshape(-1, config.width * config.depth * 4)",
            "self.b = Block(config)",
        ],
        "require:\n      - width * depth * 4 != 0\n",
    ),
    "of a division, by what a condition chooses": (
        [
            "size = config.width if config.extra else 7",
            "self.count = config.depth // size",
            "self.b = Block(config)",
        ],
        "require:\n      - not extra or width != 0\n",
    ),
    "that nothing can break": (
        ["sizes = [config.width // 2**i for i in range(config.depth)]", "self.b = Block(config)"],
        "  Net:\n    b: Block()\n",
    ),
    "that holds in every turn where it holds in the last": (
        [
            "rates = [r.item() for r in torch.linspace(0, 1, len(config.kind))]",
            "self.rates = [rates[i] for i in range(config.depth)]",
            "self.b = Block(config)",
        ],
        "require:\n      - depth <= len(kind)\n",
    ),
    "of one text, which is not another one": (
        [
            "if config.kind == 'plain':",
            "    self.c = nn.Linear(2, 2)",
            "elif config.kind == 'other':",
            "    self.a = Even(config.width, config)",
            "self.b = Block(config)",
        ],
        "require:\n      - kind != 'other' or not width % 2\n",
    ),
    "of a division, which the draft has on one way only": (
        [
            "size = config.width // config.depth",
            "self.a = None if config.extra else nn.Linear(2, size)",
            "self.b = Block(config)",
        ],
        "require:\n      - depth != 0\n",
    ),
    "of a division, by what is null by default": (
        ["if config.size is not None:", "    self.rate = 1 / config.size", "self.b = Block(config)"],
        "require:\n      - size is None or size != 0\n",
    ),
    "of torch, for a padding": (
        ["pad = 'valid' if config.depth == 2 else 'same'", "self.a = Strided(config.depth, pad)"],
        "require:\n      - depth == 2 or depth == 1\n",
    ),
}


@pytest.mark.parametrize(("body", "line"), DEMANDS.values(), ids=DEMANDS)
def test_a_demand_is_a_requirement_of_whoever_makes_the_module(
    module: Callable[..., None], body: list[str], line: str
) -> None:
    text = own(*body).replace("class Net", EVEN + "\nclass Net")
    module(text)
    found = derived("own:Net", samples=8)
    drafted_text = found["drafts"]["net"]
    assert (found["code"], found["architectures"][0]["differences"]) == (0, []), drafted_text
    assert line in drafted_text


def test_the_stages_of_a_backbone_are_held_to_its_config() -> None:
    """Its config class refuses others, also where no tensor depends on them."""
    made = drafted("Dinov2Model")[0]
    assert "- out_features == [stage_names[i] for i in out_indices]\n" in made.text


def test_a_field_is_one_of_the_texts_that_its_config_class_names() -> None:
    text = drafted("Wav2Vec2BertModel")[0].text
    assert "- position_embeddings_type in ['rotary', 'relative', 'relative_key', None]" in text


def test_the_validators_of_fields_are_requirements() -> None:
    """An interval's end that is infinite says nothing; fields that count nothing are left out."""
    text = drafted("PocketTTSAudioTokenizerDecoderModel")[0].text
    assert "  - 1 <= audio_channels\n  - audio_channels <= 1\n  - num_hidden_layers > 0\n" in text
    assert "norm_eps" not in text and "inf" not in text.replace("info", "")


JOINED = {
    "a tuple": ("tuple = (4, 6)", "require:\n      - given('sizes') is not None\n    proj"),
    "a list": ("list = field(default_factory=lambda: [4, 6])", "  Net:\n    proj"),
}


@pytest.mark.parametrize(("default", "lines"), JOINED.values(), ids=JOINED)
def test_a_list_is_joined_with_what_a_config_gives_and_not_with_a_tuple(
    module: Callable[..., None], default: str, lines: str
) -> None:
    text = own(
        "self.proj = Block(config)",
        "sizes = [config.width] + config.sizes",
        "self.last = nn.Linear(sizes[-1], 2)",
    )
    text = text.replace("depth: int = 3", f"depth: int = 3\n    sizes: {default}")
    module("from dataclasses import field\n" + text)
    assert lines in derived("own:Net", "--no-verify")["drafts"]["net"]


def test_a_list_that_the_code_makes_of_a_tuple_is_joined_with_another(module: Callable[..., None]) -> None:
    text = own("sizes = [config.width] + list(config.sizes)", "self.last = nn.Linear(sizes[-1], 2)")
    module(text.replace("depth: int = 3", "depth: int = 3\n    sizes: tuple = (4, 6)"))
    assert "given(" not in derived("own:Net", "--no-verify")["drafts"]["net"]


def test_two_tuples_are_joined_and_so_are_two_lists(module: Callable[..., None]) -> None:
    text = own("self.proj = Block(config)", "self.last = nn.Linear(len(config.one + config.two), 2)")
    fields = "depth: int = 3\n    one: tuple[int, ...] = (4, 6)\n    two: tuple[int, ...] = (4, 6)"
    module(text.replace("depth: int = 3", fields))
    found = derived("own:Net", samples=8)
    assert "- (given('one') is not None) == (given('two') is not None)\n" in found["drafts"]["net"]
    assert found["code"] == 0, found


def test_tensors_that_are_joined_have_the_other_sizes_in_common(module: Callable[..., None]) -> None:
    half = (
        "half = torch.outer(torch.arange(config.depth), torch.arange(0, config.width, 2, dtype=torch.int64))"
    )
    both = "both = torch.cat([half.sin(), half.cos()], dim=1)"
    table = "self.table = nn.Buffer(torch.cat([both.new_zeros(1, config.width), both]))"
    module(own("self.proj = Block(config)", half, both, table))
    found = derived("own:Net", samples=8)
    assert "table: Buffer(1 + depth, width)\n" in found["drafts"]["net"]
    assert found["code"] == 0, found


RATED = """
class Rated(Block):
    def __init__(self, config, rates):
        super().__init__(config)
        self.rates = [rates[j] for j in range(config.depth)]
"""


def test_what_torch_splits_by_the_config_is_not_taken_for_the_default_ones(
    module: Callable[..., None],
) -> None:
    """The rates are as many as the default config has layers: nothing follows from that for others."""
    rates = "rates = [part.tolist() for part in torch.linspace(0, 1, config.depth * 3).split(config.depth)]"
    text = own(rates, "self.a = nn.ModuleList([Rated(config, rates[i % 3]) for i in range(config.depth)])")
    module(text.replace("class Net", RATED + "\nclass Net"))
    found = derived("own:Net", samples=8)
    assert (found["code"], found["architectures"][0]["differences"]) == (0, []), found["drafts"]["net"]
    assert "require" not in found["drafts"]["net"]


def test_a_module_without_tensors_under_two_names_is_no_alias(module: Callable[..., None]) -> None:
    module(
        own(
            "self.pool = nn.Flatten()",
            "self.b = Block(config)",
            "self.head = nn.ModuleList([self.pool, self.b])",
        )
    )
    found = derived("own:Net")
    assert (found["code"], found["architectures"][0]["differences"]) == (0, [])
    assert "    alias:\n      head.1: b\n" in found["drafts"]["net"]


def test_a_mean_over_everything_keeps_the_shape_of_what_it_is_taken_from(module: Callable[..., None]) -> None:
    scaled = "made = made / (made.std() * 10)"
    made = [
        "made = torch.randn(config.depth, config.width)",
        "made = made - made.mean()",
        scaled,
        "self.a = nn.Parameter(made)",
    ]
    module(own(*made))
    found = derived("own:Net")
    assert (found["code"], found["architectures"][0]["differences"]) == (0, [])
    assert "a: Parameter(depth, width)" in found["drafts"]["net"]


def test_nothing_is_made_a_list_of(module: Callable[..., None]) -> None:
    text = own("sizes = list(config.sizes)", "self.a = Block(config)")
    module(
        text.replace("depth: int = 3", "depth: int = 3\n    sizes: list | None = None").replace(
            "= None\n", "= (1, 2)\n", 1
        )
    )
    assert "- sizes is not None\n" in derived("own:Net", "--no-verify")["drafts"]["net"]


def test_a_rotary_dimension_that_no_class_declares_is_even() -> None:
    """The code reads it, and PreTrainedConfig holds any config that has it to that."""
    text = drafted("OlmoeModel")[0].text
    assert "\n  head_dim: int | None = hidden_size // num_attention_heads\n" in text
    assert "\n  - given('head_dim') is None or head_dim % 2 == 0 or head_dim <= 4\n" in text


@pytest.mark.parametrize(
    ("more", "said"), [([], False), (["self.b = nn.Linear(2, 3) if config.kind == 'gelu' else None"], True)]
)
def test_the_names_of_an_activation_are_said_where_the_draft_reads_the_text(
    module: Callable[..., None], more: list[str], said: bool
) -> None:
    """A text that decides nothing else is in no draft, and any activation without tensors is like another."""
    text = own("self.act = ACT2FN[config.kind]", "self.a = Block(config)", *more).replace('"plain"', '"gelu"')
    module("from transformers.activations import ACT2FN\n" + text)
    found = derived("own:Net", samples=8)
    assert (found["code"], found["architectures"][0]["differences"]) == (0, []), found["drafts"]["net"]
    assert ("- kind in ['gelu', " in found["drafts"]["net"]) is said


@pytest.mark.parametrize(
    ("library", "line"), [("numpy", "  Net:\n    a: Block()\n"), ("math", "- depth - 1 != 0\n")]
)
def test_a_number_of_numpys_may_be_divided_by_zero(
    module: Callable[..., None], library: str, line: str
) -> None:
    """Python's own may not, NumPy warns of it and goes on."""
    text = own("self.rate = np.log(config.width) / (config.depth - 1)", "self.a = Block(config)")
    module(f"import {library} as np\n{text}")
    assert line in derived("own:Net", "--no-verify")["drafts"]["net"]


def test_a_list_has_the_last_item_that_is_taken_of_it(module: Callable[..., None]) -> None:
    text = own("self.last = config.sizes[-1]", "self.a = Block(config)")
    fields = "depth: int = 3\n    sizes: list = field(default_factory=lambda: [4, 6])"
    module("from dataclasses import field\n" + text.replace("depth: int = 3", fields))
    found = derived("own:Net", samples=8)
    assert (found["code"], found["architectures"][0]["differences"]) == (0, []), found["drafts"]["net"]
    assert "- 0 < len(sizes)\n" in found["drafts"]["net"]
