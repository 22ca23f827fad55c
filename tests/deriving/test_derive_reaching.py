"""Drafts of modules that code around them changes after they were built."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_derive import derived, drafted, module, own

from archspec.errors import ArchspecError

pytestmark = pytest.mark.reference

__all__ = ["module"]

NORMS = """
class FrozenNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        for name in ("weight", "bias", "running_mean", "running_var"):
            self.register_buffer(name, torch.zeros(n))

def swap(model):
    for name, child in model.named_children():
        if isinstance(child, nn.BatchNorm2d):
            model._modules[name] = FrozenNorm(child.num_features)
        if len(list(child.children())) > 0:
            swap(child)

class Trunk(nn.Module):
    def __init__(self, config):
        super().__init__()
        norm = nn.BatchNorm2d(config.width)
        self.parts = nn.ModuleList([nn.Sequential(nn.Conv2d(3, config.width, 1), norm)])
"""


FAR_INSIDE = {
    "an attribute": [
        "self.a = Outer(config)",
        "self.b = Outer(config)",
        "self.a.block.more = nn.Linear(3, config.width)",
    ],
    "by a name": [
        "self.a = Outer(config)",
        "block = self.a.block",
        "block.more = nn.Linear(3, 3)",
        "block.most = block.more",
    ],
    "none": [
        "self.a = Outer(config)",
        "self.b = Outer(config)",
        "if config.extra:",
        "    self.a.block.proj = None",
    ],
    "frozen": ["self.b = Outer(config)", "self.b.block.proj.requires_grad_(False)", "self.a = Outer(config)"],
    "a copy": [
        "import copy",
        "self.heads = nn.ModuleList([nn.Linear(config.width, 2) for _ in range(config.depth)])",
        "self.outer = Outer(config)",
        "self.outer.block.heads = copy.deepcopy(self.heads)",
    ],
    "a list": [
        "self.one, self.two = Deep(config), Deep(config)",
        "self.one.parts.append(nn.Linear(config.width, 3))",
        "self.one.parts[0].proj = None",
    ],
    "one module at two places": ["self.a = Twice(config)", "self.a.first.more = nn.Linear(3, 3)"],
    "all but the first": [
        "made = [nn.Linear(i + 1, config.width) for i in range(config.depth)]",
        "self.a = nn.ModuleList(made[1:])",
        "self.b = nn.ModuleList([nn.Linear(i + 1, 2) for i in range(config.depth)])[:-1]",
        "self.c = nn.ModuleList(([nn.Linear(2, 2), nn.Linear(3, 3)] "
        "+ [nn.Linear(k, 2) for k in range(2, config.depth)])[2:])",
    ],
    "names that are numbers": [
        "for i in range(config.depth):",
        "    self.add_module(str(i), nn.Linear(3, config.width))",
    ],
    "one of two in a list": [
        "n = config.depth",
        "self.a = nn.ModuleList([Pair(config, nn.ReLU() if i < n - 1 else nn.Identity()) for i in range(n)])",
    ],
    "one module many times": [
        "shared = nn.Linear(config.width, 3)",
        "if config.extra:",
        "    self.a = nn.ModuleList([shared] * config.depth)",
        "else:",
        "    self.a = nn.ModuleList([nn.Linear(config.width, 3) for _ in range(config.depth)])",
    ],
}
MORE = """
class Deep(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.parts = nn.ModuleList([Block(config), Block(config)])

class Pair(nn.Module):
    def __init__(self, config, last):
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(config.width, 2), last)

class Twice(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.first = Block(config)
        self.second = self.first
"""


@pytest.mark.parametrize("body", FAR_INSIDE.values(), ids=FAR_INSIDE)
def test_what_is_set_inside_of_a_module_holds_for_that_one(
    module: Callable[..., None], body: list[str]
) -> None:
    module(own(*body).replace("\nclass Net", f"{MORE}\nclass Net"))
    found = derived("own:Net")
    (outcome,) = found["architectures"]
    assert (found["code"], outcome["differences"]) == (0, []), found["drafts"]["net"]


def test_norms_that_a_function_freezes_on_its_walk(module: Callable[..., None]) -> None:
    module(
        own("self.trunk = Trunk(config)", "if config.extra:", "    swap(self.trunk)").replace(
            "\nclass Net", f"{NORMS}\nclass Net"
        )
    )
    made = derived("own:Net")
    assert made["code"] == 0
    assert "replace_batch_norm(Trunk()) if extra else Trunk()" in drafted("own:Net")[0].text


def test_a_walk_that_does_something_else_is_a_comment(module: Callable[..., None]) -> None:
    text = own("self.trunk = Trunk(config)", "swap(self.trunk)").replace("\nclass Net", f"{NORMS}\nclass Net")
    module(text.replace("FrozenNorm(child.num_features)", "nn.Identity()"))
    assert (
        "# not read: swap(self.trunk) (what swap does to the modules that it goes through"
        in drafted("own:Net")[0].text
    )


def test_what_is_set_from_outside_in_other_terms_is_no_guess(module: Callable[..., None]) -> None:
    inner = """
class Inner(nn.Module):
    def __init__(self, config, size):
        super().__init__()
        self.outer = Outer(config)
        self.outer.block.more = nn.Linear(3, size)
"""
    module(
        own(
            "self.a = nn.ModuleList([Inner(config, i + 1) for i in range(config.depth)])",
            "self.b = Block(config)",
        ).replace("\nclass Net", f"{inner}\nclass Net")
    )
    with pytest.raises(ArchspecError, match="what is set on a Block from outside reads size"):
        drafted("own:Net")


TIES = """
from dataclasses import dataclass
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

@dataclass
class Config(PreTrainedConfig):
    model_type = "ties"
    width: int = 8
    depth: int = 3
    same: bool = False
    tie_word_embeddings: bool = True

class Net(PreTrainedModel):
    config_class = Config

    def __init__(self, config: Config):
        super().__init__(config)
        for name in ("heads", "others", "tails", "bases"):
            setattr(self, name, nn.ModuleList([nn.Linear(config.width, 3) for _ in range(config.depth)]))
        self.post_init()

    @property
    def _tied_weights_keys(self):
        keys = {"heads": "others", r"tails.(?![0])\\d+": "tails.0", "tails": "bases"}
        if self.config.same:
            keys[r"others\\.(?![0])\\d+"] = "others.0"
            keys[r"heads.(?![0])\\d+"] = "heads.0"
        return keys
"""


AUTO = """
from transformers import AutoModel, GroundingDinoConfig, PreTrainedModel

class Net(PreTrainedModel):
    config_class = GroundingDinoConfig

    def __init__(self, config: GroundingDinoConfig):
        super().__init__(config)
        self.text = AutoModel.from_config(config.text_config, add_pooling_layer=False)
"""


def test_an_auto_class_is_called_with_the_keywords_of_the_code(module: Callable[..., None]) -> None:
    module(AUTO)
    assert "text: AutoModel(text_config, add_pooling_layer=False)" in drafted("own:Net")[0].text


def test_an_item_of_what_may_be_no_list(module: Callable[..., None]) -> None:
    lists = "size: int | list = field(default_factory=lambda: [2, 3])"
    text = own("if config.extra:", "    self.last = config.size[1]", "self.a = Block(config)").replace(
        "size: int | None = None", lists
    )
    module(text.replace("import dataclass", "import dataclass, field"))
    assert "- not extra or is_list(size)" in drafted("own:Net")[0].text


def test_an_item_that_is_deleted_from_a_table_of_ties(module: Callable[..., None]) -> None:
    table = """    _tied_weights_keys = {"tails": "bases", "heads": "others"}

    def __init__"""
    drop = """        if config.same:
            self._tied_weights_keys = self._tied_weights_keys.copy()
            del self._tied_weights_keys["heads"]
        self.post_init()"""
    module(
        TIES.partition("    @property")[0]
        .replace("    def __init__", table)
        .replace("        self.post_init()", drop)
    )
    found = derived("own:Net", samples=10)
    draft = next(iter(found["drafts"].values()))
    assert (found["code"], found["architectures"][0]["differences"]) == (0, []), draft
    assert "heads: others if not same\n" in draft


def test_two_tables_of_ties_that_have_a_target_in_common(module: Callable[..., None]) -> None:
    """As Marian's: the head is tied to the decoder's embedding, and where that is tied to a shared one, to
    the same."""
    tables = """        self._tied_weights_keys = {"tails": "others"}
        if config.same:
            self._tied_weights_keys = {"tails": "bases", "others": "bases"}
        self.post_init()"""
    module(TIES.partition("    @property")[0].replace("        self.post_init()", tables))
    found = derived("own:Net", samples=10)
    draft = next(iter(found["drafts"].values()))
    assert (found["code"], found["architectures"][0]["differences"]) == (0, []), draft
    assert "tails: others\n      others: bases if same\n" in draft


def test_a_table_of_ties_that_depends_on_the_config(module: Callable[..., None]) -> None:
    module(TIES)
    found = derived("own:Net", samples=10)
    text = next(iter(found["drafts"].values()))
    (outcome,) = found["architectures"]
    assert (found["code"], outcome["differences"]) == (0, []), text
    assert "not tie_word_embeddings or depth > 1" in text
    assert "heads: others\n      tails: bases\n" in text


def test_a_class_that_is_called_like_a_layer_of_torch(module: Callable[..., None]) -> None:
    """`Upsample` of the spec language has no tensors; what the code calls so, may have some."""
    layer = own("self.up = Upsample(config)").replace("class Outer(nn.Module):", "class Upsample(nn.Module):")
    module(layer)
    found = derived("own:Net")
    assert found["code"] == 0, found


APART = {
    "the first": [
        "self.layers = nn.ModuleList([Block(config, i + 1) for i in range(config.depth)])",
        "self.layers[0].proj = None",
    ],
    "the last": [
        "self.layers = nn.ModuleList([Block(config, w) for w in config.sizes[::-1]])",
        "self.layers[-1].proj = nn.Linear(2, 3)",
    ],
    "one further in": [
        "self.layers = nn.ModuleList([Outer(config) for _ in range(config.depth)])",
        "del self.layers[1].block.proj",
    ],
    "one that is numbered": [
        "self.layers = nn.ModuleList([Block(config, w + i) for i, w in enumerate(config.sizes)])",
        "self.layers[0].proj = Block(config)",
    ],
}


@pytest.mark.parametrize("body", APART.values(), ids=APART)
def test_what_is_set_on_one_item_holds_for_that_one(module: Callable[..., None], body: list[str]) -> None:
    sizes = (
        "from dataclasses import field\n",
        "depth: int = 3\n    sizes: list[int] = field(default_factory=lambda: [2, 3, 4])",
    )
    module(sizes[0] + own("self.last = Block(config)", *body).replace("depth: int = 3", sizes[1]))
    found = derived("own:Net", samples=8)
    assert found["code"] == 0, found
