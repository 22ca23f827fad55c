"""Drafts of modules whose config is made of another one, or holds what `__post_init__` makes of its
fields."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_derive import derived, module, own

from archspec.deriving import draft, find

pytestmark = pytest.mark.reference

__all__ = ["module"]  # a fixture
HEAD = """
import torch
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

class Config(PreTrainedConfig):
    model_type = "net"
    width: int = 8
    depths: list[int] | tuple[int, ...] = (1, 2, 3)
    sizes: list[int] | tuple[int, ...] = (4, 5, 6)
    heads: int = 2
    attribute_map = {"num_heads": "heads"}

    def __post_init__(self, **kwargs):
        self.inner = {"heads": self.heads, "size": 2 * self.width}
        self.total = sum(self.sizes) + self._twice
        super().__post_init__(**kwargs)

    @property
    def _twice(self):
        return 2 * self.width

class Other(Config):
    model_type = "other"

class Block(nn.Module):
    def __init__(self, config, settings=None, activation=None):
        super().__init__()
        if activation is not None and not callable(activation):
            raise TypeError(activation)
        self.layers = nn.ModuleList([nn.Linear(config.width, depth) for depth in config.depths])
        if settings is not None:
            self.sized = nn.Linear(settings["size"], settings["heads"])

class Scale(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(size))

class Scaled(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.act = activation
        self.proj = nn.Linear(2, 3)

class Outer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.a = Scaled(Scale(size))
        self.b = Scaled(nn.PReLU(2 * size))

class Lazy(dict):
    def values(self):
        raise ValueError("everything would be loaded")

TABLE = Lazy(a=1)

class Net(PreTrainedModel):
    config_class = Config
    _tied_weights_keys = {"head.weight": "embed.weight"}

    def __init__(self, config: Config):
        super().__init__(config)
"""
LAYERED = HEAD.replace(
    "self.total =",
    """usual = ["wide" if i % 2 else "narrow" for i in range(self.depth)]
        self.kinds = usual if self.kinds is None else self.kinds
        self.kinds[-1] = "wide"
        self.num_hidden_layers = self.depth
        wide = {"width": 3 * self.heads}
        kwargs["per_layer_config"] = {i: wide for i, kind in enumerate(self.kinds) if kind == "wide"}
        self.total =""",
).replace("heads: int = 2", "heads: int = 2\n    depth: int = 3\n    kinds: list[str] | None = None")
BODIES = {
    "a config made of another": (
        [
            "fields = config.to_dict()",
            "fields['depths'] = list(reversed(fields['depths']))",
            "self.a = Block(Other(**fields))",
        ],
        "a: Block(depths=reversed(depths))",
    ),
    "a dict made of fields": (
        ["self.a = Block(config, config.inner)"],
        "sized: Linear(2 * width, given('heads', 2))",
    ),
    "a property of the config's own": (
        ["self.a = nn.Linear(config.total, 3)"],
        "total: int | None = sum(sizes) + 2 * width",
    ),
    "a module that is called": (["self.a = Block(config, activation=nn.ReLU())"], "a: Block()"),
    "a module that is handed on": (
        ["self.a = nn.ModuleList([Outer(depth) for depth in config.depths])"],
        "Scaled(activation_size):\n    act: Scale(activation_size)\n",
    ),
    "a table that loads what is asked for": (
        ["self.a = nn.Linear(config.width, 1 if 'a' in TABLE else 2)"],
        "a: Linear(width, 1)",
    ),
    "lists side by side": (
        [
            "self.a = nn.ModuleList([nn.Linear(d, s) for d, s in zip(config.depths, config.sizes)])",
            "self.b = nn.Linear(3, len(self.a))",
        ],
        "b: Linear(3, min(len(depths), len(sizes)))",
    ),
}


@pytest.mark.parametrize(("body", "line"), BODIES.values(), ids=BODIES)
def test_a_draft_follows_the_config(module: Callable[..., None], body: list[str], line: str) -> None:
    module(HEAD + "".join(f"        {text}\n" for text in body))
    found = derived("own:Net", samples=20)
    (outcome,) = found["architectures"]
    text = found["drafts"]["net"]
    assert (found["code"], outcome["differences"]) == (0, []), text
    assert line in text


TIES = {
    "by the class": (
        ["self.embed = nn.Embedding(9, config.width)", "self.head = nn.Linear(config.width, 9)"],
        "head.weight: embed.weight",
    ),
    "of a copy of the table, on one way": (
        [
            "self._tied_weights_keys = {'head.weight': 'embed.weight', 'tail.weight': 'embed.weight'}",
            "if config.width > 8:",
            "    self._tied_weights_keys = self._tied_weights_keys.copy()",
            "    del self._tied_weights_keys['tail.weight']",
            "if config.heads > 2:",
            "    self._tied_weights_keys = self._tied_weights_keys.copy()",
            "    del self._tied_weights_keys['head.weight']",
            "self.embed = nn.Embedding(9, config.width)",
            "self.head, self.tail = nn.Linear(config.width, 9), nn.Linear(config.width, 9)",
        ],
        "tail.weight: embed.weight if width <= 8\n      head.weight: embed.weight if heads <= 2",
    ),
    "in a loop": (
        [
            "self.embeds = nn.ModuleList([nn.Embedding(9, config.width) for _ in range(config.heads + 1)])",
            "self.outputs = nn.ModuleList([nn.Linear(config.width, 9) for _ in range(config.heads)])",
            "self._tied_weights_keys = {}",
            "for i in range(config.heads):",
            "    self._tied_weights_keys[f'outputs.{i}.weight'] = f'embeds.{i + 1}.weight'",
        ],
        "outputs.{i}.weight: embeds.{i + 1}.weight for i in range(heads)",
    ),
}


@pytest.mark.parametrize(("body", "tie"), TIES.values(), ids=TIES)
def test_a_tie_reads_a_field_that_no_class_declares(
    module: Callable[..., None], body: list[str], tie: str
) -> None:
    module(HEAD + "".join(f"        {text}\n" for text in [*body, "self.post_init()"]))
    text = derived("own:Net", "--no-verify")["drafts"]["net"]
    assert "  tie_word_embeddings: bool | None = False\n" in text
    assert f"    tied:\n      {tie}\n" in text


def test_a_layer_has_fields_of_its_own(module: Callable[..., None]) -> None:
    body = "self.layers = nn.ModuleList([Block(config.per_layer_config[i]) for i in range(config.depth)])"
    module(f"{LAYERED}        {body}\n")
    text = derived("own:Net", "--no-verify")["drafts"]["net"]
    assert "layers: Block(width=3 * heads if kinds[i] == 'wide' else width) for i in range(depth)\n" in text
    assert "given('kinds')[:-1]) + ['wide']\n" in text


def test_other_values_that_cannot_be_built_here_are_left_out(module: Callable[..., None]) -> None:
    """What a field that the draft leaves out would change is not known without the package that it takes."""
    module(own("self.a = Block(config)", "__import__('not_there' if config.kind == 'wide' else 'math')"))
    (outcome,) = derived("own:Net")["architectures"]
    assert outcome["differences"] == [] and outcome["compared"] >= 4


def test_a_number_that_came_out_of_a_tensor_is_a_comment(module: Callable[..., None]) -> None:
    module(own("self.a = nn.Linear(torch.arange(5).sum(), config.width)"))
    assert "# 10 holds for the default config only\n" in derived("own:Net", "--no-verify")["drafts"]["net"]


HOLDING = """
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

class InnerConfig(PreTrainedConfig):
    model_type = "net_inner"
    width: int = 8

class HolderConfig(PreTrainedConfig):
    model_type = "net_holder"
    sub_configs_defaults = {"inner": InnerConfig}
    inner: dict | PreTrainedConfig | None = None

class NetConfig(PreTrainedConfig):
    model_type = "net"
    sub_configs_defaults = {"holder": HolderConfig}
    holder: dict | PreTrainedConfig | None = None

class Inner(nn.Module):
    def __init__(self, config: InnerConfig):
        super().__init__()
        self.proj = nn.Linear(config.width, 2)

class Holder(nn.Module):
    def __init__(self, config: HolderConfig):
        super().__init__()
        self.inner = Inner(config.inner)

class Net(PreTrainedModel):
    def __init__(self, config: NetConfig):
        super().__init__(config)
        self.holder = Holder(config.holder)
"""


def test_a_config_that_only_holds_others_has_its_draft(module: Callable[[str], None]) -> None:
    """None of its own fields is read, and yet the modules that it configures are described somewhere."""
    module(HOLDING)
    target = find("own:Net")
    drafts = {one.model_type: one for one in draft("net", target.config, target.classes)}
    assert set(drafts) == {"net", "net_holder", "net_inner"}
    assert "inner: Config(net_inner)" in drafts["net_holder"].text
    assert "Holder:\n    inner: Inner(inner)" in drafts["net_holder"].text


MADE = """
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.configuration_utils import SubConfigSpec

class NetConfig(PreTrainedConfig):
    model_type = "net"
    sub_configs_defaults = {
        "codec_config": SubConfigSpec(config_class=AutoConfig, model_type="vibevoice_acoustic_tokenizer")
    }
    codec_config: dict | PreTrainedConfig | None = None

class Net(PreTrainedModel):
    def __init__(self, config: NetConfig):
        super().__init__(config)
        self.codec = AutoModel.from_config(config.codec_config)
"""


def test_a_config_made_of_another_one_names_its_class(module: Callable[[str], None]) -> None:
    """AutoModel takes what a config says it is; one that is made of a config is what the code makes of it."""
    module(MADE)
    target = find("own:Net")
    drafts = {one.model_type: one.text for one in draft("net", target.config, target.classes)}
    assert "codec: AutoModel(codec_config)" in drafts["net"]
    assert "encoder: VibeVoiceAcousticTokenizerEncoderModel()" in drafts["vibevoice_acoustic_tokenizer"]
    assert "AutoModel" not in drafts["vibevoice_acoustic_tokenizer"]


UNDECLARED = """
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

class NetConfig(PreTrainedConfig):
    model_type = "net"
    width: int = 24
    heads: int = 4

class Turned(nn.Module):
    def __init__(self, config):
        super().__init__()
        size = getattr(config, "head_dim", None) or config.width // config.heads
        self.turned = nn.Linear(size, size)

class Heads(nn.Module):
    def __init__(self, config, heads):
        super().__init__()
        self.one = nn.Linear(config.width, getattr(config, "head_dim", config.width // heads))
        self.other = nn.Linear(config.width, getattr(config, "head_dim", 3))

class Net(PreTrainedModel):
    def __init__(self, config: NetConfig):
        super().__init__(config)
        self.turned = Turned(config)
        self.heads = Heads(config, 2 * config.heads)
"""


def test_a_field_that_the_class_lacks_has_a_default_wherever_it_is_read(
    module: Callable[[str], None],
) -> None:
    """The first who reads it gives the field its default; for any other it is as the config gives it, else
    that one's own."""
    module(UNDECLARED)
    found = derived("own:Net", samples=12)
    text = found["drafts"]["net"]
    assert "head_dim: int | None = None" in text
    assert "one: Linear(width, given('head_dim', width // (2 * heads)))" in text
    assert "other: Linear(width, given('head_dim', 3))" in text
    assert found["code"] == 0
