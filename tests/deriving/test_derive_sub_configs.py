"""Drafts of configs whose `__post_init__`, properties or models make sub-configs and set fields of their
own accord."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_derive import drafted, module

from archspec.deriving import draft, find

pytestmark = pytest.mark.reference

__all__ = ["module"]  # a fixture
OWN = """
from torch import nn
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.configuration_utils import SubConfigSpec

class NetConfig(PreTrainedConfig):
    model_type = "net"
    sub_configs_defaults = {
        "vision_config": SubConfigSpec(
            config_class=AutoConfig, model_type="clip_vision_model", optional=True
        ),
        "both_config": SubConfigSpec(
            config_class=AutoConfig,
            model_type="clip",
            init_kwargs={"text_config": {"hidden_size": 32}, "vision_config": {"hidden_size": 48}},
        ),
    }
    hybrid: bool = False
    sizes: list[int] | None = None
    vision_config: dict | PreTrainedConfig | None = None
    both_config: dict | PreTrainedConfig | None = None

    def __post_init__(self, **kwargs):
        if self.hybrid:
            self.vision_config, kwargs = self.sub_configs_defaults["vision_config"].create_subconfig(
                "vision_config", self.vision_config, **kwargs
            )
        super().__post_init__(**kwargs)
        self.side = kwargs.pop("side", 24)

    @property
    def side(self):
        return 2 * self.sizes[0]

    @side.setter
    def side(self, value):
        self.sizes = [value // 2, value // 3]

class Inner(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.proj = nn.Linear(config.wide, config.sizes[0])

class Joint(nn.Module):
    def __init__(self, config, other):
        super().__init__()
        self.proj = nn.Linear(getattr(config, "outer", config.hidden_size), other.hidden_size)

class Net(PreTrainedModel):
    def __init__(self, config: NetConfig):
        super().__init__(config)
        self.joint = Joint(config.both_config.vision_config, config.both_config.text_config)
        self.vision = AutoModel.from_config(config.vision_config) if config.hybrid else None
        config.wide = config.both_config.text_config.hidden_size
        self.inner = Inner(config)
"""
LINES = {
    "a null sub-config is the default one where the code makes it": (
        "AutoConfig(clip_vision_model, optional=not hybrid)"
    ),
    "the default of a sub-config has defaults of its own ones": (
        "= AutoConfig(clip, text_config={''hidden_size'': 32}, vision_config={''hidden_size'': 48})"
    ),
    "a property sets fields": "fixed:\n  sizes: = [given('side', 24) // 2, given('side', 24) // 3]",
    "a field that no class declares": "wide: int | None = None",
    "a module of two sub-configs": (
        "    proj: Linear(both_config.vision_config.outer, both_config.text_config.hidden_size)"
    ),
    "and is set by the model": "inner: Inner(wide=both_config.text_config.hidden_size)",
}


@pytest.fixture
def text(module: Callable[[str], None]) -> str:
    module(OWN)
    target = find("own:Net")
    return draft("net", target.config, target.classes)[0].text


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_what_the_config_class_does_of_its_own_accord_is_in_the_draft(text: str, line: str) -> None:
    assert line in text


def test_a_null_sub_config_is_read_as_any_config_of_its_class(module: Callable[[str], None]) -> None:
    """It is null by default: its class' defaults are no numbers of the draft."""
    module(OWN)
    target = find("own:Net")
    drafts = {one.model_type: one.text for one in draft("net", target.config, target.classes)}
    assert "fc1: Linear(hidden_size, intermediate_size)" in drafts["clip_vision_model"]


LEAVING = """
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

class NetConfig(PreTrainedConfig):
    model_type = "net"
    width: int = 8
    heads: int = 2
    other_heads: int = 4
    depth: int = 2

class Attention(nn.Module):
    def __init__(self, config, heads):
        super().__init__()
        config.update({"heads": heads})
        self.proj = nn.Linear(config.width, config.heads)

class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList([Attention(config, config.other_heads) for _ in range(config.depth)])

class Reader(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.proj = nn.Linear(config.width, config.heads)

class Net(PreTrainedModel):
    def __init__(self, config: NetConfig):
        super().__init__(config)
        self.before = Reader(config)
        self.encoder = Encoder(config)
        self.after = Reader(config)
"""


def test_what_a_module_sets_on_its_config_holds_for_those_made_after_it(
    module: Callable[[str], None],
) -> None:
    module(LEAVING)
    target = find("own:Net")
    text = draft("net", target.config, target.classes)[0].text
    assert "before: Reader()\n    encoder: Encoder()\n    after: Reader(heads=other_heads)\n" in text


def test_defaults_are_put_into_a_sub_config_that_is_given() -> None:
    assert "acoustic_model_config: AutoConfig(dac, merge=True, " in drafted("XcodecModel")[0].text


STAGED = """
from torch import nn
from transformers import AutoBackbone, AutoConfig, PreTrainedConfig, PreTrainedModel
from transformers.configuration_utils import SubConfigSpec

class NetConfig(PreTrainedConfig):
    model_type = "net"
    sub_configs_defaults = {"backbone_config": SubConfigSpec(config_class=AutoConfig, model_type="swin")}
    backbone_config: dict | PreTrainedConfig | None = None

class Net(PreTrainedModel):
    def __init__(self, config: NetConfig):
        super().__init__(config)
        config.backbone_config.out_features = ["stage1", "stage2"]
        self.encoder = AutoBackbone.from_config(config.backbone_config)
        self.proj = nn.Linear(len(self.encoder.channels), 1)
"""


def test_the_model_says_which_stages_of_a_backbone_it_takes(module: Callable[[str], None]) -> None:
    module(STAGED)
    target = find("own:Net")
    text = draft("net", target.config, target.classes)[0].text
    assert "encoder: AutoBackbone(backbone_config, out_features=['stage1', 'stage2'])" in text
    assert "proj: Linear(2, 1)" in text
    assert "== [stage for stage in backbone_config.stage_names if stage in" in text


DICTS = """
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

class InnerConfig(PreTrainedConfig):
    model_type = "net_inner"
    side: int = 8

class NetConfig(PreTrainedConfig):
    model_type = "net"
    sub_configs_defaults = {"inner": InnerConfig}
    side: int = 8
    inner: dict | PreTrainedConfig | None = None

    def __post_init__(self, **kwargs):
        for name in self.sub_configs:
            part = getattr(self, name)
            if isinstance(part, dict):
                if part.get("side") != self.side:
                    part.update({"side": self.side})
        super().__post_init__(**kwargs)

    def validate_architecture(self):
        if isinstance(self.inner, dict):
            raise TypeError("a dict")

class Inner(nn.Module):
    def __init__(self, config: InnerConfig):
        super().__init__()
        self.proj = nn.Linear(config.side, 2)

class Net(PreTrainedModel):
    def __init__(self, config: NetConfig):
        super().__init__(config)
        self.inner = Inner(config.inner)
"""
DICT_CASES = {
    "followed": (
        'part.update({"side": self.side})',
        "inner: Inner(inner, side=side if given('inner') is not None "
        "and given('inner').get('side') != side else inner.side)",
    ),
    "left out where it is not read": ('part.setdefault("side", self.side)', "inner: Inner(inner)\n"),
}


@pytest.mark.parametrize(("statement", "line"), DICT_CASES.values(), ids=DICT_CASES)
def test_what_is_done_to_the_dict_of_a_sub_config_is(
    module: Callable[[str], None], statement: str, line: str
) -> None:
    """It is a dict until PreTrainedConfig makes a config of it."""
    module(DICTS.replace('part.update({"side": self.side})', statement))
    target = find("own:Net")
    text = draft("net", target.config, target.classes)[0].text
    assert line in text and "a dict" not in text


def test_a_field_that_no_class_declares_and_whose_default_is_another_field(
    module: Callable[[str], None],
) -> None:
    module(OWN)
    target = find("own:Net")
    parts = {made.model_type: made.text for made in draft("net", target.config, target.classes)}
    assert "  outer: int | None = hidden_size\n" in parts["clip_vision_model"]
